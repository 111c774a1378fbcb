"""Real libraries in both directions: same memory, elements and type, or a refusal with a rule."""

from __future__ import annotations

import contextlib

import ml_dtypes
import numpy as np
import pytest

import interchange as ix
from interchange.abi import RULES

pytestmark = pytest.mark.interop

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
PLAIN = ("bool", *INTEGERS, "float16", *FLOATS, *COMPLEX)
FLOAT8_TORCH = (
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
)
FLOAT8 = ("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", *FLOAT8_TORCH)
BELOW_8 = ("int2", "int4", "uint2", "uint4", "float4_e2m1fn")
ALL = (*PLAIN, "bfloat16", *FLOAT8, *BELOW_8)

SHARES = {  # library -> element types that it shares
    "array_api_strict": tuple(name for name in PLAIN if name != "float16"),
    "cuda.core": (*PLAIN, "bfloat16"),
    "interchange": ALL,
    "jax": (*PLAIN, "bfloat16", *FLOAT8),
    "memoryview": PLAIN,
    "numpy": ALL,
    "pyarrow": (*INTEGERS, "float16", *FLOATS),
    "pyarrow.Array": (*INTEGERS, "float16", *FLOATS),
    "torch": (*PLAIN, "bfloat16", *FLOAT8_TORCH),
    "tvm_ffi": ("bool", *INTEGERS, "float16", *FLOATS, "bfloat16", *FLOAT8),
    "warp": ("bool", *INTEGERS, "float16", *FLOATS, "bfloat16"),
}
ONE_WAY = {("cuda.core", "bfloat16")}  # it imports these, and exports to no library
MODULES = {"cuda.core": "cuda.core", "memoryview": "numpy", "pyarrow.Array": "pyarrow"}

every_library = pytest.mark.parametrize("library", SHARES)


@pytest.fixture
def ready(need):
    """Skip where a library is missing; let JAX have 64 bits for the time of a test."""
    with contextlib.ExitStack() as stack:

        def make_ready(library):
            need(MODULES.get(library, library))
            if library == "jax":
                import jax

                stack.enter_context(jax.enable_x64(True))  # noqa: FBT003 - its signature

        yield make_ready


def numbers(name, count=24):
    """Return an Array of small numbers, in memory that every library can share."""
    dtype = np.dtype(getattr(ml_dtypes, name) if hasattr(ml_dtypes, name) else name)
    return ix.asarray((np.arange(count) % 2).astype(dtype)).copy()


def raw(array):
    """Return the elements as bytes, in C order."""
    return np.asarray(array.copy()).tobytes()


# ---------------------------------------------------------------- element types


def test_every_target_is_in_the_table():
    """Every target is in the table, except MLX, which shares nothing, and device-only libraries."""
    assert {*SHARES, "mlx", "cupy", "numba"} == set(ix.TARGETS)


@pytest.mark.parametrize(
    ("library", "name"), [(library, name) for library in SHARES for name in SHARES[library]]
)
def test_elements_go_and_come_back(ready, library, name):
    """Address, type, shape and bytes are kept in both directions."""
    ready(library)
    array = numbers(name)

    there = ix.convert(array, library)

    if (library, name) in ONE_WAY:
        assert there.ptr == array.ptr
        return
    back = ix.asarray(there)
    assert (back.ptr, back.dtype, back.shape) == (array.ptr, array.dtype, array.shape)
    assert raw(back) == raw(array)


@pytest.mark.parametrize(
    ("library", "name"),
    [(library, name) for library in SHARES for name in ALL if name not in SHARES[library]],
)
def test_elements_that_a_library_does_not_know_are_refused(ready, library, name):
    """Unknown element types are refused by a rule, without a crash."""
    ready(library)

    with pytest.raises(ix.ExchangeError) as caught:
        ix.convert(numbers(name), library)

    assert caught.value.rule in RULES
    assert name in str(caught.value)


@pytest.mark.parametrize("name", ["int64", "uint64", "float64", "complex128"])
def test_jax_of_32_bits_is_not_given_64(need, name):
    """A 64-bit type is refused for JAX, which would cast it silently by default."""
    need("jax")
    import jax

    narrow = jax.enable_x64(False)  # noqa: FBT003 - its signature
    with narrow, pytest.raises(ix.ExchangeError) as caught:
        ix.convert(numbers(name), "jax")

    assert caught.value.rule == "IX-CONVERT-2"
    assert name in caught.value.what


