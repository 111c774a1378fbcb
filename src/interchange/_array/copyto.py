"""`copy_to`: copies elements into memory that the caller has, with the checks of `copyto`.

Source: NumPy, ``numpy.copyto`` (names and broadcasting); array API standard 2025.12, Type Promotion
Rules.  Elements of one type are copied by the core and by drivers; NumPy casts others on the host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._protocols import host
from interchange._types.errors import ArgumentError, ReadOnlyError, ViewError, show
from interchange._types.numpy_dtypes import load_numpy

from .copies import COPIED_BY_DRIVERS, copy_array, copy_temporarily
from .copy_into import copy_into
from .host_copies import check_named, copy_elements, may_overlap
from .operands import array_of

if TYPE_CHECKING:
    from interchange._types.devices import Device
    from interchange._types.dtypes import DType

    from .array_base import ArrayBase

CASTINGS: Final = ("no", "safe", "same_kind", "unsafe")
"""What `casting` may be, each allowing all that the one before allows."""
_RANKS: Final = {
    "bool": 0,
    "unsigned integer": 1,
    "signed integer": 1,
    "real floating": 2,
    "complex floating": 3,
}
"""Category of elements -> its rank among the categories."""
_PROMOTED: Final = {
    ("unsigned integer", "signed integer"): 1,
    ("real floating", "complex floating"): 0,
}
"""Categories between which types are promoted -> the power of 2 by which the target is larger."""


def copy_to(target: ArrayBase, source: ArrayBase, casting: str, stream: Any, call: str) -> None:
    """Copy the elements of an array into another, as if the source were copied first.

    `target`: as `check_target` accepts.

    Raises ArgumentError: `casting` does not allow the types (IX-COPY-1), or the shape of the source
        does not broadcast (IX-COPY-2).
    Raises StreamError, UnsupportedDeviceError, UnsupportedDTypeError: as `copy_into`.
    """
    is_cast = source.dtype is not target.dtype
    if is_cast:
        _check_cast(source, target, casting, call)
    if source.shape != target.shape:
        source = _spread(source, target, call)
    if is_cast:
        check_named(stream, target.device, call)
        _cast(target, source, call)
    elif _is_on_host(target) and _is_on_host(source):
        if stream is not None:
            check_named(stream, target.device, call)
        copy_elements(target, source, call)
    else:
        if may_overlap(target, source):  # with strides that drivers cannot copy in order
            source = copy_temporarily(source, call, stream)
        copy_into(target, source, stream, call)


def check_casting(casting: object, call: str) -> str:
    """Return a value of `casting`, or refuse it."""
    if isinstance(casting, str) and casting in CASTINGS:
        return casting
    hint = f"pass one of {', '.join(map(repr, CASTINGS))}"
    raise ArgumentError(call, f"casting={show(casting)}", "IX-ARGUMENT-1", hint)


def check_target(
    target: ArrayBase, call: str, name: str = "the target", rule: str = "IX-COPY-3"
) -> None:
    """Refuse to write into memory that is read-only, or whose elements share memory.

    `name`: what errors call the memory.
    `rule`: the rule for elements that share memory.

    Raises ReadOnlyError: it is read-only, or not known to be writable (DLP-RO-3).
    Raises ArgumentError: elements overlap (`rule`).
    """
    if target.readonly is not False:
        kind = "read-only" if target.readonly else "not known to be writable"
        raise ReadOnlyError(call, f"{name} is {kind}", "DLP-RO-3", "pass writable memory")
    layout = target._spec.layout
    if layout.may_overlap:
        what = f"elements of {name} may overlap: shape {layout.shape}, strides {layout.strides}"
        raise ArgumentError(call, what, rule)


def fill_out(array: ArrayBase, out: Any, device: Device | None, stream: Any, call: str) -> None:
    """Copy an array into memory for a result.

    `device`: where that memory has to be; None for any device.

    Raises ArgumentError: it is no Array (IX-XP-1), is on another device, has another shape or
        element type, or elements that overlap (IX-OUT-1).
    Raises ReadOnlyError: it is read-only, or not known to be writable (DLP-RO-3).
    """
    array_of(out, type(array), call)
    found, wanted = (out.shape, out.dtype), (array.shape, array.dtype)
    if found != wanted or device not in {None, out.device}:
        what = f"out is of {found[1]} and shape {found[0]} on {out.device}"
        wish = f"{wanted[1]} and shape {wanted[0]} on {device or 'any device'}"
        raise ArgumentError(call, f"{what}, the result of {wish}", "IX-OUT-1")
    check_target(out, call, "out", "IX-OUT-1")
    copy_to(out, array, "no", stream, call)


def _is_on_host(array: ArrayBase) -> bool:
    """Whether the host copies an array."""
    return array._spec.device.type not in COPIED_BY_DRIVERS


def _spread(source: ArrayBase, target: ArrayBase, call: str) -> ArrayBase:
    """Return a view of a source that has the shape of the target.

    Raises ArgumentError: it does not broadcast (IX-COPY-2).
    """
    try:
        layout = source._spec.layout.broadcast(target.shape, call)
    except ViewError:
        what = f"a source of shape {source.shape} for a target of shape {target.shape}"
        raise ArgumentError(call, what, "IX-COPY-2") from None
    return source._view(layout, 0, call)


# ---------------------------------------------------------------- casts


def _check_cast(source: ArrayBase, target: ArrayBase, casting: str, call: str) -> None:
    """Refuse a cast that `casting` does not allow, or that is not on the host (IX-COPY-1)."""
    given, wanted = source.dtype, target.dtype
    what = f"elements of {given} into {wanted}"
    devices = {source.device, target.device}
    is_number = given.category is not None and wanted.category is not None
    if not is_number or given.typestr is None or wanted.typestr is None:
        hint = "pass arrays of one element type"
        raise ArgumentError(call, what, "IX-COPY-1", hint)
    if any(one.type in COPIED_BY_DRIVERS or not one.is_host_accessible for one in devices):
        what = f"{what}, from {source.device} to {target.device}: only the host casts"
        hint = "cast the source first, with the library that computes on its device"
        raise ArgumentError(call, what, "IX-COPY-1", hint)
    if given.category == "complex floating" and wanted.category not in {given.category, "bool"}:
        hint = "copy its real part, or view it as real numbers"
        raise ArgumentError(call, f"{what}, without imaginary parts", "IX-COPY-1", hint)
    needed = next(one for one in CASTINGS[1:] if _allows(one, given, wanted))
    if CASTINGS.index(needed) > CASTINGS.index(casting):
        hint = f"pass {needed!r} as casting, which casts them"
        raise ArgumentError(call, f"{what}, and casting={casting!r}", "IX-COPY-1", hint)


def _allows(casting: str, given: DType, wanted: DType) -> bool:
    """Whether a value of `casting` other than "no" allows a cast between two types.

    Examples
    --------
    >>> from interchange import DType
    >>> uint8, int16 = map(DType.of, ("uint8", "int16"))
    >>> _allows("safe", uint8, int16), _allows("safe", int16, uint8)
    (True, False)
    """
    kinds = given.category, wanted.category
    if casting == "safe":
        if kinds[0] == kinds[1]:
            return given.bits <= wanted.bits
        more = _PROMOTED.get(kinds)  # type: ignore[arg-type]
        half = 2 if kinds[1] == "complex floating" else 1
        return more is not None and given.bits << more <= wanted.bits // half
    ranks = [_RANKS[str(kind)] for kind in kinds]
    return casting == "unsafe" or ranks[0] <= ranks[1]


def _cast(target: ArrayBase, source: ArrayBase, call: str) -> None:
    """Copy elements of another type on the host; NumPy casts them without warnings."""
    np = load_numpy()
    if may_overlap(target, source):
        source = copy_array(source, type(source), "C", call)
    elements = host.as_ndarray(source, call)
    with np.errstate(all="ignore"):
        np.copyto(host.as_ndarray(target, call), elements, casting="unsafe")
