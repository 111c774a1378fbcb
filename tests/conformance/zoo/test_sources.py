"""Producers of the zoo: their structs, their logs and their results."""

from __future__ import annotations

import ctypes
import inspect
import struct

import pytest

from interchange.abi import capsules
from interchange.testing import Description, Source, claiming, host, producers

GENERATIONS = pytest.mark.parametrize("generation", ["legacy", "versioned"])
NAMES = {"legacy": capsules.LEGACY, "versioned": capsules.VERSIONED}


# ---------------------------------------------------------------- fields of structs


@GENERATIONS
def test_an_honest_struct_says_what_is_there(generation, read_capsule, read_numbers):
    """The fields are those of a C-ordered array in host memory."""
    source = host((2, 3), "int16").but(generation=generation)

    said = read_capsule(source.__dlpack__())

    assert (said["ndim"], said["dtype"], said["device"]) == (2, (0, 16, 1), (1, 0))
    assert read_numbers(said["shape"], 2) == (2, 3)
    assert read_numbers(said["strides"], 2) == (3, 1)
    assert struct.unpack("=6h", ctypes.string_at(said["data"], 12)) == (0, 1, 2, 3, 4, 5)
    assert said["byte_offset"] == 0
    assert ctypes.string_at(said["manager_ctx"], 8) == bytes(8)


def test_an_honest_struct_is_of_the_newest_version(read_capsule):
    """The versioned struct has version 1.3 and no flags by default."""
    said = read_capsule(host().__dlpack__(max_version=(1, 3)))

    assert (said["version"], said["flags"]) == ((1, 3), 0)


ANY_FIELD = [
    ("data", None),
    ("data", 4096),
    ("data", 2**64 - 2**20),
    ("device", (2**31 - 1, -(2**31))),
    ("dtype", (255, 255, 65535)),
    ("ndim", -(2**31)),
    ("ndim", 2**31 - 1),
    ("shape", None),
    ("shape", 8),
    ("strides", None),
    ("strides", 16),
    ("byte_offset", 2**64 - 1),
    ("manager_ctx", 77),
    ("manager_ctx", None),
    ("deleter", None),
]
OF_VERSIONED = [("version", (7, 99)), ("flags", 2**64 - 1)]


@pytest.mark.parametrize(
    ("generation", "field", "value"),
    [
        *((generation, *one) for generation in NAMES for one in ANY_FIELD),
        *(("versioned", *one) for one in OF_VERSIONED),
    ],
    ids=str,
)
def test_every_field_can_be_made_to_lie(generation, field, value, read_capsule):
    """The field has the value of the description, and the others are unchanged."""
    source = host((), "int16").but(generation=generation)
    honest = read_capsule(source.__dlpack__())

    changed = False if field == "deleter" else value  # which writes NULL
    said = read_capsule(source.but(**{field: changed}).__dlpack__())

    assert said[field] == value
    pointers = {"shape", "strides"}
    others = said.keys() - pointers - {field}
    assert {name: said[name] for name in others} == {name: honest[name] for name in others}


@GENERATIONS
@pytest.mark.parametrize("field", ["shape", "strides"])
@pytest.mark.parametrize("value", [(2**63 - 1, -(2**63)), (0, -1), (7,) * 65], ids=str)
def test_extents_and_steps_can_be_any_64_bits(generation, field, value, read_capsule, read_numbers):
    """Shape and strides point to the given numbers."""
    source = host().but(generation=generation, **{field: value})

    said = read_capsule(source.__dlpack__())

    assert read_numbers(said[field], len(value)) == value


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("data", 2**64),
        ("device", (2**32, 0)),
        ("dtype", (256, 8, 1)),
        ("dtype", (2, 32, 65536)),
        ("ndim", 2**31),
        ("byte_offset", 2**64),
        ("byte_offset", -1),
    ],
    ids=str,
)
def test_a_lie_that_does_not_fit_is_refused(field, value):
    """A value that the C field would truncate is refused, so that no case tests something else."""
    source = host().but(**{field: value})

    with pytest.raises(ValueError, match=f"{field}=.* does not fit"):
        source.__dlpack__()