# ---------------------------------------------------------------- layouts

LAYOUTS = {
    "c": lambda a: a.reshape((4, 6)),
    "f": lambda a: a.reshape((4, 6)).T,
    "permuted": lambda a: a.reshape((2, 3, 4)).permute_dims((2, 0, 1)),
    "one-axis": lambda a: a,
    "scalar": lambda a: a[0],
    "one-element": lambda a: a[:1],
    "empty": lambda a: a[:0],
    "empty-2d": lambda a: a[:0].reshape((0, 3)),
    "gaps": lambda a: a.reshape((4, 6))[:, ::2],
    "gaps-one-axis": lambda a: a[::2],
    "offset": lambda a: a[16:],
    "odd-offset": lambda a: a[1:],
    "negative": lambda a: a[::-1],
    "negative-2d": lambda a: a.reshape((4, 6))[:, ::-1],
    "repeated": lambda a: ix.from_pointer(a.ptr, (3, 6), "float32", strides=(0, 1), owner=a),
}
NEGATIVE = {"negative", "negative-2d"}
STRIDED = {"gaps", "gaps-one-axis", "repeated", *NEGATIVE}
MATRICES = {"c", "f", "permuted", "empty-2d"}
REFUSES = {  # library -> layouts that it cannot describe, or would copy
    "jax": {*STRIDED, "odd-offset"},
    "pyarrow": NEGATIVE,
    "pyarrow.Array": {*MATRICES, *STRIDED, "scalar"},
    "torch": NEGATIVE,
    "warp": {"scalar"},
}


@pytest.mark.parametrize(
    ("library", "layout"),
    [(one, name) for one in SHARES for name in LAYOUTS if name not in REFUSES.get(one, ())],
)
def test_layouts_go_and_come_back(ready, library, layout):
    """Address, shape, significant strides and elements are kept in both directions."""
    ready(library)
    array = LAYOUTS[layout](numbers("float32"))

    back = ix.asarray(ix.convert(array, library))

    assert (back.ptr, back.shape) == (array.ptr, array.shape)
    assert raw(back) == raw(array)


@pytest.mark.parametrize(
    ("library", "layout"),
    [(one, name) for one, names in REFUSES.items() for name in sorted(names) if one != "torch"],
)
def test_layouts_that_a_library_cannot_take_are_refused(ready, library, layout):
    """Unsupported layouts are refused by a rule, and not copied silently."""
    ready(library)
    array = LAYOUTS[layout](numbers("float32"))

    with pytest.raises(ix.ExchangeError) as caught:
        ix.convert(array, library)

    assert caught.value.rule in {"IX-CONVERT-2", "IX-CONVERT-3"}
    assert library in caught.value.what


@pytest.mark.parametrize(
    ("library", "layout"),
    [
        (library, layout)
        for library in ("jax", "pyarrow", "torch", "warp")
        for layout in LAYOUTS
        if (library, layout) != ("warp", "scalar")  # Warp has no arrays without axes
    ],
)
def test_a_dense_copy_is_taken_instead(ready, library, layout):
    """copy=True accepts every layout by copying to a dense one."""
    ready(library)
    array = LAYOUTS[layout](numbers("float32"))

    back = ix.asarray(ix.convert(array, library, copy=True))

    assert raw(back) == raw(array)
    assert array.size == 0 or back.ptr != array.ptr


@pytest.mark.isolated
@pytest.mark.parametrize("layout", ["x[::-1]", "x.reshape((2, 3))[:, ::-1]", "x[None, ::-1]"])
def test_torch_is_not_given_negative_strides(need, run_isolated, layout):
    """Negative strides are refused before torch is called, since torch 2.13 crashes."""
    need("torch")
    script = f"""
import interchange as ix, numpy as np
x = ix.asarray(np.arange(6, dtype="f4"))
try:
    ix.convert({layout}, "torch")
except ix.ExchangeError as error:
    print(error.rule)
"""

    assert run_isolated(script, warnings="default").strip() == "IX-CONVERT-2"


