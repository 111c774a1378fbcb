"""`from_array_interface`: every key of NumPy's record, good and bad."""

from __future__ import annotations

import array
import gc
import weakref

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange.abi.memory import ADDRESS_END

MEMORY = np.arange(12, dtype="f4")
GOOD = {
    "shape": (3, 4),
    "typestr": "<f4",
    "data": (MEMORY.ctypes.data, False),
    "strides": None,
    "descr": [("", "<f4")],
    "mask": None,
    "offset": 0,
    "version": 3,
}


class Interface:
    """An object with only an array-interface record."""

    def __init__(self, record, **attributes):
        self.__array_interface__ = record
        self.__dict__.update(attributes)


class Block(bytearray):
    """Memory that can be referred to weakly."""


def but(**changes):
    """Return an object whose record differs from the good one."""
    return Interface({**GOOD, **changes})


def less(*keys):
    """Return an object whose record lacks keys of the good one."""
    return Interface({key: value for key, value in GOOD.items() if key not in keys})


def over(block, shape, typestr="<f4", **more):
    """Return an object whose data is an object with a buffer."""
    return Interface({"shape": shape, "typestr": typestr, "data": block, "version": 3, **more})


def refusal(value):
    """Return the class and the rule that a value is refused with."""
    with pytest.raises((ix.ExchangeError, ix.NoProtocolError)) as caught:
        ix.from_array_interface(value)
    assert str(caught.value).startswith("from_array_interface(): ")
    return type(caught.value), caught.value.rule


# ---------------------------------------------------------------- good records


def test_an_ndarray_comes_in():
    """A record of NumPy is accepted without checks of the memory."""
    memory = np.arange(6.0).reshape(2, 3)[:, ::-1]

    found = ix.from_array_interface(memory)

    assert (found.shape, found.strides, found.owner) == ((2, 3), (3, -1), memory)
    assert (found.tolist(), found.readonly) == (memory.tolist(), False)


OPTIONAL = ("strides", "descr", "mask", "offset")


@pytest.mark.parametrize(
    "value",
    [
        but(),
        *(less(key) for key in (*OPTIONAL, "version")),
        *(but(**{key: None}) for key in OPTIONAL),
        but(descr=[("x", "<f4")]),
        but(colour="red"),
    ],
    ids=[
        "good",
        *(f"without {key}" for key in (*OPTIONAL, "version")),
        *(f"{key} is None" for key in OPTIONAL),
        *("descr of one field", "unknown key"),
    ],
)
def test_a_good_record_is_imported(value):
    """Only shape, typestr and data are required; a descr of one field is the typestr again."""
    found = ix.from_array_interface(value)

    assert (found.dtype.name, found.tolist()) == ("float32", MEMORY.reshape(3, 4).tolist())


@pytest.mark.parametrize("flag", [True, False, 1, 0])
def test_the_flag_says_read_only(flag):
    """The second entry of data is the right to write."""
    found = ix.from_array_interface(but(data=(MEMORY.ctypes.data, flag)))

    assert found.readonly is bool(flag)


@pytest.mark.parametrize(
    ("strides", "expected"),
    [((16, 4), (4, 1)), ((4, 12), (1, 3)), ((-16, -4), (-4, -1)), ((0, 4), (0, 1))],
)
def test_strides_count_bytes(strides, expected):
    """Strides in bytes become strides in elements; the address is that of the first element."""
    last = MEMORY.ctypes.data + 11 * 4

    found = ix.from_array_interface(
        but(strides=strides, data=(last if strides[0] < 0 else last - 44, False))
    )

    assert found.strides == expected
    assert found[0, 0].item() == (11 if strides[0] < 0 else 0)


