"""`array_namespace` and `like` with real libraries, array-api-compat among them."""

from __future__ import annotations

import importlib
import itertools
import sys

import numpy as np
import pytest

import interchange as ix
from interchange._functions.like import like
from interchange._functions.namespaces import array_namespace
from interchange.compat import upgrade

pytestmark = pytest.mark.interop


def strided_view(array):
    """Return a view of cuda.core."""
    module = importlib.import_module("cuda.core.utils")
    return module.StridedMemoryView.from_dlpack(array, stream_ptr=-1)


MAKE = {  # library -> (what to import, an array of four float32, where it computes)
    "numpy": ("numpy", lambda m: m.ones(4, "f4"), "array_api_compat.numpy"),
    "torch": ("torch", lambda m: m.ones(4), "array_api_compat.torch"),
    "jax": ("jax.numpy", lambda m: m.ones(4, "f4"), "jax.numpy"),
    "dask": ("dask.array", lambda m: m.ones(4, "f4"), "array_api_compat.dask.array"),
    "array_api_strict": (
        "array_api_strict",
        lambda m: m.ones(4, dtype=m.float32),
        "array_api_strict",
    ),
}
FOREIGN = {  # libraries without a namespace
    "tvm_ffi": ("tvm_ffi", lambda m: m.from_dlpack(np.ones(4, "f4"))),
    "warp": ("warp", lambda m: m.from_dlpack(np.ones(4, "f4"))),
    "pyarrow": ("pyarrow", lambda m: m.array(np.ones(4, "f4"))),
    "pyarrow.Tensor": ("pyarrow", lambda m: m.Tensor.from_numpy(np.ones(4, "f4"))),
    "cuda.core": ("cuda.core", lambda _: strided_view(np.ones(4, "f4"))),
}

every_library = pytest.mark.parametrize("library", MAKE)
every_foreign = pytest.mark.parametrize("kind", FOREIGN)


@pytest.fixture
def make(need):
    """Return what makes an array of a library, or skips."""

    def make_array(library):
        name, maker = {**MAKE, **FOREIGN}[library][:2]
        need(name)
        module = importlib.import_module(name)
        if name == "warp":
            module.config.quiet = True
            module.init()
        return maker(module)

    return make_array


@pytest.fixture
def wanted(need):
    """Return the namespace that a library's arrays have."""
    need("array_api_compat")
    return lambda library: upgrade(importlib.import_module(MAKE[library][2]))


# ---------------------------------------------------------------- array_namespace


@every_library
def test_arrays_have_the_namespace_that_array_api_compat_gives_them(make, wanted, library):
    """Upgraded."""
    x = make(library)
    theirs = importlib.import_module("array_api_compat").array_namespace(x)

    assert array_namespace(x, 3.0, None) is wanted(library) is upgrade(theirs)


@every_library
@every_foreign
def test_arrays_of_libraries_without_a_namespace_go_with_any(make, wanted, library, kind):
    """Arrays of libraries without a namespace are converted to any namespace."""
    x, other = make(library), make(kind)

    xp = array_namespace(other, x)
    found = xp.asarray(other)

    assert xp is wanted(library)
    assert type(found) is type(x)
    assert np.asarray(found).tolist() == [1.0] * 4


@every_foreign
def test_arrays_of_libraries_without_a_namespace_have_interchange_s(make, kind):
    """Arrays of libraries without a namespace give interchange's."""
    xp = array_namespace(make(kind))

    assert xp.__name__ == "interchange.xp"
    assert float(xp.sum(xp.asarray(make(kind)))) == 4.0


@pytest.mark.parametrize("pair", [*itertools.combinations(MAKE, 2)], ids="-".join)
def test_two_libraries_are_one_too_many(make, pair):
    """Arrays of two libraries are refused; the error names both."""
    arrays = [make(library) for library in pair]

    with pytest.raises(ix.ArgumentError, match="several libraries") as caught:
        array_namespace(*arrays)

    assert all(f"backend={library!r}" in str(caught.value) for library in pair)


@pytest.mark.parametrize("pair", [*itertools.permutations(MAKE, 2)], ids="-".join)
def test_a_library_that_is_named_takes_arrays_of_the_other(make, wanted, pair):
    """The conversion that the error names is accepted."""
    x, other = make(pair[0]), make(pair[1])

    xp = array_namespace(x, other, backend=pair[0])

    assert xp is wanted(pair[0])
    assert np.asarray(xp.asarray(other)).tolist() == [1.0] * 4


def test_a_tracer_is_an_array_of_jax(make):
    """Functions under transformation ask, too."""
    x = make("jax")
    jax = sys.modules["jax"]
    seen = []

    jax.jit(lambda y: seen.append(array_namespace(y)) or y)(x)

    assert seen == [array_namespace(x)]


# ---------------------------------------------------------------- like


@pytest.mark.parametrize("kind", [*MAKE, *FOREIGN])
def test_a_result_comes_back_in_the_type_of_the_argument(make, kind):
    """A result has the type of the argument, and its elements."""
    x = make(kind)
    result = ix.asarray(np.arange(16, dtype="f4")).copy()

    found = like(result, x)

    assert type(found) is type(x)
    back = np.asarray(found) if kind == "dask" else np.asarray(ix.asarray(found))
    assert back.tolist() == [float(n) for n in range(16)]


@pytest.mark.parametrize("kind", [*(name for name in MAKE if name != "dask"), *FOREIGN])
def test_the_result_shares_memory_where_it_may(make, kind):
    """The result shares memory that is aligned and writable."""
    result = ix.asarray(np.arange(16, dtype="f4")).copy()

    found = like(result, make(kind), copy=False)

    assert ix.asarray(found).ptr == result.ptr


@pytest.mark.parametrize(
    "pair", [pair for pair in itertools.permutations(MAKE, 2) if pair[0] != "dask"], ids="-".join
)
def test_results_of_one_library_come_back_as_arrays_of_another(make, pair):
    """A function may compute with one and answer in the other."""
    found = like(make(pair[0]), make(pair[1]))

    assert type(found) is type(make(pair[1]))
    assert np.asarray(found).tolist() == [1.0] * 4
