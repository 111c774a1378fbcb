"""Functions that kernels call: the parameters that arguments are bound to, and what is returned.

Source: the Python Language Reference, "Calls"; CUDA Python Specification 0.2, "No-Python Mode".
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import ArgumentError

from . import ir, tuples
from .context import Object, Returned, Values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .context import Context, Meaning
    from .source import Source

_NUMBERS: Final = (bool, int, float, complex)


def call(reader: Context, node: ast.Call, function: Any) -> Any:
    """Return the result of a function that is called with the arguments of a node."""
    if function in reader.callers:
        chain = " -> ".join(each.__name__ for each in (*reader.callers, function))
        reader.refuse(node, f"{function.__name__}() is recursive: {chain}", "CPY-CALL-2")
    source = _source_of(reader, node, function)
    meanings = _bound(reader, node, source)
    return _inlined(reader, node, source, meanings)


def _source_of(reader: Context, node: ast.AST, function: Any) -> Source:
    """Return the source of a function that is called."""
    try:
        return reader.source.callee(function)
    except ArgumentError as error:
        reader.refuse(node, error.what, error.rule, error.hint)


# ---------------------------------------------------------------- arguments


def _bound(reader: Context, node: ast.Call, source: Source) -> dict[str, Meaning]:
    """Return the meaning of each parameter, by Python's rules for arguments and defaults."""
    signature = source.signature
    if any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values()):
        what = f"{source.name}() has **{[*signature.parameters][-1]}"
        reader.refuse(node, what, "CPY-CALL-1", "write its keywords as parameters")
    given = [value for each in node.args for value in _given(reader, each)]
    keywords = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            reader.refuse(node, "a call with **", "CPY-CALL-1", "write each keyword")
        keywords[keyword.arg] = _passed(reader, keyword.value, reader.value(keyword.value))
    try:
        bound = signature.bind(*given, **keywords)
    except TypeError as error:
        reader.refuse(node, f"{source.name}(): {error}", "CPY-CALL-1")
    found: dict[str, Meaning] = {}
    for name, each in signature.parameters.items():
        if each.kind is each.VAR_POSITIONAL:
            found[name] = Values(tuple(map(_item, bound.arguments.get(name, ()))))
        elif name in bound.arguments:
            found[name] = bound.arguments[name]
        else:
            found[name] = _passed(reader, node, Object(each.default))
    return found


def _given(reader: Context, node: ast.expr) -> Iterator[Meaning]:
    """Yield the argument that is written, or those of ``*x``."""
    if not isinstance(node, ast.Starred):
        yield _passed(reader, node, reader.value(node))
        return
    for each in tuples.read(reader, [node]).items:
        yield _passed(reader, node, each)


def _passed(reader: Context, node: ast.AST, found: Any) -> Meaning:
    """Return the meaning of a parameter: a number is a variable of the function's own."""
    if isinstance(found, (ir.ArrayValue, Values)):
        return found
    if isinstance(found, Object) and not isinstance(found.value, _NUMBERS):
        return found
    return reader.put(reader.settled(reader.as_number(node, found))).slot


def _item(meaning: Any) -> Any:
    """Return a parameter as an item of a tuple."""
    return ir.Read(meaning) if isinstance(meaning, ir.Slot) else meaning


# ---------------------------------------------------------------- inlined functions


def _inlined(reader: Context, node: ast.Call, source: Source, meanings: dict[str, Meaning]) -> Any:
    """Return the result of a function whose statements are inserted here."""
    body, returned = _converted(reader, source, meanings)
    result = _joined(reader, node, returned)
    reader.out.append(ir.Inlined(source.name, body))
    return result


def _converted(
    reader: Context, source: Source, meanings: dict[str, Meaning]
) -> tuple[list[ir.Statement], Returned]:
    """Return the statements of a function, and what it returns."""
    kept = reader.source, reader.names, reader.lost, reader.loops, reader.returned, reader.callers
    reader.source, reader.names, reader.lost, reader.loops = source, meanings, {}, 0
    returned = reader.returned = Returned()
    reader.callers = (*reader.callers, source.function)
    try:
        goes_on: list[bool] = []
        body = reader.nested(lambda: goes_on.append(reader.block(source.tree.body)))
        if goes_on[0] and any(map(_is_something, returned.values)):
            what = "some paths return a value, and others do not"
            reader.refuse(source.tree, what, "CPY-RETURN-1", "return at its end as well")
    finally:
        (
            reader.source, reader.names, reader.lost, reader.loops, reader.returned,
            reader.callers,
        ) = kept  # fmt: skip
    return body, returned


def _is_something(value: Any) -> bool:
    """Whether a value is returned, and not None."""
    return not isinstance(value, Values) or bool(value.items)


Form = Any  # of a result: None for a number, a tuple of forms, or an object that is no number


def _joined(reader: Context, node: ast.AST, returned: Returned) -> Any:
    """Return slots for the results, and store the results there at each return."""
    columns: list[list[ir.Expression]] = []
    forms: list[Form] = []
    for value in returned.values:
        numbers: list[ir.Expression] = []
        forms.append(_form(reader, node, value, numbers))
        columns.append(numbers)
    if any(not _is_alike(form, forms[0]) for form in forms[1:]):
        what = "its return statements return values of different forms"
        reader.refuse(node, what, "CPY-RETURN-1", "return as many numbers on every path")
    agreed = [reader.agreed(column) for column in zip(*columns, strict=True)]
    slots = [_common(reader, node, column) for column in agreed]
    for values, (place, index) in zip(columns, returned.places, strict=True):
        stores: list[ir.Statement] = [
            ir.Store(slot, reader.cast(value, slot.type))
            for slot, value in zip(slots, values, strict=True)
        ]
        place[index : index + 1] = [*stores, place[index]]
    return _rebuilt(forms[0] if forms else (), iter(slots))


def _common(reader: Context, node: ast.AST, column: Sequence[ir.Expression]) -> ir.Slot:
    """Return a variable that can hold what each return statement returns."""
    common = column[0].type
    for value in column[1:]:
        common = reader.joined(node, common, value.type)
    return reader.new_slot("_", common)


def _form(reader: Context, node: ast.AST, value: Any, numbers: list[ir.Expression]) -> Form:
    """Return the form of a value, and add its numbers to a list."""
    value = tuples.opened(value)
    if isinstance(value, Values):
        return tuple(_form(reader, node, each, numbers) for each in value.items)
    if isinstance(value, ir.ArrayValue) or (isinstance(value, Object) and value.value is None):
        return value
    numbers.append(reader.as_number(node, value))
    return None


def _is_alike(one: Form, other: Form) -> bool:
    """Whether two forms are equal; arrays must be the same one."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_is_alike, one, other))
    both = isinstance(one, Object) and isinstance(other, Object)
    return one is other or both


def _rebuilt(form: Form, slots: Iterator[ir.Slot]) -> Any:
    """Return a value of a form, with the numbers in slots."""
    if form is None:
        return ir.Read(next(slots))
    return (
        Values(tuple(_rebuilt(each, slots) for each in form)) if isinstance(form, tuple) else form
    )