@pytest.mark.parametrize(
    ("shape", "strides"), [((1, 4), (3, 4)), ((0, 4), (3, 3)), ((1, 1), (7, -5))]
)
def test_strides_without_meaning_need_not_divide(shape, strides):
    """Along axes shorter than 2 and in empty arrays no stride is used."""
    assert ix.from_array_interface(but(shape=shape, strides=strides)).shape == shape


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 0)])
def test_nothing_has_no_address(shape):
    """The address of an empty array is ignored."""
    for address in (0, 1, MEMORY.ctypes.data):
        assert ix.from_array_interface(but(shape=shape, data=(address, False))).ptr == 0


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "complex32"])
def test_a_typestr_that_tells_too_little_is_helped_by_the_dtype(name):
    """For an ambiguous typestr, such as ``<V2`` for bfloat16, the object's dtype is used."""
    if not hasattr(ml_dtypes, name):
        pytest.skip(f"this ml_dtypes has no {name}")
    memory = np.array([0, 1, 2], getattr(ml_dtypes, name))

    found = ix.from_array_interface(memory)

    assert found.dtype is ix.DType.of(memory.dtype)
    assert np.asarray(found).tobytes() == memory.tobytes()


# ---------------------------------------------------------------- data that is a buffer


@pytest.mark.parametrize("make", [bytes, bytearray, lambda b: memoryview(bytearray(b))])
def test_data_may_be_a_buffer(make):
    """The buffer may be of any elements, and of none; the Array is writable if the buffer is."""
    block = make(MEMORY.tobytes())

    found = ix.from_array_interface(over(block, (3, 4)))

    assert found.tolist() == MEMORY.reshape(3, 4).tolist()
    assert found.readonly is isinstance(block, bytes)
    floats = array.array("i", [1065353216, 1073741824])
    assert ix.from_array_interface(over(floats, (2,))).tolist() == [1.0, 2.0]
    assert ix.from_array_interface(over(b"", (0, 4))).shape == (0, 4)


