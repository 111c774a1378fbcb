"""einops and opt_einsum take Arrays, and return Arrays."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import interchange as ix

pytestmark = pytest.mark.interop

X = np.arange(24, dtype="f4").reshape(2, 3, 4)


@pytest.fixture
def einops(need):
    """Return einops."""
    need("einops")
    return importlib.import_module("einops")


@pytest.fixture
def oe(need):
    """Return opt_einsum."""
    need("opt_einsum")
    return importlib.import_module("opt_einsum")


@pytest.fixture
def x():
    """Return an Array over the memory of an ndarray."""
    return ix.asarray(X)


EINOPS = {
    "rearrange": lambda e, x: e.rearrange(x, "a b c -> c (a b)"),
    "split": lambda e, x: e.rearrange(x, "a b (c d) -> d a b c", d=2),
    "a list": lambda e, x: e.rearrange([x, x], "n a b c -> a b c n"),
    "sum": lambda e, x: e.reduce(x, "a b c -> a", "sum"),
    "mean": lambda e, x: e.reduce(x, "a b (c d) -> a b c", "mean", d=2),
    "max": lambda e, x: e.reduce(x, "a b c -> 1 b 1", "max"),
    "repeat": lambda e, x: e.repeat(x, "a b c -> a (b r) c k", r=2, k=3),
    "pack": lambda e, x: e.pack([x, x[:, :, 0]], "a b *")[0],
    "unpack": lambda e, x: e.unpack(x, [(1,), (3,)], "a b *")[1],
    "einsum": lambda e, x: e.einsum(x, x, "a b c, a d c -> a b d"),
}


@pytest.mark.parametrize("call", EINOPS.values(), ids=EINOPS)
def test_einops_keeps_the_type(einops, x, call):
    """The results are Arrays, with the elements that ndarrays give."""
    found, wanted = call(einops, x), call(einops, X)

    assert type(found) is ix.Array
    assert found.dtype.name == wanted.dtype.name
    assert np.allclose(np.asarray(found), wanted)


def test_einops_returns_views_where_numpy_does(einops, x):
    """A transpose is a view of the same memory."""
    assert einops.rearrange(x, "a b c -> c b a").ptr == x.ptr


PATTERNS = {
    "a product of matrices": ("aij,ajk->aik", (2, 3, 4), (2, 4, 3)),
    "a chain": ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    "tensordot and transpose": ("ijk,kjl->li", (2, 3, 4), (4, 3, 5)),
    "an outer product": ("i,j->ij", (3,), (4,)),
    "one operand": ("iij->j", (3, 3, 4)),
    "a view": ("ij->ji", (3, 4)),
    "an ellipsis": ("...i,...i->...", (2, 3, 4), (2, 3, 4)),
    "a scalar": ("i,i->", (3,), (3,)),
}


@pytest.mark.parametrize(
    ("pattern", "shapes"), [(p, s) for p, *s in PATTERNS.values()], ids=PATTERNS
)
def test_opt_einsum_keeps_the_type(oe, pattern, shapes):
    """The results are Arrays, with the elements that ndarrays give."""
    operands = [np.random.default_rng(0).random(shape) for shape in shapes]
    found = oe.contract(pattern, *map(ix.asarray, operands))

    assert type(found) is ix.Array
    assert np.allclose(np.asarray(found), oe.contract(pattern, *operands))


def test_opt_einsum_imports_other_operands(oe, x):
    """If the first operand is an Array."""
    found = oe.contract("abc,ce->abe", x, np.ones((4, 2), "f4"))

    assert type(found) is ix.Array
    assert np.array_equal(np.asarray(found), X @ np.ones((4, 2), "f4"))


def test_a_view_by_opt_einsum_is_as_read_only_as_the_memory(oe):
    """It keeps the memory alive, too."""
    x = ix.asarray(bytes(range(6))).reshape((2, 3))
    found = oe.contract("ij->ji", x)

    assert (found.ptr, found.readonly) == (x.ptr, True)


@pytest.mark.isolated
@pytest.mark.parametrize("module", ["einops", "opt_einsum"])
@pytest.mark.parametrize("order", ["import interchange as ix, {}", "import {}, interchange as ix"])
def test_the_order_of_imports_does_not_matter(run_isolated, need, module, order):
    """Array is registered when both are imported."""
    need(module)
    call = {
        "einops": "einops.rearrange(x, 'a b -> b a')",
        "opt_einsum": "opt_einsum.contract('ab->ba', x)",
    }
    program = (
        f"{order.format(module)}\n"
        f"x = ix.asarray(bytearray(6)).reshape((2, 3))\nprint(type({call[module]}).__name__)"
    )

    assert run_isolated(program) == "Array\n"
