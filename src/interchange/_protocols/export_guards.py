"""Data that an exchange would lose: a mask, a pending sign; and the reasons of failed exports.

Nothing is imported to find out: the object's library is imported already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from interchange._types.library import class_at, inherited, libraries_of

from .protocol_attributes import attribute, supports_arrow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interchange._types.library import Guard, Loss

FILLED: Final = "pass `x.filled(0)`, or exchange data and mask as two arrays"


# ---------------------------------------------------------------- masks of numpy.ma


def may_be_masked(cls: type) -> bool:
    """Whether a type is an array of numpy.ma, whose elements may be masked."""
    known = class_at("numpy.ma", "MaskedArray")
    return known is not None and issubclass(cls, known)


def is_masked_array(x: object) -> bool:
    """Whether `x` is an array of numpy.ma, with a mask or without."""
    known = class_at("numpy.ma", "MaskedArray")
    return known is not None and isinstance(x, known)


def is_masked(x: Any) -> bool:
    """Whether `x` is an array of numpy.ma with a masked element, or with a masked field of one."""
    if not is_masked_array(x):
        return False
    mask = x.mask
    if getattr(mask, "dtype", None) is not None and mask.dtype.fields:
        return bool(mask.tobytes().strip(b"\0"))
    return bool(mask.any()) if hasattr(mask, "any") else bool(mask)


_NUMBERS: Final = frozenset({bool, int, float, complex})


def may_nest(values: Any) -> bool:
    """Whether there is a sequence or an array among values, as far as their types show."""
    try:
        found: Iterable[type] = set(map(type, values)) - _NUMBERS  # each once: they may be many
    except TypeError:  # a metaclass may make its classes unhashable
        found = map(type, values)
    return any(hasattr(kind, "__len__") for kind in found)


def holds_masked(x: Any) -> bool:
    """Whether `x`, or an array in the nested lists and tuples of `x`, has a masked element."""
    if not isinstance(x, (list, tuple)):
        return is_masked(x)
    return may_nest(x) and any(map(holds_masked, x))


# ---------------------------------------------------------------- guards


def record_with_mask(x: Any) -> Loss | None:
    """Return the loss of an object whose CUDA record has a mask, which DLPack cannot represent."""
    try:
        raw = getattr(x, "__cuda_array_interface__", None)
    except Exception:  # noqa: BLE001 - a property may raise anything
        return None
    mask = raw.get("mask") if isinstance(raw, dict) else None
    if mask is None:
        return None
    hint = 'call `interchange.from_cai(x, mask="separate")`, which gives two arrays'
    return f"the CUDA record of {type(x).__name__} has a mask", "CAI-MASK-1", hint


def find_loss(x: Any) -> Loss | None:
    """Return what an export of `x` would lose, by the record of its library."""
    guard = inherited(type(x), lambda library: library.export_guard)
    return None if guard is None else guard(x)


def find_arrow_loss(x: Any) -> Loss | None:
    """Return what an export of `x` by Arrow would lose, by the record of its library."""
    guard = inherited(type(x), lambda library: library.arrow_guard)
    return None if guard is None else guard(x)


_record_guards: Final[WeakKeyDictionary[type, Guard | None]] = WeakKeyDictionary()


def record_guard_of(cls: type) -> Guard | None:
    """Return the guard of the CUDA records of a type's objects, or None."""
    try:
        return _record_guards[cls]
    except KeyError:
        found = inherited(cls, lambda library: library.record_guard)
        _record_guards[cls] = found
        return found


def explain_refusal(x: Any) -> Loss | None:
    """Return why `x` could not be exported, by the record of its library."""
    explain = inherited(type(x), lambda library: library.explain_refusal)
    return None if explain is None else explain(x)


# ---------------------------------------------------------------- hints for one call

_TAKE_COPY: Final = frozenset({"asarray()", "convert()", "like()", "xp.asarray()"})
"""Calls with a keyword ``copy`` that requests a copy by ``__array__``."""
_OF_FROM_ARROW: Final = {
    '`nulls="separate"`': "`interchange.from_arrow(x, nulls='separate')`",
    "`meaning=True`": "`interchange.from_arrow(x, meaning=True)`",
    "`storage=True`": "`interchange.from_arrow(x, storage=True)`",
    "`ragged=True`": "`interchange.from_arrow(x, ragged=True)`",
}
"""Keyword of one function -> the call of that function."""


def hint_for_call(hint: str, call: str) -> str:
    """Return a hint that names only keywords of `call`, and other calls in full."""
    for keyword, instead in _OF_FROM_ARROW.items():
        hint = hint.replace(keyword, instead)
    if call in _TAKE_COPY:
        return hint
    return hint.replace("`copy=True`", "`interchange.asarray(x, copy=True)`")


# ---------------------------------------------------------------- nulls of columns


def count_nulls(x: Any) -> int:
    """Return how many elements of a column are null, or of the columns of a table.

    The column has ``null_count``: a number, or a method that returns a number or a table of them.
    """
    count = getattr(x, "null_count", None)
    if type(count) is int:
        return count
    if callable(count):
        count = count()
        return count if type(count) is int else int(sum(sum(row) for row in count.rows()))
    return sum(map(count_nulls, getattr(x, "columns", ())))


def describe_nulls(count: int, x: Any) -> Loss:
    """Return the loss of `count` nulls."""
    from .conversion_hints import kind_of  # for an error only

    fill = next((word for word in ("fill_null", "fillna") if hasattr(x, word)), None)
    kind = kind_of(x)
    what = f"{count} of the elements are null"
    if kind == "text":
        return what, "AI-MASK-1", "turn them into numbers first"
    filled = "fill them first"
    if fill is not None and kind in {"int", "float"}:
        filled += f", with `x.{fill}(0)`"
    if supports_arrow(x) and kind:
        storage = ", storage=True" if kind == "other" else ""
        separate = f"interchange.from_arrow(x, nulls='separate'{storage})"
        filled += f", or take data and mask with `{separate}`"
    copied = {"": "", "float": "", "int": ", which may be floats"}.get(kind)
    hint = filled
    if copied is not None:
        hint = f"{filled}, or pass `copy=True` to accept what its __array__ returns{copied}"
    return what, "AI-MASK-1", hint


def find_nulls(x: Any) -> Loss | None:
    """Return what a column would lose through ``__array__``: which elements are null."""
    count = inherited(type(x), lambda library: library.count_nulls)
    found = 0 if count is None else count(x)
    return describe_nulls(found, x) if found else None


def is_column(x: object) -> bool:
    """Whether ``__array__`` of `x` copies elements that an ndarray cannot represent."""
    return inherited(type(x), lambda library: library.count_nulls) is not None


def prefers_array_method(x: Any) -> bool:
    """Whether an object that supports Arrow is imported by ``__array__``.

    So are arrays of any number of axes, tables, which have two, and columns that Arrow would
    convert.
    """
    if attribute(x, "__array__") is None:
        return False
    for library in libraries_of(type(x)):
        if library.unwrap is not None:
            return prefers_array_method(library.unwrap(x))
        if library.prefers_array_method is not None:
            return library.prefers_array_method(x)
    from .conversion_hints import names_of  # rarely needed

    return attribute(x, "ndim") is not None or bool(names_of(x))
