"""The calls suggested by a contract's error: after them the contract is met."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange.testing import producers


def refusal(x, contract, name="x"):
    """Return the error of an argument that violates a contract."""
    function = ix.accepts_arrays(**{name: contract})(eval(f"lambda {name}: {name}"))  # noqa: S307 - ours
    with pytest.raises(ix.ContractError) as caught:
        function(x)
    return caught.value


def suggested(hint, **names):
    """Return the arguments as the calls of a fix convert them."""
    calls = hint.split("`")[1]
    space = {"ix": ix, **names}
    exec(calls, space)  # noqa: S102 - as the test says
    return {name: space[name] for name in names}


def check_suggestion(x, contract):
    """Make the calls that an error suggests; the result meets the contract."""
    hint = refusal(x, contract).hint
    found = suggested(hint, x=x)["x"]

    assert "pass x" not in hint
    assert ix.accepts_arrays(x=contract)(lambda x: x)(found) is found
    return hint


FROZEN = np.zeros((2, 3), "f4")
FROZEN.flags.writeable = False
SHIFTED = np.zeros(256, "u1")
SHIFTED = SHIFTED[-SHIFTED.ctypes.data % 64 + 8 :][:24].view("f4").reshape(2, 3)
HOST = np.arange(6, dtype="f4").reshape(2, 3)


UNKNOWN = ix.from_dlpack(producers.host((3,), "uint8").but(generation="legacy"))


@pytest.mark.parametrize(
    ("x", "words", "calls"),
    [
        (HOST, {"dtype": "float64"}, ".astype('float64')"),
        (HOST, {"dtype": ("int8", "float16")}, ".astype('float16')"),
        (HOST, {"dtype": "complex floating"}, ".astype('complex128')"),
        (HOST, {"dtype": "bfloat16"}, ".astype('bfloat16')"),
        (HOST.astype("c8"), {"dtype": "bool"}, ".astype('bool')"),
        (HOST, {"order": "F"}, ".contiguous('F')"),
        (HOST[:, ::2], {"order": "C"}, ".contiguous()"),
        (HOST[:, ::2], {"order": "A"}, ".contiguous()"),
        (ix.asarray(HOST)[:, ::2], {"order": "A"}, ".contiguous()"),
        (HOST[0], {"shape": ("n", 3)}, ".reshape((1, 3), copy=None)"),
        (HOST[0], {"shape": (3, ..., "n")}, ".reshape((3, 1), copy=None)"),
        (HOST[:1], {"ndim": 1}, ".reshape((3,), copy=None)"),
        (HOST[:, :1], {"ndim": (0, 1, 3)}, ".reshape((2,), copy=None)"),
        (FROZEN, {"writable": True}, ".copy()"),
        (FROZEN, {"writable": True, "order": "F"}, ".copy(order='F')"),
        (FROZEN, {"writable": True, "dtype": "int8"}, ".astype('int8')"),
        (SHIFTED, {"align": 64}, ".copy()"),
        (SHIFTED, {"align": 64, "dtype": "int8"}, ".astype('int8').copy()"),
        (HOST.T, {"dtype": "int8", "order": "C"}, ".astype('int8').contiguous()"),
        (b"abc", {"writable": True}, ".copy()"),
        (UNKNOWN, {"writable": True}, ".copy()"),
        (
            HOST[:1].T,
            {"dtype": "bool", "shape": ("n",), "writable": True, "align": 32},
            ".reshape((3,), copy=None).astype('bool').copy()",
        ),
    ],
    ids=lambda value: f"{value!r:.60}" if isinstance(value, dict) else "",
)
def test_the_calls_of_the_error_meet_the_contract(x, words, calls):
    """The suggested calls, as a user would write them, make the argument meet the contract."""
    hint = check_suggestion(x, ix.Contract(**words))

    start = "x" if isinstance(x, ix.Array) else "ix.asarray(x)"
    assert hint.partition(" (what")[0] == f"first `x = {start}{calls}`"


@pytest.mark.parametrize(
    ("x", "words", "calls"),
    [
        (bytes(8), {"dtype": "int16"}, "ix.from_buffer(x, 'int16')"),
        (bytearray(8), {"dtype": "float32", "shape": (2,)}, "ix.from_buffer(x, 'float32')"),
        (bytes(8), {"dtype": ("float64", "int8"), "shape": ("n",)}, "ix.from_buffer(x, 'float64')"),
        (
            bytes(8),
            {"dtype": "float32", "shape": (1, 2)},
            "ix.from_buffer(x, 'float32').reshape((1, 2), copy=None)",
        ),
        (bytes(7), {"dtype": "int16"}, "ix.asarray(x).astype('int16')"),
        (bytes(8), {"dtype": "integral", "order": "F"}, None),
        (bytes(8), {"dtype": "real floating"}, "ix.asarray(x).astype('float64')"),
        (ix.asarray(bytes(8)), {"dtype": "int16"}, "x.astype('int16')"),
    ],
)
def test_bytes_are_read_as_elements(x, words, calls):
    """The bytes of a message are not cast one by one; those of an Array are numbers."""
    contract = ix.Contract(**words)
    if calls is None:
        assert contract._is_met(ix.asarray(x), {})
    else:
        assert check_suggestion(x, contract) == f"first `x = {calls}`"


@pytest.mark.parametrize(
    ("words", "is_told"),
    [({"writable": True}, True), ({"writable": True, "order": "F"}, True), ({"order": "F"}, False)],
)
def test_the_error_says_that_a_copy_is_written(words, is_told):
    """The error says that a copy is written to and the caller's own memory is unchanged."""
    hint = refusal(FROZEN, ix.Contract(**words), "out").hint

    assert hint.endswith("(what is written is then in this copy, out)") is is_told


