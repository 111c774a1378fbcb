"""Arrays that host and GPU share: page-locked, mapped and managed memory as ndarrays.

Source: Numba for CUDA, "Memory management"; CUDA driver API, cuMemHostAlloc, cuMemHostRegister,
cuMemAllocManaged.  Without a GPU they are ordinary ndarrays.
"""

from __future__ import annotations

import contextlib
import functools
from math import prod
from typing import TYPE_CHECKING, Any, Final

from interchange import _core, asarray, from_pointer
from interchange._array import Array
from interchange._array.empty_arrays import empty_array
from interchange._streams.pending import PendingWork
from interchange._types.devices import CPU, Device
from interchange._types.dtypes import DType
from interchange._types.errors import ArgumentError, show
from interchange._types.layout import Layout, f_strides
from interchange._types.numpy_dtypes import load_numpy, numpy_dtype
from interchange._types.spec import Spec
from interchange.abi.dlpack import DLDeviceType

from . import records
from .arrays import device_array, read_dtype, read_shape
from .streams import check_stream, find_driver

if TYPE_CHECKING:
    from collections.abc import Iterator

_PINNED: Final = Device(DLDeviceType.kDLCUDAHost)
_MANAGED: Final = Device(DLDeviceType.kDLCUDAManaged)


def pinned_array(shape: Any, dtype: Any = "float64", order: str = "C") -> Any:
    """Create an uninitialized ndarray in page-locked memory, which is copied faster.

    Parameters
    ----------
    shape : int or tuple[int, ...]
        Extent of each axis [elements].
    dtype : dtype-like, default float64
        Element type.
    order : {"C", "F"}, default "C"
        Memory layout.

    Examples
    --------
    >>> from interchange import cuda
    >>> cuda.pinned_array(3, "float32").shape
    (3,)
    """
    return _made(_PINNED, shape, dtype, order, "cuda.pinned_array()", None)


def mapped_array(shape: Any, dtype: Any = "float64", order: str = "C", stream: Any = None) -> Any:
    """Create an uninitialized ndarray in page-locked memory that kernels on GPUs access, too.

    Parameters
    ----------
    shape, dtype, order
        As `pinned_array`.
    stream : None, int or stream object
        The stream of the array, as in `device_array`.

    Returns
    -------
    ndarray
        Its views are passed to kernels like it; read it on the host after `synchronize`.

    Examples
    --------
    >>> from interchange import cuda
    >>> cuda.mapped_array(3, "float32").shape
    (3,)
    """
    return _made(_PINNED, shape, dtype, order, "cuda.mapped_array()", stream, is_shared=True)


def managed_array(shape: Any, dtype: Any = "float64", order: str = "C", stream: Any = None) -> Any:
    """Create an uninitialized ndarray in managed memory, which moves to where it is accessed.

    Parameters
    ----------
    shape, dtype, order, stream
        As `mapped_array`.

    Examples
    --------
    >>> from interchange import cuda
    >>> cuda.managed_array(3, "float32").shape
    (3,)
    """
    return _made(_MANAGED, shape, dtype, order, "cuda.managed_array()", stream, is_shared=True)


def _made(
    device: Device,
    shape: Any,
    dtype: Any,
    order: str,
    call: str,
    stream: Any,
    *,
    is_shared: bool = False,
) -> Any:
    """Return a new ndarray in memory of a kind; with `is_shared` kernels on GPUs take it."""
    np = load_numpy()
    if order not in {"C", "F"}:
        raise ArgumentError(call, f"order={show(order)}", "IX-ARGUMENT-1", 'pass "C" or "F"')
    sizes, elements = read_shape(shape, call), read_dtype(dtype, call)
    handle = check_stream(stream, call)
    if find_driver(call) is None or not prod(sizes):
        return np.empty(sizes, numpy_dtype(elements), order="F" if order == "F" else "C")
    array = empty_array(sizes, elements, device, Array, call)
    if order == "F":
        spec = Spec(elements, device, Layout(sizes, f_strides(sizes)))
        array = _core.describe(array.ptr, spec, 0, array, array._keepalive, Array)
    found = np.asarray(array)
    if not is_shared:
        return found
    shared = found.view(_shared_type())
    shared._memory = _Memory(array, handle, stream)
    return shared


