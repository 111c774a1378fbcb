"""Leaves out what needs LLVM where there is none, and keeps the tests out of the user's cache."""

from __future__ import annotations

import importlib.util

import pytest

NEED_LLVM = ["test_cache.py", "test_ptx.py", "ptx_machine.py"]
collect_ignore = [] if importlib.util.find_spec("llvmlite") else NEED_LLVM


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory):
    """Keep the user's own cache out of the tests, and the tests out of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTERCHANGE_CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
        yield
