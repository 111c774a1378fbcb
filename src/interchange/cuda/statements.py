"""Statements of the dialect: from Python's syntax tree to the typed program.

Source: CUDA Python Specification 0.2, "No-Python Mode" and "Type Inference".  Outside of loops, a
name that is assigned another type is another variable; in a loop it keeps its type from before.
"""

from __future__ import annotations

import ast
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from . import choices, debugging, ir, parameters, rawkernels, tuples, views
from .calls import Calls
from .context import Object, Values
from .errors import warn_at
from .operators import is_lossy, most_generic
from .options import Options
from .types import UNSIGNED, ScalarType, bool_, float64, int32, int64

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .context import Meaning
    from .source import Source
    from .types import ArrayType

_RANGE: Final = 3  # the most arguments of range()
_ANNOTATIONS: Final = {int: int64, float: float64, bool: bool_}
"""Built-in type of an annotation -> the type that it stands for."""
_DEFAULTS: Final = Options()
_SEVERAL: Final = "means two things"
_ONE_PATH: Final = "is assigned on one of two paths only"
_IN_LOOP: Final = "is first assigned in a loop, which may have no iteration"


def typed_program(
    source: Source,
    arguments: Sequence[ScalarType | ArrayType],
    *,
    strict: bool = False,
    inlined: bool = False,
    options: Options = _DEFAULTS,
) -> ir.Program:
    """Return a kernel for given types of arguments; `strict` and `options` as for `jit`.

    With `inlined`, the statements of functions are inserted at each call.

    Raises
    ------
    KernelError
        The function is not in the dialect.
    """
    names = [each.arg for each in (*source.tree.args.posonlyargs, *source.tree.args.args)]
    program = ir.Program(source.name, parameters.flat(arguments), is_strict=strict)
    program.options, program.is_inlined = options, inlined
    reader = Statements(source, program)
    if _has_more(source.tree.args):
        what = "*args, **kwargs or keyword-only parameters"
        reader.refuse(source.tree, what, "CPY-ARG-1", "write plain parameters")
    if len(names) != len(arguments):
        what = f"{len(names)} parameters for {len(arguments)} arguments"
        reader.refuse(source.tree, what, "CPY-ARG-1")
    for name, type_ in zip(names, arguments, strict=True):
        reader.names[name] = parameters.meaning(reader, name, type_)
    try:
        reader.block(source.tree.body)
    except RecursionError:
        reader.source, deepest = reader.reached
        reader.refuse(deepest, ir.TOO_DEEP, "CPY-NPM-2", "write several statements")
    return program


