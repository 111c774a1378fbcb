"""GPUs, contexts and memory by the names of Numba, and launches over arrays of two GPUs.

Source: Numba for CUDA, "Device management" and "Memory management"; CUDA driver API, Peer Context
Memory Access.
"""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange import cuda
from interchange_conformance.emucuda.gates import Gate

from . import launched

pytestmark = [pytest.mark.interop, pytest.mark.emulated]

SIZE = 32


add = cuda.jit(launched.add)
add_one = cuda.jit(launched.add_one)


@pytest.fixture(autouse=True)
def _restored(emulator):
    """Restore the current GPU, and expect no races."""
    assert cuda.is_available()
    driver = pytest.importorskip("cuda.bindings.driver")
    _, before = driver.cuCtxGetCurrent()
    cuda.select_device(0)
    yield
    cuda.synchronize()
    driver.cuCtxSetCurrent(before)
    assert emulator.unexpected_reports() == []


@pytest.fixture
def peers():
    """Let both GPUs access each other's memory."""
    driver = pytest.importorskip("cuda.bindings.driver")
    contexts = [driver.cuDevicePrimaryCtxRetain(one)[1] for one in (0, 1)]
    for one in (0, 1):
        cuda.current_context(one).enable_peer_access(cuda.gpus[1 - one])
        cuda.current_context(one).enable_peer_access(1 - one)  # again
    yield
    for one in (0, 1):
        with cuda.gpus[one]:
            cuda.synchronize()
            driver.cuCtxDisablePeerAccess(contexts[1 - one])


# ---------------------------------------------------------------- GPUs


def test_gpus_are_listed_and_selected():
    """A block makes one current, also within another block of the same."""
    assert len(cuda.gpus) == 2
    assert [gpu.id for gpu in cuda.gpus] == [gpu.id for gpu in cuda.gpus.lst] == [0, 1]
    with pytest.raises(IndexError):
        cuda.gpus[2]
    first, second = cuda.gpus
    with second as entered, first, second:
        assert entered is cuda.gpus.current is second
        assert cuda.device_array(3, "f4").device == ix.Device("cuda:1")
    assert cuda.get_current_device() == first
    assert cuda.select_device(1) is second
    assert cuda.current_context().device is second
    assert cuda.to_device(np.ones(3)).device == ix.Device("cuda:1")


def test_a_gpu_describes_itself():
    """Name, compute capability and memory are the driver's."""
    free, total = cuda.current_context().get_memory_info()
    x = cuda.to_device(np.zeros(1 << 20, "u1"))

    assert 0 < free <= total
    assert cuda.current_context().get_memory_info().free <= free - x.nbytes
    assert "emucuda device 1" in cuda.gpus[1].name
    assert cuda.gpus[1].compute_capability == (9, 0)
    assert cuda.current_context(0).can_access_peer(1) is True


def test_gpus_are_told_with_what_kernels_need(monkeypatch, capsys):
    """An older one does not run kernels."""
    assert cuda.detect() is True
    told = capsys.readouterr().out.splitlines()
    monkeypatch.setattr("interchange.cuda.devices._OLDEST", (9, 1))

    assert told[0] == "Found 2 CUDA devices"
    mib = cuda.mem_info(1).total >> 20
    assert told[2] == f"1: {cuda.gpus[1].name}, 9.0, {mib} MiB [supported]"
    assert cuda.detect() is False


def test_the_memory_of_a_gpu_is_told():
    """Of the current one, and of another."""
    there = cuda.mem_info(1)
    x = cuda.to_device(np.zeros(1 << 20, "u1"), device=1)

    assert cuda.mem_info("cuda:1").free == there.free - x.nbytes
    assert cuda.mem_info() == cuda.current_context(0).get_memory_info()
    with cuda.gpus[1]:
        assert cuda.mem_info().free == there.free - x.nbytes