@pytest.mark.parametrize(
    ("offset", "count", "step"),
    [(0, 3, 1), (4, 3, 1), (16, 3, 1), (np.int64(16), 3, 1), (44, 12, -1)],
)
def test_an_offset_counts_bytes_of_the_buffer(offset, count, step):
    """The offset is the position of the first element, which may be the last in memory."""
    block = over(MEMORY.tobytes(), (count,), offset=offset, strides=(4 * step,))

    found = ix.from_array_interface(block)

    assert found.tolist() == MEMORY[int(offset) // 4 :: step][:count].tolist()


def test_data_left_out_is_the_object_itself():
    """An object with a buffer need not repeat it in the record."""

    class Holder(Block):
        @property
        def __array_interface__(self):
            return {"shape": (3,), "typestr": "<f4", "version": 3}

    found = ix.from_array_interface(Holder(MEMORY[:3].tobytes()))

    assert found.tolist() == [0.0, 1.0, 2.0]


@given(
    st.integers(0, 40),
    st.lists(st.integers(0, 4), max_size=3).map(tuple),
    st.integers(-8, 50),
    st.data(),
)
def test_an_array_never_leaves_its_buffer(nbytes, shape, offset, data):
    """A record is imported exactly if all its elements are within the buffer."""
    strides = tuple(data.draw(st.integers(-4, 4)) * 4 for _ in shape)
    starts = [
        offset + sum(i * step for i, step in zip(at, strides, strict=True))
        for at in np.ndindex(shape)
    ]
    fits = all(0 <= start <= nbytes - 4 for start in starts)
    record = over(bytearray(nbytes), shape, strides=strides, offset=offset)

    try:
        found = ix.from_array_interface(record)
    except ix.ExchangeError as error:
        found = error.rule

    if starts:
        assert isinstance(found, ix.Array) == fits
    assert found == "CAI-DATA-1" or found.shape == shape


# ---------------------------------------------------------------- keeping alive


def test_what_only_the_record_holds_is_kept_alive():
    """The array is kept alive whose memory a NumPy scalar exports by its record alone."""
    alive = []

    class Fleeting:
        @property
        def __array_interface__(self):
            block = Block(MEMORY.tobytes())
            alive.append(weakref.ref(block))
            return {
                "shape": (12,),
                "typestr": "<f4",
                "data": (ix.from_buffer(block).ptr, False),
                "version": 3,
                "__ref": block,
            }

    found = ix.from_array_interface(Fleeting())
    gc.collect()

    assert alive[-1]() is not None, "the memory is gone, and the Array still points to it"
    assert found.shape == (12,)


# ---------------------------------------------------------------- bad records

E, U = ix.ExchangeError, ix.UnsupportedDTypeError


@pytest.mark.parametrize(
    "value", [None, 5, b"abc", [1], frozenset()], ids=lambda x: repr(x).partition(" at 0x")[0]
)
def test_what_has_no_record_has_no_protocol(value):
    """The error is a TypeError and an AttributeError, too."""
    assert refusal(value) == (ix.NoProtocolError, "AI-1")


@pytest.mark.parametrize(
    "value",
    [*map(Interface, (5, "record", [], (), frozenset())), less("shape"), less("typestr")],
    ids=["int", "text", "list", "tuple", "object", "no shape", "no typestr"],
)
def test_a_record_is_a_dict_with_shape_and_typestr(value):
    """Anything else is refused."""
    assert refusal(value) == (E, "CAI-DICT-1")


@pytest.mark.parametrize("key", ["shape", "typestr", "data"])
def test_a_record_that_has_only_buffers_to_offer_is_checked_alike(key):
    """The same keys are needed where data is a buffer."""
    record = {"shape": (3, 4), "typestr": "<f4", "data": MEMORY.tobytes()}
    del record[key]

    assert refusal(Interface(record))[1] in {"CAI-DICT-1", "CAI-DATA-1"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"shape": 12}, (E, "CAI-SHAPE-1")),
        ({"shape": (3.0, 4.5)}, (E, "CAI-SHAPE-1")),
        ({"shape": (-3, 4)}, (E, "CAI-SHAPE-1")),
        ({"shape": (2**63,)}, (E, "CAI-SHAPE-1")),
        ({"shape": (2**62, 4)}, (E, "DLP-SHAPE-4")),
        ({"shape": (1,) * 65}, (E, "DLP-SHAPE-1")),
        ({"typestr": "f4"}, (U, "CAI-TYPESTR-1")),
        ({"typestr": None}, (U, "CAI-TYPESTR-1")),
        ({"typestr": 4}, (U, "CAI-TYPESTR-1")),
        ({"typestr": ">f4", "descr": None}, (U, "DLP-DTYPE-3")),
        ({"typestr": "|O8", "descr": None}, (U, "DLP-DTYPE-3")),
        ({"typestr": "<M8[ns]", "descr": None}, (U, "DLP-DTYPE-3")),
        ({"typestr": "|S4", "descr": None}, (U, "DLP-DTYPE-3")),
        ({"typestr": "|V4", "descr": None}, (U, "CAI-TYPESTR-2")),
        ({"typestr": "<f3", "descr": None}, (U, "DLP-DTYPE-1")),
        ({"strides": 4}, (E, "CAI-STRIDES-1")),
        ({"strides": (16, 4.5)}, (E, "CAI-STRIDES-1")),
        ({"strides": (16,)}, (E, "CAI-STRIDES-2")),
        ({"strides": (16, 4, 1)}, (E, "CAI-STRIDES-2")),
        ({"strides": (16, 3)}, (ix.CopyNeededError, "DLP-STRIDES-3")),
        ({"strides": (2**62, 4)}, (E, "DLP-STRIDES-2")),
        ({"strides": (-(2**62), 4)}, (E, "DLP-STRIDES-2")),
        ({"data": (0, False)}, (E, "DLP-DATA-1")),
        ({"data": (None, False)}, (E, "DLP-DATA-1")),
        ({"data": (-1, False)}, (E, "CAI-DATA-1")),
        ({"data": (ADDRESS_END, False)}, (E, "CAI-DATA-1")),
        ({"data": (ADDRESS_END - 8, False)}, (E, "DLP-STRIDES-2")),
        ({"data": (4096.0, False)}, (E, "CAI-DATA-1")),
        ({"data": (4096,)}, (E, "CAI-DATA-1")),
        ({"data": 4096}, (E, "CAI-DATA-1")),
        ({"data": "text"}, (E, "CAI-DATA-1")),
        ({"mask": np.zeros((3, 4), "?")}, (E, "AI-MASK-1")),
        ({"descr": [("a", "<f2"), ("b", "<f2")]}, (U, "AI-DESCR-1")),
        ({"descr": [("a", "<i4")]}, (U, "AI-DESCR-1")),
        ({"descr": [("a", "<f4", (2,))]}, (U, "AI-DESCR-1")),
        ({"descr": 5}, (U, "AI-DESCR-1")),
        ({"version": "3"}, (E, "CAI-VER-1")),
    ],
    ids=lambda x: repr(x).partition(" at 0x")[0],
)
def test_a_malformed_record_is_refused_with_its_rule(change, expected):
    """Each wrong entry violates its own rule."""
    assert refusal(but(**change)) == expected


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        *((MEMORY.tobytes(), offset) for offset in (-4, 4, 2**70, "4", 4.5, (0,))),
        *((data, 0) for data in (memoryview(MEMORY)[::2], [1, 2], 5, "text", frozenset())),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, bytes | memoryview) else repr(one),
)
def test_data_that_is_no_buffer_of_all_elements_is_refused(data, offset):
    """Data must be a contiguous buffer, which has a base address, and hold all elements."""
    assert refusal(over(data, (12 if offset else 3,), offset=offset)) == (E, "CAI-DATA-1")


