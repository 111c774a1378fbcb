"""A contract on an array, as a core compares it.

Rule: IX-REQUIRE-1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interchange.abi._records import NamedTuple

if TYPE_CHECKING:
    from interchange._types.dtypes import DType


class Plan(NamedTuple):
    """A contract in numbers and dtypes."""

    dtypes: tuple[DType, ...]  # the allowed types; any if empty
    ndims: tuple[int, ...]  # the allowed numbers of axes; any if empty
    # least, is_open: the number of axes of a shape, or the least one; -1 without a shape
    least: int
    is_open: bool
    # fixed, named: pairs of an axis and its extent [elements], and of an axis and the number of a
    # name; axes below 0 count from the end
    fixed: tuple[tuple[int, int], ...]
    named: tuple[tuple[int, int], ...]
    order: str  # "C", "F", "A" for either, or empty
    # device_type, device_id: the device; -1 for any
    device_type: int
    device_id: int
    writable: bool  # whether memory must be known to be writable
    align: int  # alignment of the address [bytes]
