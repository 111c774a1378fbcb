"""Tuples in kernels: their items, loops over them, and the functions that make them.

Source: CUDA Python Specification 0.2, "No-Python Mode" (unpacking); the Python Language Reference,
"The for statement".  A tuple exists while a kernel is compiled only: each item is a variable, and a
loop over it is unrolled.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

from . import choices, ir
from .context import Object, Values
from .types import bool_, intp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .context import Context


MOST_ROUNDS: Final = 256
"""Of a loop over a tuple, whose statements are repeated."""


def opened(value: Any) -> Any:
    """Return the items of a tuple of the program around the kernel; another value as it is."""
    if isinstance(value, Object) and isinstance(value.value, tuple):
        return Values(tuple(map(Object, value.value)))
    return value


def is_kept(value: Any) -> bool:
    """Whether a value cannot change: a number that is no constant is stored in a variable."""
    return choices.is_array(value) or isinstance(value, (Object, Values, ir.Constant))


def read(reader: Context, nodes: Sequence[ast.expr]) -> Values:
    """Return a tuple of expressions, which are evaluated now, in their order."""
    found: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            found += _items(reader, node.value, "only a tuple can be unpacked")
            continue
        value = reader.value(node)
        found.append(value if is_kept(value) else reader.put(value))
    return Values(tuple(found))


def _items(reader: Context, node: ast.expr, what: str) -> tuple[Any, ...]:
    """Return the items of an expression that must be a tuple."""
    found = opened(reader.value(node))
    if not isinstance(found, Values):
        reader.refuse(node, what, "CPY-TUPLE-1")
    return found.items


def item(reader: Context, node: ast.Subscript, values: Values) -> Any:
    """Return an item of a tuple, or some of them: ``x.shape[1:]``."""
    count = len(values.items)
    if isinstance(node.slice, ast.Slice):
        given = node.slice.lower, node.slice.upper, node.slice.step
        bounds = [None if each is None else _constant(reader, each) for each in given]
        return Values(values.items[slice(*bounds)])
    index = reader.number(node.slice)
    place = _literal(index)
    if place is None:
        return _chosen(reader, node, values, index)
    if not isinstance(place, int) or not -count <= place < count:
        reader.refuse(node.slice, f"a tuple of {count} has no item {place}", "CPY-TUPLE-1")
    return values.items[place]


def _constant(reader: Context, node: ast.expr) -> int:
    """Return a bound of a slice."""
    found = _literal(reader.number(node))
    if not isinstance(found, int):
        reader.refuse(node, "the slice of a tuple is not constant", "CPY-TUPLE-1")
    return found


def _literal(index: ir.Expression) -> Any:
    """Return the number of ``n`` or ``-n``, None for any other expression."""
    if isinstance(index, ir.Unary) and index.operator == "-":
        number = _literal(index.value)
        return None if number is None else -number
    return index.value if isinstance(index, ir.Constant) else None


def _chosen(reader: Context, node: ast.Subscript, values: Values, index: ir.Expression) -> Any:
    """Return the item at a computed index: all must have one type."""
    if not index.type.is_integer:
        reader.refuse(node.slice, f"an index of {index.type}", "CPY-INDEX-2")
    place = reader.put(index)
    bodies: list[list[ir.Statement]] = [[] for _ in values.items]
    result: Any
    if values.items and all(map(choices.is_array, values.items)):
        result = choices.joined(reader, bodies, values.items)
    else:
        result = _joined(reader, node, bodies, values)
    if result is None:
        what = "the index of a tuple is not constant, and its items have several types or none"
        reader.refuse(node.slice, what, "CPY-TUPLE-1")
    reader.out += bodies[-1]
    for number, body in enumerate(bodies[:-1]):
        same = ir.Binary(bool_, "==", place, ir.Constant(place.type, number))
        below = ir.Constant(place.type, number - len(bodies))
        if index.type.kind == "int":
            same = ir.Binary(bool_, "|", same, ir.Binary(bool_, "==", place, below))
        reader.out.append(ir.If(same, body, []))
    return result


def _joined(
    reader: Context, node: ast.Subscript, bodies: list[list[ir.Statement]], values: Values
) -> ir.Expression | None:
    """Return one of several numbers, None if their types differ."""
    items = reader.agreed([reader.as_number(node, each) for each in values.items])
    if len({each.type for each in items}) != 1:
        return None
    result = reader.new_slot("_", items[0].type)
    for body, each in zip(bodies, items, strict=True):
        body.append(ir.Store(result, each))
    return ir.Read(result)


def loop(reader: Context, node: ast.For, values: Values) -> None:
    """Add the rounds of a loop over a tuple; names keep their types, as in every loop."""
    if len(values.items) > MOST_ROUNDS:
        what = f"a loop over a tuple of {len(values.items)}, which would be unrolled"
        reader.refuse(node.iter, what, "CPY-NPM-3", "pass it as an array")
    choices.before_loop(reader, node.body)
    before, rounds = dict(reader.names), []
    for each in values.items:

        def one_round(item: Any = each) -> None:
            reader.assign(node.target, item)
            reader.block(node.body)

        reader.names = dict(before)
        rounds.append(reader.in_loop(one_round))
    reader.out.append(ir.Unrolled(rounds))
    reader.left_loop(before)


def _enumerate(reader: Context, node: ast.Call) -> Values:
    """Return pairs of the number of an item, and the item."""
    keywords = {each.arg: each.value for each in node.keywords}
    given = [*node.args[1:], *filter(None, [keywords.pop("start", None)])]
    if not node.args or len(given) > 1 or keywords:
        reader.refuse(node, "enumerate() takes a tuple, and where to start", "CPY-NPM-3")
    items = _iterated(reader, node.args[0], "enumerate()")
    first = _constant(reader, given[0]) if given else 0
    pairs = enumerate(items, first)
    return Values(tuple(Values((ir.Constant(intp, k), each)) for k, each in pairs))


def _zip(reader: Context, node: ast.Call) -> Values:
    """Return tuples of the items with one number, up to the shortest."""
    if any(each.arg != "strict" for each in node.keywords):
        reader.refuse(node, "zip() takes tuples", "CPY-NPM-3")
    columns = [_iterated(reader, each, "zip()") for each in node.args]
    return Values(tuple(map(Values, zip(*columns, strict=False))))


def _reversed(reader: Context, node: ast.Call) -> Values:
    """Return the items from the last to the first."""
    if len(node.args) != 1 or node.keywords:
        reader.refuse(node, "reversed() takes one tuple", "CPY-NPM-3")
    return Values(_iterated(reader, node.args[0], "reversed()")[::-1])


def _tuple(reader: Context, node: ast.Call) -> Values:
    """Return a tuple as it is."""
    if len(node.args) > 1 or node.keywords:
        reader.refuse(node, "tuple() takes one tuple", "CPY-NPM-3")
    return Values(_iterated(reader, node.args[0], "tuple()") if node.args else ())


def _iterated(reader: Context, node: ast.expr, name: str) -> tuple[Any, ...]:
    """Return the items of an argument that must be a tuple."""
    found = opened(iterable(reader, node))
    if not isinstance(found, Values):
        what = f"{name} of something that is no tuple"
        reader.refuse(node, what, "CPY-NPM-3", "write for i in range(len(x))")
    return found.items


def iterable(reader: Context, node: ast.expr) -> Any:
    """Return what a loop iterates over; a list is one as good as a tuple there."""
    return read(reader, node.elts) if isinstance(node, ast.List) else opened(reader.value(node))


FUNCTIONS: Final[dict[Any, Any]] = {
    enumerate: _enumerate, zip: _zip, reversed: _reversed, tuple: _tuple,
}  # fmt: skip
"""Built-in function -> what converts a call of it."""
