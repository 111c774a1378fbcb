"""Search for the source of a function, in every place and form.

Source: CPython, `inspect` and `ast`.
"""

from __future__ import annotations

import functools
import inspect
import linecache
import sys

import numpy as np
import pytest

import interchange as ix
from interchange import cuda

pytestmark = pytest.mark.interop


def defined(text, name="kernel", **names):
    """Return a function of a source text."""
    file = f"<{name} {len(linecache.cache)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"cuda": cuda, **names}
    exec(compile(text, file, "exec"), names)  # noqa: S102 - written below
    return names[name]


def negated(function):
    """Decorate a function as libraries do."""

    @functools.wraps(function)
    def wrapper(x):
        return -function(x)

    return wrapper


@negated
def next_number(x):
    """Return the next number, negated."""
    return x + 1


def test_a_function_that_wraps_another_is_called_itself():
    """The wrapped function, whose name it has, is not used."""

    @cuda.jit
    def kernel(out):
        out[0] = next_number(1)

    out = np.zeros(1)
    kernel[1, 1](out)

    assert out[0] == next_number(1) == -2


AT_THE_LEFT = {
    "a docstring": '    """Text that begins\nat the left."""',
    "a comment": "# at the left",
}


@pytest.mark.parametrize("what", AT_THE_LEFT)
def test_lines_of_an_indented_kernel_may_begin_at_the_left(what):
    """This applies to lines of strings and comments."""
    lines = ["def make():", "  def kernel(out):", AT_THE_LEFT[what], "    out[0] = 7"]
    make = defined("\n".join([*lines, "  return kernel", ""]), "make")
    out = np.zeros(1)
    cuda.jit(make())[1, 1](out)

    assert out[0] == 7


@pytest.mark.parametrize("type_", ["int32", np.int32, 3, None])
def test_what_is_no_type_is_refused_in_a_signature(type_):
    """Types must be those of the module."""
    function = defined("def kernel(x):\n    pass\n")
    with pytest.raises(ix.ArgumentError, match=r"\[CPY-ARG-1\]"):
        cuda.jit(cuda.void(type_))(function)


@pytest.mark.parametrize("architecture", ["sm_10", "sm_70", "compute_75", "", "sm_75 "])
def test_an_architecture_that_runs_no_kernels_is_refused(architecture):
    """LLVM would only print a warning."""
    kernel = cuda.jit(defined("def kernel(x):\n    x[0] = 1\n"))
    with pytest.raises(ix.UnsupportedDeviceError, match=r"\[CPY-PTX-2\]"):
        kernel.inspect_ptx(cuda.float32[:], architecture=architecture)


NO_FUNCTIONS = {
    "a partial function": functools.partial(next_number, 1),
    "a callable object": functools.singledispatchmethod(next_number),
    "a class": Exception,
    "a callable without a name": type("Called", (), {"__call__": next_number})(),
}


@pytest.mark.parametrize("what", NO_FUNCTIONS)
def test_what_is_no_function_is_no_kernel(what):
    """Its name and its code may be missing."""
    with pytest.raises(ix.ArgumentError) as caught:
        cuda.jit(NO_FUNCTIONS[what])
    assert caught.value.rule in {"CPY-NPM-4", "CPY-ARG-1"}


def test_a_type_is_no_function_and_no_signature():
    """A signature is void of types."""
    with pytest.raises(ix.ArgumentError, match=r"\[CPY-ARG-1\]"):
        cuda.jit(cuda.int32)


REFUSED = {
    "a lambda": ("twice(1)", {"twice": lambda x: 2 * x}, "CPY-NPM-4"),
    "any keyword": ("scaled(1, a=2)", {"scaled": defined("def scaled(x, **a):\n    return x\n",
                                                         "scaled")}, "CPY-CALL-1"),
    "a property that raises": ("odd.value", {"odd": type("Odd", (), {"value": property(
        lambda _: 1 // 0)})()}, "CPY-NAME-1"),
    "a long sum": (" + ".join(["out[1]"] * 400), {}, "CPY-NPM-2"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_read_is_refused_at_its_line(what):
    """The error is not an internal exception of Python."""
    value, names, rule = REFUSED[what]
    kernel = cuda.jit(defined(f"def kernel(out):\n    out[0] = {value}\n", **names))
    with pytest.raises(cuda.KernelError) as caught:
        kernel.typed(cuda.float64[:])

    assert (caught.value.rule, caught.value.line) == (rule, 2)


def test_many_branches_are_refused_at_the_deepest():
    """Each branch is nested in the one before."""
    lines = ["def kernel(out):", "    if out[0] == 0:", "        out[0] = 1"]
    for number in range(1, 400):
        lines += [f"    elif out[0] == {number}:", "        out[0] = 1"]
    kernel = cuda.jit(defined("\n".join([*lines, ""])))
    with pytest.raises(cuda.KernelError) as caught:
        kernel.typed(cuda.float64[:])

    assert caught.value.rule == "CPY-NPM-2"
    assert caught.value.line > 100


SUM = f"def kernel(out):\n    out[0] = {' + '.join(['out[1]'] * 150)}\n"


def test_a_program_too_deep_for_code_is_refused():
    """Code generation may need more levels of recursion than reading."""
    host = pytest.importorskip("interchange.cuda.llvm.host")
    program = cuda.jit(defined(SUM)).typed(cuda.float64[:])
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 150)
    try:
        with pytest.raises(ix.ArgumentError) as caught:
            host.host_module(program, checks=False)
    finally:
        sys.setrecursionlimit(limit)
    assert caught.value.rule == "CPY-NPM-2"


def test_the_caret_stands_under_what_is_meant():
    """The column is correct for all characters before it."""
    text = "def kernel(out):\n    größe = 1; out[größe] = unbekannt\n"
    with pytest.raises(cuda.KernelError) as caught:
        cuda.jit(defined(text)).typed(cuda.float64[:])
    _, line, caret, _ = str(caught.value).splitlines()

    assert line[caret.index("^") : caret.rindex("^") + 1] == "unbekannt"
