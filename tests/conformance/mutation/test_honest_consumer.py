"""The honest consumer accepts legal input, refuses the rest correctly, and shares memory."""

from __future__ import annotations

import gc
import struct

import numpy as np
import pytest

from interchange_conformance.probes.importing import elements_of
from interchange_conformance.zoo import host, legal, zoo
from mutants._honest_consumer import (
    EVERY_TYPE,
    FORMATS,
    Consumer,
    decode,
    encode,
)
from mutants._honest_host_consumer import HostConsumer

ZOO, LEGAL = zoo(), legal()
RAISERS = [name for name, case in ZOO.items() if case.rule is None]
UNSUPPORTED = {"lanes-2", "lanes-2-legacy", "padded-uint4", "fake-cuda"}
OTHER_CLASSES = {
    "DLP-CAP-1": ValueError,
    "DLP-CAP-2": ValueError,
    "DLP-CAP-3": TypeError,
    "DLP-NEG-1": AttributeError,
}


@pytest.fixture
def consumer():
    """Return the consumer."""
    return Consumer()


@pytest.mark.parametrize(
    "name",
    [name for name, case in ZOO.items() if case.rule not in {None, "DLP-DEV-3"}],
)
def test_it_refuses_the_zoo(consumer, name):
    """Each case is refused with the expected class, and its tensor is released."""
    case = ZOO[name]
    source = case.make()

    with pytest.raises(OTHER_CLASSES.get(case.rule, BufferError)) as caught:
        consumer.take(source)

    del caught
    gc.collect()
    assert source.deleter_calls == case.releases


@pytest.mark.parametrize("name", RAISERS)
def test_it_lets_errors_through(consumer, name):
    """Errors of the producer are not changed."""
    source = ZOO[name].make()
    due = source.manners.raises or source.manners.device_raises

    with pytest.raises(type(due)) as caught:
        consumer.take(source)

    assert caught.value is due


@pytest.mark.parametrize("name", sorted(set(LEGAL) - UNSUPPORTED))
def test_it_takes_what_is_legal(consumer, name):
    """The elements are read correctly, and the tensor is released with the array."""
    source = LEGAL[name].make()
    y = consumer.take(source)

    assert consumer.read(y) == elements_of(source)
    del y
    assert source.deleter_calls == LEGAL[name].releases


@pytest.mark.parametrize("name", sorted(UNSUPPORTED))
def test_it_refuses_what_it_has_no_arrays_for(consumer, name):
    """Legal arrays that it does not support raise BufferError."""
    source = LEGAL[name].make()

    with pytest.raises(BufferError):
        consumer.take(source)

    assert set(source.counts) <= {1}


@pytest.mark.parametrize("element", FORMATS, ids=str)
def test_it_reads_what_it_writes(element):
    """The value 1 is written and read in each element type."""
    assert decode(encode(1, element), element) == 1


def test_it_shares_memory_with_numpy(consumer):
    """Memory is shared in both directions."""
    x = np.arange(6, dtype="f4").reshape(2, 3)
    y = consumer.take(x)
    z = np.from_dlpack(y)
    x[0, 0] = 7

    assert consumer.read(y)[0] == 7
    assert z[0, 0] == 7
    consumer.write(y)
    assert x[0, 0] == 1


def test_what_it_hands_on_is_kept_until_it_is_released(consumer):
    """The array in between may be freed before."""
    source = host()
    z = np.from_dlpack(consumer.take(source))
    consumer.sweep()
    before = source.deleter_calls

    del z
    consumer.sweep()

    assert (before, source.deleter_calls) == (0, 1)


def test_it_keeps_the_read_only_flag(consumer):
    """NumPy makes a read-only array of the versioned struct, and refuses the legacy one."""
    x = np.arange(3.0)
    x.flags.writeable = False
    y = consumer.take(x)

    assert not np.from_dlpack(y).flags.writeable
    with pytest.raises(BufferError):
        y.__dlpack__()
    with pytest.raises(BufferError):
        consumer.write(y)


def test_a_container_keeps_the_device():
    """The memory is not read if the host cannot access it."""
    container = Consumer(EVERY_TYPE)
    y = container.take(LEGAL["fake-cuda"].make())

    assert y.__dlpack_device__() == (2, 0)
    with pytest.raises(BufferError):
        container.read(y)


def test_a_copy_is_asked_of_the_producer(consumer):
    """The copy belongs to the array."""
    source = host()
    y = consumer.take(source, copy=True)
    source.memory.view()[:4] = struct.pack("=f", 7)

    assert consumer.read(y)[0] == 0


# ---------------------------------------------------------------- host memory


def test_it_takes_arrays_of_numpy_by_their_buffer():
    """All element types with a format and all strides are accepted."""
    consumer = HostConsumer()
    for dtype in ("?", "i1", "u2", "i4", "u8", "f2", "f4", "f8"):
        x = np.arange(6).astype(dtype).reshape(2, 3)[:, ::-1]
        y = consumer.take_buffer(x)
        assert consumer.read(y) == x.ravel().tolist()


def test_it_takes_arrays_of_numpy_by_their_record():
    """The array is kept alive meanwhile."""
    consumer = HostConsumer()
    for dtype in ("?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"):
        x = np.arange(6).astype(dtype).reshape(3, 2).T
        y = consumer.take_array_interface(x)
        assert y.owner is x
        assert consumer.read(y) == x.ravel().tolist()


@pytest.mark.parametrize(
    "x",
    [
        np.zeros(3, ">f4"),
        np.zeros(3, "f4,i4"),
        np.zeros(3, "M8[s]"),
        np.zeros(9, "u1")[:8].view("V8"),
        np.frombuffer(bytes(12), "u1")[:10].view("u1")[:9].reshape(3, 3)[:, :2].view("u2"),
    ],
    ids=["order", "fields", "times", "void", "steps"],
)
def test_it_refuses_records_of_other_elements(x):
    """The error is a BufferError."""
    with pytest.raises(BufferError):
        HostConsumer().take_array_interface(x)
