"""Names that mean one of several arrays, depending on the path: buffers that change places.

Source: the Python Language Reference, "Naming and binding".  A variable has the number of the
array; an access is a branch for each of the arrays, so that every access is one of a known array.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

from . import ir
from .context import ArrayChoice, Object, Values
from .types import bool_, int32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .context import Context

MOST_OPTIONS: Final = 8
"""Arrays that one name may mean."""


def is_array(value: Any) -> bool:
    """Whether a value is an array, or one of several."""
    return isinstance(value, (ir.ArrayValue, ArrayChoice))


def current(reader: Context, choice: ArrayChoice) -> ArrayChoice:
    """Return the array that a choice is now, which later assignments to its name do not change."""
    return ArrayChoice(reader.put(ir.Read(choice.which)).slot, choice.options)


def each(reader: Context, node: ast.AST, array: Any, act: Callable[[ir.ArrayValue], Any]) -> Any:
    """Return what a function returns for an array; for one of several, add a branch for each."""
    if not isinstance(array, ArrayChoice):
        return act(array)
    found: list[Any] = []
    bodies = [
        reader.conditional(lambda option=option: found.append(act(option)))  # type: ignore[misc]
        for option in array.options
    ]
    if not any(bodies) and _are_same(found):
        return found[0]
    joined = _joined(reader, node, bodies, found)
    statements = bodies[-1]
    for number in reversed(range(len(bodies) - 1)):
        test = ir.Binary(bool_, "==", ir.Read(array.which), ir.Constant(int32, number))
        statements = [ir.If(test, bodies[number], statements)]
    reader.out += statements
    return joined


def _are_same(found: Sequence[Any]) -> bool:
    """Whether values are one object, or one constant."""
    if all(isinstance(one, ir.Constant) for one in found):
        return len({(one.type, one.value) for one in found}) == 1
    return all(isinstance(one, Object) and one.value is found[0].value for one in found)


def _joined(
    reader: Context, node: ast.AST, bodies: Sequence[list[ir.Statement]], found: Sequence[Any]
) -> Any:
    """Return the value of one of several paths, each of which stores it."""
    if all(map(is_array, found)):
        return joined(reader, bodies, found)
    if isinstance(found[0], Values):
        columns = zip(*(one.items for one in found), strict=True)
        items = tuple(_joined(reader, node, bodies, column) for column in columns)
        return Values(items, found[0].names)
    if found[0] is None:
        return None
    numbers = [reader.as_number(node, one) for one in found]
    slot = reader.new_slot("_", numbers[0].type)
    for body, number in zip(bodies, numbers, strict=True):
        body.append(ir.Store(slot, number))
    return ir.Read(slot)


def joined(
    reader: Context, bodies: Sequence[list[ir.Statement]], values: Sequence[Any]
) -> ArrayChoice | None:
    """Return one of the arrays of several paths; None if they differ in type, or are too many."""
    options = _distinct(option for value in values for option in _options(value))
    if len(options) > MOST_OPTIONS or len({_type_of(option) for option in options}) > 1:
        return None
    which = reader.new_slot("_", int32)
    for body, value in zip(bodies, values, strict=True):
        body.extend(_stores(value, which, options))
    return ArrayChoice(which, options)


def _stores(
    value: ir.ArrayValue | ArrayChoice, which: ir.Slot, options: Sequence[ir.ArrayValue]
) -> list[ir.Statement]:
    """Return the statements that store the number of an array among options."""
    if not isinstance(value, ArrayChoice):
        return [ir.Store(which, ir.Constant(int32, options.index(value)))]
    if value.options == options:
        return [ir.Store(which, ir.Read(value.which))]
    statements: list[ir.Statement] = []
    for number, option in enumerate(value.options):
        test = ir.Binary(bool_, "==", ir.Read(value.which), ir.Constant(int32, number))
        store = ir.Store(which, ir.Constant(int32, options.index(option)))
        statements = [ir.If(test, [store], statements)] if statements else [store]
    return statements


def _options(value: Any) -> tuple[ir.ArrayValue, ...]:
    """Return the arrays that a value may be."""
    return value.options if isinstance(value, ArrayChoice) else (value,)


def _distinct(options: Iterable[ir.ArrayValue]) -> tuple[ir.ArrayValue, ...]:
    """Return arrays without repetition, in their order."""
    return tuple(dict.fromkeys(options))


def _type_of(array: ir.ArrayValue) -> tuple[Any, int]:
    """Return what arrays that change places have in common."""
    return array.type.element, array.type.ndim


# ---------------------------------------------------------------- loops


def before_loop(reader: Context, body: Sequence[ast.stmt]) -> None:
    """Let each array that is assigned in a loop be one of those that may take its place."""
    sources: dict[str, set[str]] = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    _note(target, node.value, sources)
    carried: dict[str, ArrayChoice] = {}
    for name in sources:
        meaning = reader.names.get(name)
        if not is_array(meaning) or (isinstance(meaning, ArrayChoice) and meaning.is_carried):
            continue
        meanings = [reader.names.get(each) for each in [name, *_reached(name, sources)]]
        arrays = [option for one in meanings if is_array(one) for option in _options(one)]
        options = _distinct(one for one in arrays if _type_of(one) == _type_of(arrays[0]))
        if 1 < len(options) <= MOST_OPTIONS:
            which = reader.new_slot("_", int32)
            reader.out += _stores(meaning, which, options)  # type: ignore[arg-type] # an array
            carried[name] = ArrayChoice(which, options, is_carried=True)
    reader.names.update(carried)


def _note(target: ast.expr, value: ast.expr, sources: dict[str, set[str]]) -> None:
    """Note which names an assignment gives to a name."""
    is_row = isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List))
    if is_row and len(target.elts) == len(value.elts):  # type: ignore[attr-defined]
        for one, other in zip(target.elts, value.elts, strict=True):  # type: ignore[attr-defined]
            _note(one, other, sources)
    elif isinstance(target, ast.Name):
        sources.setdefault(target.id, set()).update(_names(value))


def _names(value: ast.expr) -> set[str]:
    """Return the names that an expression may be."""
    if isinstance(value, ast.IfExp):
        return _names(value.body) | _names(value.orelse)
    return {value.id} if isinstance(value, ast.Name) else set()


def _reached(name: str, sources: dict[str, set[str]]) -> list[str]:
    """Return the names whose arrays a name may be given, sorted."""
    found: set[str] = set()
    rest = [name]
    while rest:
        new = sources.get(rest.pop(), set()) - found
        found |= new
        rest += new
    return sorted(found)


def rebind(reader: Context, before: Any, value: Any) -> bool:
    """Let a name that a loop assigns mean another of its arrays; whether that is one of them."""
    if not isinstance(before, ArrayChoice) or not before.is_carried or not is_array(value):
        return False
    if not set(_options(value)) <= set(before.options):
        return False
    reader.out += _stores(value, before.which, before.options)
    return True
