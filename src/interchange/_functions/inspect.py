"""`inspect`: the contents of an array-like, and the rules that it breaks.

Source: dlpack.h 1.3; the rule book.  Nothing is consumed: a capsule is opened, read and left
unchanged.  An import stops at the first broken rule; `inspect` reports all of them.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._array import Array
from interchange._protocols.capabilities import capabilities_of
from interchange._protocols.dlpack import device_of
from interchange._protocols.protocol_attributes import ARROW_METHODS, attribute, has_on_type
from interchange._streams.driver import driver_of
from interchange._streams.ordering import device_guard
from interchange._streams.rules import STREAM_RULES
from interchange._types.devices import HANDLES, Device
from interchange._types.dtypes import DType, from_typestr
from interchange._types.errors import (
    InterchangeError,
    NoProtocolError,
    UnsupportedDeviceError,
    UnsupportedDTypeError,
    show,
)
from interchange._types.layout import INT64_MAX, MOST_AXES, Layout, problem, strides_in_elements
from interchange.abi import (
    DLPACK_MAJOR_VERSION,
    DLPACK_VERSION,
    LEGACY,
    USED_NAME,
    VERSIONED,
    BrokenRule,
    DLManagedTensor,
    DLManagedTensorVersioned,
    PyCapsule,
    buffer_address,
    capsule_destructor,
    capsule_name,
    capsule_pointer,
    parse_record,
)
from interchange.abi._show import name_of
from interchange.abi.arrow import ARROW_STRUCTS
from interchange.abi.cai import LATEST_VERSION
from interchange.abi.memory import ADDRESS_END

from .host_importing import from_buffer
from .report import Report

if TYPE_CHECKING:
    from interchange.abi import InterfaceRecord

_CALL: Final = "inspect()"
_GOOD_RECORD: Final = {
    "shape": (),
    "typestr": "|u1",
    "data": (1, False),
    "version": LATEST_VERSION,
    **dict.fromkeys(("strides", "stream")),
}
_RECORDS: Final = ("__cuda_array_interface__", "__array_interface__")
_FLAGS: Final = ("read-only", "copied", "padded")


def inspect(x: Any, /) -> Report:
    """Return the contents of an object, a capsule or a record, and the rules that it breaks.

    Parameters
    ----------
    x : object
        A capsule (left unconsumed), an interface dict, or an object with any of the protocols; each
        protocol of an object is called once.  Of a stream of Arrow that can be read once, only the
        schema is requested.

    Returns
    -------
    Report
        ``str(report)`` is readable; `Report.findings` has the rule ids.

    Raises
    ------
    NoProtocolError
        `x` is none of these (IX-PROTOCOL-1).

    Examples
    --------
    >>> report = inspect(b"abc")
    >>> report.ok
    True
    >>> print(report)
    bytes
      buffer protocol
        shape     (3,)
        strides   (1,) [bytes]
        format    'B' of 1 bytes
        readonly  True
    """
    if type(x) is PyCapsule:
        if capsule_name(x) in ARROW_STRUCTS:
            from .inspect_arrow import inspect_arrow_capsule  # for columns only

            return inspect_arrow_capsule(x)
        return _inspect_capsule(x)
    if issubclass(type(x), dict):  # an object's own __class__ may raise
        return _inspect_record("interface record", x)
    report = Report(_name(x))
    for name in ("__dlpack__", *_RECORDS):
        try:
            found = attribute(x, name)
        except Exception as error:  # noqa: BLE001 - a foreign property may raise anything
            report.parts.append(Report(name))
            opened = "record" if name in _RECORDS else "capsule"
            report.parts[-1]._failed(opened, f"raised {show(error, 200)}")
            continue
        if found is not None:
            by_record = name in _RECORDS
            report.parts += [_inspect_record(name, found) if by_record else _inspect_producer(x)]
    buffer = _inspect_buffer(x)
    if buffer is not None:
        report.parts.append(buffer)
    if any(has_on_type(type(x), method) for method in ARROW_METHODS):
        from .inspect_arrow import inspect_column  # for columns only

        part = inspect_column(x)
        report.parts += [] if part is None else [part]
    if not report.parts:
        from interchange._protocols.conversion_hints import conversion_hint  # for an error only

        what = f"{show(x)} of type {_name(x)}"
        raise NoProtocolError(_CALL, what, "IX-PROTOCOL-1", conversion_hint(x))
    return report


def _name(x: object) -> str:
    """Return the name of an object's type."""
    return name_of(type(x))