def test_what_was_closed_is_used_again():
    """The GPU is done, none is current, and arrays and kernels are as before."""
    driver = pytest.importorskip("cuda.bindings.driver")
    x = cuda.to_device(np.zeros(SIZE, "f4"), device=1)
    cuda.select_device(1)
    add_one[1, SIZE](x)
    cuda.close()
    assert int(driver.cuCtxGetCurrent()[1]) == 0
    assert cuda.get_current_device().id == 0
    cuda.close()
    add_one[1, SIZE](x)

    assert x.copy_to_host().tolist() == [2] * SIZE


@pytest.mark.parametrize("device", [7, "cuda:7", -3])
def test_a_gpu_that_does_not_exist_is_refused(device):
    """The error names those that exist."""
    for call in (cuda.select_device, lambda one: cuda.device_array(3, "f4", device=one)):
        with pytest.raises(ix.ExchangeError, match="'cuda:0', 'cuda:1'"):
            call(device)


def test_without_a_gpu_there_are_none(monkeypatch, capsys):
    """A program can ask before it selects one."""
    for module in ("streams", "devices", "arrays", "host_arrays"):
        monkeypatch.setattr(f"interchange.cuda.{module}.find_driver", lambda _: None)

    assert (len(cuda.gpus), list(cuda.gpus), cuda.gpus.current) == (0, [], None)
    assert cuda.external_stream(7).synchronize() is None
    for make in (cuda.pinned_array, cuda.mapped_array, cuda.managed_array):
        assert type(make((2, 3), "f4", "F")) is np.ndarray
    with cuda.defer_cleanup(), cuda.pinned(np.zeros(3)), cuda.mapped(np.arange(3.0)) as given:
        x = cuda.to_device(given)
    assert (cuda.detect(), cuda.close()) == (False, None)
    assert capsys.readouterr().out == "Found 0 CUDA devices\n"
    x.copy_to_device(np.ones(3))
    assert x.copy_to_host(stream=0).tolist() == [1, 1, 1]


@pytest.mark.parametrize("device", [1, "cuda:1", "GPU"])
def test_an_array_is_made_on_a_gpu(device):
    """The current one stays current."""
    device = cuda.gpus[1] if device == "GPU" else device
    there = ix.Device("cuda:1")
    x = cuda.to_device(np.arange(SIZE, dtype="f4"), device=device)
    y = cuda.device_array_like(x, device=device)
    untyped = cuda.device_array(SIZE, device=device)
    y.copy_to_device(x)
    add_one[1, SIZE](y)

    assert (x.device, y.device, untyped.device) == (there, there, there)
    assert y.copy_to_host().tolist() == list(range(1, SIZE + 1))
    assert cuda.get_current_device().id == 0


# ---------------------------------------------------------------- arrays of two GPUs


def test_arrays_of_two_gpus_need_peer_access():
    """The error names the call that enables it; nothing is launched."""
    x, y = (cuda.to_device(np.ones(SIZE, "f4"), device=one) for one in (0, 1))
    enable = r"cuda.current_context\(0\).enable_peer_access\(1\)"
    with pytest.raises(ix.UnsupportedDeviceError, match=enable) as caught:
        add[1, SIZE](x, y, x)

    assert caught.value.rule == "CPY-ARG-3"
    assert x.copy_to_host().tolist() == [1] * SIZE


@pytest.mark.usefixtures("peers")
@pytest.mark.parametrize("current", [0, 1])
@pytest.mark.parametrize("on", ["default", "stream of 0", "stream of 1"])
def test_arrays_of_two_gpus_are_used_together(emulator, on, current):
    """Work on each is ordered before and after, between their default streams as well."""
    streams = []
    for gpu in cuda.gpus:
        with gpu:
            streams.append(cuda.stream())
    arrays = [cuda.to_device(np.full(SIZE, one + 1, "f4"), device=one) for one in (0, 1)]
    stream = 0 if on == "default" else streams[int(on[-1])]
    for _ in range(3):
        for one in (0, 1):
            with cuda.gpus[one]:
                emulator.delay(1, 0.002)
            add_one[1, SIZE](arrays[one])
        with cuda.gpus[current]:
            add[1, SIZE, stream](*arrays, arrays[1])
            add[1, SIZE, stream](*arrays, arrays[0])
    found = [array.copy_to_host()[0] for array in arrays]
    for gpu in cuda.gpus:
        with gpu:
            emulator.delay(1, 0)
    x, y = 1, 2
    for _ in range(3):
        x, y = x + 1, y + 1
        y = x + y
        x = x + y

    assert found == [x, y]


