"""`from_arrow`: each claim of its docstring, with producers that support only Arrow."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import interchange as ix
from interchange_conformance.zoo import arrow
from interchange_conformance.zoo.arrow.columns import nested

LEGAL = arrow.legal()
METHODS = ("device_array", "array", "device_stream", "stream")

pytestmark = pytest.mark.usefixtures("arrow_zoo")


def tuples(values):
    """Return nested lists as tuples."""
    return tuple(map(tuples, values)) if isinstance(values, list | tuple) else values


def values_of(name, source):
    """Return the elements of a legal case as an array has them."""
    if not name.startswith("tensors"):
        return source.values
    found = np.array(source.values).reshape(len(source.values), 2, 3)
    return tuples((found.transpose(0, 2, 1) if name.endswith("permuted") else found).tolist())


def refusal(error, source, **keywords):
    """Return the rule of an import's refusal, with exactly that class; all memory is released."""
    with pytest.raises(error) as caught:
        ix.from_arrow(source, **keywords)
    assert type(caught.value) is error
    assert str(caught.value).startswith("from_arrow(): ")
    if isinstance(source, arrow.Source):
        assert source.counts == source.due
    return caught.value.rule


# ---------------------------------------------------------------- what comes in


@pytest.mark.parametrize("name", sorted(set(LEGAL) - {"unaligned"}))
def test_what_is_legal_comes_in(name):
    """Legal columns are imported with their elements, and released once with the array."""
    source = LEGAL[name].make()

    found = ix.from_arrow(source)

    assert tuples(found.tolist()) == values_of(name, source)
    assert (found.owner is source) == found.readonly  # a copy has no other owner
    del found
    gc.collect()
    assert source.counts == source.due


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_legal_is_copied(name):
    """copy=True copies into writable memory, and keeps nothing of the producer."""
    source = LEGAL[name].make()

    found = ix.from_arrow(source, copy=True)

    assert source.counts == source.due
    assert tuples(found.tolist()) == values_of(name, source)
    assert (found.readonly, found.is_contiguous()) == (False, True)


@pytest.mark.parametrize("dtype", sorted(arrow.columns.FORMATS))
@pytest.mark.parametrize("copy", [None, False])
def test_numbers_are_shared(dtype, copy):
    """Numbers are shared at the address of the producer, from its offset on, read-only."""
    source = arrow.numbers(dtype, 5, offset=2)

    found = ix.from_arrow(source, copy=copy)

    assert found.ptr == source.chunks[0].buffers[1] + 2 * found.dtype.itemsize
    assert (str(found.dtype), found.shape, found.readonly) == (dtype, (5,), True)
    assert str(found.device) == "cpu"


@pytest.mark.parametrize(
    ("shape", "offset", "child_offset"),
    [((4, 3), 2, 5), ((3, 2, 4), 1, 7), ((2, 3, 1, 2), 3, 1), ((5, 1), 4, 0)],
)
def test_lists_are_axes(shape, offset, child_offset):
    """Offsets of lists and of items add up; elements are shared in C order."""
    source = arrow.lists("int64", shape, offset=offset, child_offset=child_offset)

    found = ix.from_arrow(source)

    leaf = source.chunks[0]
    while leaf.children:
        (leaf,) = leaf.children
    skipped = child_offset + offset * int(np.prod(shape[1:]))
    assert found.ptr == leaf.buffers[1] + 8 * skipped
    assert (found.shape, found.is_contiguous()) == (shape, True)
    assert tuples(found.tolist()) == source.values


