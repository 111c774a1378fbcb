"""Drawn programs as kernels: their types, their arguments, and what the reference leaves in those.

Source: CUDA Python Specification 0.2.
"""

from __future__ import annotations

import linecache
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from interchange import cuda
from interchange.cuda.types import BY_NAME, SCALARS, ArrayType, complex128

from . import reference
from .drawn import Choices
from .programs import Case
from .statements import Statements

if TYPE_CHECKING:
    from interchange.cuda import Kernel

SCOPE = {
    "math": math,
    "cuda": cuda,
    **{type_.name: type_ for type_ in SCALARS if type_.kind != "bool"},
    "bool_": BY_NAME["bool"],
}
EXPRESSIONS = 8
"""In one kernel."""


def drawn_program(what, seed):
    """Return a program of ``"statements"``, or of eight ``"expressions"``, by its number."""
    drawn = Statements(Choices(seed))
    return drawn.expressions(EXPRESSIONS) if what == "expressions" else drawn.program()


def kernel_of(text, *, debug=False):
    """Return the kernel of a text, whose lines Python knows."""
    file = "<drawn program>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {**SCOPE, "__name__": "drawn"}
    exec(compile(text, file, "exec"), scope)  # noqa: S102 - drawn here
    return cuda.jit(debug=debug)(scope["program"])


# ---------------------------------------------------------------- types and arguments


def type_of(value):
    """Return the type of an argument."""
    element, in_c_order = BY_NAME[str(value.dtype)], value.flags.c_contiguous
    return ArrayType(element, value.ndim, in_c_order) if value.ndim else element


def laid_out(value, *, strided):
    """Return a copy of an array, in C order or backwards with gaps; of a number itself."""
    if not value.ndim or not strided:
        return value.copy()
    room = np.zeros([2 * length for length in value.shape], value.dtype)
    found = room[(slice(None, None, -2),) * value.ndim]
    found[...] = value
    return found


def arguments_of(program, elements):
    """Return fresh arguments, those for results at the end."""
    given = [laid_out(value, strided=program.strided) for value in program.arguments]
    return [*given, *(np.zeros(1, element.name) for element in elements)]


def types_of(program, elements):
    """Return the types of all arguments, with those of the results."""
    return tuple(map(type_of, arguments_of(program, elements)))


def types_for_any(program):
    """Return the types of all arguments, where results of every type can be stored."""
    return types_of(program, [complex128] * len(program.results))


# ---------------------------------------------------------------- the reference


def elements_of(program):
    """Return the types of the results, by the reference.

    Raises
    ------
    reference.Refused
        The program is not in the language.
    """
    read = reference.read(program.text, "program", types_for_any(program), SCOPE)
    return [read.defined[name] for name in program.results]


def run_reference(program, elements):
    """Return all arrays after the reference ran."""
    types, arguments = types_of(program, elements), arguments_of(program, elements)
    reader = reference.read(program.text, "program", types, SCOPE)
    reference.run(reader, program.names, types, arguments)
    return [value for value in arguments if value.ndim]


# ---------------------------------------------------------------- for a launcher


class DrawnCase(NamedTuple):
    """A drawn program: its name and text to be shown, its kernel, and what that should compute."""

    name: str
    text: str
    kernel: Kernel
    case: Case


def drawn_cases(what, seeds, *, strided=False):
    """Yield kernels with arguments, and what each has to leave in them, for any launcher.

    Every program draws its arguments, all of NumPy: numbers, and arrays of one or two axes; behind
    them stands an array of length 1 for each result, of the type that the language gives it.  The
    numbers are to be passed with the types that they have.  One thread runs a program.  The bits
    have to be the same, but for which of the many no number is: `comparing.wrong` knows.  So a
    launcher with its own memory compares like this::

        for name, text, kernel, case in drawn_cases("statements", range(1000)):
            found = left_by(lambda grid, block, given: launch(kernel, grid, block, given), case)
            assert wrong(case, found, case.expected) == [], name + text

    where ``launch`` copies the arrays of ``given`` to the device, calls
    ``kernel[grid, block](*copies)``, and copies them back into the arrays that it was given.

    Parameters
    ----------
    what : str
        ``"statements"`` or ``"expressions"``, of which there are eight in a kernel.
    seeds : iterable of int
        The numbers of programs.  Those that are not in the language, about 3 in 100, are left out.
    strided : bool, default False
        Whether arrays of some programs lie backwards with gaps, each in ``array.base``, as a
        quarter of the programs wants it.  Programs may read strides: copies must have the same.

    Yields
    ------
    DrawnCase
        Its case has the sizes, the arguments, and place of an argument -> array as it should be.
    """
    for seed in seeds:
        program = drawn_program(what, seed)
        program = program._replace(strided=program.strided and strided)
        try:
            elements = elements_of(program)
        except reference.Refused:
            continue
        arguments = tuple(arguments_of(program, elements))
        places = [place for place, value in enumerate(arguments) if value.ndim]
        expected = dict(zip(places, run_reference(program, elements), strict=True))
        kernel = kernel_of(program.text, debug=program.debug)
        case = Case((1,), (1,), arguments, expected)
        yield DrawnCase(f"{what} {seed}", program.text, kernel, case)
