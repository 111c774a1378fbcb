"""tvm-ffi: tensors that describe memory of other libraries, on any device.

Source: https://tvm.apache.org/ffi/concepts/tensor.html

It does not allocate memory in Python: its tensors describe NumPy arrays on the host, and memory of
the driver on a device.  They have no element access, so that their elements are read at the address
that they report, and not written.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import opened
from interchange_conformance.subject import DEVICES, Kind, Subject
from interchange_conformance.zoo import host

from ._common import PLAIN, described, elements, load_host, need_dtype, need_writable, numpy_array
from ._devices import download, lacks_driver, load, memory_on, need_device

if TYPE_CHECKING:
    Shape = tuple[int, ...]

_BY_ITSELF: Final = ("bfloat16", "float8_e4m3fn", "float8_e5m2")  # element types that NumPy lacks
_DTYPES: Final = (*(name for name in PLAIN if not name.startswith("complex")), *_BY_ITSELF)
_ON_HOST: Final = frozenset({"cpu", "cuda_host"})


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return a tensor."""
    need_device(device, tuple(DEVICES), "tvm-ffi")
    need_writable(readonly, "tvm-ffi")
    need_dtype(dtype, _DTYPES, "tvm-ffi")

    import tvm_ffi

    if device != "cpu":
        return tvm_ffi.from_dlpack(memory_on(shape, dtype, device))
    on_host = host if dtype in _BY_ITSELF else numpy_array
    return tvm_ffi.from_dlpack(on_host(shape, dtype))


def make_on(stream: int, shape: Shape, dtype: str) -> Any:
    """Return a tensor, with the given stream as the current stream of tvm-ffi."""
    import tvm_ffi

    x = make(shape, dtype, "cuda", False)
    contextlib.ExitStack().enter_context(tvm_ffi.use_raw_stream(x.device, stream))
    return x


def take(x: Any) -> Any:
    """Import by DLPack."""
    import tvm_ffi

    return tvm_ffi.from_dlpack(x)


def take_on(stream: int, x: Any) -> Any:
    """Import by DLPack, with the given stream as the current stream of tvm-ffi."""
    import tvm_ffi

    device = tvm_ffi.device("cuda", opened().current_device)
    with tvm_ffi.use_raw_stream(device, stream):
        return tvm_ffi.from_dlpack(x)


def read(y: Any) -> list[Any]:
    """Return the elements."""
    read_from = load_host if y.device.type in _ON_HOST else load
    return elements(y.data_ptr(), tuple(y.shape), tuple(y.strides), str(y.dtype), read_from)


subject: Subject = Subject(
    "tvm-ffi",
    make=make,
    take=take,
    read=read,
    take_capsule=take,
    make_on=make_on,
    take_on=take_on,
    distribution="apache-tvm-ffi",
    preload=("tvm_ffi",),
)

kinds: tuple[Kind, ...] = (
    Kind(
        "tvm-ffi",
        subject,
        lambda x: x.data_ptr(),
        library="tvm_ffi",
        module="tvm_ffi",
        target="tvm_ffi",
        head="tvm",
        read=lambda x: described(x.data_ptr(), x),
        order=7,
    ),
)
kinds_on_devices: tuple[Kind, ...] = (
    replace(
        kinds[0],
        read=lambda x: described(x.data_ptr(), x, download),
        lacks=lacks_driver,
        order=8,
        is_ordered=False,
    ),
)
