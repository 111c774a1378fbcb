"""Arrays are asked for in forms that the library has: the usual one, or the first of others."""

from __future__ import annotations

import pytest

from interchange_conformance.findings import BrokenSubjectError, CannotMakeError, NotApplicable
from interchange_conformance.probes.forms import USUAL, Form, blocks_of
from interchange_conformance.probes.under_test import ProducerUnderTest
from interchange_conformance.subject import Subject


@pytest.fixture
def asked():
    """What make() was asked for."""
    return []


@pytest.fixture
def library(asked):
    """Return a function that makes a library of some forms; its arrays are their forms."""

    def library_of(has, **more):
        def make(shape, dtype, device, readonly):
            asked.append((shape, dtype))
            if device != "cpu" or readonly or not has(shape, dtype):
                raise CannotMakeError("there is none")
            return Form(shape, dtype)

        return ProducerUnderTest(Subject("few", make=make, **more))

    return library_of


def test_the_usual_form_is_asked_for_first_and_alone(library, asked):
    """Who has it is judged as ever."""
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
    """Of other element types, and then of other shapes."""
    assert library(has).make() == due


def test_it_is_learnt_once(library, asked):
    """Later arrays are asked for as the first was made."""
    few = library(lambda shape, dtype: (shape, dtype) == ((64, 64), "int16"))
    few.make()
    asked.clear()

    assert few.make() == ((64, 64), "int16")
    assert asked == [((64, 64), "int16")]


def test_shapes_of_the_description_are_tried(library):
    """Where the kit would not think of them."""

    def has(shape, dtype):
        return (shape, dtype) == ((7, 11), "uint8")

    assert library(has, shapes=((7, 11),)).make() == ((7, 11), "uint8")
    with pytest.raises(NotApplicable, match="no float32 of shape \\(2, 3\\) on cpu"):
        library(has).make()


def test_what_is_asked_for_exactly_is_not_replaced(library):
    """A check of float32 is none of float64."""
    with pytest.raises(NotApplicable, match="no float32"):
        library(lambda _, dtype: dtype == "float64").make((2, 3), "float32")


def test_a_shape_comes_of_any_element_type_and_an_element_type_of_any_shape(library):
    """What a check says nothing of, the library chooses."""
    doubles = library(lambda _, dtype: dtype == "float64")
    images = library(lambda shape, _: shape == (64, 64))

    assert doubles.make((4, 6)) == ((4, 6), "float64")
    assert images.make(dtype="uint8") == ((64, 64), "uint8")


def test_blocks_are_of_their_size_or_plain(library):
    """Of every element type, in one axis to four."""
    assert {form.nbytes for form in blocks_of(2**20)} == {2**20}
    assert library(lambda _, dtype: dtype == "float64").block(2**20) == ((2**17,), "float64")
    assert library(lambda shape, _: len(shape) == 2).block(2**22) == ((2**11, 2**11), "uint8")
    assert library(lambda shape, _: shape == (8,)).block(2**20) == ((8,), "float32")


def test_a_description_that_fails_at_the_usual_form_is_broken():
    """It is not asked for others until one happens to come."""

    def make(*_):
        raise KeyError("float32")

    with pytest.raises(BrokenSubjectError, match="raised KeyError"):
        ProducerUnderTest(Subject("broken", make=make)).make()
