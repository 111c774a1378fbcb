"""What is judged: a library, described by how it makes arrays, takes them and reads them back.

Source: interchange.  A description needs nothing but the library itself; what it leaves out is not
judged.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Shape = tuple[int, ...]

HOST: Final = "cpu"


@dataclass(frozen=True)
class Subject:
    """A library, or one kind of its arrays.

    Attributes
    ----------
    name : str
        What reports call it.
    make : callable or None
        ``make(shape, dtype, device, readonly)`` -> an array.  `shape` is a tuple of extents
        [elements], `dtype` a name such as ``"float32"``, `device` ``"cpu"`` or ``"cuda"``,
        `readonly` whether its memory must refuse writes.  What the elements are does not matter.
        Raises `CannotMakeError` for what the library has not.
    take : callable or None
        ``take(x)`` -> an array of the library on the memory of `x`, an object with
        ``__dlpack__``.
    read : callable or None
        ``read(y)`` -> the elements of what `take` returned, as a flat list of numbers in C order.
    write : callable or None
        ``write(y)`` tries to set the first element of what `take` returned to 1, and raises where
        that is refused.
    take_cai : callable or None
        ``take_cai(x)``, for objects with ``__cuda_array_interface__``.
    take_capsule : callable or None
        ``take_capsule(capsule)``, for libraries that take bare capsules.
    take_buffer : callable or None
        ``take_buffer(x)``, for objects with the buffer protocol.
    take_array_interface : callable or None
        ``take_array_interface(x)``, for objects with ``__array_interface__``.
    make_on : callable or None
        ``make_on(stream, shape, dtype)`` -> an array of CUDA memory whose library counts `stream`,
        a handle, as the one on which work on the array is pending.
    take_on : callable or None
        ``take_on(stream, x)`` -> as `take`, for use on `stream`, a handle.
    release : callable
        ``release()`` lets the library free what it holds back, such as cached memory.
    array_type : str or None
        ``"module:qualified name"`` of the type that carries the exchange table, where it is not
        the type of what `make` returns.
    functions : str or None
        Module that has the functions of interchange, where the library offers them.
    distribution : str or None
        What its version is found under.
    immutable : bool
        Whether the library's arrays can never be written, as JAX's.
    preload : tuple of str
        Modules to import once, before processes are forked for the checks.
    environment : mapping
        Variables to set before the library is imported, unless they are set.
    """

    name: str
    make: Callable[..., Any] | None = None
    take: Callable[[Any], Any] | None = None
    read: Callable[[Any], list[Any]] | None = None
    write: Callable[[Any], object] | None = None
    take_cai: Callable[[Any], Any] | None = None
    take_capsule: Callable[[Any], Any] | None = None
    take_buffer: Callable[[Any], Any] | None = None
    take_array_interface: Callable[[Any], Any] | None = None
    make_on: Callable[[int, Shape, str], Any] | None = None
    take_on: Callable[[int, Any], Any] | None = None
    release: Callable[[], object] = bool
    array_type: str | None = None
    functions: str | None = None
    distribution: str | None = None
    immutable: bool = False
    preload: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Release of the library, or ``"unknown"``."""
        from importlib import metadata

        try:
            return metadata.version(self.distribution or self.name)
        except metadata.PackageNotFoundError:
            return "unknown"


_PARAMETERS: Final = ("shape", "dtype", "device", "readonly")


def subject_of_function(make: Callable[..., Any], name: str) -> Subject:
    """Return the subject of a raw function that makes arrays.

    Parameters
    ----------
    make : callable
        Takes any of ``shape``, ``dtype``, ``device`` and ``readonly``, by these names, or nothing.
    name : str
        What reports call it.

    Examples
    --------
    >>> subject = subject_of_function(lambda shape: [0] * shape[0], "a list")
    >>> subject.make((3,), "float32", "cpu", False)
    [0, 0, 0]
    """
    parameters = inspect.signature(make).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        known: tuple[str, ...] = _PARAMETERS
    else:
        known = tuple(parameter for parameter in _PARAMETERS if parameter in parameters)

    def call(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
        given = {"shape": shape, "dtype": dtype, "device": device, "readonly": readonly}
        return make(**{parameter: given[parameter] for parameter in known})

    return Subject(name, make=call)
