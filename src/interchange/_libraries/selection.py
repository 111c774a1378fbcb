"""Choice of the library that computes on a device: set, imported, or installed.

No library is imported before the first computation, and then only the chosen one.
"""

from __future__ import annotations

import functools
import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._streams.driver import driver_of
from interchange._types.devices import CPU, NAMES, Device
from interchange._types.errors import (
    ArgumentError,
    BackendUnavailableError,
    InterchangeError,
    show,
)
from interchange._types.library import all_libraries, library_named
from interchange._types.numpy_dtypes import load_numpy

from .backend import Backend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from importlib.metadata import EntryPoint

    from interchange.abi.dlpack import DLDeviceType

GROUP: Final = "interchange.backends"
"""Entry points of backends in other packages."""
_CALL: Final = "set_backend()"
_HOST: Final = CPU.type


@functools.cache
def libraries_by_device() -> dict[DLDeviceType, tuple[str, ...]]:
    """Return, for a device type, the libraries that may compute there without being named.

    The first is tried first.
    """
    kinds = {kind for library in all_libraries() for kind in library.preference}
    return {kind: _ranked(kind) for kind in sorted(kinds)}


def _ranked(kind: DLDeviceType) -> tuple[str, ...]:
    """Return the libraries that prefer devices of a type, the first choice first."""
    found = [library for library in all_libraries() if kind in library.preference]
    return tuple(one.name for one in sorted(found, key=lambda one: one.preference[kind]))


def _built_in() -> tuple[str, ...]:
    """Return the libraries that interchange has a backend for."""
    return tuple(x.name for x in all_libraries() if x.make_backend is not None)


class _Choice:
    """The backends of a device type, and the functions that make them.

    A backend made while another thread calls `set_backend` is dropped with its choice.
    """

    __slots__ = ("backends", "make")

    def __init__(self, make: Callable[[Device], Any] | None) -> None:
        self.make = make  # None if the choice is automatic
        self.backends: dict[Device, Backend] = {}


_choices: Final[dict[DLDeviceType, _Choice]] = {}


def set_backend(device: Any, backend: str | Callable[[Device], Any] | None, /) -> None:
    """Set the library that computes on devices of a type.

    Parameters
    ----------
    device : Device, str or tuple[int, int]
        A device of that type, such as ``"cuda"``; its ordinal is ignored.
    backend : str, callable or None
        A library with a backend (``"cupy"``, ``"torch"``, ``"jax"``, ``"numpy"``), the name of an
        entry point of the group "interchange.backends", or a function of a `Device` that returns an
        `interchange.Backend`.  None: the choice is automatic again.

    Raises
    ------
    BackendUnavailableError
        There is no backend of that name (IX-XP-3).
    ArgumentError
        `backend` is none of these (IX-ARGUMENT-1).

    Notes
    -----
    Results of earlier computations stay with their library, and share memory with the new one when
    they are used together.  If no library is set, the environment decides
    (``INTERCHANGE_CUDA_BACKEND``), then the imported libraries, then the installed ones, in the
    order CuPy, PyTorch, JAX; NumPy on the host.

    Examples
    --------
    >>> import interchange as ix
    >>> ix.set_backend("cuda", "torch")
    >>> ix.set_backend("cuda", None)
    """
    kind = Device.of(device, _CALL).type
    make = _named(backend, _CALL) if isinstance(backend, str) else backend
    if make is not None and not callable(make):
        what = f"backend={show(backend)}"
        raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", "pass a name, a function or None")
    _choices[kind] = _Choice(make)


def backend_of_host(call: str) -> Backend:
    """Return the backend that computes on the host, as `backend_of` does."""
    try:
        return _choices[_HOST].backends[CPU]
    except KeyError:
        return backend_of(CPU, call)


def loaded_backend_of_host() -> Backend | None:
    """Return the backend that computes on the host, if nothing has to be imported for it."""
    choice = _choices.get(_HOST)
    found = None if choice is None else choice.backends.get(CPU)
    if found is not None or (choice is not None and choice.make is not None):
        return found
    is_automatic = "numpy" in sys.modules and not os.environ.get(_variable(_HOST))
    return backend_of_host("Array") if is_automatic else None


def backend_of(device: Device, call: str) -> Backend:
    """Return the backend that computes on a device.

    Raises BackendUnavailableError: no library computes there (IX-XP-3).
    """
    home = CPU if device is CPU or device.is_host_accessible else device
    choice = _choices.get(home.type) or _choices.setdefault(home.type, _Choice(None))
    found = choice.backends.get(home)
    if found is None:  # two threads may make one each, and use the same
        found = choice.backends.setdefault(home, _choose(home, choice.make, call))
        if found.plain_type is not None:  # a program may compute with it, and import nothing
            _core.learn_type(found.plain_type)
    return found