def test_offsets_between_lists_add_up():
    """Offsets of nested lists add up, each counted in its own elements."""
    source = arrow.lists("int32", (5, 2, 3))
    moved = source.but(chunk={"offset": 1, "length": 3}).at((0,), chunk={"offset": 2, "length": 8})

    found = ix.from_arrow(moved)

    expected = np.arange(30).reshape(10, 3)[2:][2:8].reshape(3, 2, 3)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("permutation", "shape"),
    [(None, (4, 2, 3, 5)), ((0, 1, 2), (4, 2, 3, 5)), ((2, 0, 1), (4, 5, 2, 3))],
)
def test_tensors_have_their_axes(permutation, shape):
    """A tensor has the axes of its permutation, over the unchanged memory; names are ignored."""
    source = arrow.tensors("int16", (4, 2, 3, 5), permutation=permutation)

    found = ix.from_arrow(source)

    assert found.shape == shape
    expected = np.arange(120).reshape(4, 2, 3, 5)
    if permutation is not None:
        expected = expected.transpose(0, *(axis + 1 for axis in permutation))
    assert found.tolist() == expected.tolist()
    assert found.ptr == source.chunks[0].children[0].buffers[1]
    named = '{"shape": [2, 3], "dim_names": ["x", "y"], "unknown": null}'
    assert ix.from_arrow(arrow.tensors(parameters=named)).shape == (4, 2, 3)


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (
            lambda: arrow.tensors("int8", (6, 2, 2), permutation=(1, 0)),
            np.arange(24).reshape(2, 3, 2, 2).swapaxes(2, 3),
        ),
        (
            lambda: arrow.bools([1, 0, 0, 1, 1, 0], offset=2),
            np.array([[True, False, False], [True, True, False]]),
        ),
    ],
    ids=["tensors", "bits"],
)
def test_lists_of_tensors_and_of_bits_have_the_axes_of_the_lists_first(inner, expected):
    """Lists of tensors and of packed bools have the axes of the lists first."""
    source = inner()
    field = arrow.Field("+w:3", children=(source.field,))
    chunk = arrow.Chunk(2, 0, 0, (None,), source.chunks)

    found = ix.from_arrow(arrow.ArraySource(field, (chunk,)))

    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("width", [0, 1, 5])
def test_bytes_of_one_width_are_an_axis(width):
    """Fixed-size binary is an axis of uint8."""
    source = arrow.numbers("uint8", 20, offset=0)
    made = source.but(format=f"w:{width}", chunk={"length": 3, "offset": 1})

    found = ix.from_arrow(made)

    assert (found.shape, str(found.dtype)) == ((3, width), "uint8")
    assert found.tolist() == np.arange(width, 4 * width).reshape(3, width).tolist()


def test_a_table_of_one_column_is_that_column():
    """The offset of a table is added to the offset of its column."""
    source = arrow.table(x=arrow.numbers("int16", 6, offset=2), offset=1)

    found = ix.from_arrow(source)

    assert found.tolist() == [3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("make", "keywords", "error", "rule"),
    [
        (
            lambda: arrow.table(t=arrow.table(x=arrow.numbers())),
            {},
            ix.UnsupportedDTypeError,
            "ARROW-TYPE-1",
        ),
        (arrow.bools, {"copy": False}, ix.CopyNeededError, "ARROW-BOOL-1"),
        (lambda: arrow.numbers().as_schema(), {}, ix.NoProtocolError, "IX-PROTOCOL-1"),
        (lambda: arrow.numbers().__arrow_c_array__()[0], {}, ix.NoProtocolError, "ARROW-CAP-1"),
        (lambda: np.ones(3).__dlpack__(), {}, ix.NoProtocolError, "ARROW-CAP-1"),
    ],
    ids=["table in a table", "bits, not copied", "schema", "schema capsule", "DLPack capsule"],
)
def test_what_is_no_column_or_not_shared_is_refused(make, keywords, error, rule):
    """Tables within tables, packed bools without a copy, types without elements, other capsules."""
    assert refusal(error, make(), **keywords) == rule


def test_a_table_names_a_field_to_take():
    """The name selects one of several fields of a table."""
    source = arrow.table(first=arrow.numbers(), second=arrow.numbers())

    with pytest.raises(ix.UnsupportedDTypeError, match="pass `column='first'` for one of them"):
        ix.from_arrow(source)


@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize("count", range(18))
@pytest.mark.parametrize("offset", [0, 3, 8])
def test_bits_become_bytes(offset, count, copy):
    """Packed bools are copied to bytes, from any bit to any bit."""
    bits = [(7 * place + count) % 3 == 0 for place in range(count)]
    source = arrow.bools(bits, offset=offset)

    found = ix.from_arrow(source, copy=copy)

    assert found.tolist() == bits
    assert (str(found.dtype), found.readonly) == ("bool", False)
    assert source.counts == source.due


@pytest.mark.parametrize("copy", [None, False])
def test_what_is_not_aligned_is_refused(copy):
    """Unaligned memory is refused unless it is copied (`test_what_is_legal_is_copied`)."""
    source = arrow.numbers("float64", lead=1)

    assert refusal(ix.ExchangeError, source, copy=copy) == "ARROW-BUFFER-2"


# ---------------------------------------------------------------- which protocol is used


