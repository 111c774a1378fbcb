"""Import and export of host memory by the buffer protocol and NumPy's array interface.

Source: PEP 3118 and PEP 688; NumPy array interface, version 3.  A record's keys and their rules are
those of the CUDA Array Interface, which is derived from it.
"""

from __future__ import annotations

from ctypes import addressof
from operator import index as as_index
from typing import TYPE_CHECKING, Any, NoReturn

from interchange import _core
from interchange._core._numpy import lanes_of, ndarray_over, require_numpy_dtype
from interchange._core._parsing import place
from interchange._streams.ordering import wait_on_host
from interchange._streams.rules import STREAM_RULES
from interchange._types.devices import CPU
from interchange._types.dtypes import DType, from_format
from interchange._types.errors import (
    CopyNeededError,
    ExchangeError,
    NoProtocolError,
    ReadOnlyError,
    UnsupportedDeviceError,
    UnsupportedDTypeError,
    error_for,
    reason_of,
    refuse_record,
    show,
)
from interchange._types.layout import Layout, problem
from interchange._types.spec import Spec
from interchange.abi import (
    BrokenRule,
    InterfaceRecord,
    buffer_address,
    format_record,
    parse_record,
)
from interchange.abi.capsules import anchor
from interchange.abi.dlpack import DLDataTypeCode
from interchange.abi.memory import ADDRESS_END

from .dlpack import READ_ONLY
from .export_guards import FILLED, explain_refusal, is_masked
from .protocol_attributes import attribute
from .records import dtype_of, is_plain, layout_of, parse_with_hint

if TYPE_CHECKING:
    from typing import TypeVar

    from interchange._core import Tensor
    from interchange._types.devices import Device
    from interchange._types.errors import InterchangeError
    from interchange._types.layout import Ints

    T = TypeVar("T", bound="Tensor")

_PYBUF_WRITABLE = 1
_COPYING = "pass `interchange.asarray(x, copy=True)`"
_OF_A_SHAPE = (
    "pass a shape of 64 axes at most, whose bytes a signed integer as wide as addresses counts"
)


def describe_memory(
    ptr: int,
    dtype: DType,
    layout: Layout,
    *,
    readonly: bool,
    owner: object,
    keep: object,
    cls: type[T],
    call: str,
    device: Device = CPU,
) -> T:
    """Return a tensor over described memory, after the description is checked.

    Raises ExchangeError: shape, strides or address are invalid (DLP-SHAPE-*, DLP-STRIDES-2,
        DLP-DATA-1).
    """
    found = problem(layout.shape, layout.strides, dtype.itemsize)
    is_ours = call == "from_pointer()"  # whose arguments come from no producer
    hint = "pass the shape and the strides of memory that exists" if is_ours else None
    if found is not None:
        known = _OF_A_SHAPE if call == "from_buffer()" else hint
        raise error_for(call, *found, known)
    first, last, spec = place(Spec(dtype, device, layout))
    low, _ = layout.byte_bounds(dtype.itemsize)  # memory starts at its handle
    if not layout.size:
        ptr = 0
    elif not ptr:
        what = f"the address is 0 for shape {layout.shape}"
        known = "pass the address of the first element" if is_ours else None
        raise ExchangeError(call, what, "DLP-DATA-1", known)
    elif not 0 <= ptr < ADDRESS_END or (
        low < 0 if device.has_handles else not first <= ptr <= last
    ):
        address = f"{ptr:#x}" if 0 <= ptr < ADDRESS_END else show(ptr)
        what = f"address {address} with shape {layout.shape} and strides {layout.strides}"
        raise ExchangeError(call, what, "DLP-STRIDES-2", hint)
    return _core.describe(ptr, spec, READ_ONLY if readonly else 0, owner, keep, cls)


# ---------------------------------------------------------------- import


