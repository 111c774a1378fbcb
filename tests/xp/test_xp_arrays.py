"""Array in computations: backing, views, writes, operands, results."""

from __future__ import annotations

import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

import interchange as ix
from interchange import xp
from interchange._array.native_arrays import backend_of_array, native_of


def is_described(array):
    """Return whether an Array has its memory description."""
    return array._known is not None


FOREIGN = {
    "ndarray": np.ones(3),
    "capsule-maker": type("Maker", (), {"__dlpack__": None})(),
    "strict": pytest.importorskip("array_api_strict").asarray([1.0, 2.0, 3.0]),
}


def three(*, readonly=False):
    """Return an Array of three numbers, over memory of NumPy."""
    memory = np.arange(3.0)
    memory.flags.writeable = not readonly
    return ix.from_dlpack(memory)


# ---------------------------------------------------------------- backing


def test_the_librarys_array_is_made_once():
    """The library array is created once and kept, since an exchange costs more than a sum."""
    x = three()
    x + 1

    assert native_of(x) is native_of(x)


def test_computing_shares_the_memory():
    """A write through one alias is visible in the other."""
    memory = np.arange(3.0)
    x = ix.from_dlpack(memory)
    x + 1
    memory[0] = 9.0

    assert xp.sum(x).item() == 12.0


def test_a_result_is_described_on_demand():
    """The memory is described on demand: a chain of computations describes nothing in between."""
    x = three() + 1
    before = is_described(x)
    shape = x.shape

    assert (before, shape) == (False, (3,))
    assert is_described(x)


def test_a_result_keeps_the_librarys_memory_alive():
    """Memory lives as long as any description of it."""
    x = three() * 2
    native = weakref.ref(native_of(x))
    capsule = x.__dlpack__()
    del x
    gc.collect()

    assert native() is not None
    assert np.from_dlpack(ix.from_dlpack(capsule)).tolist() == [0.0, 2.0, 4.0]


def test_nothing_keeps_a_result_alive():
    """Neither the description nor the library array refers back to the Array."""
    x = three() * 2
    x.shape  # noqa: B018
    gone = weakref.ref(x)
    del x

    assert gone() is None


def test_attributes_that_do_not_exist_do_not():
    """The error names class and attribute, as Python's own."""
    with pytest.raises(AttributeError, match="'Array' object has no attribute 'nonesuch'"):
        _ = three().nonesuch


# ---------------------------------------------------------------- operands


