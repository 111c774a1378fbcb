"""Import and export by the CUDA Array Interface: a record, its memory, and its pending stream.

Source: CUDA Array Interface, versions 0 to 3; CUDA driver API (pointer attributes).  A record does
not name the device, nor whether memory is managed: the driver is asked.  The wait for a producer's
stream is enqueued when the memory is exported, on the stream of the consumer.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, cast

from interchange import _core
from interchange._streams.driver import driver_of, drivers, make_current
from interchange._streams.ordering import stream_to_publish, wait_on_host
from interchange._streams.pending import WorkOnConsumer
from interchange._streams.rules import LEGACY_DEFAULT_STREAM
from interchange._types.devices import CPU, Device, ordinal_of
from interchange._types.errors import (
    DriverUnavailableError,
    ExchangeError,
    InterchangeError,
    UnsupportedDeviceError,
    UnsupportedDTypeError,
    error_for,
    show,
)
from interchange._types.layout import problem
from interchange._types.library import package_of
from interchange._types.spec import Spec
from interchange.abi import BrokenRule, InterfaceRecord, TypeStr, format_record, parse_record
from interchange.abi._show import module_of
from interchange.abi.dlpack import DLDeviceType

from .dlpack import READ_ONLY
from .export_guards import record_guard_of
from .published_work import (
    FIRST_WITH_STREAM,
    PublishedWork,
    corrected,
    plain_modules,
    read_at_home,
    read_record,
)
from .records import dtype_of, is_plain, layout_of

if TYPE_CHECKING:
    from typing import TypeVar

    from interchange._core import Tensor
    from interchange._streams.cuda import CudaDriver
    from interchange._streams.device_driver import Driver, PointerAttributes
    from interchange._streams.pending import PendingWork
    from interchange._types.dtypes import DType

    T = TypeVar("T", bound="Tensor")

SYNCS: Final = os.environ.get("INTERCHANGE_CAI_SYNC", "1") != "0"
"""Whether the streams of records are waited for by default."""
UNSYNCED: Final = ("legacy", "none", "device")
"""How versions below 3, which do not publish pending work, are ordered: wait for the legacy default
stream, for nothing, or for everything on the device."""

_CUDA: Final = Device(DLDeviceType.kDLCUDA)
_NO_ID: Final = {
    kind: Device(kind)
    for kind in (
        DLDeviceType.kDLCUDAHost,
        DLDeviceType.kDLCUDAManaged,
        DLDeviceType.kDLROCMHost,
    )
}
_BFLOAT16: Final = TypeStr("<", "V", 2)  # as torch and ml_dtypes write it


# ---------------------------------------------------------------- import

# Shape, strides and element type repeat from call to call; a cache by value avoids checking them
# again.
_Form = tuple[Spec, int, int]  # on cuda:0; span of the elements from the first one [bytes]
_forms: Final[dict[Any, _Form]] = {}
_MOST_FORMS: Final = 1024


def import_record(
    raw: Any,
    x: Any,
    cls: type[T],
    *,
    owner: Any,
    dtype: DType | None,
    sync: bool,
    unsynced: str,
    call: str,
    answers: tuple[int, ...] | None = None,
) -> T:
    """Import the memory that a record describes.

    `raw`: the record, as the producer returned it.
    `x`: its producer, asked again later; None for a bare record.
    `owner`: kept alive with the memory.
    `dtype`: the element type, if the type string does not determine it.
    `sync`: whether to order after the producer's stream.
    `unsynced`: how versions below 3 are ordered: one of `UNSYNCED`.
    `answers`: the recent answer of CUDA's driver about the address.

    Raises ExchangeError: the record is malformed, or describes memory that DLPack cannot describe
        (``CAI-*``, DLP-DTYPE-3, DLP-STRIDES-3), or that does not exist (CAI-DATA-3, CAI-DATA-4).
    Raises DriverUnavailableError: there is no driver to ask (IX-DRIVER-1).
    """
    if x is not None and module_of(type(x)) not in plain_modules:
        raw = corrected(raw, x)
    _refuse_loss(x, call)
    hint: Any = dtype
    try:
        record = parse_record(raw)
        form = _forms[record[2:5]]  # shape, strides, typestr
        if dtype is not None or record.mask is not None or not is_plain(record):
            raise KeyError  # noqa: TRY301 - the exception
    except (KeyError, BrokenRule):
        hint = getattr(x, "dtype", None) if dtype is None else dtype
        record, form = _read_carefully(raw, dtype, hint, call)
    spec, low, high = form
    ptr = record.ptr
    if not ptr or not spec.layout.size:
        return _import_empty(record, spec, owner, cls, call, None)
    driver = drivers.get("cuda") or _find_driver(call)
    place = _place_of(ptr, driver, answers, call)
    kind, ordinal, start, end = place
    if not start <= ptr + low <= ptr + high <= end and end > start:
        raise _refuse_span(record, place, call)
    if ordinal or kind is not DLDeviceType.kDLCUDA:  # in the form of the cache
        device = _NO_ID.get(kind) or Device(kind, ordinal)
        spec = Spec(spec.dtype, device, spec.layout)
    tensor = _core.describe(ptr, spec, READ_ONLY if record.readonly else 0, owner, owner, cls)
    if (log := _core.log) is not None:
        how = f"version {record.version}, stream={record.stream}, not copied"
        log(call, f"imported by __cuda_array_interface__: {how}", tensor)
    if sync:
        if x is not None and record.stream and make_current(driver, ordinal, call) is not None:
            record = read_at_home(x, spec.device, ordinal, record, hint, call)
        tensor._pending_work = PublishedWork(x, record, spec.device, ordinal, unsynced, hint)
    return tensor


def _refuse_loss(x: Any, call: str) -> None:
    """Refuse an object whose record omits something that changes its values."""
    find_loss = None if x is None else record_guard_of(type(x))
    loss = None if find_loss is None else find_loss(x)
    if loss is not None:
        raise error_for(call, *loss)


def _place_of(
    ptr: int, driver: Driver, answers: tuple[int, ...] | None, call: str
) -> PointerAttributes:
    """Return the device of an address, from the driver's answer or a recent one."""
    if answers is None:
        place = driver.pointer_attributes(ptr, call)
    else:
        place = cast("CudaDriver", driver).place_of(answers, call)
    if place is None:
        raise UnsupportedDeviceError(call, f"address {ptr:#x} is unknown", "CAI-DATA-3")
    return place