def open_buffer(x: Any, call: str, wanted: DType | None = None) -> memoryview:
    """Return the buffer of an object whose bytes are wanted as elements of some type, or None.

    Raises NoProtocolError: `x` has no buffer (BUF-1).
    Raises ExchangeError: `x` refuses to export its buffer (BUF-1), or has masked elements
        (AI-MASK-1).
    """
    try:
        view = memoryview(x)
    except TypeError as error:
        from .conversion_hints import bytes_hint  # for an error only

        what = f"{type(x).__name__} gives no buffer"
        hint = bytes_hint(x, wanted)
        raise NoProtocolError(call, what, "BUF-1", hint) from error
    except (BufferError, ValueError) as error:
        from .element_hints import element_hint  # for an error only

        hint, reason = element_hint(x), reason_of(error)
        why = explain_refusal(x) if hint is None else None
        if why is not None:
            reason, _, hint = why
        what = f"{type(x).__name__} refuses its buffer ({reason})"
        raise ExchangeError(call, what, "BUF-1", hint) from error
    if is_masked(x):
        view.release()
        raise ExchangeError(call, "the array has masked elements", "AI-MASK-1", FILLED)
    return view


def import_buffer(x: Any, cls: type[T], call: str, *, copies: bool = False) -> T:
    """Import an object with the buffer protocol; one without whole strides may be copied.

    Raises NoProtocolError, ExchangeError: as `open_buffer`; or strides and plain elements cannot
        describe it (BUF-SUBOFFSETS-1, BUF-FORMAT-1, DLP-STRIDES-3).
    """
    view = open_buffer(x, call)
    try:
        found = describe_buffer(view, x, cls, call, readonly=view.readonly, copies=copies)
    except BaseException:
        view.release()  # which the traceback would keep open, and its owner with it
        raise
    if (log := _core.log) is not None:
        made = "not copied" if found._owner is x else "copied"
        log(call, f"imported by the buffer protocol: format {view.format!r}, {made}", found)
    return found


def describe_buffer(
    view: memoryview, x: Any, cls: type[T], call: str, *, readonly: bool, copies: bool = False
) -> T:
    """Return a tensor of the elements of a buffer as they are; the caller releases the buffer.

    Raises ExchangeError: strides and plain elements cannot describe it (BUF-SUBOFFSETS-1,
        BUF-FORMAT-1, DLP-STRIDES-3).
    """
    is_indirect = any(offset >= 0 for offset in view.suboffsets or ())
    if is_indirect and not copies:
        what = f"the buffer has suboffsets {view.suboffsets}"
        raise CopyNeededError(call, what, "BUF-SUBOFFSETS-1", _COPYING)
    dtype = element_of(view, x, call)
    shape, steps = tuple(view.shape or ()), tuple(view.strides or ())
    layout = None if is_indirect else _layout_of(shape, steps, dtype, call, copies=copies)
    if layout is None:
        return _dense(view, dtype, shape, cls, call)
    return describe_memory(
        buffer_address(view),
        dtype,
        layout,
        readonly=readonly,
        owner=x,
        keep=view,
        cls=cls,
        call=call,
    )


def _layout_of(
    shape: Ints, steps: Ints | None, dtype: DType, call: str, *, copies: bool
) -> Layout | None:
    """Return the layout of byte strides, or None if it needs a copy and one may be made."""
    try:
        return layout_of(shape, steps, dtype.itemsize, call)
    except ExchangeError as error:
        if copies:
            return None
        raise CopyNeededError(call, error.what, error.rule, _COPYING) from None


def _dense(view: memoryview, dtype: DType, shape: Ints, cls: type[T], call: str) -> T:
    """Return a tensor over a copy of a buffer, in C order."""
    block = bytearray(view)
    if (log := _core.log) is not None:
        log(call, "copied, since no strides describe the memory", None)
    return describe_memory(
        buffer_address(memoryview(block)),
        dtype,
        Layout(shape),
        readonly=False,
        owner=block,
        keep=memoryview(block),
        cls=cls,
        call=call,
    )


def element_of(view: memoryview, x: Any, call: str) -> DType:
    """Return the element type of a buffer of `x`.

    Raises UnsupportedDTypeError: the type is unknown, or of foreign byte order (BUF-FORMAT-1).
    """
    try:
        return from_format(view.format, view.itemsize, call)
    except UnsupportedDTypeError as error:
        from .element_hints import element_hint, format_hint  # for an error only

        hint = element_hint(x) or format_hint(view, x, call)
        raise error_for(call, error.what, error.rule, hint) from None


