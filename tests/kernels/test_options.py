"""Options of `jit`, with the meaning that they have in numba-cuda, or refused."""

from __future__ import annotations

import numpy as np
import pytest

from interchange import ArgumentError, cuda
from interchange.cuda import float32, int32
from interchange.cuda.options import read_signatures


def doubled(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] *= 2


@pytest.mark.parametrize(
    "given",
    ["void(float32[::1], int32)", "(f4[::1],i4)", (float32[::1], int32),
     cuda.void(float32[::1], int32), ["void(float32[ ::1 ], int32)"]],
)  # fmt: skip
def test_signatures_are_types_or_text(given):
    """They are those of Numba."""
    assert read_signatures((given,), device=False) == [cuda.void(float32[::1], int32)]


def test_a_list_has_a_signature_for_each():
    """Axes are counted."""
    given = ["void(f8[:, :], boolean)", "void()"]

    assert read_signatures((given,), device=False) == [
        cuda.void(cuda.float64[:, :], cuda.bool_), cuda.void()
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["float32", "int32(int32)", "void(x4)", "void(f4[::1, :])", "v("])
def test_other_text_is_refused(text):
    """The error shows how to write one."""
    with pytest.raises(ArgumentError, match=r"float32.*\[CPY-ARG-1\]"):
        cuda.jit(text)


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [("lineinfo", True, "without lines"), ("link", ["a.cu"], "not linked"),
     ("max_registers", 0, "pass 1 to 255"), ("inline", "often", "'always'"),
     ("launch_bounds", (128, -1), "largest number"), ("launch_bounds", "many", "largest number")],
)  # fmt: skip
def test_options_without_a_meaning_here_are_refused(option, value, why):
    """The error says why."""
    with pytest.raises(ArgumentError, match=rf"{why}.*\[CPY-JIT-1\]"):
        cuda.jit(doubled, **{option: value})


def test_a_device_function_is_not_launched():
    """Kernels call it."""
    function = cuda.jit("float32(float32)", device=True)(doubled)

    assert repr(function) == "<device function doubled>"
    with pytest.raises(ArgumentError, match="launch a kernel that calls it"):
        function[1, 1]


def test_blocks_above_the_launch_bounds_are_refused():
    """On every device, as CUDA refuses them."""
    kernel = cuda.jit(doubled, launch_bounds=64)

    with pytest.raises(ArgumentError, match=r"at most 64 \[CPY-LAUNCH-2\]"):
        kernel[1, (8, 9)]


@pytest.mark.interop
def test_options_of_the_assembler_are_directives():
    """Registers, threads, and blocks on a multiprocessor; ptxas takes them."""
    pytest.importorskip("llvmlite")
    types = float32[::1], int32

    assert "\n.maxnreg 24\n{" in cuda.jit(doubled, max_registers=24).inspect_ptx(*types)
    text = cuda.jit(doubled, launch_bounds=(128, 4)).inspect_ptx(*types)
    assert "\n.maxntid 128\n.minnctapersm 4\n{" in text
    assert ".maxntid" not in cuda.jit(doubled).inspect_ptx(*types)


@pytest.mark.interop
@pytest.mark.parametrize("options", [{"opt": False}, {"cache": False}, {"boundscheck": True},
                                     {"fastmath": True}, {"inline": True}])  # fmt: skip
def test_other_options_change_no_result(options):
    """Code is optimised, kept and checked as they say."""
    pytest.importorskip("llvmlite")
    x = np.ones(4, np.float32)
    kernel = cuda.jit([cuda.void(float32[::1], int32), "void(f8[::1], i8)"], **options)(doubled)
    kernel[1, 4](x, np.int32(3))

    assert x.tolist() == [2, 2, 2, 1]
    assert kernel.debug is bool(options.get("boundscheck"))
    assert len(kernel._compiled) == 2
