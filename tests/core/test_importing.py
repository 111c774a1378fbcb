"""Effects of importing interchange on the process: few, and independent of the import order."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import interchange

ROOT = Path(interchange.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
LIBRARIES = (
    *("numpy", "ml_dtypes", "torch", "jax", "jaxlib", "pyarrow", "tvm_ffi", "array_api_strict"),
    *("warp", "cuda", "cupy", "mlx", "rich", "hypothesis"),
)


STANDARD = (
    *("__future__", "array", "collections", "contextlib", "ctypes", "enum", "functools", "gc"),
    *("importlib", "importlib.util", "itertools", "math", "operator", "os", "struct"),
    *("threading", "types", "typing", "warnings", "weakref"),
)


"""The modules of the standard library that importing interchange loads: a closed list."""
STRUCTURE = "ctypes.Structure.__class__('One', (ctypes.Structure,), {'_fields_': []})"
"""From CPython 3.14 on, ctypes imports more when the first structure is made."""
SELDOM = (  # what few need, or only those who see an error
    *(
        f"interchange._functions.{name}"
        for name in (
            *("borrow", "cai", "dask", "exporting", "host_importing", "inspect", "like"),
            *("namespaces", "accepts_arrays"),
        )
    ),
    *("interchange._array.contract", "interchange.abi.rules._book"),
    *("interchange.compat", "interchange.xp"),
)


MOST_MODULES = 78
"""The modules of interchange that importing it may load."""


def loaded_by(program):
    """Return the modules that a program loads beyond those of the bare interpreter."""
    script = (
        "import sys; before = set(sys.modules)\n"
        f"sys.path.insert(0, {str(ROOT.parent)!r})\n"
        f"{program}\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    command = [sys.executable, "-I", "-S", "-c", script]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def modules():
    """Return the names of all modules, except for those that run code when imported."""
    names = []
    for path in SOURCES:
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    left_out = {"__main__"} if importlib.util.find_spec("llvmlite") else {"__main__", "llvm"}
    return [name for name in names if not left_out & set(name.split("."))]


@pytest.mark.isolated
@pytest.mark.parametrize(
    "use",
    [
        "pass",
        "interchange.from_buffer(bytearray(4))[::2].shape",
        "interchange.DType.of('float32'), interchange.Device.of('cuda:0')",
        "interchange.from_pointer(4096, (2, 3), 'bfloat16')",
        "interchange.asarray(b'abc').require(ndim=1)",
    ],
)
def test_no_library_is_imported(run_isolated, use):
    """Importing interchange and describing memory import neither NumPy nor any other library."""
    script = f"""
import sys
before = set(sys.modules)
import interchange
{use}
tops = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(*sorted(tops & set({LIBRARIES!r})))
"""
    assert not run_isolated(script).split()


@pytest.mark.isolated
@pytest.mark.parametrize("use", ["", "; interchange.asarray(b'abc').shape"])
def test_an_import_loads_little(use):
    """An import loads a closed list of standard modules, and of ours what an exchange needs."""
    found = loaded_by(f"import interchange{use}")
    ours = {name for name in found if name.partition(".")[0] == "interchange"}

    assert found - ours <= loaded_by(f"import {', '.join(STANDARD)}; {STRUCTURE}")
    assert ours & set(SELDOM) == set()
    assert len(ours) <= MOST_MODULES


@pytest.mark.isolated
@pytest.mark.parametrize(
    ("use", "wanted"),
    [
        ("interchange.__version__", "importlib.metadata"),
        ("interchange.inspect", "interchange._functions.inspect"),
        ("interchange.abi.RULES", "interchange.abi.rules._book"),
        ("interchange.ViewError('f()', 'x', 'IX-ARGUMENT-1')", "interchange.abi.rules._book"),
        ("interchange.xp", "interchange.xp"),
    ],
)
def test_the_rest_is_loaded_when_it_is_first_needed(use, wanted):
    """Other modules are loaded on first use."""
    assert wanted not in loaded_by("import interchange")
    assert wanted in loaded_by(f"import interchange; {use}")


@pytest.mark.isolated
def test_every_module_imports_alone(run_isolated):
    """Every module can be imported first, after those of the package itself."""
    script = """
import importlib, os, sys, traceback
import interchange
for name in [name for name in sys.argv[1:] if name not in sys.modules]:
    child = os.fork()
    if not child:
        try:
            importlib.import_module(name)
        except BaseException:
            print(name, traceback.format_exc(), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""
    assert not run_isolated(script, *modules())


@pytest.mark.isolated
def test_the_order_of_imports_does_not_matter(run_isolated):
    """Imported last to first, every module is the same as ever."""
    script = """
import importlib, sys
for name in reversed(sys.argv[1:]):
    importlib.import_module(name)
import interchange
print(interchange.from_buffer(b"abc").shape)
"""
    assert run_isolated(script, *modules()).strip() == "(3,)"


@pytest.mark.isolated
def test_the_shared_handle_of_python_is_left_alone(run_isolated):
    """Prototypes of ours are on a handle of ours: ``ctypes.pythonapi`` is everybody's."""
    script = """
import ctypes
before = dict(vars(ctypes.pythonapi))
import interchange, interchange.testing
import numpy as np
interchange.from_dlpack(np.ones(3)).__dlpack__()
interchange.from_pointer(4096, (2,), "bfloat16").__dlpack__()
print(vars(ctypes.pythonapi) == before, ctypes.pythonapi.PyCapsule_New.argtypes)
"""
    assert run_isolated(script).strip() == "True None"


@pytest.mark.parametrize("word", ["CFUNCTYPE", "pythonapi", r"^\s*assert "])
def test_a_word_is_nowhere(word):
    """No source makes a C function of a Python one, uses the shared handle, or asserts."""
    pattern = re.compile(word, re.MULTILINE)

    assert [path.name for path in SOURCES if pattern.search(path.read_text())] == []


def test_python_functions_have_one_way_into_c():
    """Prototypes are made in one place, which is easily read."""
    users = [path for path in SOURCES if "PYFUNCTYPE" in path.read_text()]

    assert ["/".join(path.parts[-2:]) for path in users] == ["abi/capsules.py"]