# ---------------------------------------------------------------- their arrays come in


def _torch(name):
    import torch

    return torch.arange(6, dtype=torch.uint8).to(getattr(torch, name)).reshape(2, 3)


def _jax(name):
    import jax.numpy as jnp

    return jnp.arange(6).astype(getattr(jnp, name)).reshape(2, 3)


def _strict(name):
    import array_api_strict as xp

    return xp.reshape(xp.astype(xp.arange(6), getattr(xp, name)), (2, 3))


MAKERS = {"torch": _torch, "jax": _jax, "array_api_strict": _strict}
ADDRESS = {
    "torch": lambda x: x.data_ptr(),
    "jax": lambda x: x.unsafe_buffer_pointer(),
    "array_api_strict": lambda x: np.asarray(x).__array_interface__["data"][0],
}


@pytest.mark.parametrize(
    ("library", "name"), [(library, name) for library in MAKERS for name in SHARES[library]]
)
def test_native_arrays_come_in(ready, library, name):
    """Arrays created by a library are shared, with its values."""
    ready(library)
    native = MAKERS[library](name)

    found = ix.asarray(native)

    values = [0, 1, 1, 1, 1, 1] if name == "bool" else [0, 1, 2, 3, 4, 5]
    if name == "float8_e8m0fnu":  # powers of two only
        assert found.tolist()[0][1:] == [1.0, 2.0]
    elif name != "float8_e3m4" or library != "torch":
        assert np.ravel(found.tolist()).tolist() == values
    assert (found.shape, found.dtype.name) == ((2, 3), name)
    assert found.ptr == ADDRESS[library](native)
    assert found.readonly is (library == "jax")


@pytest.mark.parametrize("library", MAKERS)
def test_their_dtypes_name_types(ready, library):
    """`DType.of` accepts the dtype objects of a library."""
    ready(library)

    for name in SHARES[library]:
        assert ix.DType.of(MAKERS[library](name).dtype).name == name


def test_scalar_types_of_jax_name_types(ready):
    """jax.numpy.float32, which is no dtype, is accepted by `DType.of`."""
    ready("jax")
    import jax.numpy as jnp

    for name in SHARES["jax"]:
        assert ix.DType.of(getattr(jnp, name)).name == name


def test_a_torch_tensor_that_needs_a_gradient_is_refused(need):
    """The error names the call that detaches it, and torch's own is its cause."""
    need("torch")
    import torch

    with pytest.raises(ix.ExchangeError, match=r"`x\.detach\(\)` \[IX-GRAD-1\]") as caught:
        ix.asarray(torch.zeros(3, requires_grad=True))

    assert "require gradient" in str(caught.value.__cause__)


@pytest.mark.parametrize("bit", ["conj", "_neg_view"])
def test_a_torch_tensor_with_a_lazy_bit_is_refused(need, bit):
    """A lazy tensor is refused, since its memory does not hold its values."""
    need("torch")
    import torch

    lazy = getattr(torch, bit)(torch.arange(3) * (1 + 1j))

    with pytest.raises(BufferError):
        ix.asarray(lazy)


def test_writes_are_seen_on_both_sides(need):
    """torch and NumPy over one block."""
    need("torch")
    array = numbers("float32")
    tensor = ix.convert(array, "torch")

    tensor[0] = 41.0
    np.asarray(array)[1] = 42.0

    assert tensor[:2].tolist() == [41.0, 42.0]


def test_a_pyarrow_array_comes_in_read_only(need):
    """Arrow's arrays are immutable, and their capsules are of before 1.0."""
    need("pyarrow")
    import pyarrow as pa

    found = ix.asarray(pa.array([1, 2, 3], pa.int32()))

    assert (found.tolist(), found.readonly) == ([1, 2, 3], True)


@pytest.mark.parametrize("values", [[1, None, 3], ["a"], [True, False]], ids=repr)
def test_a_pyarrow_array_that_is_no_block_is_refused(need, values):
    """Nulls, text and packed bits have no counterpart."""
    need("pyarrow")
    import pyarrow as pa

    with pytest.raises((TypeError, BufferError)):
        ix.asarray(pa.array(values))
