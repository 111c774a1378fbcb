"""Arguments of the methods of an Array: orders, axes, shapes.

Source: array API standard 2025.12 (``permute_dims``, ``reshape``).
"""

from __future__ import annotations

from math import prod
from operator import index as as_index

from interchange._types.errors import ArgumentError, ViewError, show
from interchange._types.indices import is_bool


def check_order(order: object) -> str:
    """Return an order that is "C" or "F"."""
    if not isinstance(order, str) or order not in {"C", "F"}:
        what = f"order={show(order)}"
        raise ArgumentError("Array", what, "IX-ARGUMENT-1", "pass 'C' or 'F'")
    return order


def check_ints(values: object, name: str, call: str) -> tuple[int, ...]:
    """Return a tuple of exact ints."""
    try:
        if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__getitem__"):
            raise TypeError(values)  # noqa: TRY301 - both errors have the same text
        if any(map(is_bool, values)):  # type: ignore[call-overload]
            raise TypeError(values)  # noqa: TRY301 - as above
        found = tuple(as_index(value) for value in values)  # type: ignore[attr-defined]
    except TypeError as error:
        what = f"{name}={show(values)} is not a tuple of ints"
        raise ArgumentError(call, what, "IX-ARGUMENT-1") from error
    return found


def resolve_shape(shape: object, size: int, call: str) -> tuple[int, ...]:
    """Return the extents of a shape in which one may be -1 [elements]."""
    wanted = (shape,) if hasattr(shape, "__index__") else shape
    extents = check_ints(wanted, "shape", call)
    unknown = extents.count(-1)
    known = prod(extent for extent in extents if extent != -1)
    if unknown == 1 and known > 0 and size % known == 0:
        return tuple(size // known if extent == -1 else extent for extent in extents)
    if unknown or any(extent < 0 for extent in extents) or known != size:
        what = f"shape={show(extents)} for {size} elements"
        hint = "pass extents with that product"
        raise ViewError(call, what, "IX-VIEW-1", hint)
    return extents
