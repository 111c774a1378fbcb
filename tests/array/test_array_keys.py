"""Keys of an Array on the host besides Arrays: ndarrays and lists, by NumPy's rules.

Source: array API standard 2025.12, Indexing; NumPy, "Indexing on ndarrays".
"""

from __future__ import annotations

import warnings
from collections import UserList

import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange import xp

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", ">i4", ">u2")


def numbered(shape):
    """Return an ndarray with distinct elements."""
    return np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape)


@st.composite
def index_lists(draw, extent, beyond):
    """Draw an ndarray of places on an axis, perhaps out of bounds by one."""
    slack = 1 if beyond else 0
    if extent + slack == 0:
        return np.zeros((0,), np.intp)
    shape = draw(st.sampled_from([(), (0,), (1,), (3,), (2, 2)]))
    size = int(np.prod(shape))
    places = st.integers(-extent - slack, extent - 1 + slack)
    found = np.array(draw(st.lists(places, min_size=size, max_size=size)), np.int64).reshape(shape)
    wanted = np.dtype(draw(st.sampled_from(INTEGERS)))
    return found.astype(wanted if wanted.kind == "i" or not (found < 0).any() else np.int64)


@st.composite
def keys(draw, shape):
    """Draw a key: slices, ints, new axes, ndarrays and lists of places and of truths."""
    parts = []
    axis = 0
    while axis < len(shape):
        kind = draw(st.sampled_from(["int", "slice", "places", "places", "mask", "new", "stop"]))
        if kind == "stop":
            break
        if kind == "int" and shape[axis]:
            parts.append(draw(st.integers(-shape[axis], shape[axis] - 1)))
            parts[-1] = draw(st.sampled_from([parts[-1], np.int16(parts[-1])]))
        elif kind == "places":
            parts.append(draw(index_lists(shape[axis], draw(st.integers(0, 9)) == 9)))
        elif kind == "mask":
            count = draw(st.integers(1, len(shape) - axis))
            extents = [*shape[axis : axis + count]]
            if draw(st.integers(0, 9)) == 9:
                extents[-1] += 1  # a different shape from that of the array
            size = int(np.prod(extents))
            truths = draw(st.lists(st.booleans(), min_size=size, max_size=size))
            parts.append(np.array(truths, bool).reshape(extents))
            axis += count - 1
        else:
            ends = st.none() | st.integers(-4, 4)
            steps = st.sampled_from([None, 1, -1, 2])
            parts.append(slice(draw(ends), draw(ends), draw(steps)))
        axis += 1
        if kind == "new":
            parts.append(None)
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), ...)
    return tuple(
        part.tolist() if isinstance(part, np.ndarray) and draw(st.booleans()) else part
        for part in parts
    )


def told(get):
    """Return the shape and elements of a call's result, or that it raised IndexError."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = get()
        except (IndexError, DeprecationWarning):  # NumPy 2.2 warns if no element is selected
            return "IndexError"
    return found.shape, found.tolist()


@given(st.data())
def test_a_key_of_ndarrays_and_lists_selects_what_numpy_selects(data):
    """The same elements in the same shape, or an IndexError in both; and a copy, never a view."""
    memory = numbered(data.draw(st.sampled_from([(), (3,), (2, 3), (3, 1, 2), (0, 2)])))
    key = data.draw(keys(memory.shape))
    array = ix.from_dlpack(memory)
    if data.draw(st.booleans()):
        array + 1  # its library has an array object from here on

    assert told(lambda: array[key]) == told(lambda: np.asarray(memory[key]))


@given(st.data())
def test_a_key_of_ndarrays_and_lists_is_written_where_numpy_writes(data):
    """Writing with such a key equals NumPy's; or both raise IndexError and nothing is written."""
    ours = numbered(data.draw(st.sampled_from([(), (3,), (2, 3), (3, 1, 2), (0, 2)])))
    theirs = ours.copy()
    key = data.draw(keys(ours.shape))

    def write(target):
        target[key] = -1.0
        return target

    assert told(lambda: write(ix.from_dlpack(ours))) == told(lambda: write(theirs))
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize(
    "key",
    [
        [0, 2],
        [-1],
        [[0, 1], [1, 0]],
        [],
        [[]],
        [True, False, True],
        [False] * 3,
        [np.True_, np.False_, np.True_],
        [True, 2],
        [np.int8(1), 0],
        range(2),
        ([0, 1],),
        ((0, 1),),
        ([0, 2], ...),
        (slice(None), None, [0]),
        (np.array([0, 2]), [1, 0]),
        np.array(1),
        np.full((), 1, bool),
        np.array([], np.int8),
        np.arange(6)[::-2] // 2,
        np.array([[True, False], [False, True], [True, True]]),
        np.ma.masked_array([0, 1], [False, False]),
        np.uint8(1),
    ],
    ids=repr,
)
def test_every_form_of_key_selects_what_numpy_selects(key):
    """Every form of key selects the elements that NumPy selects."""
    memory = numbered((3, 2))

    assert told(lambda: ix.from_dlpack(memory)[key]) == told(lambda: memory[key])


