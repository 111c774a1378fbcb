"""Fixtures for tests of the programs: imports of them, and expected errors."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from .places import EXAMPLES, OTHERS, PATHS

collect_ignore = [f"{name}.py" for name in OTHERS]  # they have no examples in them


@pytest.fixture
def program():
    """Return what imports a program by its name, without running its `main`."""

    def load(name):
        spec = importlib.util.spec_from_file_location(f"program_{name}", PATHS[name])
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def axpy(emulator, need, program, monkeypatch):
    """Return the launcher's kernel, loaded on the emulated driver, whose device 0 is current."""
    need("cuda.bindings.driver")
    from cuda.bindings import driver

    launcher = program("launcher")
    launcher.start()
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.delitem(sys.modules, "host_kernel", raising=False)
    import host_kernel

    yield launcher.Axpy(host_kernel.image())
    emulator.reset()
    driver.cuDevicePrimaryCtxRelease(0)
    driver.cuCtxSetCurrent(None)


@pytest.fixture
def met():
    """Return what makes a call that is refused, and returns the error."""

    def meet(kind, rule, call, *args, **keywords):
        with pytest.raises(kind) as caught:
            call(*args, **keywords)
        assert caught.value.rule == rule
        assert str(caught.value).endswith(f"{caught.value.hint} [{rule}]")
        return caught.value

    return meet
