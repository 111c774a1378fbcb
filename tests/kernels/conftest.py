"""What of these tests is left out where there is no LLVM, a cache of their own, and where they run.

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
    "test_arrays_made.py",
    "test_cache.py",
    "test_differential.py",
    "test_launch.py",
    "test_mathematics.py",
    "test_ptx.py",
    "test_ptxas.py",
    "test_rulings.py",
)
collect_ignore = [] if importlib.util.find_spec("llvmlite") else list(_NEED_LLVM)


ON = [
    pytest.param("CPU", id="CPU"),
    pytest.param("device", id="device", marks=[pytest.mark.emulated, pytest.mark.gpu]),
]


@pytest.fixture(params=ON)
def where(request, monkeypatch):
    """Be on the CPU, as if there were no driver, and on the driver that was chosen."""
    if request.param == "CPU":
        for module in ("streams", "arrays"):
            monkeypatch.setattr(f"interchange.cuda.{module}.find_driver", lambda _: None)
    else:
        request.getfixturevalue("cuda_driver")
        assert cuda.is_available()
    return request.param


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory):
    """Keep the user's own cache out of the tests, and the tests out of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTERCHANGE_CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
        yield


@pytest.fixture(autouse=True)
def typed_programs(monkeypatch, tmp_path):
    """All kernels that a test types, which NVIDIA's assembler takes where it is asked for."""
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
