"""Apache Arrow's tensors: host memory with any number of axes.

Source: https://arrow.apache.org/docs/python/dlpack.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange_conformance.findings import NotApplicable
from interchange_conformance.subject import Kind, Subject

from ._common import REAL, need_dtype, numpy_array
from ._devices import need_device

if TYPE_CHECKING:
    Shape = tuple[int, ...]


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return a tensor of a NumPy array's memory: Arrow does not allocate tensors."""
    need_device(device, ("cpu",), "a tensor of Arrow")
    need_dtype(dtype, REAL, "a tensor of Arrow")

    import pyarrow as pa

    return pa.Tensor.from_numpy(numpy_array(shape, dtype, readonly=readonly))


def take(x: Any) -> Any:
    """Import by DLPack."""
    import pyarrow as pa

    if not hasattr(pa.Tensor, "from_dlpack"):
        raise NotApplicable("this release of pyarrow takes nothing by DLPack")
    return pa.Tensor.from_dlpack(x)


def read(y: Any) -> list[Any]:
    """Return the elements."""
    return list(y.to_numpy().ravel().tolist())


def write(y: Any) -> None:
    """Set the first element, through the NumPy array of the tensor's memory."""
    y.to_numpy().flat[0] = 1


subject: Subject = Subject(
    "pyarrow.Tensor",
    make=make,
    take=take,
    read=read,
    write=write,
    distribution="pyarrow",
    preload=("pyarrow", "numpy.ma"),  # which it would otherwise import in each child
)

kinds: tuple[Kind, ...] = (
    Kind(
        "pyarrow.Tensor",
        subject,
        lambda x: x.to_numpy().ctypes.data,
        library="pyarrow",
        module="pyarrow",
        target="pyarrow",
        head="pa.\nTensor",
        dtype=lambda x: str(x.to_numpy().dtype),
        readonly=lambda x: not x.is_mutable,
        order=6,
    ),
)
