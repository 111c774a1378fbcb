"""CuPy, PyTorch, JAX and numba-cuda on a GPU: both directions, on non-default streams.

These tests need the kernels of the libraries, so they only run with ``--cuda=real``; a library
that is not installed, or finds no device, is skipped with the reason.  A gate holds the
producer's stream, so that a missing wait is detected whatever the timing.
"""

from __future__ import annotations

import pytest

import interchange as ix

pytestmark = pytest.mark.gpu

COUNT = 1 << 20


class Torch:
    """PyTorch: the work of a tensor is on the current stream."""

    def __init__(self):
        self.torch = pytest.importorskip("torch")
        if not self.torch.cuda.is_available():
            pytest.skip("this PyTorch finds no CUDA device")

    def stream(self):
        """Return a stream and its handle."""
        stream = self.torch.cuda.Stream()
        return stream, stream.cuda_stream

    def on(self, stream):
        """Make a stream current."""
        return self.torch.cuda.stream(stream)

    def zeros(self):
        """Return an array of zeros without pending work."""
        x = self.torch.zeros(COUNT, dtype=self.torch.float32, device="cuda")
        self.torch.cuda.synchronize()
        return x

    def fill(self, x, value):
        """Enqueue a write."""
        x.fill_(value)

    def take(self, array):
        """Import an Array on the current stream."""
        return self.torch.from_dlpack(array)

    def copy(self, x):
        """Enqueue a read."""
        return x.clone()

    def values(self, x):
        """Return the values when all work is done."""
        self.torch.cuda.synchronize()
        return set(x.unique().tolist())


class Cupy:
    """CuPy, with the same methods for the current stream."""

    def __init__(self):
        self.cupy = pytest.importorskip("cupy")
        try:
            self.cupy.cuda.runtime.getDeviceCount()
        except Exception as error:  # noqa: BLE001 - whatever it says is the reason
            pytest.skip(f"CuPy finds no CUDA device: {error}")

    def stream(self):
        """Return a stream and its handle."""
        stream = self.cupy.cuda.Stream(non_blocking=True)
        return stream, stream.ptr

    def on(self, stream):
        """Make a stream current."""
        return stream

    def zeros(self):
        """Return an array of zeros without pending work."""
        x = self.cupy.zeros(COUNT, "float32")
        self.cupy.cuda.Device().synchronize()
        return x

    def fill(self, x, value):
        """Enqueue a write."""
        x.fill(value)

    def take(self, array):
        """Import an Array on the current stream."""
        return self.cupy.from_dlpack(array)

    def copy(self, x):
        """Enqueue a read."""
        return x.copy()

    def values(self, x):
        """Return the values when all work is done."""
        self.cupy.cuda.Device().synchronize()
        return set(self.cupy.unique(x).tolist())


LIBRARIES = {"torch": Torch, "cupy": Cupy}


@pytest.fixture(params=LIBRARIES)
def library(request, cuda_driver):
    """Return a library, or skip the test with the reason."""
    assert cuda_driver == "real"
    found = LIBRARIES[request.param]()
    _warm_up(found)
    return found


def _warm_up(library):
    """Load and allocate in advance: both may wait for the device, and so for a gate."""
    x = library.zeros()
    stream, _ = library.stream()
    with library.on(stream):
        library.fill(x, 1)
        library.copy(library.take(ix.from_dlpack(x)))
    library.values(x)


@pytest.fixture
def hold():
    """Return a function that holds a stream."""
    from interchange_conformance.emucuda.gates import Gate

    return Gate


def test_a_library_hands_over_on_another_stream(library, hold):
    """Our stream sees the library's write."""
    (producer, handle), (consumer, theirs) = library.stream(), library.stream()
    x = library.zeros()
    shut = hold(handle)
    with library.on(producer):
        library.fill(x, 7)
        array = ix.from_dlpack(x, stream=theirs)
    with library.on(consumer):
        copied = library.copy(library.take(array))
    shut.open()

    assert library.values(copied) == {7.0}