def who_computes(kind: DLDeviceType) -> tuple[str, ...]:
    """Return the libraries that may compute on devices of a type, the first choice first.

    Nothing is imported to find out; whether a library supports the device is found when it is
    tried.

    Examples
    --------
    >>> who_computes(CPU.type)
    ('numpy',)
    """
    said = _made_by_user(kind)
    if said is not None:
        return (getattr(said, "__module__", "?").rpartition(".")[2],)
    name = os.environ.get(_variable(kind))
    if name:
        return (name,)
    names = libraries_by_device().get(kind, ())
    found = [name for name in names if name in sys.modules or find_spec(name) is not None]
    return tuple(sorted(found, key=lambda name: name not in sys.modules))


def _variable(kind: DLDeviceType) -> str:
    """Return the name of the variable that names the library for devices of a type."""
    return f"INTERCHANGE_{NAMES[kind].upper()}_BACKEND"


def backends_in_use() -> tuple[Backend, ...]:
    """Return the backends that were chosen so far, one for each device."""
    return tuple(
        one for choice in tuple(_choices.values()) for one in tuple(choice.backends.values())
    )


def _made_by_user(kind: DLDeviceType) -> Callable[[Device], Any] | None:
    """Return the function that makes the backends of devices of a type, as set by `set_backend`."""
    choice = _choices.get(kind)
    return None if choice is None else choice.make


def _choose(device: Device, said: Callable[[Device], Any] | None, call: str) -> Backend:
    """Return a new backend for a device."""
    for make, is_named in _candidates(device.type, said, call):
        try:
            found = make(device)
        except (LookupError, ImportError) as error:
            if is_named:
                what = f"the selected library does not compute on {device} ({error})"
                raise BackendUnavailableError(call, what, "IX-XP-3") from error
            continue
        if isinstance(found, Backend):
            return found
        what = f"the function that makes the backend of {device} returned {show(found)}"
        raise BackendUnavailableError(call, what, "IX-XP-3", "return an interchange.Backend")
    if device.type is _HOST:
        load_numpy()  # says why it was not found
    what = f"no library that computes on {device} was found"
    raise BackendUnavailableError(call, what, "IX-XP-3", _way_to_compute(device, call))


def _way_to_compute(device: Device, call: str) -> str:
    """Return the hint for a device on which no library computes."""
    names = libraries_by_device().get(device.type, ())
    if not names:
        return "name one with `set_backend`"
    here = _devices_here(device, call)
    if here is not None and f"'{device}'" not in here:
        return f"pass one of the devices here: {', '.join([*here, repr(str(CPU))])}"
    builds = [name for name in names if name in sys.modules or find_spec(name) is not None]
    others = [name for name in names if name not in builds]
    found = f"{' and '.join(builds)} found no {device} here: " if builds else ""
    hint = f"install a build of {' or '.join(builds)} for it" if builds else ""
    if others:
        hint += f"{', or ' if builds else ''}install {' or '.join(others)}"
    return f"{found}{hint}, or compute on the host, after `to_device('cpu')`"


def _devices_here(device: Device, call: str) -> list[str] | None:
    """Return the devices that the driver of a device has; None without a driver."""
    try:
        return driver_of(device, call).devices(call)
    except InterchangeError:
        return None


def _candidates(
    kind: DLDeviceType, said: Callable[[Device], Any] | None, call: str
) -> Iterator[tuple[Callable[[Device], Any], bool]]:
    """Yield the makers of a backend, and whether one was named: then it is the only one."""
    if said is not None:
        yield said, True
        return
    variable = _variable(kind)
    name = os.environ.get(variable)
    if name:
        yield _named(name, f"{variable}={name}"), True
        return
    names = libraries_by_device().get(kind, ())
    imported = [name for name in names if name in sys.modules]
    for name in [*imported, *(name for name in names if name not in imported)]:
        if name in imported or find_spec(name) is not None:
            yield _named(name, call), False
    for point in entry_points(group=GROUP):
        yield point.load(), False


def entry_points(*, group: str) -> Iterable[EntryPoint]:
    """Return the entry points of installed packages; importing the metadata of packages is slow."""
    from importlib import metadata

    return metadata.entry_points(group=group)


def _named(name: str, call: str) -> Callable[[Device], Any]:
    """Return the function that makes the backend of that name."""
    make: Callable[[Device], Any] | None = library_named(name).make_backend
    if make is not None:
        return make
    for point in entry_points(group=GROUP):
        if point.name == name:
            loaded: Callable[[Device], Any] = point.load()
            return loaded
    what = f"backend={name!r} is not known"
    raise BackendUnavailableError(call, what, "IX-XP-3", f"choose one of {', '.join(_built_in())}")
