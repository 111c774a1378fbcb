"""`accepts_arrays`: named arguments arrive as Arrays, however they are passed."""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
import sys
import types
from unittest import mock

import ml_dtypes
import numpy as np
import pytest

import interchange as ix
from interchange.testing import producers


def kinds(*values):
    """Return which values are Arrays."""
    return [type(value) is ix.Array for value in values]


def test_viewable_is_an_alias():
    """The former name is the same object."""
    assert ix.viewable is ix.accepts_arrays
    assert ix.viewable.__name__ == "accepts_arrays"


# ---------------------------------------------------------------- how arguments come


def test_by_position_and_by_keyword():
    """Named arguments arrive as Arrays, other ones unchanged."""

    @ix.accepts_arrays("x", "y")
    def function(x, y, z):
        return kinds(x, y, z)

    assert function(b"a", b"b", b"c") == [True, True, False]
    assert function(z=b"c", y=b"b", x=b"a") == [True, True, False]
    assert function(b"a", z=b"c", y=b"b") == [True, True, False]


def test_keyword_only_and_positional_only():
    """The kinds of a parameter are kept."""

    @ix.accepts_arrays("x", "y")
    def function(x, /, *, y):
        return kinds(x, y)

    assert function(b"a", y=b"b") == [True, True]
    for args, keywords in (((), {"x": b"a", "y": b"b"}), ((b"a", b"b"), {})):
        with pytest.raises(TypeError):
            function(*args, **keywords)


@pytest.mark.parametrize("name", ["first", "rest", "named"])
def test_each_value_of_a_starred_parameter(name):
    """All values of *args and **kwargs are imported if they are named, and unchanged otherwise."""

    @ix.accepts_arrays(name)
    def function(first, *rest, **named):
        return kinds(first), kinds(*rest), kinds(*named.values())

    expected = [[name == "first"], [name == "rest"] * 2, [name == "named"]]
    assert function(b"a", b"b", b"c", d=b"d") == tuple(expected)
    assert function(b"a") == (expected[0], [], [])


def test_none_stays_none():
    """Optional arguments stay optional, by default and when passed."""

    @ix.accepts_arrays("x", "out")
    def function(x, out=None):
        return x, out

    assert function(None) == (None, None)
    assert function(b"a", out=None)[1] is None
    assert type(function(b"a", out=bytearray(1))[1]) is ix.Array


def test_a_default_arrives_as_an_array_too():
    """The body need not tell a default from an argument."""

    @ix.accepts_arrays("x")
    def function(x=b"abc"):
        return x.tolist()

    assert function() == [97, 98, 99]


def test_an_array_stays_the_array_it_is():
    """An Array is passed as the same object."""
    array = ix.from_buffer(b"abc")

    assert ix.accepts_arrays("x")(lambda x: x)(array) is array


@pytest.mark.parametrize(
    "value",
    [np.zeros(3, "u1"), bytearray(3), ix.to_capsule(bytearray(3)), producers.host((3,), "uint8")],
    ids=["ndarray", "bytearray", "capsule", "producer"],
)
def test_whatever_asarray_takes_arrives(value):
    """Objects of every protocol."""
    assert ix.accepts_arrays("x")(lambda x: x.shape)(value) == (3,)


# ---------------------------------------------------------------- kinds of functions


def test_methods_of_every_kind():
    """self and cls are left alone."""

    class Model:
        @ix.accepts_arrays("x")
        def method(self, x):
            return isinstance(self, Model), *kinds(x)

        @classmethod
        @ix.accepts_arrays("x")
        def class_method(cls, x):
            return cls is Model, *kinds(x)

        @staticmethod
        @ix.accepts_arrays("x")
        def static_method(x):
            return True, *kinds(x)

    model = Model()

    assert model.method(b"a") == (True, True)
    assert model.method(x=b"a") == (True, True)
    assert model.class_method(b"a") == (True, True)
    assert model.static_method(x=b"a") == (True, True)


@ix.accepts_arrays("x")
async def coroutine(x):
    """Require, and return what arrived."""
    x.require(ndim=1)
    return kinds(x)


@ix.accepts_arrays("x")
def generator(x):
    """Require, and yield what arrived; return the sent value."""
    x.require(ndim=1)
    return (yield kinds(x))


def test_coroutine_functions_stay_coroutine_functions():
    """A decorated coroutine function is one for Python, and can be awaited."""
    assert inspect.iscoroutinefunction(coroutine)
    assert asyncio.run(coroutine(b"a")) == [True]


def test_generator_functions_stay_generator_functions():
    """A decorated generator function passes sent, thrown and returned values through."""
    assert inspect.isgeneratorfunction(generator)
    running = generator(b"a")
    assert next(running) == [True]
    with pytest.raises(StopIteration) as caught:
        running.send(5)
    assert caught.value.value == 5

    running = generator(b"a")
    next(running)
    with pytest.raises(KeyError):
        running.throw(KeyError)


