"""What a core knows of a contract on an array: numbers that it compares.

Rule: IX-REQUIRE-1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interchange.abi._records import NamedTuple

if TYPE_CHECKING:
    from interchange._types.dtypes import DType


class Plan(NamedTuple):
    """A contract as the core reads it.

    Attributes
    ----------
    dtypes : tuple of DType
        One of them; anything where it is empty.
    ndims : tuple of int
        One of them, likewise.
    least, is_open : int, bool
        How many axes a shape has, or has at least; -1 where no shape is said.
    fixed, named : tuple
        Pairs of an axis and its extent [elements], and of an axis and the number of a name; axes
        below 0 count from the end.
    order : str
        "C", "F", "A" for either, or no word.
    device_type, device_id : int
        Where it is; -1 for anywhere.
    writable : bool
        Whether memory must be known to be writable.
    align : int
        What the address is a multiple of [bytes].
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
