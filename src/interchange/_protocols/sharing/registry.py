"""The files that this process shares, and how long it keeps a descriptor of each.

A descriptor is kept as long as one of the objects lives that memory of the file was shared as: the
array, its owner, the objects behind it, or the handle.  The registry is a memfd with one entry for
each file, which openers compare with their handle.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import struct
import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from .files import open_file

if TYPE_CHECKING:
    from collections.abc import Iterable

ENTRY: Final = struct.Struct("<16sIIQ")
"""An entry of a registry: token, descriptor, 0, inode."""
TOKEN_BYTES: Final = 16


class Shared:
    """A file that this process shares.

    `descriptor`: kept as long as the file is shared; -1 afterwards.
    `device`, `inode`: which file it is.
    `slot`: number of its entry in the registry.
    """

    __slots__ = ("descriptor", "device", "holds", "inode", "references", "slot", "token")

    def __init__(self, descriptor: int, slot: int) -> None:
        found = os.fstat(descriptor)
        self.descriptor = descriptor
        self.device, self.inode = found.st_dev, found.st_ino
        self.slot = slot
        self.token = secrets.token_bytes(TOKEN_BYTES)
        self.references: dict[int, _Reference] = {}  # by the id of their object
        self.holds = 0  # pickles that were not loaded yet

    @property
    def entry(self) -> bytes:
        """The entry in the registry."""
        return ENTRY.pack(self.token, self.descriptor, 0, self.inode)


class _Reference(weakref.ref[Any]):
    """A weak reference to an object whose memory is in a shared file."""

    __slots__ = ("ident", "shared")

    shared: Shared
    ident: int


class Registry:
    """The shared files of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._gone: deque[_Reference] = deque()  # of objects that died
        self._shared: dict[tuple[int, int], Shared] = {}  # by device and inode
        self._free: list[int] = []  # slots
        self._file = -1
        self.device = self.inode = 0  # of the file of this registry

    @property
    def descriptor(self) -> int:
        """Descriptor of the file of this registry."""
        return self._file

    def find(self, device: int, inode: int) -> Shared | None:
        """Return the shared file with this device and inode, or None."""
        return self._shared.get((device, inode))

    def add(self, descriptor: int, objects: Iterable[object]) -> Shared:
        """Share the file of a descriptor, which belongs to the registry from here on.

        If the file is shared already, the descriptor is closed.
        """
        found = os.fstat(descriptor)
        with self._lock:
            shared = self._shared.get((found.st_dev, found.st_ino))
            if shared is not None:
                os.close(descriptor)
            else:
                shared = self._new(descriptor)
            self._refer(shared, objects)
        self._sweep()
        return shared

    def keep(self, device: int, inode: int, objects: Iterable[object]) -> Shared | None:
        """Keep a file that is shared already for more objects; return None if it is not shared."""
        with self._lock:
            shared = self._shared.get((device, inode))
            if shared is not None:
                self._refer(shared, objects)
        self._sweep()
        return shared

    def hold(self, shared: Shared) -> None:
        """Keep a file until `release` is called as often as this method."""
        with self._lock:
            shared.holds += 1

    def release(self, shared: Shared) -> None:
        """End a `hold`."""
        with self._lock:
            shared.holds -= 1
            self._drop_if_unused(shared)
        self._sweep()

    def _new(self, descriptor: int) -> Shared:
        """Add an entry, under the lock."""
        if self._file < 0:
            self._file = os.memfd_create("interchange-registry", os.MFD_CLOEXEC)
            os.fchmod(self._file, 0o600)
            found = os.fstat(self._file)
            self.device, self.inode = found.st_dev, found.st_ino
        slot = self._free.pop() if self._free else len(self._shared)
        shared = Shared(descriptor, slot)
        self._shared[shared.device, shared.inode] = shared
        os.pwrite(self._file, shared.entry, slot * ENTRY.size)
        return shared

    def _refer(self, shared: Shared, objects: Iterable[object]) -> None:
        """Keep a file as long as one of some objects lives, under the lock."""
        for each in objects:
            known = shared.references.get(id(each))
            if known is not None and known() is each:
                continue
            with contextlib.suppress(TypeError):  # of a type without weak references
                made = _Reference(each, self._on_death)
                made.shared, made.ident = shared, id(each)
                shared.references[made.ident] = made

    def _on_death(self, reference: _Reference) -> None:
        """Note that an object died, in whatever code the collector ran."""
        self._gone.append(reference)
        self._sweep()

    def _sweep(self) -> None:
        """Close the files whose objects died; the thread that holds the lock does it later."""
        while self._gone and self._lock.acquire(blocking=False):
            try:
                while self._gone:
                    reference = self._gone.popleft()
                    shared = reference.shared
                    if shared.references.get(reference.ident) is reference:
                        del shared.references[reference.ident]
                    self._drop_if_unused(shared)
            finally:
                self._lock.release()

    def _drop_if_unused(self, shared: Shared) -> None:
        """Close a file that nothing keeps, under the lock."""
        if shared.references or shared.holds or shared.descriptor < 0:
            return
        os.pwrite(self._file, bytes(ENTRY.size), shared.slot * ENTRY.size)
        del self._shared[shared.device, shared.inode]
        self._free.append(shared.slot)
        os.close(shared.descriptor)
        shared.descriptor = -1

    def abandon(self) -> None:
        """Close the descriptors in a forked child: the parent shares the files, and goes on."""
        for shared in self._shared.values():
            with contextlib.suppress(OSError):
                os.close(shared.descriptor)
            shared.descriptor = -1
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.close(self._file)


_of_process: list[Registry] = [Registry()]


def registry() -> Registry:
    """Return the registry of this process."""
    return _of_process[0]


def _start_again() -> None:
    """Give a forked child a registry of its own."""
    before = _of_process[0]
    _of_process[0] = Registry()
    before.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_again)


def is_registered(path: str, device: int, inode: int, slot: int, entry: bytes) -> bool | None:
    """Whether a registry has an entry; None if the path does not lead to that registry.

    `path`: where the file of the registry of another process is.

    Raises OSError: as `files.open_file`.
    """
    descriptor = open_file(path, device, inode, writable=False)
    if descriptor is None:
        return None
    try:
        return os.pread(descriptor, ENTRY.size, slot * ENTRY.size) == entry
    finally:
        os.close(descriptor)
