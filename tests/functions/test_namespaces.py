"""`array_namespace`: the namespace that accepts all arguments."""

from __future__ import annotations

import array
import itertools
import sys
import types

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange._functions.namespaces import array_namespace
from interchange.compat import upgrade
from interchange.testing import producers


class Record:
    """An object that supports the CUDA Array Interface only, without elements."""

    def __init__(self):
        data = (0, False)
        record = {"shape": (0,), "typestr": "<f4", "data": data, "version": 3}
        self.__cuda_array_interface__ = record


class OnlyArray:
    """An object that has ``__array__`` alone."""

    def __array__(self, dtype=None, copy=None):
        return np.ones(2)


FOREIGN = {
    "Array": lambda: ix.asarray(b"abc"),
    "DLPack": producers.host,
    "old DLPack": lambda: producers.host(kind=producers.Bare),
    "capsule": lambda: ix.to_capsule(bytearray(2)),
    "bytes": lambda: b"abc",
    "bytearray": lambda: bytearray(2),
    "memoryview": lambda: memoryview(b"ab"),
    "array.array": lambda: array.array("d", [1]),
    "__array__": OnlyArray,
}
NATIVE = {"numpy": lambda: np.ones(2), "array_api_strict": lambda: array_api_strict.ones(2)}
SCALARS = (None, True, 3, 2.5, 1j)

every_foreign = pytest.mark.parametrize("kind", FOREIGN)
every_library = pytest.mark.parametrize("library", NATIVE)


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    """Choose as if array-api-compat were not installed; with it is tried among the libraries."""
    from interchange._functions import namespaces

    monkeypatch.setattr(namespaces, "find_spec", lambda _: None)
    namespaces._namespace_of.cache_clear()
    yield
    namespaces._namespace_of.cache_clear()


def refusal(error, *arrays, **options):
    """Return the error that a call is refused with, exactly of that class."""
    with pytest.raises(error) as caught:
        array_namespace(*arrays, **options)
    assert type(caught.value) is error
    assert str(caught.value).startswith("array_namespace(): ")
    return caught.value


def ours():
    """Return the namespace of interchange."""
    return pytest.importorskip("interchange.xp")


# ---------------------------------------------------------------- one library


@every_library
def test_arrays_of_one_library_have_its_upgraded_namespace(library):
    """Arrays of one library give its upgraded namespace."""
    wanted = upgrade(sys.modules[library])

    assert array_namespace(NATIVE[library]()) is wanted
    assert array_namespace(NATIVE[library](), NATIVE[library]()) is wanted


@every_library
@every_foreign
def test_foreign_memory_goes_with_any_library(library, kind):
    """Foreign memory next to a library's array gives that library's namespace, in any order."""
    x = FOREIGN[kind]()

    xp = array_namespace(x, NATIVE[library]())

    assert (
        xp is array_namespace(NATIVE[library](), FOREIGN[kind]()) is upgrade(sys.modules[library])
    )
    assert xp.asarray(x).ndim in {0, 1, 2}


@every_library
@pytest.mark.parametrize("scalar", SCALARS, ids=lambda x: repr(x).partition(" at 0x")[0])
def test_scalars_and_none_are_ignored(library, scalar):
    """Scalars and None are ignored, as in array-api-compat."""
    assert array_namespace(scalar, NATIVE[library]()) is upgrade(sys.modules[library])


@pytest.mark.parametrize("x", [np.float64(1), np.int8(1), np.ma.masked_array([1])])
def test_scalars_and_subclasses_of_numpy_are_numpy_s(x):
    """NumPy scalars and subclasses give NumPy, as in array-api-compat (a float64 is a float)."""
    assert array_namespace(x) is upgrade(np)


@given(st.permutations([*FOREIGN, "numpy", "scalar"]), st.integers(1, 11))
def test_the_order_of_arguments_is_of_no_matter(order, count):
    """NumPy if there is an ndarray, interchange otherwise, in any order."""
    makers = {**FOREIGN, **NATIVE, "scalar": lambda: 3}
    names = order[:count]
    if names == ["scalar"]:
        return

    xp = array_namespace(*(makers[name]() for name in names))

    assert xp is (upgrade(np) if "numpy" in names else ours())


def test_a_library_that_is_not_known_says_itself():
    """An unknown library gives the namespace of the standard's method."""
    xp = types.ModuleType("unheard_of")
    for name in ("asarray", "zeros", "reshape", "matmul", "from_dlpack"):
        setattr(xp, name, getattr(np, name))

    class Theirs:
        def __array_namespace__(self, *, api_version=None):
            return xp

    assert array_namespace(Theirs(), b"abc") is upgrade(xp)


