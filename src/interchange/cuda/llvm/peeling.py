"""Guards such as ``if i < n`` as the limits of the loop over threads, so that no thread is masked.

Source: C. Bastoul, "Code Generation in the Polyhedral Model Is Easier Than You Think" (bounds of
loops from conditions).  A guard compares a number that grows by 1 from thread to thread, and does
not overflow, with one that is the same for all of them: the threads for which it is true are
neighbours.  Those outside of all guards have nothing to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from interchange.cuda import ir
from interchange.cuda.types import bool_

from .uniformity import parts, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}
_NEGATED: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_WITHOUT_EFFECT: Final = (
    ir.Constant, ir.Read, ir.Argument, ir.Cast, ir.Binary, ir.Unary, ir.Element, ir.Extent,
    ir.Special, ir.Math, ir.Choice, ir.Complex, ir.Part, ir.Rounds, ir.ArrayValue, ir.Slot,
)  # fmt: skip
_MOST_NODES: Final = 48
"""Of an expression; a longer one is not searched for guards."""
_HALF, _WHOLE = 1 << 31, 1 << 63
_MOST_INDEX: Final = (1 << 62) + _HALF
"""No index of a thread in the grid is as large."""


@dataclass(frozen=True, eq=False)
class Guard:
    """A comparison of a number that grows by `slope` from thread to thread with a uniform one."""

    operator: str
    left: ir.Expression
    right: ir.Expression
    slope: int


@dataclass(frozen=True, eq=False)
class _Choice:
    """A value that depends on a condition."""

    test: Any
    then: Any
    other: Any


def global_axis(node: Any) -> int | None:
    """Return the axis of ``blockIdx * blockDim + threadIdx``, the index of a thread in the grid."""
    if not isinstance(node, ir.Binary) or node.operator != "+":
        return None
    for product, thread in ((node.left, node.right), (node.right, node.left)):
        axis = _axis_of(thread, "threadIdx")
        if axis is None or not isinstance(product, ir.Binary) or product.operator != "*":
            continue
        factors = (product.left, product.right), (product.right, product.left)
        for one, other in factors:
            if _axis_of(one, "blockIdx") == axis == _axis_of(other, "blockDim"):
                return axis
    return None


def _axis_of(node: Any, name: str) -> int | None:
    """Return the axis of a special register, which may be widened."""
    while isinstance(node, ir.Cast):
        node = node.value
    return node.axis if isinstance(node, ir.Special) and node.name == name else None


class Peeler:
    """Finds the guards of a region.

    Parameters
    ----------
    known : dict
        Variable -> its value, for those that have one throughout the region.
    is_collapsed : bool
        Whether the threads of several blocks are neighbours: they are counted by their index in the
        grid.
    """

    def __init__(self, known: dict[ir.Slot, Any], *, is_collapsed: bool) -> None:
        self._known, self._is_collapsed = known, is_collapsed
        self.guards: list[Guard] = []
        self._before: set[ir.Slot] = set()
        self.assigned: set[ir.Slot] = set()
        """Variables that are assigned by threads for which a guard is false."""

    def peel(self, body: list[ir.Statement]) -> list[ir.Statement]:
        """Return the statements of the threads for which all guards are true."""
        found: list[ir.Statement] = []
        for place, each in enumerate(body):
            if has_no_effect(each):
                self._evaluate(each)
                found.append(each)
                self._before |= {one.slot for one in walk([each]) if isinstance(one, ir.Store)}
                continue
            if not isinstance(each, ir.If) or each.orelse:
                return found + body[place:]
            if _is_return(each.body):
                found += self._take(each, is_negated=True, inner=None)
                continue
            if each is body[-1]:
                return found + self._take(each, is_negated=False, inner=each.body)
            return found + body[place:]
        return found

    def _take(
        self, node: ir.If, *, is_negated: bool, inner: list[ir.Statement] | None
    ) -> list[ir.Statement]:
        """Take the guards in a test; return the statements that remain."""
        terms = list(self._terms(self._value(node.test), is_negated=is_negated))
        guards = [self._guard(term, is_negated=is_negated) for term in terms]
        if any(guards):
            self.guards += [guard for guard in guards if guard is not None]
            self.assigned |= self._before
        is_whole = None not in guards
        if inner is None:
            return [] if is_whole else [node]
        if not any(guards):
            return [node]
        body = self.peel(inner)
        return body if is_whole else [ir.If(node.test, body, [])]

    # ------------------------------------------------------------ symbolic values

    def _value(self, node: Any) -> Any:
        """Return a value in terms of what does not change, None if it is not known."""
        if isinstance(node, ir.Read):
            return self._known.get(node.slot)
        if isinstance(node, ir.Cast):
            value = self._value(node.value)
            if value is None or isinstance(value, _Choice):
                return None
            return ir.Cast(node.type, value) if value is not node.value else node
        if isinstance(node, ir.Binary):
            left, right = self._value(node.left), self._value(node.right)
            if None in (left, right) or isinstance(left, _Choice) or isinstance(right, _Choice):
                return None
            if left is node.left and right is node.right:
                return node
            found = ir.Binary(node.type, node.operator, left, right)
            return found if _size(found) <= _MOST_NODES else None
        return node if isinstance(node, (ir.Constant, ir.Argument, ir.Extent, ir.Special)) else None

    def _evaluate(self, node: ir.Statement) -> None:
        """Note what a statement without effects assigns."""
        if isinstance(node, ir.Store):
            self._known[node.slot] = self._value(node.value)
            return
        if not isinstance(node, ir.If):
            return
        test, before, ends = self._value(node.test), self._known, []
        for body in (node.body, node.orelse):
            self._known = dict(before)
            for each in body:
                self._evaluate(each)
            ends.append(self._known)
        one, other = ends
        self._known = {
            slot: one.get(slot)
            if one.get(slot) is other.get(slot)
            else _Choice(test, one.get(slot), other.get(slot))
            for slot in {**one, **other}
        }

    def _terms(self, node: Any, *, is_negated: bool) -> Iterator[Any]:
        """Yield the terms of a conjunction; of a disjunction, if it is negated."""
        if isinstance(node, _Choice):
            test = node.test
            is_or = _is_same(node.then, test) or _is_constant(node.then, value=True)
            is_and = _is_same(node.other, test) or _is_constant(node.other, value=False)
            if is_or if is_negated else is_and:
                yield from self._terms(test, is_negated=is_negated)
                yield from self._terms(
                    node.other if is_negated else node.then, is_negated=is_negated
                )
                return
            yield None
            return
        yield node

    def _guard(self, node: Any, *, is_negated: bool) -> Guard | None:
        """Return the guard of a comparison."""
        if not isinstance(node, ir.Binary) or node.operator not in _MIRRORED:
            return None
        operator, left, right = node.operator, node.left, node.right
        if left.type.kind not in {"int", "uint"} or (left.type.kind, left.type.bits) == (
            "uint",
            64,
        ):
            return None
        slopes = self._slope(left), self._slope(right)
        if slopes == (0, 1):
            operator, left, right, slopes = _MIRRORED[operator], right, left, (1, 0)
        if slopes not in {(0, 0), (1, 0)}:
            return None
        if is_negated:
            if operator not in _NEGATED:
                return None
            operator = _NEGATED[operator]
        return Guard(operator, left, right, slopes[0] or 0)

    # ------------------------------------------------------------ numbers that grow by 1

    def _slope(self, node: Any) -> int | None:
        """Return 0 for a uniform value, 1 for one that grows by 1 exactly, None for others."""
        axis = global_axis(node)
        if axis is not None and self._is_collapsed:
            return (1 if node.type.bits == 64 else None) if axis == 0 else 0
        if isinstance(node, ir.Special):
            return int((node.name, node.axis) == ("threadIdx", 0))
        slopes = [self._slope(each) for each in parts(node) if isinstance(each, ir.Expression)]
        if not any(slopes):
            return None if None in slopes else 0
        if None in slopes or not self._is_exact(node):
            return None
        if isinstance(node, ir.Cast) and node.type.is_integer:
            return 1
        if isinstance(node, ir.Binary) and node.operator == "+" and sum(filter(None, slopes)) == 1:
            return 1
        is_less = isinstance(node, ir.Binary) and node.operator == "-"
        return 1 if is_less and slopes == [1, 0] else None

    def _is_exact(self, node: Any) -> bool:
        """Whether no thread can cause an overflow in the last operation of a value."""
        low, high = _limits(node)
        least, most = _limits_of(node.type)
        return least <= low and high <= most


def _limits_of(type_: Any) -> tuple[int, int]:
    """Return the limits of an integer type."""
    if type_.kind == "uint":
        return 0, (1 << type_.bits) - 1
    if type_.kind == "int":
        return -(1 << type_.bits - 1), (1 << type_.bits - 1) - 1
    return 0, 1


def _limits(node: Any) -> tuple[int, int]:
    """Return limits of a value as if its last operation did not overflow."""
    if not isinstance(node, ir.Binary):
        return _limits_of_one(node)
    if global_axis(node) is not None and node.type.bits == 64:
        return 0, _MOST_INDEX
    if node.operator not in {"+", "-", "*"} or not node.type.is_integer:
        return _limits_of(node.type)
    (a, b), (c, d) = _wrapped(node.left), _wrapped(node.right)
    if node.operator == "+":
        return a + c, b + d
    if node.operator == "-":
        return a - d, b - c
    products = a * c, a * d, b * c, b * d
    return min(products), max(products)


def _limits_of_one(node: Any) -> tuple[int, int]:
    """Return limits of a value that is no operation of two."""
    if isinstance(node, ir.Special):
        return 0, _HALF - 1
    if isinstance(node, ir.Constant) and isinstance(node.value, int):
        return int(node.value), int(node.value)
    if isinstance(node, ir.Extent) and not node.is_stride:
        return 0, _WHOLE - 1
    if isinstance(node, ir.Cast) and node.value.type.is_integer and node.type.is_integer:
        return _wrapped(node.value)
    return _limits_of(node.type)


def _wrapped(node: Any) -> tuple[int, int]:
    """Return limits of a value, those of its type if it may overflow."""
    (low, high), (least, most) = _limits(node), _limits_of(node.type)
    return (low, high) if least <= low and high <= most else (least, most)


def has_no_effect(node: ir.Statement) -> bool:
    """Whether a statement only assigns variables, or does something in debug mode only."""
    if isinstance(node, (ir.Assert, ir.Check)):
        return True
    if isinstance(node, ir.Store):
        return all(isinstance(each, _WITHOUT_EFFECT) for each in walk([node.value]))
    if isinstance(node, ir.If):
        return (
            all(isinstance(each, _WITHOUT_EFFECT) for each in walk([node.test]))
            and all(map(has_no_effect, node.body))
            and all(map(has_no_effect, node.orelse))
        )
    return False


def _is_return(body: list[ir.Statement]) -> bool:
    """Whether a body is only ``return``."""
    return len(body) == 1 and isinstance(body[0], ir.Jump) and body[0].kind == "return"


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are one."""
    return one is not None and one is other


def _is_constant(node: Any, *, value: bool) -> bool:
    """Whether a value is a constant condition."""
    return isinstance(node, ir.Constant) and node.type is bool_ and bool(node.value) is value


def _size(node: Any) -> int:
    """Return the number of nodes of an expression."""
    return 1 + sum(map(_size, parts(node)))
