"""Names of element types: NumPy's short codes, ambiguous names, and names of libraries."""

from __future__ import annotations

import numpy as np
import pytest

from interchange import DType, UnsupportedDTypeError
from interchange._types.dtype_words import NUMPY_CODES, READINGS


@pytest.mark.parametrize("word", NUMPY_CODES)
def test_a_short_code_is_what_numpy_takes_it_for(word):
    """A kind and a number of bytes: ``f4`` is float32, ``u1`` is uint8."""
    assert DType.of(word) is DType.of(np.dtype(word))


@pytest.mark.parametrize("word", READINGS)
def test_a_word_with_two_readings_is_refused_with_both(word):
    """An ambiguous name is refused; the fix gives an unambiguous name for each meaning."""
    with pytest.raises(UnsupportedDTypeError) as caught:
        DType.of(word)

    names = [reading.partition(",")[0] for reading in READINGS[word]]
    assert caught.value.rule == "DLP-DTYPE-1"
    assert all(reading in caught.value.what for reading in READINGS[word])
    assert caught.value.hint == f"pass `'{names[0]}'` or `'{names[1]}'`"
    assert len({DType.of(name) for name in names}) == 2


@pytest.mark.parametrize(
    "name", ["float32", "float16", "bfloat16", "complex64", "bool", "uint8", "float8_e4m3fn"]
)
def test_a_dtype_of_torch_names_its_type(need, name):
    """A dtype of torch is accepted by its printed name."""
    need("torch")
    import torch

    assert DType.of(getattr(torch, name)).name == name


def test_torchs_pair_of_four_bit_floats_has_two_lanes(need):
    """torch's float4_e2m1fn_x2 is a type of two lanes."""
    need("torch")
    import torch

    assert DType.of(torch.float4_e2m1fn_x2) is DType(17, 4, 2)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "bool_", "complex64", "uint8"])
def test_a_dtype_of_jax_names_its_type(need, name):
    """JAX's scalar types, and their dtypes, are accepted."""
    need("jax")
    import jax.numpy as jnp

    scalar = getattr(jnp, name)

    assert DType.of(scalar).name == name.rstrip("_")
    assert DType.of(jnp.dtype(scalar)) is DType.of(scalar)


@pytest.mark.parametrize("name", ["float32", "bool_"])
def test_numpys_older_name_of_bool_is_known(name):
    """A scalar type of a library calls itself by either."""
    kind = type(name, (), {"__module__": "somewhere"})

    assert DType.of(kind).name == name.rstrip("_")