@pytest.mark.parametrize("first", range(len(METHODS)))
def test_methods_are_asked_in_this_order(first):
    """The first existing method is called: device, array, stream, in this order."""
    source = arrow.numbers().as_everything()
    for name in METHODS[:first]:
        setattr(source, f"__arrow_c_{name}__", None)

    ix.from_arrow(source)

    assert [call.method for call in source.log] == [f"__arrow_c_{METHODS[first]}__"]
    assert set(source.log[0].keywords.values()) <= {None}


@pytest.mark.parametrize("name", METHODS)
def test_capsules_are_taken_themselves(name):
    """Capsules are imported and consumed; an array capsule together with its schema."""
    source = arrow.numbers().as_everything()
    capsules = getattr(source, f"__arrow_c_{name}__")()

    found = ix.from_arrow(capsules)

    assert tuples(found.tolist()) == source.values
    with pytest.raises(ix.ExchangeError, match="ARROW-RELEASE-3"):
        ix.from_arrow(capsules)
    del found
    assert source.counts == source.due


def test_the_capsule_of_an_array_does_not_come_alone():
    """The array capsule comes with a schema, which describes it."""
    pair = arrow.numbers().__arrow_c_array__()

    assert refusal(ix.NoProtocolError, pair[1]) == "ARROW-METHOD-1"
    assert ix.from_arrow(pair).shape == (6,)


class Silent:
    """Does not support Arrow."""

    __arrow_c_array__ = None


@pytest.mark.parametrize(
    "x", [None, 1, "text", [1, 2], (1, 2), np.ones(3), Silent(), arrow.ArraySource, Silent]
)
def test_objects_without_arrow_are_refused(x):
    """An object without Arrow is refused, also with a protocol that `asarray` supports."""
    assert refusal(ix.NoProtocolError, x) == "IX-PROTOCOL-1"


@pytest.mark.parametrize("error", [OSError("its own"), KeyboardInterrupt(), BufferError("no")])
def test_what_a_producer_raises_comes_through(error):
    """The same object."""
    with pytest.raises(type(error)) as caught:
        ix.from_arrow(arrow.numbers().but(raises=error))

    assert caught.value is error


# ---------------------------------------------------------------- lifetime


def test_views_keep_the_memory():
    """The struct is released with the last view."""
    source = arrow.lists()
    array = ix.from_arrow(source)
    view = array[1:, ::2]

    del array
    alive = source.alive
    expected = [list(row[::2]) for row in source.values[1:]]
    assert (view.tolist(), alive) == (expected, 1)
    del view
    assert source.alive == 0


def test_schema_and_stream_are_released_at_once():
    """The schema is released after parsing, and a stream too; its chunk lives on."""
    source = arrow.numbers().as_stream()

    array = ix.from_arrow(source)

    stream, schema, chunk = source.given
    assert (stream.releases, schema.releases, chunk.releases) == (1, 1, 0)
    assert tuples(array.tolist()) == source.values


def test_the_capsules_are_left_released():
    """The capsules hold released structs, which no later reader uses (ARROW-CAP-2)."""
    source = arrow.numbers()
    pair = source.__arrow_c_array__()

    array = ix.from_arrow(pair)

    assert [one.marked for one in source.loans] == [True, True]
    assert source.counts == (1, 0)
    del array, pair
    assert [one.destroyed for one in source.loans] == [True, True]
    assert source.counts == (1, 1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("asked", [{}, {"copy": True}, {"nulls": "separate"}, None])
def test_callbacks_that_do_not_mark_what_they_released(method, asked):
    """Are called once all the same, also for what is refused (ARROW-RELEASE-1)."""
    made = arrow.lists() if asked is not None else arrow.numbers(nulls=[0])
    made = made.but(sets_release=False, flow={"sets_release": False})
    source = getattr(made, f"as_{method}")()

    if asked is None:
        with pytest.raises(ix.ExchangeError):
            ix.from_arrow(source)
    else:
        ix.from_arrow(source, **asked)
    assert source.counts == source.due


def test_memory_of_arrow_is_read_only():
    """Arrow's memory is immutable, also in NumPy."""
    array = ix.from_arrow(arrow.numbers())

    assert not np.asarray(array).flags.writeable
    with pytest.raises(ix.ReadOnlyError):
        array[0] = 1


def test_nested_is_honest():
    """The helper of these tests agrees with NumPy."""
    assert nested(range(6), (2, 3)) == tuples(np.arange(6).reshape(2, 3).tolist())