@pytest.mark.parametrize("dtype", [np.int32, "float32", np.dtype("f4")])
def test_a_dtype_that_contradicts_an_ambiguous_typestr_is_refused(dtype):
    """A dtype of another size than an ambiguous typestr is refused."""
    value = Interface({**GOOD, "typestr": "|V2", "descr": None}, dtype=dtype)

    assert refusal(value) == (U, "CAI-TYPESTR-2")


def test_an_error_of_the_objects_own_comes_through():
    """An error raised by a property is not read as a missing property."""

    class Raising:
        @property
        def __array_interface__(self):
            raise RuntimeError("closed")

    with pytest.raises(RuntimeError, match="closed"):
        ix.from_array_interface(Raising())


# ---------------------------------------------------------------- bare records


def test_a_bare_record_is_imported_with_its_owner():
    """The owner lives as long as the Array, and the dict is not needed any more."""
    memory = np.arange(6, dtype="i4")
    kept = weakref.ref(memory)
    record = {**memory.__array_interface__, "shape": (2, 3)}
    found = ix.from_array_interface(record, owner=memory)
    record.clear()
    del memory
    gc.collect()
    assert kept() is not None
    assert found.tolist() == [[0, 1, 2], [3, 4, 5]]

    del found
    gc.collect()
    assert kept() is None


def test_a_bare_record_may_hold_a_buffer():
    """The buffer is kept, so that no owner has to be named."""
    block = Block(np.arange(3, dtype="f4").tobytes())
    kept = weakref.ref(block)
    found = ix.from_array_interface({"shape": (3,), "typestr": "<f4", "data": block, "version": 3})
    del block
    gc.collect()

    assert found.tolist() == [0, 1, 2]
    assert kept() is not None


def test_the_owner_is_kept_beside_an_object():
    """An object with the attribute can have another owner as well."""
    owner = Block(4)
    kept = weakref.ref(owner)
    found = ix.from_array_interface(but(), owner=owner)
    del owner
    gc.collect()

    assert kept() is not None
    assert found.shape == (3, 4)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"data": None}, "CAI-DATA-1"),
        ({"mask": MEMORY}, "AI-MASK-1"),
        ({"shape": 3}, "CAI-SHAPE-1"),
    ],
)
def test_a_bad_bare_record_is_refused_with_its_rule(change, rule):
    """As one of an object."""
    with pytest.raises(ix.ExchangeError, match=rule):
        ix.from_array_interface({**GOOD, **change})
