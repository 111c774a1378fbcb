"""Which statements of a kernel a block executes as a whole, and which each of its threads.

Source: R. Karrenberg and S. Hack, "Whole-Function Vectorization" (uniform values); P. Jääskeläinen
et al., "pocl: A Performance-Portable OpenCL Implementation" (regions between barriers).  A program
is split at its barriers: branches and loops with barriers become those of the block if their
conditions are the same for all threads, and the statements between barriers become regions, which
all threads execute before any of them goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from interchange.cuda import ir

if TYPE_CHECKING:
    from collections.abc import Iterator

_STRUCTURES: Final = (ir.If, ir.Loop, ir.Inlined)
_UNIFORM: Final = (
    ir.Constant, ir.Argument, ir.Cast, ir.Binary, ir.Unary, ir.Extent, ir.Math, ir.Choice,
    ir.Complex, ir.Part, ir.Rounds, ir.ArrayValue,
)  # fmt: skip
"""Nodes that are the same for all threads if the nodes below them are."""
_OF_BLOCKS: Final = frozenset({"blockIdx", "blockDim", "gridDim"})
_DO_NOT_WAIT: Final = (
    *_UNIFORM, ir.Read, ir.Element, ir.Special, ir.Lane, ir.Atomic, ir.Slot, ir.Store,
    ir.StoreElement, ir.If, ir.Loop, ir.Unrolled, ir.Jump, ir.Inlined, ir.Check, ir.Assert,
    ir.Barrier, ir.Fence,
)  # fmt: skip
"""Nodes after which a thread goes on, or waits at a barrier of the block."""


@dataclass(eq=False)
class Region:
    """Statements that every thread of the block executes, none of which waits."""

    body: list[ir.Statement]


_LEAVES: Final = (ir.Slot, ir.Constant, ir.Argument, ir.Special)
_PLAIN: Final = frozenset({
    "type", "name", "operator", "place", "line", "kind", "shape", "data", "function",
})  # fmt: skip
_names: Final[dict[Any, tuple[str, ...] | None]] = {}
"""Kind of nodes -> the fields that hold nodes; None for other objects."""


def _fields(kind: Any) -> tuple[str, ...] | None:
    """Return the fields of a kind of nodes that hold nodes."""
    if kind not in _names:
        all_of_it = fields(kind) if is_dataclass(kind) and kind not in _LEAVES else ()
        found = tuple(each.name for each in all_of_it if each.name not in _PLAIN)
        _names[kind] = found if is_dataclass(kind) else None
    return _names[kind]


def walk(node: Any) -> Iterator[Any]:
    """Yield the nodes in a node or list, at any depth, and slots."""
    stack = [node]
    while stack:
        found = stack.pop()
        kind = type(found)
        if kind is list or kind is tuple:
            stack += found
            continue
        names = _names[kind] if kind in _names else _fields(kind)
        if names is not None:
            yield found
            stack += [getattr(found, name) for name in names]


def parts(node: Any) -> list[Any]:
    """Return the nodes of a program that are directly in one; a slot has none."""
    found: list[Any] = []
    stack = [getattr(node, name) for name in _fields(type(node)) or ()]
    while stack:
        value = stack.pop(0)
        if isinstance(value, (list, tuple)):
            stack[:0] = value
        elif _fields(type(value)) is not None:
            found.append(value)
    return found


def slots_in(node: Any) -> set[ir.Slot]:
    """Return the variables that a node reads or writes."""
    return {each for each in walk(node) if isinstance(each, ir.Slot)}


def waits(node: Any) -> bool:
    """Whether a barrier is in a node."""
    return any(isinstance(each, ir.Barrier) for each in walk(node))


class _Unsplittable(Exception):  # noqa: N818 - it is no error
    """Threads may take different paths to a barrier."""


class Split:
    """The regions of a program, and the variables that a block has once.

    Attributes
    ----------
    body : list of Statement and Region
        The statements of a block.
    scalars : set of Slot
        Variables that only statements of the block assign.
    """

    def __init__(self, program: ir.Program) -> None:
        self.body: list[Any] = [Region(program.body)]
        self.scalars: set[ir.Slot] = set()
        if program.has_barrier:
            self._bodies = program.body
            self._find_structures(program.body)
            while not self._is_settled():
                pass
            self.body = self._list(program.body)

    def _find_structures(self, body: list[ir.Statement]) -> None:
        """Start with all branches and loops that may be those of a block."""
        self._blockwise: dict[int, bool] = {}  # id -> whether it has a barrier
        for each in walk(body):
            if isinstance(each, _STRUCTURES):
                has_barrier = waits(each)
                if has_barrier or all(
                    isinstance(one, (ir.Store, ir.Jump, *_STRUCTURES))
                    for one in walk(each)
                    if isinstance(one, ir.Statement)
                ):
                    self._blockwise[id(each)] = has_barrier

    # ------------------------------------------------------------ the analysis

    def _is_settled(self) -> bool:
        """Find the scalars; drop structures that are not of the block; whether none was."""
        self._stores: list[ir.Store] = []
        self._tests: list[tuple[Any, ir.Expression | None]] = []
        self._threads: set[ir.Slot] = set()
        self._collect(self._bodies, in_loop=False, is_tail=True)
        scalars = {store.slot for store in self._stores} - self._threads
        while True:
            wrong = {
                store.slot
                for store in self._stores
                if store.slot in scalars and not is_uniform(store.value, scalars)
            }
            if not wrong:
                break
            scalars -= wrong
        self.scalars = scalars
        dropped = [each for each, test in self._tests if not self._stays(each, test)]
        for each in dropped:
            if self._blockwise.pop(id(each)):
                raise _Unsplittable
        return not dropped

    def _stays(self, node: Any, test: ir.Expression | None) -> bool:
        """Whether a branch or loop is one of the block."""
        if test is not None and not is_uniform(test, self.scalars):
            return False
        return self._blockwise[id(node)] or all(
            one.slot in self.scalars for one in walk(node) if isinstance(one, ir.Store)
        )

    def _collect(self, body: list[ir.Statement], *, in_loop: bool, is_tail: bool) -> None:
        """Collect the stores of a block, and the variables that threads assign."""
        left = False  # whether some threads may have returned
        for place, each in enumerate(body):
            if isinstance(each, ir.Store) and not left:
                self._stores.append(each)
            elif not left and isinstance(each, (ir.Jump, ir.Barrier)):
                continue
            elif not left and id(each) in self._blockwise:
                self._collect_structure(each, in_loop=in_loop)
            elif waits(each):
                raise _Unsplittable
            else:
                self._blockwise.pop(id(each), None)
                if isinstance(each, _STRUCTURES):
                    left = self._leaves(each, left, in_loop=in_loop, is_tail=is_tail)
                    if left and waits(body[place:]):
                        raise _Unsplittable
                self._threads |= assigned(each)

    def _collect_structure(self, node: Any, *, in_loop: bool) -> None:
        """Collect the parts of a branch, a loop or a function of the block."""
        self._tests.append((node, getattr(node, "test", None)))
        if isinstance(node, ir.Inlined):
            self._collect(node.body, in_loop=False, is_tail=True)
        elif isinstance(node, ir.Loop):
            for part in (node.before_test, node.body, node.step):
                self._collect(part, in_loop=True, is_tail=False)
        else:
            for part in (node.body, node.orelse):
                self._collect(part, in_loop=in_loop, is_tail=False)

    def _leaves(self, node: Any, left: bool, *, in_loop: bool, is_tail: bool) -> bool:
        """Whether threads may return in a statement of threads; refuse jumps to other places."""
        kinds = set(_escapes(node))
        if kinds - {"return"} or (kinds and (in_loop or not is_tail)):
            raise _Unsplittable
        return left or bool(kinds)

    # ------------------------------------------------------------ the result

    def _list(self, body: list[ir.Statement]) -> list[Any]:
        """Return statements of the block, and regions."""
        found: list[Any] = []
        waiting: list[ir.Statement] = []

        def flush() -> None:
            if waiting:
                found.append(Region(waiting.copy()))
                waiting.clear()

        for each in body:
            if isinstance(each, ir.Barrier):
                flush()
            elif isinstance(each, ir.Jump):
                flush()
                found.append(each)
            elif isinstance(each, ir.Store) and each.slot in self.scalars:
                if each.slot in slots_in(waiting):
                    flush()
                found.append(each)
            elif id(each) in self._blockwise:
                if any(_escapes(each)) or waits(each) or slots_in(each) & slots_in(waiting):
                    flush()
                found.append(self._structure(each))
            else:
                waiting.append(each)
        flush()
        return found

    def _structure(self, node: Any) -> Any:
        """Return a branch, a loop or a function of the block."""
        lists = {
            field.name: self._list(getattr(node, field.name))
            for field in fields(node)
            if isinstance(getattr(node, field.name), list)
        }
        return replace(node, **lists)


def is_uniform(node: Any, scalars: set[ir.Slot]) -> bool:
    """Whether a value is the same for all threads of a block."""
    if isinstance(node, ir.Read):
        return node.slot in scalars
    if isinstance(node, ir.Special):
        return node.name in _OF_BLOCKS
    return isinstance(node, _UNIFORM) and all(is_uniform(each, scalars) for each in parts(node))


def assigned(node: Any) -> set[ir.Slot]:
    """Return the variables that a statement, or a list of them, may assign."""
    known = (ir.StoreElement, *_STRUCTURES)
    found: set[ir.Slot] = set()
    for each in walk([node]):
        if isinstance(each, ir.Store):
            found.add(each.slot)
        elif isinstance(each, ir.Invoke):
            found.update(each.results)
        elif isinstance(each, ir.Statement) and not isinstance(each, known):
            found |= slots_in(each)
    return found


def _escapes(node: Any, *, in_loop: bool = False, inlined: bool = False) -> Iterator[str]:
    """Yield the jumps that leave a statement."""
    if isinstance(node, ir.Jump):
        is_inside = inlined if node.kind == "return" else in_loop
        if not is_inside:
            yield node.kind
        return
    if isinstance(node, ir.Inlined):
        in_loop, inlined = False, True
    in_loop = in_loop or isinstance(node, (ir.Loop, ir.Unrolled))
    for each in parts(node):
        yield from _escapes(each, in_loop=in_loop, inlined=inlined)


def _goes_on(node: Any) -> bool:
    """Whether a thread goes on after a node, or waits at a barrier of the block."""
    if isinstance(node, ir.Call):
        return node.intrinsic.is_pure
    if isinstance(node, ir.Invoke):
        return not node.function.is_ending
    return isinstance(node, _DO_NOT_WAIT)


def split(program: ir.Program) -> Split | None:
    """Return the regions of a program, or None if its threads have to wait for each other."""
    if program.has_barrier and not all(map(_goes_on, walk(program.body))):
        return None
    try:
        return Split(program)
    except _Unsplittable:
        return None
