"""Functions that kernels call: the parameters that arguments are bound to, and what is returned.

Source: the Python Language Reference, "Calls"; CUDA Python Specification 0.2, "No-Python Mode".
"""

from __future__ import annotations

import ast
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import ArgumentError

from . import choices, ir, tuples
from .context import Object, Returned, Values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .context import Context, Meaning
    from .source import Source

Form = Any
"""Of a result: None for a number, a tuple of forms, or an object that is no number."""
FEW_CALLS: Final = 3
"""The first calls of a function are inlined, so that loops over threads see all of a kernel."""
_NUMBERS: Final = (bool, int, float, complex)


def call(reader: Context, node: ast.Call, function: Any, inline: str = "auto") -> Any:
    """Return the result of a function that is called with the arguments of a node.

    It is compiled once for types of arguments, and called; one that waits for other threads is
    inlined, since only the function of a thread can be suspended.
    """
    if function in reader.callers:
        chain = " -> ".join(each.__name__ for each in (*reader.callers, function))
        reader.refuse(node, f"{function.__name__}() is recursive: {chain}", "CPY-CALL-2")
    source = _source_of(reader, node, function)
    meanings = _bound(reader, node, source)
    calls = reader.program.calls
    calls[function] = calls.get(function, 0) + 1
    is_few = inline == "auto" and calls[function] <= FEW_CALLS
    if not (reader.program.is_inlined or is_few or inline == "always"):
        try:
            return _invoked(reader, node, source, meanings, inline)
        except _NotPassedError:
            pass
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
    if choices.is_array(found) or isinstance(found, Values):
        meaning: Meaning = found
        return meaning
    if isinstance(found, Object) and not isinstance(found.value, _NUMBERS):
        return found
    return reader.put(reader.settled(reader.as_number(node, found))).slot


def _item(meaning: Any) -> Any:
    """Return a parameter as an item of a tuple."""
    return ir.Read(meaning) if isinstance(meaning, ir.Slot) else meaning


# ---------------------------------------------------------------- functions that are called


class _NotPassedError(Exception):
    """An argument has no form in which functions are called; the call is inlined."""


class _Parameters:
    """The parameters of a function that is compiled once for arguments of the same types."""

    def __init__(self, meanings: dict[str, Meaning]) -> None:
        self.arguments: list[Any] = []  # expressions and arrays
        self.types: list[Any] = []
        self.spaces: list[str] = []
        self.kept: list[Any] = []  # objects in the key, which must live as long
        self.key = tuple(self._key(each) for each in meanings.values())

    def _key(self, meaning: Any) -> Any:
        """Return what calls that can share code have in common; collect the arguments."""
        if isinstance(meaning, Values):
            return tuple(self._key(each) for each in meaning.items)
        if isinstance(meaning, ir.ArrayValue):
            return self._array(meaning)
        if isinstance(meaning, ir.Constant):
            return "constant", meaning.type, meaning.value
        if isinstance(meaning, (ir.Slot, ir.Read)):
            self._add(ir.Read(meaning) if isinstance(meaning, ir.Slot) else meaning, "")
            return meaning.type
        if isinstance(meaning, Object):
            self.kept.append(meaning.value)
            return "object", id(meaning.value)
        if isinstance(meaning, ir.Extent):
            self._add(meaning, "")
            return meaning.type
        raise _NotPassedError

    def _array(self, array: ir.ArrayValue) -> Any:
        """Return the key of an array: its space is part of the type, a fixed one is not passed."""
        if _is_fixed(array):
            self.kept.append(array)
            return "array", id(array)
        if array.alignment != array.type.element.alignment:
            raise _NotPassedError
        self._add(array, "argument" if array.argument is not None else array.space)
        return array.type, self.spaces[-1]

    def _add(self, argument: Any, space: str) -> None:
        """Add an argument that is passed."""
        self.arguments.append(argument)
        self.types.append(argument.type)
        self.spaces.append(space)


def _is_fixed(array: ir.ArrayValue) -> bool:
    """Whether an array has one address in all functions of the kernel."""
    is_made = array.argument is None and array.space in {"shared", "const"}
    return is_made and not isinstance(array, ir.View)


