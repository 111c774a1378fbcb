"""Kernels on a GPU or on the emulated driver: their results, and their order.

Source: CUDA driver API, Execution Control; CUDA Array Interface, version 3, Synchronization.
"""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange import cuda
from interchange.cuda import float32, int32, void
from interchange_conformance.emucuda.gates import Gate

from . import launched
from .comparing import is_same, left_by, on_device, wrong
from .programs import PROGRAMS

pytestmark = [pytest.mark.interop, pytest.mark.emulated, pytest.mark.gpu]

SIZES = (0, 1, 33, 64)


@pytest.fixture(autouse=True)
def _driver(cuda_driver):  # noqa: ARG001 - it is loaded
    """Require the chosen driver."""
    assert cuda.is_available()


def on_host(x):
    """Return a copy as a NumPy array."""
    return np.asarray(x.to_device("cpu"))


add_one = cuda.jit(launched.add_one)


@cuda.jit
def copy_into(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i] = x[i]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_computes_what_numpy_does(name, size):
    """The last bits of math functions may differ on a GPU."""
    case = PROGRAMS[name].make(size)

    assert wrong(case, left_by(on_device(PROGRAMS[name].kernel), case), case.expected) == []


LAYOUTS = {
    "every second": lambda x: x[::2],
    "backwards": lambda x: x[::-1],
    "a column": lambda x: x.reshape((16, 4))[:, 1],
    "transposed": lambda x: x.reshape((16, 4)).T,
}


