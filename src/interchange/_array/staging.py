"""Page-locked blocks that elements pass through between plain host memory and devices.

Source: CUDA driver API, API synchronization behavior: a copy of pageable memory may wait for the
stream, and one of page-locked memory does not.
"""

from __future__ import annotations

import contextlib
import threading
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Final

from interchange import _core
from interchange._types.errors import OutOfDeviceMemoryError
from interchange._types.layout import c_strides
from interchange.abi._records import NamedTuple

from .allocations import allocate_pinned
from .host_copies import fresh_memory
from .memcpy_plan import plan_copies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interchange._streams.device_driver import Driver, Event
    from interchange._types.layout import Ints

    from .allocations import Allocation

    Mark = tuple[int, Event]

BLOCK: Final = 2**22
"""Size of a block [bytes]."""
MOST: Final = 16
"""Number of blocks of a device; if all are in use, plain memory takes their place."""
LEAST: Final = 2**16
"""Copies of no more than this use plain memory [bytes]: the driver copies it at once."""


class Elements(NamedTuple):
    """Elements of one side of a copy."""

    ptr: int  # of the first
    shape: Ints
    strides: Ints
    itemsize: int


class _Blocks:
    """The blocks of a device, which are kept: locking pages is slow."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._unused: list[tuple[Allocation, Mark]] = []  # with the copy that may still run
        self._count = 0

    def take(self, driver: Driver, ordinal: int, call: str) -> Allocation | None:
        """Return a block that no copy uses, or None."""
        with self._lock:
            for place, (found, mark) in enumerate(self._unused):
                if driver.is_complete(mark):
                    del self._unused[place]
                    return found
            if self._count == MOST:
                return None
            self._count += 1
        try:
            with driver.in_lasting_home(ordinal, call):
                return allocate_pinned(driver, BLOCK, ordinal, call)
        except OutOfDeviceMemoryError:
            self.lose()
            return None
        except BaseException:
            self.lose()
            raise

    def put(self, block: Allocation, mark: Mark) -> None:
        """Keep a block for copies after the work before a mark."""
        self._unused.append((block, mark))

    def lose(self) -> None:
        """Let another block be made in the place of one."""
        with self._lock:
            self._count -= 1


_blocks: Final[dict[tuple[int, int], _Blocks]] = {}
"""Device type and ordinal -> the blocks."""


@contextlib.contextmanager
def _block(
    driver: Driver, nbytes: int, stream: tuple[int, int], call: str, *, in_blocks: bool
) -> Iterator[int]:
    """Yield the address of memory for a part of a copy on a stream; after an error, it waits."""
    _, ordinal = stream
    blocks = _blocks.setdefault((driver.device_type, ordinal), _Blocks())
    block = blocks.take(driver, ordinal, call) if in_blocks and nbytes <= BLOCK else None
    if block is None:
        ptr, owner = fresh_memory(nbytes)
        yield ptr
        del owner
        return
    try:
        yield block.ptr
        mark = driver.mark(*stream, call)
    except BaseException:
        blocks.lose()
        with contextlib.suppress(Exception):
            driver.synchronize(*stream, call)
        block.release()
        raise
    blocks.put(block, mark)


def is_long(nbytes: int) -> bool:
    """Whether a copy is worth the use of blocks."""
    return nbytes > LEAST


def split(shape: Ints, itemsize: int) -> Iterator[tuple[Ints, Ints]]:
    """Return the parts of a shape that fit into blocks, in C order: first indices, and shapes.

    Examples
    --------
    >>> list(split((3, 2**21), 1))
    [((0, 0), (2, 2097152)), ((2, 0), (1, 2097152))]
    >>> [first for first, _ in split((2, 3 * 2**21), 1)]
    [(0, 0), (0, 4194304), (1, 0), (1, 4194304)]
    """
    axis = next((i for i in range(len(shape)) if prod(shape[i + 1 :]) * itemsize <= BLOCK), 0)
    rest = shape[axis + 1 :]
    step = max(1, BLOCK // (prod(rest) * itemsize))
    for outer in product(*map(range, shape[:axis])):
        for start in range(0, shape[axis], step):
            extent = min(step, shape[axis] - start)
            yield (*outer, start, *(0,) * len(rest)), (*(1,) * axis, extent, *rest)


def _at(elements: Elements, first: Ints) -> int:
    """Return the address of an element."""
    steps = zip(first, elements.strides, strict=True)
    return elements.ptr + elements.itemsize * sum(index * step for index, step in steps)


def send(
    driver: Driver,
    target: int,
    source: Elements,
    stream: tuple[int, int],
    call: str,
) -> None:
    """Enqueue a copy of host elements, in C order, to contiguous memory of a device.

    The host copies them into blocks, and does not wait for the stream.
    """
    _, shape, _, itemsize = source
    in_blocks = is_long(prod(shape) * itemsize)
    for first, part in split(shape, itemsize):
        nbytes = prod(part) * itemsize
        start = _at(source, first)
        with _block(driver, nbytes, stream, call, in_blocks=in_blocks) as ptr:
            _core.copy_strided(part, itemsize, ptr, c_strides(part), start, source.strides)
            driver.copy(target, ptr, nbytes, *stream, call)
        target += nbytes


def receive(
    driver: Driver,
    target: Elements,
    source: Elements,
    stream: tuple[int, int],
    call: str,
) -> None:
    """Copy elements of a device to plain host memory, for which the host waits.

    While it copies the elements of one block, the device fills another.
    """
    itemsize = source.itemsize
    parts = list(split(source.shape, itemsize))
    most = max(prod(part) for _, part in parts) * itemsize
    with (
        _block(driver, most, stream, call, in_blocks=True) as one,
        _block(driver, most, stream, call, in_blocks=True) as other,
    ):
        rooms, marks = (one, other), []
        for number in range(len(parts) + 1):
            if number < len(parts):
                first, part = parts[number]
                steps = source.strides, c_strides(part)
                plan = plan_copies(part, *steps, itemsize, is_limited=False) or []
                start = _at(source, first)
                driver.copy_planned(plan, rooms[number % 2], start, *stream, call)
                marks.append(driver.mark(*stream, call))
            if number:
                first, part = parts[number - 1]
                driver.wait_for_mark(marks[number - 1], stream[1], call)
                to, room = _at(target, first), rooms[(number - 1) % 2]
                _core.copy_strided(part, itemsize, to, target.strides, room, c_strides(part))
