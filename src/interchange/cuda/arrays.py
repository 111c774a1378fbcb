"""Arrays for kernels: new ones, copies, and views of other libraries' memory.

Source: CUDA Array Interface, version 3, "Lifetime management" and its examples.  They are on the
current GPU, or on the host if there is no GPU.
"""

from __future__ import annotations

import contextlib
import threading
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any, Final

from interchange import _core, asarray, from_cai
from interchange._array import Array
from interchange._array.allocations import allocate
from interchange._streams.driver import driver_of
from interchange._streams.pending import PendingWork, pending_work_of
from interchange._streams.rules import LEGACY_DEFAULT_STREAM
from interchange._types.devices import CPU, Device
from interchange._types.dtypes import DType
from interchange._types.errors import ArgumentError, UnsupportedDTypeError, show
from interchange._types.layout import Layout, c_strides, f_strides
from interchange._types.numpy_dtypes import load_numpy
from interchange._types.spec import Spec
from interchange.abi.dlpack import DLDeviceType

from . import records
from .consumer import OrderedByUser
from .devices import current_ordinal
from .streams import Stream, check_stream, find_driver
from .types import BY_NAME, ScalarType

if TYPE_CHECKING:
    from collections.abc import Iterator

_ORDERS: Final = {"C": c_strides, "F": f_strides}
_DEFAULT: Final = "float64"
_TOO_LARGE: Final = 1 << 63  # [bytes]
_settling: Final = threading.RLock()


class UntypedArray:
    """A new array whose element type is determined on first use, made by `device_array`.

    A kernel with a signature sets the signature's type; any other use sets float64.
    """

    __slots__ = ("_array", "_device", "_order", "_stream", "shape")

    shape: tuple[int, ...]

    def __init__(self, shape: tuple[int, ...], order: str, stream: Any, device: Any = None) -> None:
        self.shape, self._order, self._stream, self._device = shape, order, stream, device
        self._array: Array | None = None

    def settled(self, dtype: Any = None) -> Array:
        """Return the array, whose element type is fixed from now on."""
        with _settling:  # two launching threads must not get two arrays
            if self._array is None:
                dtype = dtype or _DEFAULT
                self._array = device_array(
                    self.shape, dtype, self._order, self._stream, self._device
                )
        return self._array

    @property
    def ndim(self) -> int:
        """Number of axes; known before the type is."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements; known before the type is."""
        return prod(self.shape)

    def __repr__(self) -> str:
        if self._array is None:
            return f"<untyped array of shape {self.shape}>"
        return repr(self._array)

    def __interchange__(self) -> Array:
        """Return the Array itself."""
        return self.settled()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and not name.endswith("__"):
            raise AttributeError(name)
        return getattr(self.settled(), name)

    def __len__(self) -> int:
        return self.shape[0] if self.shape else len(self.settled())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.settled())

    def __getitem__(self, key: Any) -> Any:
        return self.settled()[key]


def device_array(
    shape: int | tuple[int, ...],
    dtype: Any = None,
    order: str = "C",
    stream: Any = None,
    device: Any = None,
) -> Any:
    """Create an uninitialized array on the current GPU, or on the host if there is no GPU.

    Parameters
    ----------
    shape : int or tuple[int, ...]
        Extent of each axis [elements].
    dtype : dtype-like, optional
        Element type.  By default determined on first use: by a kernel's signature, or float64.
    order : {"C", "F"}, default "C"
        Memory layout.
    stream : None, int or stream object
        The stream of the array: consumers wait for it, and it waits for them.  By default the
        legacy default stream.
    device : None, int, GPU or device-like
        The GPU; by default the current one.

    Returns
    -------
    Array
        Or an object that becomes one on first use, without `dtype`.

    Raises
    ------
    ArgumentError
        `shape` or `order` is invalid (IX-ARGUMENT-1).
    OutOfDeviceMemoryError
        The device is out of memory (IX-DRIVER-4).

    Notes
    -----
    Source: CUDA Array Interface, version 3, "An example launching on an array's non-default
    stream".

    Examples
    --------
    >>> from interchange import cuda
    >>> cuda.device_array((2, 3), "float32").shape
    (2, 3)
    """
    call = "cuda.device_array()"
    if order not in _ORDERS:
        raise ArgumentError(call, f"order={show(order)}", "IX-ARGUMENT-1", 'pass "C" or "F"')
    sizes = read_shape(shape, call)
    handle = check_stream(stream, call)
    if dtype is None:
        return UntypedArray(sizes, order, stream, device)
    structured = _structured(dtype)
    if structured is not None:
        return _new_records(sizes, structured, order, stream, device)
    elements = read_dtype(dtype, call)
    if prod(sizes) * elements.itemsize >= _TOO_LARGE:
        what = f"shape={show(shape)} of {elements}, more than there are addresses"
        raise ArgumentError(call, what, "IX-ARGUMENT-1", "pass a smaller shape")
    driver = _find_driver(device, call)
    if driver is None:
        return _host_array(sizes, elements, order, call)
    ordinal = current_ordinal(driver, device, call)
    place = Device.of((DLDeviceType.kDLCUDA, ordinal), call)
    spec = Spec(elements, place, Layout(sizes, _ORDERS[order](sizes)))
    keep = allocate(driver, spec.nbytes, ordinal, call) if prod(sizes) else None
    array: Array = _core.describe(keep.ptr if keep else 0, spec, 0, keep, keep, Array)
    array._pending_work = PendingWork(handle, ordinal, stream)
    return array


