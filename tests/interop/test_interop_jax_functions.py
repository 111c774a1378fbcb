"""Functions and transformations of JAX take Arrays, as they take ndarrays."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import interchange as ix
from interchange import xp

pytestmark = pytest.mark.interop


@pytest.fixture
def jax(need):
    """Return JAX."""
    need("jax")
    return importlib.import_module("jax")


@pytest.fixture
def x():
    """Return a writable Array, aligned for JAX."""
    return ix.asarray(np.arange(4, dtype="f4")).copy()


CALLS = {
    "jit": lambda jax, x: jax.jit(lambda a: a * 2)(x),
    "vmap": lambda jax, x: jax.vmap(lambda a: a * 2)(x),
    "grad": lambda jax, x: jax.grad(lambda a: jax.numpy.sum(a * a))(x),
    "grad of a tree": lambda jax, x: jax.grad(lambda p: jax.numpy.sum(p["w"] ** 2))({"w": x})["w"],
    "scan": lambda jax, x: jax.lax.scan(lambda c, a: (c, a * 2), 0.0, x)[1],
    "lax": lambda jax, x: jax.lax.mul(x, np.float32(2)),
    "jax.numpy": lambda jax, x: jax.numpy.multiply(x, 2),
    "a captured array": lambda jax, x: jax.jit(lambda a: a * x)(jax.numpy.full(4, 2, "float32")),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_jax_computes_with_an_array(jax, x, call):
    """The result is an array of JAX."""
    found = call(jax, x)

    assert isinstance(found, jax.Array)
    assert found.tolist() == [0, 2, 4, 6]


def test_a_reduction_takes_an_array(jax, x):
    """As of an ndarray."""
    assert float(jax.numpy.sum(x)) == 6


def test_device_put_shares_aligned_memory(jax, x):
    """As that of an ndarray."""
    assert jax.device_put(x).unsafe_buffer_pointer() == x.ptr


def test_read_only_memory_is_taken(jax, x):
    """JAX never writes to its arguments."""
    x = ix.asarray(memoryview(np.asarray(x)).toreadonly())

    assert x.readonly
    assert jax.jit(lambda a: a + 1, donate_argnums=0)(x).tolist() == [1, 2, 3, 4]
    assert x.tolist() == [0, 1, 2, 3]


def test_the_result_is_no_alias_of_writable_memory(jax, x):
    """A later write does not change an immutable array."""
    same, made = jax.jit(lambda a: a)(x), jax.numpy.asarray(x)
    x[0] = 9

    assert (same.tolist(), made.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3])


@pytest.mark.parametrize("dtype", ["float64", "int64", "float16", "bfloat16", "bool", "complex64"])
def test_element_types_are_those_of_ndarrays(jax, x, dtype):
    """With JAX's own rules for 64 bits."""
    x = x.astype(dtype)
    double = jax.jit(lambda a: a + a)

    assert double(x).dtype == double(np.asarray(x)).dtype
    assert jax.numpy.asarray(x).dtype == jax.numpy.asarray(np.asarray(x)).dtype


def test_an_integer_is_cast_before_it_is_narrowed(jax):
    """An integer of 64 bits does not pass through 32."""
    assert float(jax.numpy.asarray(xp.asarray([2**40]), dtype="float32")[0]) == 2.0**40


def test_memory_that_jax_cannot_reach_is_refused(jax):
    """By a rule, with the device."""
    x = ix.from_pointer(0, (0,), "float32", device="vulkan")

    for call in (jax.jit(lambda a: a), jax.numpy.sum):
        with pytest.raises(ix.UnsupportedDeviceError, match="vulkan:0") as caught:
            call(x)
        assert caught.value.rule == "IX-CONVERT-2"


def test_an_array_is_a_leaf_of_trees(jax, x):
    """As an ndarray is."""
    (found,) = jax.tree.leaves({"w": x})

    assert found is x


TRACED = {
    "asarray": lambda a, _: ix.asarray(a),
    "from_dlpack": lambda a, _: ix.from_dlpack(a),
    "convert": lambda a, _: ix.convert(a, "numpy"),
    "an operator": lambda a, x: x + a,
    "a function": lambda a, x: xp.add(x, a),
}


@pytest.mark.parametrize("call", TRACED.values(), ids=TRACED)
def test_a_tracer_is_refused_with_the_reason(jax, x, call):
    """A traced array has no memory yet."""
    with pytest.raises(ix.InterchangeError, match="compute with jax while it traces"):
        jax.jit(lambda a: call(a, x))(jax.numpy.ones(4))


ORDERS = ["import jax, interchange as ix", "import interchange as ix, jax"]


@pytest.mark.isolated
@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_imports_does_not_matter(run_isolated, need, order):
    """Array is registered when both are imported."""
    need("jax")
    program = f"{order}\nprint(jax.jit(lambda a: a + 1)(ix.asarray(bytearray(2))).tolist())"

    assert run_isolated(program) == "[1, 1]\n"