def test_a_library_is_handed_an_array_that_is_busy_elsewhere(library, hold):
    """An Array that is ready on one stream is imported on another, and that stream waits."""
    (producer, handle), (consumer, _) = library.stream(), library.stream()
    x = library.zeros()
    shut = hold(handle)
    with library.on(producer):
        library.fill(x, 7)
        array = ix.from_dlpack(x, stream=handle)
    with library.on(consumer):
        copied = library.copy(library.take(array))
    shut.open()

    assert library.values(copied) == {7.0}


def test_a_loan_hands_back(library, hold):
    """The library sees what our stream wrote."""
    (producer, handle), (consumer, theirs) = library.stream(), library.stream()
    x = library.zeros()
    shut = hold(theirs)
    with library.on(producer):
        loan = ix.borrow(x, stream=theirs, writable=True, back=handle)
    with loan as array, library.on(consumer):
        library.fill(library.take(array), 9)
    with library.on(producer):
        copied = library.copy(x)
    shut.open()

    assert library.values(copied) == {9.0}


def test_the_cuda_array_interface_is_taken_too(library, hold):
    """The library publishes a record of its memory."""
    (producer, handle), (consumer, theirs) = library.stream(), library.stream()
    x = library.zeros()
    shut = hold(handle)
    with library.on(producer):
        library.fill(x, 7)
        array = ix.from_cai(x, stream=theirs, unsynced="legacy")
        if x.__cuda_array_interface__["version"] < 3:  # it publishes no stream: explicit order
            array = ix.from_dlpack(x, stream=theirs)
    with library.on(consumer):
        copied = library.copy(library.take(array))
    shut.open()

    assert library.values(copied) == {7.0}


def test_a_round_trip_keeps_the_memory(library):
    """The address, the shape and the values are unchanged."""
    x = library.zeros()
    library.fill(x, 3)
    stream, _ = library.stream()
    with library.on(stream):
        again = library.take(ix.from_dlpack(x))

    assert ix.from_dlpack(again).ptr == ix.from_dlpack(x).ptr
    assert library.values(again) == {3.0}


def test_jax_hands_over_and_takes():
    """JAX orders its own streams; the stream passed to it is that of our read."""
    jax = pytest.importorskip("jax")
    try:
        device = jax.devices("gpu")[0]
    except RuntimeError as error:
        pytest.skip(f"JAX finds no CUDA device: {str(error).splitlines()[0]}")
    x = jax.device_put(jax.numpy.full((COUNT,), 7.0, "float32"), device)

    array = ix.from_dlpack(x, stream=1)
    host = array.to_device("cpu")
    again = ix.convert(ix.from_dlpack(x, stream=1), "jax")

    assert set(host.tolist()) == {7.0}
    assert float(again.sum()) == 7.0 * COUNT


@pytest.mark.filterwarnings("ignore:The 'generic' unit:DeprecationWarning")  # numba with NumPy 2.5
def test_numba_kernels_run_on_borrowed_memory():
    """A kernel runs on our stream, and the producer's next kernel after it."""
    pytest.importorskip("numba")
    np = pytest.importorskip("numpy")
    from numba import cuda

    if not cuda.is_available():
        pytest.skip("numba-cuda finds no CUDA device")

    @cuda.jit
    def add(x, amount):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += amount

    producer, consumer = cuda.stream(), cuda.stream()
    x = cuda.device_array(COUNT, "float32", stream=producer)
    x.copy_to_device(np.ones(COUNT, "float32"), stream=producer)
    with ix.borrow(x, stream=consumer, writable=True) as array:
        view = cuda.as_cuda_array(ix.to_cai(array), sync=False)
        add[COUNT // 256, 256, consumer](view, 2.0)
    add[COUNT // 256, 256, producer](x, 4.0)

    assert set(x.copy_to_host(stream=producer).tolist()) == {7.0}
