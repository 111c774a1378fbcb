"""Host memory in other processes: which file it is in, and mappings of files of other processes."""

from __future__ import annotations

import contextlib
import mmap
import os
import weakref
from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._protocols import host
from interchange._protocols.dlpack import READ_ONLY
from interchange._types.devices import CPU
from interchange._types.errors import ExchangeError
from interchange._types.layout import Layout
from interchange.abi import buffer_address

from .files import find_descriptor, open_file, path_of
from .forks import ForkedLock
from .handles import IN_FILE, NO_MEMORY, Place, make_handle
from .mappings import mapping_of
from .processes import check_origin, host_id
from .registry import ENTRY, is_registered, registry

if TYPE_CHECKING:
    from typing import TypeVar

    from interchange._core import Tensor
    from interchange._types.devices import Device

    from .handles import SharedHandle
    from .mappings import Mapping
    from .registry import Shared

    T = TypeVar("T", bound="Tensor")

_MOST_OBJECTS: Final = 16  # behind one array


# ---------------------------------------------------------------- export


def share_host(array: Tensor, x: object, call: str) -> SharedHandle:
    """Return a handle of host memory.

    `array`: the memory.
    `x`: the object that it was imported from.

    Raises ExchangeError: the memory is not a shared mapping of a file (IX-SHARE-2), or the file is
        shorter than its mapping (IX-SHARE-6).
    """
    spec, readonly = array._spec, readonly_of(array)
    if not spec.layout.size:
        return make_handle(spec.dtype, CPU, spec.layout, Place(), readonly=readonly)
    first, last = span_of(array)
    mapping = mapping_of(first, last)
    if mapping is None or not mapping.inode or not mapping.is_shared:
        raise ExchangeError(call, _describe(first, mapping), "IX-SHARE-2")
    readonly = readonly if mapping.is_writable else True
    shared = _registered(mapping, objects_behind(array, x), call)
    end = mapping.offset + last - mapping.start
    if (size := os.fstat(shared.descriptor).st_size) < end:
        what = f"the memory ends at byte {end} of its file, which was cut to {size} bytes"
        raise ExchangeError(call, what, "IX-SHARE-6")
    start = mapping.offset + array.ptr - mapping.start
    handle = make_handle(
        spec.dtype, CPU, spec.layout, place_in(shared, start, call), readonly=readonly
    )
    registry().keep(mapping.device, mapping.inode, (handle,))
    return handle


def place_in(shared: Shared, start: int, call: str) -> Place:
    """Return where an array is that starts in a shared file [bytes]."""
    known = registry()
    return Place(
        IN_FILE,
        host_id(call),
        os.geteuid(),
        os.getpid(),
        known.descriptor,
        known.device,
        known.inode,
        shared.slot,
        shared.token,
        shared.descriptor,
        shared.device,
        shared.inode,
        start,
    )


def readonly_of(array: Tensor) -> bool | None:
    """Return whether memory is read-only, None if its producer could not say."""
    return None if array._flags is None else bool(array._flags & READ_ONLY)


def span_of(array: Tensor) -> tuple[int, int]:
    """Return the first address of an array's elements, and the first after them."""
    low, high = array._spec.byte_bounds()
    return array.ptr + low, array.ptr + high


def _describe(address: int, mapping: Mapping | None) -> str:
    """Return what memory is that cannot be shared."""
    if mapping is None or not mapping.inode:
        return f"the memory at {address:#x} belongs to this process alone"
    return f"the memory at {address:#x} is a private mapping, whose writes do not reach the file"


def _registered(mapping: Mapping, objects: list[object], call: str) -> Shared:
    """Return the shared file of a mapping."""
    known = registry()
    shared = known.keep(mapping.device, mapping.inode, objects)
    if shared is None:
        descriptor = find_descriptor(mapping)
        if descriptor is None:
            what = "no descriptor leads to the file of the memory, and no name"
            raise ExchangeError(call, what, "IX-SHARE-2")
        shared = known.add(descriptor, objects)
    return shared


def objects_behind(array: Tensor, x: object) -> list[object]:
    """Return the objects that keep the memory of an array alive, and can die.

    They are the object itself, what keeps its memory alive, the owner, and what is behind that: the
    bases of views, the objects of memoryviews.
    """
    found: list[object] = [x, array._keepalive]
    last: Any = array._owner
    while last is not None and len(found) < _MOST_OBJECTS:
        found.append(last)
        last = _behind(last)
    return found


def _behind(x: Any) -> object:
    """Return the object that a view is of, or None."""
    if isinstance(x, memoryview):
        return x.obj
    if isinstance(x, _core.Tensor):
        return x._owner
    for name in ("base", "_base"):
        found: object = getattr(x, name, None)
        if found is not None and not callable(found) and found is not x:
            return found
    return None


# ---------------------------------------------------------------- import


