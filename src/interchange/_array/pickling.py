"""Pickles of Arrays: host memory travels as one buffer, out of band where the pickler can.

Source: PEP 574.  What is contiguous, in either order, is not copied; on load the Array lies over
the buffer that the unpickler hands out.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from interchange._protocols import host
from interchange._terms.dtypes import DType
from interchange._terms.errors import ExchangeError, show
from interchange._terms.layout import Layout, f_strides
from interchange.abi import buffer_address

from .memory import check_ints

if TYPE_CHECKING:
    from .array import Array

_LOADS = "pickle.loads()"
_OUT_OF_BAND = 5  # the first pickle protocol with buffers


def reduce_array(array: Array, protocol: int) -> Any:
    """Return how to pickle an Array, for ``__reduce_ex__``."""
    host.check_host(array, "pickle.dumps()")
    order = "F" if array.is_contiguous("F") and not array.is_contiguous("C") else "C"
    dense = array.contiguous(order)
    # Where nobody said whether memory may be written, its copy in the pickle may.
    readonly = bool(array.readonly)
    data: Any = memoryview(host.raw_bytes(dense, readonly=readonly))
    if protocol >= _OUT_OF_BAND:
        data = pickle.PickleBuffer(data)
    else:
        data = bytes(data) if readonly else bytearray(data)
    return rebuild_array, (data, dense.dtype.name, dense.shape, order, array.readonly)


def rebuild_array(
    data: Any, dtype: str, shape: tuple[int, ...], order: str, readonly: bool | None
) -> Array:
    """Return an Array over the bytes in `data`: the other half of `reduce_array`."""
    from .array import Array

    try:
        view = memoryview(data).cast("B")
    except (TypeError, BufferError) as error:
        what = f"data is {show(data)}"
        raise ExchangeError(_LOADS, what, "IX-POINTER-1", "pickle the array again") from error
    element = DType.of(dtype)
    shape = check_ints(shape, "shape", _LOADS)
    layout = Layout(shape, f_strides(shape) if order == "F" else None)
    if view.nbytes != element.nbytes(layout.size):
        what = f"{view.nbytes} bytes for shape {shape} of {dtype}"
        raise ExchangeError(_LOADS, what, "IX-POINTER-1", "pickle the array again")
    array = host.describe_memory(
        buffer_address(view),
        element,
        layout,
        readonly=bool(readonly) or view.readonly,
        owner=data,
        keep=view,
        cls=Array,
        call=_LOADS,
    )
    if readonly is None and not view.readonly:
        array._flags = None
    return array
