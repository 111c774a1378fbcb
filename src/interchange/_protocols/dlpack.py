"""DLPack between two libraries: what a producer is asked for, and how its capsule is imported.

Source: array API standard 2025.12, ``from_dlpack`` and ``array.__dlpack__``; the Python
specification of DLPack.  The order is: the device, the stream, the keywords, the capsule, and
finally the contents of the capsule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._core import _parsing
from interchange._streams.ordering import (
    device_guard,
    has_several,
    home_of_address,
    note_consumer,
    note_ready,
    order_before,
    order_streams,
    ordinal_for,
    refuse_capture,
    wait_for_device,
)
from interchange._streams.pending import pending_work_of
from interchange._streams.rules import (
    NO_SYNC,
    PER_THREAD_DEFAULT_STREAM,
    STREAM_RULES,
    check_stream,
    may_be_stream,
)
from interchange._types.devices import CPU, HOST_ACCESSIBLE, NAMES, Device, is_pair
from interchange._types.errors import (
    NO_ROOM,
    ArgumentError,
    CopyNeededError,
    ExchangeError,
    InterchangeError,
    NoProtocolError,
    ReadOnlyError,
    StreamError,
    UnsupportedDeviceError,
    error_for,
    show,
)
from interchange.abi import USED_NAME, VERSIONED, capsule_name, capsule_pointer
from interchange.abi.dlpack import (
    DLPACK_FLAG_BITMASK_IS_COPIED,
    DLPACK_FLAG_BITMASK_READ_ONLY,
    DLPACK_VERSION,
    DLDeviceType,
)

from .capabilities import capabilities_of
from .export_guards import explain_refusal as find_reason, hint_for_call
from .protocol_attributes import attribute

if TYPE_CHECKING:
    from typing import TypeVar

    from interchange._core import Tensor

    from .capabilities import Capabilities

    T = TypeVar("T", bound="Tensor")

AKIN: Final = (
    HOST_ACCESSIBLE,
    {DLDeviceType.kDLCUDA, DLDeviceType.kDLCUDAHost, DLDeviceType.kDLCUDAManaged},
    {DLDeviceType.kDLROCM, DLDeviceType.kDLROCMHost},
)
"""Pairs of device types that libraries use for each other: the capsule's device is used."""

READ_ONLY: Final = DLPACK_FLAG_BITMASK_READ_ONLY
IS_COPIED: Final = DLPACK_FLAG_BITMASK_IS_COPIED
_MANAGED: Final = DLDeviceType.kDLCUDAManaged


def check_copy(copy: object, call: str) -> None:
    """Refuse a ``copy`` that is not None, True or False."""
    if copy is not None and not isinstance(copy, bool):
        raise ArgumentError(call, f"copy={show(copy)}", "DLP-COPY-3")


def device_of(x: Any, call: str) -> Device:
    """Return the device that ``__dlpack_device__`` of `x` returns."""
    method = getattr(x, "__dlpack_device__", None)
    if method is None:
        from .conversion_hints import library_hint  # for an error only

        what = f"{type(x).__name__} has __dlpack__ and no __dlpack_device__"
        raise NoProtocolError(call, what, "DLP-NEG-1", library_hint(x))
    answer = method()
    if not is_pair(answer):
        what = f"__dlpack_device__() of {type(x).__name__} returned {show(answer)}"
        raise ExchangeError(call, what, "DLP-DEV-2")
    found = Device.of(answer, call)
    return CPU if found.type is CPU.type else found


