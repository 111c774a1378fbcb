"""The kernel of the benchmark in Warp, which looks annotations up in the kernel's module.

Source: Warp's documentation, "Kernels".
"""

from typing import Any

import pytest

wp = pytest.importorskip("warp")  # if tests are collected; the benchmark checks this first


@wp.kernel
def add(
    x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)
):
    """Add two vectors."""
    i = wp.tid()
    out[i] = x[i] + y[i]


def names(count: int) -> dict[str, Any]:
    """Return the names of a launch of so many threads."""
    wp.config.quiet = True
    arrays = [wp.ones(count, dtype=wp.float32, device="cuda:0") for _ in range(3)]
    wp.launch(add, dim=count, inputs=arrays)
    return {"k": add, "n": count, "launch": wp.launch, **dict(zip("abc", arrays, strict=True))}
