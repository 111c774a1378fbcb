"""`Target`: how a library makes its own array from an Array, for `convert` and `like`.

Source: the libraries' own import functions, as observed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import CopyNeededError
from interchange.abi._records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

CALL: Final = "convert()"


class Target(NamedTuple):
    """A library that arrays can be converted to.

    Attributes
    ----------
    module : str
        The module to import.
    take : callable
        ``take(module, array)`` -> the library's own array, sharing the memory.
    keeps_readonly : bool
        Whether its arrays can be marked read-only, or are immutable.
    may_alter : bool
        Whether `take` was observed to copy or to cast silently: its result is checked.
    take_copy : callable or None
        As `take`, but copying the memory; for libraries that cannot share memory, so that it is not
        copied twice.
    is_foreign : bool
        Whether an exception of `take` is the library's refusal and not an error of interchange.
    memory : str
        Devices of its arrays: ``"host"``, ``"device"``, or ``"any"``.
    take_on_stream : callable or None
        ``take_on_stream(module, array, stream)``: as `take`, if the caller named the stream that
        the array is ready on; for libraries that use it.
    """

    module: str
    take: Callable[[Any, Any], Any]
    keeps_readonly: bool
    may_alter: bool = False
    take_copy: Callable[[Any, Any], Any] | None = None
    is_foreign: bool = True
    memory: str = "any"
    take_on_stream: Callable[[Any, Any, int | None], Any] | None = None


Target.__module__ = "interchange"


def by_from_dlpack(module: Any, array: Any) -> Any:
    """Return the result of the library's ``from_dlpack``."""
    return module.from_dlpack(array)


def writable_alias(array: Any) -> Any:
    """Return an alias that is not marked read-only, for consumers that never write."""
    alias = array.__copy__()
    alias._flags = 0
    return alias


def copy_refused(library: str, error: Exception) -> CopyNeededError:
    """Return the error for a library that reported that it would have to copy."""
    reason = first_line(error).partition(". ")[0].rstrip(".")
    return CopyNeededError(CALL, f"{library} would copy ({reason})", "IX-CONVERT-3")


def first_line(error: Exception) -> str:
    """Return the first line of the message of an exception."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