def _structured(dtype: Any) -> Any:
    """Return a structured dtype of NumPy, also given as a list; None for any other type."""
    if isinstance(dtype, list):
        np = load_numpy()
        with contextlib.suppress(TypeError, ValueError):
            dtype = np.dtype(dtype)
    return dtype if getattr(dtype, "names", None) else None


def _new_records(shape: tuple[int, ...], dtype: Any, order: str, stream: Any, device: Any) -> Any:
    """Return an uninitialized array of records."""
    call = "cuda.device_array()"
    records.check_copied(dtype, call)
    if order != "C":
        raise ArgumentError(call, "records in order 'F'", "IX-ARGUMENT-1", 'pass "C"')
    memory = device_array((*shape, dtype.itemsize), "uint8", "C", stream, device)
    return records.RecordArray(memory, dtype)


def _find_driver(device: Any, call: str) -> Any:
    """Return the driver; None without a GPU, unless one is asked for."""
    if device is None:
        return find_driver(call)
    return driver_of(Device.of((DLDeviceType.kDLCUDA, 0), call), call)


def read_dtype(dtype: Any, call: str) -> DType:
    """Return an element type: one of kernels, or any name that NumPy knows."""
    if isinstance(dtype, ScalarType):
        return DType.of(dtype.name, call)
    try:
        return DType.of(dtype, call)
    except UnsupportedDTypeError:
        np = load_numpy()
        with contextlib.suppress(TypeError):
            return DType.of(np.dtype(dtype), call)
        raise


def read_shape(shape: Any, call: str) -> tuple[int, ...]:
    """Return a shape as a tuple of ints."""
    axes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    try:
        sizes = tuple(map(index, axes))
    except TypeError:
        sizes = (-1,)
    if any(size < 0 for size in sizes):
        raise ArgumentError(call, f"shape={show(shape)}", "IX-ARGUMENT-1", "pass sizes from 0 up")
    return sizes


def _host_array(shape: tuple[int, ...], dtype: DType, order: str, call: str) -> Array:
    """Return a new array on the host."""
    np = load_numpy()
    if str(dtype) not in BY_NAME:
        raise UnsupportedDTypeError(call, f"dtype={dtype} on the host", "CPY-NPM-1")
    name = str(dtype)
    stored = "uint16" if name == "bfloat16" else name  # which NumPy does not have
    found = asarray(np.empty(shape, stored, order=order))
    return found if name == stored else found.view(dtype)


