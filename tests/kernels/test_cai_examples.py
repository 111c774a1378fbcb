"""The examples in the specifications of the CUDA Array Interface and of CUDA Python, unchanged.

Source: CUDA Array Interface, version 3; CUDA Python Specification 0.2.  The line that imports
Numba
is changed, and omitted code is added: the decorator of the first example, and the calls that
create streams and use the event.  They run on the CPU without a driver, and on a GPU or the
emulated driver.
"""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from interchange import cuda

pytestmark = pytest.mark.interop

ADD = """
    import cupy
    from interchange import cuda

    @cuda.jit
    def add(x, y, out):
        start = cuda.grid(1)
        stride = cuda.gridsize(1)
        for i in range(start, x.shape[0], stride):
            out[i] = x[i] + y[i]

    a = cupy.arange(10)
    b = a * 2
    out = cupy.zeros_like(a)

    add[1, 32](a, b, out)
"""
INITIALIZE = """
    from interchange import cuda
    from interchange.cuda import int32, void
    import other_cai_library

    @cuda.jit(void, int32[::1])
    def initialize_array(x):
        i = cuda.grid(1)
        if i < len(x):
            x[i] = i

    array_stream = cuda.stream()
    kernel_stream = cuda.stream()

    N = 16384
    x = cuda.device_array(N, stream=array_stream)

    nthreads = 256
    nblocks = N // nthreads

    initialize_array[nthreads, nblocks, kernel_stream](x)

    # Create event
    evt = cuda.event()
    # Record the event after the kernel launch in kernel_stream
    evt.record(kernel_stream)
    # Wait for the event in array_stream
    evt.wait(array_stream)

    other_cai_library.consume(x)
"""


TYPES = """
    from interchange import cuda
    from interchange.cuda import int16, float32

    def a_cuda_kernel(arg):
        must_be_int16 = int16(123)
        must_be_float32 = float32(321)
"""


class Producer:
    """An array of a library that works on a separate stream, as CuPy in the text."""

    made: list[Producer] = []  # noqa: RUF012 - of one test, see `cupy`

    def __init__(self, values, stream):
        self.stream = stream
        self.array = cuda.to_device(values, stream=stream)
        self.made.append(self)

    @property
    def __cuda_array_interface__(self):
        if self.array.device.type == 1:
            raise AttributeError("the memory is on the host")
        return self.array.__cuda_array_interface__

    @property
    def __array_interface__(self):
        return np.asarray(self.array).__array_interface__

    def __mul__(self, factor):
        product = Cupy.zeros_like(self)
        scale[1, 64, self.stream](self.array, factor, product.array)
        return product


@cuda.jit
def scale(x, factor, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i] = x[i] * factor


class Cupy:
    """The functions of the text, on a non-default stream."""

    stream = None

    @classmethod
    def arange(cls, n):
        return Producer(np.arange(n), cls.stream)

    @classmethod
    def zeros_like(cls, x):
        return Producer(np.zeros(x.array.shape, str(x.array.dtype)), x.stream)


class Consumer:
    """A library that only uses the interface, on the published stream."""

    def consume(self, x):
        self.found = values_of(x)


def values_of(x):
    """Return the values that a copy reads after the published stream."""
    return np.asarray(x.to_device("cpu")).tolist()


@pytest.fixture
def cupy(monkeypatch):
    """Return a replacement of CuPy: no default stream waits for the stream of its arrays."""
    monkeypatch.setattr(Producer, "made", [])
    if not cuda.streams.find_driver("a test"):
        monkeypatch.setattr(Cupy, "stream", cuda.stream())
        yield Cupy
        return
    driver = pytest.importorskip("cuda.bindings.driver")
    driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])
    _, stream = driver.cuStreamCreate(1)
    monkeypatch.setattr(Cupy, "stream", int(stream))
    yield Cupy
    cuda.synchronize()
    Producer.made.clear()
    driver.cuStreamDestroy(stream)


def run(text, monkeypatch, **modules):
    """Run an example; return its names."""
    for name, module in modules.items():
        monkeypatch.setitem(__import__("sys").modules, name, module)
    names = {"__name__": "example"}
    text = textwrap.dedent(text)
    file = "<example>"
    __import__("linecache").cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)  # noqa: S102 - the text above
    return names


