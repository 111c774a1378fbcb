"""A reference interpreter of the language in plain Python, for one thread.

Source: CUDA Python Specification 0.2, independent of the compiler.  Every node of the tree
becomes a closure over the values of the names; its type is determined when it is created.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from interchange.cuda.types import (
    SCALARS,
    ArrayType,
    ScalarType,
    TupleType,
    bool_,
    float64,
    int64,
)

from . import reference_numbers as numbers
from .reference_expressions import LEFT, OUTSIDE, UNKNOWN, Expressions, Term, join_types
from .reference_numbers import Refused, cast, generic


class Reader(Expressions):
    """Reads one function with typed parameters; `run` executes it."""

    def __init__(self, tree, scope, meanings, launch, callers=()):
        self.scope, self.callers, self.launch = scope, (*callers, tree.name), launch
        self.names = dict(meanings)  # name -> type of a number, or term of another object
        self.local = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and _is_set(n)}
        self.loops = 0
        self.returned = []  # types for each statement
        self.defined = {}
        self.run, self.goes_on = self.block(tree.body)

    def joined(self):
        """Return the joined types of the returned values of all paths."""
        if len({len(types) for types in self.returned}) > 1 or (
            self.goes_on and any(self.returned)
        ):
            raise Refused("CPY-RETURN-1")
        columns = zip(*self.returned, strict=True)
        return tuple(map(join_types, columns))

    # ------------------------------------------------------------ statements

    def block(self, body):
        """Return a function that runs statements, and whether those after them are reachable."""
        runs, goes_on = [], True
        for statement in body:
            read = getattr(self, f"do_{type(statement).__name__.lower()}", None)
            if read is None:
                raise Refused("CPY-NPM-2")
            run, goes_on = (
                read(statement),
                not isinstance(statement, (ast.Break, ast.Continue, ast.Return, ast.Raise)),
            )
            if isinstance(statement, (ast.If, ast.For, ast.While)):
                run, goes_on = run
            runs.append(run)
            if not goes_on:
                break
        return lambda env: _first(run(env) for run in runs), goes_on

    def do_pass(self, _):
        return lambda _env: None

    def do_expr(self, node):
        if isinstance(node.value, ast.Constant):
            return self.do_pass(node)
        term = self.term(node.value)

        def run(env):
            if term.run:
                term.run(env)

        return run

    def do_assign(self, node):
        value, kept = self.term(node.value), {}
        if value.run is None or value.constant is not None:
            runs = [self.assign(target, value) for target in node.targets]
        else:
            once = Term(value.type, lambda _: kept["all"])
            runs = [self.assign(target, once) for target in node.targets]

        def run(env):
            kept["all"] = value.run and value.run(env)
            for each in runs:
                each(env)

        return run

    def do_annassign(self, node):
        type_ = self.term(node.annotation).constant
        type_ = {int: int64, float: float64, bool: bool_}.get(type_, type_)
        if not isinstance(type_, ScalarType) or node.value is None:
            raise Refused("CPY-NPM-2")
        value = self.number(node.value)
        numbers.storable(value.type, type_)
        return self.assign(
            node.target, Term(type_, lambda env: cast(value.run(env), value.type, type_))
        )

    def assign(self, target, value):
        """Assign a value to a target."""
        if isinstance(target, ast.Name):
            return self.bind(target.id, value)
        if isinstance(target, (ast.Subscript, ast.Attribute)):
            return self.store(target, self.as_number(value))
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise Refused("CPY-NPM-2")
        if type(value.type) is not tuple or len(value.type) != len(target.elts):
            raise Refused("CPY-TUPLE-1")
        kept = {}
        runs = [
            self.assign(each, Term(type_, lambda _, place=place: kept["all"][place]))
            for place, (each, type_) in enumerate(zip(target.elts, value.type, strict=True))
        ]

        def run(env):
            kept["all"] = value.run(env)
            for each in runs:
                each(env)

        return run

    def bind(self, name, value):
        """Bind a name to a value."""
        before = self.names.get(name)
        is_number = isinstance(value.type, ScalarType) or isinstance(
            value.constant, (bool, int, float, complex, np.generic)
        )
        if not is_number:
            return self.rename(name, before, value)
        value = self.as_number(value)
        if self.loops and isinstance(before, Term):
            raise Refused("CPY-TYPE-4")
        type_ = before if self.loops and before is not None else numbers.settled(value.type)
        numbers.storable(value.type, type_)
        self.names[name] = self.defined[name] = type_

        def run(env):
            env[name] = cast(value.run(env), value.type, type_)

        return run

    def rename(self, name, before, value):
        """Bind a name to an object that is not a number: tuples and views keep their values."""
        if self.loops and before is not None and before is not value:
            raise Refused("CPY-TYPE-4")
        is_kept = isinstance(value.type, (tuple, ArrayType))
        self.names[name] = value._replace(run=lambda env: env[name]) if is_kept else value

        def run(env):
            if is_kept:
                env[name] = value.run(env)

        return run

    def location(self, target):
        """Return the array that is stored to, a function that computes the place, and its type."""
        name = target.attr if isinstance(target, ast.Attribute) else None
        if name is None and isinstance(target.slice, ast.Constant):
            name = target.slice.value if isinstance(target.slice.value, str) else None
        array = self.term(target.value)
        is_array = isinstance(array.type, ArrayType)
        if name is None:
            if not is_array:
                raise Refused("CPY-INDEX-1")
            return array, self.place(target, array), array.type.element
        if not is_array or array.type.element.kind != "record":
            raise Refused("CPY-ATTR-1")
        return array, lambda _: name, array.type.element.fields[name].type

    def store(self, target, value):
        """Set an element, or a field of a record."""
        array, place, type_ = self.location(target)
        numbers.storable(value.type, type_)

        def run(env):
            number = cast(value.run(env), value.type, type_)
            array.run(env)[place(env)] = numbers.to_element(number, type_)

        return run

    def do_augassign(self, node):
        target = node.target
        if isinstance(target, ast.Name):
            left = self.number(ast.Name(target.id, ast.Load()))
            return self.bind(target.id, self.binary(node.op, left, self.number(node.value)))
        (array, place, type_), kept = self.location(target), []
        left = Term(type_, lambda env: numbers.from_element(array.run(env)[kept[-1]][()], type_))
        value = self.binary(node.op, left, self.number(node.value))
        numbers.storable(value.type, type_)

        def run(env):
            kept.append(place(env))
            number = cast(value.run(env), value.type, type_)
            array.run(env)[kept.pop()] = numbers.to_element(number, type_)

        return run

    def do_if(self, node):
        known = self.known(node.test)
        if known is not UNKNOWN:
            return self.block(node.body if known else node.orelse)
        return self.branch(self.truth(node.test), node.body, node.orelse)

    def branch(self, test, *bodies):
        """Return a branch, and whether one of its paths goes on."""
        base = dict(self.names)
        runs, ends = [], []
        for body in bodies:
            self.names = dict(base)
            run, goes_on = self.block(body)
            casts = {}
            runs.append((run, casts))
            if goes_on:
                ends.append((self.names, casts))
        self.names = base if not ends else ends[0][0]
        if len(ends) == 2:
            self.names = self.join(*ends)

        def run(env):
            body, casts = runs[0] if test.run(env) else runs[1]
            signal = body(env)
            if signal is None:
                for name, types in casts.items():
                    env[name] = cast(env[name], *types)
            return signal

        return run, bool(ends)

    def join(self, one, other):
        """Join the types of names after two paths, and record the necessary casts."""
        (a_names, a_casts), (b_names, b_casts) = one, other
        found = {}
        for name in [n for n in a_names if n in b_names]:
            a, b = a_names[name], b_names[name]
            if a is b:
                found[name] = a
            elif isinstance(a, ScalarType) and isinstance(b, ScalarType):
                found[name] = type_ = generic(a, b)
                a_casts[name], b_casts[name] = (a, type_), (b, type_)
        return found

    def loop(self, begin, body):
        """Return a loop's iteration; names that are first assigned in it are undefined after it."""
        before = dict(self.names)
        self.loops += 1
        first = begin()
        run, _ = self.block(body)
        self.loops -= 1
        self.names = before
        return first, run

    def do_while(self, node):
        test, body = self.loop(lambda: self.truth(node.test), node.body)

        def run(env):
            while test.run(env):
                signal = body(env)
                if signal in {"break", "return"}:
                    return signal
            return None

        return self.with_else(node, run)

    def with_else(self, node, loop):
        """Return a loop with its ``else``, which a ``break`` skips, and whether a path goes on."""
        is_left, env_left = has_break(node.body) and bool(node.orelse), {}
        if is_left:
            test = Term(bool_, lambda _: env_left["signal"] is None)
            orelse, goes_on = self.branch(test, node.orelse, [])
        else:
            orelse, goes_on = self.block(node.orelse)

        def run(env):
            signal = env_left["signal"] = loop(env)
            if signal == "return":
                return signal
            return orelse(env) if is_left or signal is None else None

        return run, goes_on

    def do_for(self, node):
        call = node.iter
        called = self.term(call.func).constant if isinstance(call, ast.Call) else None
        if called is not range:
            return self.with_else(node, self.for_tuple(node))
        if not isinstance(node.target, ast.Name):
            raise Refused("CPY-NPM-3")
        given, type_ = self.range(call)
        variable = Term(type_, lambda env: env["next"])
        bind, body = self.loop(lambda: self.bind(node.target.id, variable), node.body)

        def run(env):
            values = [cast(number.run(env), number.type, type_) for number in given]
            for count in () if values[2:] == [0] else range(*values):
                env["next"] = count
                bind(env)
                signal = body(env)
                if signal in {"break", "return"}:
                    return signal
            return None

        return self.with_else(node, run)

    def for_tuple(self, node):
        """Return a loop over the items of a tuple, each of its own type."""
        items = self.items(node.iter, "CPY-NPM-3")
        rounds = []
        for place, type_ in enumerate(items.type):
            item = Term(type_, lambda env, place=place: env["items"][place])
            rounds.append(self.loop(lambda item=item: self.assign(node.target, item), node.body))

        def run(env):
            values = items.run(env)
            for bind, body in rounds:
                env["items"] = values
                bind(env)
                signal = body(env)
                if signal in {"break", "return"}:
                    return signal
            return None

        return run

    def range(self, call):
        """Return the numbers of range(), and their type."""
        if not 1 <= len(call.args) <= 3 or call.keywords:
            raise Refused("CPY-NPM-3")
        given = self.numbers(call.args)
        if any(number.type.kind in {"float", "complex"} for number in given):
            raise Refused("CPY-NPM-3")
        if len(given) == 3 and given[2].constant == 0:
            raise Refused("CPY-NPM-3")
        type_ = generic(*(number.type for number in given))
        if len(given) == 3 and type_.kind == "uint" and (given[2].constant or 0) < 0:
            raise Refused("CPY-NPM-3")
        return given, type_

    def do_break(self, _):
        return lambda _env: "break"

    def do_continue(self, _):
        return lambda _env: "continue"

    def do_assert(self, node):
        before = dict(self.names)
        test = self.truth(node.test)
        self.names = before

        def run(env):
            if self.launch.debug and not test.run(dict(env)):
                raise Ended

        return run

    def do_raise(self, _):
        def run(_):
            raise Ended

        return run

    def do_return(self, node):
        if node.value is None or getattr(node.value, "value", 0) is None:
            self.returned.append(())
            return lambda _env: "return"
        if len(self.callers) == 1:
            raise Refused("CPY-RETURN-1")
        value = self.term(node.value)
        if isinstance(value.type, ArrayType):
            raise Refused("CPY-RETURN-1")
        is_tuple = type(value.type) is tuple
        value = value if is_tuple else self.as_number(value)
        types = value.type if is_tuple else (value.type,)
        self.returned.append(types)

        def run(env):
            found = value.run(env)
            env[LEFT] = (found if is_tuple else (found,)), types
            return "return"

        return run


