"""PyTorch and JAX compute on the host, as they would on a device."""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange import xp
from interchange._array.native_arrays import native_of

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("default")]


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_another_library_computes_on_the_host_if_told_to(computing_with, library):
    """Another library computes on the host over the same memory."""
    memory = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    computing_with(library)
    x = ix.from_dlpack(memory)

    assert type(native_of(x)).__module__.split(".")[0].startswith(library)
    assert (x * 2 + 1).tolist() == (memory * 2 + 1).tolist()
    assert xp.sum(x, axis=0).tolist() == memory.sum(axis=0).tolist()


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_layouts_that_a_library_does_not_know_are_computed_with(computing_with, library):
    """Layouts that a library lacks are copied for a computation."""
    computing_with(library)
    x = ix.from_dlpack(np.arange(3.0, dtype=np.float32))[::-1]

    assert (x + 1).tolist() == [3.0, 2.0, 1.0]


def test_layouts_that_a_library_does_not_know_are_not_written(computing_with):
    """Writing is refused, since a write to the copy would not reach the memory."""
    computing_with("torch")
    memory = np.arange(3.0)

    with pytest.raises(ix.CopyNeededError, match="DLP-COPY-1"):
        ix.from_dlpack(memory)[::-1][0] = 9.0


def test_arrays_that_are_never_written_say_so(computing_with):
    """Arrays of immutable libraries are read-only, and ``+=`` creates a new one."""
    computing_with("jax")
    x = before = xp.asarray([1.0, 2.0])
    x += 1

    assert (x.tolist(), before.tolist()) == ([2.0, 3.0], [1.0, 2.0])
    with pytest.raises(ix.ArgumentError, match="IX-XP-5"):
        x[0] = 1.0


def test_wide_elements_are_not_silently_narrowed(computing_with):
    """float64 is refused where JAX would silently compute with float32."""
    computing_with("jax")

    with pytest.raises(ix.UnsupportedDTypeError, match="jax_enable_x64"):
        xp.sin(ix.from_dlpack(np.arange(3.0)))


def test_what_a_library_puts_off_is_done(computing_with):
    """PyTorch conjugates lazily, and cannot export the array before it is resolved."""
    computing_with("torch")
    x = xp.conj(xp.asarray([1 + 2j]))

    assert np.asarray(x).tolist() == [1 - 2j]
    assert np.asarray(xp.imag(x)).tolist() == [-2.0]


@pytest.mark.parametrize("name", ["reshape", "permute_dims", "real"])
def test_what_shares_read_only_memory_is_read_only(computing_with, name):
    """Results that share read-only memory are read-only, even if the library cannot record it."""
    computing_with("torch")
    memory = np.arange(3)
    memory.flags.writeable = False
    arguments = {"reshape": ((3,),), "permute_dims": ((0,),)}.get(name, ())
    x = getattr(xp, name)(ix.from_dlpack(memory), *arguments)

    with pytest.raises(ix.ReadOnlyError):
        x[0] = 5


def test_arrays_of_two_libraries_on_one_device_meet(computing_with):
    """Memory is shared with the library that computes."""
    x = xp.asarray([1.0, 2.0])
    x + 1
    computing_with("torch")
    y = xp.asarray([3.0, 4.0], dtype=xp.float64)

    assert (y + x).tolist() == [4.0, 6.0]
    assert (x + y).tolist() == [4.0, 6.0]


def test_an_element_type_that_a_library_lacks_is_refused(computing_with):
    """float64 is refused if JAX lacks it, since JAX would use a narrower type with a warning."""
    computing_with("jax")

    with pytest.raises(ix.UnsupportedDTypeError, match="jax has no float64"):
        xp.zeros(3, dtype=xp.float64)


def test_types_that_torch_only_exchanges_are_not_listed(computing_with):
    """Types that torch can exchange but not add are not listed."""
    computing_with("torch")

    assert "uint16" not in xp.__array_namespace_info__().dtypes()


@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
def test_integers_are_indices_with_every_backend(computing_with, library, dtype):
    """PyTorch reads its uint8 as a mask, and would select other elements."""
    computing_with(library)
    x = xp.asarray([10.0, 20.0, 30.0], dtype=xp.float32)
    key = np.array([1, 0, 1], dtype)

    assert x[key].tolist() == [20.0, 10.0, 20.0]
    assert x[ix.asarray(key)].tolist() == [20.0, 10.0, 20.0]
    assert x[[1, 0, 1]].tolist() == [20.0, 10.0, 20.0]


def test_integers_are_indices_in_assignments_with_torch(computing_with):
    """Each position is written once; PyTorch would read uint8 as a mask."""
    computing_with("torch")
    x = xp.zeros(3)
    x[xp.asarray([1, 0, 1], dtype=xp.uint8)] = 5.0
    x[[2]] = 7.0

    assert x.tolist() == [5.0, 5.0, 7.0]


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("key", [[0, 3], np.array([-4]), [True] * 4, ([0], [0])], ids=repr)
def test_an_index_out_of_bounds_is_refused_with_every_backend(computing_with, library, key):
    """An index out of bounds is refused; JAX would use the last element."""
    computing_with(library)

    with pytest.raises(ix.OutOfBoundsError, match="IX-INDEX-1"):
        xp.asarray([1.0, 2.0, 3.0], dtype=xp.float32)[key]
