"""A contract on an array, as a core compares it.

Rule: IX-REQUIRE-1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interchange.abi._records import NamedTuple

if TYPE_CHECKING:
    from interchange._types.dtypes import DType


class Plan(NamedTuple):
    """A contract in numbers and dtypes.

    Attributes
    ----------
    dtypes : tuple of DType
        The allowed types; any if empty.
    ndims : tuple of int
        The allowed numbers of axes; any if empty.
    least, is_open : int, bool
        The number of axes of a shape, or the least one; -1 without a shape.
    fixed, named : tuple
        Pairs of an axis and its extent [elements], and of an axis and the number of a name; axes
        below 0 count from the end.
    order : str
        "C", "F", "A" for either, or empty.
    device_type, device_id : int
        The device; -1 for any.
    writable : bool
        Whether memory must be known to be writable.
    align : int
        Alignment of the address [bytes].
    """

    dtypes: tuple[DType, ...]
    ndims: tuple[int, ...]
    least: int
    is_open: bool
    fixed: tuple[tuple[int, int], ...]
    named: tuple[tuple[int, int], ...]
    order: str
    device_type: int
    device_id: int
    writable: bool
    align: int