def is_plain_type(cls: type) -> bool:
    """Whether records of a type are known to need no correction."""
    is_foreign = package_of(cls) != "interchange" and not hasattr(cls, "keys")
    is_corrected = module_of(cls) not in plain_modules or record_guard_of(cls) is not None
    return is_foreign and not is_corrected and not issubclass(cls, _core.Tensor)


def publish(tensor: Tensor, x: Any, said: tuple[Any, ...]) -> PendingWork:
    """Return the pending work of a record, and the consumer's stream that waited for it, if any.

    `tensor`: the Array made from the record.
    `x`: its producer, asked again later; None for a bare record.
    `said`: the entries shape, typestr, data, strides, version and stream of the record, and the
        consumer's stream, or None.
    """
    *entries, stream = said
    record = parse_record(dict(zip(_ENTRIES, entries, strict=True)))
    device = tensor.device
    work = PublishedWork(x, record, device, ordinal_of(device), UNSYNCED[0], None)
    return work if stream is None else WorkOnConsumer(stream, work.ordinal, stream, work)


_ENTRIES: Final = ("shape", "typestr", "data", "strides", "version", "stream")


def _find_driver(call: str) -> Driver:
    """Return the driver to ask about addresses: CUDA's, or ROCm's if there is none."""
    try:
        return driver_of(_CUDA, call)
    except DriverUnavailableError as error:
        try:
            return driver_of(Device(DLDeviceType.kDLROCM), call)
        except DriverUnavailableError:
            raise error from None


def _read_carefully(
    raw: Any, dtype: DType | None, hint: Any, call: str
) -> tuple[InterfaceRecord, _Form]:
    """Read a record that is not cached, or that is invalid."""
    record = read_record(raw, hint, call)
    if record.mask is not None:
        raise ExchangeError(call, f"mask is {show(record.mask)}", "CAI-MASK-1")
    return record, _form_of(record, dtype, hint, call)


def _form_of(record: InterfaceRecord, dtype: DType | None, hint: Any, call: str) -> _Form:
    """Return the checked description of the memory of a record."""
    if not is_plain(record):
        raise UnsupportedDTypeError(call, f"descr is {show(record.descr)}", "CAI-DESCR-1")
    try:
        element = dtype_of(record, hint, call)
    except UnsupportedDTypeError as error:
        from .element_hints import with_dtype_hint  # for an error only

        raise with_dtype_hint(error, record.typestr.itemsize) from error.__cause__
    if dtype is not None and element is not dtype:
        what = f"typestr {str(record.typestr)!r} is of {element}, wanted {dtype}"
        raise UnsupportedDTypeError(call, what, "IX-CAST-1")
    layout = layout_of(record.shape, record.strides, element.itemsize, call)
    wrong = problem(layout.shape, layout.strides, element.itemsize)
    if wrong is not None:
        raise error_for(call, *wrong)
    form = (Spec(element, _CUDA, layout), *layout.byte_bounds(element.itemsize))
    if element.typestr == record.typestr:  # which needs no hint
        if len(_forms) >= _MOST_FORMS:
            _forms.clear()
        _forms[record[2:5]] = form
    return form


