"""Arrays of PyTorch and JAX, in and out."""

import jax
import torch
from typing_extensions import assert_type

import interchange as ix

assert_type(ix.asarray(torch.ones(3)), ix.Array)
assert_type(ix.from_dlpack(torch.ones(3)), ix.Array)
assert_type(ix.from_dlpack(jax.numpy.ones(3)), ix.Array)
assert_type(ix.asarray(torch.ones(3), device=torch.device("cpu")), ix.Array)
assert_type(ix.asarray(b"abc").to_device(jax.devices("cpu")[0]), ix.Array)
assert_type(ix.convert(jax.numpy.ones(3), "torch", copy=True), torch.Tensor)
assert_type(ix.convert(torch.ones(3), "jax", copy=True), jax.Array)
jax.numpy.from_dlpack(ix.asarray(bytearray(3)))


@ix.accepts_arrays("x", "y")
def both(x: ix.Array, y: ix.Array) -> int:
    """Take arrays of any library."""
    return x.size + y.size


assert_type(both(torch.ones(3), y=jax.numpy.ones(3)), int)
assert_type(ix.asarray(torch.ones(3), device=torch.device("cpu")), ix.Array)
assert_type(ix.asarray(torch.ones(3), device=jax.devices("cpu")[0]), ix.Array)
with ix.borrow(torch.ones(3), jax.numpy.ones(3), stream=None) as (one, other):
    assert_type(one, ix.Array)
    assert_type(other, ix.Array)
