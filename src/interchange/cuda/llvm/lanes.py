"""Loops whose number of iterations differs from thread to thread, as vectors of threads with masks.

Source: R. Karrenberg and S. Hack, "Whole-Function Vectorization" (loops with divergent exits).
LLVM vectorises innermost loops only: a loop of a thread becomes a loop around one over a number of
threads, each of which does nothing once it has left the loop.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from llvmlite import ir as llvm_ir

from interchange.cuda import ir

from .registers import I32, I64, POINTER, value_type
from .uniformity import slots_in, walk

LANES: Final = 16
"""Threads of a vector: as many float32 as a register of 512 bits has."""
_VECTORISED: Final = (
    ir.Slot, ir.Constant, ir.Read, ir.Argument, ir.Cast, ir.Binary, ir.Unary, ir.Extent,
    ir.Special, ir.Math, ir.Store, ir.If, ir.Jump, ir.ArrayValue,
)  # fmt: skip
_SLOW: Final = frozenset({"//", "%"})
_ONE_INSTRUCTION: Final = frozenset({"sqrt", "fabs"})
_WIDTHS: Final = frozenset({32, 64})


class Parts(NamedTuple):
    """The statements of a thread before such a loop, the loop, and those after it."""

    before: list[ir.Statement]
    loop: ir.Loop
    after: list[ir.Statement]
    crossing: list[ir.Slot]  # variables of the loop and of another part, or of the next iteration


def divided(body: list[ir.Statement]) -> Parts | None:
    """Return the parts of a thread with one loop that vectors of threads can execute."""
    loops = [place for place, each in enumerate(body) if isinstance(each, ir.Loop)]
    if len(loops) != 1 or not _is_plain(body[loops[0]]):
        return None
    place = loops[0]
    loop = body[place]
    if not isinstance(loop, ir.Loop) or not _is_divergent(loop, body[:place]):
        return None
    rest = (body[:place], body[place + 1 :])
    if any(isinstance(each, (ir.Jump, ir.Raise)) for each in walk(rest)):
        return None  # a thread that leaves before the loop
    return Parts(rest[0], loop, rest[1], sorted(slots_in(loop) | _shared(*rest), key=id))


def _shared(before: list[ir.Statement], after: list[ir.Statement]) -> set[ir.Slot]:
    """Return the variables of both parts."""
    return slots_in(before) & slots_in(after)


def _is_plain(loop: ir.Statement) -> bool:
    """Whether a loop only computes numbers of 32 or 64 bits, by instructions that vectors have."""
    nodes = list(walk(loop))
    return (
        all(isinstance(each, _VECTORISED) or each is loop for each in nodes)
        and all(each.operator not in _SLOW for each in nodes if isinstance(each, ir.Binary))
        and all(each.name in _ONE_INSTRUCTION for each in nodes if isinstance(each, ir.Math))
        and all(each.kind != "return" for each in nodes if isinstance(each, ir.Jump))
        and all(_is_of_vectors(each.type) for each in nodes if isinstance(each, ir.Slot))
    )


def _is_of_vectors(type_: Any) -> bool:
    """Whether a variable has a type that is the same in memory and in registers of vectors."""
    return type_.kind == "bool" or (type_.kind != "complex" and type_.bits in _WIDTHS)


def _is_divergent(loop: ir.Loop, before: list[ir.Statement]) -> bool:
    """Whether a loop has another end than that of a range of constants, which LLVM unrolls."""
    if any(isinstance(each, ir.Jump) and each.kind == "break" for each in walk(loop)):
        return True
    test = loop.test
    rounds = test.right if isinstance(test, ir.Binary) else test
    if not isinstance(rounds, ir.Read):
        return not isinstance(rounds, ir.Constant)
    stores = [each for each in before if isinstance(each, ir.Store) and each.slot is rounds.slot]
    is_constant = len(stores) == 1 and all(
        not isinstance(each, (ir.Read, ir.Argument, ir.Extent, ir.Element))
        for each in walk(stores[0].value)
    )
    return not is_constant


class Vector:
    """Writes the three parts for neighbouring threads."""

    def __init__(self, code: Any, parts: Parts) -> None:
        self._code, self._parts = code, parts
        self._arrays = {slot: self._array(_kind(slot)) for slot in parts.crossing}
        self._active = self._array(I32)
        self._any = code.slots.alloca(I32)
        self._flag = code.slots.alloca(I32)

    def _array(self, kind: Any) -> Any:
        """Return memory with a number of each lane."""
        memory = self._code.slots.alloca(llvm_ir.ArrayType(kind, LANES))
        memory.align = 64
        memory.type = POINTER  # gep needs no other
        return memory

    def write(self, begin: Any, group: Any) -> None:
        """Generate all parts; `begin` sets the thread, given the number of its lane."""
        code, parts = self._code, self._parts

        def each_lane(body: list[ir.Statement]) -> None:
            def lane(number: Any) -> None:
                begin(number)
                self._load(number)
                code.write_statements(body, group)
                self._save(number)

            code.loop(I64(0), I64(LANES), lane, ids=code.parallel_of(group))

        def start(number: Any) -> None:
            code.b.store(I32(1), self._at(self._active, I32, number))

        each_lane(parts.before)
        code.loop(I64(0), I64(LANES), start, ids=code.parallel_of(group))
        again, done = (code.function.append_basic_block(name) for name in ("again", "left"))
        code.b.branch(again)
        code.b.position_at_end(again)
        code.b.store(I32(0), self._any)
        code.loop(
            I64(0),
            I64(LANES),
            lambda number: self._step(begin, number),
            ids=code.parallel_of(group),
        )
        is_any = code.b.icmp_unsigned("!=", code.b.load(self._any, typ=I32), I32(0))
        back = code.b.cbranch(is_any, again, done)
        back.set_metadata("llvm.loop", code.b.kept_whole())
        code.b.position_at_end(done)
        each_lane(parts.after)

    def _step(self, begin: Any, number: Any) -> None:
        """Generate one iteration of a lane, if it has not left the loop."""
        code, loop = self._code, self._parts.loop
        begin(number)
        self._load(number)
        names = ("lane", "lane.body", "lane.step", "lane.off", "lane.end")
        lane, body, step, off, end = (code.function.append_basic_block(name) for name in names)
        active = code.b.load(self._at(self._active, I32, number), typ=I32)
        code.b.store(I32(0), self._flag)
        code.b.cbranch(code.b.icmp_unsigned("!=", active, I32(0)), lane, end)
        code.b.position_at_end(lane)
        code.statements(loop.before_test)
        code.b.cbranch(code.value(loop.test), body, off)
        code.b.position_at_end(body)
        code.write_iteration(loop.body, step, off)
        code.b.position_at_end(step)
        code.statements(loop.step)
        code.b.store(I32(1), self._flag)
        code.b.branch(end)
        code.b.position_at_end(off)
        code.b.branch(end)
        code.b.position_at_end(end)
        flag = code.b.load(self._flag, typ=I32)
        code.b.store(flag, self._at(self._active, I32, number))
        code.b.store(code.b.or_(code.b.load(self._any, typ=I32), flag), self._any)
        self._save(number)

    def _at(self, memory: Any, kind: Any, number: Any) -> Any:
        """Return the address of a lane's number."""
        return self._code.b.gep(memory, [number], source_etype=kind)

    def _load(self, number: Any) -> None:
        """Generate: the variables of a lane become those of the code."""
        b = self._code.b
        for slot, memory in self._arrays.items():
            value = b.load(self._at(memory, _kind(slot), number), typ=_kind(slot))
            if slot.type.kind == "bool":
                value = b.icmp_unsigned("!=", value, I32(0))
            b.store(value, self._code.slot(slot))

    def _save(self, number: Any) -> None:
        """Generate the opposite."""
        b = self._code.b
        for slot, memory in self._arrays.items():
            value = b.load(self._code.slot(slot), typ=value_type(slot.type))
            if slot.type.kind == "bool":
                value = b.zext(value, I32)
            b.store(value, self._at(memory, _kind(slot), number))


def _kind(slot: ir.Slot) -> Any:
    """Return the type of a variable in memory; a bool is as wide as most of the others."""
    return I32 if slot.type.kind == "bool" else value_type(slot.type)