# ---------------------------------------------------------------- no library


@every_foreign
def test_foreign_memory_alone_has_the_namespace_of_interchange(kind):
    """Foreign memory alone, and an Array, give interchange's namespace, which accepts them."""
    x = FOREIGN[kind]()

    assert array_namespace(x) is ours()
    assert isinstance(ours().asarray(x), ix.Array)


def test_memory_on_a_device_and_all_arguments_have_the_namespace_of_interchange():
    """Memory on a device does without calling a driver, and so do all kinds of arguments."""
    assert array_namespace(Record(), producers.claiming((2, 0))) is ours()
    assert array_namespace(*(make() for make in FOREIGN.values())) is ours()


# ---------------------------------------------------------------- refusals


def test_arrays_of_two_libraries_are_refused():
    """The error names both, where they are, and two fixes."""
    error = refusal(ix.ArgumentError, b"abc", np.ones(2), array_api_strict.ones(2))

    assert "ndarray of numpy (argument 1)" in str(error)
    assert "Array of array_api_strict (argument 2)" in str(error)
    assert "`backend='numpy'` or `backend='array_api_strict'`" in str(error)
    assert "`convert`" in str(error)
    assert isinstance(error, TypeError)


@pytest.mark.parametrize(
    "arguments",
    [(), *itertools.combinations(SCALARS, 2)],
    ids=lambda x: repr(x).partition(" at 0x")[0],
)
def test_nothing_but_scalars_is_refused(arguments):
    """The caller can name a library."""
    assert "backend='numpy'" in str(refusal(ix.ArgumentError, *arguments))


@pytest.mark.parametrize(
    "x", [[1, 2], (1,), "abc", {}, object(), np.ndarray, np], ids=lambda x: type(x).__name__
)
def test_what_holds_no_memory_is_refused(x):
    """Objects without memory are refused, lists too."""
    error = refusal(ix.NoProtocolError, np.ones(2), x)

    assert (error.rule, "argument 1" in str(error)) == ("IX-PROTOCOL-1", True)


@every_library
@pytest.mark.parametrize("x", [Record(), producers.claiming((2, 0))], ids=["CAI", "DLPack"])
def test_device_memory_does_not_go_with_a_library_of_the_host(library, x):
    """Device memory with an array of a host library is refused."""
    error = refusal(ix.UnsupportedDeviceError, NATIVE[library](), x)

    assert (error.rule, "argument 1 is on a device" in str(error)) == ("DLP-DEV-6", True)


# ---------------------------------------------------------------- a library that is named


@every_library
def test_a_library_that_is_named_takes_arrays_of_all(library):
    """A named library, or interchange, accepts arrays of all libraries, scalars, or nothing."""
    wanted = upgrade(sys.modules[library])
    arguments = [np.ones(2), array_api_strict.ones(2), b"abc", 3]

    assert array_namespace(*arguments, backend=library) is wanted
    assert array_namespace(backend=library) is array_namespace(1, backend=library) is wanted
    assert all(wanted.asarray(x).ndim >= 0 for x in arguments)
    assert array_namespace(*arguments, backend="interchange") is ours()


@pytest.mark.parametrize("backend", ["", "Torch", "tensorflow", "numpy.linalg"])
def test_a_name_that_is_not_known_is_refused(backend):
    """An unknown name is refused with the known ones."""
    error = refusal(ix.BackendUnavailableError, np.ones(2), backend=backend)

    names = "array_api_strict, cupy, dask, jax, numpy"
    assert (error.rule, names in str(error)) == ("IX-CONVERT-1", True)


def test_a_library_that_is_not_installed_is_refused(monkeypatch):
    """The error says what to install; modules and bytes are no names."""
    monkeypatch.setitem(sys.modules, "cupy", None)

    assert refusal(ix.BackendUnavailableError, backend="cupy").hint == "install cupy"
    for backend in (3, np, b"numpy"):
        refusal(ix.ArgumentError, np.ones(2), backend=backend)


@pytest.mark.parametrize("answer", [5, None, object()])
def test_what_calls_no_namespace_a_namespace_is_refused(answer):
    """An invalid ``__array_namespace__`` is refused with the argument's type and the result."""
    liar = type("Liar", (), {"__array_namespace__": lambda _, **__: answer})()

    with pytest.raises(ix.NoProtocolError, match=r"Liar returned .*IX-NAMESPACE-2"):
        ix.array_namespace(liar)