# ---------------------------------------------------------------- objects


def _inspect_producer(x: Any) -> Report:
    """Ask an object for its device and a capsule, and open it."""
    report = Report("__dlpack__")
    device = None
    try:
        device = device_of(x, _CALL)
        report._say("__dlpack_device__", str(device), dlpack_device=_device_value(device))
    except InterchangeError as error:
        report._broken(error.rule, error.what)
    except Exception as error:  # noqa: BLE001 - a foreign method may raise anything
        report._failed("__dlpack_device__", f"raised {show(error, 200)}")
    wanted: dict[str, Any] = {"max_version": DLPACK_VERSION}
    if device is not None and device.type in STREAM_RULES:
        wanted["stream"] = -1  # nothing is read, so there is nothing to wait for
    home = None if device is None else device_guard(device, _CALL)
    try:
        _core.check_interpreter(_CALL)
        with home or contextlib.nullcontext():
            capabilities = capabilities_of(x)
            capsule = None if capabilities is None else capabilities.ask(x.__dlpack__, wanted)[0]
    except Exception as error:  # noqa: BLE001 - as above
        return report._failed("capsule", f"refused: {type(error).__name__}: {_text_of(error)}")
    if type(capsule) is not PyCapsule:
        report._broken("DLP-CAP-3", f"__dlpack__() returned {show(capsule)}")
        return report
    part = _inspect_capsule(capsule)
    found = part.fields.get("device")
    if device is not None and found is not None and found != str(device):
        what = f"the capsule is on {found}, __dlpack_device__() returned {device}"
        part._broken("DLP-DEV-3", what)
    report.parts.append(part)
    return report


