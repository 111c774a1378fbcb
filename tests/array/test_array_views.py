"""Views: other descriptions of the same memory; and refused views."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange.testing import producers
from interchange.testing.strategies import shapes


def numbered(*shape):
    """Return NumPy's array of the numbers in order."""
    return np.arange(prod(shape)).reshape(shape)


def refusal(error, function, *arguments, **keywords):
    """Return the rule that a call is refused by, with exactly that class."""
    with pytest.raises(error) as caught:
        function(*arguments, **keywords)
    assert type(caught.value) is error
    return caught.value.rule


VIEWS = {
    "index": lambda a: a[1:, ::-2],
    "int": lambda a: a[1],
    "none": lambda a: a[None, ..., None],
    "T": lambda a: a.T,
    "mT": lambda a: a.mT,
    "permute_dims": lambda a: a.permute_dims((1, 0)),
    "broadcast_to": lambda a: a.broadcast_to((4, 6)),
    "reshape": lambda a: a.reshape((3, 8)),
}

every_view = pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)


# ---------------------------------------------------------------- what all views share


@every_view
@pytest.mark.parametrize(
    ("flags", "generation", "expected"),
    [(0, "versioned", False), (1, "versioned", True), (2, "versioned", False), (0, "legacy", None)],
)
def test_a_view_may_be_written_as_its_array_may(make, flags, generation, expected):
    """A view inherits read-only, writable and unknown."""
    source = producers.host((4, 6)).but(flags=flags, generation=generation)

    assert make(ix.from_dlpack(source)).readonly is expected


@every_view
def test_a_view_shares_the_memory(make):
    """A write through NumPy is visible in the view; its owner is the producer, not the Array."""
    memory = np.zeros((4, 6))
    view = make(ix.asarray(memory))

    memory[...] = 7

    assert set(np.ravel(view.tolist())) == {7.0}
    assert view.owner is memory


@every_view
def test_a_view_outlives_its_array(make):
    """The memory is kept alive by any view of it."""
    source = producers.host((4, 6))
    view = make(ix.from_dlpack(source))
    assert source.deleter_calls == 0

    del view

    assert source.deleter_calls == 1


@every_view
def test_a_view_stays_on_its_device(make):
    """Creating a view does not read memory, so it works for device memory."""
    array = ix.from_pointer(0xDEAD000, (4, 6), "float32", device="cuda:1")

    assert str(make(array).device) == "cuda:1"


PACKED_VIEWS = {name: make for name, make in VIEWS.items() if name != "broadcast_to"}


def packed():
    """Return an array of 4-bit integers that share bytes, and its bytes."""
    block = bytearray(range(12))
    return ix.from_pointer(ix.from_buffer(block).ptr, (4, 6), "int4", owner=block), block


@pytest.mark.parametrize("make", PACKED_VIEWS.values(), ids=PACKED_VIEWS)
def test_packed_elements_have_no_views(make):
    """Elements below 8 bits that share bytes cannot be addressed; a view of all need not."""
    array, _ = packed()

    assert refusal(ix.UnsupportedDTypeError, make, array) == "DLP-DTYPE-5"
    assert array[...].shape == (4, 6)


def test_padded_elements_have_views():
    """Padded elements have views, since each has an address."""
    block = bytearray(range(6))
    array = ix.from_pointer(ix.from_buffer(block).ptr, (6,), "uint4_padded", owner=block)

    assert array[::-2].tolist() == [5, 3, 1]


# ---------------------------------------------------------------- indexing


@pytest.mark.parametrize(
    "key",
    [0, -1, (1, 2), (1, -3), slice(1, 3), (slice(None), 2), (..., 1), None, (None, 1, None), ()],
    ids=repr,
)
def test_an_index_selects_what_numpy_selects(key):
    """The forms of basic indexing, one by one; `tests/types` draws them."""
    memory = numbered(4, 6)

    assert ix.asarray(memory)[key].tolist() == memory[key].tolist()


@pytest.mark.parametrize(
    "key", [4, -5, (0, 6), (0, 0, 0), [4], 1.5, "a", (..., ...), (0, [1, 6])], ids=repr
)
def test_an_index_out_of_bounds_or_of_another_kind_is_refused(key):
    """An index out of bounds, and one of another kind, are an IndexError."""
    array = ix.asarray(numbered(4, 6))

    assert refusal(ix.OutOfBoundsError, lambda: array[key]) == "IX-INDEX-1"


def test_an_array_writes_to_the_memory_it_shares():
    """An assignment is visible in the producer's memory."""
    memory = bytearray(3)
    ix.from_buffer(memory)[1] = 7

    assert memory == b"\0\7\0"


# ---------------------------------------------------------------- axes


