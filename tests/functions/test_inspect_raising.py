"""`inspect` of objects that raise on attribute access: it reports the error and continues."""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix


class WordlessError(Exception):
    """An error without a readable message."""

    def __str__(self):
        raise RuntimeError("no words")


def raising(kind, *arguments):
    """Return what raises when it is called, or read as a property."""

    def fail(*_, **__):
        raise kind(*arguments)

    return fail


def an_object(**methods):
    """Return an object of a class with these attributes."""
    return type("Theirs", (), methods)()


KINDS = pytest.mark.parametrize("kind", [RuntimeError, WordlessError, AssertionError, TypeError])
ATTRIBUTES = ("__dlpack__", "__cuda_array_interface__", "__array_interface__")


@KINDS
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_a_property_that_raises_is_reported(kind, name):
    """A property that raises is reported under its name, next to the other protocols."""
    good = np.zeros(2).__array_interface__
    others = {} if name == "__array_interface__" else {"__array_interface__": good}
    report = ix.inspect(an_object(**{name: property(raising(kind, "theirs"))}, **others))

    parts = {part.kind: str(part) for part in report.parts}
    assert list(parts) == [name, *others]
    assert f"raised {kind.__name__}" in parts[name]


@KINDS
@pytest.mark.parametrize("name", ["__dict__", "__class__", "__dlpack_device__"])
def test_other_properties_that_raise_hide_nothing(kind, name):
    """Properties of no protocol, and of the type, are not needed."""
    methods = {"__dlpack__": lambda _, **__: np.zeros(2).__dlpack__()}
    methods |= {"__dlpack_device__": lambda _: (1, 0)}
    report = ix.inspect(an_object(**{**methods, name: property(raising(kind, "theirs"))}))

    assert [part.kind for part in report.parts] == ["__dlpack__"]
    assert str(report)


@KINDS
def test_a_method_that_raises_is_reported(kind):
    """A method that raises is reported, also if the error has no text."""
    x = an_object(__dlpack__=raising(kind, "theirs"), __dlpack_device__=lambda _: (1, 0))
    report = ix.inspect(x)

    assert report.parts[0].fields["capsule"].startswith(f"refused: {kind.__name__}: ")


@pytest.mark.parametrize("how", ["alone", "of an object"])
def test_a_record_whose_methods_raise_is_reported(how):
    """A dict-like class whose methods raise is reported."""

    class Record(dict):
        get = keys = __getitem__ = raising(RuntimeError, "theirs")

    record = Record(shape=(1,))
    report = ix.inspect(record if how == "alone" else an_object(__array_interface__=record))
    part = report if how == "alone" else report.parts[0]

    assert part.fields == {"record": "raised RuntimeError('theirs')"}


def test_an_object_that_raises_for_each_attribute_is_reported():
    """Each attribute is read, and each error reported."""

    class Mute:
        def __getattr__(self, name):
            raise RuntimeError(name)

    report = ix.inspect(Mute())

    assert [part.kind for part in report.parts] == list(ATTRIBUTES)