def import_on(
    raw: Any,
    x: Any,
    cls: type[T],
    device: Device,
    *,
    owner: Any,
    dtype: DType | None,
    sync: bool,
    unsynced: str,
    call: str,
) -> T:
    """Import a record of memory on the device that the caller names: no driver is asked.

    The parameters and errors are those of `import_record`, except for the address, which is not
    verified.  No work is pending on memory of the host.
    """
    if x is not None and module_of(type(x)) not in plain_modules:
        raw = corrected(raw, x)
    _refuse_loss(x, call)
    hint: Any = getattr(x, "dtype", None) if dtype is None else dtype
    record, (spec, _, _) = _read_carefully(raw, dtype, hint, call)
    if not record.ptr or not spec.layout.size:
        return _import_empty(record, spec, owner, cls, call, device)
    flags = READ_ONLY if record.readonly else 0
    spec = Spec(spec.dtype, device, spec.layout)
    tensor = _core.describe(record.ptr, spec, flags, owner, owner, cls)
    if (log := _core.log) is not None:
        how = f"version {record.version}, on {device} as the caller says, not copied"
        log(call, f"imported by __cuda_array_interface__: {how}", tensor)
    if sync and device is not CPU:
        ordinal = ordinal_of(device)
        tensor._pending_work = PublishedWork(x, record, device, ordinal, unsynced, hint)
    return tensor


def _current_device(call: str) -> Device:
    """Return the current device; without a driver, the first one."""
    try:
        driver = _find_driver(call)
        kind = DLDeviceType.kDLROCM if driver.name == "ROCm" else DLDeviceType.kDLCUDA
        return Device(kind, driver.current_device(call))
    except InterchangeError:  # no driver, and none is needed
        return _CUDA


def _import_empty(
    record: InterfaceRecord, spec: Spec, owner: Any, cls: type[T], call: str, told: Device | None
) -> T:
    """Return an array without elements, on the current device: its address is not used."""
    if spec.layout.size:
        raise ExchangeError(call, f"the address is 0 or None for shape {spec.shape}", "CAI-DATA-2")
    device = _current_device(call) if told is None else told
    spec = Spec(spec.dtype, device, spec.layout)
    return _core.describe(0, spec, READ_ONLY if record.readonly else 0, owner, owner, cls)


def _refuse_span(record: InterfaceRecord, place: PointerAttributes, call: str) -> ExchangeError:
    """Return the error for elements outside their allocation."""
    what = (
        f"shape {record.shape} with byte strides {record.strides} at {record.ptr:#x} leaves its"
        f" allocation of {place.end - place.start} bytes at {place.start:#x}"
    )
    return ExchangeError(call, what, "CAI-DATA-4")


# ---------------------------------------------------------------- export


def describe_record(tensor: Tensor, version: int, call: str) -> dict[str, Any]:
    """Return the record of device memory, with the stream that work may be pending on.

    The host waits first for versions below 3, which have no stream.

    Raises UnsupportedDeviceError: no CUDA device can access the memory (CAI-DEV-1).
    Raises UnsupportedDTypeError: the interface has no name for the element type (CAI-TYPESTR-2).
    """
    typestr, spec = check_describable(tensor, call), tensor._spec
    flags = tensor._flags
    readonly = flags is None or bool(flags & READ_ONLY)
    steps = None
    if not spec.layout.is_c_contiguous:
        steps = spec.layout.strides_in_bytes(spec.dtype.itemsize)
    stream = None
    if version < FIRST_WITH_STREAM:
        wait_on_host(tensor, call)
    else:
        stream = stream_to_publish(tensor, call)
    if stream == 0:  # ROCm's default stream, which has another number in the interface
        stream = LEGACY_DEFAULT_STREAM
    ptr = tensor.ptr
    if spec.device.type in _PAGE_LOCKED and ptr:
        ptr = driver_of(spec.device, call).device_pointer(ptr, call)
    if (log := _core.log) is not None:
        log(call, f"exported: version {version}, stream={stream}, not copied", tensor)
    record = InterfaceRecord(ptr, readonly, spec.shape, steps, typestr, version, stream)
    return format_record(record)


def check_describable(tensor: Tensor, call: str) -> TypeStr:
    """Return the type string of the elements; refuse what the interface cannot describe."""
    spec = tensor._spec
    if spec.device.type not in REACHABLE:
        raise UnsupportedDeviceError(call, f"the memory is on {spec.device}", "CAI-DEV-1")
    typestr = typestr_of(spec.dtype)
    if typestr is None:
        raise UnsupportedDTypeError(call, f"elements are {spec.dtype}", "CAI-TYPESTR-2", _NO_NAME)
    return typestr


_PAGE_LOCKED: Final = frozenset({DLDeviceType.kDLCUDAHost, DLDeviceType.kDLROCMHost})
REACHABLE: Final = frozenset(
    {
        DLDeviceType.kDLCUDA,
        DLDeviceType.kDLCUDAHost,
        DLDeviceType.kDLCUDAManaged,
        DLDeviceType.kDLROCM,
        DLDeviceType.kDLROCMHost,
    }
)
"""Types of device whose memory the interface describes."""
_NO_NAME: Final = "exchange it through DLPack, or view it as unsigned integers of the same size"


def typestr_of(dtype: DType) -> TypeStr | None:
    """Return the type string of an element, that of two bytes for bfloat16, or None."""
    return _BFLOAT16 if dtype.name == "bfloat16" else dtype.typestr
