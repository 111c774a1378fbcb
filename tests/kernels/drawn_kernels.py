"""Random programs as kernels: types, arguments, and the expected results of the reference.

Source: CUDA Python Specification 0.2.
"""

from __future__ import annotations

import linecache
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from interchange import cuda
from interchange.cuda.records import record_type
from interchange.cuda.types import BY_NAME, SCALARS, ArrayType, TupleType, complex128

from . import reference
from .drawn import Choices
from .drawn_memory import SIZE, TABLES, WIDE
from .programs import Case, type_of
from .statements import Statements

if TYPE_CHECKING:
    from interchange.cuda import Kernel

SCOPE = {
    "math": math,
    "np": np,
    "cuda": cuda,
    **{type_.name: type_ for type_ in SCALARS if type_.kind != "bool"},
    "bool_": BY_NAME["bool"],
    "SIZE": SIZE,
    "WIDE": WIDE,
    "NARROW": np.uint8(200),
    "HALF": np.float32(0.5),
    **TABLES,
}
EXPRESSIONS = 8
"""The number of expressions in one kernel."""


def drawn_program(what, seed):
    """Return a program of ``"statements"``, or of eight ``"expressions"``, by its number."""
    drawn = Statements(Choices(seed))
    return drawn.expressions(EXPRESSIONS) if what == "expressions" else drawn.program()


def kernel_of(text, *, debug=False):
    """Return the kernel of a source text, whose lines are known to linecache."""
    file = "<drawn program>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {**SCOPE, "__name__": "drawn"}
    exec(compile(text, file, "exec"), scope)  # noqa: S102 - drawn here
    return cuda.jit(debug=debug)(scope["program"])


# ---------------------------------------------------------------- types and arguments


def laid_out(value, *, strided):
    """Return a copy of an array, in C order or backwards with gaps; a number unchanged."""
    if not isinstance(value, np.ndarray) or not strided:
        return value.copy() if isinstance(value, np.ndarray) else value
    room = np.zeros([2 * length for length in value.shape], value.dtype)
    found = room[(slice(None, None, -2),) * value.ndim]
    found[...] = value
    return found


def arguments_of(program, elements):
    """Return new arguments, with the arrays of results at the end."""
    given = [laid_out(value, strided=program.strided) for value in program.arguments]
    threads = math.prod(program.launch)
    return [*given, *(np.zeros(threads, element.name) for element in elements)]


def types_of(program, elements):
    """Return the types of all arguments, including those of the results."""
    return tuple(map(type_of_any, arguments_of(program, elements)))


def type_of_any(value):
    """Return the type of an argument, which may be None, a tuple or of records."""
    if value is None or isinstance(value, tuple):
        return TupleType(tuple(map(type_of_any, value or ())), is_none=value is None)
    if value.dtype.names:
        record, in_c_order = record_type(value.dtype), value.flags.c_contiguous
        return record if isinstance(value, np.void) else ArrayType(record, value.ndim, in_c_order)
    return type_of(value)


def arrays_among(arguments):
    """Return the arguments that are arrays."""
    return [value for value in arguments if isinstance(value, np.ndarray)]


def types_for_any(program):
    """Return the types of all arguments, with arrays that can store results of every type."""
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
    launch = reference.Launch(program.debug, program.launch, program.dynamic)
    reader = reference.read(program.text, "program", types, SCOPE, launch)
    reference.run(reader, program.names, types, arguments)
    return arrays_among(arguments)


# ---------------------------------------------------------------- cases for launchers


class DrawnCase(NamedTuple):
    """A random program: its name and source for messages, its kernel, and the expected results."""

    name: str
    text: str
    kernel: Kernel
    case: Case


def drawn_cases(what, seeds, *, strided=False):
    """Yield kernels of drawn programs with arguments and results, as `drawn_program` numbers them.

    About 1 program in 10 is invalid, and left out.  Arguments are numbers, to be passed with their
    types, tuples of them, None, and arrays of one to three axes, followed by an array of results
    for each result.  One thread runs most programs, a few threads the others.  With `strided`,
    arrays of a quarter of the programs are reversed and have gaps, each within ``array.base``;
    programs may read strides, so copies must have the same.
    """
    for seed in seeds:
        program = drawn_program(what, seed)
        program = program._replace(strided=program.strided and strided)
        try:
            elements = elements_of(program)
        except reference.Refused:
            continue
        arguments = tuple(arguments_of(program, elements))
        places = [k for k, value in enumerate(arguments) if isinstance(value, np.ndarray)]
        expected = dict(zip(places, run_reference(program, elements), strict=True))
        kernel = kernel_of(program.text, debug=program.debug)
        grid, block = program.launch
        case = Case((grid,), (block,), arguments, expected, dynamic=program.dynamic)
        yield DrawnCase(f"{what} {seed}", program.text, kernel, case)