@pytest.mark.parametrize(
    "run",
    [lambda x: asyncio.run(coroutine(x)), lambda x: next(generator(x))],
    ids=["async", "yield"],
)
def test_what_a_late_body_requires_names_the_argument(run):
    """Errors in the body of a generator name the argument, as those of a plain function do."""
    with pytest.raises(ix.ContractError, match=r"argument 'x' from numpy\.ndarray has ndim 2"):
        run(np.ones((2, 2)))


@pytest.mark.parametrize("names", [("x",), ("y",), ("x", "y")])
def test_arguments_that_a_decorator_adds_are_not_demanded(names):
    """Arguments that an outer decorator adds are not required, nor imported."""

    @ix.accepts_arrays(*names)
    @mock.patch.object(sys, "byteorder")
    def function(x, byteorder, scale=1, *, y=b"b"):
        return kinds(x, y), isinstance(byteorder, mock.Mock), scale

    expected = [name in names for name in ("x", "y")]
    assert function(b"a") == (expected, True, 1)
    assert function(b"a", scale=2, y=b"c") == (expected, True, 2)
    assert [*inspect.signature(function).parameters] == ["x", "byteorder", "scale", "y"]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        function(b"a", z=1)


def test_a_decorator_that_adds_nothing_may_stand_below():
    """Starred parameters, too, arrive as they would without it."""

    def passing(inner):
        @functools.wraps(inner)
        def outer(*args, **keywords):
            return inner(*args, **keywords)

        return outer

    @ix.accepts_arrays("x", "rest")
    @passing
    def function(x, y=None, *rest, **others):
        return kinds(x, y, *rest, *others.values())

    assert function(b"a", b"b", b"c", z=b"d") == [True, False, True, False]
    assert function(y=b"b", x=b"a") == [True, False]


def test_coroutines_of_generators_and_asynchronous_generators():
    """Coroutines of `types.coroutine` can be awaited; generators import at the call."""

    @ix.accepts_arrays("x")
    @types.coroutine
    def function(x):
        yield
        return kinds(x)

    @ix.accepts_arrays("x")
    async def yielding(x):
        yield kinds(x)

    async def main():
        return [await function(b"a"), *[one async for one in yielding(b"a")]]

    assert asyncio.run(main()) == [[True], [True]]


def test_the_function_looks_as_before():
    """Name, docstring and signature are those of the function."""

    @ix.accepts_arrays("x")
    def function(x: object, *, scale: float = 1.0) -> None:
        """Do something."""

    assert (function.__name__, function.__doc__) == ("function", "Do something.")
    assert list(inspect.signature(function).parameters) == ["x", "scale"]


@pytest.mark.parametrize(
    ("names", "keywords"),
    [((kinds,), {}), ((staticmethod(kinds),), {}), ((), {}), ((), {"stream": "stream"})],
    ids=["no parentheses", "staticmethod", "no names", "a stream alone"],
)
def test_a_decorator_without_names_is_refused_at_definition(names, keywords):
    """A decorator without names is refused at definition; the error says how to write it."""
    with pytest.raises(ix.ArgumentError) as caught:
        ix.accepts_arrays(*names, **keywords)

    assert caught.value.rule == "IX-ARGUMENT-1"
    assert '@accepts_arrays("x")' in caught.value.hint


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    "name", ["z", "", "X", "self", 1, None], ids=lambda x: repr(x).partition(" at 0x")[0]
)
def test_a_name_that_is_no_parameter_is_refused_at_decoration(name):
    """An unknown parameter name is refused at decoration, not at the first call."""
    decorate = ix.accepts_arrays("x", name)

    with pytest.raises(ix.ArgumentError) as caught:
        decorate(lambda x, y: (x, y))

    assert caught.value.rule == "IX-ARGUMENT-1"
    assert repr(name) in caught.value.what


def test_a_stream_that_is_no_parameter_is_refused_at_decoration():
    """The same holds for the stream."""
    with pytest.raises(ix.ArgumentError, match="'stream' is no parameter"):
        ix.accepts_arrays("x", stream="stream")(lambda x: x)


@pytest.mark.parametrize(
    ("args", "error", "said"),
    [
        (("text", 1), ix.NoProtocolError, "IX-PROTOCOL-1"),
        ((b"a",), TypeError, "missing 1 required positional argument: 'y'"),
        ((b"abc", 0), ZeroDivisionError, "division"),
    ],
    ids=["of asarray()", "of Python", "of the function"],
)
def test_an_error_of_a_call_is_raised_unchanged(args, error, said):
    """Errors of asarray(), of Python for a wrong call, and of the function are raised unchanged."""
    with pytest.raises(error, match=said):
        ix.accepts_arrays("x")(lambda x, y: x.size / y)(*args)


# ---------------------------------------------------------------- streams


def test_the_named_stream_is_sent_to_producers_with_streams():
    """Producers with streams receive the stream that the function will use."""
    source = producers.claiming((2, 0))

    @ix.accepts_arrays("x", stream="stream")
    def function(x, stream=None):
        return str(x.device), stream

    assert function(source, stream=7) == ("cuda:0", 7)
    assert source.log[-1].keywords["stream"] == 7