class Ended(Exception):  # noqa: N818 - not an error
    """The thread raised an exception."""


def _is_set(node):
    return isinstance(node.ctx, ast.Store)


def _first(signals):
    """Run statements up to the first signal to leave, and return the signal."""
    return next((signal for signal in signals if signal is not None), None)


def has_break(body):
    """Whether statements contain a ``break`` of the loop that they are in."""
    for each in body:
        inner = [] if isinstance(each, (ast.For, ast.While)) else getattr(each, "body", [])
        if isinstance(each, ast.Break) or has_break([*inner, *getattr(each, "orelse", [])]):
            return True
    return False


@dataclass
class Launch:
    """A launch, and the place of the thread that runs."""

    debug: bool = False
    size: tuple[int, int] = (1, 1)
    nbytes: int = 0
    place: tuple[int, int] = (0, 0)
    dynamic: np.ndarray | None = None

    def register(self, name, axis):
        """Return a special register, such as ``threadIdx.x``."""
        if axis != "x":
            return int("Dim" in name)
        (blocks, threads), (block, thread) = self.size, self.place
        return {"gridDim": blocks, "blockDim": threads, "blockIdx": block, "threadIdx": thread}[
            name
        ]


class Function:
    """A function of the program under test, from its source."""

    def __init__(self, tree):
        self.tree = tree


