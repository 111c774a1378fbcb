"""The checks of the functions: what an error has to be, and to say."""

from __future__ import annotations

from inspect import Parameter, Signature

import pytest

import interchange as ix
from interchange_conformance.checks import _refusals, standard_names
from interchange_conformance.findings import Found
from interchange_conformance.probes.under_test import FunctionsUnderTest
from interchange_conformance.subject import Subject

RULE = "IX-CAST-1"


@pytest.fixture
def functions():
    """Return interchange under test."""
    return FunctionsUnderTest(Subject("interchange", functions="interchange"))


def error(**changes):
    """Return an error, with some attributes changed."""
    made = ix.UnsupportedDTypeError("asarray()", "float32, wanted int32", RULE)
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def test_an_error_that_says_everything_is_let_pass():
    """Its class, its parts and its rule are right."""
    _refusals.expect_error(ix, error(), RULE, (BufferError,))


@pytest.mark.parametrize(
    ("found", "kinds", "evidence"),
    [
        (TypeError("float32, wanted int32"), (TypeError,), "no InterchangeError"),
        (error(), (KeyError,), "is no KeyError"),
        (error(hint=""), (BufferError,), "does not say its hint"),
        (error(call="elsewhere()"), (BufferError,), "does not say its call"),
        (error(what=None), (BufferError,), "does not say its what"),
        (ix.ExchangeError("f()", "x", "DLP-COPY-1"), (BufferError,), "cites DLP-COPY-1"),
    ],
)
def test_an_error_that_says_less_is_found(found, kinds, evidence):
    """And what it lacks is told."""
    with pytest.raises(Found, match=evidence):
        _refusals.expect_error(ix, found, RULE, kinds)


def test_a_wrong_call_that_returns_is_found(functions):
    """With what it returned."""
    with pytest.raises(Found, match="returned 'done'"):
        _refusals.expect_refusal(functions, RULE, (lambda _: "done", (BufferError,)))


def test_a_right_call_that_raises_is_found():
    """With what it raised."""

    def call():
        raise KeyError("nothing here")

    with pytest.raises(Found, match="asarray raised KeyError: 'nothing here'"):
        _refusals.granted(call, "asarray")


DUE = standard_names.Signature("", "from_dlpack", 1, ("device", "copy"))
X = Parameter("x", Parameter.POSITIONAL_ONLY)
Y = Parameter("y", Parameter.POSITIONAL_ONLY)
DEVICE = Parameter("device", Parameter.KEYWORD_ONLY, default=None)
COPY = Parameter("copy", Parameter.KEYWORD_ONLY, default=None)
STREAM = Parameter("stream", Parameter.KEYWORD_ONLY)


@pytest.mark.parametrize(
    ("parameters", "wrong"),
    [
        ([X, DEVICE, COPY], []),
        ([X, COPY, DEVICE], []),
        ([p.replace(kind=Parameter.POSITIONAL_OR_KEYWORD) for p in (X, DEVICE, COPY)], []),
        ([X, DEVICE, COPY, STREAM.replace(default=None)], []),
        ([X, DEVICE], ["there is no keyword copy"]),
        ([X, DEVICE.replace(default="cpu"), COPY], ["default of device is 'cpu', due: None"]),
        ([X, Y, DEVICE, COPY], ["2 arguments are needed", "due: 1"]),
        ([DEVICE, COPY], ["0 arguments are needed", "due: 1"]),
        ([X, STREAM, DEVICE, COPY], ["keyword stream has no default"]),
    ],
)
def test_a_signature_is_compared_with_that_of_the_standard(parameters, wrong):
    """Keywords may be added, if they have defaults."""
    found = standard_names._differences(Signature(parameters), DUE)

    assert bool(found) == bool(wrong)
    assert all(text in "; ".join(found) for text in wrong)
