"""Columns of Arrow are imported, and created from arrays: the result type depends on `nulls`."""

from typing import Any

import numpy as np
from typing_extensions import assert_type

import interchange as ix
from interchange.typing import SupportsArrow, SupportsArrowStream


class Ours:
    """A column that exports itself, in one chunk and as a stream."""

    def __init__(self) -> None:
        self.column = ix.to_arrow(b"abc")

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return self.column.__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.column.__arrow_c_stream__(requested_schema)


column: SupportsArrow = Ours()
stream: SupportsArrowStream = Ours()

assert_type(ix.to_arrow(np.ones(3)), ix.ArrowExport)
assert_type(ix.to_arrow(np.ones((3, 2)), kind="tensor"), ix.ArrowExport)
assert_type(ix.to_arrow({"label": b"abc", "rows": ix.asarray(np.ones((3, 2)))}), ix.ArrowExport)

assert_type(ix.to_arrow((np.ones(3), np.array([0, 3])), mask=np.ones(1, bool)), ix.ArrowExport)
assert_type(ix.to_arrow([np.ones(3)], name="a", metadata={"k": b"v"}), ix.ArrowExport)
assert_type(ix.to_arrow({"a": {"b": np.ones(3)}}, nullable={"a": True}), ix.ArrowExport)

if ix.core_name == "native":  # the ctypes core has no exports to Arrow
    batches = ({"a": np.ones(step)} for step in range(1, 3))
    assert_type(ix.to_arrow_stream(batches), ix.ArrowStreamExport)
    assert_type(ix.from_arrow(ix.to_arrow_stream([np.ones(3)])), ix.Array)
    assert_type(ix.from_arrow(ix.to_arrow(np.ones(3))), ix.Array)
    assert_type(ix.from_arrow(Ours(), storage=True, device="cpu", copy=True), ix.Array)
    assert_type(ix.from_arrow(column, nulls="refuse"), ix.Array)
    assert_type(ix.from_arrow(stream, nulls="separate"), tuple[ix.Array, ix.Array])
    assert_type(ix.from_arrow(ix.to_arrow(b"abc").__arrow_c_stream__()), ix.Array)
    assert_type(ix.from_arrow(ix.to_arrow(b"abc").__arrow_c_array__(), copy=None), ix.Array)
    data, mask = ix.from_arrow(Ours(), nulls="separate", copy=None)
    assert_type(mask.dtype, ix.DType)
    assert_type(data.tolist(), Any)
    assert_type(ix.asarray(Ours()), ix.Array)
