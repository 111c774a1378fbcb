"""`Contract`: its arguments, contradictions, and shapes with named extents."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange import _core
from interchange._array.contract import CheckedArgument, are_met, plans_of
from interchange._array.contract_errors import contract_error
from interchange._types.dtypes import all_dtypes

HOST = ix.asarray(np.zeros((2, 3), "f4"))
PACKED = ix.from_pointer(HOST.ptr, (4,), "int4", owner=HOST)
ON_DEVICE = ix.from_pointer(0xDEAD000, (2, 3), "float32", device="cuda:1")
HANDLE = ix.from_pointer(7, (2, 2), "float32", device="opencl")
NOTHING = ix.asarray(np.zeros((0, 3)))


def refused(error, rule, **words):
    """Return the error for a contract with these arguments."""
    with pytest.raises(error) as caught:
        ix.Contract(**words)
    assert type(caught.value) is error
    assert (caught.value.rule, caught.value.call) == (rule, "Contract()")
    return caught.value


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"dtype": ()}, "dtype=() leaves no choice"),
        ({"dtype": 5}, "dtype=5 is not an element type"),
        *(
            ({"ndim": ndim}, f"ndim={ndim!r} is not a number of axes")
            for ndim in ("2", -1, 65, True, (), np.True_)
        ),
        *(
            ({"shape": shape}, f"shape={shape!r} is not a shape")
            for shape in (6, "n3", ("n", 3.0), ("n", True), ("2*n",), ("",), (-2,), (np.True_, 3))
        ),
        ({"shape": (..., 3, ...)}, "has 2 times ..."),
        ({"shape": (None,) * 65}, "and 65 entries"),
        *(({"order": order}, f"order={order!r}") for order in ("K", 1)),
        ({"device": 5}, "device=5 is not a device"),
        *(({"writable": value}, f"writable={value!r} is not a bool") for value in (1, "out")),
        *(
            ({"align": align}, f"align={align!r} is not an alignment")
            for align in (0, -8, 24, 2**40, 8.0, True, np.True_)
        ),
    ],
    ids=repr,
)
def test_an_invalid_argument_is_refused_at_definition(words, said):
    """An invalid argument is refused at definition; the error shows it and the valid values."""
    error = refused(ix.ArgumentError, "IX-ARGUMENT-1", **words)

    assert said in error.what
    assert error.hint


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"ndim": 2, "shape": (2, 3, 4)}, "ndim=2 and shape=(2, 3, 4), of 3"),
        ({"ndim": (1, 3), "shape": ("n", 3)}, "ndim=(1, 3) and shape=('n', 3), of 2"),
        ({"ndim": 1, "shape": (..., 3, 3)}, "ndim=1 and shape=(..., 3, 3), of at least 2"),
        ({"ndim": 0, "shape": (-1,)}, "ndim=0 and shape=(None,), of 1"),
        ({"align": 64, "device": "opencl"}, "align=64 on kDLOpenCL, whose addresses are handles"),
    ],
    ids=repr,
)
def test_words_that_contradict_each_other_are_refused_at_definition(words, said):
    """Contradictory arguments are refused at definition, since no array could meet them."""
    error = refused(ix.ArgumentError, "IX-ARGUMENT-1", **words)

    assert error.what == f"{said}, contradict each other"


@pytest.mark.parametrize(
    "words",
    [
        {"ndim": 2, "shape": ("n", 3)},
        {"ndim": (2, 4), "shape": (..., 3)},
        {"ndim": (1, 2), "shape": ("n", 3)},
        {"align": 1, "device": "metal"},
        {"dtype": "int4", "align": 64},
    ],
    ids=repr,
)
def test_words_that_say_the_same_twice_are_fine(words):
    """Redundant arguments are accepted, and arrays can meet them."""
    assert repr(ix.Contract(**words)).startswith("Contract(")


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("real floatin", "did you mean 'real floating'?"),
        ("flaot32", "did you mean 'float32'?"),
        ("interger", "did you mean 'integral'?"),
        ("signed int", "did you mean 'signed integer'?"),
        ("unint8", "did you mean 'uint8'?"),
        *((word, "pass `") for word in ("float", "f", "long")),
    ],
)
def test_a_mistyped_or_ambiguous_dtype_is_refused_with_names(typed, hint):
    """The nearest name, if there is one; the meanings of an ambiguous one, and no similar name."""
    error = refused(ix.UnsupportedDTypeError, "DLP-DTYPE-1", dtype=typed)

    assert hint in error.hint
    assert ("did you mean" in error.hint) is hint.startswith("did you mean")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ({"shape": (np.int64(2), np.uint8(3))}, {"shape": (2, 3)}),
        ({"shape": (np.int64(-1), 3)}, {"shape": (-1, 3)}),
        ({"shape": np.shape(np.zeros((2, 3)))}, {"shape": (2, 3)}),
        ({"ndim": np.int32(2)}, {"ndim": 2}),
        ({"ndim": [np.int64(1), 2]}, {"ndim": (1, 2)}),
        ({"align": np.uint64(4)}, {"align": 4}),
        ({"shape": (np.array(2), 3)}, {"shape": (2, 3)}),
    ],
    ids=repr,
)
def test_whole_numbers_of_numpy_are_ints(words, meant):
    """NumPy integers are ints in the contract, in its repr and in `require`."""
    assert repr(ix.Contract(**words)) == repr(ix.Contract(**meant))
    assert HOST.require(**words) is HOST


@pytest.mark.parametrize(
    ("word", "before", "after"),
    [("shape", [2, 3], 7), ("ndim", [2, 3], 7), ("dtype", ["float32", "int8"], "float64")],
)
def test_a_contract_keeps_what_was_said(word, before, after):
    """Changing a list after it was passed does not change the contract, its repr or its pickle."""
    words = {word: before}
    contract, said = ix.Contract(**words), repr(tuple(before))
    before[0] = after

    assert repr(contract) == f"Contract({word}={said})"
    assert repr(pickle.loads(pickle.dumps(contract))) == repr(contract)
    assert contract._is_met(HOST, {})


def test_a_contract_shows_its_arguments():
    """The repr is the call that creates it again, with the arguments as written; no others."""
    text = "Contract(dtype=('bool', 'float32'), shape=('n', 3, Ellipsis), order='C', align=64)"

    assert repr(eval(text, {"Contract": ix.Contract})) == text  # noqa: S307 - as the test says
    with pytest.raises(TypeError, match="dtpye"):
        ix.Contract(dtpye="float32")


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_contract_can_be_copied_and_sent(again):
    """Copies and pickles of a contract are equal to it."""
    contract = again(ix.Contract(dtype=("bool", np.float32), shape=("n", ...), align=4))

    assert are_met([CheckedArgument("x", HOST, contract, is_ours=True)])
    assert repr(contract).startswith("Contract(dtype=('bool', <class 'numpy.float32'>)")


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("bool", {"bool"}),
        ("signed integer", {"int8", "int16", "int32", "int64"}),
        ("unsigned integer", {"uint8", "uint16", "uint32", "uint64"}),
        ("real floating", {"float16", "float32", "float64", "bfloat16", "float8_e4m3fn"}),
        ("complex floating", {"complex64", "complex128"}),
    ],
)
def test_a_kind_holds_its_types(kind, names):
    """A kind has the types of the standard, and others of that category."""
    found = {
        str(dtype)
        for dtype in all_dtypes()
        if ix.from_pointer(0x1000, (4,), dtype).dtype in ix.Contract(dtype=kind)._dtypes
    }

    assert names <= found
    assert {ix.DType.of(name).category for name in found} == {kind}


def test_numeric_and_integral_are_unions():
    """Kinds are unions as in ``isdtype``; bool and handles are in neither."""
    types = {kind: {*ix.Contract(dtype=kind)._dtypes} for kind in KINDS}

    assert types["integral"] == types["signed integer"] | types["unsigned integer"]
    assert types["numeric"] == (
        types["integral"] | types["real floating"] | types["complex floating"]
    )


KINDS = (
    *("signed integer", "unsigned integer", "integral"),
    *("real floating", "complex floating", "numeric"),
)


# ---------------------------------------------------------------- shapes, against a model


def model(patterns, shapes):
    """Return whether shapes fit patterns, by a reference implementation."""
    known = {}
    for pattern, shape in zip(patterns, shapes, strict=True):
        wanted = list(pattern)
        if ... in wanted:
            place = wanted.index(...)
            wanted[place : place + 1] = [None] * (len(shape) - len(wanted) + 1)
        if len(wanted) != len(shape):
            return False
        for extent, found in zip(wanted, shape, strict=True):
            if isinstance(extent, str):
                if known.setdefault(extent, found) != found:
                    return False
            elif extent not in {None, -1, found}:
                return False
    return True


EXTENTS = st.integers(0, 3)
PARTS = st.one_of(EXTENTS, st.sampled_from([None, -1, "n", "m"]))
SHAPES = st.lists(EXTENTS, max_size=4).map(tuple)


@st.composite
def patterns(draw):
    """Return a pattern of up to four axes, perhaps with an ellipsis."""
    parts = draw(st.lists(PARTS, max_size=4))
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), ...)
    return tuple(parts)


@st.composite
def likely(draw):
    """Return a pattern, and a shape that often fits it."""
    pattern = draw(patterns())
    if draw(st.integers(0, 3)) == 0:
        return pattern, draw(SHAPES)
    known = {"n": draw(EXTENTS), "m": draw(EXTENTS)}
    shape = []
    for one in pattern:
        if one is ...:
            shape += draw(st.lists(EXTENTS, max_size=2))
        else:
            shape.append(known.get(one, one) if one not in {None, -1} else draw(EXTENTS))
    return pattern, tuple(shape)


PAIRS = st.lists(likely(), min_size=1, max_size=3)


def held_of(pairs):
    """Return arrays of these shapes, and contracts of these patterns."""
    names = "xyz"
    return [
        CheckedArgument(
            name=names[place],
            array=ix.asarray(np.zeros(shape, "u1")),
            contract=ix.Contract(shape=pattern),
            is_ours=True,
        )
        for place, (pattern, shape) in enumerate(pairs)
    ]


@given(PAIRS)
def test_shapes_fit_as_the_model_says(pairs):
    """Wildcards, names within and between arguments, and an ellipsis anywhere."""
    assert are_met(held_of(pairs)) is model(*zip(*pairs, strict=True))


@given(PAIRS)
def test_what_does_not_fit_is_reported(pairs):
    """An error names an argument if and only if the model refuses the shapes."""
    error = contract_error(held_of(pairs), "f()")

    assert ("argument" in error.what) is not model(*zip(*pairs, strict=True))


def taken_by_the_core(held, *values):
    """Return whether the core alone accepts values with contracts, without calling Python."""
    take = _core.fast_checks(lambda *_: "asked", plans_of([one.contract for one in held]))
    return take(*values) != "asked"


@given(PAIRS)
def test_both_cores_judge_alike(pairs):
    """Both cores agree; values accepted without calling Python meet their contract.

    The native core accepts all of them without calling Python.
    """
    held = held_of(pairs)
    taken = taken_by_the_core(held, *(one.array for one in held))

    assert taken is (_core.core_name == "native" and are_met(held))


# ---------------------------------------------------------------- all arguments against a model


@st.composite
def arrays(draw):
    """Return a host array: of some type, layout, alignment and right to write."""
    dtype = draw(st.sampled_from(["u1", "f4", "f8", "c8", "?"]))
    block = np.zeros(512, "u1")
    start = -block.ctypes.data % 64 + draw(st.sampled_from([0, 8, 16, 32]))
    shape = draw(st.lists(st.integers(0, 3), max_size=3).map(tuple))
    found = block[start : start + 64 * 6].view(dtype)[: int(np.prod(shape))].reshape(shape)
    if draw(st.booleans()):
        found = found.T
    if found.ndim and draw(st.integers(0, 3)) == 0:
        found = found[::-1]
    found.flags.writeable = draw(st.booleans())
    return found


CONTRACTS = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.sampled_from(["real floating", "float32", ("bool", "uint8"), "numeric"]),
        "ndim": st.sampled_from([1, 2, (0, 1, 2), (2, 3)]),
        "order": st.sampled_from("CFA"),
        "device": st.sampled_from(["cpu", ix.Device(1), "cuda", "cuda:0"]),
        "writable": st.booleans(),
        "align": st.sampled_from([1, 8, 16, 32, 64]),
    },
)


def is_met(x, *, dtype=None, ndim=None, order=None, device=None, writable=None, align=1):
    """Return whether an ndarray meets a contract, according to NumPy."""
    kinds = {"real floating": "f", "float32": "f", "numeric": "biufc", ("bool", "uint8"): "bu"}
    flags, dense = x.flags, {"C": x.flags.c_contiguous, "F": x.flags.f_contiguous}
    dense["A"] = dense["C"] or dense["F"]
    return (
        (dtype is None or (x.dtype.kind in kinds[dtype] and not is_of_other_width(x, dtype)))
        and (ndim is None or x.ndim in (ndim if isinstance(ndim, tuple) else (ndim,)))
        and (order is None or dense[order])
        and (device is None or str(device) == "cpu")
        and (not writable or flags.writeable)
        and (x.size == 0 or x.ctypes.data % align == 0)
    )


def is_of_other_width(x, dtype):
    """Whether the type differs from the required one by its size only, or by being bool."""
    if dtype == "float32":
        return x.dtype != np.float32
    return dtype == "numeric" and x.dtype == np.bool_


@given(arrays(), CONTRACTS)
def test_every_word_holds_as_numpy_says(x, words):
    """Every argument agrees with NumPy: type, axes, order, writability and address."""
    held = CheckedArgument("x", ix.asarray(x), ix.Contract(**words), is_ours=False)
    expected = is_met(x, **words)

    assert are_met([held]) is expected
    assert (contract_error([held], "f()").what == "") is expected
    assert taken_by_the_core([held], held.array) is (_core.core_name == "native" and expected)
    assert taken_by_the_core([held], x) <= expected


# ---------------------------------------------------------------- other memory


@pytest.mark.parametrize(
    ("array", "words", "said"),
    [
        (PACKED, {"dtype": "int4", "shape": ("n",), "order": "C", "align": 2}, None),
        (PACKED, {"dtype": "signed integer", "writable": True, "device": "cpu"}, None),
        (PACKED, {"dtype": "int4_padded"}, "wanted int4_padded"),
        (PACKED, {"align": 2**30}, f"wanted a multiple of {2**30} bytes"),
        (ON_DEVICE, {"dtype": "float32", "device": "cuda", "align": 64, "order": "C"}, None),
        (ON_DEVICE, {"device": "cuda:0"}, "wanted cuda:0"),
        (ON_DEVICE, {"align": 8192}, " has address 0xdead000, wanted a multiple of 8192 bytes"),
        (HANDLE, {"dtype": "numeric", "device": "opencl", "shape": ("n", "n")}, None),
        (HANDLE, {"align": 8}, " has a handle on opencl:0, wanted align=8"),
        (NOTHING, {"align": 64, "order": "A", "writable": True, "shape": (0, "n")}, None),
    ],
)
def test_a_contract_is_checked_for_memory_of_every_kind(array, words, said):
    """Packed, device, handle and empty memory is checked without reading it."""
    contract = ix.Contract(**words)
    function = ix.accepts_arrays(x=contract)(lambda x: x is array)

    assert are_met([CheckedArgument("x", array, contract, is_ours=True)]) is (said is None)
    if said is None:
        assert function(array)
    else:
        with pytest.raises(ix.ContractError) as caught:
            function(array)
        assert caught.value.what.endswith(said)


# ---------------------------------------------------------------- caching between calls


def test_a_contract_is_checked_for_each_array():
    """An array that met the contract has no effect on the check of the next one."""
    contract = ix.Contract(dtype="float32", writable=True, align=4)
    frozen = HOST.__array__().copy()
    frozen.flags.writeable = False
    arrays = [HOST, ix.asarray(frozen), HOST, ix.asarray(np.zeros((2, 3)))]

    assert [are_met([CheckedArgument("x", x, contract, is_ours=True)]) for x in arrays] == [
        *(True, False, True, False)
    ]


def test_words_that_change_between_calls_are_read_again():
    """A list is another contract when it was changed."""
    wanted = ["float32"]
    HOST.require(dtype=wanted)
    wanted[:] = ["float64"]

    with pytest.raises(ix.ContractError, match="wanted float64"):
        HOST.require(dtype=wanted)


def test_arguments_that_only_compare_equal_are_distinguished():
    """True is not accepted as an extent, even after an equal 1 was."""
    one = ix.asarray(np.zeros((1, 3)))
    one.require(shape=(1, 3))

    with pytest.raises(ix.ArgumentError, match="is not a shape"):
        one.require(shape=(True, 3))


def test_many_contracts_are_not_all_kept():
    """Contracts with a new shape for each call do not accumulate."""
    from interchange._array.contract_checks import _kept

    for count in range(600):
        ix.asarray(np.zeros((2, 3))).require(shape=(None, 3), align=1, name=f"x{count}")
        ix.asarray(np.zeros(count)).require(shape=(count,))

    assert len(_kept) <= 256