class _Memory:
    """The memory of a shared ndarray and its views."""

    def __init__(self, array: Array, handle: int, stream: Any) -> None:
        self._array, self._stream = array, (handle, stream)
        self._end = array.ptr + array.nbytes

    def described(self, x: Any) -> Array | None:
        """Return an Array of an ndarray; None if it has other memory, as a result of NumPy."""
        first: int = x.__array_interface__["data"][0]
        spans = [(length - 1) * step for length, step in zip(x.shape, x.strides, strict=True)]
        low = first + sum(min(span, 0) for span in spans)
        high = first + sum(max(span, 0) for span in spans) + x.itemsize
        if not x.size or not self._array.ptr <= low <= high <= self._end:
            return None
        dtype = DType.of(str(x.dtype), "asarray()")
        found = from_pointer(
            first,
            x.shape,
            dtype,
            strides=tuple(step // x.itemsize for step in x.strides),
            device=self._array.device,
            owner=x,
            readonly=not x.flags.writeable,
        )
        handle, keep = self._stream
        found._pending_work = PendingWork(handle, self._array.device.id, keep)
        return found


@functools.cache
def _shared_type() -> Any:
    """Return the class of ndarrays whose memory GPUs access."""
    import numpy as np

    class SharedArray(np.ndarray):
        """An ndarray in memory that GPUs access; a view of one is one."""

        _memory: Any = None

        def __array_finalize__(self, other: Any) -> None:
            self._memory = getattr(other, "_memory", None)

        def __interchange__(self) -> Array:
            """Return an Array of the memory."""
            found = None if self._memory is None else self._memory.described(self)
            return asarray(np.asarray(self)) if found is None else found

        def copy_to_host(self, ary: Any = None, stream: Any = None) -> Any:
            """Return a copy of the elements, when the work on the memory is done."""
            return self.__interchange__().copy_to_host(ary, stream)

    return SharedArray


# ---------------------------------------------------------------- like others


def _form_of(ary: Any) -> tuple[Any, Any, str]:
    """Return shape, element type and order of an array."""
    dtype = records.dtype_of(ary)
    if dtype is not None:
        return tuple(ary.shape), dtype, "C"
    found = ary if type(ary) is Array else asarray(ary)
    is_fortran = found.is_contiguous("F") and not found.is_contiguous()
    return found.shape, found.dtype, "F" if is_fortran else "C"


def device_array_like(ary: Any, stream: Any = None, device: Any = None) -> Any:
    """Create an uninitialized array on a GPU with the shape, element type and order of another.

    Examples
    --------
    >>> from interchange import cuda
    >>> import numpy as np
    >>> cuda.device_array_like(np.zeros((2, 3), "float32")).shape
    (2, 3)
    """
    return device_array(*_form_of(ary), stream, device)


def pinned_array_like(ary: Any) -> Any:
    """Create an ndarray as `pinned_array` with the shape, element type and order of another.

    Examples
    --------
    >>> from interchange import cuda
    >>> import numpy as np
    >>> cuda.pinned_array_like(np.zeros((2, 3))).shape
    (2, 3)
    """
    return pinned_array(*_form_of(ary))


def mapped_array_like(ary: Any, stream: Any = None) -> Any:
    """Create an ndarray as `mapped_array` with the shape, element type and order of another.

    Examples
    --------
    >>> from interchange import cuda
    >>> import numpy as np
    >>> cuda.mapped_array_like(np.zeros((2, 3))).shape
    (2, 3)
    """
    return mapped_array(*_form_of(ary), stream)


def managed_array_like(ary: Any, stream: Any = None) -> Any:
    """Create an ndarray as `managed_array` with the shape, element type and order of another.

    Examples
    --------
    >>> from interchange import cuda
    >>> import numpy as np
    >>> cuda.managed_array_like(np.zeros((2, 3))).shape
    (2, 3)
    """
    return managed_array(*_form_of(ary), stream)


# ---------------------------------------------------------------- memory of others


@contextlib.contextmanager
def pinned(*arrays: Any) -> Iterator[None]:
    """Page-lock the memory of ndarrays while the block runs; does nothing without a GPU.

    Parameters
    ----------
    *arrays : object
        Contiguous arrays on the host.  All copies of them must be done when the block ends.

    Raises
    ------
    ArgumentError
        An array is not contiguous, or not on the host (IX-ARGUMENT-1).

    Examples
    --------
    >>> from interchange import cuda
    >>> import numpy as np
    >>> with cuda.pinned(np.zeros(3)):
    ...     pass
    """
    call = "cuda.pinned()"
    driver = find_driver(call)
    with contextlib.ExitStack() as undo:
        for given in arrays:
            found = _on_host(given, call)
            if driver is not None and found.size:
                _pin(driver, found, _PORTABLE, undo, call)
        yield


@contextlib.contextmanager
def mapped(*arrays: Any, stream: Any = None) -> Iterator[Any]:
    """Let kernels on the current GPU access the memory of ndarrays while the block runs.

    When it ends, the host waits for the GPU, and the arrays may be read.

    Parameters
    ----------
    *arrays : object
        Contiguous arrays on the host.
    stream : None, int or stream object
        The stream of the arrays for kernels, as in `device_array`.

    Yields
    ------
    Array or list[Array]
        The same memory as an array of the GPU, to be used in the block only; a list for several.
        Without a GPU it is an array of the host.

    Raises
    ------
    ArgumentError
        An array is not contiguous, or not on the host (IX-ARGUMENT-1).

    Examples
    --------
    >>> from interchange import cuda
    >>> import numpy as np
    >>> @cuda.jit
    ... def add_one(x):
    ...     x[cuda.grid(1)] += 1
    >>> x = np.zeros(3)
    >>> with cuda.mapped(x) as there:
    ...     add_one[1, 3](there)
    >>> x
    array([1., 1., 1.])
    """
    call = "cuda.mapped()"
    handle, driver = check_stream(stream, call), find_driver(call)
    found = [_on_host(given, call) for given in arrays]
    with contextlib.ExitStack() as undo:
        if driver is not None:
            ordinal = driver.current_device(call)
            work = PendingWork(handle, ordinal, stream)
            for each in found:
                if each.size:
                    _pin(driver, each, _PORTABLE | _MAPPED, undo, call)
            found = [_seen_by_gpu(driver, each, ordinal, work, call) for each in found]
            undo.callback(driver.synchronize_device, ordinal, call)
        yield found[0] if len(found) == 1 else found


_PORTABLE: Final = 1  # CU_MEMHOSTREGISTER_PORTABLE
_MAPPED: Final = 2  # CU_MEMHOSTREGISTER_DEVICEMAP


def _on_host(given: Any, call: str) -> Array:
    """Return an Array of contiguous memory on the host; anything else is refused."""
    found = asarray(given)
    if found.device is not CPU:
        what = f"an array on {found.device}"
        raise ArgumentError(call, what, "IX-ARGUMENT-1", "pass one on the host")
    if not (found.is_contiguous() or found.is_contiguous("F")):
        what = "an array that is not contiguous"
        raise ArgumentError(call, what, "IX-ARGUMENT-1", "pass a contiguous one")
    return found


def _pin(driver: Any, array: Array, flags: int, undo: contextlib.ExitStack, call: str) -> None:
    """Page-lock the memory of an array until the end of `undo`."""
    with driver.on_device(-1, call):
        (error,) = driver.api.cuMemHostRegister(array.ptr, array.nbytes, flags)
    driver.check(error, "cuMemHostRegister", call)
    undo.callback(_unpin, driver, array, call)


def _seen_by_gpu(driver: Any, array: Array, ordinal: int, work: PendingWork, call: str) -> Array:
    """Return an array of page-locked memory by the address that kernels use."""
    first = driver.device_pointer(array.ptr, call) if array.size else 0
    place = Device.of((DLDeviceType.kDLCUDA, ordinal), call)
    spec = Spec(array.dtype, place, array._spec.layout)
    found = _core.describe(first, spec, array._flags, array, array, Array)
    found._pending_work = work
    return found


def _unpin(driver: Any, array: Array, call: str) -> None:
    """Undo the page-locking of memory."""
    with driver.on_device(-1, call):
        (error,) = driver.api.cuMemHostUnregister(array.ptr)
    driver.check(error, "cuMemHostUnregister", call)
