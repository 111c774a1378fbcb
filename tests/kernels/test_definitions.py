"""A kernel uses the source of the function that Python has loaded, even if its file has changed.

Source: CPython, `linecache` and `inspect`; the Python Language Reference, "Code objects".
"""

from __future__ import annotations

import importlib
import itertools
import linecache
import os
import subprocess
import sys
import types
import warnings

import numpy as np
import pytest

import interchange as ix
from interchange import cuda

from .test_sources import defined

pytestmark = pytest.mark.interop

MODULE = """
from interchange import cuda

def factor(x):
    return x * 2

def other(x):
    return x * 3

@cuda.jit
def kernel(out):
    out[0] = factor(out[0])
"""
FEWER = MODULE.replace("\nfrom", "from").replace("return x * 2", "return x * 7")
INSERTED = MODULE.replace("def factor", "def first(x):\n    return x * 5\n\ndef factor")
SWAPPED = MODULE.replace("factor(x)", "kept").replace("other", "factor").replace("kept", "other(x)")
CHANGED = {
    "another number": MODULE.replace("x * 2", "x * 4"),
    "another number of another type": MODULE.replace("x * 2", "x * 2.0"),
    "another operator": MODULE.replace("x * 2", "x - 2"),
    "another name": MODULE.replace("x * 2", "other(2)"),
    "another function in its place": SWAPPED,
    "no function": "from interchange import cuda\n",
    "no text": "\n",
    "no Python": MODULE.replace("return", "returns", 1),
}
names = (f"kernels_of_a_file_{number}" for number in itertools.count())


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return a module of a file, and a function that rewrites the file."""
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / f"{next(names)}.py"

    def write(text):
        before = file.stat().st_mtime_ns if file.exists() else 0
        file.write_text(text)
        os.utime(file, ns=(before + 10**9, before + 10**9))

    write(MODULE)
    importlib.invalidate_caches()
    found = importlib.import_module(file.stem)
    yield found, write
    del sys.modules[file.stem]


def result(kernel, dtype="f4"):
    """Return the result of a kernel for 10."""
    out = np.full(1, 10, dtype)
    kernel[1, 1](out)
    return out[0]


@pytest.mark.parametrize("text", [FEWER, INSERTED, SWAPPED, *CHANGED.values()])
def test_a_kernel_keeps_the_text_that_it_was_defined_with(module, text):
    """Functions of its file that are read at the first launch keep their text as well."""
    kernels, write = module
    write(text)

    assert [result(kernels.kernel, dtype) for dtype in ("f4", "i4", "f8")] == [20, 20, 20]


def test_a_function_that_moved_within_its_file_is_found(module):
    """The function that is now at its old line is not used."""
    kernels, write = module
    write(INSERTED)

    @cuda.jit
    def kernel(out):
        out[0] = kernels.factor(out[0])

    assert result(kernel) == 20


@pytest.mark.parametrize("what", CHANGED)
def test_a_function_that_its_file_does_not_have_any_more_is_refused(module, what):
    """It is refused as a call and as a kernel; after a reload the new source is used."""
    kernels, write = module
    write(CHANGED[what])

    @cuda.jit
    def kernel(out):
        out[0] = kernels.factor(out[0])

    with pytest.raises(cuda.KernelError) as caught:
        result(kernel)
    with pytest.raises(ix.ArgumentError) as again:
        cuda.jit(kernels.factor)
    assert caught.value.rule == again.value.rule == "CPY-NPM-5"
    write(MODULE.replace("x * 2", "x * 9"))
    importlib.reload(kernels)
    assert result(kernel) == result(kernels.kernel) == 90


def test_a_kernel_that_is_called_by_another_is_the_text_that_it_has(module):
    """The source of the called kernel was read when it was created."""
    kernels, write = module
    called = cuda.jit(kernels.factor)
    write(CHANGED["another number"])

    @cuda.jit
    def kernel(out):
        out[0] = called(out[0])

    assert result(kernel) == 20


def test_code_that_was_put_into_a_function_is_read_again():
    """Tools that reload modules in place replace the code of functions."""
    one, other = (
        defined(f"def factor(x):\n    return x * {number}\n", "factor") for number in (2, 3)
    )
    kernel = cuda.jit(defined("def kernel(out):\n    out[0] = one(out[0])\n", one=one))
    first = result(kernel)
    one.__code__ = other.__code__

    assert (first, result(kernel, "f8")) == (20, 30)


AROUND = {
    "a class": "class Scale:\n    @staticmethod\n    def make(out):\n        __x = out[0]\n"
               "        out[0] = __x * 2\nmade = Scale.make\n",
    "a function": "def outer(n):\n    def inner(out):\n        out[0] *= n\n    return inner\n"
                  "made = outer(2)\n",
    "a function in a class": "class Scale:\n\tdef make(n):\n\t\tdef inner(out):\n\t\t\t__y = n\n"
                             "\t\t\tout[0] *= __y\n\t\treturn inner\nmade = Scale.make(2)\n",
    "a private name of a class": "__f = _Scale__c__f = 3\n_Scale__f = 2\nclass Scale:\n"
                                 "    @staticmethod\n    def make(out):\n"
                                 "        out[0] *= __f\n        __c__f = 1\nmade = Scale.make\n",
    "a private name around it": "class _Scale:\n    def make(self, __n):\n"
                                "        def inner(out):\n            out[0] *= __n\n"
                                "        return inner\nmade = _Scale().make(2)\n",
    "a condition": "if True:\n    def made(out):\n        out[0] *= 2\n",
    "two of one name": "def made(out):\n    out[0] *= 3\ndef made(out):\n    out[0] *= 2\n",
    "a loop": "def made(out): out[0] *= 3\nfor _ in '12':\n  def made(out): out[0] *= 2\n",
    "an import": "import math\ndef made(out):\n    out[0] += math.sqrt(out[0] * 10)\n",
}  # fmt: skip


@pytest.mark.parametrize("where", AROUND)
def test_what_stands_around_a_function_does_not_matter(where):
    """The code depends on free names, classes and imports around the function."""
    assert result(cuda.jit(defined(AROUND[where], "made"))) == 20


@pytest.mark.parametrize("where", ["{}", "def kernel(out):\n    {}"])
def test_warnings_of_a_text_are_given_by_python_alone(where):
    """With warnings as errors, a source that Python has compiled before is still accepted."""
    text = where.format('"""\\d"""') + "\ndef other(out):\n    pass\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function = defined(text if "kernel" in text else text.replace("other", "kernel"))

    cuda.jit(function)


# ---------------------------------------------------------------- without a file

PROGRAM = """
import numpy as np
from interchange import cuda

