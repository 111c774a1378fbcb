"""The ``__array__`` method, tried last: it may copy, cast, and replace nulls by NaN.

Source: NumPy 2, Interoperability with NumPy: ``__array__(dtype=None, copy=None)`` raises if
``copy=False`` cannot be met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange._types.errors import (
    NO_ROOM,
    CopyNeededError,
    ExchangeError,
    NoProtocolError,
    error_for,
    show,
)
from interchange._types.library import libraries_of

from .dlpack import supports_dlpack
from .export_guards import find_loss, find_nulls, hint_for_call, is_column
from .host import import_array_interface
from .protocol_attributes import attribute, supports_arrow

if TYPE_CHECKING:
    from typing import TypeVar

    from interchange._core import Tensor
    from interchange._types.errors import InterchangeError

    T = TypeVar("T", bound="Tensor")


def import_array_method(x: Any, cls: type[T], copy: bool | None, call: str) -> T:
    """Import an object with ``__array__``, as returned by `ask_for_array`.

    Raises NoProtocolError: it has no ``__array__``, or is a class (IX-PROTOCOL-1).
    """
    if isinstance(x, type) or attribute(x, "__array__") is None:
        from .conversion_hints import conversion_hint  # for an error only

        what = f"{show(x)} of type {type(x).__name__}"
        if not isinstance(x, type) and attribute(x, "__dlpack__") is not None:
            what += ", which has __dlpack__ and no __dlpack_device__"
        raise NoProtocolError(call, what, "IX-PROTOCOL-1", conversion_hint(x))
    array = ask_for_array(x, copy, call)
    tensor = import_array_interface(array, cls, call, copies=copy is True)
    tensor._owner = x
    return tensor


def ask_for_array(x: Any, copy: bool | None, call: str) -> Any:
    """Return the ndarray that ``__array__`` of `x` returns.

    `x`: an object with ``__array__``.
    `copy`: True: accept a copy, and converted elements.  Otherwise share the memory, or raise.

    Raises CopyNeededError: it would copy, or does not take ``copy`` (AI-ARRAY-1).
    Raises ExchangeError: it would lose a mask (AI-MASK-1), or did not return an ndarray
        (AI-ARRAY-2).
    """
    lost = find_loss(x)
    if lost is not None:
        raise error_for(call, *lost)
    found = x.__array__() if copy else _share(x, copy, call)
    if hasattr(type(found), "__array_interface__"):
        return found
    what = f"__array__() of {type(x).__name__} returned {show(found)}"
    raise ExchangeError(call, what, "AI-ARRAY-2")


def without_copies(x: Any, copy: bool | None) -> bool | None:
    """Return the ``copy`` to request if a copy is made later: True only if `x` would refuse."""
    if not copy:
        return copy
    return True if is_last_resort(x) or is_column(x) or _is_arrow(x) else None


def _is_arrow(x: Any) -> bool:
    """Whether an object, not a class, supports Arrow."""
    return not isinstance(x, type) and supports_arrow(x)


def is_last_resort(x: Any) -> bool:
    """Whether `x` supports ``__array__`` only, as far as its attributes show."""
    if supports_dlpack(x) or attribute(x, "__array_interface__") is not None:
        return False
    return attribute(x, "__array__") is not None


def _share(x: Any, copy: bool | None, call: str) -> Any:
    """Return the result of ``__array__(copy=False)``, if it is the memory of `x`."""
    libraries = tuple(libraries_of(type(x)))
    if any(one.array_method_computes for one in libraries) or not _takes_copy(x.__array__):
        raise _refusal(x, copy, call)
    try:
        found = x.__array__(copy=False)
    except NO_ROOM:
        raise
    except Exception as error:
        raise _refusal(x, copy, call) from error
    may_copy = any(one.array_method_may_copy for one in libraries)
    if may_copy and not _is_same(found, x.__array__(copy=False)):
        raise _refusal(x, copy, call)
    return found


def _is_same(one: Any, other: Any) -> bool:
    """Whether two ndarrays share their memory; False without elements."""
    places = [array.__array_interface__["data"][0] for array in (one, other)]
    return not one.size or places[0] == places[1]


def _takes_copy(method: Any) -> bool:
    """Whether a method takes the keyword ``copy``, as far as its signature shows."""
    import inspect  # slow to import

    try:
        parameters = inspect.signature(method).parameters
    except (TypeError, ValueError):
        return True  # an unknown keyword raises TypeError
    kinds = {parameter.kind for parameter in parameters.values()}
    return "copy" in parameters or inspect.Parameter.VAR_KEYWORD in kinds


def _refusal(x: Any, copy: bool | None, call: str) -> InterchangeError:
    """Return the error for elements that would be copied, and perhaps changed."""
    lost = find_nulls(x)
    if lost is not None:
        told, broken, hint = lost
        return error_for(call, told, broken, hint_for_call(hint, call))
    from .conversion_hints import is_plain  # for an error only

    what = f"{type(x).__name__} supports __array__ only, which may copy and cast"
    kind = attribute(x, "dtype")
    if kind is not None and is_column(x) and not is_plain(x):
        what += f", and its elements are {show(kind)}"
    rule = "DLP-COPY-1" if copy is False else "AI-ARRAY-1"
    return CopyNeededError(call, what, rule, hint_for_call(_way_to_copy(x), call))


def _way_to_copy(x: Any) -> str:
    """Return a hint for an object that supports ``__array__`` only."""
    from .conversion_hints import conversion_hint, is_plain, library_hint, names_of, one_column

    found = library_hint(x) or conversion_hint(x)
    if found is not None:
        return found
    names = names_of(x)
    if names:
        return one_column(x, names)
    if is_column(x) and not is_plain(x):
        return "turn the elements into plain numbers first"
    return "pass `copy=True` to accept what its __array__ returns"
