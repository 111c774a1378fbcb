"""Pickles and frames of device memory: by way of the host, after pending work, and back again."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import interchange as ix

pytestmark = pytest.mark.emulated

NUMBERS = np.arange(12.0).reshape(3, 4)
VIEWS = {
    "in C order": lambda array: array,
    "in F order": lambda array: array.T,
    "columns": lambda array: array[:, ::2],
    "reversed": lambda array: array[::-1],
    "without axes": lambda array: array[1, 1],
    "without elements": lambda array: array[:0],
    "broadcast": lambda array: array[:1].broadcast_to((5, 4)),
}

WITHOUT_DRIVER = """
import json, pickle, sys

sys.modules["cuda.bindings"] = None  # no driver, on whatever machine this is
try:
    array = pickle.loads(bytes.fromhex(sys.argv[1]))
except Exception as error:
    says_so = "INTERCHANGE_LOAD_DEVICE=cpu" in str(error)
    print(json.dumps([type(error).__name__, error.rule, says_so]))
else:
    print(json.dumps([str(array.device), array.tolist(), array.readonly]))
"""


@pytest.fixture(params=VIEWS)
def on_device(request):
    """Return device memory in each layout."""
    return VIEWS[request.param](ix.asarray(NUMBERS).to_device("cuda:0"))


@pytest.fixture
def stream():
    """Return a stream that no default stream waits for."""
    driver = pytest.importorskip("cuda.bindings.driver")
    ix.asarray(NUMBERS).to_device("cuda:0")  # makes the device's context
    with_context = driver.cuDevicePrimaryCtxRetain(0)[1]
    driver.cuCtxSetCurrent(with_context)
    _, made = driver.cuStreamCreate(1)
    yield driver, int(made)
    driver.cuStreamDestroy(made)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_device_memory_comes_back_on_its_device(on_device, same, protocol):
    """Elements, type, shape, rights and device survive."""
    assert same(pickle.loads(pickle.dumps(on_device, protocol)), on_device)


def test_bytes_out_of_band_are_the_size_of_the_elements(on_device):
    """The copy on the host is what is sent, once."""
    buffers = []
    pickle.dumps(on_device, 5, buffer_callback=buffers.append)

    assert [buffer.raw().nbytes for buffer in buffers] == [on_device.nbytes]


def test_the_order_of_device_memory_survives():
    """Columns stay columns."""
    array = ix.asarray(NUMBERS).to_device("cuda:0").T

    assert pickle.loads(pickle.dumps(array)).strides == array.strides


@pytest.mark.parametrize("readonly", [False, True])
def test_the_right_to_write_device_memory_survives(readonly):
    """The flag does not depend on the memory that is sent."""
    owner = ix.asarray(NUMBERS).to_device("cuda:0")
    array = ix.from_pointer(
        owner.ptr, (3, 4), "float64", device="cuda:0", owner=owner, readonly=readonly
    )

    assert pickle.loads(pickle.dumps(array)).readonly is readonly


def test_a_pickle_waits_for_the_work_that_is_pending(stream, emulator):
    """Memory with pending writes on a stream is pickled after them."""
    driver, handle = stream
    owner = ix.asarray(bytes(4096)).to_device("cuda:0")
    driver.cuCtxSynchronize()
    emulator.delay(handle, 0.05)
    driver.cuMemsetD8Async(owner.ptr, 7, owner.nbytes, handle)
    array = ix.from_pointer(
        owner.ptr, owner.shape, "uint8", device="cuda:0", owner=owner, stream=handle
    )

    again = pickle.loads(pickle.dumps(array))

    assert set(again.to_device("cpu").tolist()) == {7}


def test_the_environment_says_where_arrays_come_back(monkeypatch):
    """A process without that device, or with others, loads where it can."""
    pickled = pickle.dumps(ix.asarray(NUMBERS).to_device("cuda:0"))
    monkeypatch.setenv("INTERCHANGE_LOAD_DEVICE", "cpu")

    again = pickle.loads(pickled)

    assert (str(again.device), again.tolist()) == ("cpu", NUMBERS.tolist())


def test_the_environment_moves_no_host_memory(monkeypatch):
    """The variable applies to device memory only."""
    monkeypatch.setenv("INTERCHANGE_LOAD_DEVICE", "cuda:0")

    assert str(pickle.loads(pickle.dumps(ix.asarray(NUMBERS))).device) == "cpu"


def test_a_device_that_is_not_here_is_an_error(monkeypatch):
    """The error has the device of the array, and says how to load it on the host."""
    pickled = pickle.dumps(ix.asarray(NUMBERS).to_device("cuda:0"))
    monkeypatch.setenv("INTERCHANGE_LOAD_DEVICE", "cuda:77")

    with pytest.raises(ix.ExchangeError, match=r"was on cuda:0.*INTERCHANGE_LOAD_DEVICE=cpu"):
        pickle.loads(pickled)


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, ["DriverUnavailableError", "IX-DRIVER-1", True]),
        ({"INTERCHANGE_LOAD_DEVICE": "cpu"}, ["cpu", NUMBERS.tolist(), False]),
    ],
)
def test_a_process_without_a_driver_loads_on_the_host_or_not(run_isolated, env, expected):
    """It is an error unless the host is requested: the elements are in the pickle."""
    pickled = pickle.dumps(ix.asarray(NUMBERS).to_device("cuda:0"))

    assert json.loads(run_isolated(WITHOUT_DRIVER, pickled.hex(), env=env)) == expected


@pytest.mark.interop
def test_frames_of_device_memory_are_staged_on_the_host(on_device, same):
    """The family ``dask`` sends the elements once, and brings them back to the device."""
    protocol = pytest.importorskip("distributed.protocol")

    header, frames = protocol.serialize(on_device)

    assert (header["serializer"], [frame.nbytes for frame in frames]) in [
        ("dask", [on_device.nbytes]),
        ("dask", [32]),  # of repeated elements one each
    ]
    assert same(protocol.deserialize(header, frames), on_device)


@pytest.mark.interop
def test_the_family_cuda_hands_out_device_memory_itself(on_device, same):
    """A transport for device memory receives the address of the memory itself."""
    protocol = pytest.importorskip("distributed.protocol")

    header, (frame,) = protocol.serialize(on_device, serializers=("cuda", "dask"))

    assert header["serializer"] == "cuda"
    assert frame.__cuda_array_interface__["shape"] == (on_device.nbytes,)
    assert same(protocol.deserialize(header, [frame]), on_device)


@pytest.mark.interop
def test_the_family_cuda_copies_nothing_that_is_dense():
    """Contiguous device arrays are not copied: the address is the same after a round trip."""
    protocol = pytest.importorskip("distributed.protocol")
    array = ix.asarray(NUMBERS).to_device("cuda:0")

    again = protocol.deserialize(*protocol.serialize(array, serializers=("cuda",)))

    assert again.ptr == array.ptr


@pytest.mark.interop
def test_the_family_cuda_leaves_host_memory_to_the_next():
    """The serialiser "cuda" handles devices only, and leaves host memory to the next one."""
    protocol = pytest.importorskip("distributed.protocol")

    header, _ = protocol.serialize(ix.asarray(NUMBERS), serializers=("cuda", "dask"))

    assert header["serializer"] == "dask"


@pytest.mark.interop
def test_equal_device_arrays_have_equal_tokens():
    """Dask identifies equal arrays by their elements."""
    tokenize = pytest.importorskip("dask.tokenize").tokenize
    array = ix.asarray(NUMBERS).to_device("cuda:0")

    assert tokenize(array) == tokenize(array.copy())
    assert tokenize(array) != tokenize(array.to_device("cpu"))
