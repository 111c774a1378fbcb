"""`asarray`: the order of protocols, the keywords, and refused arguments."""

from __future__ import annotations

import gc
import inspect
import re
import weakref

import ml_dtypes
import numpy as np
import pytest

import interchange as ix
from interchange._types.dtypes import all_dtypes
from interchange.abi import LEGACY, RULES, USED_LEGACY, capsule_name
from interchange.testing import claiming, producers
from interchange_conformance.zoo import arrow

BLOCK = np.frombuffer(bytearray(b"abcdef"), "u1")


def refusal(error, value, **keywords):
    """Return the rule that a value is refused by, with exactly that class."""
    with pytest.raises(error) as caught:
        ix.asarray(value, **keywords)
    assert type(caught.value) is error
    return caught.value.rule


class Polyglot:
    """Supports the given protocols and logs which are asked for elements."""

    def __init__(self, *speaks):
        self.speaks, self.log = speaks, []

    def __getattr__(self, name):
        if name not in object.__getattribute__(self, "speaks"):
            raise AttributeError(name)
        return getattr(self, f"_{name.strip('_')}")

    def _dlpack(self, **keywords):
        self.log.append("__dlpack__")
        return BLOCK.__dlpack__(**keywords)

    def _dlpack_device(self):
        return (1, 0)

    @property
    def _array_interface(self):
        self.log.append("__array_interface__")
        return BLOCK.__array_interface__

    def _array(self, *, copy=None):
        self.log.append("__array__" if copy is False else f"__array__, copy={copy}")
        return BLOCK


DLPACK = ("__dlpack__", "__dlpack_device__")
INTERFACE = ("__array_interface__",)
ARRAY = ("__array__",)


# ---------------------------------------------------------------- the order


@pytest.mark.parametrize(
    ("speaks", "asked"),
    [
        ((*DLPACK, *INTERFACE, *ARRAY), "__dlpack__"),
        ((*DLPACK, *ARRAY), "__dlpack__"),
        ((*INTERFACE, *ARRAY), "__array_interface__"),
        (ARRAY, "__array__"),
    ],
)
def test_the_first_protocol_that_is_spoken_is_asked(speaks, asked):
    """DLPack, the array interface, ``__array__``: only the first supported one is asked."""
    value = Polyglot(*speaks)

    found = ix.asarray(value)

    assert set(value.log) == {asked}
    assert (found.tolist(), found.ptr) == (list(b"abcdef"), BLOCK.ctypes.data)
    assert found.owner is value


class Buffer(bytearray):
    """An object with the buffer protocol, among others."""


GIVEN = {
    "__interchange__": ("__interchange__", lambda _: ix.from_buffer(b"x")),
    "DLPack": ("__dlpack__", lambda _, **keywords: claiming((2, 0)).__dlpack__(**keywords)),
    "__cuda_array_interface__": ("__cuda_array_interface__", {}),
    "__array_interface__": ("__array_interface__", BLOCK[:1].__array_interface__),
    "Arrow": ("__arrow_c_array__", lambda *_: arrow.numbers().__arrow_c_array__()),
    "the buffer protocol": ("__buffer__", None),
    "__array__": ("__array__", lambda _, **__: np.array([7], "u1")),
}
"""Protocol -> its method or record, and how to tell that this one was used."""
FOUND = ([ord("x")], "cuda:0", "CAI-DICT-1", [ord("a")], [*range(6)], [ord("f")], [7])
"""The result: elements, a device, or the rule that refuses an empty record."""


def _outcome(value):
    try:
        found = ix.asarray(value)
    except ix.ExchangeError as error:
        return error.rule
    return str(found.device) if str(found.device) != "cpu" else found.tolist()