def open_host(handle: SharedHandle, cls: type[T], call: str) -> T:
    """Return a tensor over the memory of a handle.

    Raises ExchangeError: the handle is not from here (IX-SHARE-5), its memory does not exist any
        more (IX-SHARE-4), or its file was cut (IX-SHARE-6).
    """
    place = handle._place
    if place.kind == IN_FILE:
        block = _mapped(handle, call)
        view = memoryview(block)
        address = buffer_address(view)
        return describe_opened(handle, CPU, address, cls, call, owner=block, keep=view)
    if place.kind != NO_MEMORY or handle.nbytes:
        raise ExchangeError(call, "the handle names no memory", "IX-SHARE-3")
    return describe_opened(handle, handle.device, 0, cls, call, owner=None, keep=None)


def describe_opened(
    handle: SharedHandle,
    device: Device,
    first: int,
    cls: type[T],
    call: str,
    *,
    owner: object,
    keep: object,
) -> T:
    """Return a tensor over opened memory, with the read-only flag of the array that was shared.

    `first`: the first address of the file or the allocation, in which the handle names the start.
    """
    found = host.describe_memory(
        first + handle._place.start,
        handle.dtype,
        Layout(handle.shape, handle.strides),
        readonly=bool(handle.readonly),
        owner=owner,
        keep=keep,
        cls=cls,
        call=call,
        device=device,
    )
    if handle.readonly is None:
        found._flags = None
    return found


_opening: Final = ForkedLock()
_mappings: weakref.WeakValueDictionary[tuple[int, int, bool], mmap.mmap] = (
    weakref.WeakValueDictionary()
)
"""Files of other processes that are mapped here, by device, inode and whether writable."""


def _mapped(handle: SharedHandle, call: str) -> mmap.mmap:
    """Return the mapping of a file, which all arrays in it share.

    Raises ExchangeError: as `open_host`.
    """
    place = handle._place
    check_origin(place.host, place.uid, place.pid, call)
    end = _end_in_file(handle, call)
    writable = not handle.readonly
    key = place.device, place.inode, writable
    descriptor = _open(place, call, writable=writable)
    try:
        size = os.fstat(descriptor).st_size
        if size < end:
            what = f"the memory ends at byte {end} of its file, which has {size} bytes"
            raise ExchangeError(call, what, "IX-SHARE-6")
        with _opening.lock:
            known = _mappings.get(key)
            if known is None or len(known) < end:
                access = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
                known = mmap.mmap(descriptor, size, mmap.MAP_SHARED, access)
                _mappings[key] = known
            return known
    except (OSError, ValueError) as error:
        raise ExchangeError(call, f"the file cannot be mapped ({error})", "IX-SHARE-6") from error
    finally:
        os.close(descriptor)


def _end_in_file(handle: SharedHandle, call: str) -> int:
    """Return where the memory of a handle ends in its file [bytes]."""
    place = handle._place
    low, high = handle._spec.byte_bounds()
    if place.start + low < 0:
        what = f"shape {handle.shape} with strides {handle.strides} at byte {place.start}"
        raise ExchangeError(call, what, "IX-SHARE-3")
    return place.start + high


def _open(place: Place, call: str, *, writable: bool) -> int:
    """Return a new descriptor of the exporter's file.

    The registry is compared last: an entry that is equal proves that the process is the exporter,
    and was it when the file was opened.
    """
    path = path_of(place.pid, place.descriptor)
    entry = ENTRY.pack(place.token, place.descriptor, 0, place.inode)
    listed = path_of(place.pid, place.registry)
    with contextlib.ExitStack() as undo:
        try:
            opened = open_file(path, place.device, place.inode, writable=writable)
            if opened is not None:
                undo.callback(os.close, opened)
            known = is_registered(
                listed, place.registry_device, place.registry_inode, place.slot, entry
            )
        except PermissionError as error:
            what = f"a file of process {place.pid} cannot be opened ({error.strerror})"
            raise ExchangeError(call, what, "IX-SHARE-5") from error
        except OSError as error:
            raise _refuse_dead(place, call, error) from error
        if opened is None or not known:
            refuse = refuse_gone if known is False else _refuse_dead
            raise refuse(place, call)
        undo.pop_all()
    return opened


def _refuse_dead(place: Place, call: str, error: OSError | None = None) -> ExchangeError:
    """Return the error for a process that ended, or whose id was used again."""
    if error is not None and os.path.exists(f"/proc/{place.pid}"):
        return refuse_gone(place, call)
    why = "has exited" if error is not None else "is another one than the exporter, whose id it has"
    return ExchangeError(call, f"process {place.pid} {why}", "IX-SHARE-4")


def refuse_gone(place: Place, call: str) -> ExchangeError:
    """Return the error for memory that its exporter does not share any more."""
    what = f"process {place.pid} does not share this memory any more"
    return ExchangeError(call, what, "IX-SHARE-4")