def test_an_unknown_change_is_refused():
    """A misspelt field is a TypeError."""
    with pytest.raises(TypeError, match="colour"):
        host().but(colour="red")


def test_a_variant_leaves_the_original_alone():
    """but() changes a copy of the description, which shares the memory."""
    source = host()

    other = source.but(ndim=7, repeat=True)

    assert (source.said.ndim, source.manners.repeat) == (None, False)
    assert (other.said.ndim, other.manners.repeat) == (7, True)
    assert other.memory is source.memory
    assert type(other) is type(source)


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("bool", [False, True, False]),
        ("int8", [0, 1, 2]),
        ("uint64", [0, 1, 2]),
        ("float16", [0.0, 1.0, 2.0]),
        ("float64", [0.0, 1.0, 2.0]),
        ("complex64", [0, 1 - 1j, 2 - 2j]),
        ("bfloat16", [0, 1, 2]),
        ((99, 24, 1), [0, 1, 2]),
        ((2, 32, 4), [0, 1, 2]),
    ],
    ids=str,
)
def test_element_n_holds_n(dtype, expected):
    """Elements are numbered in all element types."""
    assert host((3,), dtype).values() == expected


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        ((), None, [0]),
        ((0, 3), None, []),
        ((2, 3), None, [0, 1, 2, 3, 4, 5]),
        ((2, 3), (1, 2), [0, 2, 4, 1, 3, 5]),
        ((2, 3), (-3, -1), [5, 4, 3, 2, 1, 0]),
        ((2, 3), (0, 0), [0] * 6),
        ((2, 2), (1, 1), [0, 1, 1, 2]),
        ((2, 2), (10, -3), [3, 0, 13, 10]),
    ],
)
@pytest.mark.parametrize("byte_offset", [0, 4, 12])
def test_values_follow_the_strides(shape, strides, expected, byte_offset):
    """values() returns the elements that a consumer reads, in C order."""
    source = host(shape, "float32", strides=strides, byte_offset=byte_offset)

    assert source.values() == expected


def test_an_offset_moves_data_and_not_the_first_element():
    """data plus byte_offset is the address of element 0."""
    source = host((2,), "int32", byte_offset=8)

    first = source.said.data + source.said.byte_offset

    assert struct.unpack("=2i", ctypes.string_at(first, 8)) == (0, 1)
    assert source.said.data == source.memory.address


def test_an_empty_array_has_no_address():
    """An honest producer exports NULL for an empty array."""
    assert host((2, 0)).said.data is None


@pytest.mark.parametrize("changes", [{"shape": None}, {"strides": 8}, {"data": None}], ids=str)
def test_what_cannot_be_read_has_no_values(changes):
    """values() refuses a description that a consumer could not read."""
    with pytest.raises(ValueError, match="has no"):
        host().but(**changes).values()


@pytest.mark.parametrize("count", [1, 3, 1000])
def test_memory_is_aligned_and_can_be_written(count):
    """Blocks are aligned to 64 bytes, so that no consumer has a reason to copy."""
    memory = producers.Memory(count, (1, 8, 1))

    memory.view()[count - 1] = 200

    assert memory.address % 64 == 0
    assert memory.size == count
    assert ctypes.string_at(memory.address + count - 1, 1) == bytes([200])


# ---------------------------------------------------------------- logs


def test_requests_are_logged_as_they_came():
    """Method, keywords and order are logged, also if the producer raises; omitted ones are not."""
    source = host()
    refusing = host().but(raises=KeyError("no"))

    source.__dlpack_device__()
    source.__dlpack__(stream=None)
    source.__dlpack__(max_version=(1, 0), copy=False)
    with pytest.raises(KeyError):
        refusing.__dlpack__(stream=3)

    assert source.log == [
        ("__dlpack_device__", {}),
        ("__dlpack__", {"stream": None}),
        ("__dlpack__", {"max_version": (1, 0), "copy": False}),
    ]
    assert refusing.log == [("__dlpack__", {"stream": 3})]