@pytest.mark.usefixtures("peers")
def test_the_default_stream_of_the_other_gpu_waits():
    """A later launch there comes after one here, and one here after earlier work there."""
    x, y = (cuda.to_device(np.zeros(SIZE, "f4"), device=one) for one in (0, 1))
    add[1, SIZE](x, y, y)
    add_one[1, SIZE](y)
    first = cuda.stream()
    z = cuda.to_device(np.ones(SIZE, "f4"), stream=first)
    with Gate(first):
        add[1, SIZE](z, y, y)  # waits for the gate
        add_one[1, SIZE](y)  # on the other GPU

    assert y.copy_to_host().tolist() == [3] * SIZE


def test_a_priority_and_a_non_blocking_stream_are_made():
    """Launches on both are ordered as on others."""
    driver = pytest.importorskip("cuda.bindings.driver")
    urgent, free = cuda.stream(priority=-1), cuda.stream(non_blocking=True)
    x = cuda.to_device(np.zeros(SIZE, "f4"), stream=urgent)
    for stream in (urgent, free, cuda.external_stream(free.handle), cuda.default_stream()) * 2:
        add_one[1, SIZE, stream](x)
    with free.auto_synchronize():
        add_one[1, SIZE, free](x)

    assert int(driver.cuStreamGetPriority(urgent.handle)[1]) == -1
    assert [driver.cuStreamGetFlags(one.handle)[1] for one in (urgent, free)] == [0, 1]
    assert x.copy_to_host().tolist() == [9] * SIZE
    with pytest.raises(ix.ArgumentError):
        cuda.stream(priority="high")


