"""`accepts_arrays` with contracts: checked at every call, with all violations in one error."""

from __future__ import annotations

import gc
import mmap
import pickle
import re

import numpy as np
import pytest

import interchange as ix

POINTS = ix.Contract(dtype="real floating", shape=("n", 3), order="C")
WEIGHTS = ix.Contract(dtype="float64", shape=("n",))


@ix.accepts_arrays(points=POINTS, weights=WEIGHTS)
def centre(points, weights=None, *, scale=1.0):
    """Return what arrived."""
    return points, weights, scale


def refusal(*args, **keywords):
    """Return the error of a call."""
    with pytest.raises(ix.ContractError) as caught:
        centre(*args, **keywords)
    return caught.value


GOOD = np.zeros((4, 3), "f4"), np.ones(4)


# ---------------------------------------------------------------- accepted arguments


@pytest.mark.parametrize(
    "call",
    [
        lambda: centre(*GOOD),
        lambda: centre(GOOD[0], weights=GOOD[1]),
        lambda: centre(weights=GOOD[1], points=GOOD[0]),
        lambda: centre(*map(ix.asarray, GOOD)),
        lambda: centre(memoryview(GOOD[0]), GOOD[1]),
        lambda: centre(GOOD[0].__dlpack__(), GOOD[1].__dlpack__(max_version=(1, 0))),
    ],
    ids=["positions", "both", "keywords", "Arrays", "memoryview", "capsules"],
)
def test_what_meets_its_contract_arrives(call):
    """An argument that meets its contract arrives, however it is passed."""
    points, weights, scale = call()

    assert (type(points), type(weights), scale) == (ix.Array, ix.Array, 1.0)
    assert (points.ptr, weights.ptr) == tuple(one.ctypes.data for one in GOOD)


def test_none_is_held_to_no_contract():
    """None for an optional parameter is not checked, and binds no extent name."""
    assert centre(GOOD[0])[1] is None
    assert centre(None, np.ones(7))[0] is None


def test_names_and_contracts_go_together():
    """Arguments without contracts are imported as ever."""

    @ix.accepts_arrays("x", out=ix.Contract(writable=True))
    def function(x, y, out):
        return [type(one) is ix.Array for one in (x, y, out)]

    assert function(b"a", b"b", bytearray(1)) == [True, False, True]
    with pytest.raises(
        ix.ContractError, match=r"argument 'out' from builtins\.bytes has read-only"
    ):
        function(b"a", b"b", b"c")


def test_a_default_is_held_to_the_contract():
    """A default value must meet the contract, too."""

    @ix.accepts_arrays(x=ix.Contract(ndim=2))
    def function(x=b"abc"):
        return x

    with pytest.raises(ix.ContractError, match=r"argument 'x' from builtins\.bytes has ndim 1"):
        function()


def test_names_of_extents_hold_for_one_call():
    """A contract can be used by several functions; named extents are bound per call."""
    first, second = (ix.accepts_arrays(x=WEIGHTS)(lambda x: x.size) for _ in range(2))

    assert (first(np.ones(3)), second(np.ones(4)), first(np.ones(5))) == (3, 4, 5)
    assert centre(np.zeros((4, 3)), np.ones(4))[0].shape == (4, 3)
    assert refusal(np.zeros((5, 3)), np.ones(4)).what == (
        "argument 'weights' from numpy.ndarray has shape (4,), wanted ('n',):"
        " axis 0 is 4, and n is 5 by axis 0 of 'points'"
    )


# ---------------------------------------------------------------- error texts


def test_all_that_differs_is_in_one_error():
    """One error lists argument, axis, actual and required value, and the called function."""
    error = refusal(np.zeros((4, 2), "i4"), np.ones((5, 1), "f4"))

    assert (error.call, error.rule) == ("centre()", "IX-REQUIRE-1")
    assert error.what == (
        "argument 'points' from numpy.ndarray has dtype int32, wanted real floating;"
        " shape (4, 2), wanted ('n', 3): axis 1 is 2, not 3;"
        " argument 'weights' from numpy.ndarray has dtype float32, wanted float64;"
        " shape (5, 1), wanted ('n',): it has 2 axes, not 1"
    )