@cuda.jit
def double_all(x):
    i = cuda.grid(1)
    n = x.shape[0]
    m = x.size // n
    if i < n * m:
        x[i // m, i % m] *= 2


@cuda.jit
def double_line(x):
    i = cuda.grid(1)
    if i < x.shape[0]:
        x[i] *= 2


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_view_is_written_and_what_lies_between_is_not(layout):
    """The strides of the view are used."""
    x = np.arange(64, dtype="f4")
    there = cuda.to_device(x)
    view = LAYOUTS[layout](there)
    (double_line if view.ndim == 1 else double_all)[1, 64](view)
    expected = LAYOUTS[layout](x)
    expected *= 2

    assert is_same(on_host(there), x)


def test_a_launch_returns_before_the_kernel_runs():
    """The kernel is enqueued on the stream that is passed."""
    stream = cuda.stream()
    x = cuda.to_device(np.zeros(64, "f4"), stream=stream)
    add_one[1, 64, stream](x)  # loaded
    stream.synchronize()
    event = cuda.event()

    with Gate(stream):
        add_one[1, 64, stream](x)
        event.record(stream)
        assert not event.query()
    assert on_host(x).tolist() == [2.0] * 64


@pytest.fixture
def loaded():
    """Load the kernels in advance, since loading may wait for all running work."""
    x = cuda.to_device(np.zeros(64, "f4"))
    add_one[1, 64](x)
    copy_into[1, 64](x, x)
    cuda.synchronize()


@pytest.mark.usefixtures("loaded")
def test_a_launch_waits_for_the_stream_of_an_array():
    """Work may be pending on the stream of the array."""
    first, second = cuda.stream(), cuda.stream()
    x = cuda.to_device(np.zeros(64, "f4"), stream=first)
    out = cuda.device_array(64, "f4", stream=second)

    with Gate(first):
        add_one[1, 64, first](x)
        copy_into[1, 64, second](x, out)
    assert on_host(out).tolist() == [1.0] * 64


@pytest.mark.usefixtures("loaded")
def test_the_stream_of_an_array_waits_for_a_launch_elsewhere():
    """A consumer must make the producer's stream wait."""
    first, second = cuda.stream(), cuda.stream()
    x = cuda.to_device(np.zeros(64, "f4"), stream=first)
    out = cuda.device_array(64, "f4", stream=first)

    with Gate(second):
        add_one[1, 64, second](x)
        copy_into[1, 64, first](x, out)
    assert on_host(out).tolist() == [1.0] * 64


def test_an_array_that_is_freed_at_once_is_used_before():
    """Memory of this package is freed when the work on it is done."""
    stream = cuda.stream()
    out = cuda.device_array(1 << 16, "f4", stream=stream)
    x = cuda.to_device(np.ones(1 << 16, "f4"), stream=stream)
    copy_into[256, 256, stream](x, out)
    del x
    other = cuda.to_device(np.zeros(1 << 16, "f4"))

    assert on_host(out).tolist() == [1.0] * (1 << 16)
    del other


@cuda.jit
def compare_lesser(x, y, least, is_second):
    i = cuda.grid(1)
    if i < x.shape[0]:
        a, b = x[i], y[i]
        c = a if a < b else b  # noqa: FURB136 - kernels have no min
        least[i] = c
        is_second[i] = 1 if c == b else 0


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_the_lesser_of_two_is_compared_by_its_own_bits(dtype):
    """NVIDIA's assembler would compare other bits for 16-bit types."""
    limits = np.iinfo(dtype)
    numbers = np.array([limits.min, limits.max, 0, 1, 9, 100, limits.max - 1], dtype)
    x, y = (each.ravel() for each in np.meshgrid(numbers, numbers))
    least, is_second = cuda.device_array(x.size, dtype), cuda.device_array(x.size, "i4")
    compare_lesser[1, 64](cuda.to_device(x), cuda.to_device(y), least, is_second)

    assert on_host(least).tolist() == np.minimum(x, y).tolist()
    assert on_host(is_second).tolist() == (np.minimum(x, y) == y).tolist()


@cuda.jit
def negate(x, wide, is_small):
    i = cuda.grid(1)
    if i < x.shape[0]:
        y = -x[i]
        wide[i] = y
        is_small[i] = 1 if y < 5 else 0


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8"])
def test_the_opposite_of_the_lowest_number_is_itself(dtype):
    """This holds if the result is widened or compared as well."""
    limits = np.iinfo(dtype)
    x = np.array([limits.min, limits.min + 1, limits.max, -5, 0, 4], dtype)
    wide, is_small = cuda.device_array(x.size, "i8"), cuda.device_array(x.size, "i4")
    negate[1, 32](cuda.to_device(x), wide, is_small)

    assert on_host(wide).tolist() == (-x).tolist()
    assert on_host(is_small).tolist() == (-x < 5).tolist()


NUMBERS = {
    "bool": True, "int8": -7, "uint8": 200, "int16": -3000, "uint16": 60000, "int32": -(2**31),
    "uint32": 2**32 - 1, "int64": -(2**63), "uint64": 2**64 - 1, "float32": 1.5,
    "float64": 1e-300, "complex64": 1 - 2j, "complex128": 1e200 + 3j,
}  # fmt: skip


@cuda.jit
def set_first(x, value):
    x[0] = value


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_every_type_arrive(name):
    """The values are passed bit by bit, between two others."""
    dtype = np.dtype(name)
    x = cuda.to_device(np.zeros(1, dtype))
    set_first[1, 1](x, dtype.type(NUMBERS[name]))

    assert on_host(x)[0] == dtype.type(NUMBERS[name])


def test_arrays_on_two_kinds_of_devices_are_refused():
    """No implicit copy is made."""
    with pytest.raises(ix.UnsupportedDeviceError, match=r"\[CPY-ARG-3\]"):
        copy_into[1, 3](np.zeros(3), cuda.to_device(np.zeros(3)))


def test_page_locked_memory_is_taken_where_it_is():
    """Device memory can be passed beside it."""
    x = ix.asarray(np.arange(8, dtype="f4")).to_device("cuda_host")
    out = cuda.device_array(8, "f4")
    copy_into[1, 8](x, out)

    assert on_host(out).tolist() == list(range(8))


def test_managed_memory_is_taken_where_it_is():
    """A launch with managed memory only runs on the GPU."""
    driver = pytest.importorskip("cuda.bindings.driver")
    error, ptr = driver.cuMemAllocManaged(32, 1)
    assert not error
    x = ix.from_pointer(int(ptr), (8,), "float32", device="cuda_managed")
    set_first[1, 1](x, 3)
    cuda.synchronize()

    assert np.from_dlpack(x)[0] == 3
    driver.cuMemFree(ptr)


def test_an_index_out_of_bounds_is_told_with_its_line():
    """The check requires debug mode."""

    @cuda.jit(debug=True)
    def beyond(x):
        x[cuda.grid(1)] = 1

    x = cuda.to_device(np.zeros(8, "f4"))
    beyond[1, 8](x)
    with pytest.raises(cuda.KernelError, match=r"x\[cuda.grid\(1\)\] = 1") as caught:
        beyond[1, 9](x)
    assert caught.value.rule == "CPY-INDEX-3"


@cuda.jit
def shares(x):
    part = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    part[t] = x[0] + t
    cuda.syncthreads()
    if t == 0:
        x[0] = part[int32(x[0])]


def test_shared_memory_that_a_block_does_not_have_is_refused():
    """The limit applies to the kernel's arrays and the launch together."""
    x = cuda.to_device(np.zeros(1, "f4"))
    shares[1, 1, None, 223 * 1024](x)
    with pytest.raises(ix.ArgumentError, match=r"\[CPY-LAUNCH-2\]"):
        shares[1, 1, None, 223 * 1024 + 4](x)


def test_a_read_only_array_is_not_written():
    """The array is refused before the launch is enqueued."""
    x = cuda.to_device(np.zeros(4))
    with ix.borrow(x, stream=1) as borrowed, pytest.raises(ix.ReadOnlyError):
        add_one[1, 4](borrowed)
    assert on_host(x).tolist() == [0] * 4


def test_an_array_without_a_type_is_of_float64_otherwise():
    """Numba has the same default."""
    x = cuda.device_array(4)
    set_first[1, 1](x, 0.5)

    assert (str(x.dtype), on_host(x)[0]) == ("float64", 0.5)


def test_the_time_between_two_events_is_told():
    """The time is in milliseconds."""
    first, second = cuda.event(), cuda.event()
    stream = cuda.stream()
    first.record(stream)
    add_one[1, 64, stream](cuda.to_device(np.zeros(64), stream=stream))
    second.record(stream)
    second.synchronize()

    assert 0 <= first.elapsed_time(second) < 60_000


def test_a_signature_casts_numbers_on_a_device_too():
    """Numbers are cast to the types of the signature."""

    @cuda.jit(void(float32[::1], int32))
    def put(x, value):
        x[0] = value

    x = cuda.device_array(1, "f4")
    put[1, 1](x, 3)

    assert on_host(x)[0] == 3
