"""Apache Arrow's arrays: one axis of read-only host memory.

Source: https://arrow.apache.org/docs/python/dlpack.html; for Arrow's own methods
https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import CannotMakeError, NotApplicable
from interchange_conformance.subject import Kind, Subject

from ._arrow import of_a_table
from ._common import REAL, need_dtype, numpy_array
from ._devices import need_device
from ._pyarrow import PRELOAD, chunked_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    Shape = tuple[int, ...]


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:  # noqa: ARG001 - all are
    """Return an array."""
    need_device(device, ("cpu",), "an array of Arrow")
    need_dtype(dtype, REAL, "an array of Arrow that DLPack can describe")

    import pyarrow as pa

    if len(shape) != 1:
        raise CannotMakeError("an array of Arrow has one axis")
    return pa.array(numpy_array(shape, dtype))


def make_from(numbers: list[Any], shape: Shape, dtype: str) -> Any:
    """Return an array with given numbers."""
    need_dtype(dtype, REAL, "an array of Arrow that DLPack can describe")

    import pyarrow as pa

    if len(shape) != 1:
        raise CannotMakeError("an array of Arrow has one axis")
    return pa.array(numbers, dtype)


def take(x: Any) -> Any:
    """Import by DLPack."""
    import pyarrow as pa

    if not hasattr(pa.Array, "from_dlpack"):
        raise NotApplicable("this release of pyarrow takes nothing by DLPack")
    return pa.Array.from_dlpack(x)


def read(y: Any) -> list[Any]:
    """Return the elements."""
    return list(y.to_pylist())


def write(y: Any) -> None:
    """Try to set the first element, for which Arrow arrays have no method."""
    y[0] = 1


def make_arrow(values: Sequence[Any], dtype: str, start: int, chunks: int) -> Any:
    """Return an array, or a chunked one."""
    found = chunked_array(values, dtype, start, chunks)
    return found if chunks > 1 else found.chunk(0)


def take_arrow(x: Any) -> Any:
    """Import as an array; a stream becomes a chunked array."""
    import pyarrow as pa

    return pa.chunked_array(x) if hasattr(x, "__arrow_c_stream__") else pa.array(x)


def read_arrow(y: Any) -> list[Any]:
    """Return the elements."""
    return of_a_table(y.to_pylist())


subject: Subject = Subject(
    "pyarrow.Array",
    make=make,
    make_from=make_from,
    take=take,
    read=read,
    write=write,
    make_arrow=make_arrow,
    take_arrow=take_arrow,
    read_arrow=read_arrow,
    distribution="pyarrow",
    immutable=True,
    preload=PRELOAD,
)

_NAMES: Final = {"halffloat": "float16", "float": "float32", "double": "float64"}
kinds: tuple[Kind, ...] = (
    Kind(
        "pyarrow.Array",
        subject,
        lambda x: x.buffers()[1].address,
        library="pyarrow",
        module="pyarrow",
        target="pyarrow.Array",
        head="pa.\nArray",
        dtype=lambda x: _NAMES.get(str(x.type), str(x.type)),
        readonly=lambda _: True,
        order=5,
    ),
)
