"""Numba, with device arrays of numba-cuda.

Source: numba-cuda, ``numba.cuda.as_cuda_array``, ``DeviceNDArray``; CUDA Array Interface, version
3.
"""

from __future__ import annotations

from typing import Any, Final

from interchange._core._numpy import require_numpy_dtype
from interchange._protocols import cuda_array_interface as cai
from interchange._types.library import Deviation, Library

from .target import CALL, Target

_TO_CAI: Final = "to_cai()"
_VERSION: Final = 3


def _correct_record(raw: Any, x: Any) -> Any:
    """Return the record of an array with the strides that it omits."""
    if not isinstance(raw, dict) or raw.get("strides") is not None:
        return raw
    strides = getattr(x, "strides", ())
    return {**raw, "strides": tuple(strides)} if 0 in strides else raw


class _Record:
    """Memory of an Array, with the CUDA Array Interface only.

    Raises UnsupportedDeviceError: the memory is on the host (CAI-DEV-1).
    """

    def __init__(self, array: Any) -> None:
        cai.check_describable(array, _TO_CAI)
        self._array = array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return cai.describe_record(self._array, _VERSION, _TO_CAI)


def _take(module: Any, array: Any) -> Any:
    """Return a device array; the host waits, since any stream may use it next."""
    return _set_dtype(module.as_cuda_array(_Record(array)), array)


def _take_on_stream(module: Any, array: Any, _: int | None) -> Any:
    """Return a device array whose stream is the one that the array is ready on."""
    return _set_dtype(module.as_cuda_array(_Record(array), sync=False), array)


def _set_dtype(found: Any, array: Any) -> Any:
    """Return a device array with the dtype of `array`, if the typestr did not determine it."""
    return found if found.dtype.kind != "V" else found.view(require_numpy_dtype(array.dtype, CALL))


_DEVIATIONS: Final = (
    Deviation(
        "numba",
        "numba-cuda 0.30.4",
        "arrays do not support DLPack, in either direction",
        "DLP-NEG-1",
        "asarray() and convert() go by the CUDA Array Interface",
        "https://github.com/NVIDIA/numba-cuda/issues/122",
    ),
    Deviation(
        "numba",
        "numba-cuda 0.30.4",
        "arrays made with default_stream() publish stream 0",
        "CAI-STREAM-1",
        "they are refused; make them with legacy_default_stream(), which is the same stream",
        "https://github.com/numba/numba/pull/5136",
    ),
    Deviation(
        "numba",
        "numba-cuda 0.30.4",
        "arrays without a stream publish None, whatever is pending on the legacy default stream",
        "CAI-STREAM-2",
        "none can: give them a stream, or import their record with its stream set to 1",
        "https://github.com/numba/numba/pull/5162",
    ),
    Deviation(
        "numba",
        "numba-cuda 0.30.4",
        "records of arrays with a stride of 0 have strides None, as if they were in C order",
        "CAI-STRIDES-1",
        "the array itself is asked for its strides",
    ),
    Deviation(
        "numba",
        "numba-cuda 0.30.4",
        "managed and mapped arrays are also NumPy's, and say by DLPack that they are on the CPU",
        "DLP-STREAM-9",
        "asarray() goes by their record, asks the driver, and waits before the host reads",
    ),
    Deviation(
        "numba",
        "numba-cuda 0.30.4",
        "as_cuda_array() forgets that memory is read-only, and the array's record denies it",
        "DLP-RO-3",
        "convert() refuses read-only memory unless a copy is allowed",
        "https://github.com/numba/numba/issues/1229",
    ),
    Deviation(
        "numba",
        "numba-cuda 0.30.4",
        "as_cuda_array() takes a record whose stream is 0, and publishes it again",
        "CAI-STREAM-1",
        "records of ours have 1",
    ),
    Deviation(
        "numba",
        "numba-cuda 0.30.4",
        "as_cuda_array() waits for nothing where the record's version is below 3, or sync=False",
        "CAI-STREAM-2",
        "to_cai(version=2) waits first; convert(stream=) orders the stream that is named",
    ),
    Deviation(
        "numba",
        "numba-cuda 0.30.4",
        "as_cuda_array() makes void elements of bfloat16",
        "CAI-TYPESTR-2",
        "convert() gives the array its dtype",
    ),
)

LIBRARY: Final = Library(
    "numba",
    deviations=_DEVIATIONS,
    is_array_library=True,
    may_mask_records=False,
    correct_record=_correct_record,
    targets={
        "numba": Target(
            "numba.cuda",
            _take,
            keeps_readonly=False,
            memory="device",
            take_on_stream=_take_on_stream,
        )
    },
    result_types=(("numba.cuda.cudadrv.devicearray", "DeviceNDArrayBase", "numba"),),
)
