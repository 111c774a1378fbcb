"""Import and export by the CUDA Array Interface: `from_cai` and `to_cai`.

Source: CUDA Array Interface, versions 0 to 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, cast, overload

from interchange import _core
from interchange._array import Array
from interchange._protocols import cuda_array_interface as cai, dlpack
from interchange._protocols.protocol_attributes import is_mapping
from interchange._protocols.published_work import ATTRIBUTE
from interchange._streams.handles import stream_handle
from interchange._streams.ordering import make_ready, note_consumer
from interchange._streams.pending import pending_work_of
from interchange._streams.rules import NO_SYNC, may_be_stream
from interchange._types.devices import Device
from interchange._types.dtypes import DType
from interchange._types.errors import (
    ArgumentError,
    ExchangeError,
    InterchangeError,
    NoProtocolError,
    StreamError,
    UnsupportedDeviceError,
    UnsupportedDTypeError,
    ViewError,
    show,
)
from interchange.abi import PyCapsule
from interchange.abi.dlpack import DLDeviceType

from .importing import import_any, import_dlpack, on_stream
from .record_importing import record_that_goes_first

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interchange._types.typing import AnyArray, SupportsCUDAArrayInterface

_FROM: Final = "from_cai()"
_TO: Final = "to_cai()"
_VERSIONS: Final = (2, 3)
_TOLD: Final = cai.REACHABLE | {DLDeviceType.kDLCPU}
"""Device types of records whose device the caller names."""


def _fast(careful: Any) -> Any:
    """Return the function that imports records as `careful` does, if their streams are ordered."""
    if not cai.SYNCS:
        return careful
    return _core.fast_records(_from_record, cai.publish, cai.is_plain_type)(careful)


def _from_record(x: Any, raw: Any, stream: Any, answers: tuple[int, ...] | None) -> Array:
    """Return the result of `from_cai` for an object, or None, whose record was read."""
    array = cai.import_record(
        raw,
        x,
        Array,
        owner=x,
        dtype=None,
        sync=cai.SYNCS,
        unsynced=cai.UNSYNCED[0],
        call=_FROM,
        answers=answers,
    )
    if stream is not None:
        make_ready(array, stream_handle(stream, _FROM), stream, _FROM, fresh=True)
    return array


@overload
def from_cai(
    x: SupportsCUDAArrayInterface | Mapping[str, Any],
    /,
    *,
    owner: Any = ...,
    stream: Any = ...,
    sync: bool = ...,
    dtype: Any = ...,
    mask: Literal["refuse"] = ...,
    unsynced: str = ...,
    device: Any = ...,
) -> Array: ...
@overload
def from_cai(
    x: SupportsCUDAArrayInterface | Mapping[str, Any],
    /,
    *,
    owner: Any = ...,
    stream: Any = ...,
    sync: bool = ...,
    dtype: Any = ...,
    mask: Literal["separate"],
    unsynced: str = ...,
    device: Any = ...,
) -> tuple[Array, Array | None]: ...
@_fast
def from_cai(
    x: SupportsCUDAArrayInterface | Mapping[str, Any],
    /,
    *,
    owner: Any = None,
    stream: Any = None,
    sync: bool = True,
    dtype: Any = None,
    mask: str = "refuse",
    unsynced: str = "legacy",
    device: Any = None,
) -> Array | tuple[Array, Array | None]:
    """Import an object with ``__cuda_array_interface__``, or the dict itself.

    Parameters
    ----------
    x : object or dict
        Versions 0 to 3; optional keys may be absent or None.
    owner : object, optional
        The owner of the memory; by default `x` itself.  A dict owns nothing: name the owner, or
        keep it alive yourself.
    stream : None, int or stream object, optional
        Order now: this stream waits for the producer's, and the Array is ready on it.  By default
        the wait is enqueued when the Array is exported, on the stream of the consumer. -1 waits for
        nothing.
    sync : bool, default True
        False: ignore the producer's stream; the caller orders the work.  It is the default with
        ``INTERCHANGE_CAI_SYNC=0`` in the environment when interchange is imported.
    dtype : dtype-like, optional
        The element type, if the type string does not determine it: ``"<V2"``, ``"|V1"``, ``"<f1"``.
        Elements are not cast.
    mask : {"refuse", "separate"}
        Whether a record with a mask is refused, or returned as two Arrays.
    unsynced : {"legacy", "none", "device"}
        How versions below 3, which do not publish pending work, are ordered: wait for the legacy
        default stream, for nothing, or let the host wait for the device, which invalidates a
        capture in progress there.
    device : device-like, optional
        Device of the memory, which is not verified: no driver is asked about the address.
        ``"cpu"`` is for objects that only stand for device memory, in tests without a GPU: the
        Array is host memory, and no stream is waited for.  By default the driver is asked.

    Returns
    -------
    Array, or tuple[Array, Array or None]
        Sharing the memory; with ``mask="separate"`` the array and its mask.

    Raises
    ------
    NoProtocolError
        `x` has no such attribute (CAI-ATTR-1).
    ExchangeError
        The record is malformed (``CAI-*``), or describes memory that DLPack cannot describe
        (CAI-MASK-1, CAI-DESCR-1, DLP-DTYPE-3, DLP-STRIDES-3), or that does not exist (CAI-DATA-2,
        CAI-DATA-3, CAI-DATA-4).
    DriverUnavailableError
        No driver can be asked about the address (IX-DRIVER-1).
    UnsupportedDeviceError
        `device` is not the host, nor a device of CUDA or ROCm (CAI-DEV-1).
    StreamError
        `stream` is not a stream.

    Notes
    -----
    Source: CUDA Array Interface, version 3.  Errors raised by the attribute of `x` are not changed.
    The attribute is read once here, and again whenever the memory is exported.

    Examples
    --------
    An array without elements has no address:

    >>> record = {"shape": (0, 3), "typestr": "<f4", "data": (0, False), "version": 3}
    >>> from_cai(record).shape
    (0, 3)

    A record of host memory, for a test without a GPU:

    >>> import array
    >>> memory = array.array("f", [1, 2, 3])
    >>> address, count = memory.buffer_info()
    >>> record = {"shape": (count,), "typestr": "<f4", "data": (address, False), "version": 3}
    >>> from_cai(record, owner=memory, device="cpu").tolist()
    [1.0, 2.0, 3.0]
    """
    handle = None if stream is None else stream_handle(stream, _FROM)
    if stream is not None or mask != "refuse" or unsynced != "legacy":
        _check_policies(handle, mask, unsynced)
    wanted = None if dtype is None else DType.of(dtype, _FROM)
    told = None if device is None else _told_device(device)
    if isinstance(x, (Array, CudaArrayView)):
        own = _own_array(x, wanted, owner, handle, stream, sync=sync)
        _check_told(own, told)
        return own if mask == "refuse" else (own, None)
    source, raw = _find_record(x)
    masked = None
    if mask == "separate" and hasattr(raw, "keys"):
        raw = dict(cast("Any", raw))
        masked = raw.pop("mask", None)
    keywords: dict[str, Any] = {
        "owner": source if owner is None else (source, owner) if source is not None else owner,
        "dtype": wanted,
        "sync": sync and cai.SYNCS,
        "unsynced": unsynced,
        "call": _FROM,
    }
    if told is None:
        array = cai.import_record(raw, source, Array, **keywords)
    else:
        array = cai.import_on(raw, source, Array, told, **keywords)
    found = None
    if masked is not None:
        keep = x if owner is None else owner
        found = _import_mask(masked, keep, array, sync=sync, unsynced=unsynced, device=told)
    if stream is not None:
        make_ready(array, handle, stream, _FROM, fresh=True)
        if found is not None:
            make_ready(found, handle, stream, _FROM, fresh=True)
    return array if mask == "refuse" else (array, found)


def _find_record(x: Any) -> tuple[Any, Any]:
    """Return the object whose record can be read again, or None, and its record."""
    if isinstance(x, dict):
        return None, x
    raw = getattr(x, ATTRIBUTE, None)
    if raw is not None:
        return x, raw
    if is_mapping(x):
        return None, x
    what = f"{type(x).__name__} has no {ATTRIBUTE}"
    raise NoProtocolError(
        _FROM,
        what,
        "CAI-ATTR-1",
        "pass device memory, or use `interchange.asarray(x)` for what the host reads",
    )


def _own_array(
    x: Array | CudaArrayView,
    wanted: DType | None,
    owner: Any,
    handle: int | None,
    stream: Any,
    *,
    sync: bool,
) -> Array:
    """Return an alias of an Array of interchange, which needs no record."""
    array = x.array if isinstance(x, CudaArrayView) else x
    try:
        cai.check_describable(array, _FROM)
    except UnsupportedDeviceError as error:
        what = f"{type(x).__name__} has no {ATTRIBUTE}, {error.what}"
        raise NoProtocolError(_FROM, what, "CAI-ATTR-1") from None
    if wanted is not None and array.dtype is not wanted:
        what = f"the elements are {array.dtype}, wanted {wanted}"
        raise UnsupportedDTypeError(_FROM, what, "IX-CAST-1")
    ordered = sync and cai.SYNCS
    alias = on_stream(array, handle, stream if ordered else None, _FROM)
    if owner is not None:
        alias._keepalive = (alias._keepalive, owner)
    if not ordered:
        note_consumer(alias, NO_SYNC, stream, _FROM, pending_work_of(array))
    return alias


def _check_policies(handle: int | None, mask: object, unsynced: object) -> None:
    """Refuse invalid arguments, and a stream that belongs to neither CUDA nor ROCm."""
    if handle is not None and not may_be_stream(handle):
        what = f"stream={show(handle)} is not a stream"
        raise StreamError(_FROM, what, "DLP-STREAM-2")
    if mask not in {"refuse", "separate"}:
        what = f"mask={show(mask)}"
        raise ArgumentError(_FROM, what, "IX-ARGUMENT-1", "pass 'refuse' or 'separate'")
    if unsynced not in cai.UNSYNCED:
        what = f"unsynced={show(unsynced)}"
        choice = " or ".join(map(repr, cai.UNSYNCED))
        raise ArgumentError(_FROM, what, "IX-ARGUMENT-1", f"pass {choice}")


def _told_device(device: Any) -> Device:
    """Return the device that a record's memory is on, as the caller says."""
    told = Device.of(device, _FROM)
    if told.type not in _TOLD:
        hint = "pass 'cpu' or a device of CUDA or ROCm, or leave device out to ask the driver"
        raise UnsupportedDeviceError(_FROM, f"device={show(device)}", "CAI-DEV-1", hint)
    return told


