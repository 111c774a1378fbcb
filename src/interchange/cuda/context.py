"""State of the front end in a function: the statements so far, and the meaning of names.

Source: CUDA Python Specification 0.2, "Type Inference" (variables).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from .errors import refuse
from .ir import ArrayValue, Cast, Constant, Read, Slot, Store
from .operators import RefusedTypesError, can_store, most_generic

if TYPE_CHECKING:
    import ast

    from .ir import Expression, Program, Statement
    from .source import Source
    from .types import ScalarType


@dataclass(frozen=True, eq=False)
class Values:
    """A tuple: a shape, strides, or the result of a function."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, eq=False)
class Object:
    """An object of the program around the kernel: a module, a type, a function, a constant."""

    value: Any


Meaning = Slot | ArrayValue | Values | Object
"""The meaning of a local name."""


@dataclass(eq=False)
class Returned:
    """The results of an inlined function, collected from its ``return`` statements."""

    values: list[tuple[Expression, ...]] = field(default_factory=list)
    places: list[tuple[list[Statement], int]] = field(default_factory=list)


class Context:
    """The state of the front end, for one kernel and for one function of it at a time."""

    source: Source
    program: Program

    def __init__(self, source: Source, program: Program) -> None:
        self.source, self.program = source, program
        self.out: list[Statement] = program.body
        self.names: dict[str, Meaning] = {}
        self.lost: dict[str, str] = {}
        """Names that are no longer defined, and why."""
        self.loops = 0
        self.in_entry_block = True
        self.returned: Returned | None = None
        self.callers: tuple[object, ...] = (source.function,)
        self.reached: tuple[Source, ast.AST] = source, source.tree
        """The current statement."""

    def refuse(self, node: ast.AST, what: str, rule: str, hint: str | None = None) -> NoReturn:
        """Raise the error at a position in the function."""
        refuse(self.source, node, what, rule, hint)

    def new_slot(self, name: str, type_: ScalarType) -> Slot:
        """Return a new variable."""
        slot = Slot(name, type_)
        self.program.variables.setdefault(name, []).append(slot)
        return slot

    def put(self, value: Expression, name: str = "_") -> Read:
        """Store a value in a new slot, and return an expression that reads it."""
        slot = self.new_slot(name, value.type)
        self.out.append(Store(slot, value))
        return Read(slot)

    def spill(self, value: Expression, position: int) -> Expression:
        """Compute a value before the statements from a position on, which may change it."""
        if isinstance(value, Constant):
            return value
        slot = self.new_slot("_", value.type)
        self.out.insert(position, Store(slot, value))
        return Read(slot)

    def cast(self, value: Expression, target: ScalarType) -> Expression:
        """Return a value cast to another type."""
        return value if value.type is target else Cast(target, value)

    def stored(self, node: ast.AST, value: Expression, target: ScalarType) -> Expression:
        """Return a value coerced to the type of its target."""
        if not can_store(value.type, target):
            what = f"a value of {value.type} is stored as {target}"
            self.refuse(node, what, "CPY-TYPE-1", "store its .real or .imag")
        return self.cast(value, target)

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