def test_a_kernel_over_arrays_of_another_library(where, cupy, monkeypatch):  # noqa: ARG001 - as above
    """``add[1, 32](a, b, out)`` has three producers and a consumer."""
    names = run(ADD, monkeypatch, cupy=cupy)

    assert values_of(names["out"].array) == [3 * i for i in range(10)]


def test_a_kernel_on_another_stream_than_the_arrays(where, monkeypatch):
    """The array's stream waits for the event, and then any consumer may use the array."""
    consumer = Consumer()
    names = run(INITIALIZE, monkeypatch, other_cai_library=consumer)

    assert consumer.found == list(range(16384))
    assert (str(names["x"].device) == "cpu") == (where == "CPU")


@pytest.mark.usefixtures("where")
def test_the_types_of_values_can_be_forced(monkeypatch):
    """The kernel uses the type objects for the conversion."""
    kernel = cuda.jit(run(TYPES, monkeypatch)["a_cuda_kernel"])
    kernel[1, 32](cuda.to_device(np.zeros(3)))

    assert kernel.inspect_types(cuda.float64[::1]) == {
        "must_be_int16": [cuda.int16],
        "must_be_float32": [cuda.float32],
    }


# ---------------------------------------------------------------- with a wait removed


@pytest.fixture
def slow(emulator):
    """Return a function that delays all work on a stream."""
    return lambda stream: emulator.delay(stream, 0.005)


@pytest.mark.emulated
def test_the_same_without_our_waits_is_reported(emulator, cupy, slow, monkeypatch):
    """Without any one of the waits of a launch, the detector reports a race."""
    slow(cupy.stream)
    monkeypatch.setattr("interchange.cuda.consumer.order_use", lambda *_: None)
    monkeypatch.setattr("interchange.cuda.consumer.is_settled", lambda *_: False)
    run(ADD, monkeypatch, cupy=cupy)
    cuda.synchronize()

    emulator.expect_reports(match="add")


@pytest.mark.emulated
@pytest.mark.parametrize("missing", ["before", "after"])
def test_the_wait_of_one_direction_is_not_enough(emulator, slow, monkeypatch, missing):
    """The kernel must wait for the array's stream, and that stream for the kernel."""
    from interchange._streams.cuda import CudaDriver

    array_stream, kernel_stream = cuda.stream(), cuda.stream()
    x = cuda.to_device(np.zeros(64, "i8"), stream=array_stream)
    out = cuda.device_array(64, "i8", stream=array_stream)
    scale[1, 64, array_stream](x, 2, out)
    cuda.synchronize()
    slow(array_stream)
    slow(kernel_stream)
    order = CudaDriver.order

    def forgetful(self, producer, consumer, *rest, **named):
        skipped = array_stream if missing == "before" else kernel_stream
        if producer != skipped.handle:
            order(self, producer, consumer, *rest, **named)

    monkeypatch.setattr(CudaDriver, "order", forgetful)
    scale[1, 64, array_stream](out, 3, x)
    scale[1, 64, kernel_stream](x, 2, out)
    scale[1, 64, array_stream](out, 3, x)
    cuda.synchronize()

    emulator.expect_reports(match="scale")


@pytest.mark.emulated
def test_with_both_waits_there_is_nothing_to_report(emulator, slow):
    """The same launches as above are not reported."""
    array_stream, kernel_stream = cuda.stream(), cuda.stream()
    x = cuda.to_device(np.ones(64, "i8"), stream=array_stream)
    out = cuda.device_array(64, "i8", stream=array_stream)
    slow(array_stream)
    slow(kernel_stream)
    scale[1, 64, array_stream](x, 2, out)
    scale[1, 64, kernel_stream](out, 3, x)
    scale[1, 64, array_stream](x, 2, out)

    assert values_of(out) == [12] * 64
    assert emulator.reports() == []


@pytest.mark.emulated
def test_a_consumer_that_waits_for_nothing_is_reported(emulator, slow):
    """As the text warns, the consumer reads while the kernel still runs on another stream."""
    kernel_stream, other = cuda.stream(), cuda.stream()
    x = cuda.as_cuda_array(cuda.to_device(np.zeros(64, "i8")), sync=False)
    out = cuda.as_cuda_array(cuda.to_device(np.zeros(64, "i8")), sync=False)
    cuda.synchronize()
    slow(kernel_stream)
    scale[1, 64, kernel_stream](x, 2, x)
    scale[1, 64, other](x, 2, out)
    cuda.synchronize()

    emulator.expect_reports(match="scale")
