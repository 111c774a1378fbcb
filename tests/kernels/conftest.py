"""Tests that are skipped without LLVM, a separate cache, and the devices on which tests run.

Source: CUDA Binary Utilities (ptxas).
"""

from __future__ import annotations

import importlib.util
import os

import pytest

from interchange import cuda
from interchange.cuda import Kernel

_NEED_LLVM = (
    "ptx_kernels.py",
    "ptx_machine.py",
    "test_array_choices.py",
    "test_arrays_made.py",
    "test_atomics.py",
    "test_cache.py",
    "test_cupyx.py",
    "test_debugging.py",
    "test_differential.py",
    "test_fission.py",
    "test_functions.py",
    "test_fastmath.py",
    "test_halves.py",
    "test_green_contexts.py",
    "test_grid_barrier.py",
    "test_grid_counters.py",
    "test_host_launch.py",
    "test_intrinsics.py",
    "test_launch.py",
    "test_mathematics.py",
    "test_memory.py",
    "test_ported.py",
    "test_printing.py",
    "test_ptx.py",
    "test_ptxas.py",
    "test_races.py",
    "test_random.py",
    "test_record_arrays.py",
    "test_repeated_on_host.py",
    "test_rulings.py",
    "test_warps.py",
    "test_warps_drawn.py",
)
collect_ignore = [] if importlib.util.find_spec("llvmlite") else list(_NEED_LLVM)


ON = [
    pytest.param("CPU", id="CPU"),
    pytest.param("device", id="device", marks=[pytest.mark.emulated, pytest.mark.gpu]),
]


@pytest.fixture(params=ON)
def where(request, monkeypatch):
    """Run on the CPU, as if there were no driver, and on the chosen driver."""
    if request.param == "CPU":
        for module in ("streams", "arrays"):
            monkeypatch.setattr(f"interchange.cuda.{module}.find_driver", lambda _: None)
    else:
        request.getfixturevalue("cuda_driver")
        assert cuda.is_available()
    return request.param


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory):
    """Use a separate cache instead of the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTERCHANGE_CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
        yield


@pytest.fixture(autouse=True)
def typed_programs(monkeypatch, tmp_path):
    """All kernels that a test types; NVIDIA's assembler checks them if requested."""
    if "INTERCHANGE_TEST_ASSEMBLE" not in os.environ:
        yield
        return
    from .ptx_kernels import assert_assembled

    typed, programs = Kernel.typed, []

    def noted(kernel, *types):
        programs.append(typed(kernel, *types))
        return programs[-1]

    monkeypatch.setattr(Kernel, "typed", noted)
    yield
    assert_assembled(programs, tmp_path)
