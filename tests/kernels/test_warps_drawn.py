"""Random kernels whose lanes exchange numbers in branches and loops: the CPU and PTX agree.

Source: CUDA C++ Programming Guide, "Warp Vote Functions" (masks by ballots).
"""

from __future__ import annotations

import numpy as np
import pytest

from interchange.cuda.llvm.ptx import to_ptx

from .drawn import Choices
from .drawn_kernels import kernel_of
from .programs import types_of
from .ptx_machine import Machine

pytestmark = pytest.mark.interop  # that extra installs LLVM
FULL = "0xFFFFFFFF"
ANYWHERE = (
    "shfl_sync({m}, v, cuda.ffs({m}) - 1)", "ballot_sync({m}, v % 3 == 0)", "popc({m})",
    "any_sync({m}, v % 5 == 1)", "all_sync({m}, v % 2 == 0)", "eq_sync({m}, v > 3)",
    "match_any_sync({m}, v % 4)", "match_all_sync({m}, v % 2)[0]",
)  # fmt: skip
BY_ALL = (
    "shfl_xor_sync({m}, v, 21)", "shfl_up_sync({m}, v, 5)", "shfl_down_sync({m}, v, 3, width=8)",
    "shfl_sync({m}, v, lane * 7 + 3)", "syncthreads_count(v % 3 == 1)", "activemask()",
)  # fmt: skip
TESTS = ("lane % 3 == 0", "lane > 20", "v % 2 == 0", "(lane & 4) != 0")
COUNTS = ("lane % 4", "lane // 8 + 1", "v % 3")
THREADS = 64


class Drawn:
    """A random kernel, whose masks are those of its branches."""

    def __init__(self, seed):
        self.below = Choices(seed).below
        self.lines, self.made = [], 0
        for _ in range(2):
            self.block("    ", 3, FULL)

    def text(self):
        """Return the source."""
        head = "def program(x, out):\n    i, lane = cuda.threadIdx.x, cuda.laneid\n    v = x[i]\n"
        return head + "\n".join(self.lines) + "\n    out[i] = v\n"

    def pick(self, items):
        """Return one of some items."""
        return items[self.below(len(items))]

    def fresh(self):
        """Return an unused name."""
        self.made += 1
        return f"t{self.made}"

    def block(self, pad, depth, mask):
        """Add statements that the lanes of a mask execute."""
        ways = [self.call, self.call, self.wait, *([self.branch, self.loop] if depth else ())]
        for _ in range(1 + self.below(3)):
            self.pick(ways)(pad, depth - 1, mask)

    def call(self, pad, _, mask):
        """Add a call."""
        called = self.pick(ANYWHERE + BY_ALL * (mask == FULL)).format(m=mask)
        self.lines.append(f"{pad}v = (v * 3 + cuda.int64(cuda.{called})) % 1000003")

    def wait(self, pad, _, mask):
        """Add a barrier of the lanes."""
        self.lines.append(f"{pad}cuda.syncwarp({mask})")

    def branch(self, pad, depth, mask):
        """Add one or two branches."""
        test, inner, other = self.fresh(), self.fresh(), self.fresh()
        self.lines += [
            f"{pad}{test} = {self.pick(TESTS)}",
            f"{pad}{inner} = cuda.ballot_sync({mask}, {test})",
            f"{pad}{other} = {mask} & ~{inner}",
            f"{pad}if {test}:",
        ]
        self.block(pad + "    ", depth, inner)
        if self.below(2):
            self.lines.append(f"{pad}else:")
            self.block(pad + "    ", depth, other)

    def loop(self, pad, depth, mask):
        """Add a loop, in which each lane has a number of iterations of its own."""
        count, inner, k = self.fresh(), self.fresh(), self.fresh()
        self.lines += [
            f"{pad}{count} = {self.pick(COUNTS)}",
            f"{pad}for {k} in range(3):",
            f"{pad}    {inner} = cuda.ballot_sync({mask}, {k} < {count})",
            f"{pad}    if {k} < {count}:",
        ]
        self.block(pad + "        ", depth, inner)


def assert_same(seed):
    """Compare the results of a program on both targets."""
    kernel = kernel_of(Drawn(seed).text())
    x = np.random.default_rng(seed).integers(0, 1000, THREADS)
    on_host, on_ptx = np.zeros(THREADS, np.int64), np.zeros(THREADS, np.int64)
    text = to_ptx(kernel.typed(*types_of([x, on_ptx])), ("sm_75", "sm_90")[seed % 2])

    kernel[1, THREADS](x, on_host)
    Machine(text).launch("program", (1,), (THREADS,), [x, on_ptx])

    assert on_host.tolist() == on_ptx.tolist(), Drawn(seed).text()


@pytest.mark.parametrize("seed", range(5))
def test_lanes_of_a_random_kernel_meet_alike(seed):
    """In the same branches and iterations, on the CPU and in PTX."""
    assert_same(seed)


@pytest.mark.exhaustive
def test_lanes_of_many_random_kernels_meet_alike():
    """Each number reproduces a kernel."""
    for seed in range(5, 60):
        assert_same(seed)
