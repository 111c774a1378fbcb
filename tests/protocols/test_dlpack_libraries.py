"""Other libraries: exchange tables, lost information, immutable arrays."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import interchange as ix
from interchange._protocols.capabilities import capabilities_of

pytestmark = pytest.mark.interop


@pytest.fixture
def torch(need):
    """Return torch."""
    need("torch")
    return pytest.importorskip("torch")


@pytest.fixture
def jnp(need):
    """Return ``jax.numpy``."""
    need("jax")
    return pytest.importorskip("jax.numpy")


@pytest.fixture
def view(need):
    """Return what makes a StridedMemoryView of an ndarray."""
    need("cuda.core")
    cls = pytest.importorskip("cuda.core.utils").StridedMemoryView
    return lambda array: cls.from_any_interface(array, stream_ptr=-1)


@pytest.fixture
def spied(torch, monkeypatch):
    """Return the keywords of every call of ``Tensor.__dlpack__``."""
    calls, honest = [], torch.Tensor.__dlpack__

    def spy(self, **keywords):
        calls.append(keywords)
        return honest(self, **keywords)

    monkeypatch.setattr(torch.Tensor, "__dlpack__", spy)
    return calls


def test_a_tensor_goes_through_its_table(torch, spied):
    """A plain host tensor is imported by the C exchange functions, without calling Python."""
    tensor = torch.arange(6.0).reshape(2, 3)
    array = ix.from_dlpack(tensor)

    assert (spied, array.ptr, array.shape, array.readonly) == ([], tensor.data_ptr(), (2, 3), False)


@pytest.mark.parametrize("keywords", [{"device": "cpu"}, {"copy": False}, {"copy": True}])
def test_a_tensor_is_asked_where_the_table_has_no_words(torch, spied, keywords):
    """With ``copy`` or ``dl_device`` Python is called, since the exchange functions lack both."""
    ix.from_dlpack(torch.ones(3), **keywords)

    assert [set(call) - {"max_version"} for call in spied] == [set(keywords) - {"device"}]


def test_a_tensor_with_a_gradient_is_refused(torch):
    """A tensor with a gradient is refused by torch's method; the table would drop it (P51)."""
    with pytest.raises(BufferError, match="gradient"):
        ix.from_dlpack(torch.ones(3, requires_grad=True))


def test_a_parameter_is_refused(torch):
    """A subclass of torch's own, which inherits the table."""
    with pytest.raises(BufferError, match="gradient"):
        ix.from_dlpack(torch.nn.Parameter(torch.ones(3)))


def test_a_conjugated_tensor_is_refused(torch):
    """A conjugated tensor is refused, since a capsule cannot represent the bit (P51)."""
    with pytest.raises(BufferError):
        ix.from_dlpack(torch.ones(3, dtype=torch.complex64).conj())


def test_a_negated_tensor_is_refused(torch):
    """A negated tensor is refused: capsules lack the negative bit, and torch does not report it."""
    negated = torch.ones(3, dtype=torch.complex64).conj().imag

    with pytest.raises(ix.ExchangeError):
        ix.from_dlpack(negated)

    assert negated.is_neg()


def test_a_subclass_is_asked_itself(torch):
    """The table hangs on the exact type; subclasses that inherit it may behave otherwise."""
    calls = []

    class Mine(torch.Tensor):
        def __dlpack__(self, **keywords):
            calls.append(keywords)
            return torch.Tensor.__dlpack__(self.as_subclass(torch.Tensor), **keywords)

    array = ix.from_dlpack(torch.ones(3).as_subclass(Mine))

    assert (len(calls), array.shape) == (1, (3,))


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "complex32", "bool", "int8"])
def test_element_types_go_through_the_table(torch, dtype):
    """Element types that NumPy lacks are imported through the table too."""
    array = ix.from_dlpack(torch.zeros(3, dtype=getattr(torch, dtype)))

    assert str(array.dtype) == dtype


def test_an_empty_tensor_goes_through_the_table(torch):
    """The address of an empty tensor is ignored."""
    array = ix.from_dlpack(torch.ones(0, 3))

    assert (array.ptr, array.shape, array.strides) == (0, (0, 3), (3, 1))


def test_torch_keeps_our_memory_alive(torch):
    """A tensor over an Array keeps the Array's owner alive, and releases it."""
    owner = np.zeros(6, np.float32)
    reference = weakref.ref(owner)
    tensor = torch.from_dlpack(ix.from_dlpack(owner))
    address = owner.ctypes.data
    del owner
    gc.collect()
    during = (reference() is None, tensor.data_ptr() == address)
    del tensor
    gc.collect()

    assert (during, reference() is None) == ((False, True), True)


def test_a_view_goes_through_its_table(view):
    """cuda.core's view has a table as torch's tensor has."""
    array = np.ones((2, 3), np.float32)
    found = ix.from_dlpack(view(array))

    assert (capabilities_of(view(array)).table is None, found.ptr) == (False, array.ctypes.data)


def test_a_read_only_view_stays_read_only(view):
    """The table's struct has flags."""
    array = np.ones((2, 3), np.float32)
    array.flags.writeable = False

    assert ix.from_dlpack(view(array)).readonly is True


def test_jax_arrays_are_read_only(jnp):
    """JAX arrays are immutable, which their capsules do not record (P59)."""
    assert ix.from_dlpack(jnp.ones(3)).readonly is True


def test_jax_arrays_cannot_be_promised(jnp):
    """A caller cannot declare JAX arrays writable."""
    with pytest.raises(ix.ReadOnlyError):
        ix.from_dlpack(jnp.ones(3), assume_writable=True)


def test_a_copy_of_a_jax_array_is_writable(jnp):
    """A copy of a JAX array is writable, since it belongs to the caller alone."""
    source = jnp.arange(3.0)
    array = ix.from_dlpack(source, copy=True)
    np.from_dlpack(array)[:] = 9

    assert (array.readonly, source.tolist()) == (False, [0.0, 1.0, 2.0])


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "bool", "complex64"])
def test_jax_element_types_arrive(jnp, dtype):
    """Element types that NumPy lacks are imported from JAX too."""
    assert str(ix.from_dlpack(jnp.zeros(3, getattr(jnp, dtype))).dtype) == dtype


def test_pyarrow_memory_is_read_only(need):
    """pyarrow's buffers are immutable, as its capsules record."""
    need("pyarrow")
    pa = pytest.importorskip("pyarrow")

    assert ix.from_dlpack(pa.array([1.0, 2.0])).readonly is True


def test_pyarrow_with_nulls_is_refused(need):
    """Nulls are refused: the error has their number, the rule and the fix."""
    need("pyarrow")
    pa = pytest.importorskip("pyarrow")

    told = r"1 of the elements are null.*pass `interchange.asarray\(x, copy=True\)`"
    with pytest.raises(ix.ExchangeError, match=told) as caught:
        ix.from_dlpack(pa.array([1.0, None]))

    assert caught.value.rule == "AI-MASK-1"
    assert isinstance(caught.value.__cause__, pa.lib.ArrowTypeError)


@pytest.mark.parametrize("name", ["tvm_ffi", "array_api_strict"])
def test_a_round_trip_shares(need, name):
    """Out to the library and back, the memory is the same."""
    need(name)
    library = pytest.importorskip(name)
    array = ix.from_dlpack(np.arange(6, dtype=np.float32).reshape(2, 3))
    back = ix.from_dlpack(library.from_dlpack(array))

    assert (back.ptr, back.shape, back.tolist()) == (array.ptr, (2, 3), array.tolist())
