"""cuda.core's Buffer: device memory, or registered host memory, as bytes.

Source: https://nvidia.github.io/cuda-python/cuda-core/latest/generated/cuda.core.Buffer.html

By DLPack it is one axis of int8.  It imports no protocol.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from interchange_conformance.driver.cuda import LEGACY, chosen
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Kind, Subject

from ._common import itemsize, need_writable, numpy_array
from ._devices import lacks_driver, need_device, on
from .cuda_core import ALLOCATES

if TYPE_CHECKING:
    Shape = tuple[int, ...]


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return a buffer."""
    need_device(device, ("cpu", *ALLOCATES), "cuda.core")
    need_writable(readonly, "a buffer of cuda.core")
    if len(shape) != 1 or dtype != "int8":
        raise CannotMakeError("a buffer of cuda.core is one axis of int8")
    if shape == (0,):
        raise CannotMakeError("CUDA allocates no empty memory")
    if device == "cpu":
        return _of_host(shape)
    with on(device):
        return ALLOCATES[device](math.prod(shape), LEGACY)


def _of_host(shape: Shape) -> Any:
    """Return a buffer of a NumPy array's memory; the kind of memory is queried from the driver."""
    from cuda.core import Buffer

    if chosen() == "none":
        raise CannotMakeError("cuda.core has buffers only where there is a CUDA driver")
    x = numpy_array(shape, "int8")
    return Buffer.from_handle(x.ctypes.data, x.nbytes, owner=x)


def make_on(stream: int, shape: Shape, dtype: str, device: str = "cuda") -> Any:
    """Return a buffer that was allocated on a stream, of the same number of bytes as the array."""
    return ALLOCATES[device](math.prod(shape) * itemsize(dtype), stream)


subject: Subject = Subject(
    "cuda.core.Buffer",
    make=make,
    make_on=make_on,
    distribution="cuda-core",
    preload=("cuda.core",),
)

kinds_on_devices: tuple[Kind, ...] = (
    Kind(
        "cuda.core Buffer",
        subject,
        lambda x: int(x.handle),
        library="cuda.core",
        module="cuda.core",
        dtype=lambda _: "int8",
        picks=lambda _: "int8",
        lacks=lacks_driver,
        order=2,
        is_ordered=False,
    ),
)