@pytest.mark.parametrize("shape", [(4, 6), (5, 2, 3), (1, 0, 2, 3)])
def test_t_and_mt_transpose_the_last_two_axes(shape):
    """Rows become columns; axes before the last two stay."""
    memory = numbered(*shape)

    assert ix.asarray(memory).mT.tolist() == memory.mT.tolist()
    assert len(shape) > 2 or ix.asarray(memory).T.tolist() == memory.T.tolist()


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4)])
def test_t_is_for_matrices_only_and_mt_needs_two_axes(shape):
    """The standard leaves other arrays undefined, so that they are refused."""
    array = ix.asarray(np.zeros(shape))

    assert refusal(ix.AxesError, lambda: array.T) == "IX-AXES-1"
    assert len(shape) > 2 or refusal(ix.AxesError, lambda: array.mT) == "IX-AXES-1"


@given(st.data())
def test_permuting_is_that_of_numpy(data):
    """Elements follow their axes."""
    memory = numbered(*data.draw(shapes(max_axes=4)))
    axes = data.draw(st.permutations(range(memory.ndim)))

    assert ix.asarray(memory).permute_dims(tuple(axes)).tolist() == memory.transpose(axes).tolist()


@pytest.mark.parametrize("axes", [(0,), (0, 0), (0, 2), (0, 1, 2), (), (0, -2)])
def test_axes_name_each_dimension_once(axes):
    """Axes that are no permutation are refused."""
    array = ix.asarray(np.zeros((2, 3)))

    assert refusal(ix.ViewError, array.permute_dims, axes) == "IX-AXES-1"


# ---------------------------------------------------------------- broadcasting


@given(shapes(max_axes=3), shapes(max_axes=2))
def test_spreading_is_that_of_numpy(shape, lead):
    """Elements repeat as NumPy repeats them."""
    memory = numbered(*shape)
    wanted = (*lead, *(extent if extent != 1 else 3 for extent in shape))

    found = ix.asarray(memory).broadcast_to(wanted)

    assert found.tolist() == np.broadcast_to(memory, wanted).tolist()


def test_repeated_elements_are_read_only():
    """A write to one would be a write to several, as NumPy has it."""
    array = ix.asarray(np.zeros((3, 1)))

    assert array.readonly is False
    assert array.broadcast_to((3, 4)).readonly is True
    assert array.broadcast_to((1, 3, 1)).readonly is False


@pytest.mark.parametrize("shape", [(2,), (3, 1), (4, 4), (), (3, 2), (1, 0)])
def test_axes_longer_than_1_are_not_broadcast(shape):
    """An axis of 3 stays an axis of 3."""
    array = ix.asarray(np.zeros((1, 3)))

    assert refusal(ix.ViewError, array.broadcast_to, shape) == "IX-VIEW-1"


@pytest.mark.parametrize("shape", [(-1,), (-3,), (-3, 1), (2, -1)])
def test_nothing_is_broadcast_to_a_negative_extent(shape):
    """NumPy refuses these, and so does every consumer of the result."""
    with pytest.raises(ValueError, match=r"IX-VIEW-1|DLP-SHAPE-3"):
        ix.asarray(np.zeros(1)).broadcast_to(shape)


# ---------------------------------------------------------------- reshaping


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ((4, 6), (24,)),
        ((4, 6), 24),
        ((4, 6), -1),
        ((4, 6), (2, -1)),
        ((4, 6), (-1, 3, 2)),
        ((1,), ()),
        ((), (1, 1)),
        ((), -1),
        ((0, 3), (3, 0)),
        ((0, 3), -1),
    ],
)
def test_reshaping_is_that_of_numpy(shape, wanted):
    """One extent of a reshape may be -1."""
    memory = numbered(*shape)

    found = ix.asarray(memory).reshape(wanted)

    assert found.shape == memory.reshape(wanted).shape
    assert found.tolist() == memory.reshape(wanted).tolist()


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        *(
            ((4, 6), wanted)
            for wanted in [(5,), (4, 5), (-1, -1), (-2, -12), (-1, 5), (0,), (-1, 0), (), 23]
        ),
        ((4, 6), (2, -3, -4)),
        ((0, 3), (7, 0, -1)),
    ],
)
def test_a_shape_with_another_product_is_refused(shape, wanted):
    """Another number of elements, and -1 next to an extent of 0, which is ambiguous."""
    array = ix.asarray(numbered(*shape))

    assert refusal(ix.ViewError, array.reshape, wanted) == "IX-VIEW-1"
    assert refusal(ix.ViewError, array.reshape, wanted, copy=True) == "IX-VIEW-1"