def import_(
    x: Any,
    cls: type[T],
    *,
    device: Device | None,
    copy: bool | None,
    stream: int | None,
    keep: Any = None,
    call: str,
) -> T:
    """Import an object with ``__dlpack__``.

    `device`: the requested device; None for the current one.
    `copy`: as in the standard.
    `stream`: handle of the consumer's stream; sent only to producers with streams.
    `keep`: the object that the handle was taken from, kept alive with the memory.

    Raises ExchangeError, NoProtocolError, StreamError: or the error of the producer, unchanged.
    """
    _core.check_interpreter(call)
    known = capabilities_of(x)
    if known is None:
        from .conversion_hints import sharing_hint  # for an error only

        what = f"{type(x).__name__} has no __dlpack__"
        raise NoProtocolError(call, what, "DLP-NEG-1", sharing_hint(x))
    lost = None if known.guard is None else known.guard(x)
    if lost is not None:
        what, rule, hint = lost
        raise error_for(call, what, rule, hint)
    if known.table is not None and device is None and copy is None:
        found = _through_table(x, known, cls, call)
        if found is not None:
            return found
    source = device_of(x, call)
    wanted = _keywords(source, device, stream, copy, known, call)
    ask = _ask_at_home if source.type in STREAM_RULES else _ask
    capsule, sent = ask(x, known, wanted, source, call)
    tensor = _core.consume_capsule(capsule, x, cls, call)
    log_capsule(tensor, sent, call)
    elsewhere = _tell_device(tensor._spec.device, source, device)
    if elsewhere is not None:
        _core.release(tensor)  # before a traceback can keep it alive
        raise UnsupportedDeviceError(call, elsewhere, "DLP-DEV-3")
    if known.is_immutable and not (tensor._flags or 0) & IS_COPIED:
        tensor._flags = (tensor._flags or 0) | READ_ONLY
    elif tensor._flags is None and known.library.always_writable:
        tensor._flags = 0
    if tensor._spec.device.type in STREAM_RULES:
        if tensor._spec.device.type is _MANAGED:
            tensor = _ask_again_at_home(tensor, x, known, sent, call)
        _order_arrival(tensor, sent, stream, keep, call)
    return tensor


def _refuse_copy_in_capture(source: Device, wanted: dict[str, Any], call: str) -> None:
    """Refuse a copy on a stream that captures, before the producer enqueues one (DLP-STREAM-8)."""
    stream = wanted.get("stream", STREAM_RULES[source.type].default)
    if stream != NO_SYNC:
        refuse_capture(source, stream, ordinal_for(source, stream, call), call)


def explain_refusal(x: Any, error: Exception, call: str) -> None:
    """Explain why a producer refused, if that is known and its own error is of another type."""
    if isinstance(error, (InterchangeError, *NO_ROOM)):
        return
    why = find_reason(x)
    if why is not None:
        what, rule, hint = why
        raise error_for(call, what, rule, hint_for_call(hint, call)) from error


def supports_dlpack(x: Any) -> bool:
    """Whether an object, not a class, has ``__dlpack__`` and ``__dlpack_device__``."""
    if isinstance(x, type) or attribute(x, "__dlpack__") is None:
        return False
    return attribute(x, "__dlpack_device__") is not None


def _order_arrival(
    tensor: Tensor, sent: dict[str, Any], stream: int | None, keep: Any, call: str
) -> None:
    """Record the stream on which memory is ready: the one that the producer was sent, or ours.

    A producer that was sent no stream is assumed to be ready on the standard's default.
    """
    wanted = check_stream(stream, tensor._spec.device, call)
    if wanted == NO_SYNC:
        return
    note_ready(tensor, sent.get("stream"), keep, call)
    if "stream" not in sent and stream is not None:
        order_before(tensor, wanted, call)
        note_consumer(tensor, wanted, keep, call, pending_work_of(tensor))


def _keywords(
    source: Device,
    device: Device | None,
    stream: int | None,
    copy: bool | None,
    known: Capabilities,
    call: str,
) -> dict[str, Any]:
    """Return the arguments for a producer on `source`."""
    wanted: dict[str, Any] = {"max_version": DLPACK_VERSION}
    moves = device is not None and device != source and known.may_take("dl_device")
    if source.type in STREAM_RULES and not (moves and device == CPU):
        wanted["stream"] = check_stream(stream, source, call)
    if moves and device is not None:
        wanted["dl_device"] = device.__dlpack_device__()
    elif device is not None and copy is False:
        check_shares(source, device, call)
    if copy is not None:
        wanted["copy"] = copy
    if (copy or (device is not None and device != source)) and source.type in STREAM_RULES:
        _refuse_copy_in_capture(source, wanted, call)
    if source.type is _MANAGED and has_several(source, call):
        _ask_to_share(wanted, source)
    return wanted


def _ask_at_home(
    x: Any, known: Capabilities, wanted: dict[str, Any], source: Device, call: str
) -> tuple[Any, dict[str, Any]]:
    """Call a producer with its device current, as it may require or order by it (DLP-DEV-8)."""
    home = device_guard(source, call)
    if home is None:
        return _ask(x, known, wanted, source, call)
    with home:
        return _ask(x, known, wanted, source, call)


