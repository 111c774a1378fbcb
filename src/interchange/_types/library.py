"""The record of a library, kept in `interchange._libraries`, and how it is found.

Generic code reads the fields of a record and names no library.  The default of a field is right for
an unknown library.  Libraries are found by module names and are never imported to find out. The
file of a library is imported when one of its types is first met.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from interchange.abi._records import NamedTuple
from interchange.abi._show import module_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeVar

    from interchange.abi.dlpack import DLDeviceType

    T = TypeVar("T")
    Pair = tuple[DLDeviceType, int]
    Guard = Callable[[Any], "Loss | None"]

Loss = tuple[str, str, str]
"""The data that an exchange would lose, the id of the rule that forbids it, and a fix."""


class Deviation(NamedTuple):
    """Behaviour of a library that deviates from the rules."""

    library: str  # import name of the library
    releases: str  # releases in which it was observed
    what: str  # the behaviour
    rule: str  # id of the rule that it breaks
    remedy: str  # what interchange does about it
    link: str = ""  # where it is discussed, or empty


class Example(NamedTuple):
    """One kind of a library's arrays, which ``python -m interchange`` makes and describes."""

    name: str  # the name of its row
    module: str  # what to import
    distribution: str | None  # the distribution that has its version; None for the standard library
    make: Callable[[Any], Any]  # ``make(module)`` -> an array in host memory
    # Where the module has its function that takes DLPack; looked up, not called.
    from_dlpack: str | None = None
    library: str = ""  # the name in JSON, if it differs from `module`
    environment: Mapping[str, str] = {}  # variables to set before the import, unless they are set


class Library(NamedTuple):
    """Facts about one library."""

    name: str  # its top-level module; empty for an unknown library
    # Its known deviations from the rules, for the documentation.
    deviations: tuple[Deviation, ...] = ()
    is_array_library: bool = False  # whether its arrays compute, and so never wrap an Array
    # ``export_guard(x)``: the data that an export of `x` would lose, or None.
    export_guard: Guard | None = None
    record_guard: Guard | None = None  # likewise, of the ``__cuda_array_interface__`` of `x`
    arrow_guard: Guard | None = None  # likewise, of the Arrow capsules of `x`
    # ``explain_refusal(x)``: why `x` could not be exported, if the library's own error is of
    # another type.
    explain_refusal: Guard | None = None
    # ``count_nulls(x)``: how many elements of a column are null.
    count_nulls: Callable[[Any], int] | None = None
    # ``hint(x)``: what to pass instead of `x`, an object without memory so far; or None.
    hint: Callable[[Any], str | None] | None = None
    # ``exchange_guard(x)``: whether `x` may be exported through the C exchange table of its type
    # (DLP-API-1).  None: the table is not used.
    exchange_guard: Callable[[Any], bool] | None = None
    core_has_exchange_guard: bool = False  # whether the native core implements that guard
    # Names of types whose arrays are never writable, whatever their capsules say.
    immutable_types: frozenset[str] = frozenset()
    always_writable: bool = False  # whether legacy capsules of its arrays are of writable memory
    # Names of types whose ``__dlpack__`` is called first: the capsule has the device.
    types_asked_without_device: frozenset[str] = frozenset()
    # Whether its arrays on the host may have a ``__cuda_array_interface__``.
    has_record_on_host: bool = True
    may_mask_records: bool = True  # whether its ``__cuda_array_interface__`` may have a mask
    # ``correct_record(raw, x)``: the CUDA record of `x`, corrected.
    correct_record: Callable[[Any, Any], Any] | None = None
    # ``current_stream(ordinal)``: the stream that its arrays publish and do not keep alive.
    current_stream: Callable[[int], Any] | None = None
    # Whether ``__array__`` computes at each call, whatever ``copy=`` says (AI-ARRAY-1).
    array_method_computes: bool = False
    # Whether ``__array__(copy=False)`` was observed to copy (AI-ARRAY-1): it is called twice, and
    # the addresses are compared.
    array_method_may_copy: bool = False
    # ``prefers_array_method(x)``: whether ``__array__`` of `x` returns its elements unchanged,
    # while Arrow would convert them.
    prefers_array_method: Callable[[Any], bool] | None = None
    # ``unwrap(x)``: the object of another library that `x` wraps.
    unwrap: Callable[[Any], Any] | None = None
    device_types: frozenset[str] = frozenset()  # names of the types of its devices
    # ``read_device(device, call)``: DLPack's device type and number, or None if it has none.
    read_device: Callable[[Any, str], Pair | None] | None = None
    # ``wrap_stream(handle)``: the stream that its allocators take.
    wrap_stream: Callable[[int], Any] | None = None
    # ``allocator(device)``: its memory pool, with ``allocate(size, *, stream)``.
    allocator: Callable[[Any], Any] | None = None
    array_api: Any = None  # its array-API namespace, its arrays and how it names devices
    # How `convert` makes its arrays, by the name that `convert` takes.
    targets: Mapping[str, Any] = {}
    instead_of_target: str | None = None  # if it has none: the hint how it takes arrays
    # Module and name of a class, and the target that `like` makes for its instances; empty if
    # ``asarray`` of the array's namespace makes them.
    result_types: tuple[tuple[str, str, str], ...] = ()
    one_axis_targets: frozenset[str] = frozenset()  # targets whose arrays have one axis
    # Devices that it may compute on without being named; the lowest number is tried first.
    preference: Mapping[DLDeviceType, int] = {}
    # ``make_backend(device)``: its `interchange.Backend`.  Raises LookupError if it does not
    # compute on that device.
    make_backend: Callable[[Any], Any] | None = None
    examples: tuple[Example, ...] = ()