@pytest.mark.parametrize("other", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize(
    "compute",
    [
        lambda x, y: x + y,
        lambda x, y: y + x,
        lambda x, y: x == y,
        lambda x, y: y == x,
        lambda x, y: x @ y,
        lambda x, y: x.__iadd__(y),
        xp.add,
        lambda x, y: xp.add(y, x),
        lambda _, y: xp.sin(y),
        lambda _, y: xp.sum(y),
        lambda x, y: xp.concat([x, y]),
        lambda _, y: xp.astype(y, xp.float32),
        lambda _, y: xp.zeros_like(y),
        lambda x, y: xp.clip(x, y, None),
        lambda _, y: xp.diff(y),
        lambda _, y: xp.linalg.pinv(y),
    ],
)
def test_arrays_of_others_are_refused(compute, other):
    """A foreign operand is refused with the import call, since its ordering is unknown."""
    with pytest.raises(TypeError):
        compute(three(), other)


@pytest.mark.parametrize("other", sorted({*FOREIGN} - {"ndarray"}))
def test_arrays_of_others_are_no_values_of_an_assignment(other):
    """An ndarray is: it is host memory, of which the elements are copied at once."""
    with pytest.raises(TypeError):
        three()[:] = FOREIGN[other]


@pytest.mark.parametrize("other", ["a", None, object(), [1]])
def test_what_is_no_array_at_all_is_left_to_python(other):
    """Equality is False then, and arithmetic a TypeError."""
    x = three()

    assert (x == other) is False
    with pytest.raises(TypeError):
        x + other


@pytest.mark.parametrize(
    ("scalar", "dtype"),
    [(2, "float32"), (2.0, "float32"), (True, "float32"), (np.float64(2), "float32")],
)
def test_python_numbers_take_the_type_of_the_array(scalar, dtype):
    """NumPy's scalars that are Python's numbers, too."""
    x = xp.asarray([1.0], dtype=xp.float32)

    assert str((x * scalar).dtype) == dtype
    assert str((scalar * x).dtype) == dtype


def test_other_scalars_of_numpy_promote_as_in_numpy():
    """NumPy scalars have an element type, which takes part in the promotion."""
    x = xp.asarray([1], dtype=xp.int32)

    assert (x + np.int64(2)).dtype is xp.int64


# ---------------------------------------------------------------- writes


WRITES = [
    lambda x: x.__setitem__(0, 1.0),
    lambda x: x.__setitem__(x > 1, 1.0),
    lambda x: x.__iadd__(1.0),
    lambda x: x.__imatmul__(xp.ones((3, 3))),
]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("seen", [False, True], ids=["fresh", "computed-with"])
def test_read_only_memory_is_not_written(write, seen):
    """Read-only memory is not written, with either representation of the Array."""
    x = three(readonly=True)
    if seen:
        x + 1

    with pytest.raises(ix.ReadOnlyError, match="read-only") as caught:
        write(x)
    assert isinstance(caught.value, ValueError)
    assert x.tolist() == [0.0, 1.0, 2.0]


def test_views_of_read_only_memory_are_read_only():
    """Views of read-only memory are read-only, also those created by the library."""
    x = three(readonly=True)
    x + 1

    with pytest.raises(ix.ReadOnlyError):
        x[1:][0] = 5.0


def test_memory_of_unknown_writability_is_not_written():
    """Memory of a legacy capsule is writable only if the caller says so."""
    memory = np.arange(3.0)
    x = ix.from_dlpack(memory.__dlpack__())

    with pytest.raises(ix.ReadOnlyError, match="not known to be writable"):
        x[0] = 1.0


def test_a_spread_array_is_not_written():
    """A broadcast array is not written, since its elements share memory."""
    with pytest.raises(ix.ReadOnlyError):
        xp.broadcast_to(three(), (2, 3))[0, 0] = 1.0


def test_in_place_keeps_the_element_type():
    """An in-place operator whose result has another element type is refused; nothing is written."""
    x = xp.asarray([1, 2], dtype=xp.int8)

    with pytest.raises(ix.ArgumentError, match="IX-XP-4"):
        x += xp.asarray([1, 2], dtype=xp.int16)
    assert x.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int8", 1.5),
        ("int64", xp.asarray(1.5)),
        ("float64", 1j),
        ("float32", xp.asarray(1j)),
        ("bool", 300),
        ("bool", xp.asarray(1)),
    ],
)
@pytest.mark.parametrize("key", [0, slice(None), xp.asarray([True, False])])
def test_an_assignment_cuts_nothing_off(dtype, value, key):
    """A value that the element type cannot represent is refused, and nothing is written."""
    x = xp.zeros(2, dtype=dtype)

    with pytest.raises(ix.ArgumentError, match="IX-XP-4"):
        x[key] = value
    assert x.tolist() == xp.zeros(2, dtype=dtype).tolist()


@pytest.mark.parametrize("join", [xp.concat, xp.stack])
def test_arrays_of_an_iterator_are_all_joined(join):
    """All arrays of an iterator are joined; none is consumed by looking for the first one."""
    x = three()

    assert join(iter([x, x])).tolist() == join([x, x]).tolist()


def test_a_refusal_speaks_of_nothing_private():
    """Neither the message nor the cause mentions internals."""
    x = ix.from_pointer(0, (0,), "float32", device="vulkan")

    with pytest.raises(ix.BackendUnavailableError) as caught:
        x + 1
    assert caught.value.__context__ is None


def test_numbers_alone_have_no_result_type():
    """An invalid dtype is a ValueError, by which SciPy falls back to the default type."""
    with pytest.raises(ValueError, match=r"^xp\.result_type\(\).*\[IX-XP-7\]$"):
        xp.result_type(1, 1.0)


def test_take_needs_an_axis_where_there_are_several():
    """The standard leaves it out for one axis alone."""
    with pytest.raises(ix.ViewError, match="pass `axis=0`"):
        xp.take(xp.ones((2, 2)), xp.asarray([0]))


# ---------------------------------------------------------------- indices


@pytest.mark.parametrize("computed", [False, True], ids=["described", "computed"])
@pytest.mark.parametrize(
    "key", [0, -1, slice(1, None), slice(None, None, -2), None, ..., (..., 0), (None, 1), ()]
)
def test_a_basic_index_gives_a_view(key, computed):
    """A basic index gives a view, also for one element, with either representation."""
    memory = np.arange(3.0)
    x = ix.from_dlpack(memory)
    if computed:
        x + 1
    x[key][...] = 9.0
    expected = np.arange(3.0)
    expected[key] = 9.0

    assert memory.tolist() == expected.tolist()


def test_an_index_by_arrays_gives_a_copy():
    """An index of arrays gives a copy, for integers and masks."""
    x = three()
    for key in (xp.asarray([0, 1]), x >= 0):
        x[key][...] = 9.0

    assert x.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("computed", [False, True], ids=["described", "computed"])
@pytest.mark.parametrize("key", [3, -4, (0, 0), [3], 1.0, "a", (..., ...)])
def test_an_index_that_is_none_is_refused_alike(key, computed):
    """An invalid index has the same error with either representation of the Array."""
    x = three()
    if computed:
        x + 1

    with pytest.raises(ix.OutOfBoundsError, match="IX-INDEX-1"):
        x[key]


