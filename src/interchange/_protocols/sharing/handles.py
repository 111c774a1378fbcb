"""Handles of shared memory: what they state, and how they are written.

A handle is a few hundred bytes with a checksum: a damaged length would lead outside the file, where
an access kills the process.  What it states is compared with the exporter's registry when it is
opened.
"""

from __future__ import annotations

import struct
from hashlib import blake2b
from typing import Any, Final

from interchange._types.devices import Device
from interchange._types.dtypes import DType
from interchange._types.errors import ExchangeError, InterchangeError, reason_of, show
from interchange._types.layout import Layout
from interchange._types.spec import Spec
from interchange.abi._records import NamedTuple

from .processes import HOST_BYTES
from .registry import TOKEN_BYTES

_MAGIC: Final = b"IXH1"
_SUM_BYTES: Final = 16
_HEAD: Final = struct.Struct(f"<4sBBHH B{HOST_BYTES}sIIiQQI{TOKEN_BYTES}siQQQ")
_UNKNOWN: Final = 2  # the read-only flag of memory whose producer did not say
NO_MEMORY: Final = 0
IN_FILE: Final = 1
ON_DEVICE: Final = 2
_KINDS: Final = frozenset({NO_MEMORY, IN_FILE, ON_DEVICE})


class Place(NamedTuple):
    """Where the memory of a handle is, and who exports it."""

    kind: int = NO_MEMORY
    host: bytes = bytes(HOST_BYTES)
    # uid, pid: the exporter
    uid: int = 0
    pid: int = 0
    # The registry of the exporter: its descriptor, device and inode, the entry, and its token
    registry: int = -1
    registry_device: int = 0
    registry_inode: int = 0
    slot: int = 0
    token: bytes = bytes(TOKEN_BYTES)
    # The file: its descriptor in the exporter, device and inode
    descriptor: int = -1
    device: int = 0
    inode: int = 0
    start: int = 0  # of the first element in the file or in the allocation [bytes]
    more: bytes = b""  # what a driver needs to open device memory


class SharedHandle:
    """A name of memory that another process of the host can open: the result of `share`.

    It can be pickled, and sent to any process of the same user on the same host, which passes it to
    `open_shared`.  It is a value: equal handles name the same memory.

    Attributes
    ----------
    shape : tuple[int, ...]
        Extent of each axis [elements].
    strides : tuple[int, ...]
        Step along each axis [elements].
    dtype : DType
        Element type.
    device : Device
        Device of the memory, by its name in the exporter.
    readonly : bool or None
        Whether the memory is read-only; None if its producer could not say.
    pid : int
        The process that exports the memory; 0 for an array without elements.

    Examples
    --------
    >>> import mmap
    >>> import interchange as ix
    >>> handle = ix.share(ix.from_buffer(mmap.mmap(-1, 8)), copy=True)
    >>> handle.shape, str(handle.dtype), handle.readonly
    ((8,), 'uint8', False)
    """

    __slots__ = (
        "__weakref__",
        "_keep",
        "_payload",
        "_place",
        "device",
        "dtype",
        "readonly",
        "shape",
        "strides",
    )

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType
    device: Device
    readonly: bool | None
    _payload: bytes
    _place: Place
    _keep: Any  # in the exporter: what keeps the memory alive

    def __init__(self) -> None:
        raise TypeError("handles are made by interchange.share()")

    @property
    def pid(self) -> int:
        """The process that exports the memory; 0 for an array without elements."""
        return self._place.pid

    @property
    def nbytes(self) -> int:
        """Size of the elements, without gaps between them [bytes]."""
        return self._spec.nbytes

    @property
    def _spec(self) -> Spec:
        """The description of the array, with the exporter's device."""
        return Spec(self.dtype, self.device, Layout(self.shape, self.strides))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SharedHandle):
            return NotImplemented
        return self._payload == other._payload

    def __hash__(self) -> int:
        return hash(self._payload)

    def __repr__(self) -> str:
        ends = f", readonly={self.readonly}, pid={self.pid}"
        return f"SharedHandle({self.shape}, {self.dtype}, device='{self.device}'{ends})"

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return rebuild_handle, (self._payload,)


SharedHandle.__module__ = "interchange"


def make_handle(
    dtype: DType,
    device: Device,
    layout: Layout,
    place: Place,
    *,
    readonly: bool | None,
    keep: object = None,
) -> SharedHandle:
    """Return a handle.

    `keep`: kept alive by the handle, in this process only.
    """
    shape, strides = layout.shape, layout.strides
    names = f"{dtype.name} {device}".encode("ascii")
    known = _UNKNOWN if readonly is None else int(readonly)
    *numbers, more = place
    head = _HEAD.pack(_MAGIC, known, len(shape), len(names), len(more), *numbers)
    dims = struct.pack(f"<{2 * len(shape)}q", *shape, *strides)
    body = b"".join((head, dims, names, more))
    handle = _fill(body, dtype, device, layout, place, readonly=readonly)
    handle._keep = keep
    return handle


def _fill(
    body: bytes,
    dtype: DType,
    device: Device,
    layout: Layout,
    place: Place,
    *,
    readonly: bool | None,
) -> SharedHandle:
    """Return a handle with these fields."""
    handle = object.__new__(SharedHandle)
    handle._payload = body + _sum_of(body)
    handle._place, handle._keep = place, None
    handle.shape, handle.strides, handle.readonly = layout.shape, layout.strides, readonly
    handle.dtype, handle.device = dtype, device
    return handle


def _sum_of(body: bytes) -> bytes:
    """Return the checksum of a handle."""
    return blake2b(body, digest_size=_SUM_BYTES).digest()


def rebuild_handle(payload: object) -> SharedHandle:
    """Return the handle that was pickled.

    Raises ExchangeError: the bytes are not those of a handle (IX-SHARE-3).
    """
    if not isinstance(payload, bytes):
        raise _refuse(f"a handle of {show(payload)}")
    body = payload[:-_SUM_BYTES]
    if len(body) < _HEAD.size or _sum_of(body) != payload[-_SUM_BYTES:]:
        raise _refuse(f"{len(payload)} bytes with a wrong checksum")
    numbers: tuple[Any, ...] = _HEAD.unpack_from(body)
    magic, known, ndim, named, longer = numbers[:5]
    dims = struct.Struct(f"<{2 * ndim}q")
    ends = _HEAD.size + dims.size + named
    if magic != _MAGIC or len(body) != ends + longer:
        raise _refuse(f"{len(payload)} bytes of another format")
    extents = dims.unpack_from(body, _HEAD.size)
    place = Place(*numbers[5:])._replace(more=body[ends:])
    if place.kind not in _KINDS or known > _UNKNOWN:
        raise _refuse(f"memory of kind {place.kind}")
    try:
        dtype, device = body[ends - named : ends].decode("ascii").split(" ")
        layout = Layout(extents[:ndim], extents[ndim:])
        found = DType.of(dtype), Device.of(device)
    except (InterchangeError, ValueError) as error:
        raise _refuse(f"its description ({reason_of(error)})") from error
    readonly = None if known == _UNKNOWN else bool(known)
    return _fill(body, *found, layout, place, readonly=readonly)


rebuild_handle.__module__, rebuild_handle.__qualname__ = "interchange", "_rebuild_handle"


def _refuse(what: str) -> ExchangeError:
    """Return the error for bytes that are not a handle."""
    return ExchangeError("pickle.loads()", what, "IX-SHARE-3")
