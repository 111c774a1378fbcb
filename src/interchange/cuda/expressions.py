"""Expressions of the dialect: from Python's syntax tree to typed values.

Source: CUDA Python Specification 0.2, "Basic Arithmetic Operations" and "Array Operations".
"""

from __future__ import annotations

import ast
from difflib import get_close_matches
from functools import reduce
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from interchange._types.errors import show

from . import choices, ir, known, memory, numbers, tuples, views
from .context import ArrayChoice, Context, Object, Values, is_literal
from .intrinsics import AXES, LaneRegister, Register
from .operators import literal_type, typed_binary, typed_comparison
from .source import MISSING
from .types import BY_NAME, bool_, int32, intp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .context import Meaning


Value = Any  # Expression, ArrayValue, Values or Object

BINARY: Final[dict[type[Any], str]] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<",
    ast.RShift: ">>",
}  # fmt: skip
COMPARED: Final[dict[type[Any], str]] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_WAYS_OUT: Final = {
    ast.MatMult: "write the loops",
    ast.Is: "compare with ==",
    ast.IsNot: "compare with !=",
}


class Expressions(Context):
    """Type inference of expressions; statements that they need are added before them."""

    out: list[ir.Statement]
    in_entry_block: bool

    def value(self, node: ast.expr) -> Value:
        """Return the value of an expression: a number, an array, a tuple, or an object outside."""
        read = self._EXPRESSIONS.get(type(node))
        if read is None:
            self.refuse(node, f"{type(node).__name__} is not in the dialect", "CPY-NPM-2")
        return read(self, node)

    def read_call(self, node: ast.Call) -> Value:
        """Return the value of a call: see `Calls`."""
        raise NotImplementedError

    def number(self, node: ast.expr) -> ir.Expression:
        """Return an expression that must be a number."""
        return self.as_number(node, self.value(node))

    def as_number(self, node: ast.AST, found: Value) -> ir.Expression:
        """Return a value that must be a number."""
        if isinstance(found, Object):
            return self.constant(node, found.value)
        if choices.is_array(found) or isinstance(found, Values):
            kind = "an array" if choices.is_array(found) else "a tuple"
            self.refuse(node, f"{kind} is used as a number", "CPY-TYPE-1")
        result: ir.Expression = found
        return result

    def numbers(self, nodes: Sequence[ast.expr]) -> list[ir.Expression]:
        """Return several expressions, in source order."""
        found: list[ir.Expression] = []
        for node in nodes:
            before = len(self.out)
            number = self.number(node)
            if len(self.out) > before:  # it has effects: values read before must not change
                for place, earlier in enumerate(found):
                    length = len(self.out)
                    found[place] = self.spill(earlier, before)
                    before += len(self.out) - length
            found.append(number)
        return found

    def truth(self, node: ast.expr) -> ir.Expression:
        """Return a condition; for ``and`` and ``or``, the truth of each operand is enough."""
        if isinstance(node, ast.BoolOp):
            return self._shortened(node, self.truth)
        return self.as_truth(node, self.number(node))

    def as_truth(self, _: ast.AST, value: ir.Expression) -> ir.Expression:
        """Return whether a number is not 0."""
        return self.cast(value, bool_)

    # ------------------------------------------------------------ names and constants

    def constant(self, node: ast.AST, value: object) -> ir.Expression:
        """Return a constant from a number of Python or of NumPy."""
        scalar = BY_NAME.get(str(getattr(value, "dtype", "")))
        if scalar is not None and getattr(value, "shape", None) == ():
            return ir.Constant(scalar, value.item())  # type: ignore[attr-defined]
        type_ = literal_type(value)
        if type_ is None:
            if isinstance(value, int):
                self.refuse(node, f"{value} fits no integer type", "CPY-NPM-1")
            self.refuse(node, f"{type(value).__name__} is not a number", "CPY-NPM-1")
        return ir.Constant(type_, value, type(value) is int)

    def _read_constant(self, node: ast.Constant) -> Value:
        """Convert a literal; None and text are objects, which have no operators."""
        if node.value is None or isinstance(node.value, str):
            return Object(node.value)
        return self.constant(node, node.value)

    def _read_name(self, node: ast.Name) -> Value:
        """Convert a name."""
        meaning = self.names.get(node.id)
        if isinstance(meaning, ir.Slot):
            return ir.Read(meaning)
        if isinstance(meaning, ArrayChoice):
            return choices.current(self, meaning)
        if meaning is not None:
            return meaning
        if node.id in self.lost:
            hint = "give it a value before"
            self.refuse(node, f"{node.id} {self.lost[node.id]}", "CPY-NAME-1", hint)
        if self._is_local(node.id):
            self.refuse(node, f"{node.id} has no value yet", "CPY-NAME-1")
        found = self.source.meaning(node.id)
        if found is MISSING:
            if node.id == "xrange":
                return Object(range)
            self.refuse(node, f"{node.id} is not known", "CPY-NAME-1")
        return outer(found)

    def _is_local(self, name: str) -> bool:
        """Whether Python would treat a name as a variable of the function."""
        return name in self.source.code.co_varnames

    def _read_tuple(self, node: ast.Tuple) -> Value:
        """Convert a tuple, whose items are evaluated now."""
        return tuples.read(self, node.elts)

    def _read_named(self, node: ast.NamedExpr) -> Value:
        """Convert an assignment expression."""
        self.bind(node.target, node.target.id, self.value(node.value))
        return self.value(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))

    # ------------------------------------------------------------ arrays

    def _read_attribute(self, node: ast.Attribute) -> Value:
        """Convert an attribute."""
        owner = self.value(node.value)
        if isinstance(owner, Object):
            try:
                found = getattr(owner.value, node.attr)
            except Exception:  # noqa: BLE001 - a property may raise anything
                refuse_attribute(self, node, owner.value)
            if isinstance(found, ModuleType) and node.attr not in dir(owner.value):
                refuse_attribute(self, node, owner.value)  # a module that is not public
            return outer(found)
        if choices.is_array(owner):
            if node.attr == "view":
                return views.ViewMethod(owner)
            return choices.each(self, node, owner, lambda one: self._attribute_of_array(node, one))
        if isinstance(owner, Values) and node.attr in owner.names:
            return views.named(owner, node.attr)
        if not isinstance(owner, Values) and node.attr in numbers.ATTRIBUTES:
            return numbers.ATTRIBUTES[node.attr](self, owner)
        self.refuse(node, f"a number has no attribute {node.attr}", "CPY-ATTR-1")
        return None

    def _attribute_of_array(self, node: ast.Attribute, array: ir.ArrayValue) -> Value:
        """Return an attribute of an array, or a field of its records."""
        if views.is_field(array, node.attr):
            return views.read(self, node, views.field(self, node, array, node.attr))
        if node.attr == "dtype":
            return Object(array.type.element)
        axes = range(array.type.ndim)
        if node.attr == "ndim":
            return ir.Constant(intp, array.type.ndim)
        if node.attr in {"shape", "strides"}:
            return Values(tuple(self.extent(array, axis, node.attr == "strides") for axis in axes))
        if node.attr == "size":
            size: ir.Expression = ir.Constant(intp, 1)
            for axis in axes:
                size = ir.Binary(intp, "*", size, self.extent(array, axis))
            return size
        self.refuse(node, f"an array has no attribute {node.attr}", "CPY-ATTR-1")
        return None

    def extent(self, array: ir.ArrayValue, axis: int, is_stride: bool = False) -> ir.Expression:  # noqa: FBT002
        """Return a length [elements] or a stride [bytes], constant if the array is the kernel's."""
        if isinstance(array, ir.View):
            return (array.steps if is_stride else array.lengths)[axis]
        if array.argument is not None:
            return ir.Extent(array, axis, is_stride)
        return ir.Constant(intp, (array.strides if is_stride else array.shape)[axis])

    def _read_subscript(self, node: ast.Subscript) -> Value:
        """Convert a subscript: an element, or an item of a tuple."""
        owner = self.indexed(node.value, self.value(node.value))
        if isinstance(owner, Values):
            name = views.field_name(node)
            is_field = name in owner.names
            return views.named(owner, name) if is_field else tuples.item(self, node, owner)
        if choices.is_array(owner):
            return choices.each(self, node, owner, lambda one: views.subscript(self, node, one))
        self.refuse(node, "only arrays and tuples can be indexed", "CPY-INDEX-1")
        return None

    def indexed(self, node: ast.AST, owner: Value) -> Value:
        """Return a tuple or an array of the enclosing program as one of the kernel."""
        if isinstance(owner, Object) and hasattr(type(owner.value), "__array_interface__"):
            return memory.constant(self, node, owner.value)
        return tuples.opened(owner)

    def element(self, node: ast.Subscript, array: ir.ArrayValue) -> ir.Element:
        """Return the element that is stored to, with an int for every axis."""
        return views.element(self, node, array)

    def write_to(self, node: ast.AST, array: ir.ArrayValue) -> None:
        """Note that elements of an array are stored to; refuse one that is constant."""
        if array.space == "const":
            self.refuse(node, "a constant array is stored to", "CPY-CONST-2")
        if array.argument is not None:
            self.program.writes.add(array.argument)

    # ------------------------------------------------------------ operators

    def _read_bin_op(self, node: ast.BinOp) -> Value:
        """Convert a binary operation."""
        left, right = self.numbers([node.left, node.right])
        return self.binary(node, node.op, left, right)

    def binary(
        self, node: ast.AST, operator: ast.operator, left: ir.Expression, right: ir.Expression
    ) -> ir.Expression:
        """Return a typed operation."""
        name = BINARY.get(type(operator))
        if name is None:
            what = f"the operator {type(operator).__name__} is not in the dialect"
            self.refuse(node, what, "CPY-NPM-2", _WAYS_OUT.get(type(operator)))
        if is_literal(left) and is_literal(right):
            folded = numbers.folded(name, left, right)
            if folded is not None:
                return self.constant(node, folded)
        exponent = numbers.exponent(right)
        left, right = self.agreed([left, right])
        typed = self.typed(node, typed_binary, name, left.type, right.type)
        if name == "**":
            return numbers.power(self, node, left, right, typed.result, exponent)
        left, right = self.cast(left, typed.operands), self.cast(right, typed.operands)
        if name == "//" and typed.operands.kind != "float":
            done: ir.Expression = ir.Binary(typed.operands, name, left, right)
            return self.cast(done, typed.result)
        return ir.Binary(typed.result, name, left, right)

    def _read_unary_op(self, node: ast.UnaryOp) -> Value:
        """Convert a unary operation."""
        if isinstance(node.op, ast.Not):
            return ir.Unary(bool_, "not", self.truth(node.operand))
        value = self.number(node.operand)
        if isinstance(value, ir.Constant) and value.is_literal:
            return self.constant(node, numbers.SIGNS[type(node.op)](value.value))
        if value.type is bool_:
            if isinstance(node.op, ast.Invert):
                return ir.Unary(bool_, "not", value)
            value = self.cast(value, int32)
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.Invert):
            if not value.type.is_integer:
                self.refuse(node, f"~ of {value.type}", "CPY-TYPE-2")
            return ir.Unary(value.type, "~", value)
        return ir.Unary(value.type, "-", value)

    def _read_compare(self, node: ast.Compare) -> Value:
        """Convert a comparison, or a chain of them."""
        if known.is_about_objects(node):
            return known.compared(self, node)
        for operator in node.ops:
            if type(operator) not in COMPARED:
                what = f"the comparison {type(operator).__name__} is not in the dialect"
                self.refuse(node, what, "CPY-NPM-2", _WAYS_OUT.get(type(operator)))
        if len(node.ops) == 1:
            left, right = self.numbers([node.left, node.comparators[0]])
            return self.compared(node, node.ops[0], left, right)
        result = self.new_slot("_", bool_)
        left = self.put(self.number(node.left))
        self._chain(node, list(zip(node.ops, node.comparators, strict=True)), left, result)
        return ir.Read(result)

    def _chain(
        self,
        node: ast.Compare,
        rest: list[tuple[ast.cmpop, ast.expr]],
        left: ir.Expression,
        to: ir.Slot,
    ) -> None:
        """Compare the first pair, and the rest if it holds."""
        (operator, other), *more = rest
        right = self.put(self.number(other))
        test = self.compared(node, operator, left, right)
        if not more:
            self.out.append(ir.Store(to, test))
            return
        body = self.conditional(lambda: self._chain(node, more, right, to))
        self.out.append(ir.If(test, body, [ir.Store(to, ir.Constant(bool_, False))]))  # noqa: FBT003

    def compared(
        self, node: ast.AST, operator: ast.cmpop, left: ir.Expression, right: ir.Expression
    ) -> ir.Expression:
        """Return a comparison."""
        name = COMPARED[type(operator)]
        common = self.typed(node, typed_comparison, name, left.type, right.type)
        return ir.Binary(bool_, name, self.cast(left, common), self.cast(right, common))

    def _read_bool_op(self, node: ast.BoolOp) -> Value:
        """Convert ``and`` and ``or``: the deciding operand, in the common type of all."""
        return self._shortened(node, self.number)

    def _shortened(
        self, node: ast.BoolOp, read: Callable[[ast.expr], ir.Expression]
    ) -> ir.Expression:
        """Evaluate the first operand, and those after it only if needed."""
        result, stores = self.new_slot("_", bool_), list[ir.Store]()
        self._decide(node, node.values, read, result, stores)
        values = self.agreed([store.value for store in stores])
        result.type = reduce(lambda a, b: self.joined(node, a, b), [each.type for each in values])
        for store, value in zip(stores, values, strict=True):
            store.value = self.cast(value, result.type)
        return ir.Read(result)

    def _decide(
        self,
        node: ast.BoolOp,
        rest: list[ast.expr],
        read: Callable[[ast.expr], ir.Expression],
        to: ir.Slot,
        stores: list[ir.Store],
    ) -> None:
        """Store an operand, and, if it does not decide, the ones after it."""
        first, *more = rest
        if read == self.truth and self.known(first) is isinstance(node.op, ast.Or):
            more = []  # decided here: what follows may be no number
        value = read(first)
        if more and not isinstance(value, ir.Constant):
            value = self.put(value)
        stores.append(ir.Store(to, value))
        self.out.append(stores[-1])
        if more:
            test = self.as_truth(first, value)
            body = self.conditional(lambda: self._decide(node, more, read, to, stores))
            nothing: list[ir.Statement] = []
            is_and = isinstance(node.op, ast.And)
            self.out.append(ir.If(test, *((body, nothing) if is_and else (nothing, body))))

    def _read_if_exp(self, node: ast.IfExp) -> Value:
        """Convert a conditional expression."""
        decided = self.known(node.test)
        if decided is not None:
            return self.value(node.body if decided else node.orelse)
        test = self.truth(node.test)
        found: list[Value] = []
        bodies = [
            self.conditional(lambda each=each: found.append(self.value(each)))  # type: ignore[misc]
            for each in (node.body, node.orelse)
        ]
        chosen = choices.joined(self, bodies, found) if all(map(choices.is_array, found)) else None
        if chosen is not None:
            self.out.append(ir.If(test, *bodies))
            return chosen
        sides = zip((node.body, node.orelse), found, strict=True)
        a, b = values = self.agreed([self.as_number(each, value) for each, value in sides])
        joined = self.joined(node, a.type, b.type)
        result = self.new_slot("_", joined)
        for body, value in zip(bodies, values, strict=True):
            body.append(ir.Store(result, self.cast(value, joined)))
        self.out.append(ir.If(test, *bodies))
        return ir.Read(result)

    _EXPRESSIONS: Final[dict[type[ast.AST], Callable[[Any, Any], Value]]] = {
        ast.Constant: _read_constant,
        ast.Name: _read_name,
        ast.Tuple: _read_tuple,
        ast.Attribute: _read_attribute,
        ast.Subscript: _read_subscript,
        ast.BinOp: _read_bin_op,
        ast.UnaryOp: _read_unary_op,
        ast.Compare: _read_compare,
        ast.BoolOp: _read_bool_op,
        ast.IfExp: _read_if_exp,
        ast.NamedExpr: _read_named,
        ast.Call: lambda self, node: self.read_call(node),
    }
    """Kind of expression -> the method that converts it."""

    def known(self, node: ast.expr) -> bool | None:
        """Return the truth of a condition that is decided now, None if threads decide it."""
        found = known.value(self, node)
        return None if found is known.UNKNOWN else bool(found)

    def conditional(self, act: Callable[[], object]) -> list[ir.Statement]:
        """Return the statements of a part of an expression that is not always evaluated."""
        before = dict(self.names)
        body = self.nested(act)
        for name, meaning in self.names.items():
            if before.get(name) is not meaning:
                self.lost[name] = "is assigned in a part of an expression that may be skipped"
        self.names: dict[str, Meaning] = {n: m for n, m in self.names.items() if before.get(n) is m}
        return body

    def nested(self, act: Callable[[], object]) -> list[ir.Statement]:
        """Return the statements added by a function."""
        kept, self.out = self.out, []
        was, self.in_entry_block = self.in_entry_block, False
        try:
            act()
            return self.out
        finally:
            self.out, self.in_entry_block = kept, was


def outer(value: Any) -> Value:
    """Return the meaning of an outer object in a kernel: a special register, or an object."""
    if isinstance(value, LaneRegister):
        return ir.Lane(int32)
    if isinstance(value, Register):
        return ir.Special(int32, value.name, AXES.index(value.axis))
    return Object(value)


def refuse_attribute(reader: Context, node: ast.Attribute, owner: object) -> NoReturn:
    """Raise the error for a name that a module or another object lacks; with close names."""
    shown = getattr(owner, "__name__", None) or show(owner)
    close = get_close_matches(node.attr, dir(owner), n=3, cutoff=0.6)
    hint = f"is it {' or '.join(f'{shown}.{name}' for name in close)}?" if close else None
    reader.refuse(node, f"{shown} has no {node.attr}", "CPY-NAME-1", hint)