@pytest.mark.parametrize(
    ("method", "argument"),
    [
        *(("permute_dims", axes) for axes in (None, 1, "01", (0.0, 1.0), (None, None))),
        *(("broadcast_to", shape) for shape in (None, 3.0, "3", (3.0,))),
        *(("reshape", shape) for shape in (None, "24", 24.0, (24.0,), [None])),
    ],
    ids=repr,
)
def test_axes_and_shapes_are_made_of_ints(method, argument):
    """Other types are wrong arguments."""
    call = getattr(ix.asarray(numbered(4, 6)), method)

    assert refusal(ix.ArgumentError, call, argument) == "IX-ARGUMENT-1"


def test_an_int_is_a_shape_of_one_axis():
    """An int is accepted as the shape of one axis, as NumPy does."""
    array = ix.asarray(numbered(6))

    assert array.broadcast_to(6).shape == array.reshape(np.int64(6)).shape == (6,)


def test_reshaping_refuses_to_copy_by_default():
    """By default a reshape that needs a copy is refused."""
    array = ix.asarray(numbered(4, 6)).T

    assert refusal(ix.CopyNeededError, array.reshape, 24) == "DLP-COPY-1"
    assert refusal(ix.CopyNeededError, array.reshape, 24, copy=False) == "DLP-COPY-1"


def test_reshaping_copies_as_requested():
    """With copy=None only if no view is possible; with copy=True the memory is always new."""
    array = ix.asarray(numbered(4, 6))

    assert array.T.reshape(24, copy=None).tolist() == numbered(4, 6).T.reshape(24).tolist()
    assert array.reshape(24, copy=None).ptr == array.ptr
    found = array.reshape((6, 4), copy=True)
    assert found.ptr != array.ptr
    assert found.tolist() == numbered(6, 4).tolist()


@pytest.mark.parametrize("copy", [0, 1, "no", "always"], ids=repr)
def test_copy_is_none_true_or_false(copy):
    """`copy` accepts None, True and False, and no number."""
    array = ix.asarray(numbered(4, 6))

    assert refusal(ix.ArgumentError, array.reshape, 24, copy=copy) == "DLP-COPY-3"


def test_packed_elements_are_copied_as_a_whole():
    """A copy under the same shape needs no addresses."""
    array, block = packed()

    again = array.copy()

    assert bytes(np.asarray(ix.from_pointer(again.ptr, (12,), "uint8", owner=again))) == block


# ---------------------------------------------------------------- 64 bits

TOO_LARGE = {
    "extent": lambda a: a.broadcast_to((2**70,)),
    "extents": lambda a: a.broadcast_to((2**40, 2**40)),
    "bytes": lambda a: a.broadcast_to((2**61,)),
    "axes": lambda a: a[(None,) * 64],
    "axes-broadcast": lambda a: a.broadcast_to((1,) * 65),
    "axes-reshape": lambda a: a.reshape((1,) * 65),
    "empty-reshape": lambda a: a[:0].reshape((0, 2**40, 2**40)),
    "empty-broadcast": lambda a: a.broadcast_to((0, 2**40, 2**40)),
}


@pytest.mark.parametrize("make", TOO_LARGE.values(), ids=TOO_LARGE)
def test_no_view_is_larger_than_64_bits_can_say(make):
    """A view whose shape or strides exceed 64 bits is refused when it is created."""
    array = ix.asarray(np.zeros(1))

    with pytest.raises((ix.ViewError, ix.ExchangeError)):
        make(array)


@pytest.mark.parametrize("step", [2**40, 2**62, 2**63, -(2**62), -(2**70)])
def test_a_huge_step_selects_one_row_with_strides_that_fit(step):
    """A huge step selects one row, and its strides fit into 64 bits."""
    memory = numbered(4, 6)

    found = ix.asarray(memory)[::step]

    assert all(-(2**63) <= stride < 2**63 for stride in found.strides_in_bytes)
    assert np.from_dlpack(found).tolist() == memory[::step].tolist()
    assert ix.from_dlpack(ix.to_capsule(found, max_version=(1, 3))).tolist() == found.tolist()


@pytest.mark.parametrize("key", [slice(None, None, 0), (..., slice(0, 1, 0))], ids=repr)
def test_a_step_of_zero_is_a_value_error_however_it_is_met(key):
    """A step of zero is a ValueError for reads, writes and masks, as in NumPy and lists."""
    array = ix.asarray(np.arange(6.0).reshape(2, 3))
    mask = ix.asarray(np.ones(2, bool))
    parts = key if isinstance(key, tuple) else (key,)
    calls = {
        "read": lambda: array[key],
        "read, described": lambda: ix.from_buffer(bytes(4))[key],
        "written": lambda: array.__setitem__(key, 0.0),
        "beside a mask": lambda: array[(mask, *parts[-1:])],
    }
    refused = {}
    for name, call in calls.items():
        with pytest.raises(ix.ViewError, match="has a step of 0") as caught:
            call()
        refused[name] = (caught.value.rule, isinstance(caught.value, ValueError))

    assert refused == dict.fromkeys(calls, ("IX-INDEX-1", True))