def read(text, name, types, scope, launch=None):
    """Return the reader of a kernel's source for argument types.

    Raises
    ------
    Refused
        It is not in the language.
    """
    trees = {tree.name: Function(tree) for tree in ast.parse(text).body}
    tree = trees[name].tree
    names = [each.arg for each in tree.args.args]
    meanings = {each: _parameter(each, type_) for each, type_ in zip(names, types, strict=True)}
    return Reader(tree, {**scope, **trees}, meanings, launch or Launch())


def _parameter(name, type_):
    """Return the meaning of a parameter of the kernel."""
    if type_ in SCALARS:
        return type_
    if isinstance(type_, ScalarType):  # a record
        return Term(ArrayType(type_, 0), lambda env: env[name])
    if isinstance(type_, TupleType):
        if type_.is_none:
            return Term(OUTSIDE, None, None)
        return Term(type_.items, lambda env: env[name])
    return Term(type_, lambda env: env[name])


def _argument(type_, value):
    """Return an argument as the value of a parameter."""
    if isinstance(type_, TupleType):
        return tuple(map(_argument, type_.items, value or ()))
    if isinstance(type_, ArrayType):
        return value
    if type_ not in SCALARS:
        return np.array(value)
    return numbers.from_element(np.dtype(type_.name).type(value), type_)


def run(reader, names, types, arguments):
    """Run all threads of the launch, one after the other, over NumPy arrays and numbers."""
    blocks, threads = reader.launch.size
    for block, thread in np.ndindex(blocks, threads):
        reader.launch.place = block, thread
        reader.launch.dynamic = np.zeros(reader.launch.nbytes, np.uint8)
        env = dict(zip(names, map(_argument, types, arguments), strict=True))
        with np.errstate(all="ignore"), suppress(Ended):
            reader.run(env)


__all__ = ["Function", "Reader", "Refused", "read", "run"]
