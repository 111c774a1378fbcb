"""The consumers in the guide, built with the available tools, and run on arrays of libraries."""

from __future__ import annotations

import array
import importlib.util
import shutil
import subprocess
import sys

import numpy as np
import pytest

import interchange as ix


def blocks():
    """Return arrays of doubles of several kinds, and their sums."""
    block = np.arange(24.0).reshape((2, 3, 4))
    return [
        (block, 276.0),
        (block[:, ::-1, ::2], 132.0),
        (np.broadcast_to(block[0, 0], (3, 4)), 18.0),
        (np.zeros((2, 0)), 0.0),
        (ix.asarray(block).mT, 276.0),
        (array.array("d", [1.0, 2.0]), 3.0),
        (memoryview(block), 276.0),
        (block.__dlpack__(), 276.0),
    ]


def check(total):
    """Call the functions of an example: sums of every kind, and refusals."""
    for x, expected in blocks():
        assert total(x) == expected
    for bad in (
        np.arange(3),
        object(),
        b"abc",
        ix.from_pointer(4096, (3,), "float64", device="cuda:0"),
    ):
        with pytest.raises(TypeError):
            total(bad)
    with pytest.raises(ValueError, match="aligned"):
        total(np.zeros(17, "u1")[1:].view("f8"))
    x = np.ones(3)
    before = sys.getrefcount(x)
    for _ in range(100):
        total(x)
        with pytest.raises(TypeError):
            total(b"abc")
    assert sys.getrefcount(x) == before


def test_plain_c(examples, build_extension, load, tmp_path):
    """The plain C example is built by one command, with warnings as errors."""
    options = ("-std=c99", "-pedantic")
    path = build_extension(tmp_path, "total_plain", examples / "total_plain.c", options=options)

    check(load(path).total)


@pytest.fixture(scope="module")
def cpp(examples, build_extension, load, tmp_path_factory):
    """Return the module in C++."""
    source = examples / "total_cpp.cpp"
    folder = tmp_path_factory.mktemp("cpp")
    path = build_extension(folder, "total_cpp", source, language="c++", options=("-std=c++17",))
    return load(path)


def test_cpp(cpp):
    """Views release themselves, also if an exception is thrown."""
    check(cpp.total)


def test_cpp_writes_where_it_may(cpp):
    """Elements behind each other, or apart."""
    x = np.zeros(6)
    cpp.fill(x[::2], 3.0)

    assert x.tolist() == [3.0, 0.0, 3.0, 0.0, 3.0, 0.0]


@pytest.mark.parametrize("is_known", [True, False])
def test_cpp_does_not_write_where_it_may_not(cpp, is_known):
    """Memory that is read-only, or of unknown writability, is not written."""
    x = np.zeros(3)
    legacy = ix.from_dlpack(x.__dlpack__())
    x.flags.writeable = False

    with pytest.raises(ValueError, match="must not be written"):
        cpp.fill(x if is_known else legacy, 3.0)
    assert x.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("function", ["total", "fill"])
def test_cpp_gives_no_pointer_to_what_is_not_aligned(cpp, function):
    """Elements that are not aligned for C++ get no pointer."""
    x = np.zeros(17, "u1")[1:].view("f8")
    arguments = (x,) if function == "total" else (x, 3.0)

    with pytest.raises(ValueError, match="not aligned"):
        getattr(cpp, function)(*arguments)
    assert x.tolist() == [0.0, 0.0]


@pytest.mark.usefixtures("native_core")
def test_cpp_by_cmake(examples, compile_with, find_tool, tmp_path):
    """The project beside the source configures, builds and works."""
    source = tmp_path / "probe.cpp"
    source.write_text("int main() {}\n", encoding="utf-8")
    compile_with(tmp_path / "probe", source, language="c++")  # there is a compiler
    cmake = find_tool("cmake")
    roots = f"-Dinterchange_ROOT={ix.get_include()}", f"-DPython_EXECUTABLE={sys.executable}"
    for words in (("-S", str(examples), "-B", str(tmp_path), *roots), ("--build", str(tmp_path))):
        done = subprocess.run([cmake, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    script = "import total_cpp, array; print(total_cpp.total(array.array('d', [1.0, 2.0])))"
    command = [sys.executable, "-c", script]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert told == "3.0\n"


@pytest.mark.interop
def test_cython(examples, build_extension, load, need, tmp_path):
    """``cimport interchange`` finds the declarations in the installed package."""
    need("Cython")
    source = tmp_path / "total_cython.pyx"
    shutil.copy2(examples / source.name, source)
    command = [sys.executable, "-m", "cython", "-Werror", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    path = build_extension(tmp_path, "total_cython", source.with_suffix(".c"), strict=False)

    check(load(path).total)


@pytest.mark.interop
@pytest.mark.usefixtures("native_core")
def test_cffi(examples, compile_with, need, tmp_path, monkeypatch):
    """cffi uses the capsule: nothing is linked."""
    need("cffi")
    (tmp_path / "probe.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
    compile_with(tmp_path / "probe", tmp_path / "probe.c")  # there is a compiler
    script = examples / "total_cffi.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = importlib.util.spec_from_file_location("total_cffi", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    check(module.total)