def test_a_stream_of_another_library_keeps_its_gpu(emulator):
    """It is not destroyed with the object."""
    with cuda.gpus[1]:
        stream = cuda.stream()
    found = cuda.external_stream(stream)
    assert (found.ordinal, found.handle) == (1, stream.handle)
    with emulator.trace() as calls:
        del found
    assert "cuStreamDestroy" not in calls.names
    with pytest.raises(ix.StreamError, match=r"\[DLP-STREAM-7\]"):
        cuda.external_stream(0x1234560)


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array])
def test_shared_memory_is_used_on_both_sides(make):
    """Views are in it, and results of NumPy are not."""
    x = make((SIZE, 2), "f4")
    x[:] = 1
    add_one[1, SIZE](x[:, 0])
    add_one[1, SIZE](x[::-2, 1])
    cuda.synchronize()
    y = x + 1

    assert x[:, 0].tolist() == [2] * SIZE
    assert x[:, 1].tolist() == [1, 2] * (SIZE // 2)
    assert ix.asarray(y).device == ix.Device("cpu")
    assert ix.asarray(x).device.type.name in {"kDLCUDAHost", "kDLCUDAManaged"}
    assert x.copy_to_host().tolist() == x.tolist()


def test_page_locked_memory_is_an_ndarray(emulator):
    """It is freed with its last view."""
    live = emulator.live()
    x = cuda.pinned_array((3, 4), "i4", "F")
    view = x[1:]
    assert type(x) is np.ndarray
    assert x.flags.f_contiguous
    assert emulator.live() != live
    del x
    view[:] = 3
    assert view.sum() == 24
    del view
    assert emulator.live() == live
    assert cuda.pinned_array_like(np.zeros((2, 3), "f4")).shape == (2, 3)
    for like in (cuda.mapped_array_like, cuda.managed_array_like):
        made = like(np.zeros((2, 3), "f4", order="F"))
        assert made.flags.f_contiguous
        assert (made.shape, made.dtype) == ((2, 3), np.float32)


def test_memory_of_others_is_page_locked_for_a_while(emulator):
    """It is released after an error as well."""
    x, found = np.ones(1024), []

    def fail():
        found.append(cuda.to_device(x))
        cuda.synchronize()
        raise KeyError

    with emulator.trace() as calls, pytest.raises(KeyError), cuda.pinned(x, x[:0]):
        fail()
    names = [name for name in calls.names if name.startswith("cuMemHost")]

    assert names.count("cuMemHostRegister") == names.count("cuMemHostUnregister") == 1
    assert found[0].copy_to_host().sum() == 1024
    with pytest.raises(ix.ArgumentError, match="contiguous"), cuda.pinned(x[::2]):
        pass


@pytest.mark.parametrize("current", [0, 1])
def test_memory_of_others_is_mapped_for_a_while(emulator, current):
    """Kernels write it, and the host reads it after the block, which waits, without a copy."""
    x, y = np.ones((SIZE, 2), "f4", order="F"), np.zeros(SIZE, "f4")
    with cuda.gpus[current], emulator.trace() as calls:
        stream = cuda.stream()
        emulator.delay(stream.handle, 0.005)
        with cuda.mapped(x, y, y[:0], stream=stream) as (there, result, empty):
            assert there.device == result.device == empty.device == ix.Device(f"cuda:{current}")
            assert (there.strides, empty.shape) == ((1, SIZE), (0,))
            add[1, SIZE, stream](there[:, 0], there[:, 1], result)
            add_one[1, SIZE, stream](result)
        assert y.tolist() == [3] * SIZE
    names = [name for name in calls.names if name.startswith(("cuMemHost", "cuMemcpy"))]

    assert set(names) == {"cuMemHostRegister", "cuMemHostUnregister"}
    assert names.count("cuMemHostRegister") == names.count("cuMemHostUnregister") == 2
    x.flags.writeable = False
    with cuda.mapped(x) as there:
        assert there.readonly
        assert there.copy_to_host().tolist() == x.tolist()


@pytest.mark.parametrize("call", [cuda.pinned, cuda.mapped])
def test_memory_that_cannot_be_page_locked_is_refused(emulator, call):
    """Nothing stays page-locked; memory is, once for all."""
    x, there = np.ones(16), cuda.device_array(3, "f4")
    with emulator.trace() as calls:
        for wrong, what in ((x[::2], "contiguous"), (there, "on the host"), (x, "ALREADY")):
            with pytest.raises(ix.InterchangeError, match=what), call(x, wrong):
                pass
    names = [name for name in calls.names if name.startswith("cuMemHost")]

    assert names.count("cuMemHostRegister") - 1 == names.count("cuMemHostUnregister") > 0


def test_copies_fill_what_is_given():
    """Shapes and types must agree, and the target must be writable."""
    x = cuda.to_device(np.arange(6, dtype="f4").reshape(2, 3))
    out = np.empty((2, 3), "f4")

    assert x.copy_to_host(out) is out
    assert out.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert cuda.to_device(out + 1, to=x) is x
    assert x[:, 1].copy_to_host().tolist() == [2, 5]
    assert cuda.to_device(out, copy=False).shape == (2, 3)
    for wrong in (np.empty(6, "f4"), np.empty((2, 3), "f8")):
        with pytest.raises(ix.ArgumentError):
            x.copy_to_host(wrong)
        with pytest.raises(ix.ArgumentError):
            x.copy_to_device(wrong)
    out.flags.writeable = False
    with pytest.raises(ix.ReadOnlyError):
        x.copy_to_host(out)


def test_nothing_is_freed_while_cleanup_is_deferred(emulator):
    """Afterwards everything is, also after nested blocks."""
    live = emulator.live()
    with cuda.defer_cleanup():
        with cuda.current_context().defer_cleanup():
            x = cuda.to_device(np.ones(3))
            held = emulator.live()
            del x
        assert emulator.live() == held != live
    assert emulator.live() == live


def test_a_profiler_is_started_and_stopped(emulator):
    """The driver is told."""
    with emulator.trace() as calls:
        cuda.profile_start()
        cuda.profile_stop()

    assert [one for one in calls.names if "Prof" in one] == ["cuProfilerStart", "cuProfilerStop"]
