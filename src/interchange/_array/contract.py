"""Contracts on arguments: what came, what was wanted, in one error.

Source: interchange (IX-REQUIRE-1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._types.devices import Device, is_index
from interchange._types.dtypes import DType
from interchange._types.errors import ArgumentError, ContractError, show

if TYPE_CHECKING:
    from .described import Described

_CALL = "Array.require()"
UNNAMED: Final = "array"
"""What an argument is called of which nobody said the name."""


def _choices(value: Any) -> tuple[Any, ...]:
    """Return a choice as a tuple."""
    return tuple(value) if isinstance(value, (list, set, frozenset, tuple)) else (value,)


def _dtype(array: Described, wanted: Any) -> str | None:
    """Return what is wrong with the element type."""
    choice = [DType.of(one, _CALL) for one in _choices(wanted)]
    if array.dtype in choice:
        return None
    return f"dtype {array.dtype}, wanted {' or '.join(map(str, choice))}"


def _ndim(array: Described, wanted: Any) -> str | None:
    """Return what is wrong with the number of axes."""
    if not all(map(is_index, _choices(wanted))):
        what = f"ndim={show(wanted)} is no int"
        raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", "pass an int or a tuple of them")
    if array.ndim in _choices(wanted):
        return None
    return f"ndim {array.ndim}, wanted {' or '.join(map(show, _choices(wanted)))}"


def _shape(array: Described, wanted: Any) -> str | None:
    """Return what is wrong with the extents."""
    if not isinstance(wanted, (tuple, list)) or not all(
        extent is None or is_index(extent) for extent in wanted
    ):
        what = f"shape={show(wanted)} is no tuple of ints and None"
        raise ArgumentError(_CALL, what, "IX-ARGUMENT-1")
    matches = len(wanted) == array.ndim and all(
        extent is None or extent == found for extent, found in zip(wanted, array.shape, strict=True)
    )
    return None if matches else f"shape {array.shape}, wanted {show(tuple(wanted))}"


def _order(array: Described, wanted: Any) -> str | None:
    """Return what is wrong with the layout."""
    if array.is_contiguous(wanted):
        return None
    return f"shape {array.shape} with strides {array.strides}, wanted {wanted} order"


def _device(array: Described, wanted: Any) -> str | None:
    """Return what is wrong with the place."""
    device = Device.of(wanted, _CALL)
    any_ordinal = isinstance(wanted, str) and ":" not in wanted
    if device is array.device or (any_ordinal and device.type == array.device.type):
        return None
    return f"device {array.device}, wanted {wanted if any_ordinal else device}"


def _writable(array: Described, wanted: Any) -> str | None:
    """Return what is wrong with the right to write."""
    if not wanted or array.readonly is False:
        return None
    if array.readonly:
        return "read-only memory, wanted writable"
    return "memory that its producer did not say may be written, wanted writable"


_CHECKS = {
    "dtype": _dtype,
    "ndim": _ndim,
    "shape": _shape,
    "order": _order,
    "device": _device,
    "writable": _writable,
}


def _origin(array: Described) -> str:
    """Return where the memory came from, in the words of an error."""
    if array.owner is None:
        return "of memory without an owner"
    owner = type(array.owner)
    return f"from {owner.__module__}.{owner.__qualname__}"


def check_contract(array: Described, contract: dict[str, Any], name: str) -> None:
    """Raise ContractError with everything that differs, or return None."""
    found = (_CHECKS[key](array, wanted) for key, wanted in contract.items() if wanted is not None)
    wrong = [text for text in found if text is not None]
    if wrong:
        what = f"argument {name!r} {_origin(array)} has "
        error = ContractError(_CALL, what + "; ".join(wrong), "IX-REQUIRE-1")
        error._array = array if name == UNNAMED else None
        raise error