class Statements(Calls):
    """Type inference of statements."""

    reached: tuple[Source, ast.AST]
    names: dict[str, Meaning]
    lost: dict[str, str]
    loops: int
    before_loop: frozenset[str]
    in_entry_block: bool

    def block(self, body: Sequence[ast.stmt]) -> bool:
        """Convert statements; return whether the statements after them are reachable."""
        for statement in body:
            self.reached = self.source, statement
            read = self._STATEMENTS.get(type(statement))
            if read is None:
                what = f"{type(statement).__name__} is not in the dialect"
                self.refuse(statement, what, "CPY-NPM-2")
            if read(self, statement) is False:
                return False
        return True

    def _read_pass(self, _: ast.Pass) -> None:
        """Do nothing for ``pass``."""

    def _read_expr(self, node: ast.Expr) -> None:
        """Convert an expression statement."""
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        self.value(node.value)

    # ------------------------------------------------------------ assignment

    def _read_assign(self, node: ast.Assign) -> None:
        """Convert an assignment."""
        value = self.value(node.value)
        if len(node.targets) > 1 and not tuples.is_kept(value):
            value = self.put(value)
        for target in node.targets:
            self.assign(target, value)

    def _read_ann_assign(self, node: ast.AnnAssign) -> None:
        """Convert ``x: float32 = 0``: the value is cast to the type."""
        type_ = self.value(node.annotation)
        found = type_.value if isinstance(type_, Object) else None
        found = _ANNOTATIONS.get(found, found) if isinstance(found, type) else found
        if not isinstance(found, ScalarType) or node.value is None:
            what = "an annotated variable without a value, or without a type of numbers"
            self.refuse(node, what, "CPY-NPM-2", "write x: float32 = 0")
        value = self.stored(node, self.number(node.value), found)
        self.assign(node.target, self.put(value) if isinstance(value, ir.Constant) else value)

    def assign(self, target: ast.expr, value: Any) -> None:
        """Assign a value to a target."""
        if isinstance(target, ast.Name):
            self.bind(target, target.id, value)
        elif isinstance(target, ast.Subscript):
            self._store_element(target, self.as_number(target, value))
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value)
        elif isinstance(target, ast.Attribute):
            self._store_element(target, self.as_number(target, value))
        else:
            self.refuse(target, f"{type(target).__name__} is not an assignment target", "CPY-NPM-2")

    def _unpack(self, target: ast.Tuple | ast.List, value: Any) -> None:
        """Assign the items of a tuple to several targets."""
        value = tuples.opened(value)
        if not isinstance(value, Values):
            what = "only shape, strides and tuples are unpacked"
            self.refuse(target, what, "CPY-TUPLE-1")
        items, count = list(value.items), len(target.elts)
        starred = [k for k, each in enumerate(target.elts) if isinstance(each, ast.Starred)]
        if len(starred) == 1 and len(items) >= count - 1:
            first, last = starred[0], len(items) - (count - 1 - starred[0])
            items[first:last] = [Values(tuple(items[first:last]))]
        if len(items) != count or len(starred) > 1:
            what = f"{len(value.items)} values for {count} names"
            self.refuse(target, what, "CPY-TUPLE-1")
        for each, item in zip(target.elts, items, strict=True):
            self.assign(each.value if isinstance(each, ast.Starred) else each, item)

    def bind(self, node: ast.AST, name: str, value: Any) -> None:
        """Bind a name to a value."""
        before = self.names.get(name)
        if isinstance(value, Object) and not _is_number(value.value):
            self._rename(node, name, before, value)
            return
        if choices.is_array(value) or isinstance(value, Values):
            self._rename(node, name, before, value)
            return
        number = self.settled(self.as_number(node, value))
        if isinstance(before, ir.Slot) and (self.loops or before.type is number.type):
            self.warn_of_loss(node, name, number, before.type)
            self.out.append(ir.Store(before, self.stored(node, number, before.type)))
            return
        if before is not None and self.loops:
            what = f"{name} is not a number before the loop, and becomes one in it"
            self.refuse(node, what, "CPY-TYPE-4")
        self.names[name] = self.put(number, name).slot
        self.lost.pop(name, None)

    def warn_of_loss(
        self, node: ast.AST, name: str, number: ir.Expression, kept: ScalarType
    ) -> None:
        """Warn of a name whose type, from before the loop, cannot hold what is stored."""
        value = number.value if isinstance(number, ir.Constant) else None
        is_exact = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if is_lossy(number.type, kept) and not is_exact:
            what = f"{name} stays {kept} in the loop, and loses part of a {number.type}"
            hint = f"write {name} = {number.type}(...) before the loop"
            warn_at(self.source, node, what, hint)

    def _rename(self, node: ast.AST, name: str, before: Meaning | None, value: Meaning) -> None:
        """Bind a name to an array, a tuple or an object."""
        if self.loops and choices.rebind(self, before, value):
            return
        is_new = choices.is_array(before) and choices.is_array(value) and self._is_of_round(name)
        if self.loops and before is not None and before is not value and not is_new:
            self.refuse(node, f"{name} becomes something else in a loop", "CPY-TYPE-4")
        self.names[name] = value
        self.lost.pop(name, None)

    def _is_of_round(self, name: str) -> bool:
        """Whether a name is first assigned in the innermost loop, and so again in each round."""
        return name not in self.before_loop

    def _store_element(self, target: ast.Subscript | ast.Attribute, value: ir.Expression) -> None:
        """Assign a number to an element of an array, or to a field of a record."""
        before = len(self.out)
        owner = self.value(target.value)
        if len(self.out) > before:
            value = self.spill(value, before)

        def store(array: Any) -> None:
            before = len(self.out)
            element = self._target_element(target, array)
            kept = self.spill(value, before) if len(self.out) > before else value
            self.out.append(ir.StoreElement(element, self.stored(target, kept, element.type)))

        choices.each(self, target, owner, store)

    def _target_element(self, target: ast.Subscript | ast.Attribute, array: Any) -> ir.Element:
        """Return the element of an array, or the field of a record, that is stored to."""
        is_attribute = isinstance(target, ast.Attribute)
        if is_attribute and not (isinstance(array, ir.ArrayValue) and views.is_record(array)):
            self.refuse(target, "attributes cannot be assigned", "CPY-ATTR-1")
        if not isinstance(array, ir.ArrayValue):
            self.refuse(target, "only elements of arrays can be assigned", "CPY-INDEX-1")
        self.write_to(target, array)
        if isinstance(target, ast.Attribute):
            return views.whole(self, target, views.field(self, target, array, target.attr))
        return self.element(target, array)

    def _read_aug_assign(self, node: ast.AugAssign) -> None:
        """Convert an augmented assignment."""
        if not isinstance(node.target, ast.Name):
            target = node.target
            owner = self.value(target.value)
            choices.each(self, node, owner, lambda one: self._augment_element(node, target, one))
            return
        read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        left, right = self.numbers([read, node.value])
        self.bind(node, node.target.id, self.binary(node, node.op, left, right))

    def _augment_element(
        self, node: ast.AugAssign, target: ast.Subscript | ast.Attribute, array: Any
    ) -> None:
        """Read, compute and store one element, whose index is evaluated once."""
        place = self._target_element(target, array)
        index = tuple(i if isinstance(i, ir.Constant) else self.put(i) for i in place.index)
        element = type(place)(place.array, index, place.place)
        if place.array.argument is not None:
            self.program.reads.add(place.array.argument)
        before = len(self.out)
        right, left = self.number(node.value), element
        kept = self.spill(left, before) if len(self.out) > before else left
        value = self.binary(node, node.op, kept, right)
        self.out.append(ir.StoreElement(element, self.stored(node, value, element.type)))

    # ------------------------------------------------------------ branches

    def _read_if(self, node: ast.If) -> bool:
        """Convert an ``if`` statement."""
        decided = self.known(node.test)
        if decided is not None:
            return self.block(node.body if decided else node.orelse)
        return self.branch(node, self.truth(node.test), node.body, node.orelse)

    def branch(
        self,
        node: ast.AST,
        test: ir.Expression,
        body: Sequence[ast.stmt],
        orelse: Sequence[ast.stmt],
    ) -> bool:
        """Add a branch, and join the names after it; return whether one of the paths goes on."""
        self.in_entry_block = False
        base, lost = dict(self.names), dict(self.lost)
        ends: list[tuple[list[ir.Statement], dict[str, Meaning]]] = []
        bodies = []
        for statements in (body, orelse):
            self.names, self.lost = dict(base), dict(lost)
            goes_on: list[bool] = []
            converted = self.nested(lambda: goes_on.append(self.block(statements)))  # noqa: B023
            bodies.append(converted)
            if goes_on[0]:
                ends.append((converted, self.names))
        self.lost = lost
        self.out.append(ir.If(test, *bodies))
        self.in_entry_block = False
        if not ends:
            self.names = base
            return False
        self.names = ends[0][1] if len(ends) == 1 else self._join(node, ends)
        return True

    def _join(
        self, node: ast.AST, ends: list[tuple[list[ir.Statement], dict[str, Meaning]]]
    ) -> dict[str, Meaning]:
        """Return the meaning of names after two branches; a slot for each that differs."""
        (one_body, one), (other_body, other) = ends
        joined: dict[str, Meaning] = {}
        for name in {**one, **other}:
            a, b = one.get(name), other.get(name)
            if a is b and a is not None:
                joined[name] = a
            elif isinstance(a, ir.Slot) and isinstance(b, ir.Slot):
                type_ = self.joined(node, a.type, b.type)
                slot = joined[name] = self.new_slot(name, type_)
                one_body.append(ir.Store(slot, self.cast(ir.Read(a), type_)))
                other_body.append(ir.Store(slot, self.cast(ir.Read(b), type_)))
            elif choices.is_array(a) and choices.is_array(b):
                bodies = one_body, other_body
                choice = choices.joined(self, bodies, (a, b))
                if choice is None:
                    self.lost[name] = _SEVERAL
                else:
                    joined[name] = choice
            else:
                self.lost[name] = _ONE_PATH if a is None or b is None else _SEVERAL
        return joined

    # ------------------------------------------------------------ loops

    def _read_while(self, node: ast.While) -> bool:
        """Convert a ``while`` loop."""

        def test() -> ir.Expression:
            return self.truth(node.test)

        return self._with_else(node, lambda: self._loop(test, lambda: None, node.body, []))

    def _with_else(self, node: ast.For | ast.While, add: Callable[[], None]) -> bool:
        """Add a loop and its ``else``, which a ``break`` skips; whether a path goes on."""
        is_left = node.orelse and any(map(_has_break, node.body))
        note = self.put(ir.Constant(bool_, False)).slot if is_left else None  # noqa: FBT003
        self.breaks.append(note)
        add()
        self.breaks.pop()
        if note is None:
            return self.block(node.orelse)
        return self.branch(node, ir.Unary(bool_, "not", ir.Read(note)), node.orelse, [])

    def in_loop(self, act: Callable[[], object]) -> list[ir.Statement]:
        """Return the statements that a function adds in a loop."""
        self.in_entry_block = False
        self.loops += 1
        kept, self.before_loop = self.before_loop, frozenset(self.names)
        body = self.nested(act)
        self.loops, self.before_loop = self.loops - 1, kept
        return body

    def left_loop(self, before: dict[str, Meaning]) -> None:
        """Restore the names from before a loop; those first assigned in it are undefined."""
        self.lost.update(dict.fromkeys(self.names.keys() - before.keys(), _IN_LOOP))
        self.names = before
        self.in_entry_block = False

    def _loop(
        self,
        test: Callable[[], ir.Expression],
        begin: Callable[[], None],
        body: Sequence[ast.stmt],
        step: list[ir.Statement],
    ) -> None:
        """Add a loop."""
        choices.before_loop(self, body)
        before = dict(self.names)
        tests: list[ir.Expression] = []
        before_test = self.in_loop(lambda: tests.append(test()))

        def all_of_it() -> None:
            begin()
            self.block(body)

        statements = self.in_loop(all_of_it)
        self.out.append(ir.Loop(before_test, tests[0], statements, step))
        self.left_loop(before)

    def _read_for(self, node: ast.For) -> bool:
        """Convert a ``for`` loop over a range, or over a tuple."""
        call = node.iter
        called = self.value(call.func) if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or not _is_range(called):
            found = tuples.iterable(self, node.iter)
            if not isinstance(found, Values):
                self.refuse(node.iter, "only range() and tuples are iterated over", "CPY-NPM-3")
            return self._with_else(node, lambda: tuples.loop(self, node, found))
        if not isinstance(node.target, ast.Name):
            self.refuse(node.target, "a loop over a range has one variable", "CPY-NPM-3")
        name, (start, stop, step) = node.target.id, self._range(call)
        return self._with_else(node, lambda: self._count(node, name, start, stop, step))

    def _range(self, call: ast.Call) -> tuple[ir.Expression, ir.Expression, ir.Expression]:
        """Return the three numbers of range(), of one type."""
        is_plain = not call.keywords or not _is_range(self.value(call.func), range)
        if not 1 <= len(call.args) <= _RANGE or not is_plain:
            self.refuse(call, "range() takes one to three numbers", "CPY-NPM-3")
        rawkernels.check_range(self, call)
        bounds = self.agreed(self.numbers(call.args))
        if len(bounds) == _RANGE and isinstance(bounds[2], ir.Constant) and bounds[2].value == 0:
            self.refuse(call, "the step of range() is 0", "CPY-NPM-3")
        types = [number.type for number in bounds]
        if any(type_.kind in {"float", "complex"} for type_ in types):
            self.refuse(call, "range() of a number that is not an integer", "CPY-NPM-3")
        type_ = reduce(most_generic, types)
        type_ = int32 if type_ is bool_ else type_
        step = bounds[-1] if len(bounds) == _RANGE else None
        if type_.kind == "uint" and isinstance(step, ir.Constant) and step.value < 0:
            what = f"range() of {type_}, which has no step of {step.value}"
            self.refuse(call, what, "CPY-NPM-3", "cast the others, as in range(int64(n), 0, -1)")
        given = [self.cast(number, type_) for number in bounds]
        if len(given) == 1:
            given = [ir.Constant(type_, 0), *given]
        if len(given) == 2:
            given.append(ir.Constant(type_, 1))
        start, stop, step = (n if isinstance(n, ir.Constant) else self.put(n) for n in given)
        return start, stop, step

    def _count(
        self,
        node: ast.For,
        name: str,
        start: ir.Expression,
        stop: ir.Expression,
        step: ir.Expression,
    ) -> None:
        """Add a loop over a range: iterations are counted, so that no number overflows."""
        type_, counted = start.type, UNSIGNED[start.type]
        rounds = self.put(ir.Rounds(counted, start, stop, step))
        counter = self.new_slot("_", counted)
        self.out.append(ir.Store(counter, ir.Constant(counted, 0)))
        variable = self.new_slot("_", type_)
        self.out.append(ir.Store(variable, start))

        def test() -> ir.Expression:
            return ir.Binary(bool_, "<", ir.Read(counter), rounds)

        def begin() -> None:
            self.bind(node.target, name, ir.Read(variable))

        advance: list[ir.Statement] = [
            ir.Store(counter, ir.Binary(counted, "+", ir.Read(counter), ir.Constant(counted, 1))),
            ir.Store(variable, ir.Binary(type_, "+", ir.Read(variable), step)),
        ]
        self._loop(test, begin, node.body, advance)

    def _read_break(self, _: ast.Break) -> bool:
        """Convert ``break``."""
        if self.breaks[-1] is not None:
            self.out.append(ir.Store(self.breaks[-1], ir.Constant(bool_, True)))  # noqa: FBT003
        self.out.append(ir.Jump("break"))
        return False

    def _read_continue(self, _: ast.Continue) -> bool:
        """Convert ``continue``."""
        self.out.append(ir.Jump("continue"))
        return False

    # ------------------------------------------------------------ return

    def _read_return(self, node: ast.Return) -> bool:
        """Convert ``return``."""
        is_nothing = node.value is None or (
            isinstance(node.value, ast.Constant) and node.value.value is None
        )
        if self.returned is None:
            if not is_nothing:
                self.refuse(
                    node, "a kernel cannot return a value", "CPY-RETURN-1", "store it in an array"
                )
            self.out.append(ir.Jump("return"))
            return False
        value = Values(()) if node.value is None or is_nothing else self.value(node.value)
        self.returned.values.append(value)
        self.returned.places.append((self.out, len(self.out)))
        self.out.append(ir.Jump("return"))
        return False

    _STATEMENTS: Final[dict[type[ast.AST], Callable[[Any, Any], bool | None]]] = {
        ast.Pass: _read_pass,
        ast.Expr: _read_expr,
        ast.Assign: _read_assign,
        ast.AnnAssign: _read_ann_assign,
        ast.AugAssign: _read_aug_assign,
        ast.If: _read_if,
        ast.While: _read_while,
        ast.For: _read_for,
        ast.Break: _read_break,
        ast.Continue: _read_continue,
        ast.Return: _read_return,
        ast.Assert: debugging.read_assert,
        ast.Raise: debugging.read_raise,
    }
    """Kind of statement -> the method that converts it."""


def _has_more(arguments: ast.arguments) -> bool:
    """Whether a kernel has parameters that a launch does not pass by position."""
    rest = (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs)
    return any(part is not None for part in rest)


def _is_range(value: Any, *functions: object) -> bool:
    """Whether a value is the type ``range``, or CuPy's function; or one of given functions."""
    known = functions or (range, rawkernels.range)
    return isinstance(value, Object) and any(value.value is each for each in known)


def _has_break(node: ast.stmt) -> bool:
    """Whether a statement leaves the loop around it by ``break``."""
    if isinstance(node, ast.Break):
        return True
    parts = [getattr(node, "orelse", [])]
    if not isinstance(node, (ast.For, ast.While)):
        parts.append(getattr(node, "body", []))
    return any(_has_break(each) for part in parts for each in part)


def _is_number(value: object) -> bool:
    """Whether an outer object is a number."""
    return isinstance(value, (bool, int, float, complex)) or hasattr(value, "dtype")