# ---------------------------------------------------------------- finding the file of a type

_FILES: Final = "interchange._libraries"
_MOST_NAMES: Final = 1024
UNKNOWN: Final = Library("")
"""The defaults for a library without a file."""
_known: Final[dict[str, Library]] = {}


def package_of(cls: type) -> str:
    """Return the top-level module of a type.

    Examples
    --------
    >>> from collections.abc import Mapping
    >>> package_of(int), package_of(Mapping)
    ('builtins', 'collections')
    """
    return module_of(cls).partition(".")[0]


def library_named(name: str) -> Library:
    """Return the record of the library with that top-level module.

    Examples
    --------
    >>> library_named("torch").name, library_named("no_such_library") is UNKNOWN
    ('torch', True)
    """
    found = _known.get(name)
    if found is None:
        if len(_known) >= _MOST_NAMES:
            _known.clear()
        found = _known[name] = _read_file(name)
    return found


def _read_file(name: str) -> Library:
    """Import the file of a library, if there is one."""
    file = f"{_FILES}.{name}"
    try:
        found = getattr(import_module(file), "LIBRARY", UNKNOWN)
    except ModuleNotFoundError as error:
        if error.name != file:
            raise
        return UNKNOWN
    return found if isinstance(found, Library) else UNKNOWN


def library_of(cls: type) -> Library:
    """Return the library whose module defines a type; bases do not count.

    Examples
    --------
    >>> import numpy as np
    >>> own = type("Own", (np.ndarray,), {"__module__": "mine"})
    >>> library_of(np.ndarray).name, library_of(own).name
    ('numpy', '')
    """
    return library_named(package_of(cls))


def libraries_of(cls: type) -> Iterator[Library]:
    """Yield the known libraries of a type and of its bases, in the order of the bases."""
    for base in cls.__mro__:
        found = library_of(base)
        if found is not UNKNOWN:
            yield found


def inherited(cls: type, fact: Callable[[Library], T | None]) -> T | None:
    """Return a fact from the first library of a type and its bases that has it, or None."""
    return next((found for one in libraries_of(cls) if (found := fact(one)) is not None), None)


def all_names() -> tuple[str, ...]:
    """Return the names of all files, without importing them."""
    if not _names:
        from pkgutil import iter_modules

        found = (file.name for file in iter_modules(import_module(_FILES).__path__))
        _names.append(tuple(sorted(found)))
    return _names[0]


_names: Final[list[tuple[str, ...]]] = []


def all_libraries() -> tuple[Library, ...]:
    """Return every known library once, in alphabetical order of the names of the files."""
    return _without_aliases(all_names())


def imported_libraries() -> tuple[Library, ...]:
    """Return the known libraries whose top-level module is imported."""
    return _without_aliases(name for name in all_names() if name in sys.modules)


def all_deviations() -> tuple[Deviation, ...]:
    """Return every deviation that interchange knows, library by library."""
    return tuple(row for one in all_libraries() for row in one.deviations)


def _without_aliases(names: Iterable[str]) -> tuple[Library, ...]:
    """Return the libraries with these top-level modules, each once."""
    found = {one.name: one for one in map(library_named, names) if one is not UNKNOWN}
    return tuple(found.values())


def class_at(module: str, name: str) -> Any:
    """Return a class of a module that is imported, or None."""
    found = getattr(sys.modules.get(module), name, None)
    return found if isinstance(found, type) else None
