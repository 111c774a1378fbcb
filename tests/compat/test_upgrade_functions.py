"""The four better functions of an upgraded namespace, with NumPy, a strict and a forgetful one."""

from __future__ import annotations

import array
import collections
import sys
import types

import array_api_strict
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange.compat import upgrade
from interchange.testing import producers, strategies

NUMPY, STRICT = upgrade(np), upgrade(array_api_strict)
FORGETFUL = types.ModuleType("forgetful")  # a library that may drop read-only
for _name in ("asarray", "zeros", "reshape", "matmul", "from_dlpack", "ndarray"):
    setattr(FORGETFUL, _name, getattr(np, _name))
FORGETFUL = upgrade(FORGETFUL)

every_namespace = pytest.mark.parametrize(
    "xp", [NUMPY, STRICT, FORGETFUL], ids=["numpy", "strict", "forgetful"]
)
KINDS = producers.SIGNATURES
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


class CAIOnly:
    """An object that supports the CUDA Array Interface only."""

    def __init__(self, record):
        self.__cuda_array_interface__ = record


def ptr_of(x):
    """Return the address of an array's first element."""
    return ix.asarray(x).ptr


def values(x):
    """Return the elements of an array of any library."""
    return ix.asarray(x).tolist()


# ---------------------------------------------------------------- from_dlpack


@given(st.data())
def test_honest_producers_arrive_as_interchange_sees_them(data):
    """Correct producers of every signature, generation and layout give the same memory."""
    kind = data.draw(st.sampled_from([*KINDS.values()]))
    source = data.draw(strategies.sources(kind=kind))
    seen = ix.from_dlpack(source)

    found = NUMPY.from_dlpack(source)

    assert (found.shape, found.dtype.name) == (seen.shape, seen.dtype.name)
    assert found.tolist() == seen.tolist()
    assert found.flags.writeable is (seen.readonly is False)
    assert not found.size or found.ctypes.data == seen.ptr


@every_namespace
@every_kind
@pytest.mark.parametrize("generation", ["legacy", "versioned"])
def test_every_signature_meets_a_wish_for_a_copy(xp, kind, generation):
    """A copy is made also for producers without a keyword ``copy``."""
    source = producers.host((2, 3), "float32", kind=kind).but(generation=generation)

    found = xp.from_dlpack(source, copy=True)

    assert values(found) == values(source)
    assert ptr_of(found) != ptr_of(source)


@pytest.mark.parametrize("xp", [NUMPY, STRICT], ids=["numpy", "strict"])
@every_kind
@pytest.mark.parametrize("device", ["cpu", (1, 0), ix.Device(1)], ids=["word", "pair", "Device"])
def test_every_signature_meets_a_wish_for_a_device(xp, kind, device):
    """A refusal has interchange's message, and nothing is copied."""
    source = producers.host((4,), "int32", kind=kind)

    found = xp.from_dlpack(source, device=device, copy=False)

    assert (values(found), ptr_of(found)) == (values(source), ptr_of(source))


@every_namespace
@pytest.mark.parametrize("max_version", [None, (1, 0)], ids=["legacy", "versioned"])
def test_bare_capsules_are_taken_once(xp, max_version):
    """Capsules of either generation are consumed once."""
    capsule = ix.to_capsule(bytearray(b"abc"), max_version=max_version)

    found = xp.from_dlpack(capsule)

    assert values(found) == [97, 98, 99]
    with pytest.raises(ix.ConsumedCapsuleError, match=r"^from_dlpack\(\): "):
        xp.from_dlpack(capsule)


@every_namespace
@pytest.mark.parametrize(
    "x",
    [[1, 2], 3, "abc", b"abc", None, object(), np.ndarray],
    ids=lambda x: repr(x).partition(" at 0x")[0],
)
def test_what_hands_out_no_memory_by_dlpack_is_refused(xp, x):
    """Objects without DLPack are refused with the class that the standard's consumers catch."""
    with pytest.raises(AttributeError, match=r"^from_dlpack\(\): ") as caught:
        xp.from_dlpack(x)

    assert caught.value.rule == "DLP-NEG-1"


