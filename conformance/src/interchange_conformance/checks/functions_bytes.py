"""The function of interchange that reads bytes as arrays: what it refuses, and what it shares.

Source: the rules IX-BUFFER-1 and IX-BUFFER-2; PEP 3118.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import expect
from interchange_conformance.registry import area

from ._refusals import expect_refusal

if TYPE_CHECKING:
    from interchange_conformance.probes.under_test import FunctionsUnderTest
    from interchange_conformance.registry import Decorator

    from ._refusals import Wrong

check: Decorator = area("functions")

_SOURCE: Final = "interchange, its rule book"


def _read(ix: Any, size: int, **keywords: Any) -> Any:
    """Read a block of so many bytes."""
    return ix.from_buffer(bytearray(size), **keywords)


BEYOND: Final[dict[str, Wrong]] = {
    "offset": (lambda ix: _read(ix, 8, dtype="uint8", offset=9), (ValueError,)),
    "offset-before": (lambda ix: _read(ix, 8, dtype="uint8", offset=-1), (ValueError,)),
    "shape": (lambda ix: _read(ix, 8, dtype="float32", shape=(3,)), (ValueError,)),
    "shape-and-offset": (
        lambda ix: _read(ix, 8, dtype="float32", shape=(2,), offset=4), (ValueError,)
    ),
    "shape-overflowing": (
        lambda ix: _read(ix, 8, dtype="float32", shape=(2**31, 2**31)), (ValueError,)
    ),
    "part-of-an-element": (lambda ix: _read(ix, 6, dtype="float32"), (ValueError,)),
    "unknown-twice": (lambda ix: _read(ix, 8, dtype="uint8", shape=(-1, -1)), (ValueError,)),
}  # fmt: skip


@check("IX-BUFFER-1", source=_SOURCE, cases=BEYOND)
def elements_beyond_the_buffer_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """from_buffer() refuses a dtype, a shape or an offset that leaves the buffer.

    Raise ViewError with IX-BUFFER-1.
    """
    expect_refusal(functions, "IX-BUFFER-1", case)


READ: Final[dict[str, tuple[dict[str, Any], int, Any]]] = {
    "plain": ({}, 0, [1, 0, 2, 0, 3, 0, 4, 0]),
    "dtype": ({"dtype": "uint16"}, 0, [1, 2, 3, 4]),
    "offset": ({"dtype": "uint16", "offset": 4}, 4, [3, 4]),
    "shape": ({"dtype": "uint16", "shape": (-1, 2)}, 0, [[1, 2], [3, 4]]),
    "first": ({"dtype": "uint16", "shape": (1,), "offset": 2}, 2, [2]),
}
"""Name -> keywords, the place of the first element [bytes], and the elements, on little ends."""


@check("IX-BUFFER-1", source=_SOURCE, cases=READ)
def bytes_are_read_where_they_are(
    functions: FunctionsUnderTest, case: tuple[dict[str, Any], int, Any]
) -> None:
    """from_buffer() gives the elements at the place that was said, and shares them.

    Add the offset to the address of the buffer; copy nothing.
    """
    keywords, offset, due = case
    ix, block = functions.namespace, bytearray([1, 0, 2, 0, 3, 0, 4, 0])
    whole, array = ix.from_buffer(block), ix.from_buffer(block, **keywords)

    expect(array.ptr - whole.ptr == offset, f"begins {array.ptr - whole.ptr} bytes on: {offset}")
    expect(array.tolist() == due, f"holds {array.tolist()}, due: {due}")
    block[offset] = 9
    expect(whole[offset].item() == 9, "what is written to the buffer is not in the array")


APART: Final[dict[str, Wrong]] = {
    "dtype": (
        lambda ix: ix.from_buffer(memoryview(bytearray(8))[::2], dtype="uint16"), (BufferError,)
    ),
    "backwards": (
        lambda ix: ix.from_buffer(memoryview(bytearray(8))[::-1], offset=2), (BufferError,)
    ),
}  # fmt: skip


@check("IX-BUFFER-2", source="PEP 3118, PyBUF_C_CONTIGUOUS", cases=APART)
def bytes_that_lie_apart_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """from_buffer() reads no buffer in another way whose bytes do not lie side by side.

    Raise ExchangeError with IX-BUFFER-2.
    """
    expect_refusal(functions, "IX-BUFFER-2", case)
