"""Code of kernels that are gone is unloaded, on the CPU and on the emulated driver.

Source: CUDA driver API, Module Management (cuModuleUnload).
"""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from interchange import cuda

pytestmark = pytest.mark.interop

SIZE = 32


def made():
    """Return a new kernel."""

    @cuda.jit
    def add_one(x):
        i = cuda.grid(1)
        if i < x.shape[0]:
            x[i] += 1

    return add_one


def test_code_for_the_cpu_is_released_with_the_kernel():
    """LLVM's engine owns it, though the core launched the kernel."""
    kernel, x = made(), np.zeros(SIZE, "f4")
    for _ in range(3):
        kernel[1, SIZE](x)
    (compiled,) = kernel._compiled.values()
    engine, of_kernel = weakref.ref(compiled._engine), weakref.ref(kernel)
    del kernel, compiled
    gc.collect()

    assert (engine(), of_kernel()) == (None, None)
    assert x.tolist() == [3] * SIZE


@pytest.mark.emulated
def test_a_module_is_unloaded_when_its_work_is_done(emulator):
    """Not by the finaliser, which may not wait: by the next synchronize()."""
    cuda.synchronize()
    kernel, stream = made(), cuda.stream()
    x = cuda.to_device(np.zeros(SIZE, "f4"), stream=stream)
    for _ in range(3):
        kernel[1, SIZE, stream](x)
    with emulator.held(stream):
        kernel[1, SIZE, stream](x)
        with emulator.trace() as calls:
            del kernel
            gc.collect()
        assert "cuModuleUnload" not in calls.names
    with emulator.trace() as calls:
        cuda.synchronize()
        cuda.synchronize()

    assert calls.names.count("cuModuleUnload") == 1
    assert x.copy_to_host().tolist() == [4] * SIZE
    assert emulator.reports() == []


@pytest.mark.emulated
def test_many_kernels_leave_no_module(emulator):
    """Each is loaded once, and unloaded once."""
    gc.collect()
    cuda.synchronize()
    x = cuda.to_device(np.zeros(SIZE, "f4"))
    with emulator.trace() as calls:
        for _ in range(5):
            made()[1, SIZE](x)
        gc.collect()
        cuda.synchronize()

    assert calls.names.count("cuModuleLoadData") == calls.names.count("cuModuleUnload") == 5


@pytest.mark.emulated
def test_code_of_a_graph_stays(emulator):
    """The graph can be launched after the kernel is gone."""
    driver = pytest.importorskip("cuda.bindings.driver")
    kernel, stream = made(), cuda.stream()
    x = cuda.to_device(np.zeros(SIZE, "f4"), stream=stream)
    for _ in range(3):
        kernel[1, SIZE, stream](x)
    stream.synchronize()
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    assert not driver.cuStreamBeginCapture(stream.handle, mode)[0]
    kernel[1, SIZE, stream](x)
    error, graph = driver.cuStreamEndCapture(stream.handle)
    assert not error
    error, ready = driver.cuGraphInstantiate(graph, 0)
    assert not error
    del kernel
    gc.collect()
    with emulator.trace() as calls:
        cuda.synchronize()
        assert not driver.cuGraphLaunch(ready, stream.handle)[0]
        stream.synchronize()

    assert "cuModuleUnload" not in calls.names
    assert x.copy_to_host().tolist() == [4] * SIZE


@pytest.mark.emulated
def test_code_of_a_destroyed_context_is_forgotten(emulator):
    """Its handle may be used by another context."""
    driver = pytest.importorskip("cuda.bindings.driver")
    cuda.synchronize()
    error, context = driver.cuCtxCreate(None, 0, 0)
    assert not error
    kernel = made()
    kernel[1, SIZE](cuda.to_device(np.zeros(SIZE, "f4")))
    driver.cuCtxDestroy(context)
    del kernel
    gc.collect()
    with emulator.trace() as calls:
        cuda.synchronize()

    assert "cuModuleUnload" not in calls.names
