"""`Target`: how a library makes its own array of an Array, for `convert` and `like`.

Source: the libraries' own import functions, as they were seen to behave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import CopyNeededError
from interchange.abi._records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

CALL: Final = "convert()"


class Target(NamedTuple):
    """A library that arrays can be handed to.

    Attributes
    ----------
    module : str
        What to import.
    take : callable
        ``take(module, array)`` -> the library's own array, sharing the memory.
    keeps_readonly : bool
        Whether its arrays can be marked read-only, or are never written.
    may_alter : bool
        Whether `take` was seen to copy or to cast silently: its result is checked.
    take_copy : callable or None
        As `take`, and the memory is copied; for libraries that share none, so that the memory is
        not copied twice.
    is_foreign : bool
        Whether an exception of `take` is the library's refusal and not an error of interchange.
    memory : str
        Where its arrays are: ``"host"``, ``"device"``, or ``"any"``.
    take_on_stream : callable or None
        ``take_on_stream(module, array, stream)``: as `take`, where the caller named the stream
        that the array is ready on; for libraries that want to know it.
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
    """Return what the library's ``from_dlpack`` makes."""
    return module.from_dlpack(array)


def writable_alias(array: Any) -> Any:
    """Return an alias that is not marked read-only, for consumers that never write."""
    alias = array.__copy__()
    alias._flags = 0
    return alias


def copy_refused(library: str, error: Exception) -> CopyNeededError:
    """Return the error for a library that said that it would have to copy."""
    reason = first_line(error).partition(". ")[0].rstrip(".")
    return CopyNeededError(CALL, f"{library} would copy ({reason})", "IX-CONVERT-3")


def first_line(error: Exception) -> str:
    """Return the first line of the message of an exception."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
