"""`interchange.hpp` in C++17 to C++23, and its type casters for pybind11 and nanobind."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import interchange as ix

from .conftest import find_compiler

HERE = Path(__file__).parent
BLOCK = np.arange(24.0).reshape((4, 6))


def standards():
    """Return the standards that the compiler of C++ knows, of those that are tested."""
    compiler = find_compiler("c++")
    tested = ("c++17", "c++20", "c++23") if compiler else ()
    command = ["-x", "c++", "-fsyntax-only", "/dev/null"]
    return [
        one
        for one in tested
        if subprocess.run([compiler, f"-std={one}", *command], check=False).returncode == 0
    ]


@pytest.fixture(scope="module", params=["c++17", "c++20", "c++23"])
def wrapper(request, native_core, build_extension, load, tmp_path_factory):  # noqa: ARG001
    """Return the module in C++, in each standard."""
    if request.param not in standards():
        pytest.skip(f"the compiler does not know {request.param}")
    options = (f"-std={request.param}", "-Wconversion", "-Wshadow")
    folder = tmp_path_factory.mktemp("wrapper")
    path = build_extension(folder, "wrapper", HERE / "wrapper.cpp", language="c++", options=options)
    return load(path)


def test_a_request_is_met(wrapper):
    """Two element types, and a copy where the order differs."""
    assert wrapper.total(BLOCK) == 276.0
    assert wrapper.total(BLOCK.astype("f4").T) == 276.0
    assert wrapper.spanned(BLOCK) == 276.0
    x = BLOCK[0].copy()
    wrapper.scale(x[::2])
    assert x.tolist() == [0.0, 1.0, 4.0, 3.0, 8.0, 5.0]


def test_a_request_that_is_not_met_names_the_argument(wrapper):
    """The error is that of the C API."""
    with pytest.raises(ix.ContractError, match=r"argument 'x' .*dtype int64, wanted float32 or"):
        wrapper.total(np.arange(3))
    with pytest.raises(ix.ContractError, match=r"argument 'x' .*wanted 1"):
        wrapper.scale(BLOCK)
    with pytest.raises(ix.ContractError, match="read-only memory, wanted writable"):
        wrapper.scale(np.broadcast_to(1.0, (3,)))


@pytest.mark.parametrize(
    ("x", "error", "words"),
    [
        (np.zeros(2, "f4"), TypeError, "type code 2 with 32 bits, and code 2 with 64"),
        (np.zeros(2, "i8"), TypeError, "type code 0 with 64 bits"),
        (ix.from_pointer(4096, (2,), "float64", device="cuda:1"), TypeError, "on device 2:1"),
        (np.broadcast_to(1.0, (3,)), ValueError, "must not be written"),
        (np.zeros(17, "u1")[1:].view("f8"), ValueError, "not aligned"),
    ],
    ids=["width", "kind", "device", "read-only", "alignment"],
)
def test_data_says_what_does_not_fit(wrapper, x, error, words):
    """The message says which of device, type, alignment and writability did not fit."""
    with pytest.raises(error, match=words):
        wrapper.first(x)


def test_a_vector_becomes_an_array(wrapper):
    """The Array owns the elements of the vector, in C order; a wrong shape is refused."""
    found = wrapper.numbers(6)

    assert found.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert np.from_dlpack(found).flags.writeable
    with pytest.raises(ValueError, match="another number of elements"):
        wrapper.numbers(5)


def test_a_column_is_read(wrapper):
    """Numbers, nulls, lists of one length and of several lengths, and bools."""
    x = np.arange(6.0)
    assert wrapper.sums(ix.to_arrow(x, mask=x != 2)) == [0.0, 1.0, None, 3.0, 4.0, 5.0]
    assert wrapper.sums(ix.asarray(x.reshape(2, 3))) == [3.0, 12.0]
    assert wrapper.sums(ix.to_arrow((x, np.array([0, 1, 1, 6])))) == [0.0, 0.0, 15.0]
    assert wrapper.trues(ix.to_arrow(x > 1.0)) == 4
    assert wrapper.sums(ix.to_arrow(x[:0])) == []


def test_a_column_that_does_not_fit_is_refused(wrapper):
    """Numbers and texts of another type, and no column at all."""
    for function, x in ((wrapper.sums, np.zeros(2, "i8")), (wrapper.texts, np.zeros(2))):
        with pytest.raises(TypeError, match="another type"):
            function(ix.to_arrow(x))
    with pytest.raises(ix.NoProtocolError, match="no column of Arrow"):
        wrapper.sums(3)


@pytest.mark.interop
def test_texts_of_a_column_are_read(wrapper, need):
    """The bytes of texts, of either size of offsets."""
    need("pyarrow")
    import pyarrow as pa

    assert wrapper.texts(pa.array(["no", "a", "bc"])[1:]) == "abc"
    assert wrapper.texts(pa.array(["a", "bc"], pa.large_string())) == "abc"


@pytest.fixture(params=["pybind11", "nanobind"])
def bound(request, native_core, compile_with, load, need, tmp_path):  # noqa: ARG001
    """Return the module of a library of bindings."""
    need(request.param)
    library = __import__(request.param)
    root = Path(library.__file__).parent
    options = ["-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{root / 'include'}"]
    sources = [HERE / "bound.cpp"]
    if request.param == "nanobind":
        options += [
            "-DWITH_NANOBIND",
            "-fno-strict-aliasing",
            f"-I{root / 'ext/robin_map/include'}",
        ]
        sources.append(root / "src" / "nb_combined.cpp")
    path = compile_with(
        tmp_path / "bound.so", *sources, language="c++", options=options, strict=False
    )
    return load(path)


@pytest.mark.interop
def test_bindings_take_any_array(bound):
    """A parameter of type View is an array of any library, and a result an Array."""
    for x in (BLOCK, ix.asarray(BLOCK), memoryview(BLOCK), BLOCK.__dlpack__()):
        assert bound.size(x) == 24
    with pytest.raises(TypeError):
        bound.size("text")
    assert bound.pair().tolist() == [1.0, 2.0]
