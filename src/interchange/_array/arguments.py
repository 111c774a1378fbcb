"""Arguments of the methods of an Array: orders, axes, shapes.

Source: array API standard 2025.12 (``permute_dims``, ``reshape``).
"""

from __future__ import annotations

from math import prod
from operator import index as as_index

from interchange._types.errors import ArgumentError, ViewError, show
from interchange._types.indices import is_bool


def check_order(order: object, call: str = "Array.is_contiguous()") -> str:
    """Return an order that is "C" or "F"."""
    if not isinstance(order, str) or order not in {"C", "F"}:
        what = f"order={show(order)}"
        raise ArgumentError(call, what, "IX-ARGUMENT-1", "pass 'C' or 'F'")
    return order


def check_extents(values: object, name: str, call: str) -> tuple[int, ...]:
    """Return a tuple of exact ints; an int stands for one axis."""
    kind = type(values)
    is_one = hasattr(kind, "__index__") and not hasattr(kind, "__len__")
    return check_ints((values,) if is_one else values, name, call)


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
        hint = f"pass {name} as a tuple of ints, such as (2, 3)"
        raise ArgumentError(call, what, "IX-ARGUMENT-1", hint) from error
    return found


def resolve_shape(shape: object, size: int, call: str) -> tuple[int, ...]:
    """Return the extents of a shape in which one may be -1 [elements]."""
    extents = check_extents(shape, "shape", call)
    unknown = extents.count(-1)
    known = prod(extent for extent in extents if extent != -1)
    if unknown == 1 and known > 0 and size % known == 0:
        return tuple(size // known if extent == -1 else extent for extent in extents)
    if unknown or any(extent < 0 for extent in extents) or known != size:
        what = f"shape={show(extents)} for {size} elements"
        hint = "pass extents with that product"
        raise ViewError(call, what, "IX-VIEW-1", hint)
    return extents