def _text_of(error: Exception) -> str:
    """Return the text of an error, which may be empty."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a foreign method may raise anything
        return "no text"


def _inspect_buffer(x: Any) -> Report | None:
    """Describe the buffer of an object, or return None if it has none."""
    if issubclass(type(x), Array):
        return None
    try:
        view = memoryview(x)
    except Exception:  # noqa: BLE001 - a foreign __buffer__ may raise anything
        return None
    report = Report("buffer protocol")
    shape, strides = view.shape, view.strides
    report._say("shape", str(shape), shape=list(shape or ()))
    report._say("strides", f"{strides} [bytes]", strides_bytes=list(strides or ()))
    what = f"{view.format!r} of {view.itemsize} bytes"
    report._say("format", what, format=view.format, itemsize_bytes=view.itemsize)
    report._say("readonly", str(view.readonly), readonly=view.readonly)
    try:
        from_buffer(view)
    except InterchangeError as error:
        report._broken(error.rule, error.what)
    return report


def _inspect_record(kind: str, record: Any) -> Report:
    """Describe an interface record."""
    report = Report(kind)
    try:
        found = parse_record(_with_address(record))
    except BrokenRule as broken:
        _tell_all_entries(report, record, broken)
        return report
    except Exception as error:  # noqa: BLE001 - a foreign subclass of dict may raise anything
        return report._failed("record", f"raised {show(error, 200)}")
    _tell_record(report, found)
    if found.mask is not None:
        report._broken("CAI-MASK-1", "the record has a mask")
    if 0 not in found.shape and not found.ptr:
        report._broken("CAI-DATA-2", f"the address is 0 for shape {found.shape}")
    _judge_record(report, found)
    return report


def _tell_record(report: Report, found: InterfaceRecord) -> None:
    """Describe a well-formed record."""
    strides = found.strides
    report._say("data", f"{found.ptr:#x}", data=found.ptr)
    report._say("readonly", str(found.readonly), readonly=found.readonly)
    report._say("shape", str(found.shape), shape=list(found.shape))
    text = "C order" if strides is None else f"{strides} [bytes]"
    report._say("strides", text, strides_bytes=None if strides is None else list(strides))
    report._say("typestr", repr(str(found.typestr)), typestr=str(found.typestr))
    report._say("version", str(found.version), version=found.version)
    if found.stream is not None:
        report._say("stream", str(found.stream), stream=found.stream)


def _tell_all_entries(report: Report, record: Any, first: BrokenRule) -> None:
    """Report the errors of each entry of a record, by combining it with valid ones."""
    report._broken(first.rule, first.what)
    if not isinstance(record, dict):
        return
    version = record.get("version") or 0
    is_silent = isinstance(version, int) and 0 <= version < LATEST_VERSION
    for key in record.keys() & (_GOOD_RECORD.keys() - ({"stream"} if is_silent else set())):
        value = record[key]
        as_many = key == "strides" and isinstance(value, (tuple, list))
        axes = {"shape": (0,) * len(value)} if as_many else {}
        try:
            parse_record({**_GOOD_RECORD, **axes, key: value})
        except BrokenRule as broken:
            if (broken.rule, broken.what) != (first.rule, first.what):
                report._broken(broken.rule, broken.what)


def _judge_record(report: Report, found: InterfaceRecord) -> None:
    """Report why a well-formed record does not describe plain memory."""
    itemsize = found.typestr.itemsize
    try:
        itemsize = from_typestr(found.typestr, _CALL).itemsize
    except UnsupportedDTypeError as error:
        if error.rule != "CAI-TYPESTR-2":  # the object may have a dtype
            report._broken(error.rule, error.what)
    strides = None
    if found.strides is not None:
        strides = strides_in_elements(found.shape, found.strides, itemsize)
        if strides is None:
            what = f"byte strides {found.strides} with elements of {itemsize} bytes"
            report._broken("DLP-STRIDES-3", what)
    _judge_place(report, found.ptr, found.shape, strides, itemsize)


def _judge_place(
    report: Report, ptr: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, itemsize: int
) -> None:
    """Report whether shape and strides are valid, alone and around the first element."""
    found = problem(shape, strides, itemsize)
    if found is not None:
        report._broken(found[1], found[0])
    elif ptr and 0 not in shape:
        low, high = Layout(shape, strides).byte_bounds(itemsize)
        if ptr + low <= 0 or ptr + high > ADDRESS_END:
            what = f"address {ptr:#x} with shape {shape} and strides {strides}"
            report._broken("DLP-STRIDES-2", what)


def _with_address(record: Any) -> Any:
    """Return a record with an address, where data is an object with a buffer."""
    data = record.get("data") if isinstance(record, dict) else None
    if data is None or isinstance(data, tuple):
        return record
    try:
        view = memoryview(data)
    except (TypeError, BufferError, ValueError):
        return record
    return {**record, "data": (buffer_address(view), view.readonly)}


# ---------------------------------------------------------------- capsules


def _inspect_capsule(capsule: Any) -> Report:
    """Open a capsule, read it and leave it unchanged."""
    name = capsule_name(capsule)
    text = None if name is None else name.decode("latin-1")
    report = Report(f"capsule {text!r}")
    if name not in USED_NAME:
        used = name in USED_NAME.values()
        report._broken("DLP-CAP-2" if used else "DLP-CAP-1", f"the capsule is named {text!r}")
        return report
    address = capsule_pointer(capsule, name)
    if not capsule_destructor(capsule):
        report._broken("DLP-LIFE-2", "the capsule has no destructor")
    if name == VERSIONED:
        managed = DLManagedTensorVersioned.from_address(address)
        version = (managed.version.major, managed.version.minor)
        report._say("version", "{}.{}".format(*version), version=list(version))
        if version[0] != DLPACK_MAJOR_VERSION:
            report._broken("DLP-VER-1", f"the struct has major version {version[0]}")
            return report
        flags = [word for bit, word in enumerate(_FLAGS) if managed.flags >> bit & 1]
        report._say("flags", ", ".join(flags) or "none", flags=flags)
        padded = bool(managed.flags >> 2 & 1)
        _inspect_tensor(report, managed.dl_tensor, padded=padded, version=version)
    elif name == LEGACY:
        report._say("version", "before 1.0", version=None)
        _inspect_tensor(
            report, DLManagedTensor.from_address(address).dl_tensor, padded=False, version=(0, 8)
        )
    return report


def _inspect_tensor(report: Report, tensor: Any, *, padded: bool, version: tuple[int, int]) -> None:
    """Describe a DLTensor; dereference pointers only if the rules guarantee that they are valid."""
    report._say("data", f"{tensor.data or 0:#x}", data=tensor.data or 0)
    offset = tensor.byte_offset
    report._say("byte_offset", str(offset), byte_offset=offset)
    numbers = _inspect_device(report, tensor.device)
    dtype = _inspect_dtype(report, tensor.dtype, padded=padded)
    ndim = tensor.ndim
    report._say("ndim", str(ndim), ndim=ndim)
    if not 0 <= ndim <= MOST_AXES:
        report._broken("DLP-SHAPE-1", f"ndim is {ndim}")
        return
    if ndim and not tensor.shape:
        report._broken("DLP-SHAPE-2", f"shape is NULL with ndim {ndim}")
        return
    shape = tuple(tensor.shape[:ndim]) if ndim else ()
    strides = _inspect_strides(report, tensor, ndim, version)
    report._say("shape", str(shape), shape=list(shape))
    text = "NULL" if strides is None else f"{strides} [elements]"
    report._say("strides", text, strides_elements=None if strides is None else list(strides))
    empty = 0 in shape
    data = tensor.data or 0
    wraps = data + offset >= ADDRESS_END
    is_handle = numbers[0] in HANDLES
    if not (empty or wraps or is_handle):
        _judge_home(report, numbers, data + offset)
    itemsize = dtype.itemsize if dtype else 1
    _judge_place(report, 0 if is_handle or wraps else data + offset, shape, strides, itemsize)
    if not tensor.data and not empty:
        report._broken("DLP-DATA-1", f"data is NULL for shape {shape}")
    if tensor.data and empty:
        report._broken("DLP-DATA-3", f"data is not NULL for shape {shape}")
    if offset > INT64_MAX or (wraps and not is_handle and not empty):
        report._broken("DLP-DATA-2", f"data {data:#x} + byte_offset {offset}")


def _judge_home(report: Report, numbers: tuple[int, int], ptr: int) -> None:
    """Report whether memory of a device is on another one, if a driver can be asked."""
    try:
        device = Device(*numbers)
        place = driver_of(device, _CALL).pointer_attributes(ptr, _CALL)
    except InterchangeError:  # no driver, or none for such devices
        return
    if place is not None and place.type is device.type and place.ordinal != device.id:
        what = f"the struct is for {device}, and {ptr:#x} is on {Device(place.type, place.ordinal)}"
        report._broken("DLP-DEV-9", what)


def _inspect_device(report: Report, raw: Any) -> tuple[int, int]:
    """Describe the device of the memory, and return its numbers."""
    numbers = (raw.device_type, raw.device_id)
    try:
        device = Device(*numbers)
    except UnsupportedDeviceError as error:
        value = {"name": None, "type": numbers[0], "id": numbers[1]}
        report._say("device", str(numbers), device=value)
        report._broken(error.rule, error.what)
    else:
        report._say("device", str(device), device=_device_value(device))
    return numbers


def _device_value(device: Device) -> dict[str, Any]:
    """Return the values of a device."""
    return {"name": str(device), "type": int(device.type), "id": device.id}


def _inspect_dtype(report: Report, raw: Any, *, padded: bool) -> DType | None:
    """Describe the element type."""
    numbers = (raw.code, raw.bits, raw.lanes)
    value = {"name": None, "code": raw.code, "bits": raw.bits, "lanes": raw.lanes}
    try:
        dtype = DType(*numbers, padded=padded)
    except UnsupportedDTypeError as error:
        report._say("dtype", str(numbers), dtype=value)
        report._broken(error.rule, error.what)
        return None
    report._say("dtype", f"{dtype} {numbers}", dtype={**value, "name": str(dtype)})
    return dtype


def _inspect_strides(
    report: Report, tensor: Any, ndim: int, version: tuple[int, int]
) -> tuple[int, ...] | None:
    """Return the strides, or None for NULL, which version 1.2 forbade."""
    if not ndim:
        return ()
    if tensor.strides:
        return tuple(tensor.strides[:ndim])
    if version >= (1, 2):
        report._broken("DLP-STRIDES-1", "strides are NULL")
    return None