def _ask_to_share(wanted: dict[str, Any], source: Device) -> None:
    """Do not request copies and moves of memory on an unknown device: they are made here."""
    if wanted.pop("dl_device", None) is not None:
        wanted.setdefault("stream", STREAM_RULES[source.type].default)
    if wanted.get("copy") is True:
        del wanted["copy"]


def _ask_again_at_home(
    tensor: T, x: Any, known: Capabilities, sent: dict[str, Any], call: str
) -> T:
    """Return managed memory, requested again if it belongs to another device than the current.

    Managed memory has no device id; the address identifies the device, and comes with the capsule
    (DLP-DEV-8).  A default stream belongs to the current device for the caller who named it, and to
    the producer's device for the producer.
    """
    device = tensor._spec.device
    stream = sent.get("stream", STREAM_RULES[_MANAGED].default)
    if stream == NO_SYNC or not has_several(device, call):
        return tensor
    found = home_of_address(device, tensor.ptr, call)
    if found is None:
        return tensor
    home, ordinal = found
    try:
        with home:
            capsule, _ = known.ask(x.__dlpack__, sent)
            again = _core.consume_capsule(capsule, x, type(tensor), call)
    except NO_ROOM:
        raise
    except Exception:  # noqa: BLE001 - it may export only once: all its work is waited for
        wait_for_device(device, ordinal, call)
        return tensor
    again._flags = tensor._flags
    _core.release(tensor)
    order_streams(device, stream, stream, ordinal, call, ordinal_for(device, stream, call))
    return again


def _ask(
    x: Any, known: Capabilities, wanted: dict[str, Any], source: Device, call: str
) -> tuple[Any, dict[str, Any]]:
    """Return the capsule of a producer, and the keywords that it was sent.

    If neither a copy nor a move is needed, a producer that refuses is asked to share, whatever its
    error: the standard requires BufferError, and libraries differ.
    """
    try:
        return known.ask(x.__dlpack__, wanted)
    except NO_ROOM:
        raise
    except Exception:
        target = wanted.pop("dl_device", None)
        moves = target is not None
        copies = wanted.get("copy") is True and wanted.pop("copy")
        if moves and wanted.get("copy") is False:
            check_shares(source, Device(*target), call)
        if not (moves or copies):
            raise
        if source.type in STREAM_RULES:
            wanted.setdefault("stream", STREAM_RULES[source.type].default)
        return known.ask(x.__dlpack__, wanted)


def check_shares(source: Device, target: Device, call: str) -> None:
    """Refuse to move between devices that share no memory, if `copy` is False."""
    if source is not target and not (target is CPU and source.is_host_accessible):
        raise CopyNeededError(call, f"moving from {source} to {target}", "DLP-COPY-1")


def check_capsule(
    capsule: Any, target: Device | None, copy: bool | None, handle: int | None, call: str
) -> None:
    """Refuse requests that cannot be met, before a capsule is consumed for them.

    Handles of streams are the same everywhere; only 0, 1 and 2 mean different streams.
    """
    _core.check_interpreter(call)
    if handle is not None and not may_be_stream(handle):
        what = f"stream={show(handle)} is not a stream on any device"
        raise StreamError(call, what, "DLP-STREAM-2")
    is_special = handle is not None and 0 <= handle <= PER_THREAD_DEFAULT_STREAM
    if not is_special and (copy is not False or target is None):
        return
    where = _core.device_in_capsule(capsule)
    if where is None or where not in NAMES:
        return
    if is_special and where in STREAM_RULES:
        check_stream(handle, Device(where), call)
    if copy is False and target is not None and where != target.type:
        check_shares(Device(where), target, call)


def look_into(capsule: Any, cls: type[T], call: str) -> T | None:
    """Return the contents of a capsule, left unconsumed; None if an import raises the error."""
    name = capsule_name(capsule)
    if name not in USED_NAME:
        return None
    address = capsule_pointer(capsule, name)
    try:
        ptr, spec, flags = _parsing.check_struct(address, name == VERSIONED, call)
    except InterchangeError:
        return None
    return _core.describe(ptr, spec, flags, None, capsule, cls)


def _tell_device(found: Device, said: Device, wanted: Device | None) -> str | None:
    """Describe a capsule that is on another device than was reported or requested."""
    if _is_akin(found, said) or (wanted is not None and _is_akin(found, wanted)):
        return None
    return f"__dlpack_device__() returned {said}, and the capsule is on {found}"