def factor(x):
    return x * 2

@cuda.jit
def kernel(out):
    out[0] = factor(out[0])

out = np.full(1, 10.0)
kernel[1, 1](out)
print("found", out[0])
"""


def run(*arguments, text=None):
    """Return the output of a new Python process, and its errors."""
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, check=False, input=text, capture_output=True, text=True, timeout=120
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("before", [(), ("-X", "utf8")])
def test_kernels_of_the_command_line_are_found(before):
    """Text before and after the kernel does not matter."""
    assert "found 20.0" in run(*before, "-c", PROGRAM, "-c", "more")


def test_kernels_of_a_shell_are_found_where_it_keeps_their_text():
    """CPython keeps the text from 3.13 on; before, the error says where to write kernels."""
    said = run("-i", text=PROGRAM.replace(")\n\n", ")\n\n\n").replace("    ", " "))
    kept = "found 20.0" if sys.version_info >= (3, 13) else "define it in a file"

    assert kept in said
    assert ("[CPY-NPM-4]" in said) is (kept != "found 20.0")


def test_text_for_exec_is_refused_until_linecache_has_it():
    """The error says so; the text of another function is not used instead."""
    text, name = "def kernel(out):\n    out[0] *= 2\n", "<kernels of a test>"
    names = types.SimpleNamespace()
    exec(text, vars(names))  # noqa: S102 - written above
    with pytest.raises(ix.ArgumentError, match=r"linecache\.cache.*CPY-NPM-4"):
        cuda.jit(names.kernel)

    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), vars(names))  # noqa: S102 - written above
    assert result(cuda.jit(names.kernel)) == 20

    linecache.cache[name] = (4, None, ["pass\n"], name)
    with pytest.raises(ix.ArgumentError, match=r"\[CPY-NPM-4\]"):
        cuda.jit(names.kernel)
