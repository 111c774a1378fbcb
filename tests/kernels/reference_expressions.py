"""Expressions in the reference interpreter: a type for each, and a closure that returns its value.

Source: CUDA Python Specification 0.2, independent of the compiler.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
from typing import Any, NamedTuple

import numpy as np

from interchange.cuda.atomics import (
    Atomic,
    threadfence,
    threadfence_block,
    threadfence_system,
)
from interchange.cuda.intrinsics import (
    Intrinsic,
    Register,
    const,
    grid,
    gridsize,
    local,
    shared,
    syncthreads,
)
from interchange.cuda.types import (
    BY_NAME,
    HALVES,
    PART_OF,
    ArrayType,
    ScalarType,
    bool_,
    int32,
    intp,
)

from . import reference_functions as functions, reference_numbers as numbers, reference_warps
from .reference_numbers import Refused, cast, generic

BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<",
    ast.RShift: ">>",
}  # fmt: skip
COMPARED = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
FOLDED = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv,
    "%": operator.mod, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
_NOTHING = (syncthreads, threadfence, threadfence_block, threadfence_system)
OUTSIDE = object()
"""Type of objects that are not values of the language: modules, functions, types."""
LEFT = "what a function returned"
NUMBERS = (bool, int, float, complex, np.generic)
"""Classes of constants that are numbers."""
UNKNOWN = object()
"""Truth of a condition that threads decide."""
ORDERS = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip


class Term(NamedTuple):
    """A type (of a tuple: several), a function that returns the value, and a literal's value."""

    type: Any
    run: Any
    constant: Any = None


