"""`from_cai`: valid and invalid records of every version, with real addresses."""

from __future__ import annotations

import ctypes
import gc
import weakref

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

BYTES = 4096


def refusal(call, kind):
    """Return the rule id of the error of a class that a call raises."""
    with pytest.raises(kind) as caught:
        call()
    assert f"[{caught.value.rule}]" in str(caught.value)
    return caught.value.rule


# ---------------------------------------------------------------- accepted input


@pytest.mark.parametrize("version", [..., None, 0, 1, 2, 3, 4], ids=repr)
@pytest.mark.parametrize("strides", [..., None, (32, 4)], ids=repr)
@pytest.mark.parametrize("others", [..., None], ids=["absent", "None"])
def test_every_version_is_taken(record, version, strides, others):
    """Optional keys may be absent or None; a missing version counts as 0."""
    keys = {"stream": others, "mask": others, "descr": others}
    array = ix.from_cai(record(version=version, strides=strides, **keys))

    assert (array.shape, array.strides, array.dtype.name) == ((4, 8), (8, 1), "float32")


@pytest.mark.parametrize("strides", [(64, 4), (4, 16), (0, 4), (64, 8)])
def test_byte_strides_become_elements(record, strides):
    """Strides are exact, also if rows overlap or have gaps."""
    assert ix.from_cai(record(strides=strides)).strides == tuple(step // 4 for step in strides)


def test_negative_strides_reach_below_the_address(cuda, record):
    """The bounds are those of the elements, not of the address."""
    ptr = cuda.memory(BYTES)
    array = ix.from_cai(record(shape=(8,), data=(ptr + 28, False), strides=(-4,)))

    assert (array.strides, array.ptr) == ((-1,), ptr + 28)


def test_strides_of_an_axis_of_one_do_not_count(record):
    """They need not be multiples of the element size."""
    assert ix.from_cai(record(shape=(1, 8), strides=(3, 4))).shape == (1, 8)


def test_a_record_without_axes_is_a_scalar(record):
    """A record of shape () has one element."""
    array = ix.from_cai(record(shape=()))

    assert (array.shape, array.size) == ((), 1)


@pytest.mark.parametrize("data", [(0, False), (12345, False), (None, True)], ids=repr)
def test_an_empty_record_is_not_followed(record, data):
    """The address of an empty record is not checked; the device is the current one."""
    array = ix.from_cai(record(shape=(0, 8), data=data))

    assert (array.shape, array.ptr, str(array.device)) == ((0, 8), 0, "cuda:0")


def test_an_empty_record_is_on_the_current_device(cuda, record):
    """Without elements there is no address that gives the device."""
    with cuda.device(1):
        array = ix.from_cai(record(shape=(0,), data=(0, False)))

    assert str(array.device) == "cuda:1"


def test_the_device_comes_from_the_address(cuda, record):
    """A record has no device, and the current one is not used (P85)."""
    with cuda.device(1):
        ptr = int(cuda("cuMemAlloc", BYTES))
    array = ix.from_cai(record(data=(ptr, False)))
    cuda("cuMemFree", ptr)

    assert str(array.device) == "cuda:1"


@pytest.mark.parametrize(("kind", "number"), [("managed", 13), ("pinned", 3)])
def test_memory_that_the_host_reads_keeps_its_kind(cuda, record, kind, number):
    """Managed memory has a type of its own (P80), with id 0; the driver knows pinned memory."""
    array = ix.from_cai(record(data=(getattr(cuda, kind)(BYTES), False)))

    assert array.__dlpack_device__() == (number, 0)
    assert array.shape == (4, 8)
    if kind == "pinned":
        assert array.tolist()[0] == [0.0] * 8


@pytest.mark.parametrize("readonly", [False, True])
def test_read_only_memory_stays_read_only(record, readonly):
    """The flag is kept in the capsule and when the capsule is imported (P61)."""
    array = ix.from_cai(record(data=(record()["data"][0], readonly)))
    again = ix.from_dlpack(array.__dlpack__(stream=-1, max_version=(1, 1)), stream=-1)

    assert (array.readonly, again.readonly) == (readonly, readonly)
    assert again.__cuda_array_interface__["data"][1] is readonly


@pytest.mark.parametrize(
    ("typestr", "dtype"),
    [
        ("|b1", "bool"),
        ("|i1", "int8"),
        ("<u2", "uint16"),
        ("<i8", "int64"),
        ("<f2", "float16"),
        ("<f8", "float64"),
        ("<c8", "complex64"),
        ("<c16", "complex128"),
        (">u1", "uint8"),
    ],
)
def test_type_strings_name_element_types(record, typestr, dtype):
    """Types of one byte have no byte order."""
    assert ix.from_cai(record(typestr=typestr)).dtype.name == dtype


@pytest.mark.parametrize(
    ("typestr", "dtype"),
    [
        ("<V2", "bfloat16"),
        ("|V2", "float16"),
        ("|V1", "float8_e4m3fn"),
        ("<f1", "float8_e5m2"),
        ("|V1", "uint8"),
    ],
)
def test_a_type_string_that_does_not_tell_takes_a_hint(record, typestr, dtype):
    """``dtype=`` gives the type of the elements."""
    array = ix.from_cai(record(typestr=typestr), dtype=dtype)

    assert array.dtype.name == dtype


def test_the_objects_own_dtype_is_a_hint(record, exporter):
    """The type strings of torch and ml_dtypes are ambiguous."""
    source = exporter(**record(typestr="<V2"))
    source.dtype = "bfloat16"

    assert ix.from_cai(source).dtype.name == "bfloat16"


def test_a_descr_that_says_no_more_is_taken(record):
    """CuPy always includes a descr."""
    assert ix.from_cai(record(descr=[("", "<f4")])).dtype.name == "float32"


OTHER_FIELDS = {
    "two fields": [("a", "<u2"), ("b", "<u2")],
    "another type": [("", "<u4")],
    "the type twice": [("", "<f4"), ("", "<f4")],
    "an array in a field": [("", "<f4", (1,))],
    "a word": "<f4",
    "a number": 4,
}


@pytest.mark.parametrize("fields", OTHER_FIELDS)
def test_a_descr_that_says_more_is_refused_after_one_that_does_not(exporter, record, fields):
    """It is refused even if an equal record without it was imported before, by any function."""
    good = record(descr=[("", "<f4")])
    for _ in range(3):
        ix.from_cai(exporter(**good))

    with pytest.raises(ix.UnsupportedDTypeError) as caught:
        ix.from_cai(exporter(**{**good, "descr": OTHER_FIELDS[fields]}))
    assert caught.value.rule == "CAI-DESCR-1"


def test_the_legacy_default_stream_is_waited_for_by_name(cuda, gate, exporter, record):
    """CuPy publishes it; it is waited for even if a similar record was imported before."""
    consumer, target = cuda.stream(), cuda.pinned()
    said = record(stream=1, shape=(BYTES,), typestr="|u1", descr=[("", "|u1")])
    for _ in range(3):
        ix.from_cai(exporter(**said), stream=consumer)
    with gate(1):
        cuda.fill(said["data"][0], 7, 1)
        cuda.copy(target, ix.from_cai(exporter(**said), stream=consumer).ptr, consumer)
        before = set(ctypes.string_at(target, BYTES))
    cuda.synchronize()

    assert (before, set(ctypes.string_at(target, BYTES))) == ({0}, {7})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # it has no effect
@given(
    shape=st.lists(st.integers(1, 5), min_size=0, max_size=4),
    steps=st.lists(st.integers(-40, 40), min_size=4, max_size=4),
    offset=st.integers(0, BYTES - 1),
)
def test_elements_lie_within_the_allocation_or_are_refused(cuda, shape, steps, offset):
    """No element of a record of any shape, strides and address is outside of the memory (P95)."""
    ptr = _block(cuda)
    strides = tuple(4 * step for step in steps[: len(shape)])
    low = sum(min((n - 1) * s, 0) for n, s in zip(shape, strides, strict=True))
    high = sum(max((n - 1) * s, 0) for n, s in zip(shape, strides, strict=True)) + 4
    inside = low + offset >= 0 and high + offset <= BYTES
    entries = {
        "shape": tuple(shape),
        "typestr": "<f4",
        "data": (ptr + offset, False),
        "strides": strides,
        "version": 3,
    }

    if inside:
        assert ix.from_cai(entries).ptr == ptr + offset
    else:
        assert refusal(lambda: ix.from_cai(entries), ix.ExchangeError) == "CAI-DATA-4"


_blocks = {}


def _block(cuda):
    """Return memory that lives as long as the property test of this module."""
    if "ptr" not in _blocks:
        _blocks["ptr"] = int(cuda("cuMemAlloc", BYTES))
    return _blocks["ptr"]


# ---------------------------------------------------------------- masks


def test_a_mask_can_be_handed_out_separately(record, exporter):
    """The mask is returned as a second Array of the same shape."""
    mask = exporter(**record(typestr="|b1"))
    array, found = ix.from_cai(exporter(**record(mask=mask)), mask="separate")

    assert (array.dtype.name, found.dtype.name, found.shape) == ("float32", "bool", (4, 8))
    assert found.ptr == mask.record["data"][0]


def test_without_a_mask_the_second_is_none(record):
    """The result has the same form with and without a mask."""
    array, mask = ix.from_cai(record(), mask="separate")

    assert (array.shape, mask) == ((4, 8), None)


def test_a_mask_that_does_not_fit_is_refused(record, exporter):
    """The mask must be broadcastable to the shape of the data."""
    mask = exporter(**record(typestr="|b1", shape=(5,)))

    with pytest.raises(ix.ExchangeError) as caught:
        ix.from_cai(record(mask=mask), mask="separate")
    assert (caught.value.rule, caught.value.call) == ("CAI-MASK-2", "from_cai()")


# ---------------------------------------------------------------- lifetimes


def test_the_exporter_lives_as_long_as_the_array(record, exporter):
    """Views and capsules keep the exporter alive as well."""
    source = exporter(**record())
    gone = weakref.ref(source)
    capsule = ix.from_cai(source)[1:].__dlpack__(stream=-1, max_version=(1, 1))
    del source
    gc.collect()
    alive = gone() is not None
    del capsule
    gc.collect()

    assert (alive, gone()) == (True, None)


def test_an_owner_can_be_named(cuda, record):
    """A dict does not own the memory."""
    owner = cuda.Owner()
    gone = weakref.ref(owner)
    array = ix.from_cai(record(), owner=owner)
    del owner
    gc.collect()
    alive = gone() is not None
    del array
    gc.collect()

    assert (alive, gone()) == (True, None)


def test_the_stream_object_lives_as_long_as_the_array(cuda, record):
    """CAI: a stream outlives the object that publishes it."""
    stream = cuda.stream_object()
    gone = weakref.ref(stream)
    view = ix.to_cai(ix.from_cai(record()), stream=stream)
    published = view.__cuda_array_interface__["stream"] == stream.handle
    del stream
    gc.collect()
    alive = gone() is not None
    del view
    gc.collect()

    assert (published, alive, gone()) == (True, True, None)


# ---------------------------------------------------------------- repeated reads


def test_the_record_is_read_once_per_import_and_once_per_hand_over(cuda, produce):
    """The attribute is a property that may have side effects."""
    producer, stream = produce(cuda.stream()), cuda.stream()
    array = ix.from_cai(producer)
    after_import = producer.reads
    array.__dlpack__(stream=stream, max_version=(1, 1))

    assert (after_import, producer.reads) == (1, 2)


def test_a_stream_that_changed_is_waited_for(cuda, produce):
    """The stream that the producer publishes at the export is used."""
    producer, stream = produce(cuda.stream()), cuda.stream()
    array = ix.from_cai(producer)
    producer.streams = [cuda.stream()]
    producer.published = producer.streams[0]
    shut = producer.write_behind_gate(7)

    capsule = array.__dlpack__(stream=stream, max_version=(1, 1))

    assert cuda.read_around(shut, producer.ptr, stream) == ({0}, {7})
    del capsule


@pytest.mark.parametrize("change", ["ptr", "size"])
def test_memory_that_changed_is_refused(cuda, produce, change):
    """An Array refers to the memory that was imported."""
    producer = produce(cuda.stream())
    array = ix.from_cai(producer)
    if change == "ptr":
        producer.ptr = cuda.memory()
    else:
        producer.size -= 1

    call = lambda: array.__dlpack__(stream=cuda.stream(), max_version=(1, 1))  # noqa: E731
    assert refusal(call, ix.ExchangeError) == "CAI-DATA-5"


# ---------------------------------------------------------------- below version 3


@pytest.mark.parametrize(("policy", "waits"), [("legacy", 1), ("none", None), ("device", None)])
def test_what_older_versions_do_not_say_is_a_policy(record, policy, waits):
    """The policies are the legacy default stream, no wait, and a wait for the device."""
    array = ix.from_cai(record(version=2, stream=...), unsynced=policy)

    assert array.__cuda_array_interface__["stream"] == waits


def test_the_device_policy_waits_on_the_host(emulator, cuda, record, exporter):
    """The host waits at each export of the memory."""
    array = ix.from_cai(exporter(**record(version=2, stream=...)), unsynced="device")
    with emulator.trace() as trace:
        capsule = array.__dlpack__(stream=cuda.stream(), max_version=(1, 1))

    assert "cuCtxSynchronize" in trace.names
    del capsule


def test_the_environment_can_switch_waiting_off(run_isolated):
    """INTERCHANGE_CAI_SYNC=0 is read at import."""
    script = """
import interchange as ix
from interchange._protocols import cuda_array_interface as cai
print(cai.SYNCS)
"""
    off = run_isolated(script, env={"INTERCHANGE_CAI_SYNC": "0"})
    on = run_isolated(script, env={"INTERCHANGE_CAI_SYNC": ""})

    assert (off.strip(), on.strip()) == ("False", "True")


def test_a_hint_is_remembered(cuda, record, exporter):
    """The record is read again, and its type string is still ambiguous."""
    source = exporter(**record(typestr="<V2", stream=cuda.stream()))
    array = ix.from_cai(source, dtype="bfloat16")

    assert array.__dlpack__(stream=cuda.stream(), max_version=(1, 1)) is not None


def test_arrays_of_ours_make_no_chain(cuda, produce):
    """An Array that is passed on a thousand times calls its producer once."""
    producer = produce(cuda.stream())
    array = ix.from_cai(producer)
    for _ in range(1000):
        array = ix.from_cai(ix.to_cai(ix.asarray(array)))
    producer.reads = 0

    assert array.__cuda_array_interface__["stream"] == producer.published
    assert producer.reads == 1


def test_a_mapping_is_a_record_too(record):
    """Versions 0 and 1 require only a mapping."""
    from types import MappingProxyType

    array, mask = ix.from_cai(MappingProxyType(record(version=1)), mask="separate")

    assert (array.shape, mask) == ((4, 8), None)


def test_the_device_policy_makes_no_call_before_the_memory_is_taken(emulator, record):
    """No call is made for a refused stream or for -1 either."""
    entries = record(version=2, stream=...)
    with emulator.trace() as trace:
        ix.from_cai(entries, unsynced="device", stream=-1)
        with pytest.raises(ix.StreamError):
            ix.from_cai(entries, unsynced="device", stream=0)

    assert "cuCtxSynchronize" not in trace.names
