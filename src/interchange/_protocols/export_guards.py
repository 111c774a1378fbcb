"""What an exchange would lose of an object: its mask, a pending sign; and why an export failed.

Nothing is imported to find out: an object's library is imported already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from interchange._types.libraries import class_at, inherited

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


def may_nest(values: Any) -> bool:
    """Whether there is a sequence or an array among values, as far as their types say."""
    try:
        found: Iterable[type] = set(map(type, values))  # each once, since they may be many
    except TypeError:  # a metaclass may take the hash away
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
    except Exception:  # noqa: BLE001 - a property may raise anything, and is not what was asked for
        return None
    mask = raw.get("mask") if isinstance(raw, dict) else None
    if mask is None:
        return None
    hint = 'call `from_cai(x, mask="separate")`, which gives two arrays'
    return f"the CUDA record of {type(x).__name__} has a mask", "CAI-MASK-1", hint


def find_loss(x: Any) -> Loss | None:
    """Return what an export of `x` would lose, by what is known of its library."""
    guard = inherited(type(x), lambda library: library.export_guard)
    return None if guard is None else guard(x)


def find_arrow_loss(x: Any) -> Loss | None:
    """Return what an export of `x` by Arrow would lose, by what is known of its library."""
    guard = inherited(type(x), lambda library: library.arrow_guard)
    return None if guard is None else guard(x)


_record_guards: Final[WeakKeyDictionary[type, Guard | None]] = WeakKeyDictionary()


def record_guard_of(cls: type) -> Guard | None:
    """Return what finds the losses of the CUDA records of a type's objects, or None."""
    try:
        return _record_guards[cls]
    except KeyError:
        found = inherited(cls, lambda library: library.record_guard)
        _record_guards[cls] = found
        return found


def explain_refusal(x: Any) -> Loss | None:
    """Return why `x` could not be exported, by what is known of its library."""
    explain = inherited(type(x), lambda library: library.explain_refusal)
    return None if explain is None else explain(x)


# ---------------------------------------------------------------- hints for one call

_TAKE_COPY: Final = frozenset({"asarray()", "convert()", "like()", "xp.asarray()"})
"""Calls with a keyword ``copy`` by which ``__array__`` is asked for a copy."""
_OF_FROM_ARROW: Final = {
    '`nulls="separate"`': "`interchange.from_arrow(x, nulls='separate')`",
    "`storage=True`": "`interchange.from_arrow(x, storage=True)`",
}
"""Keyword that one function has -> the call of it."""


def hint_for_call(hint: str, call: str) -> str:
    """Return a hint that names only keywords that `call` has, and other calls in full."""
    for keyword, instead in _OF_FROM_ARROW.items():
        hint = hint.replace(keyword, instead)
    if call in _TAKE_COPY:
        return hint
    return hint.replace("`copy=True`", "`asarray(x, copy=True)`")