def import_array_interface(
    x: Any, cls: type[T], call: str, *, copies: bool = False, raw: Any = None, owner: Any = None
) -> T:
    """Import an object with ``__array_interface__``; one without whole strides may be copied.

    `raw`: a record without an object, if `x` is None.
    `owner`: kept alive with the memory, beside `x`; None if `x` is sufficient.

    Raises NoProtocolError: `x` has no such attribute (AI-1).
    Raises ExchangeError: the record is malformed, or describes memory that DLPack cannot describe
        (CAI-*, AI-MASK-1, AI-DESCR-1).
    """
    raw = attribute(x, "__array_interface__") if raw is None else raw
    if raw is None:
        what = f"{type(x).__name__} has no __array_interface__"
        raise NoProtocolError(call, what, "AI-1", _way_to_share(x))
    keep: object = (x, raw)  # a record may own the memory at its address: those of NumPy scalars do
    try:
        if isinstance(raw, dict) and not isinstance(raw.get("data"), tuple):
            raw, keep = _resolve_buffer(raw, x, call)
        record = parse_with_hint(raw, getattr(x, "dtype", None), call)
    except BrokenRule as broken:
        refuse_record(call, broken)
    except UnsupportedDTypeError as error:
        _refuse_elements(error, x)
    if record.mask is not None or is_masked(x):
        hint = FILLED if hasattr(x, "filled") else None
        raise ExchangeError(call, "the array has masked elements", "AI-MASK-1", hint)
    if not is_plain(record):
        from .element_hints import element_hint  # for an error only

        what = f"descr is {show(record.descr)}"
        raise UnsupportedDTypeError(call, what, "AI-DESCR-1", element_hint(x))
    try:
        dtype = dtype_of(record, getattr(x, "dtype", None), call)
    except UnsupportedDTypeError as error:
        _refuse_elements(error, x)
    layout = _layout_of(record.shape, record.strides, dtype, call, copies=copies)
    memory: dict[str, Any] = {
        "readonly": record.readonly,
        "owner": x if owner is None else owner if x is None else (x, owner),
        "keep": keep if owner is None else (keep, owner),
        "cls": cls,
        "call": call,
    }
    if layout is not None:
        found: T = describe_memory(record.ptr, dtype, layout, **memory)
        if (log := _core.log) is not None:
            how = f"imported by __array_interface__: version {record.version}, not copied"
            log(call, how, found)
        return found
    each = Layout((*record.shape, dtype.itemsize), (*(record.strides or ()), 1))  # in bytes
    parts: T = describe_memory(record.ptr, DType(DLDataTypeCode.kDLUInt, 8), each, **memory)
    return _dense(memoryview(as_ndarray(parts, call)), dtype, record.shape, cls, call)


def _refuse_elements(error: InterchangeError, x: Any) -> NoReturn:
    """Raise an error of element types with the fix for `x`."""
    from .element_hints import with_element_hint  # for an error only

    raise with_element_hint(error, x) from error.__cause__


def _way_to_share(x: Any) -> str | None:
    """Return what can be passed instead of `x`, which does not support the protocol."""
    from .conversion_hints import sharing_hint  # for an error only

    return sharing_hint(x)


def _resolve_buffer(raw: dict[str, Any], x: Any, call: str) -> tuple[dict[str, Any], object]:
    """Return a record with an address instead of the buffer in it, or of `x` itself."""
    source = raw.get("data")
    try:
        view = memoryview(x if source is None else source).cast("B")
    except (TypeError, BufferError, ValueError) as error:
        raise ExchangeError(call, f"data is {show(source)}", "CAI-DATA-1") from error
    given = raw.get("offset") or 0
    offset = as_index(given) if hasattr(given, "__index__") else None
    partial = parse_record({**raw, "data": (0, view.readonly)})
    itemsize = partial.typestr.itemsize
    layout = layout_of(partial.shape, partial.strides, itemsize, call)
    low, high = layout.byte_bounds(itemsize)
    if offset is None or low + offset < 0 or high + offset > view.nbytes:
        what = f"offset {show(given)} with shape {layout.shape} leaves {view.nbytes} bytes"
        raise ExchangeError(call, what, "CAI-DATA-1")
    return {**raw, "data": (buffer_address(view) + offset, view.readonly)}, (view, x, raw)