def test_refusals_are_those_of_interchange(run_isolated):
    """A violated rule is cited, in the name of the function that was called."""
    said = run_isolated("""
import numpy as np
import interchange as ix
from interchange.compat import upgrade
from interchange.testing import zoo

xp = upgrade(np)

def outcome(function, case):
    try:
        function(case.make())
    except BaseException as error:
        return type(error), str(error).partition(":")[0], getattr(error, "rule", str(error))
    return None

cases = zoo().values()
theirs = {case.name: outcome(xp.from_dlpack, case) for case in cases}
ours = {case.name: outcome(ix.from_dlpack, case) for case in cases}
print(len(cases) > 20, [name for name in ours if theirs[name] != ours[name]])
""")

    assert said == "True []\n"


@pytest.mark.parametrize("copy", [0, 1, "yes"])
def test_copy_is_a_bool_or_none(copy):
    """`copy` must be None or a bool, for foreign memory and for the library's own arrays."""
    for x in (producers.host(), np.ones(2)):
        with pytest.raises(TypeError, match=r"^from_dlpack\(\): "):
            NUMPY.from_dlpack(x, copy=copy)


@every_namespace
def test_the_library_s_own_arrays_are_shared(xp):
    """The library's own arrays are shared, as by its own function."""
    x = xp.asarray([1.0, 2.0])

    found = xp.from_dlpack(x)

    assert (type(found), ptr_of(found)) == (type(x), ptr_of(x))


@pytest.mark.parametrize("xp", [NUMPY, STRICT], ids=["numpy", "strict"])
def test_the_library_s_own_arrays_are_copied_if_asked_for(xp):
    """The library's own arrays are copied on request, on the named device."""
    x = xp.asarray([1.0, 2.0])

    found = xp.from_dlpack(x, device=xp.device(x), copy=True)

    assert (type(found), values(found), ptr_of(found) != ptr_of(x)) == (type(x), [1.0, 2.0], True)


def test_element_types_of_ml_dtypes_arrive():
    """NumPy's own function refuses them."""
    x = ix.asarray(np.arange(3).astype(ml_dtypes.bfloat16))

    found = NUMPY.from_dlpack(x)

    assert (found.dtype, found.ctypes.data) == (np.dtype(ml_dtypes.bfloat16), x.ptr)


# ---------------------------------------------------------------- read-only memory


def test_a_library_that_keeps_read_only_shares_it():
    """NumPy receives the flag, and its array is read-only."""
    x = ix.asarray(b"abc")

    found = NUMPY.from_dlpack(x)

    assert (found.flags.writeable, found.ctypes.data) == (False, x.ptr)


@pytest.mark.parametrize("function", [FORGETFUL.from_dlpack, FORGETFUL.asarray])
@pytest.mark.parametrize(
    "make",
    [lambda: ix.asarray(b"abc"), lambda: producers.host().but(generation="legacy")],
    ids=["read-only", "not known"],
)
def test_a_library_that_would_forget_it_gets_a_copy(function, make):
    """The library's array is writable, and the memory is unchanged."""
    x = make()

    found = function(x)

    assert found.flags.writeable
    assert ptr_of(found) != ptr_of(x)
    assert found.tolist() == values(x)


@pytest.mark.parametrize("function", [FORGETFUL.from_dlpack, FORGETFUL.asarray])
def test_where_nothing_may_be_copied_it_is_refused(function):
    """A rule and a fix are named."""
    with pytest.raises(ix.ReadOnlyError, match="pass `copy=True`") as caught:
        function(ix.asarray(b"abc"), copy=False)

    assert caught.value.rule == "DLP-RO-3"


def test_writable_memory_is_shared_with_a_library_that_would_forget():
    """Writable memory has no flag to drop."""
    block = bytearray(3)

    FORGETFUL.asarray(block)[0] = 7

    assert block[0] == 7


# ---------------------------------------------------------------- asarray

_numbers = st.one_of(st.booleans(), st.integers(-9, 9), st.floats(-9, 9), st.complex_numbers())


@given(st.one_of(_numbers, st.lists(st.lists(_numbers, min_size=2, max_size=2), max_size=3)))
def test_scalars_and_sequences_are_converted_by_the_library(obj):
    """The result is the library's own, to the type."""
    found, wanted = NUMPY.asarray(obj), np.asarray(obj)

    assert (type(found), found.dtype, found.shape) == (type(wanted), wanted.dtype, wanted.shape)
    assert repr(found.tolist()) == repr(wanted.tolist())