def _check_told(array: Array, told: Device | None) -> None:
    """Refuse another device than that of an Array, which is known."""
    if told is not None and array.device is not told:
        what = f"device='{told}' and the Array is on {array.device}"
        raise ArgumentError(_FROM, what, "IX-ARGUMENT-1", "leave device out")


def _import_mask(
    masked: Any,
    owner: Any,
    array: Array,
    *,
    sync: bool,
    unsynced: str,
    device: Device | None,
) -> Array:
    """Return the mask of an array, which must have a shape that broadcasts to the array's."""
    if getattr(masked, ATTRIBUTE, None) is None:
        raise ExchangeError(_FROM, f"mask is {show(masked)}", "CAI-MASK-2")
    found = from_cai(masked, owner=owner, sync=sync, unsynced=unsynced, device=device)
    try:
        found.broadcast_to(array.shape)
    except ViewError:
        what = f"the mask has shape {found.shape} and the data {array.shape}"
        raise ExchangeError(_FROM, what, "CAI-MASK-2") from None
    return found


class CudaArrayView:
    """Device memory with the CUDA Array Interface; it keeps the memory alive.

    Made by `to_cai`.  The record is made at each access.

    Attributes
    ----------
    array : Array
        The memory.
    version : int
        The version of the interface: 3, with the stream that work may be pending on, or 2, for
        which the host waits before the record is returned.
    """

    __slots__ = ("__weakref__", "array", "version")

    def __init__(self, array: Array, version: int) -> None:
        self.array: Array = array
        self.version: int = version

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return cai.describe_record(self.array, self.version, "to_cai()")

    def __interchange__(self) -> Array:
        """Return the memory, with the work that is pending on it."""
        return self.array

    @property
    def dtype(self) -> DType:
        """Element type, for consumers whose type string does not determine it."""
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each axis [elements]."""
        return self.array.shape

    def __repr__(self) -> str:
        return f"CudaArrayView({self.array!r}, version={self.version})"


CudaArrayView.__module__ = "interchange"


def to_cai(x: AnyArray, /, *, stream: Any = None, version: int = 3) -> CudaArrayView:
    """Return an object with ``__cuda_array_interface__`` that owns the memory of `x`.

    Parameters
    ----------
    x : Array, DLPack producer, object with the interface, or capsule
        Memory that a CUDA device can access.  A bare capsule of either name is consumed.
    stream : None, int or stream object, optional
        The stream on which the consumer may use the memory at once: it is published.  By default an
        Array publishes the stream that its work is pending on, or none; a producer is asked to be
        ready on the legacy default stream.  For a **capsule** it is the stream that the capsule was
        made for.  -1 means that no work is pending, and publishes none.
    version : {3, 2}
        Version 2 has no stream: the host waits whenever the record is read.

    Returns
    -------
    CudaArrayView
        Keeps memory and stream alive during its lifetime; consumers must keep it (CAI-LIFE-1).

    Raises
    ------
    UnsupportedDeviceError
        The memory is on the host (CAI-DEV-1).
    UnsupportedDTypeError
        The interface has no name for the element type (CAI-TYPESTR-2).
    ExchangeError
        As `asarray`.
    StreamError
        `stream` is not a stream.

    Notes
    -----
    Source: CUDA Array Interface, version 3, Synchronization and Lifetime management.

    Examples
    --------
    >>> import interchange as ix
    >>> array = ix.from_pointer(0, (0,), "float32", device="cuda:0")
    >>> record = to_cai(array).__cuda_array_interface__
    >>> record["typestr"], record["data"], record["stream"], record["version"]
    ('<f4', (0, False), None, 3)
    """
    if isinstance(version, bool) or version not in _VERSIONS:
        what = f"version={show(version)}"
        raise ArgumentError(_TO, what, "IX-ARGUMENT-1", "pass 3 or 2")
    handle = stream_handle(stream, _TO)
    if isinstance(x, CudaArrayView):
        x = x.array
    try:
        is_told = dlpack.supports_dlpack(x) and type(x) is not Array  # its stream, if it is asked
        is_told = is_told and record_that_goes_first(x, _TO) is None
        if type(x) is PyCapsule:
            held = dlpack.look_into(x, Array, _TO)
            if held is not None:  # a refused capsule is not consumed
                dlpack.refuse_handles(held, _TO)
                cai.check_describable(held, _TO)
            array = import_dlpack(x, stream, _TO)
        else:
            array = import_any(x, stream=stream if is_told else None, call=_TO)
    except BufferError as error:
        if isinstance(error, InterchangeError):
            raise
        what = f"{type(x).__name__} refused to export its memory ({error})"
        hint = "look at the error of the producer, which is the cause"
        raise ExchangeError(_TO, what, "IX-PROTOCOL-1", hint) from error
    cai.check_describable(array, _TO)
    if not is_told and type(x) is not PyCapsule:
        array = on_stream(array, handle, stream, _TO)
    return CudaArrayView(array, version)