REFUSED = {
    "a truth": (True, "IX-INDEX-2"),
    "a truth of NumPy": (np.True_, "IX-INDEX-2"),
    "a truth in a tuple": ((0, False), "IX-INDEX-2"),
    "masked": (np.ma.masked_array([0, 1], [False, True]), "AI-MASK-1"),
    "a mask too long": ([True] * 4, "IX-INDEX-1"),
    "a mask too short": (np.ones(2, bool), "IX-INDEX-1"),
    "out of bounds": ([0, 3], "IX-INDEX-1"),
    "out of bounds below": (np.array([-4]), "IX-INDEX-1"),
    "fractions": ([0.0], "IX-INDEX-1"),
    "no elements, of floats": (np.array([]), "IX-INDEX-1"),
    "ragged": ([[0], [1, 2]], "IX-INDEX-1"),
    "None within": ([None, 0], "IX-INDEX-1"),
    "slices within": ([slice(1)], "IX-INDEX-1"),
    "text": ("a", "IX-INDEX-1"),
    "list of text": (["a"], "IX-INDEX-1"),
    "beyond 64 bits": ([1 << 70], "IX-INDEX-1"),
    "objects": (np.array([0, 1], object), "IX-INDEX-1"),
    "a set": ({0, 1}, "IX-INDEX-1"),
    "another sequence": (UserList([0]), "IX-INDEX-1"),
    "too many": (([0], [0], [0]), "IX-INDEX-1"),
    "shapes that are not broadcast": (([0, 1], [0, 1, 1]), "IX-INDEX-1"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("use", ["get", "set"])
def test_what_indexes_nothing_is_refused_with_its_rule(case, use):
    """An invalid key is an IndexError with its rule, and nothing is written."""
    key, rule = REFUSED[case]
    memory = numbered((3, 2))
    array = ix.from_dlpack(memory)

    error = ix.ExchangeError if rule == "AI-MASK-1" else ix.OutOfBoundsError
    with pytest.raises(error, match=rule):
        array[key] if use == "get" else array.__setitem__(key, 7.0)
    assert memory.tolist() == numbered((3, 2)).tolist()


NOTHING_SELECTED = {
    "no elements": ((2, 0), lambda i: (i(2),)),
    "behind an axis": ((2, 0), lambda i: (slice(None), i(0))),
    "behind all others": ((2, 0, 3), lambda i: (..., i(3))),
    "before all others": ((2, 0, 3), lambda i: (i(-3), ...)),
    "behind a new axis": ((2, 0), lambda i: (None, i(2))),
    "behind a mask": ((2, 0, 3), lambda i: (np.array([True, False]), slice(None), i(3))),
}


@pytest.mark.parametrize("use", ["get", "set"])
@pytest.mark.parametrize("case", NOTHING_SELECTED)
@pytest.mark.parametrize("kind", [list, np.asarray, xp.asarray])
def test_an_index_leaves_the_shape_where_nothing_is_selected_too(case, kind, use):
    """NumPy before 2.3 warns of it at most."""
    shape, make_key = NOTHING_SELECTED[case]
    array, key = ix.from_dlpack(np.zeros(shape)), make_key(lambda place: kind([place]))

    with pytest.raises(ix.OutOfBoundsError, match="IX-INDEX-1"):
        array[key] if use == "get" else array.__setitem__(key, 7.0)


def test_what_selects_nothing_within_the_shape_is_an_index():
    """Keys that select nothing are indices on every version of NumPy."""
    array = ix.from_dlpack(np.zeros((2, 0, 3)))

    assert array[[1, -2], ..., [2, -3]].shape == (2, 0)
    assert array[np.zeros((2, 0), bool), [3]].shape == (0,)
    assert array[np.zeros((1, 0), int), :, [3]].shape == (1, 0, 0)
    assert array[..., np.array([2])].shape == (2, 0, 1)


def test_the_error_for_a_truth_value_names_masks():
    """The error for a truth value names masks, and no arrays of libraries that were not passed."""
    with pytest.raises(
        IndexError, match=r"index True is not a mask.*xp\.asarray\(True\)"
    ) as caught:
        xp.asarray(1.0)[True]

    assert "from_dlpack" not in str(caught.value)


@pytest.mark.parametrize("key", [[0, 1], np.array([0, 1]), np.array(1), [True, False]], ids=repr)
def test_an_index_of_the_host_is_refused_on_a_device(key):
    """A host index for a device array is refused; the fix says how to move it."""
    array = ix.from_pointer(8, (2,), "float32", device="cuda:0")

    with pytest.raises(ix.MixedDevicesError, match=r"xp\.asarray\(index, device='cuda:0'\)"):
        array[key]


def test_page_locked_memory_is_indexed_by_lists():
    """Page-locked memory is indexed by lists, since it is host memory."""
    memory = numbered((4,))
    address = memory.__array_interface__["data"][0]
    pinned = ix.from_pointer(address, (4,), "float64", device="cuda_host", owner=memory)

    assert pinned[[3, 1]].tolist() == [3.0, 1.0]


def test_a_key_that_must_not_be_written_is_read():
    """A read-only key array can be used: its flag concerns its own memory."""
    key = np.array([2, 0])
    key.flags.writeable = False

    assert ix.from_dlpack(numbered((3,)))[key].tolist() == [2.0, 0.0]


def test_a_key_of_one_element_without_axes_gives_a_view():
    """A one-element key without axes selects like the int that it holds."""
    memory = numbered((3,))
    ix.from_dlpack(memory)[np.array(1)][...] = 9.0

    assert memory.tolist() == [0.0, 9.0, 2.0]


NO_STEP = slice(None, None, 0)


@pytest.mark.parametrize(("shape", "key"), [((), (NO_STEP, ...)), ((1,), (0, NO_STEP))])
def test_too_many_slices_are_refused_before_a_step_of_0(shape, key):
    """A key with more parts than axes is an IndexError, whatever the steps of its slices."""
    x = ix.asarray(np.zeros(shape))
    for use in (lambda: x[key], lambda: x.__setitem__(key, 1.0)):
        with pytest.raises(IndexError):
            use()