class Expressions:
    """Reads expressions over `names`: name -> type of a number, or term of another object."""

    # ------------------------------------------------------------ what is asked of an expression

    def term(self, node):
        """Return the term of an expression."""
        read = getattr(self, f"read_{type(node).__name__.lower()}", None)
        if read is None:
            raise Refused("CPY-NPM-2")
        return read(node)

    def as_number(self, term):
        """Return a term as a number; constants outside of the kernel are numbers."""
        if term.type is OUTSIDE:
            return constant(term.constant)
        if not isinstance(term.type, ScalarType):
            raise Refused("CPY-TYPE-1")
        return term

    def number(self, node):
        """Return an expression that must be a number."""
        return self.as_number(self.term(node))

    def numbers(self, nodes):
        """Return several numbers."""
        return [self.number(node) for node in nodes]

    def truth(self, node):
        """Return a condition; for and, or, that of all operands."""
        if isinstance(node, ast.BoolOp):
            terms = []
            for each in node.values:
                terms.append(self.truth(each))
                if self.known(each) is isinstance(node.op, ast.Or):
                    break
            return self.decided(node, terms)
        return _truth(self.number(node))

    # ------------------------------------------------------------ expressions

    def read_constant(self, node):
        if node.value is None or isinstance(node.value, str):
            return Term(OUTSIDE, None, node.value)
        return constant(node.value)

    def read_name(self, node):
        meaning = self.names.get(node.id)
        if isinstance(meaning, Term):
            return meaning
        if meaning is not None:
            return Term(meaning, lambda env: env[node.id])
        if node.id in self.local:
            raise Refused("CPY-NAME-1")
        for place in (self.scope, vars(builtins)):
            if node.id in place:
                return Term(OUTSIDE, None, place[node.id])
        raise Refused("CPY-NAME-1")

    def read_tuple(self, node):
        items = [_numeric(self.term(each)) for each in node.elts]
        return Term(
            tuple(item.type for item in items), lambda env: tuple(i.run(env) for i in items)
        )

    def items(self, node, rule):
        """Return the term of a tuple, a list, or what enumerate() and others make of one."""
        if isinstance(node, ast.List):
            return self.read_tuple(node)
        if isinstance(node, ast.Call):
            called = self.term(node.func).constant
            given = [self.items(each, rule) for each in node.args]
            if called is enumerate:
                pairs = tuple((intp, each) for each in given[0].type)
                return Term(pairs, lambda env: tuple(enumerate(given[0].run(env))))
            if called is zip:
                types = tuple(zip(*(each.type for each in given), strict=False))
                runs = [each.run for each in given]
                return Term(types, lambda env: tuple(zip(*(r(env) for r in runs), strict=False)))
            if called is reversed:
                return Term(given[0].type[::-1], lambda env: given[0].run(env)[::-1])
        found = self.term(node)
        if isinstance(found.constant, tuple):
            terms = tuple(constant(each) for each in found.constant)
            return Term(tuple(t.type for t in terms), lambda env: tuple(t.run(env) for t in terms))
        if type(found.type) is not tuple:
            raise Refused(rule)
        return found

    def read_namedexpr(self, node):
        value = self.term(node.value)
        bind = self.bind(node.target.id, value)
        name = self.read_name(ast.Name(node.target.id, ast.Load()))

        def run(env):
            bind(env)
            return name.run(env)

        return Term(name.type, run)

    def known(self, node):
        """Return the truth of a condition over objects outside and numbers of axes."""
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self.known_operand(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            found = self.known(node.operand)
            return found if found is UNKNOWN else not found
        if isinstance(node, ast.BoolOp):
            found = UNKNOWN
            for each in node.values:
                found = self.known(each)
                if found is UNKNOWN or bool(found) is isinstance(node.op, ast.Or):
                    break
            return found
        if not isinstance(node, ast.Compare) or len(node.ops) > 1:
            return UNKNOWN
        sides = node.left, node.comparators[0]
        if isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            return self.read_compare(node).constant
        a, b = map(self.known_operand, sides)
        is_literal = all(isinstance(each, ast.Constant) for each in sides)
        if is_literal or type(node.ops[0]) not in ORDERS or {a, b} & {UNKNOWN, None}:
            return UNKNOWN
        return ORDERS[type(node.ops[0])](a, b)

    def known_operand(self, node):
        """Return None or an int that is no variable."""
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Constant)):
            return UNKNOWN
        if isinstance(node, ast.Attribute) and not isinstance(node.value, ast.Name):
            return UNKNOWN
        found = self.term(node)
        is_none = found.type is OUTSIDE and found.constant is None
        return found.constant if is_none or type(found.constant) in {bool, int} else UNKNOWN

    def read_attribute(self, node):
        owner, name = self.term(node.value), node.attr
        if owner.type is OUTSIDE:
            if not hasattr(owner.constant, name):
                raise Refused("CPY-NAME-1")
            found = getattr(owner.constant, name)
            if isinstance(found, Register):
                name = found.name
                return Term(int32, lambda _: self.launch.register(name, found.axis))
            register = reference_warps.attribute(found)
            return Term(*register) if register else Term(OUTSIDE, None, found)
        if _is_of_records(owner) and name in owner.type.element.fields:
            return self.field(owner, name)
        if isinstance(owner.type, ArrayType) and name in {"shape", "strides", "size", "ndim"}:
            type_ = (intp,) * owner.type.ndim if name in {"shape", "strides"} else intp
            known = owner.type.ndim if name == "ndim" else None
            return Term(type_, lambda env: getattr(owner.run(env), name), known)
        if owner.type in PART_OF and name in {"real", "imag"}:
            return Term(PART_OF[owner.type], lambda env: owner.run(env)[name == "imag"])
        if isinstance(owner.type, ScalarType) and name in {"conj", "conjugate"}:
            return owner._replace(constant=functions.conjugate)
        if isinstance(owner.type, ScalarType) and name in {"real", "imag"}:
            type_ = numbers.settled(owner.type)
            if name == "real":
                return owner
            return Term(type_, lambda _: cast(0, int32, type_))
        raise Refused("CPY-ATTR-1")

    def array(self, node):
        """Return the term of an expression; an array outside of the kernel is constant."""
        found = self.term(node)
        return self.constant_array(found) if isinstance(found.constant, np.ndarray) else found

    def constant_array(self, found):
        """Return a global array as one of the kernel."""
        array = found.constant
        return Term(ArrayType(BY_NAME[array.dtype.name], array.ndim, True), lambda _: array)  # noqa: FBT003

    def loaded(self, node, array):
        """Return an element of an array, or a view of a row or a slice."""
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return self.field(array, node.slice.value)
        (place, left), type_ = self.selection(node, array), array.type.element
        if type_.kind == "record" and not left:
            return Term(ArrayType(type_, 0), lambda env: array.run(env)[(*place(env), ...)])
        if left:
            return Term(ArrayType(type_, left), lambda env: array.run(env)[place(env)])
        return Term(type_, lambda env: numbers.from_element(array.run(env)[place(env)], type_))

    def field(self, array, name):
        """Return a field of one record or of several."""
        field = array.type.element.fields[name]
        ndim = array.type.ndim + len(field.shape)
        if ndim:
            return Term(ArrayType(field.type, ndim), lambda env: array.run(env)[name])
        return Term(
            field.type, lambda env: numbers.from_element(array.run(env)[name][()], field.type)
        )

    def read_subscript(self, node):
        owner = self.array(node.value)
        if isinstance(owner.type, ArrayType):
            return self.loaded(node, owner)
        if isinstance(owner.constant, tuple):
            owner = self.items(node.value, "CPY-INDEX-1")
        if type(owner.type) is not tuple:
            raise Refused("CPY-INDEX-1")
        if isinstance(node.slice, ast.Slice):
            bounds = node.slice.lower, node.slice.upper, node.slice.step
            part = slice(*(each and self.number(each).constant for each in bounds))
            return Term(owner.type[part], lambda env: owner.run(env)[part])
        number, count = self.number(node.slice), len(owner.type)
        index = number.constant
        if index is None:
            if not number.type.is_integer:
                raise Refused("CPY-INDEX-2")
            types = set(numbers.agreed(owner.type))
            if len(types) != 1:
                raise Refused("CPY-TUPLE-1")

            def run(env):
                place = number.run(env)
                return owner.run(env)[place if -count <= place < count else -1]

            return Term(types.pop(), run)
        if not isinstance(index, int) or not -count <= index < count:
            raise Refused("CPY-TUPLE-1")
        return Term(owner.type[index], lambda env: owner.run(env)[index])

    def place(self, node, array):
        """Return a function that computes the indices of an element that is stored to."""
        run, ndim = self.selection(node, array)
        if ndim:
            raise Refused("CPY-INDEX-1")
        return run

    def selection(self, node, array):
        """Return a function that computes indices and slices, and the axes that they leave."""
        nodes = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        dots = [k for k, each in enumerate(nodes) if getattr(each, "value", None) is Ellipsis]
        given, ndim = len(nodes) - len(dots), array.type.ndim
        if len(dots) > 1 or given > ndim:
            raise Refused("CPY-INDEX-1")
        at = dots[0] if dots else given
        nodes[at : at + len(dots)] = [ast.Slice()] * (ndim - given)
        parts = [self.part(each, array, axis) for axis, each in enumerate(nodes)]
        left = sum(isinstance(each, ast.Slice) for each in nodes)
        return lambda env: tuple(part(env) for part in parts), left

    def part(self, node, array, axis):
        """Return a function that computes the index or the slice of an axis."""
        if isinstance(node, ast.Slice):
            bounds = [None if n is None else self.index(n) for n in (node.lower, node.upper)]
            step = None if node.step is None else self.number(node.step).constant
            return lambda env: slice(*(n and n(env) for n in bounds), step)
        index, is_from_end = self.index(node), _is_written_below_0(node)
        return lambda env: index(env) + array.run(env).shape[axis] * is_from_end

    def index(self, node):
        """Return a function that computes an index."""
        number = self.number(node)
        if not number.type.is_integer:
            raise Refused("CPY-INDEX-2")
        return lambda env: cast(number.run(env), number.type, intp)

    def new_array(self, nodes):
        """Return an array that the kernel creates; a thread alone has it for itself."""
        place = compile(ast.Expression(nodes[0]), "<shape>", "eval")
        shape = eval(place, {**vars(builtins), **self.scope})  # noqa: S307 - drawn by the tests
        dtype = self.dtype(nodes[1])
        if shape == 0:
            count = self.launch.nbytes // dtype.itemsize
            read = lambda _: self.launch.dynamic[: count * dtype.itemsize].view(dtype.name)  # noqa: E731
            return Term(ArrayType(dtype, 1, in_c_order=True), read)
        type_ = ArrayType(dtype, len(shape) if isinstance(shape, (tuple, list)) else 1, True)  # noqa: FBT003
        return Term(type_, lambda _: np.zeros(shape, dtype.name))

    def dtype(self, node):
        """Return an element type, which is a type here or a class of NumPy."""
        given = self.term(node).constant
        return functions.as_type(given) or given

    def viewed(self, array, node):
        """Return an array whose bytes have another type."""
        dtype = self.dtype(node)
        type_ = ArrayType(dtype, array.type.ndim, array.type.in_c_order)
        return Term(type_, lambda env: array.run(env).view(dtype.name))

    def read_binop(self, node):
        return self.binary(node.op, self.number(node.left), self.number(node.right))

    def binary(self, operator, left, right):
        """Return an operation of two numbers."""
        if type(operator) not in BINARY:
            raise Refused("CPY-NPM-2")
        name = BINARY[type(operator)]
        found = _folded(name, left, right)
        if found is not None:
            return constant(found)
        exponent = right.constant if right.type in numbers.PLAIN else None
        if name == "**" and exponent is not None:
            return self.power(left, right, exponent)
        operands, result = numbers.binary_types(name, left.type, right.type)

        def run(env):
            x = cast(left.run(env), left.type, operands)
            return numbers.binary(
                name, operands, result, x, cast(right.run(env), right.type, operands)
            )

        return Term(result, run)

    def power(self, left, right, exponent):
        """Return a number to the power of a literal, by multiplication if it is small."""
        type_ = numbers.generic(left.type, right.type)
        if exponent < 0 and type_.is_integer:
            raise Refused("CPY-TYPE-5")

        def run(env):
            x = cast(left.run(env), left.type, type_)
            if not 1 <= exponent <= 4:
                y = cast(exponent, right.type, type_)
                return numbers.binary("**", type_, type_, x, y)
            found = x
            steps = {1: (), 2: (x,), 3: (x, x), 4: (x, None)}[exponent]
            for factor in steps:
                found = numbers.binary("*", type_, type_, found, found if factor is None else x)
            return found

        return Term(type_, run)

    def read_unaryop(self, node):
        if isinstance(node.op, ast.Not):
            test = self.truth(node.operand)
            return Term(bool_, lambda env: not test.run(env))
        value = self.number(node.operand)
        if value.type in numbers.PLAIN:
            signs = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}
            return constant(signs[type(node.op)](value.constant))
        type_ = int32 if value.type is bool_ else value.type
        if isinstance(node.op, ast.Invert) and not type_.is_integer:
            raise Refused("CPY-TYPE-2")
        if isinstance(node.op, ast.UAdd):
            return Term(type_, lambda env: cast(value.run(env), value.type, type_))
        if isinstance(node.op, ast.Invert) and value.type is bool_:
            return Term(bool_, lambda env: not value.run(env))
        name = "-" if isinstance(node.op, ast.USub) else "~"
        return Term(
            type_, lambda env: numbers.unary(name, type_, cast(value.run(env), value.type, type_))
        )

    def read_compare(self, node):
        if any(isinstance(each, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for each in node.ops):
            return self.about_objects(node)
        terms, tests = [self.number(node.left)], []
        for each, other in zip(node.ops, node.comparators, strict=True):
            terms.append(self.number(other))
            if type(each) not in COMPARED:
                raise Refused("CPY-NPM-2")
            common = generic(terms[-2].type, terms[-1].type)
            if common.kind == "complex" and not isinstance(each, (ast.Eq, ast.NotEq)):
                raise Refused("CPY-TYPE-3")
            tests.append((COMPARED[type(each)], common))

        def run(env):
            left = terms[0].run(env)
            for (name, common), one, other in zip(tests, terms, terms[1:], strict=False):
                right = other.run(env)
                x, y = cast(left, one.type, common), cast(right, other.type, common)
                if not numbers.compare(name, x, y):
                    return False
                left = right
            return True

        return Term(bool_, run)

    def about_objects(self, node):
        """Return the result of ``is`` or ``in``."""
        if len(node.ops) > 1:
            raise Refused("CPY-NPM-2")
        test, container = node.ops[0], node.comparators[0]
        if isinstance(test, (ast.Is, ast.IsNot)):
            a, b = self.term(node.left), self.term(container)
            nones = [each.type is OUTSIDE and each.constant is None for each in (a, b)]
            if not any(nones) and not a.type is b.type is OUTSIDE:
                raise Refused("CPY-NPM-2")
            same = all(nones) or (not any(nones) and a.constant is b.constant)
            found = same is isinstance(test, ast.Is)
            return Term(bool_, lambda _: found, found)
        left, items = self.number(node.left), self.items(container, "CPY-NPM-2")
        commons = [generic(left.type, each) for each in items.type]

        def run(env):
            value, pairs = left.run(env), zip(items.run(env), items.type, commons, strict=True)
            is_in = any(cast(value, left.type, c) == cast(each, t, c) for each, t, c in pairs)
            return is_in is isinstance(test, ast.In)

        return Term(bool_, run)

    def read_boolop(self, node):
        terms = [self.number(node.values[0])]
        for each in node.values[1:]:
            _truth(terms[-1])
            terms.append(self.number(each))
        return self.decided(node, terms)

    def decided(self, node, terms):
        """Return the first term that decides, or the last."""
        type_ = numbers.common([term.type for term in terms])
        is_and = isinstance(node.op, ast.And)

        def run(env):
            for term in terms:
                value = term.run(env)
                if cast(value, term.type, bool_) is not is_and:
                    break
            return cast(value, term.type, type_)

        return Term(type_, run)

    def read_ifexp(self, node):
        known = self.known(node.test)
        if known is not UNKNOWN:
            return self.term(node.body if known else node.orelse)
        test, a, b = self.truth(node.test), self.number(node.body), self.number(node.orelse)
        type_ = numbers.common([a.type, b.type])

        def run(env):
            taken = a if test.run(env) else b
            return cast(taken.run(env), taken.type, type_)

        return Term(type_, run)

    # ------------------------------------------------------------ calls

    def read_call(self, node):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "view":
            return self.viewed(self.array(node.func.value), node.args[0])
        function = self.term(node.func)
        called = functions.as_type(function.constant) or function.constant
        if called is functions.conjugate and not node.args:
            return functions.conjugate(function)
        takes_keywords = hasattr(called, "tree") or called is shared.array
        if function.type is not OUTSIDE or (node.keywords and not takes_keywords):
            raise Refused("CPY-CALL-1")
        if called in {enumerate, zip, reversed}:
            return self.items(node, "CPY-NPM-3")
        if isinstance(called, Intrinsic):
            return self.of_threads(called, [*node.args, *(each.value for each in node.keywords)])
        keywords = {each.arg: self.term(each.value) for each in node.keywords}
        if hasattr(called, "tree"):
            return self.called(called, [self.term(each) for each in node.args], keywords)
        return self.known_call(node, called)

    def known_call(self, node, called):
        """Return the result of a type, or of a function of Python or NumPy."""
        if isinstance(called, ScalarType):
            return self.cast_to(called, self.numbers(node.args))
        if called is len:
            return self.length([self.term(each) for each in node.args])
        if functions.is_known(called):
            return functions.call(self, called, [self.term(each) for each in node.args])
        name = getattr(called, "__name__", "")
        if getattr(math, name, None) is called:
            return self.mathematics(name, self.numbers(node.args))
        raise Refused("CPY-CALL-1")

    def of_threads(self, called, nodes):
        """Return a call of an intrinsic, of a thread that is alone."""
        if called in _NOTHING and not nodes:
            return Term((), lambda _: ())  # it does not wait
        if reference_warps.is_known(called):
            return Term(*reference_warps.called(called, self.numbers(nodes)))
        if isinstance(called, Atomic):
            return self.atomic(called, nodes)
        if called in {grid, gridsize}:
            return self.position(called)
        if called is const.array_like:
            return self.array(nodes[0])
        if called in {local.array, shared.array}:
            return self.new_array(nodes)
        if called.reference is None:
            raise Refused("CPY-CALL-1")
        return self.intrinsic(called, self.numbers(nodes))

    def position(self, called):
        """Return the place of the thread in the grid, or the number of threads."""

        def run(_):
            block, size = self.launch.place[0], self.launch.size
            if called is gridsize:
                return size[0] * size[1]
            return block * size[1] + self.launch.place[1]

        return Term(intp, run)

    def cast_to(self, type_, given):
        """Return a number cast to a type, or a complex number of two parts."""
        wanted = PART_OF[type_] if len(given) == 2 and type_ in PART_OF else type_
        if wanted is type_ and len(given) != 1:
            raise Refused("CPY-CALL-1")
        for number in given:
            numbers.storable(number.type, wanted)

        def run(env):
            found = tuple(cast(number.run(env), number.type, wanted) for number in given)
            return found if len(found) == 2 else found[0]

        return Term(type_, run)

    def intrinsic(self, called, given):
        """Return the result that the row of an intrinsic gives."""
        if len(given) != len(called.parameters):
            raise Refused("CPY-CALL-1")
        for number, type_ in zip(given, called.parameters, strict=True):
            numbers.storable(number.type, type_)

        def run(env):
            pairs = zip(given, called.parameters, strict=True)
            return called.reference(*(cast(n.run(env), n.type, type_) for n, type_ in pairs))

        return Term(called.result, run)

    def atomic(self, called, nodes):
        """Return an operation of one thread: it reads an element, and stores another value."""
        if len(nodes) != len(called.parameters):
            raise Refused("CPY-CALL-1")
        array = self.term(nodes[0])
        type_ = array.type.element if isinstance(array.type, ArrayType) else None
        if (
            type_ is None
            or type_.kind not in called.kinds
            or (type_.bits not in {32, 64} and type_ not in HALVES)
        ):
            raise Refused("CPY-ATOMIC-1")
        place = self.place(ast.Subscript(nodes[0], nodes[1]), array)
        given = self.numbers(nodes[2:])
        for number in given:
            numbers.storable(number.type, type_)

        def run(env):
            where = place(env)
            values = [cast(number.run(env), number.type, type_) for number in given]
            held = array.run(env)
            old = held[where]
            values = [numbers.to_element(value, type_) for value in values]
            held[where] = numbers.ATOMIC[called.operation](old, *values)
            return numbers.from_element(old, type_)

        return Term(type_, run)

    def length(self, given):
        """Return the length of an array, or of a tuple."""
        type_ = given[0].type if len(given) == 1 else None
        if not isinstance(type_, (ArrayType, tuple)) or type_ == ():
            raise Refused("CPY-CALL-1")
        known = None if isinstance(type_, ArrayType) else len(type_)
        return Term(intp, lambda env: len(given[0].run(env)), known)

    def mathematics(self, name, given):
        """Return a function of math."""
        count = 1 if name in numbers.ONE_ARGUMENT else 2 if name in numbers.TWO_ARGUMENTS else None
        if count != len(given):
            raise Refused("CPY-CALL-1")
        type_ = numbers.promoted([number.type for number in given])

        def run(env):
            values = [cast(number.run(env), number.type, type_) for number in given]
            return numbers.mathematics(name, type_, values)

        return Term(bool_ if name.startswith("is") else type_, run)

    def called(self, function, given, keywords):
        """Return the result of a function of the program, read for these types."""
        if function.tree.name in self.callers:
            raise Refused("CPY-CALL-2")
        bound = self.bound(function.tree.args, given, keywords)
        names, given = [*bound], [*bound.values()]
        given = [_parameter(self, term) for term in given]
        meanings = {name: _meaning(name, term) for name, term in zip(names, given, strict=True)}
        body = type(self)(function.tree, self.scope, meanings, self.launch, self.callers)
        types = body.joined()

        def run(env):
            inner = {n: term.run(env) for n, term in zip(names, given, strict=True) if term.run}
            body.run(inner)
            values, sources = inner.get(LEFT, ((), ()))
            found = cast_all(values, sources, types)
            return found[0] if len(types) == 1 else found

        return Term(types[0] if len(types) == 1 else types, run)

    def bound(self, parameters, given, keywords):
        """Return the term of each parameter, by the rules of calls."""
        by_place = [*parameters.posonlyargs, *parameters.args]
        names = [each.arg for each in by_place]
        found = dict(zip(names, given, strict=False))
        only = {each.arg for each in parameters.posonlyargs}
        if len(given) > len(names) or set(keywords) & (found.keys() | only):
            raise Refused("CPY-CALL-1")
        found.update(keywords)
        last = len(parameters.defaults)
        defaults = dict(zip(names[-last:], parameters.defaults, strict=True)) if last else {}
        pairs = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
        defaults.update({each.arg: node for each, node in pairs if node})
        every = [*names, *(each.arg for each in parameters.kwonlyargs)]
        for name in every:
            if name not in found and name in defaults:
                found[name] = self.term(defaults[name])
        if set(found) != set(every):
            raise Refused("CPY-CALL-1")
        return {name: found[name] for name in every}


def join_types(types):
    """Return the type of a value that has one of several types; of a tuple, that of each item."""
    if all(type(each) is tuple for each in types):
        if len(set(map(len, types))) > 1:
            raise Refused("CPY-RETURN-1")
        return tuple(map(join_types, zip(*types, strict=True)))
    if not all(isinstance(each, ScalarType) for each in types):
        raise Refused("CPY-RETURN-1")
    return numbers.common(types)


def cast_all(values, sources, types):
    """Return the items of a tuple cast to the types of another."""
    return tuple(
        cast(*each) if isinstance(each[2], ScalarType) else cast_all(*each)
        for each in zip(values, sources, types, strict=True)
    )


def _numeric(term):
    """Return a number outside of the kernel as one inside."""
    is_number = term.type is OUTSIDE and isinstance(term.constant, NUMBERS)
    return constant(term.constant) if is_number else term


def constant(value):
    """Return a number that is a literal, or a constant outside of the kernel."""
    if isinstance(value, np.generic):
        type_ = BY_NAME[str(value.dtype)]
        value = value.item()
    else:
        type_ = numbers.literal(value)
    raw = value
    if type_.kind == "complex":
        raw = numbers.from_element(np.dtype(type_.name).type(value), type_)
    elif type_.kind == "float":
        raw = numbers.as_float(value, type_)
    return Term(type_, lambda _: raw, value)


def _folded(name, left, right):
    """Return the int of an operation of two literals, None if there is none."""
    if not {left.type, right.type} <= numbers.PLAIN.keys():
        return None
    a, b = left.constant, right.constant
    if a is None or b is None:
        return None
    is_counted = name in {"<<", ">>", "**"}
    if name == "/" or (name in {"//", "%"} and b == 0) or (is_counted and not 0 <= b < 64):
        return None
    found = a**b if name == "**" else FOLDED[name](a, b)
    return found if -(2**63) <= found < 2**64 else None


def _truth(number):
    """Return whether a number is not 0."""
    return Term(bool_, lambda env: cast(number.run(env), number.type, bool_))


def _parameter(reader, term):
    """Return the argument of a function: constants outside of the kernel are numbers."""
    is_number = isinstance(term.constant, NUMBERS)
    return reader.as_number(term) if term.type is OUTSIDE and is_number else term


def _meaning(name, term):
    """Return the term of a parameter in the function: its own value, or an outer object."""
    if isinstance(term.type, ScalarType):
        return numbers.settled(term.type)
    return term if term.run is None else Term(term.type, lambda env: env[name])


def _is_of_records(term):
    """Return whether a term is an array of records, or one record."""
    return isinstance(term.type, ArrayType) and term.type.element.kind == "record"


def _is_written_below_0(node):
    """Return whether an index is a literal with a minus sign."""
    is_minus = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    number = getattr(node.operand, "value", None) if is_minus else None
    return isinstance(number, int) and not isinstance(number, bool) and number > 0