@pytest.mark.usefixtures("arrow_zoo")
def test_the_order_is_that_of_the_docstring_and_of_the_rule():
    """An object that supports all protocols from a step on is imported by the one of this step."""
    listed = inspect.getdoc(ix.asarray).partition("Parameters\n")[0].split("\n\n")[1]
    steps = re.split(r"^\d\. ", listed, flags=re.MULTILINE)[1:]
    order = [min(filter(step.__contains__, GIVEN), key=step.index) for step in steps]
    taken = []
    for first in range(len(order)):
        spoken = dict(GIVEN[name] for name in order[first:] if name != "the buffer protocol")
        if "__dlpack__" in spoken:
            spoken["__dlpack_device__"] = lambda _: (2, 0)
        base = Buffer if "the buffer protocol" in order[first:] else object
        taken.append(_outcome(type("Speaks", (base,), spoken)(*[b"f"][: base is Buffer])))

    assert tuple(taken) == FOUND
    assert order == list(GIVEN)
    words = RULES["IX-PROTOCOL-1"].text.replace("CUDA Array Interface", order[2])
    said = words.replace("array interface", order[3])
    places = [said.index(name) for name in order[1:]]
    assert places == sorted(places)


def test_an_array_is_returned_itself():
    """An Array is returned unchanged."""
    array = ix.from_buffer(b"abc")

    assert ix.asarray(array) is array
    assert ix.asarray(array, copy=False, device="cpu", dtype="uint8") is array


def test_interchange_is_asked_before_dlpack():
    """A class that describes its memory as an Array needs no capsule."""

    class Both(Polyglot):
        def __interchange__(self):
            return ix.from_buffer(b"xyz")

    value = Both(*DLPACK)

    assert (ix.asarray(value).tolist(), value.log) == (list(b"xyz"), [])


def test_the_array_interface_is_asked_where_dlpack_refuses_the_elements():
    """NumPy exports no bfloat16 by DLPack, but it describes one."""
    value = np.arange(3).astype(ml_dtypes.bfloat16)
    with pytest.raises(BufferError):
        value.__dlpack__()

    found = ix.asarray(value)

    assert (found.dtype.name, found.tolist()) == ("bfloat16", [0.0, 1.0, 2.0])
    assert found.ptr == value.ctypes.data


@pytest.mark.parametrize("name", sorted({dtype.ml_dtypes_name for dtype in all_dtypes()} - {None}))
def test_every_type_of_ml_dtypes_comes_in_and_goes_out(name):
    """The values are those of ml_dtypes, on both sides."""
    if not hasattr(ml_dtypes, name):
        pytest.skip(f"this ml_dtypes has no {name}")
    value = np.array([1, 1, 0.5, 1], "f4").astype(getattr(ml_dtypes, name))

    found = ix.asarray(value)

    assert found.tolist() == value.tolist()
    assert np.asarray(found).dtype == value.dtype


@pytest.mark.parametrize(
    "make",
    [
        *(bytes, bytearray, memoryview),
        lambda text: np.frombuffer(bytearray(text), "u1").__dlpack__(),
        lambda text: np.frombuffer(bytearray(text), "u1").__dlpack__(max_version=(1, 3)),
    ],
    ids=["bytes", "bytearray", "memoryview", "legacy capsule", "versioned capsule"],
)
def test_buffers_and_capsules_are_imported(make):
    """Buffers of the standard library, and a capsule of either generation, are imported."""
    assert ix.asarray(make(b"abc")).tolist() == [97, 98, 99]


@pytest.mark.parametrize("value", [np.float64(3.25), np.int8(-3), np.True_, np.complex64(2j)])
def test_a_numpy_scalar_comes_in(value):
    """A NumPy scalar is imported, and the temporary array of its record is kept."""
    found = [ix.asarray(value) for _ in range(50)]
    _ = [np.full((), 77, value.dtype) for _ in range(50)]

    assert [(array.shape, array.item()) for array in found] == [((), value.item())] * 50


def test_what_array_gives_is_kept_alive():
    """The array returned by ``__array__`` lives as long as the Array."""
    made = []

    class Lazy:
        def __array__(self, dtype=None, copy=None):
            block = np.arange(3.0)
            made.append(weakref.ref(block))
            return block

    found = ix.asarray(Lazy())
    gc.collect()

    assert made[0]() is not None
    assert found.tolist() == [0.0, 1.0, 2.0]


# ---------------------------------------------------------------- dtype