def test_the_body_never_runs_and_the_error_can_be_pickled():
    """No argument that violates a contract reaches the function; workers of a pool can report."""
    seen = []

    with pytest.raises(ix.ContractError) as caught:
        ix.accepts_arrays(x=POINTS)(lambda x: seen.append(x.size))(np.ones(3))

    assert seen == []
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_failed_import_is_reported_first():
    """An argument that cannot be imported is reported before any contract is checked."""
    with pytest.raises(ix.NoProtocolError) as caught:
        centre(np.ones(3), [1.0, 2.0])

    assert caught.value.call == "centre(), argument 'weights'"


def test_a_capsule_is_asked_once():
    """A capsule is imported once, and released if another argument violates a contract."""
    released = []

    class Tracked:
        """Records when it is collected."""

        def __del__(self):
            released.append(1)

    x = ix.from_pointer(GOOD[0].ctypes.data, (4, 3), "float32", owner=Tracked())
    capsule = ix.to_capsule(x)
    del x

    error = refusal(capsule, np.ones(3))

    assert "n is 4 by axis 0 of 'points'" in error.what
    del capsule, error
    gc.collect()  # of the traceback
    assert released == [1]


def test_what_the_body_requires_is_distinguished():
    """`require` in the body raises an error with the user's call and the argument's name."""

    @ix.accepts_arrays(x=ix.Contract(ndim=1))
    def function(x):
        x.require(dtype="int8")

    with pytest.raises(ix.ContractError) as caught:
        function(b"abc")

    assert caught.value.call == "Array.require()"
    assert caught.value.what == "argument 'x' from builtins.bytes has dtype uint8, wanted int8"
    assert caught.value.hint == "first `x = ix.from_buffer(x, 'int8')`"


# ---------------------------------------------------------------- definition


ON_STREAM = {"stream": "y", "borrow": True}


@pytest.mark.parametrize(
    ("names", "words", "said"),
    [
        ((["x", "y"],), {}, "['x', 'y'] is no name of a parameter"),
        (("x",), {"writable": [["x"]], **ON_STREAM}, "writable=[['x']] with names"),
        (("x",), {"writable": 7, **ON_STREAM}, "writable=7 with names"),
        ((), {"x": {"dtype": "float32"}}, "x={'dtype': 'float32'} is no contract"),
        ((), {"x": "float32"}, "x='float32' is no contract"),
        (("x",), {"x": None}, "x=None is no contract"),
        (("x",), {"stream": WEIGHTS}, "stream= is an option of accepts_arrays(), and no parameter"),
        (("x",), {"borrow": WEIGHTS}, "borrow= is an option of accepts_arrays(), and no parameter"),
        ((), {"writable": WEIGHTS}, "writable= is an option of accepts_arrays(), and no parameter"),
        (("x",), {"stream": 7}, "stream=7 names no parameter, or that of an array"),
        (("x",), {"stream": "x"}, "stream='x' names no parameter, or that of an array"),
        (("x",), {"writable": "x", **ON_STREAM}, "writable='x' with names"),
        (("x",), {"writable": ["x"]}, "writable=['x'] with names ('x',) and borrow=False"),
        (
            (),
            {"x": ix.Contract(writable=False), "writable": ["x"], **ON_STREAM},
            "writable=['x'] and writable=False in the contract of 'x'",
        ),
    ],
    ids=lambda value: f"{value!r:.40}" if isinstance(value, str) else "",
)
def test_misuse_is_refused_before_there_is_a_function(names, words, said):
    """Invalid uses are refused at decoration; the error shows the value."""
    with pytest.raises(ix.ArgumentError) as caught:
        ix.accepts_arrays(*names, **words)

    assert caught.value.rule == "IX-ARGUMENT-1"
    assert said in caught.value.what


class Hidden:
    """Can be called and has no signature, as some functions in C."""

    __signature__ = 7

    def __call__(self, x):
        """Return it."""
        return x