@pytest.mark.parametrize(
    "obj",
    [
        ["a", "b"],
        "word",
        [{}],
        None,
        range(3),
        np.float32(2),
        np.ma.masked_array([1]),
        np.str_("a"),
        collections.UserList([1, 2]),
        {"a": 1},
    ],
    ids=lambda x: repr(x).partition(" at 0x")[0],
)
def test_nothing_is_taken_away_from_numpy(obj):
    """All objects that NumPy converts give the same arrays."""
    found, wanted = NUMPY.asarray(obj), np.asarray(obj)

    assert (type(found), found.dtype, found.tolist()) == (np.ndarray, wanted.dtype, wanted.tolist())


@every_namespace
@pytest.mark.parametrize(
    "make",
    [
        lambda: bytearray(b"abc"),
        lambda: memoryview(bytearray(b"xabcx"))[1:4],
        lambda: memoryview(bytearray(b"cba"))[::-1],
        lambda: array.array("B", b"abc"),
        lambda: ix.asarray(bytearray(b"abc")),
        lambda: ix.to_capsule(bytearray(b"abc")),
        lambda: np.frombuffer(b"abc", "u1"),
        lambda: b"abc",
    ],
    ids=["bytearray", "slice", "reversed", "array.array", "Array", "capsule", "ndarray", "bytes"],
)
def test_memory_of_any_kind_becomes_an_array(xp, make):
    """Bytes are numbers, not text."""
    found = xp.asarray(make())

    assert (values(found), ix.asarray(found).dtype.name) == ([97, 98, 99], "uint8")


@pytest.mark.parametrize("xp", [NUMPY, STRICT], ids=["numpy", "strict"])
def test_buffers_are_shared(xp):
    """A write here is visible there."""
    block = bytearray(3)

    found = xp.asarray(block)
    block[0] = 7

    assert values(found) == [7, 0, 0]


def test_a_released_buffer_is_refused():
    """NumPy makes an array of one object of it."""
    block = memoryview(b"abc")
    block.release()

    with pytest.raises(ValueError, match="released"):
        NUMPY.asarray(block)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes have no buffers before")
def test_an_object_that_refuses_its_buffer_is_refused():
    """The library's own error is raised."""

    class Refusing:
        def __buffer__(self, flags):
            raise BufferError("not today")

    with pytest.raises(BufferError, match="not today"):
        NUMPY.asarray(Refusing())


@every_namespace
def test_elements_are_cast_where_a_type_is_named(xp):
    """Elements are cast to a named type by the library's own rules."""
    found = xp.asarray(ix.asarray(bytearray(b"ab")), dtype=STRICT.float32 if xp is STRICT else "f4")

    assert (values(found), ix.asarray(found).dtype.name) == ([97.0, 98.0], "float32")


@every_namespace
def test_a_cast_that_needs_a_copy_is_refused_if_there_may_be_none(xp):
    """The error is both that the standard names."""
    with pytest.raises(ix.CopyNeededError, match=r"^asarray\(\): ") as caught:
        xp.asarray(
            ix.asarray(bytearray(2)), dtype=STRICT.float32 if xp is STRICT else "f4", copy=False
        )

    assert caught.value.rule == "DLP-COPY-1"


@every_namespace
@pytest.mark.parametrize("dtype", [None, "uint8", "float32"])
def test_a_copy_that_is_asked_for_is_made(xp, dtype):
    """A requested copy is made, with and without a cast."""
    block = bytearray(b"ab")
    wanted = getattr(array_api_strict, dtype or "uint8") if xp is STRICT else dtype

    found = xp.asarray(ix.asarray(block), dtype=wanted if dtype else None, copy=True)
    block[0] = 0

    assert values(found) == [97, 98]


# ---------------------------------------------------------------- where arrays are


def test_device_answers_in_the_library_s_words():
    """`device` answers for arrays of the library and for foreign memory."""
    cpu = array_api_strict.Device("CPU_DEVICE")

    assert [NUMPY.device(x) for x in (np.ones(1), b"a", producers.host())] == ["cpu"] * 3
    assert [STRICT.device(x) for x in (STRICT.ones(1), b"a", np.ones(1))] == [cpu] * 3