def test_host_producers_are_sent_no_stream():
    """Host producers receive no stream, which they would refuse."""
    source = producers.host()

    ix.accepts_arrays("x", stream="stream")(lambda x, stream=None: (x, stream))(source, stream=7)

    assert "stream" not in source.log[-1].keywords


@pytest.mark.parametrize(
    "value", [b"abc", np.zeros(3, ml_dtypes.bfloat16), np.zeros(3, "u1")], ids=str
)
def test_a_stream_takes_no_protocol_away(value):
    """What comes in without a stream comes in with one."""

    function = ix.accepts_arrays("x", stream="stream")(lambda x, stream=None: (x.shape, stream))

    assert (function(value), function(value, stream=7)) == (((3,), None), ((3,), 7))


# ---------------------------------------------------------------- what errors call an argument


@ix.accepts_arrays("first", "more", "named")
def contracted(first, *more, **named):
    """Hold every argument to a contract."""
    for array in (first, *more, *named.values()):
        array.require(dtype="uint8", ndim=1)


GOOD, BAD = b"abc", np.ones((2, 2))


@pytest.mark.parametrize(
    ("args", "keywords", "name"),
    [
        ((BAD,), {}, "first"),
        ((GOOD, GOOD, BAD), {}, "more[1]"),
        ((GOOD,), {"left": GOOD, "right": BAD}, "right"),
    ],
)
def test_a_contract_that_is_not_met_names_the_argument(args, keywords, name):
    """An error of `require` names the argument without the function passing its name."""
    with pytest.raises(ix.ContractError, match=re.escape(f"argument {name!r} from ")) as caught:
        contracted(*args, **keywords)

    assert caught.value.what.startswith(f"argument {name!r}")
    assert str(caught.value).count("argument '") == 1
    assert caught.traceback[-1].name == "check_contract"


@pytest.mark.parametrize("keywords", [{}, {"stream": 7}])
@pytest.mark.parametrize(("place", "name"), [(0, "x"), (1, "y[0]"), (2, "y[1]")])
def test_an_import_that_fails_names_the_argument(place, name, keywords):
    """Any failed import names the argument."""

    def total(x, *y, stream=None):
        return x, y, stream

    take = ix.accepts_arrays("x", "y", stream="stream" if keywords else None)(total)
    args = [GOOD, GOOD, GOOD]
    args[place] = [1, 2]

    with pytest.raises(ix.NoProtocolError) as caught:
        take(*args, **keywords)

    assert caught.value.call == f"total(), argument {name!r}"


def test_a_loan_that_fails_names_the_argument():
    """A refusal of `borrow` names the argument and the user's call."""

    @ix.accepts_arrays("x", stream="s", borrow=True, writable=["x"])
    def fill(x, s):
        return x, s

    with pytest.raises(ix.ReadOnlyError) as caught:
        fill(b"abc", 7)

    assert caught.value.call == "fill(), argument 'x'"


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (lambda x: x.require(ndim=7, name="the picture"), "the picture"),
        (lambda x: x.copy().require(ndim=7), "array"),
    ],
    ids=["a name was passed", "the array is no argument"],
)
def test_other_names_are_kept(body, name):
    """A name passed to `require` is kept, and an array that is no argument gets no name."""
    with pytest.raises(ix.ContractError, match=f"argument '{name}' from "):
        ix.accepts_arrays("x")(body)(b"abc")


def test_an_array_that_is_two_arguments_is_called_by_both():
    """An array passed as two arguments is named by both."""

    @ix.accepts_arrays("a", "b")
    def look(a, b):
        b.require(ndim=4)
        return a

    array = ix.from_buffer(b"abc")
    with pytest.raises(ix.ContractError, match="argument 'a or b' from "):
        look(array, array)
    with pytest.raises(ix.ContractError, match="argument 'b' from "):
        look(array, array.copy())


@pytest.mark.skipif(sys.version_info < (3, 11), reason="errors have no notes before 3.11")
def test_a_producers_own_error_is_noted():
    """An error of the producer is raised unchanged, with a note that names the argument."""
    own = KeyError("the producer's own")

    class Broken:
        def __dlpack__(self, **keywords):
            raise own

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(KeyError) as caught:
        contracted(Broken())

    assert caught.value is own
    assert own.__notes__ == ["contracted(), argument 'first'"]


def test_the_fix_of_an_import_names_the_argument():
    """The code of a fix has the argument's name, not the ``x`` of `asarray`."""

    @ix.accepts_arrays("points", "more")
    def lengths(points, *more):
        """Take any arrays."""

    with pytest.raises(ix.NoProtocolError, match=r"`interchange\.asarray\(points\.encode\(\)\)`"):
        lengths("abc")
    with pytest.raises(
        ix.NoProtocolError, match=r"`interchange\.asarray\(more\[1\]\.encode\(\)\)`"
    ):
        lengths(b"", b"", "abc")
