"""`get_library`: the functions of the C API are symbols of the library that it names."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import interchange as ix

HERE = Path(__file__).parent
SYMBOLS = [
    line.removeprefix("symbol ")
    for line in (HERE / "abi.txt").read_text(encoding="utf-8").splitlines()
    if line.startswith("symbol ")
]


@pytest.fixture
def library(native_core):  # noqa: ARG001 - it is needed
    """Return the path of the library."""
    return ix.get_library()


def test_every_function_is_a_symbol(library):
    """Every function is a symbol with its name in the header."""
    assert SYMBOLS
    loaded = ctypes.CDLL(library)
    assert [name for name in SYMBOLS if not hasattr(loaded, name)] == []


def test_it_is_the_library_that_is_in_use(library, c_api):
    """A second copy of the library would not be initialised."""
    view = ctypes.cast(ctypes.PyDLL(library).interchange_view, ctypes.c_void_p).value

    assert view == ctypes.cast(c_api.table().view, ctypes.c_void_p).value


def test_its_functions_are_called_by_ctypes(library):
    """The functions are called with the GIL, and their errors are raised."""
    get = ctypes.PyDLL(library).interchange_array_get_handle
    get.argtypes = ctypes.py_object, ctypes.POINTER(ctypes.c_void_p)
    handle = ctypes.c_void_p()

    assert get(ix.asarray(b"abc"), ctypes.byref(handle)) == 0
    assert handle.value
    with pytest.raises(ix.InterchangeError, match="IX-CAPI-1"):
        get(object(), ctypes.byref(handle))


def test_a_module_links_to_it(library, build_extension, load, tmp_path):
    """A linked module does not need `interchange_import()`."""
    path = build_extension(tmp_path, "linked", HERE / "linked.c", library)
    linked = load(path)

    assert [linked.size(x) for x in (np.ones((2, 3)), b"abc", ix.asarray(b"ab"))] == [6, 3, 2]
    with pytest.raises(TypeError):
        linked.size(object())


@pytest.mark.isolated
def test_a_program_with_python_in_it_links_to_it(library, compile_with, tmp_path):
    """A program with embedded Python imports interchange, and calls linked functions."""
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        pytest.skip("this Python is no shared library that a program could link to")
    folder = sysconfig.get_config_var("LIBDIR")
    python = f"-lpython{sysconfig.get_config_var('LDVERSION')}"
    options = (f"-L{folder}", f"-Wl,-rpath,{folder}")
    program = compile_with(
        tmp_path / "embedded", HERE / "embedded.c", library, python, options=options
    )
    done = subprocess.run(
        [str(program)],
        env={**os.environ, "PYTHONHOME": sys.base_prefix, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "1 3\n", "")


@pytest.mark.isolated
def test_the_ctypes_core_has_no_library(run_isolated):
    """With the ctypes core the library is not initialised, even if it is built (IX-CAPI-2)."""
    script = """
import interchange as ix
try:
    ix.get_library()
except ix.BackendUnavailableError as error:
    print(error.call, error.rule)
"""
    said = run_isolated(script, env={"INTERCHANGE_CORE": "ctypes"})

    assert said.split() == ["get_library()", "IX-CAPI-2"]
