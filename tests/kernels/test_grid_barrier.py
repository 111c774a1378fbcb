"""Barriers of a grid: blocks wait for each other.

Source: CUDA C++ Programming Guide, "Grid Synchronization"; numba.cuda.cg.
"""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import interchange as ix
from interchange import cuda
from interchange.cuda import int32

from .programs import types_of
from .ptx_kernels import ARCHITECTURES, any_ptx, assembled, find_ptxas
from .ptx_machine import Machine

pytestmark = pytest.mark.interop


def steps(x, y, rounds):
    """Add neighbours of other blocks, twice per round."""
    i = cuda.grid(1)
    last = cuda.shared.array(1, int32)
    group = cuda.cg.this_grid()
    for k in range(rounds):
        y[i] = x[(i + 1) % x.size] + x[i]
        group.sync()
        x[i] = y[(i + 1) % x.size]
        if cuda.threadIdx.x == 0:
            last[0] = k
        cuda.syncthreads()
        x[i] += last[0]
        cuda.cg.this_grid().sync()


def expected_steps(x, rounds):
    """Return the numbers of `steps`."""
    for k in range(rounds):
        sums = np.roll(x, -1) + x
        x = np.roll(sums, -1) + k
    return x


@pytest.mark.parametrize(("blocks", "threads"), [(1, 1), (3, 5), (4, 32), (64, 256)])
@pytest.mark.parametrize("how", [{}, {"debug": True}, {"debug": True, "races": True}])
def test_all_blocks_wait_for_each_other(blocks, threads, how):
    """On one worker and on several; shared memory and variables are kept meanwhile."""
    x = np.arange(blocks * threads)
    given = x.copy()
    kernel = cuda.jit(**how)(steps)
    for _ in range(2):
        given[...] = x
        kernel[blocks, threads](given, np.zeros_like(x), 4)
        assert (given == expected_steps(x, 4)).all()


@pytest.mark.parametrize(("blocks", "threads"), [(1, 1), (2, 3), (3, 4)])
def test_blocks_count_in_ptx(blocks, threads):
    """The word at which they count is not cleared between barriers, nor between launches."""
    x = np.arange(blocks * threads)
    given, y = x.copy(), np.zeros_like(x)
    machine = Machine(any_ptx(cuda.jit(steps), *types_of((x, y, np.int64(3)))))
    for _ in range(2):
        machine.launch("steps", (blocks,), (threads,), (given, y, np.int64(3)), together=True)
        x = expected_steps(x, 3)
        assert (given == x).all()
    assert bytes(machine.grid_word) in {bytes(4), bytes([0, 0, 0, 128])}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_assembler_takes_the_barrier(architecture, tmp_path):
    """Blocks count by an atomic sum, and wait in a loop."""
    ptxas = find_ptxas() or pytest.skip("no ptxas, of a toolkit or of the wheel nvidia-cuda-nvcc")
    types = types_of((np.zeros(4), np.zeros(4), np.int64(3)))
    ptx = any_ptx(cuda.jit(steps), *types, architecture=architecture)

    assert assembled(ptxas, ptx, architecture, tmp_path)[0] == ""


@pytest.mark.emulated
@pytest.mark.gpu
@pytest.mark.usefixtures("cuda_driver")
@pytest.mark.parametrize("how", [{}, {"debug": True}])
def test_a_device_launches_all_blocks_at_once(how):
    """The launch is cooperative, in debug mode as well; a grid that does not fit is refused."""
    x = np.arange(8 * 128)
    kernel = cuda.jit(**how)(steps)
    there, y = cuda.to_device(x), cuda.to_device(np.zeros_like(x))
    for _ in range(2):
        kernel[8, 128](there, y, 4)
        x = expected_steps(x, 4)
        assert there.to_device("cpu").tolist() == x.tolist()
    with pytest.raises(ix.InterchangeError, match=r"do not fit at once.*CPY-GRID-1"):
        kernel[10_000, 1024](there, y, 4)
    with pytest.raises(ix.InterchangeError, match=r"races=True.*CPY-GRID-1"):
        cuda.jit(debug=True, races=True)(steps)[8, 128](there, y, 4)


def test_lanes_of_warps_wait_for_the_grid():
    """Functions of warps and barriers of the block are in one kernel."""

    @cuda.jit
    def kernel(x, total):
        i = cuda.grid(1)
        mine = cuda.shfl_xor_sync(0xFFFFFFFF, x[i], 1)
        cuda.cg.this_grid().sync()
        x[i] = mine
        cuda.cg.this_grid().sync()
        if cuda.syncthreads_count(x[(i + 64) % x.size] > -1) == 64:
            cuda.atomic.add(total, 0, x[i])

    x, total = np.arange(128), np.zeros(1, "i8")
    kernel[2, 64](x, total)

    assert x.tolist() == [k ^ 1 for k in range(128)]
    assert total[0] == 127 * 64


@pytest.mark.parametrize("which", ["blockIdx", "threadIdx"])
def test_threads_that_do_not_reach_the_barrier_are_reported(which):
    """Of other blocks, or of the same one."""
    index = getattr(cuda, which)

    @cuda.jit
    def kernel(x):
        if index.x == 0:
            cuda.cg.this_grid().sync()
        x[0] = 1

    with pytest.raises(ix.InterchangeError, match="CPY-BARRIER-1"):
        kernel[2, 32](np.zeros(1))


def test_a_grid_that_does_not_fit_is_refused():
    """The memory of all blocks is kept."""

    @cuda.jit
    def kernel(x):
        cuda.cg.this_grid().sync()
        x[0] = 1

    with pytest.raises(ix.InterchangeError, match=r"kernel\[...\].*CPY-GRID-1"):
        kernel[2**22, 1024](np.zeros(1))


def test_the_group_has_a_barrier_only():
    """Arguments are refused."""
    for text, rule in (("sync(1)", "CPY-CALL-1"), ("size", "CPY-NAME-1")):
        scope = {"cuda": cuda}
        name = f"<group {text}>"
        source = f"def kernel(x):\n    cuda.cg.this_grid().{text}\n"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), scope)  # noqa: S102 - written here
        with pytest.raises(cuda.KernelError, match=rule):
            cuda.jit(scope["kernel"])[1, 1](np.zeros(1))