@pytest.mark.parametrize("dtype", ["uint8", "|u1", np.uint8, np.dtype("u1"), ix.DType(1, 8)])
def test_the_dtype_that_is_there_is_taken(dtype):
    """The array's own dtype is accepted under any of its names."""
    assert ix.asarray(b"abc", dtype=dtype).dtype.name == "uint8"


def test_nothing_is_cast():
    """Another dtype is refused, with both named."""
    with pytest.raises(
        ix.UnsupportedDTypeError, match="elements of uint8, wanted float32"
    ) as caught:
        ix.asarray(b"abc", dtype="float32")

    assert caught.value.rule == "IX-CAST-1"


@pytest.mark.parametrize(
    ("keywords", "error", "rule"),
    [
        ({"dtype": "float33"}, ix.UnsupportedDTypeError, "DLP-DTYPE-1"),
        ({"device": "gpu"}, ix.UnsupportedDeviceError, "DLP-DEV-1"),
        *(({"copy": copy}, ix.ArgumentError, "DLP-COPY-3") for copy in (0, 1, "never")),
    ],
    ids=str,
)
def test_an_invalid_keyword_is_refused_before_a_capsule_is_consumed(keywords, error, rule):
    """An invalid dtype, device or `copy`, which must be None or a bool, consumes nothing."""
    capsule = BLOCK.__dlpack__()

    assert refusal(error, capsule, **keywords) == rule
    assert capsule_name(capsule) == LEGACY


# ---------------------------------------------------------------- copy


SHARED = {
    "Array": lambda: ix.asarray(BLOCK),
    "ndarray": lambda: BLOCK,
    "buffer": lambda: memoryview(BLOCK),
    "interface": lambda: Polyglot(*INTERFACE),
    "capsule": BLOCK.__dlpack__,
}

every_shared = pytest.mark.parametrize("make", SHARED.values(), ids=SHARED)


@every_shared
@pytest.mark.parametrize("keywords", [{"copy": None}, {"copy": False}, {"device": "cpu"}], ids=str)
def test_memory_is_shared_unless_a_copy_is_requested(make, keywords):
    """Memory that can be shared is not copied, nor is host memory moved to the host."""
    assert ix.asarray(make(), **keywords).ptr == BLOCK.ctypes.data


@every_shared
def test_copy_true_always_copies(make):
    """The result is the caller's own."""
    found = ix.asarray(make(), copy=True)

    assert found.ptr != BLOCK.ctypes.data
    assert (found.tolist(), found.readonly) == (list(b"abcdef"), False)


def test_a_producer_that_copies_is_not_copied_again():
    """A copy flagged by the producer is not copied again."""
    source = producers.host()

    found = ix.asarray(source, copy=True)

    assert found.ptr == source.loans[0].said.data != source.said.data


def test_a_producer_that_does_not_copy_is_copied():
    """If a producer ignores ``copy=True``, we copy."""
    source = producers.host().but(deaf=True)

    found = ix.asarray(source, copy=True)

    assert found.ptr != source.said.data
    assert found.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_copy_false_calls_no_producer_that_may_copy():
    """With ``copy=False``, ``__array__`` without a `copy` parameter is not called."""

    class Silent:
        def __array__(self, dtype=None):
            raise AssertionError

    assert refusal(ix.CopyNeededError, Silent(), copy=False) == "DLP-COPY-1"
    assert refusal(ix.CopyNeededError, Silent()) == "AI-ARRAY-1"


def test_copy_false_refuses_a_copy_that_was_made():
    """With ``copy=False``, a copy made by the producer is refused."""
    source = producers.host().but(flags=2, deaf=True)

    assert refusal(ix.CopyNeededError, source, copy=False) == "DLP-COPY-1"
    gc.collect()  # the traceback is gone
    assert source.deleter_calls == 1


# ---------------------------------------------------------------- device


@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize("make", [lambda: BLOCK, lambda: b"abc", lambda: ix.asarray(BLOCK)])
def test_without_a_driver_nothing_is_moved_to_a_device(make):
    """Without a driver a move to a device is a BufferError, from every producer."""
    with pytest.raises((BufferError, ValueError)):
        ix.asarray(make(), device="cuda:0")


