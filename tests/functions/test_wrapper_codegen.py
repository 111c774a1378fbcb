"""`make_wrapper`: a function with the parameters of another, as Python itself would call it."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange._functions.wrapper_codegen import make_wrapper

KINDS = [kind for kind in inspect._ParameterKind]  # noqa: C416 - in their order
NAMES = ("x", "_x", "function", "_function", "_local", "call", "wrapper", "take", "_take", "error")


@st.composite
def signatures(draw):
    """Return any signature of up to five parameters, some with defaults, with awkward names."""
    kinds = sorted(draw(st.lists(st.sampled_from(KINDS), max_size=5)))
    starred = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    kinds = [one for place, one in enumerate(kinds) if one not in {*starred} & {*kinds[:place]}]
    names = draw(st.permutations(NAMES))
    parameters, has_default = [], False
    for name, kind in zip(names, kinds, strict=False):
        default = inspect.Parameter.empty
        if kind not in starred:
            is_keyword = kind is inspect.Parameter.KEYWORD_ONLY
            if (has_default and not is_keyword) or draw(st.booleans()):
                default = [f"default of {name}"]  # compared by identity
                has_default = has_default or not is_keyword
        parameters.append(inspect.Parameter(name, kind, default=default))
    return inspect.Signature(parameters)


CALLS = st.tuples(
    st.lists(st.integers(), max_size=6), st.dictionaries(st.sampled_from(NAMES), st.integers())
)


def outcome(call):
    """Return the result of a call, or that Python refuses the call."""
    try:
        return call()
    except TypeError:
        return "TypeError"


def plain(signature):
    """Return a Python function with the given parameters that returns its arguments.

    `inspect.Signature.bind` is not a model of it: before 3.12 it refuses ``f(x=0)`` for a function
    ``def f(x=None, /, **others)``.
    """
    words, seen = [], set()
    for one in signature.parameters.values():
        if one.kind is not one.POSITIONAL_ONLY and one.POSITIONAL_ONLY in seen - {"/"}:
            words += [] if "/" in seen else ["/"]
            seen.add("/")
        if one.kind is one.KEYWORD_ONLY and not seen & {one.VAR_POSITIONAL, "*"}:
            words.append("*")
            seen.add("*")
        seen.add(one.kind)
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        has_default = one.default is not one.empty
        words.append(f"{star}{one.name}" + (f"=defaults[{one.name!r}]" if has_default else ""))
    if inspect.Parameter.POSITIONAL_ONLY in seen and "/" not in seen:
        words.append("/")
    names = {"defaults": {one.name: one.default for one in signature.parameters.values()}}
    exec(f"def made({', '.join(words)}): return locals()", names)  # noqa: S102 - the model

    def call(*args, **keywords):
        found = names["made"](*args, **keywords)
        bound = inspect.BoundArguments(signature, found)
        return bound.args, bound.kwargs

    return call


@given(signatures(), CALLS)
def test_arguments_arrive_as_they_would_without_it(signature, call):
    """Arguments arrive unchanged: by position, keyword, default and stars; or are refused."""
    args, keywords = call

    def function(*args, **keywords):
        return args, keywords

    made = make_wrapper(function, signature, ["return {call}"])

    expected = outcome(lambda: plain(signature)(*args, **keywords))
    assert outcome(lambda: made(*args, **keywords)) == expected


@given(signatures())
def test_the_signature_stays(signature):
    """The signature is kept, also without ``__wrapped__``; defaults are the same objects."""
    made = make_wrapper(lambda: None, signature, ["return {call}"])
    del made.__wrapped__
    found = inspect.signature(made)

    assert found == signature
    assert all(
        one.default is signature.parameters[name].default for name, one in found.parameters.items()
    )


def test_lines_use_what_they_are_given_under_free_names():
    """A parameter of the same name is another thing."""

    def function(_take, take):
        return _take, take

    made = make_wrapper(
        function,
        inspect.signature(function),
        ["{local} = {take}(take)", "take = {local}", "return {call}"],
        take=str,
    )

    assert made(1, 2) == (1, "2")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda made: made(), "missing 1 required positional argument: 'x'"),
        (lambda made: made(1, 2, 3), "takes from 1 to 2 positional arguments but 3 were given"),
        (lambda made: made(1, z=2), "got an unexpected keyword argument 'z'"),
        (lambda made: made(1, x=2), "got multiple values for argument 'x'"),
    ],
)
def test_a_wrong_call_is_refused_in_the_words_of_python(call, said):
    """A wrong call raises Python's error in the name of the function."""

    @ix.accepts_arrays("x")
    def total(x, y=0):
        return x, y

    with pytest.raises(TypeError) as caught:
        call(total)

    name = "test_a_wrong_call_is_refused_in_the_words_of_python.<locals>.total()"
    assert str(caught.value).removeprefix(f"{name} ") == said


def test_callable_objects_are_wrapped():
    """Callable objects that are not functions are wrapped."""

    class Scale:
        """Multiplies."""

        def __call__(self, x, by=2):
            return x.tolist(), by

    assert ix.accepts_arrays("x")(Scale())(b"ab", by=3) == ([97, 98], 3)