@pytest.mark.parametrize(
    ("x", "words", "said"),
    [
        (HOST, {"shape": (4, 3)}, "pass x of shape (4, 3)"),
        (HOST, {"shape": (3, 2)}, "pass x of shape (3, 2)"),  # .T would exchange the axes
        (HOST, {"ndim": 1}, "pass x whose ndim is 1"),  # reshape(-1) would join them
        (HOST.T, {"shape": (6,)}, "pass x of shape (6,)"),
        (HOST, {"shape": ("n", "n")}, "pass x of shape ('n', 'n')"),
        (np.ones((2, 2, 2)), {"ndim": (0, 2)}, "pass x whose ndim is 0 or 2"),
        (HOST.astype("c8"), {"dtype": "real floating"}, "pass x of dtype real floating"),
        (HOST, {"dtype": ("int4", "opaque64")}, "pass x of dtype int4 or opaque64"),
        (HOST, {"device": "opencl"}, "pass x on opencl:0"),
        (HOST, {"device": "metal", "dtype": "int4"}, "pass x of dtype int4 and on metal:0"),
        (SHIFTED, {"align": 128}, "pass x aligned to 128 bytes"),
        (
            ix.from_pointer(7, (4, 3), "uint8", device="opencl").T,
            {"order": "C", "dtype": "bool"},
            "pass x of dtype bool and with its elements side by side",
        ),
    ],
    ids=lambda value: f"{value!r:.60}" if isinstance(value, dict) else "",
)
def test_no_call_is_suggested_where_none_helps(x, words, said):
    """If no call helps, the error states the requirement, without the properties already met."""
    assert refusal(x, ix.Contract(**words)).hint == said


def test_each_argument_gets_a_fix():
    """Each argument gets its own fix, or a statement that none exists."""
    contract = ix.Contract(dtype="float64", shape=("n",))

    @ix.accepts_arrays(x=contract, y=contract, z=contract)
    def function(x, y, z):
        return x, y, z

    with pytest.raises(ix.ContractError) as caught:
        function(HOST[0], HOST[1:], HOST[0])
    found = suggested(caught.value.hint, x=HOST[0], y=HOST[1:], z=HOST[0])
    function(**found)
    with pytest.raises(ix.ContractError) as caught:
        function(HOST[0], HOST, HOST[0].astype("f8"))

    assert caught.value.hint == (
        "pass y of shape ('n',), where n is 3, and first `x = ix.asarray(x).astype('float64')`"
    )


def test_names_hold_for_fixed_arguments():
    """A suggested shape is not taken from another argument that is only suggested itself."""

    @ix.accepts_arrays(x=ix.Contract(shape=("n", 4)), y=ix.Contract(shape=("n",)))
    def function(x, y):
        return x.shape, y.shape

    arguments = {"x": np.zeros((5, 4, 1)), "y": np.zeros((5, 1))}
    with pytest.raises(ix.ContractError) as caught:
        function(**arguments)

    assert function(**suggested(caught.value.hint, **arguments)) == ((5, 4), (5,))


def test_values_of_starred_parameters_get_a_fix():
    """Values of starred parameters are fixed under the names of the error."""

    @ix.accepts_arrays(rest=ix.Contract(order="C"), named=ix.Contract(ndim=1))
    def function(*rest, **named):
        return rest, named

    rest = [HOST, HOST.T]
    with pytest.raises(ix.ContractError) as caught:
        function(*rest, left=HOST[:1])
    found = suggested(caught.value.hint, rest=rest, left=HOST[:1])

    assert re.findall(r"argument '(.+?)'", str(caught.value)) == ["rest[1]", "left"]
    assert function(*found["rest"], left=found["left"])


def test_a_name_that_is_none_is_written_as_x():
    """A name that is not a Python identifier is written as ``x``."""
    with pytest.raises(ix.ContractError) as caught:
        ix.asarray(HOST).require(order="F", name="the picture")

    assert caught.value.hint == "first `x = x.contiguous('F')`"


# ---------------------------------------------------------------- any contract, any array


@st.composite
def arrays(draw):
    """Return a host array: of some type, layout, alignment and right to write."""
    dtype = draw(st.sampled_from(["u1", "i4", "f4", "c8", "?"]))
    block = np.zeros(512, "u1")
    start = -block.ctypes.data % 64 + draw(st.sampled_from([0, 8]))
    shape = draw(st.lists(st.integers(0, 3), max_size=3).map(tuple))
    found = block[start : start + 448].view(dtype)[: int(np.prod(shape))].reshape(shape)
    found = found.T if draw(st.booleans()) else found
    if found.ndim and draw(st.booleans()):
        found = found[::-1]
    found.flags.writeable = draw(st.booleans())
    return found


EXTENTS = st.one_of(st.integers(0, 3), st.sampled_from([None, "n", "m", ...]))
CONTRACTS = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.sampled_from(["real floating", "float32", ("bool", "uint8"), "numeric"]),
        "shape": st.lists(EXTENTS, max_size=3).filter(lambda one: one.count(...) < 2).map(tuple),
        "order": st.sampled_from("CFA"),
        "writable": st.booleans(),
        "align": st.sampled_from([1, 64, 128]),
    },
).map(lambda words: ix.Contract(**words))


@given(st.tuples(arrays(), arrays()), st.tuples(CONTRACTS, CONTRACTS))
def test_whatever_is_suggested_helps(values, contracts):
    """If the error names only calls, the argument meets the contract after them."""
    names = dict(zip("xy", values, strict=True))

    @ix.accepts_arrays(**dict(zip("xy", contracts, strict=True)))
    def function(x, y):
        return x, y

    try:
        function(**names)
    except ix.ContractError as error:
        if "pass " not in error.hint:
            function(**suggested(error.hint, **names))