def test_device_takes_no_capsule():
    """`device` refuses a capsule, since reading it would consume it."""
    with pytest.raises(ix.NoProtocolError, match=r"^device\(\): a capsule"):
        NUMPY.device(ix.to_capsule(bytearray(1)))


def test_a_library_without_such_arrays_says_so():
    """NumPy refuses arrays on a device, in either direction."""
    on_device = producers.claiming((2, 0))

    for ask in (
        lambda: NUMPY.device(on_device),
        lambda: NUMPY.to_device(np.ones(1), "cuda:0"),
        lambda: NUMPY.from_dlpack(producers.host(), device="cuda"),
    ):
        with pytest.raises(ix.UnsupportedDeviceError, match="numpy has no arrays on cuda:0"):
            ask()


@pytest.mark.parametrize("function", [NUMPY.from_dlpack, NUMPY.asarray])
def test_device_memory_is_not_copied_to_the_host_unasked(function):
    """The error says how to request a copy."""
    with pytest.raises(ix.UnsupportedDeviceError, match="pass `device='cpu'`") as caught:
        function(producers.claiming((2, 0)))

    assert caught.value.rule == "DLP-DEV-6"


@pytest.mark.parametrize("device", ["gpu", "cpu:x", object(), 1.5])
def test_a_device_that_is_not_known_is_refused(device):
    """An unknown device is refused, by name or by type."""
    with pytest.raises((ix.UnsupportedDeviceError, ix.ArgumentError), match="device"):
        NUMPY.to_device(np.ones(1), device)


def test_to_device_returns_the_array_itself_where_it_is_there():
    """`to_device` returns the same array if it is on the device, as the standard allows."""
    x = np.ones(2)

    assert NUMPY.to_device(x, "cpu") is x
    assert NUMPY.to_device(x, ix.Device(1)) is x


def test_to_device_brings_foreign_memory_over():
    """`to_device` imports foreign memory as the library's array on the device."""
    found = NUMPY.to_device(ix.asarray(bytearray(b"abc")), "cpu")

    assert (type(found), found.tolist()) == (np.ndarray, [97, 98, 99])


def test_a_stream_is_none_on_the_host():
    """A stream on the host is refused, not ignored."""
    with pytest.raises(ix.StreamError, match=r"^to_device\(\): "):
        NUMPY.to_device(np.ones(1), "cpu", stream=5)


def test_devices_that_are_labels_are_the_library_s_own():
    """array-api-strict moves to its pretended devices by its own method."""
    label = array_api_strict.Device("device1")

    found = STRICT.from_dlpack(np.arange(3, dtype="f4"), device=label)

    assert (STRICT.device(found), STRICT.to_device(found, label) is found) == (label, True)


def test_what_is_elsewhere_is_not_shared():
    """The library's own arrays move, too, unless copies are forbidden."""
    label = array_api_strict.Device("device1")
    x = STRICT.ones(2)

    assert STRICT.from_dlpack(x, device=label).device == label
    with pytest.raises(ix.CopyNeededError, match="wanted on"):
        STRICT.from_dlpack(x, device=label, copy=False)


def test_a_record_without_elements_says_where_it_is():
    """An object with only the CUDA Array Interface is refused because of its device."""
    x = CAIOnly({"shape": (0,), "typestr": "<f4", "data": (0, False), "version": 3})

    with pytest.raises(ix.UnsupportedDeviceError, match="pass `device='cpu'`"):
        NUMPY.from_dlpack(x)


@pytest.mark.emulated
def test_device_memory_comes_to_the_host_when_asked_for():
    """The driver copies memory of a CUDA Array Interface to the host on request."""
    pytest.importorskip("cuda.bindings.driver", reason="no cuda-bindings")
    x = ix.to_cai(ix.asarray(np.arange(6.0)).to_device("cuda:0"))

    found = [NUMPY.from_dlpack(x, device="cpu"), NUMPY.asarray(x, device="cpu", dtype="f4")]

    assert [one.tolist() for one in found] == [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]] * 2
    with pytest.raises(ix.CopyNeededError):
        NUMPY.from_dlpack(x, device="cpu", copy=False)
