"""Signatures are read without evaluating annotations."""

from __future__ import annotations

import inspect
import sys

import numpy as np
import pytest

import interchange as ix
from interchange._types.signatures import signature_of
from interchange_conformance.signatures import signature_of as signature_in_the_kit
from interchange_conformance.subject import subject_of_function

LATER = """
class Producer:
    def __init__(self):
        self.array = array

    def __dlpack__(self, *, stream: Unknown = None, max_version: Unknown = None) -> Unknown:
        return self.array.__dlpack__(max_version=max_version)

    def __dlpack_device__(self) -> Unknown:
        return 1, 0

def function(x: Unknown, *, stream: Unknown = None) -> Unknown:
    return x.shape

def make(shape: Unknown) -> Unknown:
    return [0] * shape[0]
"""


@pytest.fixture
def later():
    """A module whose annotations use names imported for type checkers only.

    Before CPython 3.14 they are texts, as ``from __future__ import annotations`` makes them.
    """
    names = {"array": np.arange(3)}
    flags = 0 if sys.version_info >= (3, 14) else annotations.compiler_flag
    exec(compile(LATER, "later", "exec", flags, dont_inherit=True), names)  # noqa: S102 - above
    return names


def test_a_producer_whose_annotations_mean_nothing_is_taken(later):
    """The keywords are read, and no name in an annotation is looked up."""
    assert ix.from_dlpack(later["Producer"]()).tolist() == [0, 1, 2]


def test_a_function_whose_annotations_mean_nothing_is_decorated(later):
    """accepts_arrays() binds arguments by name alone."""
    decorated = ix.accepts_arrays("x", stream="stream")(later["function"])

    assert decorated(b"abc") == (3,)


def test_a_maker_whose_annotations_mean_nothing_is_judged(later):
    """The kit calls it with the parameters that it has."""
    readonly = False
    subject = subject_of_function(later["make"], "a list")

    assert subject.make((3,), "float32", "cpu", readonly) == [0, 0, 0]


@pytest.mark.parametrize("read", [signature_of, signature_in_the_kit])
def test_parameters_are_those_of_inspect(read):
    """Names, kinds and defaults."""

    def function(a, /, b, *c, d=1, **e):
        del a, b, c, d, e

    assert read(function) == inspect.signature(function)


@pytest.mark.parametrize("read", [signature_of, signature_in_the_kit])
def test_what_has_no_signature_raises_as_inspect_does(read):
    """TypeError for an object that is not callable, ValueError for one without a signature."""
    with pytest.raises((TypeError, ValueError)):
        read(3)


@pytest.mark.parametrize("times", [0, 1, 7])
def test_parsing_is_repeated_if_another_thread_parses(monkeypatch, times):
    """Parsing is repeated if CPython 3.11 fails because another thread parses, too."""
    read, calls = inspect.signature, []

    def disturbed(function, **keywords):
        calls.append(function)
        if len(calls) <= times:
            raise SystemError("AST constructor recursion depth mismatch")
        return read(function, **keywords)

    monkeypatch.setattr(inspect, "signature", disturbed)

    assert [*signature_of(len).parameters] == ["obj"]
    assert len(calls) == times + 1


def test_an_error_that_stays_is_raised(monkeypatch):
    """A persistent error is raised after a limited number of attempts."""

    def broken(*_, **__):
        raise SystemError("broken")

    monkeypatch.setattr(inspect, "signature", broken)

    with pytest.raises(SystemError, match="broken"):
        signature_of(len)
