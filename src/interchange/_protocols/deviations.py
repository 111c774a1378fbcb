"""Known deviations of other libraries: one table, for the docs; `guards` acts on them.

Source: the libraries themselves, run; each row says which release was seen to do it.
"""

from __future__ import annotations

from typing import Final

from interchange.abi._records import NamedTuple


class Deviation(NamedTuple):
    """Something a library does that the rules do not say.

    Attributes
    ----------
    library : str
        Import name of the library.
    releases : str
        Releases that were seen to do it.
    what : str
        What it does.
    rule : str
        Id of the rule that it bends.
    remedy : str
        What interchange does about it.
    link : str
        Where it is discussed, or empty.
    """

    library: str
    releases: str
    what: str
    rule: str
    remedy: str
    link: str = ""


DEVIATIONS: Final = (
    Deviation(
        "torch",
        "2.13.0",
        "the C exchange functions ignore requires_grad and the conjugate and negative bits",
        "DLP-API-1",
        "such tensors are asked through __dlpack__, which refuses the first two",
    ),
    Deviation(
        "torch",
        "2.13.0",
        "__dlpack__ exports a tensor with the negative bit as if it had none",
        "DLP-DTYPE-6",
        "such tensors are refused; call resolve_neg() first",
    ),
    Deviation(
        "torch",
        "2.13.0",
        "from_dlpack() and from_numpy() forget that memory is read-only",
        "DLP-RO-3",
        "convert() refuses read-only memory unless a copy is allowed",
        "https://github.com/pytorch/pytorch/issues/32868",
    ),
    Deviation(
        "torch",
        "2.13.0",
        "__dlpack__() without stream= orders no CUDA work, where others take the default stream",
        "DLP-STREAM-5",
        "the stream is always passed to producers with streams",
        "https://github.com/pytorch/pytorch/pull/163242",
    ),
    Deviation(
        "torch",
        "2.12 and 2.13",
        "from_dlpack() of an array with negative strides aborts the process",
        "DLP-STRIDES-2",
        "convert() refuses such arrays; copy them first",
        "https://github.com/pytorch/pytorch/issues/188023",
    ),
    Deviation(
        "torch",
        "2.13.0",
        "asarray() asks for a buffer before __dlpack__, and reads any buffer as float32",
        "BUF-FORMAT-1",
        "none can, from CPython 3.12 on: use torch.from_dlpack(), torch.as_tensor() or convert()",
    ),
    Deviation(
        "torch",
        "2.13.0",
        "pinned tensors advertise device type 3 and ship a capsule that says 1",
        "DLP-DEV-3",
        "the capsule is believed, and no stream is sent",
        "https://github.com/pytorch/pytorch/issues/136250",
    ),
    Deviation(
        "numpy",
        "before 2.4",
        "strides of C-contiguous arrays are NULL",
        "DLP-STRIDES-1",
        "NULL is taken as C order",
        "https://github.com/numpy/numpy/pull/29872",
    ),
    Deviation(
        "numpy",
        "2.2 to 2.5",
        "an empty array has a data pointer that is not NULL",
        "DLP-DATA-3",
        "the address is ignored, and exported as NULL",
    ),
    Deviation(
        "numpy",
        "2.2 to 2.4",
        "from_dlpack() raises RuntimeError where BufferError is due",
        "DLP-DEV-5",
        "none needed: convert() asks only for what NumPy can take",
        "https://github.com/numpy/numpy/pull/31000",
    ),
    Deviation(
        "numpy",
        "2.2 to 2.5",
        "masked arrays hand out their data and forget their mask",
        "AI-MASK-1",
        "masked arrays are refused; fill them first",
    ),
    Deviation(
        "marray",
        "0.0.12",
        "__dlpack__() hands out the data and forgets the mask",
        "AI-MASK-1",
        "arrays with masked elements are refused; exchange x.data and x.mask as two arrays",
    ),
    Deviation(
        "dask",
        "2026.8.0",
        "__array__() computes at each call, whatever copy= says, and forgets masks of chunks",
        "AI-ARRAY-1",
        "asarray() computes where copy=True says so, and refuses arrays with masked chunks",
    ),
    Deviation(
        "pandas",
        "2.3; 3 refuses",
        "__array__(copy=False) warns and copies, with NaN in the place of nulls",
        "AI-ARRAY-1",
        "asarray() asks twice, and refuses where the second answer lies elsewhere",
    ),
    Deviation(
        "pyarrow",
        "26.0.1",
        "__dlpack__() of an array with nulls, or of bool, raises TypeError, not BufferError",
        "DLP-NEG-2",
        "the reason is told with its rule; asarray(copy=True) goes by __array__",
    ),
    Deviation(
        "jax",
        "0.10.2",
        "from_dlpack() never sends max_version, so that read-only producers refuse it",
        "DLP-NEG-3",
        "convert() hands JAX, whose arrays are never written, a capsule without the flag",
        "https://github.com/jax-ml/jax/issues/40789",
    ),
    Deviation(
        "jax",
        "0.10.2",
        "__dlpack__() gives legacy capsules whatever max_version says",
        "DLP-VER-4",
        "legacy capsules are taken",
    ),
    Deviation(
        "jax",
        "0.10.2",
        "its arrays are immutable, and its capsules do not say that they are read-only",
        "DLP-RO-1",
        "arrays of JAX are imported as read-only",
        "https://github.com/jax-ml/jax/issues/4636",
    ),
    Deviation(
        "tvm_ffi",
        "0.1.15",
        "from_dlpack() asks for legacy capsules first and forgets that memory is read-only",
        "DLP-RO-2",
        "convert() refuses read-only memory unless a copy is allowed",
    ),
    Deviation(
        "tvm_ffi",
        "0.1.15",
        "__dlpack__(copy=True) without max_version shares the memory",
        "DLP-COPY-2",
        "what is not flagged as a copy is copied here",
    ),
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
        "tvm_ffi",
        "0.1.15",
        "copy=True with max_version is refused",
        "DLP-COPY-2",
        "the copy is made here",
    ),
    Deviation(
        "tvm_ffi",
        "0.1.15",
        "from_dlpack() takes complex elements, and reading their dtype then raises",
        "DLP-DTYPE-1",
        "convert() reads the dtype, and refuses",
    ),
    Deviation(
        "jax",
        "0.10.2",
        "from_dlpack() copies memory that is not aligned to 64 bytes without a word",
        "IX-CONVERT-3",
        "convert() sends copy=False, and compares the address",
    ),
    Deviation(
        "jax",
        "0.10.2",
        "without x64 from_dlpack() makes float32 of float64, int32 of int64, even with copy=False",
        "IX-CAST-1",
        "convert() compares the dtype, and refuses",
    ),
    Deviation(
        "mlx",
        "0.32.4, on the CPU",
        "from_dlpack() shares no host memory, and makes float32 of float64",
        "IX-CONVERT-3",
        "convert() refuses unless copy=True, and compares the dtype",
    ),
    Deviation(
        "mlx",
        "0.32.4",
        "__dlpack__() gives legacy capsules whatever max_version says",
        "DLP-VER-4",
        "legacy capsules are taken",
    ),
    Deviation(
        "pyarrow",
        "25; 26 gives versioned ones",
        "legacy capsules only, of immutable arrays too; that of a read-only Tensor has NULL data",
        "DLP-RO-1",
        "arrays are imported as read-only; asarray() takes such a Tensor by its buffer",
    ),
    Deviation(
        "pyarrow",
        "26.0.1",
        "FixedShapeTensorArray takes a permutation for its inverse, in to_numpy_ndarray(), "
        "from_numpy_ndarray() and __dlpack__(): another one where three axes go in a circle",
        "ARROW-TENSOR-1",
        "such arrays are refused by from_dlpack(); asarray() goes by Arrow",
    ),
    Deviation(
        "pyarrow",
        "25 and 26",
        "Tensor.from_numpy() makes uint8 of bool",
        "IX-CAST-1",
        "convert() refuses",
    ),
    Deviation(
        "warp",
        "1.19.0",
        "from_dlpack() of another library's array raises before wp.init()",
        "IX-CONVERT-2",
        "convert() calls it",
    ),
    Deviation(
        "warp",
        "1.19.0",
        "the deleter and the capsule destructor are Python callbacks",
        "DLP-LIFE-4",
        "the capsule is renamed and its deleter called from a finaliser, where it can do no harm",
    ),
    # ------------------------------------------------ on CUDA devices
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
    Deviation(
        "numba",
        "numba-cuda 0.30.4",
        "arrays speak no DLPack, in either direction",
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
    Deviation(
        "tvm_ffi",
        "0.1.15",
        "__dlpack__(stream=) inserts no wait, though from_dlpack() made another stream wait",
        "DLP-STREAM-6",
        "none can: pass tensors on in the stream that they were taken for",
    ),
)
"""Every deviation that interchange knows of."""