@pytest.mark.parametrize(
    ("words", "function", "said", "hint"),
    [
        ({}, staticmethod(len), "it was put above @staticmethod", "put @staticmethod above"),
        ({}, classmethod(len), "it was put above @classmethod", "put @classmethod above"),
        ({}, property(len), "it was put above @property", "put @property above"),
        ({}, 7, "7 is no function", "decorate a function"),
        ({}, Hidden(), "the signature of Hidden() cannot be read", "decorate a function with"),
        *(
            ({"stream": "s"}, function, "stream='s' names a parameter with a", "one stream")
            for function in (lambda x, *s: (x, s), lambda x, **s: (x, s))
        ),
    ],
    ids=["staticmethod", "classmethod", "property", "no function", "hidden", "*s", "**s"],
)
def test_what_cannot_be_decorated_is_refused_at_decoration(words, function, said, hint):
    """An object that cannot be decorated is refused at decoration with a fix."""
    decorate = ix.accepts_arrays("x", **words)

    with pytest.raises(ix.ArgumentError) as caught:
        decorate(function)

    assert caught.value.rule == "IX-ARGUMENT-1"
    assert said in caught.value.what
    assert hint in caught.value.hint


@pytest.mark.parametrize("name", ["stream", "borrow", "writable"])
def test_the_fix_works_for_a_parameter_that_is_named_like_an_option(name):
    """The fix works verbatim for a parameter that is named like an option."""
    with pytest.raises(ix.ArgumentError) as caught:
        ix.accepts_arrays(**{name: WEIGHTS})

    decorator, require = re.findall(r"@(.+?), and `(.+?)` in the body", caught.value.hint)[0]
    names = {"accepts_arrays": ix.accepts_arrays}
    exec(f"def function({name}): {require}\nfunction = {decorator}(function)", names)  # noqa: S102
    names["function"](np.ones(3))
    with pytest.raises(ix.ContractError, match=f"argument '{name}' from numpy.ndarray has dtype"):
        names["function"](np.ones(3, "f4"))


@pytest.mark.parametrize("how", ["name", "contract", "stream"])
def test_a_mistyped_name_is_refused_with_the_nearest_parameter(how):
    """A mistyped name is refused at decoration with the nearest parameter."""
    decorate = {
        "name": lambda: ix.accepts_arrays("wieghts"),
        "contract": lambda: ix.accepts_arrays(wieghts=WEIGHTS),
        "stream": lambda: ix.accepts_arrays("points", stream="wieghts"),
    }[how]()

    with pytest.raises(ix.ArgumentError) as caught:
        decorate(centre.__wrapped__)

    assert caught.value.what.startswith("'wieghts' is no parameter of centre(points, ")
    assert caught.value.hint == "did you mean 'weights'?"


def test_the_order_of_contracts_is_that_of_the_function():
    """Violations are reported in the order of the parameters."""

    @ix.accepts_arrays(y=ix.Contract(shape=("n",)), x=ix.Contract(shape=("n",)))
    def function(x, y):
        return x, y

    with pytest.raises(ix.ContractError, match=r"argument 'y' .* n is 2 by axis 0 of 'x'"):
        function(np.ones(2), np.ones(3))


# ---------------------------------------------------------------- references of a refusal


COMPLEX = ix.Contract(dtype="complex128")


@pytest.mark.parametrize("stream", [None, "stream"])
@pytest.mark.parametrize("starred", [False, True])
@pytest.mark.parametrize("other", [np.zeros(3), "no array"], ids=["contract", "import"])
def test_a_refused_call_leaves_no_buffer_exported(other, starred, stream):
    """Buffers can be closed while the error exists: no BufferError is raised."""
    mapped = mmap.mmap(-1, 64)

    def function(x, y, *rest, stream=None):
        return x, y, rest, stream

    names = ("x", "y", "rest") if starred else ("x", "y")
    decorated = ix.accepts_arrays(*names[:-1], stream=stream, **{names[-1]: COMPLEX})(function)
    args = (b"abc", b"abc", mapped, other) if starred else (mapped, other)
    with pytest.raises((ix.ContractError, ix.NoProtocolError)) as caught:
        decorated(*args, **({"stream": 7} if stream else {}))
    mapped.close()

    assert (mapped.closed, caught.value.__traceback__ is None) == (True, False)