class _Inside:
    """The meanings of parameters in a function: variables and arrays of its own."""

    def __init__(self, reader: Context, parameters: _Parameters) -> None:
        self._reader, self._parameters = reader, parameters
        self.stores: list[ir.Statement] = []
        self._count = 0

    def of(self, name: str, meaning: Any, *, is_item: bool = False) -> Any:
        """Return the meaning in the function, which the caller's meaning is passed for."""
        if isinstance(meaning, Values):
            return Values(tuple(self.of("_", each, is_item=True) for each in meaning.items))
        if isinstance(meaning, (ir.Constant, Object)):
            return meaning
        if isinstance(meaning, ir.ArrayValue) and _is_fixed(meaning):
            return meaning
        place, self._count = self._count, self._count + 1
        if isinstance(meaning, ir.ArrayValue):
            space = self._parameters.spaces[place]
            return ir.ArrayValue(name, meaning.type, place, space=space)
        slot = self._reader.new_slot(name, meaning.type)
        self.stores.append(ir.Store(slot, ir.Argument(slot.type, place)))
        return ir.Read(slot) if is_item else slot


def _invoked(
    reader: Context, node: ast.Call, source: Source, meanings: dict[str, Meaning], inline: str
) -> Any:
    """Return the result of a function that is compiled once, and called."""
    parameters = _Parameters(meanings)
    key = source.function, parameters.key
    program = reader.program
    if key not in program.functions:
        program.kept.append(parameters.kept)
        program.functions[key] = _typed(reader, node, source, meanings, parameters, inline)
    found = program.functions[key]
    if found is None:
        raise _NotPassedError
    function, form, reads, writes = found
    for places, noted in ((reads, program.reads), (writes, program.writes)):
        arrays = (parameters.arguments[place] for place in places)
        noted.update(array.argument for array in arrays if array.argument is not None)
    slots = tuple(reader.new_slot("_", each.type) for each in function.results)
    reader.out.append(ir.Invoke(function, tuple(parameters.arguments), slots))
    return _rebuilt(form, iter(slots))


def _typed(
    reader: Context,
    node: ast.Call,
    source: Source,
    meanings: dict[str, Meaning],
    parameters: _Parameters,
    inline: str,
) -> tuple[ir.Function, Form, set[int], set[int]] | None:
    """Return a function for types of arguments, its form, and the arrays that it uses.

    None if it waits for other threads, or returns an array: it is inlined.
    """
    program, inside = reader.program, _Inside(reader, parameters)
    known = {name: len(slots) for name, slots in program.variables.items()}
    kept = program.reads, program.writes, program.has_barrier
    program.reads, program.writes, program.has_barrier = set(), set(), False
    try:
        own = {name: inside.of(name, each) for name, each in meanings.items()}
        body, returned = _converted(reader, source, own)
        form, slots = _joined(reader, node, returned)
        used = program.reads, program.writes
        is_inlined = program.has_barrier or _has_array(form)
    finally:
        program.reads, program.writes, program.has_barrier = kept
    if is_inlined:
        for name, each in program.variables.items():
            del each[known.get(name, 0) :]
        return None
    nodes = list(_nodes(body))
    called = [each.function for each in nodes if isinstance(each, ir.Invoke)]
    function = ir.Function(
        source.name, tuple(parameters.types), tuple(parameters.spaces), [*inside.stores, *body],
        tuple(slots),
        any(isinstance(each, ir.Raise) for each in nodes) or any(one.is_ending for one in called),
        any(map(_reads_index, nodes)) or any(one.has_index for one in called), inline,
    )  # fmt: skip
    return function, form, *used


def _has_array(form: Form) -> bool:
    """Whether an array is returned."""
    inside = isinstance(form, tuple) and any(map(_has_array, form))
    return inside or choices.is_array(form)


def _nodes(node: Any) -> Iterator[Any]:
    """Yield the nodes in statements and expressions, except those of functions that they call."""
    if isinstance(node, (list, tuple)):
        for each in node:
            yield from _nodes(each)
    elif is_dataclass(node) and not isinstance(node, (ir.Slot, ir.Function)):
        yield node
        for each in fields(node):
            yield from _nodes(getattr(node, each.name))


def _reads_index(node: Any) -> bool:
    """Whether a node depends on the index of the thread or of its block."""
    return isinstance(node, ir.Lane) or (isinstance(node, ir.Special) and "Idx" in node.name)


# ---------------------------------------------------------------- inlined functions


def _inlined(reader: Context, node: ast.Call, source: Source, meanings: dict[str, Meaning]) -> Any:
    """Return the result of a function whose statements are inserted here."""
    body, returned = _converted(reader, source, meanings)
    form, slots = _joined(reader, node, returned)
    reader.out.append(ir.Inlined(source.name, body))
    return _rebuilt(form, iter(slots))


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


def _joined(reader: Context, node: ast.AST, returned: Returned) -> tuple[Form, list[ir.Slot]]:
    """Return the form of the results and slots for them, and store them there at each return."""
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
    return forms[0] if forms else (), slots


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
    if choices.is_array(value) or (isinstance(value, Object) and value.value is None):
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
