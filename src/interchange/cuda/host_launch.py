"""Launching a kernel on the CPU: worker threads run the blocks.

Source: CUDA C++ Programming Guide, "Thread Hierarchy" (blocks may run in any order).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import ArgumentError

from .cooperative import RESUMES, SUSPENDED
from .debugging import WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .arguments import Packed
    from .configuration import Configuration
    from .llvm.compiled import HostKernel

_FEW_THREADS: Final = 4096
"""Up to this number of threads, one worker runs all."""
_SHARES: Final = 8
"""Of each worker in the blocks of a launch: those of one may take longer than of another."""
_MOST_TOGETHER: Final = 1 << 30
"""Memory of all blocks of a grid with a barrier, on the CPU [bytes]."""
_LINE: Final = 64  # [bytes], of the processor's cache
_OWN: Final = 3
"""Number of items of ``work`` that every kernel has."""
_POINTER: Final = ctypes.sizeof(ctypes.c_void_p)


class _Pool:
    """Threads that run blocks, started on demand."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self.count = max(1, os.cpu_count() or 1)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """Start again: threads do not exist in a child process."""
        self._threads = None

    def run(self, parts: list[Any]) -> list[Any]:
        """Return the result of each part, once all are done: they write to the caller's memory."""
        first, *others = parts
        begun: list[Future[Any]] = []
        try:
            begun += map(self._submit, others)
            return [first(), *(part.result() for part in begun)]
        finally:
            for part in begun:
                part.cancel()
            wait(begun)

    def _submit(self, part: Callable[[], Any]) -> Future[Any]:
        """Start a part on one of the threads, or, at interpreter exit, run it here."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.count, "interchange.cuda")
        try:
            return self._threads.submit(part)
        except RuntimeError:
            done: Future[Any] = Future()
            done.set_result(part())
            return done


_pool: Final = _Pool()


def pieces_of(kernel: HostKernel) -> list[tuple[int, int]]:
    """Return the sizes of the memory in ``work``, per block and per thread [bytes].

    The first is shared memory, to which that of the launch is added.
    """
    handles = _POINTER * bool(kernel.frame_size)
    own = (kernel.program.shared_bytes, 0), (0, kernel.frame_size), (0, handles)
    return [*own, *(piece[:2] for piece in kernel.pieces)]


class _Work:
    """The memory of one block at a time, each part at a multiple of a cache line."""

    def __init__(
        self, kernel: HostKernel, threads: int, shared_bytes: int, outside: dict[str, int]
    ) -> None:
        sizes = [block + thread * threads for block, thread in pieces_of(kernel)]
        sizes[0] += shared_bytes
        rounded = [-(-size // _LINE) * _LINE for size in sizes]
        self._memory = (ctypes.c_char * (sum(rounded) + _LINE)).from_buffer(
            bytearray(sum(rounded) + _LINE)
        )
        first = -(-ctypes.addressof(self._memory) // _LINE) * _LINE
        *places, _ = accumulate(rounded, initial=first)
        for number, piece in enumerate(kernel.pieces, _OWN):
            if piece.name:
                places[number] = outside[piece.name]
        self._places = (ctypes.c_void_p * len(places))(*places)
        self.address = ctypes.addressof(self._places)


def _workers_for(kernel: HostKernel, blocks: int, threads: int) -> int:
    """Return how many threads run the blocks: one, if they are few or races are found."""
    is_small = blocks * threads <= _FEW_THREADS or kernel.granules is not None
    return 1 if is_small else min(_pool.count, blocks)


def _shares_of(workers: int, threads: int) -> int:
    """Return the number of shares of a launch: at least one of each worker, which are not small."""
    return max(workers, min(workers * _SHARES, threads // _FEW_THREADS)) if workers > 1 else 1


def _taken_from(shares: deque[int]) -> Iterator[int]:
    """Take shares until none is left.

    No share is taken twice, also by threads of free-threaded Python, which may do so with an
    iterator that they share.
    """
    with contextlib.suppress(IndexError):
        while True:
            yield shares.popleft()


def run(
    kernel: HostKernel,
    configuration: Configuration,
    packed: Packed,
    outside: dict[str, int] | None = None,
    between: Callable[[], None] | None = None,
) -> tuple[int, list[int]]:
    """Run a kernel; return the largest result of its code, and a report or [].

    `outside` has the addresses that the code takes by name; with races, one worker runs all blocks.
    `between` is called when all threads of the grid wait for each other.
    """
    if kernel.program.has_grid_barrier:
        return _run_together(kernel, configuration, packed, outside or {}, between)
    blocks, threads = prod(configuration.grid), prod(configuration.block)
    workers = _workers_for(kernel, blocks, threads)
    reports = [(ctypes.c_int32 * WORDS)() for _ in range(workers)]
    count = min(blocks, _shares_of(workers, blocks * threads))
    shares = deque(range(count))  # taken by the worker that is free, one at a time

    def part(worker: int) -> int:
        shared_bytes = configuration.shared_bytes
        dims = (ctypes.c_int32 * 10)(
            *configuration.block, *configuration.grid, 0, 0, 0, shared_bytes
        )
        report = ctypes.addressof(reports[worker])
        work = _Work(kernel, threads, shared_bytes, {**(outside or {}), "report": report})
        place, found = ctypes.addressof(dims), 0
        try:
            for share in _taken_from(shares):
                first, last = (blocks * (share + k) // count for k in (0, 1))
                found = max(found, kernel.run(packed.place, place, first, last, work.address))
        finally:  # after an interrupt the other workers take no more
            shares.clear()
        return found

    codes = _pool.run([lambda worker=worker: part(worker) for worker in range(workers)])
    return max(codes), next((list(report) for report in reports if report[0]), [])


def _run_together(
    kernel: HostKernel,
    configuration: Configuration,
    packed: Packed,
    outside: dict[str, int],
    between: Callable[[], None] | None,
) -> tuple[int, list[int]]:
    """Run a kernel whose blocks wait for each other, from one barrier of the grid to the next.

    The memory of all blocks is kept until the end.
    """
    blocks, threads = prod(configuration.grid), prod(configuration.block)
    workers = _workers_for(kernel, blocks, threads)
    shared_bytes, words = configuration.shared_bytes, ctypes.c_int32 * WORDS
    size = sum(block + thread * threads for block, thread in pieces_of(kernel)) + shared_bytes
    if size * blocks > _MOST_TOGETHER:
        what = f"{blocks} blocks of {threads} threads that wait for each other"
        raise ArgumentError(f"{kernel.program.name}[...]()", what, "CPY-GRID-1")
    reports = [words() for _ in range(blocks)]
    dims = [
        (ctypes.c_int32 * 11)(*configuration.block, *configuration.grid, 0, 0, 0, shared_bytes, 0)
        for _ in range(blocks)
    ]
    works = [
        _Work(kernel, threads, shared_bytes, {**outside, "report": ctypes.addressof(report)})
        for report in reports
    ]

    def part(worker: int) -> list[int]:
        return [
            int(kernel.run(packed.place, ctypes.addressof(dims[k]), k, k + 1, works[k].address))
            for k in range(blocks * worker // workers, blocks * (worker + 1) // workers)
        ]

    while True:
        parts = _pool.run([lambda worker=worker: part(worker) for worker in range(workers)])
        codes = {code for found in parts for code in found}
        report = next((list(report) for report in reports if report[0]), [])
        if report or codes != {SUSPENDED}:
            return (max(codes) or (1 if SUSPENDED in codes else 0)), report
        for each in dims:
            each[RESUMES] = 1
        if between is not None:
            between()
