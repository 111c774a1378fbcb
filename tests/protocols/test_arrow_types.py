"""Arrow types: the parsed schema of one level, and its elements as an array."""

from __future__ import annotations

import pytest

import interchange as ix
from interchange._protocols.arrow.elements import read_elements
from interchange._protocols.arrow.types import read_type
from interchange.abi import BrokenRule
from interchange.abi.arrow_formats import encode_metadata
from interchange_conformance.zoo import arrow
from interchange_conformance.zoo.arrow.columns import extension

pytestmark = pytest.mark.usefixtures("arrow_zoo")


def level(source):
    """Return the schema of a producer, and its owner."""
    loan = arrow.make_schema(source.field)
    return read_type(loan.address), loan


def elements(source, *, storage=False):
    """Return the parsed elements of a producer."""
    column, _keep = level(source)
    return read_elements(column, storage=storage, call="from_arrow()")


def test_a_level_says_what_it_is():
    """A level has its name, extension, parameters, children, and whether it has a dictionary."""
    found, _keep = level(arrow.tensors().but(name="embedding"))

    assert (found.name, found.extension) == ("embedding", "arrow.fixed_shape_tensor")
    assert found.parameters == b'{"shape": [2, 3]}'
    assert (found.format.name, len(found.children), found.has_dictionary) == (
        "fixed_size_list[6]",
        1,
        False,
    )
    assert found.title == "arrow.fixed_shape_tensor of fixed_size_list[6]"


def test_a_dictionary_is_reported_by_its_indices():
    """A dictionary type is described by its indices, whatever its values are."""
    found, _keep = level(arrow.dictionary())

    assert (found.has_dictionary, found.title) == (True, "dictionary of int32 indices")


@pytest.mark.parametrize(
    ("name", "metadata"),
    [(None, None), ("", b"\0" * 4), ("x", encode_metadata([(b"unit", b"m")]))],
)
def test_names_and_metadata_of_others_do_not_matter(name, metadata):
    """Names, metadata and nullability of other fields are ignored."""
    found, _keep = level(arrow.numbers().but(name=name, metadata=metadata))

    assert (found.name, found.extension, found.parameters) == (name or "", None, b"")


def test_text_that_is_none_is_shown_as_far_as_it_is():
    """A name that is not valid text is shown as far as possible, and not refused."""
    found, _keep = level(arrow.numbers().but(name=b"\xffx", metadata=None))

    assert found.name == "\ufffdx"


def test_a_struct_may_have_many_fields():
    """All fields of a struct are read."""
    source = arrow.ArraySource(arrow.Field("+s", children=(arrow.Field(),) * 1000), ())
    found, _keep = level(source)

    assert len(found.children) == 1000


@pytest.mark.parametrize(
    ("make", "shape", "order"),
    [
        (arrow.numbers, (), ()),
        (arrow.lists, (3,), (0,)),
        (lambda: arrow.lists(shape=(2, 3, 4)), (3, 4), (0, 1)),
        (lambda: arrow.tensors(shape=(2, 3, 4), permutation=(1, 0)), (3, 4), (1, 0)),
        (lambda: arrow.numbers("uint8").but(format="w:5"), (5,), (0,)),
        (lambda: arrow.numbers("int64").but(format="d:38,2"), (2,), (0,)),
        (lambda: arrow.numbers("int64").but(format="d:76,2,256"), (4,), (0,)),
        (lambda: arrow.numbers("int32").but(format="tiD"), (2,), (0,)),
        (lambda: arrow.numbers("uint8").but(format="tin"), (16,), (0,)),
        (lambda: arrow.table(x=arrow.lists()), (3,), (0,)),
    ],
)
def test_lists_and_tensors_are_axes(make, shape, order):
    """Lists and tensors are axes, in the order of memory and in that of the array."""
    found = elements(make(), storage=True)

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
        (lambda: arrow.numbers("int32").but(format="d:9,2,32"), True, "int32", False),
        (lambda: arrow.numbers("int64").but(format="d:18,2,64"), True, "int64", False),
        (arrow.dictionary, True, "int32", False),
        (lambda: arrow.numbers().but(metadata=extension("my.metres")), True, "float32", False),
    ],
)
def test_numbers_have_their_dtype(make, storage, dtype, is_bits):
    """The dtype is that of the numbers, or of the storage if it was requested."""
    found = elements(make(), storage=storage)

    assert (str(found.dtype), found.is_bits) == (dtype, is_bits)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (arrow.texts, "pass `ragged=True` for values and offsets"),
        (lambda: arrow.numbers().but(format="n"), "pass a column with elements"),
        (lambda: arrow.numbers().but(format="+us:"), "the elements have several types"),
        (
            lambda: arrow.table(a=arrow.numbers(), b=arrow.numbers()).but(format="+r"),
            "decode the runs",
        ),
        (lambda: arrow.table(a=arrow.numbers(), b=arrow.numbers()), "such as 'a'"),
        (lambda: arrow.numbers().but(format="+s"), "convert the elements to numbers first"),
    ],
)
def test_what_has_no_width_is_refused_with_a_fix(make, words):
    """A type without a fixed width is refused with the fix for its kind."""
    with pytest.raises(ix.UnsupportedDTypeError) as caught:
        elements(make())

    assert caught.value.rule == "ARROW-TYPE-1"
    assert words in str(caught.value.hint)


@pytest.mark.parametrize("name", ["a" * 10**5, "\n\x1b[31m" * 10**4])
def test_foreign_text_in_errors_is_clipped(name):
    """Names of extensions and time zones appear printable in errors, and clipped."""
    for source in (
        arrow.numbers().but(metadata=extension(name)),
        arrow.numbers("int64").but(format=f"tss:{name[:60000]}"),
    ):
        with pytest.raises(ix.UnsupportedDTypeError) as caught:
            elements(source)

        assert len(str(caught.value)) < 500
        assert str(caught.value).isprintable()


def test_a_released_schema_is_not_read():
    """A released schema is refused, whatever its other fields are."""
    with pytest.raises(BrokenRule, match="ARROW-RELEASE-3"):
        level(arrow.numbers().but(field={"release": False, "format": None}))


def test_names_of_capsules_and_words_of_streams_are_clipped():
    """So are other texts of a producer."""
    for source in (
        arrow.numbers().but(array_name=b"y" * 10**5),
        arrow.numbers().as_stream().but(next_error=5, message=b"x" * 10**5),
        arrow.table(**{"n" * 10**5: arrow.texts()}),
        arrow.tensors(parameters="s" * 10**5),
    ):
        with pytest.raises(ix.ExchangeError) as caught:
            ix.from_arrow(source)

        assert len(str(caught.value)) < 900