def test_the_order_of_keywords_is_seen_by_the_kind_that_takes_any():
    """AnyKeyword logs keywords in the order of the call."""
    source = host(kind=producers.AnyKeyword)

    source.__dlpack__(copy=None, stream=None, max_version=None)

    assert list(source.log[0].keywords) == ["copy", "stream", "max_version"]


# ---------------------------------------------------------------- signatures


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (producers.Producer, ["stream", "max_version", "dl_device", "copy"]),
        (producers.StreamOnly, ["stream"]),
        (producers.Bare, []),
        (producers.AnyKeyword, ["keywords"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_signature_can_be_read(kind, expected):
    """`inspect.signature` returns the keywords of the kind."""
    method = host(kind=kind).__dlpack__

    assert list(inspect.signature(method).parameters) == expected


def test_the_opaque_signature_cannot_be_read():
    """`inspect.signature` fails, as for compiled code."""
    with pytest.raises(ValueError, match="signature"):
        inspect.signature(host(kind=producers.Opaque).__dlpack__)


@pytest.mark.parametrize("kind", [producers.StreamOnly, producers.Bare, producers.Opaque])
def test_an_unknown_keyword_is_a_type_error(kind):
    """Old signatures refuse new keywords as in Python, and log nothing."""
    source = host(kind=kind)

    with pytest.raises(TypeError, match="unexpected keyword argument"):
        source.__dlpack__(max_version=(1, 3))

    assert source.log == []


def test_kinds_lack_what_they_say_they_lack():
    """Speechless has no __dlpack__, Deviceless has no __dlpack_device__, and Source has neither."""
    has = {
        kind.__name__: (hasattr(kind, "__dlpack__"), hasattr(kind, "__dlpack_device__"))
        for kind in (producers.Speechless, producers.Deviceless, Source)
    }

    assert has == {
        "Speechless": (False, True),
        "Deviceless": (True, False),
        "Source": (False, False),
    }


@pytest.mark.parametrize("kind", [*producers.SIGNATURES.values(), producers.Deviceless])
def test_a_kind_has_the_module_of_no_library(kind):
    """Consumers that identify libraries by module do not recognise the zoo."""
    assert kind.__module__ == "foreign"


# ---------------------------------------------------------------- results


@pytest.mark.parametrize(
    ("generation", "max_version", "expected"),
    [
        ("auto", None, "legacy"),
        ("auto", (0, 8), "legacy"),
        ("auto", (1, 0), "versioned"),
        ("auto", (2, 5), "versioned"),
        *((one, version, one) for one in NAMES for version in (None, (1, 3))),
    ],
)
def test_the_struct_is_the_newest_that_the_consumer_knows(generation, max_version, expected):
    """Unless the generation is fixed: then it is returned for all requests (P90)."""
    capsule = host().but(generation=generation).__dlpack__(max_version=max_version)

    assert capsules.capsule_name(capsule) == NAMES[expected]


@pytest.mark.parametrize("repeat", [False, True])
def test_every_call_gives_a_fresh_capsule_and_struct(repeat):
    """By default a producer shares nothing between calls (DLP-CAP-6); repeat=True does."""
    source = host().but(repeat=repeat)

    first, second = source.__dlpack__(), source.__dlpack__()

    assert (first is second) == repeat
    assert len({one.address for one in source.loans}) == len(source.loans) == 2 - repeat


@pytest.mark.parametrize("name", [b"wrong", b"", None, b"used_dltensor"])
def test_a_capsule_can_have_any_name(name):
    """name= is the name of the capsule, None for NULL."""
    assert capsules.capsule_name(host().but(name=name).__dlpack__()) == name


@pytest.mark.parametrize("answer", [None, 7, (), "capsule"])
def test_anything_can_be_returned(answer):
    """returns= is the result of __dlpack__, and no struct is created."""
    source = host().but(returns=answer)

    assert source.__dlpack__() == answer
    assert source.loans == []


@pytest.mark.parametrize("answer", [None, 1, (1, None), [1, 0], (2, 3)], ids=str)
def test_any_device_can_be_advertised(answer):
    """advertises= is the result of __dlpack_device__; by default it is the struct's device."""
    assert host().but(advertises=answer).__dlpack_device__() == answer
    assert host().but(device=(10, 3)).__dlpack_device__() == (10, 3)


@pytest.mark.parametrize("name", sorted(producers.SIGNATURES))
@pytest.mark.parametrize(
    ("deep", "frames"),
    [(False, []), (True, ["_answer", "_raise_from_below"])],
    ids=["shallow", "deep"],
)
def test_an_error_is_raised_as_it_is(name, deep, frames):
    """raises= is raised in __dlpack__, or two calls below it with deep."""
    error = TypeError("own")
    source = host(kind=producers.SIGNATURES[name]).but(raises=error, deep=deep)

    with pytest.raises(TypeError) as caught:
        source.__dlpack__()

    names = [entry.name for entry in caught.traceback]
    assert caught.value is error
    assert names[2:] == frames


def test_the_device_question_can_fail():
    """device_raises= is raised by __dlpack_device__ only."""
    error = RuntimeError("own")
    source = host().but(device_raises=error)

    with pytest.raises(RuntimeError) as caught:
        source.__dlpack_device__()

    assert caught.value is error
    assert source.__dlpack__() is not None


def test_copy_true_copies(read_capsule):
    """The copy has other memory, the same bytes and the flag, and is writable."""
    source = host(strides=(-3, 1)).but(generation="versioned", flags=1)

    said = read_capsule(source.__dlpack__(copy=True))
    memory = source.loans[0].memory

    assert memory is not source.memory
    assert memory.view() == source.memory.view()
    assert said["data"] - memory.address == source.said.data - source.memory.address
    assert said["flags"] == 2


@pytest.mark.parametrize(
    ("source", "keywords"),
    [
        (host(), {"copy": None}),
        (host(), {"copy": False}),
        (claiming((2, 1)), {"dl_device": (2, 1)}),
        (host().but(deaf=True), {"dl_device": (2, 0), "copy": True}),
    ],
    ids=["copy unset", "copy=False", "own device", "deaf"],
)
def test_no_copy_is_made_unasked(source, keywords, read_capsule):
    """The memory is shared on its own device; a deaf producer shares it for all requests."""
    said = read_capsule(source.__dlpack__(**keywords))

    assert (said["device"], said["data"]) == (source.__dlpack_device__(), source.said.data)


def test_a_fake_device_copies_to_the_host(read_capsule):
    """dl_device=(1, 0) returns a flagged copy on the host."""
    source = claiming((2, 1)).but(generation="versioned")

    said = read_capsule(source.__dlpack__(dl_device=(1, 0)))

    assert (said["device"], said["flags"]) == ((1, 0), 2)
    assert said["data"] != source.said.data


@pytest.mark.parametrize(("dl_device", "copy"), [((2, 0), None), ((1, 1), None), ((1, 0), False)])
def test_a_move_that_cannot_be_is_a_buffer_error(dl_device, copy):
    """Other devices, and forbidden copies, are refused (DLP-DEV-5, DLP-COPY-1)."""
    source = claiming((2, 1))

    with pytest.raises(BufferError, match="dl_device"):
        source.__dlpack__(dl_device=dl_device, copy=copy)


def test_a_description_can_be_written_by_hand(read_capsule):
    """A producer does not need memory for its fields."""
    said = Description((3,), (1,), data=4096, dtype=(4, 16, 1))

    found = read_capsule(producers.Producer(said).__dlpack__())

    assert (found["data"], found["ndim"], found["dtype"]) == (4096, 1, (4, 16, 1))


@pytest.mark.parametrize("device", [(2, 0), (10, 1), (13, 0), (99, -1)])
def test_host_memory_can_claim_any_device(device, read_capsule):
    """claiming() sets the device in both places, for memory that the host can read."""
    source = claiming(device, (3,), "uint8")

    said = read_capsule(source.__dlpack__())

    assert source.__dlpack_device__() == said["device"] == device
    assert ctypes.string_at(said["data"], 3) == bytes([0, 1, 2])
