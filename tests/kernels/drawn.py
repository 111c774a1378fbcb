"""Random programs of the language: their source, and their arguments.

Source: CUDA Python Specification 0.2.  The source of choices is a parameter: `Choices` uses a
seed,
`Drawn` uses hypothesis.  Most programs are well typed; some have an operand of an invalid kind.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import ml_dtypes  # noqa: F401 - NumPy then knows bfloat16
import numpy as np

from interchange.cuda import intrinsics

from .reference_warps import DRAWN as WARPS

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
REALS = ("bool_", *INTEGERS, *FLOATS)
LITERALS = (
    "0", "1", "2", "3", "7", "31", "32", "63", "64", "100", "127", "128", "255", "65535", "True",
    "2147483647", "2147483648", "4294967295", "9223372036854775807", "9223372036854775808",
    "18446744073709551615", "False", "SIZE", "WIDE", "NARROW",
)  # fmt: skip
FRACTIONS = (
    "0.0",
    "0.5",
    "1.0",
    "2.5",
    "3.0",
    "1e10",
    "1e-320",
    "1e308",
    "1e999",
    "0.1",
    "1e19",
    "HALF",
    "math.pi",
    "-math.inf",
)
EXACT = (
    *("sqrt", "fabs", "floor", "ceil", "isnan", "isinf", "fmod", "copysign", "trunc", "isfinite"),
)
OF_ONE = (
    *("abs", "int", "float", "bool", "round", "np.sign", "np.logical_not", "np.square", "np.rint"),
    *("np.negative", "np.float32", "np.float16", "np.int16", "np.uint8", "np.bool_"),
)
OF_TWO = (
    *("min", "max", "np.maximum", "np.minimum", "np.fmax", "np.fmin", "np.logical_and"),
    *("np.logical_or", "np.logical_xor", "np.floor_divide"),
)
OF_THREE = ("min", "max", "np.clip", "np.where")
INTRINSICS = {
    f"cuda.{row.name}": row.parameters
    for row in vars(intrinsics).values()
    if isinstance(row, intrinsics.Intrinsic) and row.reference is not None
}
"""Intrinsics that the reference interpreter computes -> types of their parameters."""
ATOMICS = {
    "i": ("add", "sub", "min", "max", "nanmin", "and_", "or_", "xor", "exch", "cas"),
    "u": ("add", "sub", "min", "max", "nanmax", "and_", "or_", "xor", "exch", "cas", "inc", "dec"),
    "float16": ("add", "sub", "min", "max", "nanmin", "exch"),
    "bfloat16": ("add", "sub", "min", "max", "nanmax", "exch"),
    "float32": ("min", "max", "nanmin", "nanmax", "exch"),
    "float64": ("add", "sub", "min", "max", "nanmin", "nanmax", "exch"),
}
"""Type of an element, or its first letter -> atomic operations; sums in float32 flush on GPUs."""
PLACES = (
    *("cuda.grid(1)", "cuda.gridsize(1)", "cuda.threadIdx.x", "cuda.threadIdx.y"),
    *("cuda.blockIdx.x", "cuda.blockDim.x", "cuda.gridDim.x", "cuda.blockDim.z"),
)
"""Places of a thread, and sizes of the launch."""
OF_REALS = ("+", "-", "*", "/", "//", "%")
OF_INTEGERS = ("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>")
MOST_VARIABLES = 5
LENGTH = 4
"""Length of a one-dimensional array, and number of elements of a matrix."""


class Program(NamedTuple):
    """A kernel's source and its arguments, followed by arrays for the results.

    With `strided`, arrays are reversed and have gaps; with `debug`, indices are checked.  `launch`
    is the number of blocks and that of threads in each; `dynamic` the size of dynamic shared memory
    [bytes].
    """

    text: str
    names: tuple[str, ...]
    arguments: tuple[Any, ...]
    results: tuple[str, ...]
    strided: bool = False
    debug: bool = False
    launch: tuple[int, int] = (1, 1)
    dynamic: int = 0


class Choices:
    """Random choices from a seed."""

    def __init__(self, seed):
        self._random = random.Random(seed)  # noqa: S311 - no secret

    def below(self, count):
        """Return a number from 0 to one below `count`."""
        return self._random.randrange(count)


class Drawn(Choices):
    """Choices by hypothesis."""

    def __init__(self, draw, integers):
        self._draw, self._integers = draw, integers

    def below(self, count):
        """Return a number from 0 to one below `count`."""
        return self._draw(self._integers(0, count - 1))


class Expressions:
    """Random expressions over names of kinds: ``i`` integer, ``r`` real, ``c64`` and ``c128``."""

    def __init__(self, choices):
        self.below = choices.below
        self.names: dict[str, str] = {}
        self.arrays: dict[str, tuple[str, int]] = {}
        self.functions: dict[str, tuple[str, ...]] = {}
        self.keywords: dict[str, str] = {}  # function -> "*" if its second argument is named
        self.tuples: dict[str, int] = {}  # name -> its number of items
        self.constants: set[str] = set()  # arrays that are not stored to
        self.alone = True  # in its block

    def pick(self, items):
        """Return one of some items."""
        return items[self.below(len(items))]

    def one_in(self, count):
        """Return whether something rare happens."""
        return self.below(count) == count - 1

    def name(self, *kinds):
        """Return a name of some kinds, or None if there is none."""
        found = [name for name, kind in self.names.items() if kind in kinds]
        return self.pick(found) if found else None

    def draw(self, kind, depth):
        """Return an expression of a kind, rarely of another."""
        if self.one_in(400):
            kind = self.pick(("i", "r", "c64", "c128"))
        if kind in {"c64", "c128"}:
            return self.complex(kind, depth)
        return self.integer(depth) if kind == "i" else self.real(depth)

    def leaf(self, *kinds):
        """Return a name, or a literal."""
        name = self.name(*kinds)
        if name and self.below(3):
            return name
        return self.pick(FRACTIONS if "r" in kinds and self.below(2) else LITERALS)

    def real(self, depth):
        """Return an expression of any real type."""
        if depth <= 0:
            return self.leaf("i", "r")
        a, b = (lambda: self.draw("r", depth - 1)), (lambda: self.draw("r", depth - 2))
        way = self.below(11)
        if way < 4:
            return f"({a()} {self.pick(OF_REALS)} {b()})"
        if way in {4, 10}:
            return self.built_in("r", a, b) if way == 10 else f"{self.pick(REALS)}({a()})"
        if way == 5:
            return self.one_of(a, b, depth)
        if way == 6:
            return self.of_warp("real", depth) if self.one_in(8) else self.exact(depth)
        if way == 7:
            return self.element("r") or f"({self.pick('-+')}{a()})"
        if way == 8:
            return self.of_complex(depth) if self.below(2) else self.call(depth)
        ways = (lambda: f"({self.pick('-+')}{a()})", lambda: self.draw("i", depth))
        return self.known(a, b) if self.one_in(4) else self.pick(ways)()

    def known(self, a, b):
        """Return an item of a tuple, or a choice that is made when the kernel is compiled."""
        if self.tuples and self.below(2):
            name = self.pick(list(self.tuples))
            last = self.tuples[name] - 1
            return self.pick((f"{name}[{last}]", f"{name}[-1]", f"min({name})", f"len({name})",
                              f"{name}[1:][-1]", f"int({a()} in {name})"))  # fmt: skip
        if "n8" in self.names:
            return self.pick(
                ("({} if n8 is None else n8)", "(n8 if n8 is not None else {})")
            ).format(a())
        return f"({a()} if SIZE > {self.below(4)} else {b()})"

    def built_in(self, kind, a, b):
        """Return a built-in function, or one of NumPy."""
        count = 1 + self.below(3)
        name = self.pick((OF_ONE, OF_TWO, OF_THREE)[count - 1])
        way = self.below(8)
        if kind == "i" and way == 0:
            return f"math.gcd({self.draw('i', 1)}, {self.draw('i', 1)})"
        if way == 1:
            pair = self.pick(("divmod({0}, {1})", "math.frexp({0})", "math.modf({0})"))
            return f"{pair.format(a(), b())}[{self.below(2)}]"
        if way == 2:
            return f"math.ldexp({a()}, {self.draw('i', 1)})"
        if way == 3:
            return f"({a()} ** {1 + self.below(4)})"
        return f"{name}({', '.join((a, b, b)[place]() for place in range(count))})"

    def of_complex(self, depth):
        """Return a part of a complex number."""
        return f"({self.draw(self.pick(('c64', 'c128')), depth - 1)}).{self.pick(('real', 'imag'))}"

    def exact(self, depth):
        """Return a function of math, or an intrinsic, with the same result on all platforms."""
        name = self.pick((*EXACT, *INTRINSICS))
        if name in INTRINSICS:
            return f"{name}({', '.join(self.draw('r', depth - 2) for _ in INTRINSICS[name])})"
        values = [self.draw("r", depth - 1)]
        if name == "fmod":
            values.append(self.draw("r", depth - 2))
        if name == "copysign":  # of known sign: the sign of NaN is unknown
            values.append(f"int64({self.draw('i', depth - 2)})")
        return f"math.{name}({', '.join(values)})"

    def integer(self, depth):
        """Return an expression of integers or bools."""
        if depth <= 0:
            return self.leaf("i")
        a, b = (lambda: self.draw("i", depth - 1)), (lambda: self.draw("i", depth - 2))
        way = self.below(13)
        if way == 12:
            return self.called(a, b, depth)
        if way < 6:
            return f"({a()} {self.pick(OF_INTEGERS)} {b()})"
        if way == 6:
            return f"({self.pick('~~-')}{a()})"
        if way == 7:
            return self.one_of(a, b, depth)
        if way == 8:
            return f"(not {self.truth(depth - 1)})" if self.below(2) else self.compared(depth)
        if way > 9:
            return (self.extent() if way == 11 else self.element("i")) or b()
        return f"{self.pick(INTEGERS)}({self.draw('r', depth - 1)})"

    def called(self, a, b, depth):
        """Return a power, a built-in function, or one of warps or bits."""
        if self.one_in(3):
            return self.of_warp("integer", depth)
        if self.one_in(3):
            return self.of_tuple(a, b)
        return self.power(a, b) if self.below(2) else self.built_in("i", a, b)

    def of_tuple(self, a, b):
        """Return a membership, or an item of a tuple at a computed place."""
        if self.below(2):
            return f"({a()} {self.pick(('in', 'not in'))} ({b()}, {b()}, 2.5))"
        type_ = self.pick(INTEGERS)
        return f"({type_}({b()}), {type_}({b()}), {type_}(3))[{a()} % 3]"

    def power(self, a, b):
        """Return a power of integers; those of complex numbers differ in their last places."""
        exponent = f"{self.pick(INTEGERS)}({b()})" if self.below(2) else str(self.below(7))
        return f"({self.pick(INTEGERS)}({a()}) ** {exponent})"

    def of_warp(self, kind, depth):
        """Return a function of bits, or one of a warp, whose only lane is the thread."""
        if not self.alone:
            return self.pick(PLACES)
        form = self.pick(WARPS[kind])
        given = [self.draw("i" if kind == "integer" else "r", depth - 1), self.draw("i", 0)]
        return f"cuda.{form.format(*given[: form.count('{}')])}"

    def one_of(self, a, b, depth):
        """Return a choice between two or three numbers."""
        if self.below(2):
            return f"({a()} if {self.truth(depth - 1)} else {b()})"
        operands = [a(), b(), b()][: 2 + self.below(2)]
        return f" {self.pick(('and', 'or'))} ".join(operands).join("()")

    def compared(self, depth):
        """Return a comparison, or a chain of two."""
        compared = ("<", "<=", ">", ">=", "==", "!=")
        if self.one_in(12):
            sides = [self.draw(self.pick(("r", "c64", "c128")), depth - 2) for _ in range(2)]
            return f" {self.pick(compared[4:])} ".join(sides).join("()")
        parts = [self.draw("r", depth - 1), self.pick(compared), self.draw("r", depth - 2)]
        if self.one_in(3):
            parts += [self.pick(compared), self.draw("r", depth - 2)]
        return f"({' '.join(parts)})"

    def truth(self, depth):
        """Return a condition."""
        way = self.below(6)
        if depth <= 0 or way == 0:
            return self.leaf("i", "r")
        if way < 4:
            return self.compared(depth)
        if way == 4:
            return f"(not {self.truth(depth - 1)})"
        joined = [self.truth(depth - 1) for _ in range(2 + self.below(2))]
        word = self.pick(("and", "or"))
        return f"({f' {word} '.join(joined)})"

    def complex(self, kind, depth):
        """Return an expression of a complex type."""
        type_, name = f"complex{kind[1:]}", self.name(kind)
        if depth <= 0 or self.one_in(4):
            literal = "2.5j" if kind == "c128" else "complex64(1.5, -2)"
            return name if name and self.below(4) else literal
        a, b = (lambda: self.complex(kind, depth - 1)), (lambda: self.complex(kind, depth - 2))
        way = self.below(6)
        if way < 3:
            other = self.draw("r", depth - 2) if self.one_in(4) else b()
            return f"{type_}({a()} {self.pick('+-*/')} {other})"
        if way == 3 and self.one_in(3):
            return f"({a()}).conjugate()" if self.below(2) else f"({a()} ** {1 + self.below(4)})"
        if way == 3:
            return f"{type_}({self.draw('r', depth - 1)}, {self.draw('r', depth - 2)})"
        if way == 4:
            return f"(-{a()})" if self.below(2) else (self.element(kind) or a())
        kinds = ("r", "c64", "c128")
        return f"{type_}({self.draw(self.pick(kinds), depth - 1)})"

    def element(self, kind):
        """Return an element of an array with an index within its bounds."""
        found = [name for name, (held, _) in self.arrays.items() if kind in {held, "r"}]
        found = [name for name in found if kind[0] == "c" or self.arrays[name][0][0] != "c"]
        return self.place(self.pick(found)) if found else None

    def place(self, name):
        """Return an element of a given array."""
        indices = self.indices(name)
        if name in {"um.x", "um.n"} and self.below(2):
            return f"um[{indices}]{self.pick((name[2:], repr(name[3:]).join('[]')))}"
        return f"{name}[{indices}]"

    def indices(self, name):
        """Return the indices of an element of a given array."""
        index = self.pick(
            ("0", "1", "-1", f"{self.draw('i', 1)} & 1", f"uint8({self.draw('r', 1)}) % 2")
        )
        other = self.pick(("0", "1", "-2", "int64(1)", f"({self.draw('i', 1)}) & 1"))
        return f"{index}, {other}" if self.arrays[name][1] == 2 else index

    def extent(self):
        """Return an attribute of an array."""
        if not self.arrays:
            return None
        name = self.pick(list(self.arrays))
        if name.isupper() or self.one_in(6):
            return self.pick(PLACES)
        forms = (".size", ".ndim", ".shape[0]", ".shape[-1]", ".strides[0]")
        return f"len({name})" if self.one_in(4) else name + self.pick(forms)

    def call(self, depth):
        """Return a call of a function that returns one number."""
        found = [name for name, kinds in self.functions.items() if len(kinds) == 1]
        return self.call_of(self.pick(found), depth) if found else self.draw("i", depth)

    def call_of(self, name, depth):
        """Return a call of a function, which may take an array first."""
        values = [self.draw("r", depth - 2), self.draw("i", depth - 1)]
        if name.startswith("h"):
            found = [n for n in self.arrays if self.arrays[n][1] == 1 and n not in self.constants]
            values[0] = self.pick(found or ["u1"])
        if self.one_in(8):
            return f"{name}({values[0]})"  # the default of the other
        is_named = self.keywords.get(name) == "*" or self.one_in(5)
        return f"{name}({values[0]}, {'q=' * is_named}{values[1]})"


def scalar(choices, type_):
    """Return a number of a type, often at its bounds."""
    pick = lambda items: items[choices.below(len(items))]  # noqa: E731
    if type_ == "bool_":
        return np.bool_(choices.below(2))
    if type_ in COMPLEX:
        part = "float64" if type_ == "complex128" else "float32"
        return getattr(np, type_)(complex(scalar(choices, part), scalar(choices, part)))
    kind = np.dtype(type_).type
    if type_ in INTEGERS:
        info = np.iinfo(kind)
        small = kind(choices.below(100))
        return pick((small, small, kind(1), kind(0), kind(info.min), kind(info.max), ~small))
    info = np.finfo(np.float32 if type_ == "bfloat16" else kind)
    few = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-3, 3e9, -7e18, np.inf, np.nan, info.max, info.tiny)
    with np.errstate(over="ignore"):
        return kind(pick((*few, choices.below(10_000) / 16 - 300, choices.below(99) - 50)))


def array(choices, type_, ndim):
    """Return an array of numbers of a type."""
    shape = (2, 2) if ndim == 2 else (LENGTH,)
    found = np.zeros(shape, type_.removesuffix("_"))
    for place in np.ndindex(shape):
        found[place] = scalar(choices, type_)
    return found


def record(choices, dtype):
    """Return a record with random numbers in its fields."""
    found = np.zeros((), dtype)
    for name in dtype.names:
        held = found[name]
        for place in np.ndindex(held.shape):
            held[place] = scalar(choices, _name_of(held.dtype))
    return found[()]


def _name_of(dtype):
    return "bool_" if dtype.name == "bool" else dtype.name
