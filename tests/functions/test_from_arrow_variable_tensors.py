"""`from_arrow` of ``arrow.variable_shape_tensor``, and lists of Arrays with ``ragged="arrays"``."""

from __future__ import annotations

import json
import struct
from math import prod

import pytest

import interchange as ix
from interchange_conformance.zoo import arrow
from interchange_conformance.zoo.arrow.columns import extension, lists, numbers, ragged, texts

pytestmark = pytest.mark.usefixtures("arrow_zoo")

NAME = "arrow.variable_shape_tensor"


def tensors(*shapes, lengths=None, offset=0, kind="+l", axes=2, **said):
    """Return a column of tensors of these shapes, whose elements are the numbers from 0 on."""
    lengths = [prod(shape) for shape in shapes] if lengths is None else lengths
    data = ragged(lengths, numbers("int16", sum(map(abs, lengths))), kind=kind)
    shape = lists("int32", (len(shapes), axes))
    block = shape.chunks[0].children[0].memory[0].view()
    extents = [extent for one in shapes for extent in one]
    block[: 4 * len(extents)] = struct.pack(f"={len(extents)}i", *extents)
    found = arrow.table(data=data, shape=shape, offset=offset)
    return found.but(metadata=extension(NAME, json.dumps(said) if said else ""))


def listed(found):
    """Return the elements of all Arrays of a result."""
    if isinstance(found, (tuple, list)):
        return type(found)(map(listed, found))
    return None if found is None else found.tolist()


def refusal(source, kind=ix.ExchangeError, **keywords):
    """Return the error of an import; all memory is released."""
    with pytest.raises(kind) as caught:
        ix.from_arrow(source, **keywords)
    assert source.counts == source.due
    return caught.value


def test_tensors_are_values_shapes_and_offsets():
    """All are shared; shapes are those in memory."""
    source = tensors((2, 1), (0, 3), (1, 2), offset=1)
    values, shapes, offsets = ix.from_arrow(source, ragged=True)
    data, shape = source.chunks[0].children

    assert listed((values, shapes, offsets)) == ([0, 1, 2, 3], [[0, 3], [1, 2]], [2, 2, 4])
    assert (values.ptr, offsets.ptr) == (data.children[0].buffers[1], data.buffers[1] + 4)
    assert shapes.ptr == shape.children[0].buffers[1] + 8


@pytest.mark.parametrize("kind", ["+l", "+L", "+vl", "+vL"])
def test_tensors_are_a_list_of_arrays(kind):
    """Each is a view with its shape, in the order of its axes."""
    source = tensors((2, 1), (1, 3), kind=kind, permutation=[1, 0])
    first, second = ix.from_arrow(source, ragged="arrays")

    assert (first.shape, first.strides, first.tolist()) == ((1, 2), (1, 1), [[0, 1]])
    assert (second.shape, second.tolist()) == ((3, 1), [[2], [3], [4]])
    assert second.ptr == first.ptr + 4


def test_tensors_of_one_shape_are_an_array():
    """It is shared, with the axes of the tensors."""
    source = tensors((2, 3), (2, 3), (2, 3), offset=1, permutation=[1, 0])
    array = ix.from_arrow(source)

    assert (array.shape, array.strides) == ((2, 3, 2), (6, 1, 3))
    assert array[0].tolist() == [[6, 9], [7, 10], [8, 11]]
    assert array.ptr == source.chunks[0].children[0].children[0].buffers[1] + 12


def test_no_tensors_have_their_uniform_shape():
    """Extents that are not known are 0."""
    assert ix.from_arrow(tensors(uniform_shape=[None, 3])).shape == (0, 0, 3)


def test_tensors_of_different_shapes_are_refused():
    """The error has two shapes, and the call that imports them."""
    error = refusal(tensors((2, 3), (3, 2)), ix.UnsupportedDTypeError)

    assert error.what == "the tensors have different shapes, such as (2, 3) and (3, 2)"
    assert (error.rule, "`ragged='arrays'`" in error.hint) == ("ARROW-TYPE-1", True)


@pytest.mark.parametrize(
    "source",
    [
        lambda: tensors((2, 3), lengths=[5]),
        lambda: tensors((-2, -3), lengths=[6]),
        lambda: tensors((2, 3), uniform_shape=[2, 2]),
        lambda: tensors((2, 3), uniform_shape=[2]),
        lambda: tensors((2, 3), uniform_shape=[2, "3"]),
        lambda: tensors((2, 3), permutation=[0, 0]),
        lambda: tensors((2, 3), permutation=5),
        lambda: tensors((2, 3)).but(metadata=extension(NAME, "[")),
        lambda: tensors((2, 3)).but(metadata=extension(NAME, "5")),
        lambda: numbers().but(metadata=extension(NAME)),
        lambda: arrow.table(data=numbers()).but(metadata=extension(NAME)),
        lambda: arrow.table(data=numbers(length=4), shape=lists()).but(metadata=extension(NAME)),
        lambda: arrow.table(data=ragged(), shape=lists("int8", (3, 2))).but(
            metadata=extension(NAME)
        ),
    ],
)
@pytest.mark.parametrize("how", [False, True, "arrays"])
def test_tensors_that_contradict_their_type_are_refused(source, how):
    """By one rule, whatever was requested."""
    assert refusal(source(), ragged=how).rule == "ARROW-TENSOR-2"


def test_null_tensors_have_no_shape():
    """They are None in a list, and False in the mask."""
    source = tensors((2, 1), (9, 9), (1, 1), lengths=[2, 0, 1])
    nulls = numbers("int8", 3, nulls=[1]).chunks[0]
    source = source.but(
        chunk={"buffers": nulls.buffers[:1], "null_count": 1, "memory": nulls.memory}
    )
    found, masks = ix.from_arrow(source, ragged="arrays", nulls="separate")
    (_, shapes, offsets), (_, own) = ix.from_arrow(source, ragged=True, nulls="separate")

    assert (listed(found), listed(masks)) == (
        [[[0], [1]], None, [[2]]],
        [[[True], [True]], None, [[True]]],
    )
    assert listed((shapes[1], offsets, own)) == ([9, 9], [0, 2, 2, 3], [True, False, True])
    assert refusal(source.but(), ragged=True).rule == "ARROW-NULL-2"


# ---------------------------------------------------------------- lists of Arrays


def test_lists_are_a_list_of_arrays():
    """Each is a view; lists in lists are lists of lists."""
    source = ragged((2, 0, 1), ragged((1, 2, 0), numbers("int8", 3)))

    assert listed(ix.from_arrow(ragged(), ragged="arrays")) == [[0, 1], [], [2, 3, 4]]
    assert listed(ix.from_arrow(source, ragged="arrays")) == [[[0], [1, 2]], [], [[]]]


def test_text_is_a_list_of_bytes():
    """A null one is None, and in the mask."""
    source = texts(["ab", "", "c"])
    found = ix.from_arrow(source, ragged="arrays")

    assert listed(found) == [[97, 98], [], [99]]


def test_null_lists_are_none():
    """In the list of the values, and in that of the masks."""
    source = ragged((2, 0, 1), numbers("int32", 3, nulls=[0]), nulls=[1])
    found, masks = ix.from_arrow(source, ragged="arrays", nulls="separate")

    assert (found[1], listed([found[2], *masks])) == (None, [[2], [False, True], None, [True]])


def test_chunks_are_joined_to_one_list():
    """Arrays are views of the joined values."""
    source = arrow.chunked(ragged((2, 1)), ragged((1,))).as_stream()

    assert listed(ix.from_arrow(source, ragged="arrays", copy=True)) == [[0, 1], [2], [0]]
