"""Random programs of the language: statements, functions, and the kernel around them.

Source: CUDA Python Specification 0.2.
"""

from __future__ import annotations

import numpy as np

from .drawn import (
    ATOMICS,
    COMPLEX,
    INTEGERS,
    LITERALS,
    MOST_VARIABLES,
    REALS,
    Program,
    array,
    record,
    scalar,
)
from .drawn_memory import Memory

DEEP = 2
MOST_ROUNDS = 4


class Statements(Memory):
    """Generates the source of a program."""

    def __init__(self, choices):
        super().__init__(choices)
        self.choices = choices
        self.loops = 0
        self.returns = 0  # the number of values that the function returns, 0 in the kernel
        self.threads, self.launch = 1, (1, 1)

    # ------------------------------------------------------------ statements

    def block(self, indent, count, *, in_loop=False):
        """Add some statements."""
        kept = dict(self.arrays), dict(self.tuples)
        for _ in range(count):
            ways = [self.assign, self.assign, self.assign, self.store, self.augment, self.unpack]
            if self.named_types() and self.one_in(3):
                ways.append(self.atomic)
            if self.one_in(6):
                ways = [self.exception, self.leave, self.local_array, self.named_tuple]
            if indent < DEEP + 1:
                ways += [self.branch, self.branch, self.for_loop, self.while_loop, self.for_tuple]
            self.pick(ways)(indent)
        if in_loop and self.one_in(5):
            self.write(indent, self.pick(("break", "continue")))
        self.arrays, self.tuples = kept

    def leave(self, indent):
        """Add an early return."""
        self.write(indent, f"if {self.truth(2)}:")
        self.write(indent + 1, f"return {self.values(self.returns)}".rstrip())

    def named_tuple(self, indent):
        """Add a tuple, whose items may be tuples, and which is known in this block only."""
        name, count = self.fresh("t"), 2 + self.below(2)
        self.write(indent, f"{name} = ({self.values(count)})")
        self.tuples[name] = count
        if self.one_in(3):
            self.write(indent, f"(v0, v1), v2 = {name}[:2], {self.draw('r', 1)}")
            for each in ("v0", "v1", "v2"):
                self.becomes(each, "r")

    def variable(self, kind):
        """Return a name for a value of a kind, possibly an existing one."""
        letter = {"c64": "y", "c128": "z"}.get(kind, "v")
        return f"{letter}{self.below(3 if letter == 'v' else 2)}"

    def assign(self, indent):
        """Add an assignment; in a loop, the name keeps its type."""
        kind = self.pick(("i", "i", "r", "r", "r", "c64", "c128"))
        names = [self.variable(kind) for _ in range(1 + self.one_in(5))]
        value, target = self.draw(kind, 3), " = ".join(names)
        if len(names) == 1 and kind in "ir" and self.one_in(8):
            other, kind = self.variable("r"), "r"
            value = f"({other} := {value}) - {self.leaf('i', 'r')}"
            self.becomes(other, "r")
        if len(names) == 1 and kind == "r" and self.one_in(4):
            target = f"{target}: {self.pick(REALS)}"
        self.write(indent, f"{target} = {value}")
        for name in names:
            self.becomes(name, kind)

    def becomes(self, name, kind):
        """Record the new kind of a name."""
        if not (self.loops and name in self.names):
            self.names[name] = kind

    def augment(self, indent):
        """Add an augmented assignment."""
        operators = ("+=", "-=", "*=", "/=", "//=", "%=")
        names = [n for n, kind in self.names.items() if kind in "ir" and n[0] == "v"]
        if names and self.below(2):
            name = self.pick(names)
            self.write(indent, f"{name} {self.pick(operators)} {self.draw('r', 2)}")
            self.becomes(name, "r")
            return
        if not self.writable():
            self.assign(indent)
            return
        name = self.pick(self.writable())
        kind = self.arrays[name][0]
        if kind[0] == "c":
            operators = operators[:3]
        if kind == "i" and self.below(2):
            operators = ("&=", "|=", "^=", "<<=", ">>=")
        self.write(indent, f"{self.place(name)} {self.pick(operators)} {self.draw(kind, 2)}")

    def store(self, indent):
        """Add an assignment of a cast number to an element."""
        if not self.writable():
            self.assign(indent)
            return
        name = self.pick(self.writable())
        if "um.x" in self.arrays and self.one_in(8):
            field = self.pick(("x", "n"))
            self.write(indent, f"um[{self.index()}].{field} = {self.draw('r', 3)}")
            return
        is_complex = self.arrays[name][0][0] == "c"
        kind = self.pick(("r", "i", "c64", "c128")) if is_complex else "r"
        self.write(indent, f"{self.place(name)} = {self.draw(kind, 3)}")

    def atomic(self, indent):
        """Add an atomic operation, and perhaps an assignment of the old value."""
        name = self.pick(self.named_types())
        type_, kind = self.types[name], self.arrays[name][0]
        is_wide = type_.endswith(("32", "64")) or "float" in type_
        known = ATOMICS.get(type_, ATOMICS.get(type_[0], ())) if is_wide else ()
        if not known and not self.one_in(10):
            self.write(indent, f"cuda.threadfence{self.pick(('', '_block', '_system'))}()")
            return
        operation = self.pick(known or ATOMICS["u"])
        index = self.indices(name)
        index = f"({index})" if self.arrays[name][1] == 2 else index
        given = [self.draw("r", 2) for _ in range(1 + (operation == "cas"))]
        line = f"cuda.atomic.{operation}({', '.join((name, index, *given))})"
        if self.below(2) and kind in "ir":
            variable = self.variable("r")
            self.write(indent, f"{variable} = {line}")
            self.becomes(variable, kind)
        else:
            self.write(indent, line)

    def exception(self, indent):
        """Add an assertion, or an exception that ends the thread."""
        if self.below(3):
            self.write(indent, f'assert {self.truth(2)} or True, "text"')
        else:
            self.write(indent, f"if {self.truth(2)}:")
            self.write(indent + 1, self.pick(("raise ValueError", 'raise IndexError("text", 1)')))

    def named_types(self):
        """Return the arrays whose type is known, of global or shared memory."""
        return [name for name in self.arrays if name in self.types]

    def unpack(self, indent):
        """Add an assignment to two names."""
        one, other = self.pick((("v0", "v1"), ("v2", "v0"), ("v1", "v2")))
        pairs = [f for f, kinds in self.functions.items() if len(kinds) == 2]
        if pairs and self.below(2):
            value = self.call_of(self.pick(pairs), 2)
        elif self.below(3):
            value = f"{self.draw('r', 2)}, {self.draw('r', 2)}"
        else:
            pairs = [f"{n}.{self.pick(('shape', 'strides'))}" for n in self.matrices()]
            pairs += [name for name, count in self.tuples.items() if count == 2]
            value = self.pick(pairs) if pairs else f"{other}, {one}"
        if value == f"{other}, {one}" and not {one, other} <= self.names.keys():
            self.write(indent, "pass")
            return
        self.write(indent, f"{one}, {other} = {value}")
        self.becomes(one, "r")
        self.becomes(other, "r")

    def branch(self, indent):
        """Add two branches, after which only names assigned in both have values."""
        self.write(indent, f"if {self.truth(2)}:")
        base = dict(self.names)
        self.block(indent + 1, 1 + self.below(2), in_loop=self.loops > 0)
        one, self.names = self.names, dict(base)
        if self.below(2):
            self.write(indent, "else:")
            self.block(indent + 1, 1 + self.below(2), in_loop=self.loops > 0)
        other = self.names
        self.names = {
            name: "r" if "r" in {one[name], other[name]} else one[name]
            for name in one
            if name in other
        }

    def body(self, indent, counter, base=None):
        """Add the body of a loop with few iterations; `base` are the names from before it."""
        base = dict(self.names) if base is None else base
        self.loops += 1
        self.write(indent + 1, f"{counter} = {counter} + 1")
        if self.one_in(2):
            self.write(indent + 1, f"if {counter} > {1 + self.below(MOST_ROUNDS)}:")
            self.write(indent + 2, "break")
        else:
            self.write(indent + 1, f"if {counter} > {MOST_ROUNDS} and {counter} != 77:")
            self.write(indent + 2, "break")
        self.block(indent + 1, 1 + self.below(3), in_loop=True)
        self.loops -= 1
        self.names = base
        if self.one_in(4):
            self.names = dict(base)
            self.write(indent, "else:")
            self.block(indent + 1, 1, in_loop=self.loops > 0)
            kinds = {name: {base[name], self.names[name]} for name in base}
            self.names = {n: "r" if "r" in kind else base[n] for n, kind in kinds.items()}

    def while_loop(self, indent):
        """Add a loop while a condition holds."""
        counter = self.fresh("k")
        self.write(indent, f"{counter} = 0")
        self.write(indent, f"while {self.truth(2)}:")
        self.body(indent, counter)

    def for_loop(self, indent):
        """Add a loop over a range with any bounds."""
        counter = self.fresh("k")
        given = [self.draw("i", 1) for _ in range(1 + self.below(3))]
        if len(given) == 3 and given[2] in LITERALS:
            given[2] = f"int8({given[2]})"
        name = self.pick(("v0", "v1", self.fresh("i")))
        self.write(indent, f"{counter} = 0")
        self.write(indent, f"for {name} in range({', '.join(given)}):")
        kept = dict(self.names)
        self.names.setdefault(name, "i")
        self.body(indent, counter, kept)

    def for_tuple(self, indent):
        """Add a loop over the items of a tuple, which may have several types."""
        counter, name = self.fresh("k"), self.fresh("i")
        items = f"({self.values(2 + self.below(2))})"
        if self.one_in(3):
            known = [*self.tuples, *(f"{n}.shape" for n in self.matrices()), "(-1, 0, 1)"]
            items = self.pick(known)
        pairs = self.pick(("{}", "reversed({})", "enumerate({})", "zip({}, (1, 2.5, True))"))
        other = self.fresh("i") if pairs[:1] in "ez" else None
        self.write(indent, f"{counter} = 0")
        target = f"{name}, {other}" if other else name
        self.write(indent, f"for {target} in {pairs.format(items)}:")
        kept = dict(self.names)
        self.names.update(dict.fromkeys([name, *filter(None, [other])], "r"))
        self.body(indent, counter, kept)

    def matrices(self):
        """Return the arrays of two axes."""
        return [name for name, (_, ndim) in self.arrays.items() if ndim == 2 and name.islower()]

    # ------------------------------------------------------------ functions and kernels

    def function(self, *, takes_array):
        """Add a function that returns one number or two."""
        kept = self.names, self.arrays, dict(self.functions), self.tuples
        name, count = self.fresh("h" if takes_array else "g"), 1 + self.below(2)
        self.names, self.arrays, self.tuples = {"p": "r", "q": "i"}, {}, {}
        if takes_array:
            self.names, self.arrays = {"q": "i"}, {"p": ("r", 1)}
        self.functions = {each: kinds for each, kinds in kept[2].items() if each[0] == "g"}
        form = self.pick(("p, q=7", "p, /, q=7", "p, *, q=7"))
        self.keywords[name], self.returns = form[3:4], count
        how = self.pick(("", "", "", "inline='never'", "inline='always'", "inline=False"))
        if how:
            self.write(0, f"@cuda.jit(device=True, {how})")
        self.write(0, f"def {name}({form}):")
        if takes_array:
            self.write(1, f"{self.place('p')} = {self.draw('r', 2)}")
        if not takes_array and self.one_in(4):
            self.add_array(1, self.fresh("w"))
        self.block(1, self.below(2)) if self.arrays else self.assign(1)
        if self.below(2):
            self.write(1, f"if {self.truth(2)}:")
            self.write(2, f"return {self.values(count)}")
        self.write(1, f"return {self.values(count)}")
        self.names, self.arrays, self.functions, self.tuples = kept
        self.functions[name], self.returns = ("r",) * count, 0

    def values(self, count):
        """Return the expressions that a function returns."""
        return ", ".join(self.draw("r", 2) for _ in range(count))

    def parameters(self):
        """Return names and values of the kernel's arguments."""
        given = {}
        for place in range(2 + self.below(3)):
            type_ = self.pick((*REALS, *REALS, *COMPLEX))
            given[f"a{place}"] = self.of_threads(lambda type_=type_: scalar(self.choices, type_))
            self.names[f"a{place}"] = self.kind_of(type_)
        for name, types, ndim in (("u1", REALS, 1), ("u9", (*REALS, *COMPLEX), 2)):
            type_ = self.pick(types)
            make = lambda type_=type_, ndim=ndim: array(self.choices, type_, ndim)  # noqa: E731
            given[name] = self.of_threads(make)
            self.types[name] = type_
            self.arrays[name] = self.kind_of(type_), ndim
        if self.one_in(4):
            number = scalar(self.choices, self.pick(REALS))
            given["n8"], self.names["n8"] = self.pick((None, number)), "of any type"
        if self.one_in(4):
            given["t8"] = tuple(scalar(self.choices, self.pick(REALS)) for _ in range(2))
            self.tuples["t8"] = 2
        if self.one_in(4):
            self.records(given)
        return given

    def records(self, given):
        """Add a record and an array of three as arguments, whose fields are used as arrays."""
        types = [self.pick(REALS).removesuffix("_") for _ in range(3)]
        fields = [("x", types[0]), ("n", types[1]), ("v", types[2], (2,))]
        is_aligned = bool(self.below(2))
        dtype = np.dtype(fields, align=is_aligned)
        given["um"] = self.of_threads(
            lambda: np.array([record(self.choices, dtype) for _ in range(3)], dtype)
        )
        given["m8"] = record(self.choices, np.dtype(fields[:2]))
        for name, type_ in zip(("um.x", "um.n", "um[1].v"), types, strict=True):
            self.arrays[name] = self.kind_of(type_), 1
            if is_aligned:
                self.types[name] = type_
        for name, type_ in zip(("m8.x", "m8['n']"), types, strict=False):
            self.names[name] = self.kind_of(type_)

    def kind_of(self, type_):
        """Return the kind of a type."""
        if type_ in COMPLEX:
            return f"c{type_[7:]}"
        return "i" if type_ in INTEGERS or type_.startswith("bool") else "r"

    def of_threads(self, make):
        """Return a value for one thread, or an array with one for each."""
        return make() if self.threads == 1 else np.stack([make() for _ in range(self.threads)])

    def separate(self, given):
        """Take the values of the thread out of the arrays of all; return the new arguments."""
        found = {}
        for name, value in given.items():
            is_all = isinstance(value, np.ndarray) and self.threads > 1
            found[f"u{name}" if is_all else name] = value
            if is_all:
                self.write(1, f"{name} = u{name}[i0]")
        return found

    def program(self):
        """Return a program of statements; its results are the final values of its variables."""
        if self.one_in(4):
            self.threads = self.pick((2, 5, 9, 17))
            self.launch = self.pick(((1, self.threads), (1, self.threads), (self.threads, 1)))
        self.alone = self.launch[1] == 1
        for _ in range(self.pick((0, 1, 1, 2))):
            self.function(takes_array=bool(self.below(2)))
        given = self.parameters()
        self.lines, before = [], self.lines
        if self.threads > 1:
            self.write(1, "i0 = cuda.grid(1)")
            self.names["i0"] = "i"
        given = self.separate(given)
        self.new_arrays()
        self.block(1, 2 + self.below(4))
        variables = [n for n in self.names if n[0] in "vyz"][:MOST_VARIABLES]
        results = [f"r{place}" for place in range(len(variables))]
        for result, variable in zip(results, variables, strict=True):
            self.write(1, f"{result} = {variable}")
        return self.around(before, given, results)

    def expressions(self, count):
        """Return a program of some expressions."""
        given = self.parameters()
        results = [f"r{place}" for place in range(count)]
        for result in results:
            kind = self.pick(("i", "i", "r", "r", "r", "c64", "c128"))
            self.write(1, f"{result} = {self.draw(kind, 3)}")
        return self.around([], given, results)

    def wait(self, before):
        """Add barriers between some statements of the kernel.

        With other threads, only where all of them meet.
        """
        if not self.alone and (
            "raise " in "".join(before + self.lines) or "return" in str(self.lines)
        ):
            return
        for place in range(len(self.lines) - 1, -1, -1):
            line = self.lines[place].strip()
            indent = len(self.lines[place]) - len(line)
            is_met = self.alone or indent == len("    ")
            if is_met and not line.startswith("else") and self.one_in(3):
                self.lines.insert(place, " " * indent + "cuda.syncthreads()")

    def around(self, before, given, results):
        """Return the program with the lines as its body."""
        how = self.one_in(3), self.one_in(4)
        if self.one_in(3):
            self.wait(before)
        place = 0 if self.threads == 1 else "i0"
        stores = [f"    o{name}[{place}] = {name}" for name in results]
        names = (*given, *(f"o{name}" for name in results))
        lines = [*before, f"def program({', '.join(names)}):", *self.lines, *stores]
        text = "\n".join([*lines, ""])
        strided, debug = how
        debug = debug and "raise " not in text  # which would be reported
        values, results = tuple(given.values()), tuple(results)
        return Program(text, names, values, results, strided, debug, self.launch, self.dynamic)
