"""Types of Arrow: what a schema says of one level, and what its elements are as an array."""

from __future__ import annotations

import pytest

import interchange as ix
from interchange._protocols.arrow.elements import read_elements
from interchange._protocols.arrow.types import MOST_FIELDS, read_type
from interchange.abi import BrokenRule
from interchange.abi.arrow_formats import encode_metadata
from interchange_conformance.zoo import arrow
from interchange_conformance.zoo.arrow.columns import extension

pytestmark = pytest.mark.usefixtures("arrow_zoo")


def level(source):
    """Return what the schema of a producer says, and what keeps it."""
    loan = arrow.make_schema(source.field)
    return read_type(loan.address), loan


def elements(source, *, storage=False):
    """Return what the elements of a producer are."""
    column, _keep = level(source)
    return read_elements(column, storage=storage, call="from_arrow()")


def test_a_level_says_what_it_is():
    """Its name, its extension and its parameters, its children, and whether it has a dictionary."""
    found, _keep = level(arrow.tensors().but(name="embedding"))

    assert (found.name, found.extension) == ("embedding", "arrow.fixed_shape_tensor")
    assert found.parameters == b'{"shape": [2, 3]}'
    assert (found.format.name, len(found.children), found.has_dictionary) == (
        "fixed_size_list[6]",
        1,
        False,
    )
    assert found.title == "arrow.fixed_shape_tensor of fixed_size_list[6]"


def test_a_dictionary_is_told_by_its_indices():
    """Whatever its values are."""
    found, _keep = level(arrow.dictionary())

    assert (found.has_dictionary, found.title) == (True, "dictionary of int32 indices")


@pytest.mark.parametrize(
    ("name", "metadata"),
    [(None, None), ("", b"\0" * 4), ("x", encode_metadata([(b"unit", b"m")]))],
)
def test_names_and_metadata_of_others_do_not_matter(name, metadata):
    """Nor whether they are there."""
    found, _keep = level(arrow.numbers().but(name=name, metadata=metadata))

    assert (found.name, found.extension, found.parameters) == (name or "", None, b"")


def test_text_that_is_none_is_shown_as_far_as_it_is():
    """A name is no reason to refuse a column."""
    found, _keep = level(arrow.numbers().but(name=b"\xffx", metadata=None))

    assert found.name == "\ufffdx"


@pytest.mark.parametrize("count", [MOST_FIELDS, MOST_FIELDS + 1, 1000])
def test_a_struct_may_have_many_fields(count):
    """Of which the first are looked at."""
    source = arrow.ArraySource(arrow.Field("+s", children=(arrow.Field(),) * count), ())
    found, _keep = level(source)

    assert len(found.children) == MOST_FIELDS


@pytest.mark.parametrize(
    ("make", "shape", "order"),
    [
        (arrow.numbers, (), ()),
        (arrow.lists, (3,), (0,)),
        (lambda: arrow.lists(shape=(2, 3, 4)), (3, 4), (0, 1)),
        (lambda: arrow.tensors(shape=(2, 3, 4), permutation=(1, 0)), (3, 4), (1, 0)),
        (lambda: arrow.numbers("uint8").but(format="w:5"), (5,), (0,)),
        (lambda: arrow.table(x=arrow.lists()), (3,), (0,)),
    ],
)
def test_lists_and_tensors_are_axes(make, shape, order):
    """As they lie in memory, and in which order the array has them."""
    found = elements(make())

    assert (found.shape, found.order) == (shape, order)


@pytest.mark.parametrize(
    ("make", "storage", "dtype", "is_bits"),
    [
        (lambda: arrow.numbers("float16"), False, "float16", False),
        (arrow.bools, False, "bool", True),
        (arrow.bytes_of_bool, False, "bool", False),
        (arrow.bytes_of_bool, True, "int8", False),
        (lambda: arrow.numbers("int64").but(format="tsn:"), True, "int64", False),
        (lambda: arrow.numbers("int32").but(format="tdD"), True, "int32", False),
        (arrow.dictionary, True, "int32", False),
        (lambda: arrow.numbers().but(metadata=extension("my.metres")), True, "float32", False),
    ],
)
def test_numbers_have_their_dtype(make, storage, dtype, is_bits):
    """That of the storage, where that was asked for."""
    found = elements(make(), storage=storage)

    assert (str(found.dtype), found.is_bits) == (dtype, is_bits)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (arrow.texts, "convert the elements to numbers first"),
        (arrow.ragged, "if all lists have one size, cast them to fixed-size lists first"),
        (lambda: arrow.numbers().but(format="n"), "pass a column with elements"),
        (lambda: arrow.table(a=arrow.numbers(), b=arrow.numbers()), "such as 'a'"),
        (lambda: arrow.numbers().but(format="+s"), "convert the elements to numbers first"),
    ],
)
def test_what_has_no_width_is_refused_with_a_fix(make, words):
    """One for its kind."""
    with pytest.raises(ix.UnsupportedDTypeError) as caught:
        elements(make())

    assert caught.value.rule == "ARROW-TYPE-1"
    assert words in str(caught.value.hint)


def test_a_released_schema_is_not_read():
    """Whatever else it says."""
    with pytest.raises(BrokenRule) as caught:
        level(arrow.numbers().but(field={"release": False, "format": None}))

    assert caught.value.rule == "ARROW-RELEASE-3"
