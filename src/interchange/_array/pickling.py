"""Pickles of Arrays: elements travel as one buffer, out of band where the pickler can.

Source: PEP 574.  A contiguous array, in either order, is not copied; on load the Array uses the
buffer that the unpickler provides.  Device memory is copied to the host and back.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._protocols import host
from interchange._protocols.dlpack import READ_ONLY
from interchange._types.devices import CPU, Device
from interchange._types.dtypes import DType
from interchange._types.errors import ExchangeError, show
from interchange._types.layout import Layout, f_strides
from interchange.abi import buffer_address

from .arguments import check_ints
from .transfers import copy, move

if TYPE_CHECKING:
    from typing import TypeVar

    from .array_base import ArrayBase

    T = TypeVar("T", bound="ArrayBase")

LOAD_DEVICE: Final = "INTERCHANGE_LOAD_DEVICE"
"""The environment variable that sets where arrays pickled on a device are loaded."""
_DUMPS: Final = "pickle.dumps()"
_LOADS: Final = "pickle.loads()"
_OUT_OF_BAND: Final = 5  # the first pickle protocol with buffers


def reduce_array(array: ArrayBase, protocol: int) -> Any:
    """Return the pickle data of an Array, for ``__reduce_ex__``."""
    from pickle import PickleBuffer

    dense, order = fetch(array, _DUMPS)
    # If it is unknown whether memory may be written, the copy in the pickle is writable.
    view = bytes_of(dense, readonly=bool(array.readonly))
    is_buffer = protocol >= _OUT_OF_BAND
    data: Any = PickleBuffer(view) if is_buffer else bytes(view)
    rebuild = rebuild_array if is_buffer or view.readonly else rebuild_writable
    facts = (type(array), data, dense.dtype.name, dense.shape, order, array.readonly)
    there = array.device
    return rebuild, facts if there.is_host_accessible else (*facts, str(there))


def fetch(array: T, call: str) -> tuple[T, str]:
    """Return a contiguous array on the host, and its order.

    `array`: an array on the host, or on a device that a driver or a library can copy from.

    Raises UnsupportedDeviceError: the host cannot access the memory (DLP-DEV-6).
    Raises DriverUnavailableError: the driver of the device is not installed (IX-DRIVER-1).
    """
    if not array.device.is_host_accessible:
        array = move(array, CPU, None, call)
    order = "F" if array.is_contiguous("F") and not array.is_contiguous("C") else "C"
    return array if array.is_contiguous(order) else copy(array, order, call, None), order


def bytes_of(dense: ArrayBase, *, readonly: bool) -> memoryview:
    """Return the memory of a contiguous host array."""
    return memoryview(host.raw_bytes(dense, readonly=readonly))


def rebuild_array(  # noqa: PLR0917 - the order in pickles
    cls: Any,
    data: Any,
    dtype: str,
    shape: tuple[int, ...],
    order: str,
    readonly: bool | None,
    device: str = "cpu",
) -> Any:
    """Return an Array over the bytes in `data`: the inverse of `reduce_array`.

    `data`: the elements, and nothing else.
    `dtype`: name of their type.
    `order`: which axis runs fastest.
    `readonly`: whether the memory is read-only; None if unknown.
    `device`: the device the array was on.  The array is moved there, or to where the environment
        says.
    """
    _check_class(cls)
    try:
        view = memoryview(data).cast("B")
    except (TypeError, BufferError) as error:
        what = f"data is {show(data)}"
        raise ExchangeError(_LOADS, what, "IX-POINTER-1", "pickle the array again") from error
    element = DType.of(dtype)
    shape = check_ints(shape, "shape", _LOADS)
    layout = Layout(shape, f_strides(shape) if order == "F" else None)
    if view.nbytes != element.nbytes(layout.size):
        what = f"{view.nbytes} bytes for shape {show(shape)} of {show(dtype)}"
        raise ExchangeError(_LOADS, what, "IX-POINTER-1", "pickle the array again")
    array = host.describe_memory(
        buffer_address(view),
        element,
        layout,
        readonly=bool(readonly) or view.readonly,
        owner=data,
        keep=view,
        cls=cls,
        call=_LOADS,
    )
    if readonly is None and not view.readonly:
        array._flags = None
    return array if device == "cpu" else _bring_back(array, device, readonly)


def rebuild_writable(cls: Any, data: Any, *facts: Any) -> Any:
    """Return an Array over a copy of the bytes in `data`, for pickle protocols without buffers."""
    _check_class(cls)
    if not isinstance(data, bytes):
        what = f"data is {show(data)}"
        raise ExchangeError(_LOADS, what, "IX-POINTER-1", "pickle the array again")
    return rebuild_array(cls, bytearray(data), *facts)


def _check_class(cls: object) -> None:
    """Refuse an object that is not an array class as the first item of the pickle data."""
    if not (isinstance(cls, type) and issubclass(cls, _core.Tensor)):
        what = f"{show(cls)} is not a class of arrays; older releases use another pickle format"
        raise ExchangeError(_LOADS, what, "IX-POINTER-1", "pickle the array again")


for _function in (rebuild_array, rebuild_writable):  # a pickle names no module that may be renamed
    _function.__module__, _function.__qualname__ = "interchange", f"_{_function.__name__}"


def _bring_back(array: T, device: str, readonly: bool | None) -> T:
    """Return an array on the device it was pickled on, or on the one the environment names."""
    target = Device.of(os.environ.get(LOAD_DEVICE) or device, _LOADS)
    try:
        moved = move(array, target, None, _LOADS)
    except ExchangeError as error:  # no driver, no device with that number, or no free memory
        what = f"the array was on {device}: {error.what}"
        hint = f"{error.hint}, or set {LOAD_DEVICE}=cpu to load it on the host"
        raise type(error)(_LOADS, what, error.rule, hint) from error
    if moved is not array:
        moved._flags = None if readonly is None else READ_ONLY * readonly
    return moved
