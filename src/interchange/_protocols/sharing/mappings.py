"""Which file a range of addresses is mapped from.

Source: Linux, proc(5), ``/proc/PID/maps``; ``PROCMAP_QUERY`` of linux/fs.h, from Linux 6.11 on,
which answers in a few microseconds; on older kernels the text is read.
"""

from __future__ import annotations

import os
import struct
from typing import Final

from interchange.abi._records import NamedTuple

_MAPS: Final = "/proc/self/maps"
_QUERY: Final = 0xC068_6611  # _IOWR('f', 17, struct procmap_query)
_ANSWER: Final = struct.Struct("=9Q4I2Q")
_WRITABLE: Final = 2
_SHARED: Final = 8


class Mapping(NamedTuple):
    """A range of addresses that is mapped from a file."""

    # start, end: the first address, and the first after the range
    start: int
    end: int
    offset: int  # of `start` in the file [bytes]
    # device, inode: which file it is; inode 0 for memory without a file
    device: int
    inode: int
    is_writable: bool
    is_shared: bool  # MAP_SHARED: writes reach the file


def mapping_of(first: int, last: int) -> Mapping | None:
    """Return the mapping of a range of addresses, or None if no single file covers it.

    `first`, `last`: the first address, and the first after the range.
    """
    found = _mapping_at(first)
    while found is not None and found.end < last:
        following = _mapping_at(found.end)
        if following is None or not _continues(found, following):
            return None
        found = found._replace(
            end=following.end, is_writable=found.is_writable and following.is_writable
        )
    return found


def _continues(one: Mapping, following: Mapping) -> bool:
    """Whether a mapping goes on in the file where another one ends."""
    return (
        following.start == one.end
        and following.offset == one.offset + (one.end - one.start)
        and following[3:5] == one[3:5]
        and following.is_shared == one.is_shared
    )


def _mapping_at(address: int) -> Mapping | None:
    """Return the mapping of one address, or None if it is not mapped."""
    maps = os.open(_MAPS, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _query(maps, address)
    except FileNotFoundError:
        return None
    except OSError:  # an older kernel
        return _search(maps, address)
    finally:
        os.close(maps)


def _query(maps: int, address: int) -> Mapping:
    """Ask the kernel for the mapping of an address."""
    from fcntl import ioctl

    answer = bytearray(_ANSWER.pack(_ANSWER.size, 0, address, *(0,) * 12))
    ioctl(maps, _QUERY, answer)
    _, _, _, start, end, flags, _, offset, inode, major, minor, *_ = _ANSWER.unpack(answer)
    device = os.makedev(major, minor)
    is_writable, is_shared = bool(flags & _WRITABLE), bool(flags & _SHARED)
    return Mapping(start, end, offset, device, inode, is_writable, is_shared)


def _search(maps: int, address: int) -> Mapping | None:
    """Find the mapping of an address in the text of the file."""
    with open(maps, closefd=False, encoding="utf-8", errors="replace") as text:
        for line in text:
            span, flags, offset, device, inode, *_ = line.split(maxsplit=5)
            start, end = (int(each, 16) for each in span.split("-"))
            if start <= address < end:
                major, minor = (int(each, 16) for each in device.split(":"))
                return Mapping(
                    start,
                    end,
                    int(offset, 16),
                    os.makedev(major, minor),
                    int(inode),
                    flags[1] == "w",
                    flags[3] == "s",
                )
    return None