def test_a_producer_is_asked_for_another_device():
    """A producer that owns the memory is asked to move it."""
    source = producers.claiming((2, 0))

    found = ix.asarray(source, device="cpu")

    assert source.log[-1].keywords["dl_device"] == (1, 0)
    assert str(found.device) == "cpu"


# ---------------------------------------------------------------- assume_writable


def test_unknown_becomes_writable_where_the_caller_says_so():
    """The object that came in stays unknown."""
    array = ix.from_dlpack(producers.host().but(generation="legacy"))

    found = ix.asarray(array, assume_writable=True)

    assert (found.readonly, array.readonly) == (False, None)
    assert found.ptr == array.ptr


@pytest.mark.parametrize(
    "make", [lambda: b"abc", lambda: ix.from_buffer(b"abc"), lambda: np.frombuffer(b"abc", "u1")]
)
def test_read_only_never_becomes_writable(make):
    """Read-only memory cannot be declared writable by the caller."""
    assert refusal(ix.ReadOnlyError, make(), assume_writable=True) == "DLP-RO-3"


@pytest.mark.parametrize(
    ("make", "keywords"), [(bytearray, {"assume_writable": True}), (bytes, {"copy": True})]
)
def test_writable_memory_stays_writable_and_copies_are(make, keywords):
    """There is nothing to assume of writable memory; a copy of read-only memory is writable."""
    assert ix.asarray(make(3), **keywords).readonly is False


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "value",
    [None, 5, 2.5, 1j, "text", [1, 2], (1, 2), {}, {"shape": (1,)}, int, len],
    ids=lambda x: repr(x).partition(" at 0x")[0],
)
def test_objects_without_a_protocol_are_refused(value):
    """Objects without a protocol are refused, Python's own containers among them."""
    assert refusal(ix.NoProtocolError, value) == "IX-PROTOCOL-1"


def test_the_refusal_shows_value_and_type():
    """The error shows value and type of the argument."""
    with pytest.raises(
        ix.NoProtocolError, match=r"asarray\(\): \[1, 2\] of type list; an array supports"
    ):
        ix.asarray([1, 2])


def test_a_consumed_capsule_is_refused():
    """A consumed capsule is refused, and no other protocol is available."""
    capsule = BLOCK.__dlpack__()
    ix.asarray(capsule)

    assert refusal(ix.ConsumedCapsuleError, capsule) == "DLP-CAP-2"
    assert capsule_name(capsule) == USED_LEGACY


@pytest.mark.parametrize(
    "dtype", [">f4", "O", "U3", "M8[s]", [("a", "i4"), ("b", "f4")], "g"], ids=str
)
def test_elements_that_no_protocol_can_say_are_refused(dtype):
    """If no protocol can represent the elements, the last one that was asked gives the reason."""
    with pytest.raises(ix.ExchangeError) as caught:
        ix.asarray(np.zeros(3, dtype))

    assert caught.value.rule in {"DLP-DTYPE-1", "DLP-DTYPE-3", "CAI-TYPESTR-2", "AI-DESCR-1"}


def test_a_class_is_no_array():
    """The methods of a class are not those of an object."""
    with pytest.raises((TypeError, BufferError)):
        ix.asarray(np.ndarray)


def test_a_list_from_array_is_refused():
    """An ``__array__`` that returns a list is refused."""

    class Listing:
        def __array__(self, dtype=None, copy=None):
            return [1, 2]

    with pytest.raises(ix.ExchangeError, match=r"returned \[1, 2\]") as caught:
        ix.asarray(Listing())

    assert caught.value.rule == "AI-ARRAY-2"


@pytest.mark.parametrize(
    "error", [RuntimeError, ValueError, KeyError, TypeError, MemoryError, BufferError]
)
def test_an_error_of_the_producer_is_raised_unchanged(error):
    """An error of the producer is raised, also a BufferError of the only supported protocol."""
    source = producers.host().but(raises=error("the producer's own"))

    with pytest.raises(error, match="the producer's own"):
        ix.asarray(source)
