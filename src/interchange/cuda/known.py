"""Tests that are decided when a kernel is compiled: ``is None``, ``in``, constants outside.

Source: the Python Language Reference, "Comparisons".  Of a branch that is decided, only the taken
part is compiled, so that ``if x is not None`` may index ``x``.
"""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING, Any, Final

from . import ir, tuples
from .context import Object, Values
from .types import bool_

if TYPE_CHECKING:
    from .context import Context

UNKNOWN: Final = object()
"""The result of a test that threads decide."""
_COMPARED: Final[dict[type[ast.cmpop], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_IDENTITY: Final = (ast.Is, ast.IsNot)
_MEMBERSHIP: Final = (ast.In, ast.NotIn)


def value(reader: Context, node: ast.expr) -> Any:
    """Return the value of a test that depends on objects and numbers of axes only, or `UNKNOWN`."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        return _operand(reader, node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        found = value(reader, node.operand)
        return found if found is UNKNOWN else not found
    if isinstance(node, ast.BoolOp):
        return _decided(reader, node)
    if isinstance(node, ast.Compare):
        return _comparison(reader, node)
    return UNKNOWN


def _decided(reader: Context, node: ast.BoolOp) -> Any:
    """Return the result of ``and`` or ``or``, as far as its operands are known."""
    found: Any = UNKNOWN
    for each in node.values:
        found = value(reader, each)
        if found is UNKNOWN or bool(found) is isinstance(node.op, ast.Or):
            break
    return found


def _comparison(reader: Context, node: ast.Compare) -> Any:
    """Return the result of one comparison."""
    if len(node.ops) != 1 or isinstance(node.ops[0], _MEMBERSHIP):
        return UNKNOWN
    other, test = node.comparators[0], node.ops[0]
    if isinstance(test, _IDENTITY):
        return _is_same(reader, node) is isinstance(test, ast.Is)
    if isinstance(node.left, ast.Constant) and isinstance(other, ast.Constant):
        return UNKNOWN  # two literals have types, and are compared in one of them
    a, b = _operand(reader, node.left), _operand(reader, other)
    return UNKNOWN if UNKNOWN in (a, b) or None in (a, b) else _COMPARED[type(test)](a, b)


def _operand(reader: Context, node: ast.expr) -> Any:
    """Return None, or an int, that a literal, a name or an attribute stands for."""
    found: Any = node.value if isinstance(node, ast.Constant) else UNKNOWN
    if _is_name(node):
        meaning = reader.value(node)
        found = meaning.value if isinstance(meaning, (Object, ir.Constant)) else UNKNOWN
    return found if found is None or type(found) in {bool, int} else UNKNOWN


def _is_name(node: ast.expr) -> bool:
    """Whether an expression is a name, or attributes of one: it has no effects."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def is_about_objects(node: ast.Compare) -> bool:
    """Whether ``is`` or ``in`` is among the operators."""
    return any(isinstance(each, (*_IDENTITY, *_MEMBERSHIP)) for each in node.ops)


def compared(reader: Context, node: ast.Compare) -> ir.Expression:
    """Return the result of ``is`` or ``in``."""
    if len(node.ops) > 1:
        what = "a chain of comparisons with is or in"
        reader.refuse(node, what, "CPY-NPM-2", "write two comparisons, and `and` between them")
    test = node.ops[0]
    if isinstance(test, _IDENTITY):
        return ir.Constant(bool_, _is_same(reader, node) is isinstance(test, ast.Is))
    found = _is_among(reader, node)
    return ir.Unary(bool_, "not", found) if isinstance(test, ast.NotIn) else found


def _is_same(reader: Context, node: ast.Compare) -> bool:
    """Whether two expressions are the same object; numbers and arrays are never None."""
    sides = node.left, node.comparators[0]
    found = [reader.value(each) for each in sides]
    is_none = [isinstance(each, Object) and each.value is None for each in found]
    if any(is_none):
        return all(is_none)
    a, b = found
    if not isinstance(a, Object) or not isinstance(b, Object):
        words = "==" if isinstance(node.ops[0], ast.Is) else "!="
        reader.refuse(node, "the identity of numbers", "CPY-NPM-2", f"compare with {words}")
    return a.value is b.value


def _is_among(reader: Context, node: ast.Compare) -> ir.Expression:
    """Return whether a number equals one of a tuple's items."""
    container = node.comparators[0]
    left = reader.put(reader.number(node.left))
    if isinstance(container, (ast.List, ast.Set)):
        items: Any = tuples.read(reader, container.elts)
    else:
        items = tuples.opened(reader.value(container))
    if not isinstance(items, Values):
        what = "`in` of something that is no tuple"
        reader.refuse(container, what, "CPY-NPM-2", "write a tuple, or the loop")
    found: ir.Expression = ir.Constant(bool_, False)  # noqa: FBT003
    for each in items.items:
        right = reader.as_number(container, each)
        found = ir.Binary(bool_, "|", found, reader.compared(node, ast.Eq(), left, right))
    return found
