"""cuda-python: cuda.core's devices and strided memory views.

Source: cuda.core, ``Device``, ``StridedMemoryView``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from interchange._streams.rules import NO_SYNC, check_stream
from interchange._types.devices import CPU
from interchange._types.library import Deviation, Example, Library
from interchange._types.numpy_dtypes import load_numpy
from interchange.abi.dlpack import DLDeviceType

from .target import CALL, Target

if TYPE_CHECKING:
    from interchange._types.library import Pair


def _read_device(device: Any, _: str) -> Pair:
    """Read a ``cuda.core.Device``."""
    return DLDeviceType.kDLCUDA, device.device_id


def _allow_table(_: Any) -> bool:
    """Return True: the device is checked in the result."""
    return True


def _take(module: Any, array: Any) -> Any:
    """Return a view, for the stream that the standard assumes."""
    return _take_on_stream(module, array, check_stream(None, array.device, CALL))


def _take_on_stream(module: Any, array: Any, stream: int | None) -> Any:
    """Return a view, for a stream; cuda.core wants a stream for host memory, too."""
    if stream is None:  # it passes on -1, unless memory is on the CPU, and 0 as None
        stream = NO_SYNC if array.device is CPU else 0
    view = module.StridedMemoryView.from_dlpack(array, stream_ptr=stream)
    _ = view.dtype  # raises if cuda.core has no dtype for the elements
    return view


_DEVIATIONS: Final = (
    Deviation(
        "cuda.core",
        "1.2.2",
        "a legacy export of a read-only view forgets the flag",
        "DLP-RO-1",
        "max_version is always sent, so that the view answers with the flag",
    ),
    Deviation(
        "cuda.core",
        "1.2.2",
        "dl_device is refused even where it is the view's own device",
        "DLP-DEV-5",
        "dl_device is sent only when the device differs",
    ),
    Deviation(
        "cuda.core",
        "1.2.2",
        "structs of major version 2 are taken for version 1",
        "DLP-VER-1",
        "none: interchange exports version 1",
    ),
    Deviation(
        "cuda.core",
        "1.2.2",
        "copy=True is refused, as are exports of bfloat16 views",
        "DLP-COPY-2",
        "the copy is made here",
    ),
    Deviation(
        "cuda.core",
        "1.2.2",
        "__dlpack__(stream=) of buffers and views inserts no wait: they know of no pending work",
        "DLP-STREAM-6",
        "none can: name the stream, with from_pointer(stream=), borrow(back=) or Stream.wait()",
    ),
    Deviation(
        "cuda.core",
        "1.2.2",
        "__dlpack__(stream=0) is taken",
        "DLP-STREAM-2",
        "0 is refused before a producer is asked",
    ),
    Deviation(
        "cuda.core",
        "1.2.2",
        "StridedMemoryView.from_dlpack() sends -1 on to page-locked memory, which has no streams",
        "DLP-STREAM-1",
        "convert() passes 0 there, which is sent as None",
        "https://github.com/NVIDIA/cuda-python/issues/473",
    ),
    Deviation(
        "cuda.core",
        "1.2.2",
        "from_cuda_array_interface() raises AssertionError for records whose stream is 0",
        "CAI-STREAM-1",
        "records of ours have 1; those of others are refused with a rule",
    ),
    Deviation(
        "cuda.core",
        "1.2.2",
        "from_cuda_array_interface() refuses records of versions below 3",
        "CAI-VER-1",
        "to_cai() makes a record of version 3 of any",
    ),
    Deviation(
        "cuda.core",
        "1.2.2",
        "from_cuda_array_interface() makes views of bfloat16 whose dtype is void",
        "CAI-TYPESTR-2",
        "convert() hands arrays over by DLPack",
    ),
)


def _make_view(module: Any) -> Any:
    """Return a view of memory of NumPy's."""
    return module.StridedMemoryView.from_dlpack(load_numpy().zeros(3, "f4"), stream_ptr=-1)


def _wrap_stream(handle: int) -> Any:
    """Return a stream of cuda.core."""
    return sys.modules["cuda.core"].Stream.from_handle(handle)


LIBRARY: Final = Library(
    "cuda",
    deviations=_DEVIATIONS,
    exchange_guard=_allow_table,
    has_record_on_host=False,
    may_mask_records=False,
    device_types=frozenset({"Device"}),
    read_device=_read_device,
    wrap_stream=_wrap_stream,
    targets={
        "cuda.core": Target(
            "cuda.core.utils", _take, keeps_readonly=True, take_on_stream=_take_on_stream
        )
    },
    result_types=(("cuda.core.utils", "StridedMemoryView", "cuda.core"),),
    examples=(
        Example(
            "cuda.core",
            "cuda.core.utils",
            "cuda-core",
            _make_view,
            "StridedMemoryView.from_dlpack",
            "cuda.core",
        ),
    ),
)