# ---------------------------------------------------------------- export


def check_host(tensor: Tensor, call: str) -> None:
    """Refuse memory that the host cannot access."""
    device = tensor._spec.device
    if not device.is_host_accessible:
        hint = "copy it to the host, with `x.to_device('cpu')`"
        what = f"the memory is on {device}"
        known = hint if device.type in STREAM_RULES else None
        raise UnsupportedDeviceError(call, what, "DLP-DEV-6", known)


def as_ndarray(tensor: Tensor, call: str, *, carrier: bool = False, tracked: bool = False) -> Any:
    """Return an ndarray that shares the memory of `tensor`.

    Memory that is not known to be writable is exported read-only.  With `carrier` the elements are
    plain bytes of the right size; with `tracked` the garbage collector sees their owner.
    """
    check_host(tensor, call)
    wait_on_host(tensor, call)
    spec = tensor._spec
    if spec.dtype.is_packed:
        raise UnsupportedDTypeError(call, f"elements are {spec.dtype}", "DLP-DTYPE-5")
    if not carrier:
        require_numpy_dtype(spec.dtype, call)
    readonly = not _is_writable(tensor)
    return ndarray_over(
        tensor.ptr, spec, tensor._keepalive, readonly=readonly, carrier=carrier, tracked=tracked
    )


def as_memoryview(tensor: Tensor, call: str, flags: int = 0) -> memoryview:
    """Return a memoryview that shares the memory of `tensor`.

    Raises ReadOnlyError: `flags` request writable memory, and the memory is not known to be
        writable (DLP-RO-3).
    Raises UnsupportedDTypeError: the buffer protocol has no format for the element type
        (BUF-FORMAT-2).
    """
    spec = tensor._spec
    if flags & _PYBUF_WRITABLE and not _is_writable(tensor):
        what = "a writable buffer of read-only memory was requested"
        raise ReadOnlyError(call, what, "DLP-RO-3", "ask for a buffer of a copy, `x.copy()`")
    if spec.dtype.format is None:
        what = f"elements are {spec.dtype}"
        has_lanes = DType(spec.dtype.code, spec.dtype.bits).format is not None
        hint = lanes_of(spec.dtype) if has_lanes else None
        raise UnsupportedDTypeError(call, what, "BUF-FORMAT-2", hint)
    return memoryview(as_ndarray(tensor, call, tracked=True))


def _is_writable(tensor: Tensor) -> bool:
    """Whether the memory is known to be writable."""
    return tensor._flags is not None and not tensor._flags & READ_ONLY


def array_interface(tensor: Tensor) -> dict[str, Any] | None:
    """Return the record of `tensor`, or None if the interface cannot describe it."""
    spec = tensor._spec
    typestr = spec.dtype.typestr
    if not spec.device.is_host_accessible or typestr is None:
        return None
    wait_on_host(tensor, "Array.__array_interface__")
    steps = spec.layout.strides_in_bytes(spec.dtype.itemsize)
    strides = None if spec.layout.is_c_contiguous else steps
    readonly = not _is_writable(tensor)
    ptr = tensor.ptr or addressof(anchor)  # NumPy before 2.4 takes no NULL, not even for nothing
    record = format_record(InterfaceRecord(ptr, readonly, spec.shape, strides, typestr, 3))
    del record["stream"]  # the key is CUDA's
    return record


def raw_bytes(tensor: Tensor, *, readonly: bool) -> Any:
    """Return the memory of a contiguous array, as tracked bytes."""
    wait_on_host(tensor, "raw_bytes()")
    spec = Spec(DType(1, 8), CPU, Layout((tensor._spec.nbytes,)))
    return ndarray_over(tensor.ptr, spec, tensor._keepalive, readonly=readonly, tracked=True)
