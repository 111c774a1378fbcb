"""State of the front end in a function: the statements so far, and the meaning of names.

Source: CUDA Python Specification 0.2, "Type Inference" (variables).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from . import ir
from .errors import refuse
from .operators import RefusedTypesError, can_store, most_generic
from .types import int32, int64

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Sequence

    from .source import Source
    from .types import ScalarType


@dataclass(frozen=True, eq=False)
class Values:
    """A tuple: a shape, strides, the result of a function; or a record, whose items have names."""

    items: tuple[Any, ...]  # of any kind
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Object:
    """An object of the program around the kernel: a module, a type, a function, a constant."""

    value: Any


@dataclass(frozen=True, eq=False)
class ArrayChoice:
    """One of several arrays with the same element type and number of axes."""

    which: ir.Slot  # the number of the array
    options: tuple[ir.ArrayValue, ...]
    is_carried: bool = False  # whether it is of a name that a loop assigns


Meaning = ir.Slot | ir.ArrayValue | ArrayChoice | Values | Object
"""The meaning of a local name."""


@dataclass(eq=False)
class Returned:
    """The results of an inlined function, collected from its ``return`` statements."""

    values: list[Any] = field(default_factory=list)
    places: list[tuple[list[ir.Statement], int]] = field(default_factory=list)


def is_literal(value: ir.Expression) -> bool:
    """Whether a number is an int literal, or an int of Python around the kernel."""
    return isinstance(value, ir.Constant) and value.is_literal


class Context:
    """The state of the front end, for one kernel and for one function of it at a time."""

    source: Source
    program: ir.Program

    def __init__(self, source: Source, program: ir.Program) -> None:
        self.source, self.program = source, program
        self.out: list[ir.Statement] = program.body
        self.names: dict[str, Meaning] = {}
        self.lost: dict[str, str] = {}
        """Names that are no longer defined, and why."""
        self.loops = 0
        self.before_loop: frozenset[str] = frozenset()
        """Names that are defined where the innermost loop starts."""
        self.breaks: list[ir.Slot | None] = []
        """For each loop around: the variable that notes a ``break``, if an ``else`` needs it."""
        self.arguments = 0
        """The number of arguments of the code so far."""
        self.in_entry_block = True
        self.returned: Returned | None = None
        self.callers: tuple[object, ...] = (source.function,)
        self.reached: tuple[Source, ast.AST] = source, source.tree
        """The current statement."""

    def refuse(self, node: ast.AST, what: str, rule: str, hint: str | None = None) -> NoReturn:
        """Raise the error at a position in the function."""
        refuse(self.source, node, what, rule, hint)

    def place(self, node: ast.AST, *error: str) -> int:
        """Return the number of a position, of what may go wrong there in debug mode.

        `error` is what, its rule, the fix and the class of an exception; by default an index out of
        bounds.
        """
        self.program.places.append(ir.Place(self.source, node, *error))
        return len(self.program.places)

    def new_slot(self, name: str, type_: ScalarType) -> ir.Slot:
        """Return a new variable."""
        slot = ir.Slot(name, type_)
        self.program.variables.setdefault(name, []).append(slot)
        return slot

    def put(self, value: ir.Expression, name: str = "_") -> ir.Read:
        """Store a value in a new slot, and return an expression that reads it."""
        slot = self.new_slot(name, value.type)
        self.out.append(ir.Store(slot, value))
        return ir.Read(slot)

    def spill(self, value: ir.Expression, position: int) -> ir.Expression:
        """Compute a value before the statements from a position on, which may change it."""
        if isinstance(value, ir.Constant):
            return value
        slot = self.new_slot("_", value.type)
        self.out.insert(position, ir.Store(slot, value))
        return ir.Read(slot)

    def cast(self, value: ir.Expression, target: ScalarType) -> ir.Expression:
        """Return a value cast to another type."""
        return value if value.type is target else ir.Cast(target, value)

    def stored(self, node: ast.AST, value: ir.Expression, target: ScalarType) -> ir.Expression:
        """Return a value coerced to the type of its target."""
        if not can_store(value.type, target):
            what = f"a value of {value.type} is stored as {target}"
            self.refuse(node, what, "CPY-TYPE-1", "store its .real or .imag")
        return self.cast(value, target)

    def settled(self, value: ir.Expression) -> ir.Expression:
        """Return a number as a variable holds it: an int literal is an int64, or as wide."""
        if not isinstance(value, ir.Constant) or not value.is_literal:
            return value
        return ir.Constant(int64 if value.type is int32 else value.type, value.value)

    def agreed(self, values: Sequence[ir.Expression]) -> list[ir.Expression]:
        """Return numbers that are used together: literals are int64 if there are no others."""
        return [*map(self.settled, values)] if all(map(is_literal, values)) else [*values]

    def joined(self, node: ast.AST, a: ScalarType, b: ScalarType) -> ScalarType:
        """Return the common type of a value that has one of two types, depending on the path."""
        found: ScalarType = a if a is b else self.typed(node, most_generic, a, b)
        return found

    def typed(self, node: ast.AST, rule: Any, *arguments: Any) -> Any:
        """Return the result of a typing rule; an error has the position."""
        try:
            return rule(*arguments)
        except RefusedTypesError as refused:
            self.refuse(node, refused.what, refused.rule)

    # ------------------------------------------------------------ implemented by its subclasses

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression: a number, an array, a tuple, or an object outside."""
        raise NotImplementedError

    def constant(self, node: ast.AST, value: object) -> ir.Expression:
        """Return a constant from a number of Python or of NumPy."""
        raise NotImplementedError

    def extent(self, array: ir.ArrayValue, axis: int, is_stride: bool = False) -> ir.Expression:  # noqa: FBT002
        """Return a length [elements] or a stride [bytes]."""
        raise NotImplementedError

    def number(self, node: ast.expr) -> ir.Expression:
        """Return an expression that must be a number."""
        raise NotImplementedError

    def as_number(self, node: ast.AST, found: Any) -> ir.Expression:
        """Return a value that must be a number."""
        raise NotImplementedError

    def numbers(self, nodes: Sequence[ast.expr]) -> list[ir.Expression]:
        """Return several expressions, in source order."""
        raise NotImplementedError

    def binary(
        self, node: ast.AST, operator: ast.operator, left: ir.Expression, right: ir.Expression
    ) -> ir.Expression:
        """Return a typed operation."""
        raise NotImplementedError

    def compared(
        self, node: ast.AST, operator: ast.cmpop, left: ir.Expression, right: ir.Expression
    ) -> ir.Expression:
        """Return a comparison of two numbers."""
        raise NotImplementedError

    def conditional(self, act: Callable[[], object]) -> list[ir.Statement]:
        """Return the statements of a part of an expression that is not always evaluated."""
        raise NotImplementedError

    def nested(self, act: Callable[[], object]) -> list[ir.Statement]:
        """Return the statements added by a function."""
        raise NotImplementedError

    def block(self, body: Sequence[ast.stmt]) -> bool:
        """Convert statements; return whether those after them are reachable."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Any) -> None:
        """Assign a value to a target."""
        raise NotImplementedError

    def bind(self, node: ast.AST, name: str, value: Any) -> None:
        """Bind a name to a value."""
        raise NotImplementedError

    def in_loop(self, act: Callable[[], object]) -> list[ir.Statement]:
        """Return the statements that a function adds in a loop."""
        raise NotImplementedError

    def left_loop(self, before: dict[str, Meaning]) -> None:
        """Restore the names from before a loop; those first assigned in it are undefined."""
        raise NotImplementedError