def _is_akin(one: Device, other: Device) -> bool:
    """Whether libraries treat memory on one device as memory on the other."""
    if one.type == other.type:
        return one is other or one.is_host_accessible
    return any({one.type, other.type} <= kin for kin in AKIN)


def _through_table(x: Any, known: Capabilities, cls: type[T], call: str) -> T | None:
    """Import through the C exchange table, or return None if ``__dlpack__`` has to be called.

    The table's functions order no streams, so memory on a device with streams is negotiated.
    """
    may_ask = known.library.exchange_guard
    if known.table is None or may_ask is None or not may_ask(x):
        return None
    found = _core.consume_managed_tensor(known.table, x, cls, call)
    if found is not None and found._spec.device.type in STREAM_RULES:
        _core.release(found)
        return None
    if (log := _core.log) is not None and found is not None:
        log(call, "imported by __dlpack_c_exchange_api__", found)
    return found  # None on failure: __dlpack__ raises the error in the standard's words


# ---------------------------------------------------------------- the result


def log_capsule(tensor: Tensor, sent: dict[str, Any] | None, call: str) -> None:
    """Log a capsule just consumed: how it was requested, or None for a bare one, and its kind."""
    if (log := _core.log) is None:
        return
    copied = "copied by the producer" if (tensor._flags or 0) & IS_COPIED else "not copied"
    kind = "legacy capsule" if tensor._flags is None else f"versioned capsule, {copied}"
    words = "" if sent is None else ", ".join(f"{name}={value}" for name, value in sent.items())
    how = "a bare capsule" if sent is None else f"__dlpack__({words})"
    log(call, f"imported by {how}: {kind}", tensor)


def refuse_handles(tensor: Tensor, call: str) -> None:
    """Refuse opaque handles: the objects that they refer to are not kept alive."""
    _parsing.refuse_handles(tensor._spec, call)


def check_result(tensor: Tensor, *, copy: bool | None, assume_writable: bool, call: str) -> bool:
    """Compare the result with the request; return whether a copy is still to be made."""
    copied = bool((tensor._flags or 0) & IS_COPIED)
    if copy is False and copied:
        raise CopyNeededError(call, "the producer made a copy", "DLP-COPY-1")
    if assume_writable:
        if tensor._flags is not None and tensor._flags & READ_ONLY:
            what = "assume_writable=True on memory that its producer marks read-only"
            raise ReadOnlyError(
                call, what, "DLP-RO-3", "pass a copy, `interchange.asarray(x, copy=True)`"
            )
        tensor._flags = tensor._flags or 0
    return copy is True and not copied


# ---------------------------------------------------------------- exporting


def check_max_version(max_version: object, call: str) -> bool:
    """Return whether a consumer of `max_version` takes versioned capsules."""
    if max_version is None:
        return False
    if not is_pair(max_version):
        raise ArgumentError(call, f"max_version={show(max_version)}", "DLP-VER-2")
    return max_version[0] >= 1


def check_dl_device(dl_device: object, call: str) -> Device | None:
    """Return the device that a consumer requests."""
    if dl_device is None:
        return None
    if not is_pair(dl_device):
        raise ArgumentError(call, f"dl_device={show(dl_device)}", "DLP-DEV-4")
    try:
        return Device(*dl_device)
    except UnsupportedDeviceError as error:
        raise UnsupportedDeviceError(call, error.what, "DLP-DEV-5") from None


def export_flags(tensor: Tensor, *, versioned: bool, call: str) -> int:
    """Return the flags to export with; refuse what the consumer's generation cannot represent.

    If it is unknown whether the memory may be written, versioned capsules are marked read-only, and
    legacy ones have no mark, as always.
    """
    flags = tensor._flags
    if versioned:
        return READ_ONLY if flags is None else flags & READ_ONLY
    if flags is not None and flags & READ_ONLY:
        known = "pass `max_version=(1, 0)` if the consumer knows it"
        hint = f"{known}, else export a copy, `x.copy()`, or call `convert`, which names a library"
        raise ReadOnlyError(call, "a legacy capsule of read-only memory", "DLP-RO-1", hint)
    if tensor._spec.dtype.padded:
        what = f"a legacy capsule of {tensor._spec.dtype}"
        raise ExchangeError(call, what, "DLP-DTYPE-4", "pass `max_version=(1, 1)`")
    return 0
