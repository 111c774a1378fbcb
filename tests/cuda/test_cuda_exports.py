"""`to_cai` and ``Array.__cuda_array_interface__``: version 3 with the correct stream, or 2."""

from __future__ import annotations

import gc
import weakref

import pytest

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]


@pytest.fixture
def array(cuda):
    """Return an Array on the first device, without pending work."""
    return ix.from_pointer(cuda.memory(), (4, 8), "float32", device="cuda:0")


def stream_of(x):
    """Return the stream that an object publishes."""
    return x.__cuda_array_interface__["stream"]


# ---------------------------------------------------------------- the record


def test_the_record_describes_the_memory(array):
    """The record has every key, and no other."""
    assert array.__cuda_array_interface__ == {
        "shape": (4, 8),
        "typestr": "<f4",
        "data": (array.ptr, False),
        "strides": None,
        "version": 3,
        "stream": None,
    }


def test_strides_are_told_in_bytes(array):
    """Strides are in bytes, and given if the array is not in C order."""
    assert array[:, ::-2].__cuda_array_interface__["strides"] == (32, -8)
    assert array[:, ::-2].__cuda_array_interface__["data"][0] == array.ptr + 28


def test_an_empty_array_has_address_0(array):
    """CAI: the address of zero-size arrays is 0."""
    assert array[:0].__cuda_array_interface__["data"] == (0, False)


@pytest.mark.parametrize("x", [b"abc", bytearray(3)], ids=["read-only", "writable"])
def test_host_arrays_do_not_have_the_attribute(x):
    """``hasattr`` returns False (P92)."""
    assert not hasattr(ix.asarray(x), "__cuda_array_interface__")


def test_element_types_without_a_name_have_no_record(cuda):
    """``hasattr`` returns False; the error of `to_cai` states why."""
    array = ix.from_pointer(cuda.memory(), (4,), "float8_e4m3fn", device="cuda:0")

    assert not hasattr(array, "__cuda_array_interface__")
    with pytest.raises(ix.UnsupportedDTypeError) as caught:
        ix.to_cai(array)
    assert caught.value.rule == "CAI-TYPESTR-2"


def test_bfloat16_is_two_bytes_and_comes_back(cuda):
    """The record is as in torch; the dtype of the view gives the element type."""
    array = ix.from_pointer(cuda.memory(), (4,), "bfloat16", device="cuda:0")
    view = ix.to_cai(array)

    assert view.__cuda_array_interface__["typestr"] == "<V2"
    assert ix.from_cai(view).dtype.name == "bfloat16"


def test_unknown_writability_is_told_as_read_only(cuda):
    """The memory is exported as writable only if the caller requests it."""
    made = ix.from_pointer(cuda.memory(), (4,), "float32", device="cuda:0")
    legacy = made.__dlpack__(stream=-1)
    array = ix.from_dlpack(legacy, stream=-1)

    assert array.readonly is None
    assert array.__cuda_array_interface__["data"][1] is True


# ---------------------------------------------------------------- selected stream


def test_an_array_publishes_where_its_work_is_pending(cuda, produce):
    """The published stream is the producer's, not a stream of this package."""
    producer = produce(cuda.stream())

    assert stream_of(ix.from_cai(producer)) == producer.published


def test_an_idle_array_publishes_none(array):
    """No work is pending."""
    assert stream_of(array) is None
    assert stream_of(ix.to_cai(array)) is None


def test_a_named_stream_is_published_and_waits(cuda, produce):
    """The consumer may enqueue on the stream at once."""
    producer, stream = produce(cuda.stream()), cuda.stream()
    shut = producer.write_behind_gate(7)

    view = ix.to_cai(ix.from_cai(producer), stream=stream)
    published = stream_of(view)

    assert published == stream
    assert cuda.read_around(shut, producer.ptr, published) == ({0}, {7})


@pytest.mark.parametrize("generation", [None, (1, 1)], ids=["dltensor", "dltensor_versioned"])
@pytest.mark.parametrize("stream", [None, 1, 2, "own"])
def test_a_capsule_of_either_name_is_taken(cuda, array, generation, stream):
    """The stream is the one for which the capsule was made, by default the legacy stream."""
    stream = cuda.stream() if stream == "own" else stream
    capsule = ix.to_capsule(array, stream=-1, max_version=generation)
    view = ix.to_cai(capsule, stream=stream)

    assert stream_of(view) == (1 if stream is None else stream)
    assert view.__cuda_array_interface__["data"][0] == array.ptr


def test_a_capsule_made_without_order_needs_a_word(array):
    """With -1 the caller states that no work is pending."""
    view = ix.to_cai(ix.to_capsule(array, stream=-1, max_version=(1, 1)), stream=-1)

    assert stream_of(view) is None


def test_a_consumed_capsule_is_refused(array):
    """A capsule can be consumed once."""
    capsule = ix.to_capsule(array, stream=-1, max_version=(1, 1))
    ix.to_cai(capsule)
    with pytest.raises(ix.ConsumedCapsuleError):
        ix.to_cai(capsule)


