"""Arrays are requested in a form that the library has: the usual one, or the first of others."""

from __future__ import annotations

import pytest

from interchange_conformance.findings import BrokenSubjectError, CannotMakeError, NotApplicable
from interchange_conformance.probes.forms import USUAL, Form, blocks_of
from interchange_conformance.probes.under_test import ProducerUnderTest
from interchange_conformance.subject import Subject


@pytest.fixture
def asked():
    """The arguments of make()."""
    return []


@pytest.fixture
def library(asked):
    """Return a function that makes a library with some forms; its arrays are the forms."""

    def library_of(has, **more):
        def make(shape, dtype, device, readonly):
            asked.append((shape, dtype))
            if device != "cpu" or readonly or not has(shape, dtype):
                raise CannotMakeError("there is none")
            return Form(shape, dtype)

        return ProducerUnderTest(Subject("few", make=make, **more))

    return library_of


def test_the_usual_form_is_asked_for_first_and_alone(library, asked):
    """Libraries with the usual form are judged with it."""
    assert library(lambda *_: True).make() == USUAL
    assert asked == [USUAL]


@pytest.mark.parametrize(
    ("has", "due"),
    [
        (lambda _, dtype: dtype == "float64", ((2, 3), "float64")),
        (lambda shape, _: len(shape) == 1, ((6,), "float32")),
        (lambda shape, dtype: (len(shape), dtype) == (3, "uint8"), ((1, 2, 3), "uint8")),
        (lambda shape, dtype: (shape, dtype) == ((64, 64), "int16"), ((64, 64), "int16")),
    ],
)
def test_else_the_first_that_there_is(library, has, due):
    """Other element types are tried first, then other shapes."""
    assert library(has).make() == due


def test_it_is_learnt_once(library, asked):
    """Later arrays are requested in the form of the first."""
    few = library(lambda shape, dtype: (shape, dtype) == ((64, 64), "int16"))
    few.make()
    asked.clear()

    assert few.make() == ((64, 64), "int16")
    assert asked == [((64, 64), "int16")]


def test_shapes_of_the_description_are_tried(library):
    """The description can have shapes that the kit does not try."""

    def has(shape, dtype):
        return (shape, dtype) == ((7, 11), "uint8")

    assert library(has, shapes=((7, 11),)).make() == ((7, 11), "uint8")
    with pytest.raises(NotApplicable, match="no float32 of shape \\(2, 3\\) on cpu"):
        library(has).make()


def test_what_is_asked_for_exactly_is_not_replaced(library):
    """A check of float32 does not use float64."""
    with pytest.raises(NotApplicable, match="no float32"):
        library(lambda _, dtype: dtype == "float64").make((2, 3), "float32")


def test_a_shape_comes_of_any_element_type_and_an_element_type_of_any_shape(library):
    """The library chooses what a check leaves open."""
    doubles = library(lambda _, dtype: dtype == "float64")
    images = library(lambda shape, _: shape == (64, 64))

    assert doubles.make((4, 6)) == ((4, 6), "float64")
    assert images.make(dtype="uint8") == ((64, 64), "uint8")


def test_blocks_are_of_their_size_or_plain(library):
    """All element types are tried, with one to four axes."""
    assert {form.nbytes for form in blocks_of(2**20)} == {2**20}
    assert library(lambda _, dtype: dtype == "float64").block(2**20) == ((2**17,), "float64")
    assert library(lambda shape, _: len(shape) == 2).block(2**22) == ((2**11, 2**11), "uint8")
    assert library(lambda shape, _: shape == (8,)).block(2**20) == ((8,), "float32")


def test_a_description_that_fails_at_the_usual_form_is_broken():
    """Other forms are not tried until one succeeds by chance."""

    def make(*_):
        raise KeyError("float32")

    with pytest.raises(BrokenSubjectError, match="raised KeyError"):
        ProducerUnderTest(Subject("broken", make=make)).make()
