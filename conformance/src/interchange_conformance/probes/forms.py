"""Shapes and element types that are requested from a library, the usual ones first.

Some libraries support only one element type, one number of axes or one shape: the first form that a
library supports replaces the usual one.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange_conformance.zoo.memory import ELEMENTS, itemsize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Shape = tuple[int, ...]

DTYPES: Final = (
    "float32", "float64", "int32", "int64", "uint8", "int8", "int16", "uint16", "uint32", "uint64",
    "float16", "complex64", "complex128", "bool", "bfloat16", "float8_e4m3fn", "float8_e5m2",
)  # fmt: skip
NUMERIC: Final = ("int32", *(one for one in DTYPES[:13] if one != "int32"))
"""Element types that can represent the numbers 0 to 99."""
SIX: Final = ((2, 3), (6,))
"""Shapes of six elements: the default shape, and a one-dimensional one."""
SHAPES: Final = (
    *SIX, (1, 2, 3), (2, 3, 1), (1, 1, 2, 3), (1, 2, 3, 1), (), (4, 6), (6, 4), (4, 4, 4),
    (480, 640), (480, 640, 3),
    *itertools.chain.from_iterable(
        ((side,), (side, side), (side, side, 3), (3, side, side), (side, side, 4))
        for side in (8, 4, 16, 32, 64, 2, 1, 3, 5, 10, 100, 128, 224, 256, 512)
    ),
)  # fmt: skip
"""Shapes tried for libraries that support few; others are listed in the subject's description."""


class Form(NamedTuple):
    """A shape and an element type that ``make`` can be asked for."""

    shape: Shape
    dtype: str

    @property
    def itemsize(self) -> int:
        """Size of one element [bytes]."""
        return itemsize(ELEMENTS[self.dtype])

    @property
    def nbytes(self) -> int:
        """Size of all elements [bytes]."""
        return math.prod(self.shape) * self.itemsize


USUAL: Final = Form(SIX[0], DTYPES[0])
"""The first form that is requested."""


def forms_of(shapes: Iterable[Shape], dtypes: Sequence[Any]) -> Iterator[Form]:
    """Yield each shape with each element type, the first shape first."""
    return (Form(shape, dtype) for shape in shapes for dtype in dtypes)


def blocks_of(nbytes: int) -> Iterator[Form]:
    """Yield forms of a total size, a power of two of 1024 bytes at least, with one to four axes."""
    for dtype in dict.fromkeys(("uint8", *DTYPES)):
        count = nbytes // itemsize(ELEMENTS[dtype])
        rows = 1 << count.bit_length() // 2
        for shape in (
            (count,), (rows, count // rows), (rows, count // rows // 4, 4),
            (1, rows, count // rows // 4, 4),
        ):  # fmt: skip
            yield Form(shape, dtype)