def to_device(
    x: Any,
    stream: Any = None,
    copy: bool = True,  # noqa: FBT002 - Numba's order
    to: Array | None = None,
    device: Any = None,
) -> Array:
    """Copy an array to the current GPU, or to host memory if there is no GPU.

    Parameters
    ----------
    x : object
        Any object that `interchange.asarray` accepts, or an array of a structured dtype.
    stream : None, int or stream object
        The stream of the copy, and of the array from then on, as in `device_array`.
    copy : bool, default True
        False: the elements are not copied, and those of the result are not set.
    to : Array, optional
        Filled and returned, instead of a new array.
    device : None, int, GPU or device-like
        The GPU; by default the current one.

    Returns
    -------
    Array
        For records, an object with ``dtype``, ``shape``, ``copy_to_host()``, ``copy_to_device()``
        and ``__cuda_array_interface__``, which kernels take.

    Raises
    ------
    NoProtocolError, ExchangeError
        As `interchange.asarray` and `Array.to_device`.

    Notes
    -----
    Source: CUDA Array Interface, version 3 (examples).

    Examples
    --------
    >>> from interchange import cuda
    >>> import numpy as np
    >>> cuda.to_device(np.arange(3)).shape
    (3,)
    """
    call = "cuda.to_device()"
    handle = check_stream(stream, call)
    if to is not None:
        if copy:
            to.copy_to_device(x, None if type(stream) is Stream else stream)
        return to
    structured = records.dtype_of(x)
    if structured is not None:
        records.check_copied(structured, call)
        there = to_device(records.as_bytes(x, structured), stream, copy, None, device)
        return records.RecordArray(there, structured)  # type: ignore[return-value] # see Returns
    driver = _find_driver(device, call)
    if driver is None:
        return asarray(x, copy=True)
    ordinal = current_ordinal(driver, device, call)
    there = asarray(x)
    if not copy:
        order = "F" if there.is_contiguous("F") and not there.is_contiguous() else "C"
        empty: Array = device_array(there.shape, there.dtype, order, stream, ordinal)
        return empty
    place = Device.of((DLDeviceType.kDLCUDA, ordinal), call)
    on = LEGACY_DEFAULT_STREAM if type(stream) is Stream or not stream else stream
    with driver.on_device(ordinal, call):  # a default stream is that of the GPU
        is_here = there.device is place
        copied = there.copy(stream=on) if is_here else there.to_device(place, stream=on)
    array = copied.__copy__()
    array._pending_work = PendingWork(handle, ordinal, stream)
    return array


def as_cuda_array(x: Any, sync: bool = True) -> Array:  # noqa: FBT002 - Numba's order
    """View another library's array, which is kept alive.

    Parameters
    ----------
    x : object
        An object with ``__cuda_array_interface__``; on the host, any that `interchange.asarray`
        accepts.
    sync : bool, default True
        False: ignore the producer's stream; the caller orders the work.

    Raises
    ------
    NoProtocolError, ExchangeError
        As `interchange.from_cai`.

    Notes
    -----
    Source: CUDA Array Interface, version 3, "Lifetime management in Numba".  No wait is enqueued
    here: users of the array wait, on their stream.

    Examples
    --------
    >>> from interchange import cuda
    >>> import numpy as np
    >>> cuda.as_cuda_array(np.zeros(3)).shape
    (3,)
    """
    array = from_cai(x, sync=sync) if hasattr(x, "__cuda_array_interface__") else asarray(x)
    return _ordered_by_user(array) if not sync else array


def from_cuda_array_interface(
    desc: Any,
    owner: Any = None,
    sync: bool = True,  # noqa: FBT002 - Numba's order
) -> Array:
    """View the memory that a CUDA array interface dict describes.

    Parameters
    ----------
    desc : dict
        The value of ``__cuda_array_interface__``.
    owner : object, optional
        Kept alive with the array.  Without it the caller keeps the memory alive.
    sync : bool, default True
        False: ignore the producer's stream; the caller orders the work.

    Raises
    ------
    ExchangeError
        The dict breaks a rule (``CAI-*``).

    Notes
    -----
    Source: CUDA Array Interface, version 3, "Lifetime management in Numba".

    Examples
    --------
    >>> from interchange import cuda
    >>> cuda.from_cuda_array_interface({"shape": (0,), "typestr": "<f4", "data": (0, False),
    ...                            "version": 3}).shape
    (0,)
    """
    array = from_cai(desc, owner=owner, sync=sync)
    return _ordered_by_user(array) if not sync else array


def _ordered_by_user(array: Array) -> Array:
    """Return an alias of an array that launches do not wait for."""
    if array.device is CPU:
        return array
    alias = array.__copy__()
    work = pending_work_of(array)
    alias._pending_work = OrderedByUser(None, work.ordinal if work else array.device.id, work)
    return alias