def test_bytes_are_imported_first():
    """The fix names the argument."""
    with pytest.raises(ix.ArgumentError, match=r"first `x = interchange\.asarray\(x\)`"):
        xp.mean(b"abc")


def test_an_array_of_others_is_no_index():
    """An index array of another library is refused; ndarrays are used directly."""
    with pytest.raises(ix.ArgumentError, match=r"= interchange\.asarray\(\w+\)`"):
        three()[FOREIGN["strict"]]


def test_elements_are_looked_for_by_value():
    """`in` compares values, as in Python's sequences."""
    assert 2.0 in three()
    assert 7.0 not in three()


def test_a_view_is_the_same_before_and_after_a_computation():
    """A view has the same address, owner and writability before and after a computation."""
    block = np.arange(4.0)
    pinned = ix.from_pointer(
        block.__array_interface__["data"][0], (4,), "float64", device="cuda_host", owner=block
    )
    for x in (pinned, ix.from_dlpack(block.__dlpack__())):
        before = x[1:]
        x + 1
        after = x[1:]

        assert (after.device, after.readonly, after.ptr) == (
            before.device,
            before.readonly,
            before.ptr,
        )


def test_page_locked_memory_meets_that_of_the_host():
    """The host computes with both, in either order."""
    block = np.arange(4.0)
    pinned = ix.from_pointer(
        block.__array_interface__["data"][0], (4,), "float64", device="cuda_host", owner=block
    )
    x = xp.ones(4)

    assert (pinned + x).tolist() == (x + pinned).tolist() == [1.0, 2.0, 3.0, 4.0]


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    "create",
    [lambda: xp.full(3, 1 << 70), lambda: xp.arange(2**70, 2**70 + 3), lambda: xp.asarray(2**70)],
)
def test_numbers_that_no_element_holds_are_refused(create):
    """Values out of range are refused at once, in the name of the called function."""
    with pytest.raises((ValueError, TypeError), match="IX-XP-7"):
        create()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: xp.squeeze(x, axis=7),
        lambda x: xp.concat([x, x], axis=7),
        lambda x: xp.stack([x, x], axis=7),
        lambda x: xp.broadcast_arrays(x, xp.zeros(2)),
    ],
)
def test_an_error_of_the_library_is_not_its_own_cause(call):
    """An error without a clearer text is raised as it is: a cycle would keep the operands alive."""
    with pytest.raises((ValueError, IndexError)) as caught:
        call(xp.zeros(3))

    assert caught.value.__cause__ is not caught.value


def test_a_capsule_is_taken_once():
    """A capsule is consumed once, also if a copy of elements of the right type is requested."""
    capsule = np.arange(3.0).__dlpack__()

    assert xp.asarray(capsule, dtype=xp.float64, copy=True).tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("version", [None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"])
def test_the_namespace_is_found_by_its_arrays(version):
    """The namespace is returned for every supported version."""
    assert three().__array_namespace__(api_version=version) is xp


@pytest.mark.parametrize("version", ["2020.12", "2026.12", 2025, ""])
def test_other_versions_are_refused(version):
    """Other versions are a ValueError, as in other libraries."""
    with pytest.raises(ValueError, match="IX-XP-6"):
        three().__array_namespace__(api_version=version)


# ---------------------------------------------------------------- odd elements


@pytest.mark.parametrize(
    "name", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz"]
)
def test_element_types_beyond_the_standard_are_held_and_cast(name):
    """Further element types are cast in both directions through ml_dtypes."""
    dtype = ix.DType.of(name)
    x = xp.astype(xp.asarray([0.5, -2.0, 4.0]), dtype)

    assert x.dtype is dtype
    assert ix.from_dlpack(x).dtype is dtype
    assert xp.astype(x, xp.float64).tolist() == [0.5, -2.0, 4.0]
    assert x.copy().dtype is dtype


def test_arrays_of_ml_dtypes_come_in_and_go_out():
    """Memory is shared in both directions."""
    memory = np.asarray([1.0, 2.0], dtype=ml_dtypes.bfloat16)
    x = xp.asarray(memory)
    x[0] = 5.0

    assert memory.tolist() == [5.0, 2.0]
    assert np.shares_memory(np.asarray(x), memory)


def test_memory_of_the_host_is_indexed_by_arrays_of_the_host():
    """Page-locked or not: one library computes with both."""
    block = np.arange(4.0)
    pinned = ix.from_pointer(
        block.__array_interface__["data"][0], (4,), "float64", device="cuda_host", owner=block
    )

    assert pinned[xp.asarray([3, 1])].tolist() == [3.0, 1.0]
    assert pinned[xp.asarray(2)].item() == 2.0
    assert backend_of_array(pinned) is backend_of_array(xp.ones(1))