def test_a_dlpack_producer_is_asked_for_the_published_stream(cuda):
    """``__dlpack__(stream=s)`` is called, and s is published."""
    asked = []
    made = ix.from_pointer(cuda.memory(), (4,), "float32", device="cuda:0")

    class Theirs:
        def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
            asked.append(stream)
            return made.__dlpack__(stream=-1, max_version=max_version)

        def __dlpack_device__(self):
            return (2, 0)

    stream = cuda.stream()
    views = [ix.to_cai(Theirs()), ix.to_cai(Theirs(), stream=stream)]

    assert asked == [1, stream]
    assert [stream_of(view) for view in views] == [1, stream]


def test_version_2_is_synchronised_first(cuda, produce):
    """A version 2 record cannot express pending work; the host waits when the record is read."""
    producer = produce(cuda.stream())
    producer.write(7)
    record = ix.to_cai(ix.from_cai(producer), version=2).__cuda_array_interface__

    assert (record["version"], "stream" in record) == (2, False)
    assert cuda("cuStreamQuery", producer.published) == []


INVALID = [{"version": version} for version in (-1, 0, 1, 4, True, "3", None)]
INVALID += [{"stream": stream} for stream in (0, -2, True, "7", 2.0)]


@pytest.mark.parametrize("argument", INVALID, ids=str)
def test_an_invalid_argument_is_refused(array, argument):
    """Versions 0 and 1 have fewer keys than 2, and version 4 does not exist."""
    with pytest.raises(ix.StreamError if "stream" in argument else ix.ArgumentError) as caught:
        ix.to_cai(array, **argument)
    assert "version" not in argument or caught.value.rule == "IX-ARGUMENT-1"


@pytest.mark.parametrize("x", [b"abc", [1, 2]], ids=["host", "list"])
def test_what_is_not_on_a_device_is_refused(x):
    """The rule is CAI-DEV-1, or the object has no protocol."""
    with pytest.raises((ix.UnsupportedDeviceError, ix.NoProtocolError)):
        ix.to_cai(x)


# ---------------------------------------------------------------- lifetimes


def test_the_view_owns_the_memory(cuda):
    """The deleter runs when the view is freed, and not before."""
    owner = cuda.Owner()
    gone = weakref.ref(owner)
    made = ix.from_pointer(cuda.memory(), (4,), "float32", device="cuda:0", owner=owner)
    view = ix.to_cai(made.__dlpack__(stream=-1, max_version=(1, 1)))
    del owner, made
    gc.collect()
    alive = gone() is not None
    del view
    gc.collect()

    assert (alive, gone()) == (True, None)


# ---------------------------------------------------------------- other memory


@pytest.mark.parametrize("device", ["cuda_managed", "cuda_host"])
def test_memory_that_devices_reach_has_a_record(cuda, device):
    """The address of page-locked memory is the host's, under unified addressing."""
    memory = cuda.managed() if device == "cuda_managed" else cuda.pinned()
    array = ix.from_pointer(memory, (4,), "float32", device=device)

    assert array.__cuda_array_interface__["data"] == (array.ptr, False)


def test_managed_memory_is_read_by_the_host_after_a_wait(cuda, produce):
    """Data that a device still writes is not read (P66)."""
    producer = produce(cuda.stream())
    producer.ptr = cuda.managed()
    producer.write(7)

    assert set(ix.from_cai(producer).tolist()) == {7}


def test_a_managed_array_on_the_host_shares_the_memory(cuda, produce):
    """With ``dl_device`` of the host, the export waits and shares the memory."""
    producer = produce(cuda.stream())
    producer.ptr = cuda.managed()
    producer.write(7)
    array = ix.from_dlpack(ix.from_cai(producer).__dlpack__(max_version=(1, 1), dl_device=(1, 0)))

    assert (str(array.device), array.ptr, set(array.tolist())) == ("cpu", producer.ptr, {7})


@pytest.mark.parametrize("kind", ["pinned", "managed"])
def test_memory_that_both_reach_can_be_ordered_too(cuda, produce, kind):
    """DLPack sends no stream for page-locked memory, but streams can use it."""
    producer, stream = produce(cuda.stream()), cuda.stream()
    producer.ptr, target = getattr(cuda, kind)(), cuda.memory()
    shut = producer.write_behind_gate(7)

    array = ix.from_cai(producer, stream=stream)
    cuda.copy(target, array.ptr, stream)
    shut.open()

    assert (set(array.tolist()), cuda.read(target)) == ({7}, {7})
    assert stream_of(array) == stream


def test_one_method_makes_a_class_speak_every_protocol(cuda):
    """`Producer` on a device: the record has its stream, and `borrow` returns the memory to it."""

    class Samples(ix.Producer):
        def __init__(self, stream):
            self.stream, self.ptr = stream, cuda.memory()

        def __interchange__(self):
            return ix.from_pointer(
                self.ptr, (4096,), "uint8", device="cuda:0", stream=self.stream, owner=self
            )

    samples, stream = Samples(cuda.stream()), cuda.stream()
    cuda.fill(samples.ptr, 1, samples.stream)
    with ix.borrow(samples, stream=stream, writable=True) as array:
        cuda.fill(array.ptr, 2, stream)
    cuda.fill(samples.ptr, 3, samples.stream, 2048)

    assert stream_of(samples) == samples.stream
    assert cuda.read(samples.ptr) == {2, 3}
    assert samples.__dlpack_device__() == (2, 0)
