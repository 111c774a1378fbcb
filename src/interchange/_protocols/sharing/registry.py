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
from typing import TYPE_CHECKING, Final

from .files import open_file
from .references import References, Referred

if TYPE_CHECKING:
    from collections.abc import Iterable

ENTRY: Final = struct.Struct("<16sIIQ")
"""An entry of a registry: token, descriptor, 0, inode."""
TOKEN_BYTES: Final = 16


class Shared(Referred):
    """A file that this process shares.

    `registry`: the registry that it belongs to.
    `descriptor`: kept as long as the file is shared; -1 afterwards.
    `slot`: number of its entry in the registry.
    """

    __slots__ = ("_registry", "descriptor", "device", "inode", "slot", "token")

    def __init__(self, registry: Registry, descriptor: int, slot: int) -> None:
        super().__init__()
        found = os.fstat(descriptor)
        self._registry = registry
        self.descriptor = descriptor
        self.device, self.inode = found.st_dev, found.st_ino
        self.slot = slot
        self.token = secrets.token_bytes(TOKEN_BYTES)

    @property
    def entry(self) -> bytes:
        """The entry in the registry."""
        return ENTRY.pack(self.token, self.descriptor, 0, self.inode)

    def end(self) -> None:
        """Close the descriptor."""
        if self.descriptor >= 0:
            self._registry.remove(self)
            os.close(self.descriptor)
            self.descriptor = -1


class Registry:
    """The shared files of one process."""

    def __init__(self) -> None:
        self.references = References()
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
        with self.references.lock:
            shared = self._shared.get((found.st_dev, found.st_ino))
            if shared is not None:
                os.close(descriptor)
            else:
                shared = self._new(descriptor)
            self.references.refer(shared, objects)
        self.references.sweep()
        return shared

    def keep(self, device: int, inode: int, objects: Iterable[object]) -> Shared | None:
        """Keep a file that is shared already for more objects; return None if it is not shared."""
        with self.references.lock:
            shared = self._shared.get((device, inode))
            if shared is not None:
                self.references.refer(shared, objects)
        self.references.sweep()
        return shared

    def _new(self, descriptor: int) -> Shared:
        """Add an entry, under the lock."""
        if self._file < 0:
            self._file = os.memfd_create("interchange-registry", os.MFD_CLOEXEC)
            os.fchmod(self._file, 0o600)
            found = os.fstat(self._file)
            self.device, self.inode = found.st_dev, found.st_ino
        slot = self._free.pop() if self._free else len(self._shared)
        shared = Shared(self, descriptor, slot)
        self._shared[shared.device, shared.inode] = shared
        os.pwrite(self._file, shared.entry, slot * ENTRY.size)
        return shared

    def remove(self, shared: Shared) -> None:
        """Remove an entry, under the lock."""
        os.pwrite(self._file, bytes(ENTRY.size), shared.slot * ENTRY.size)
        del self._shared[shared.device, shared.inode]
        self._free.append(shared.slot)

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
