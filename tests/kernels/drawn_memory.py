"""Random arrays of kernels: views of the arguments, and local, shared and constant memory.

Source: CUDA Python Specification 0.2; Numba, "Memory management".
"""

from __future__ import annotations

import numpy as np

from .drawn import FLOATS, INTEGERS, Expressions

SIZE = 2
WIDE = np.int64(3)
TABLES = {
    "TABLE": np.array([3, -1, 127, 5], np.int16),
    "FRACTIONS": np.array([[0.5, -2.0], [np.inf, 1e-3]], np.float32),
}
"""Global arrays, which are constant in kernels."""
SHAPES = {
    1: ("2", "3", "SIZE", "SIZE + 1", "2 * SIZE", "WIDE", "len(TABLE)", "max(2, SIZE)"),
    2: ("(2, 2)", "(SIZE, SIZE + 1)", "(SIZE, WIDE)", "[2, 3]"),
}
"""Number of axes -> shapes of new arrays, all of which have the elements 0, 1 and -1."""
DYNAMIC = 64
"""Size of dynamic shared memory [bytes]."""


MATRICES = ("u9[::-1]", "u9[:, ::-1]", "u9[...]")
"""Views of two axes."""
FOUR = ("0, 0", "0, 1", "1, 0", "1, 1")
"""Elements of a matrix that are used."""


class Memory(Expressions):
    """Adds arrays to a kernel or a function, all of them with two elements at least."""

    def __init__(self, choices):
        super().__init__(choices)
        self.made = 0
        self.lines: list[str] = []
        self.types: dict[str, str] = {}  # of elements, of arrays in global or shared memory
        self.constants: set[str] = set()
        self.dynamic = 0

    def fresh(self, letter):
        """Return an unused name."""
        self.made += 1
        return f"{letter}{self.made}"

    def write(self, indent, line):
        """Add a line."""
        self.lines.append("    " * indent + line)

    def writable(self):
        """Return the arrays that can be stored to."""
        return [name for name in self.arrays if name not in self.constants]

    def index(self):
        """Return an index 0 or 1 in parentheses, which is computed, perhaps by a condition."""
        ways = (
            lambda: f"({self.leaf('i')} & 1)",
            lambda: f"({self.draw('i', 2)} & 1)",
            lambda: f"(1 if {self.truth(2)} else 0)",
            lambda: f"(int8({self.compared(2)}))",
            lambda: f"({self.compared(1)} and 1)",
        )
        return self.pick((ways[0], *ways))()

    def new_arrays(self):
        """Add arrays at the beginning of the kernel."""
        for number in range(2, 2 + self.below(4)):
            ways = (self.add_view, self.add_view, self.add_view, self.add_array, self.add_constant)
            self.pick(ways)(1, f"u{number}")
        if self.alone and self.one_in(5):
            self.add_dynamic()

    def local_array(self, indent):
        """Add an array in a branch, a loop or a function, known in this block only."""
        ways = (self.add_view, self.add_array) if "u9" in self.arrays else (self.add_array,)
        self.pick(ways)(indent, self.fresh("w"))

    def add_view(self, indent, name):
        """Add a row, a column or a slice of an argument."""
        index = self.index()
        view = self.pick((
            f"u9[{index}]", "u9[-2]", f"u9[:, {index}]", "u9[..., 0]", f"u9[{index}, ::-1]",
            "u9[::-1, -1]", *MATRICES, "u1[::-1]", f"u1[{index}:]", "u1[-3:-1]",
            f"u1[{index} :: 2]", f"u1[: 2 + {index}]", f"u1[{index} : 2 + {index}]",
            f"u1[int8{index} - 4 : -1]", f"u1[: -1 - int8{index}]",
            f"u1[99 : -5 - int8{index} : -1]",
        ))  # fmt: skip
        self.write(indent, f"{name} = {view}")
        self.arrays[name] = self.arrays[view[:2]][0], 1 + (view in MATRICES)
        self.types[name] = self.types[view[:2]]

    def add_array(self, indent, name):
        """Add a local or a shared array, whose elements have values, and perhaps a view of it."""
        type_ = self.pick((*INTEGERS, *FLOATS))
        memory = self.pick(("local", "shared")) if self.alone else "local"
        ndim = 1 + self.one_in(4)
        shape = self.pick(SHAPES[ndim])
        self.write(indent, f"{name} = cuda.{memory}.array({shape}, {self.spelled(type_)})")
        self.arrays[name] = "i" if type_ in INTEGERS else "r", ndim
        for place in ("0", "1", "-1", self.index()) if ndim == 1 else FOUR:
            self.write(indent, f"{name}[{place}] = {self.leaf('i', 'r')}")
        if memory == "shared":
            self.types[name] = type_
        if type_ in INTEGERS and ndim == 1 and self.one_in(3):
            other = self.pick(
                [t for t in INTEGERS if int(t.strip("uint")) <= int(type_.strip("uint"))]
            )
            viewed = self.fresh("w")
            self.write(indent, f"{viewed} = {name}[:2].view({self.spelled(other)})")
            self.arrays[viewed] = "i", 1

    def spelled(self, type_):
        """Return a type as it is written here, or in NumPy."""
        return self.pick((type_, f"cuda.{type_}", type_ if type_ == "bfloat16" else f"np.{type_}"))

    def add_constant(self, indent, name):
        """Add a constant array, by its name or by what creates it."""
        table = self.pick(list(TABLES))
        array = TABLES[table]
        if self.below(2):
            self.write(indent, f"{name} = cuda.const.array_like({table})")
            table = name
        self.arrays[table] = "i" if array.dtype.kind == "i" else "r", array.ndim
        self.constants.add(table)

    def add_dynamic(self):
        """Add dynamic shared memory, of which two arrays have parts, or the same bytes."""
        self.dynamic = DYNAMIC
        one, other = self.pick((*INTEGERS, *FLOATS)), self.pick(INTEGERS)
        first = 16 if one in FLOATS else 0  # the bits of a NaN differ
        size = np.dtype(other).itemsize
        self.write(1, f"d1 = cuda.shared.array(0, {one})")
        self.write(1, f"d2 = cuda.shared.array(0, dtype={other})[{first // size} : {48 // size}]")
        for name, type_ in (("d1", one), ("d2", other)):
            self.arrays[name] = "i" if type_ in INTEGERS else "r", 1
            self.types[name] = type_
            for place in ("0", "1", "-1"):
                self.write(1, f"{name}[{place}] = {self.leaf('i', 'r')}")
