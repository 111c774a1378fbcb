"""Functions of warps on the CPU: lanes are coroutines, which a scheduler resumes warp by warp.

Source: PTX ISA, "shfl.sync", "vote.sync", "match.sync" and "activemask" (which lanes wait for each
other, and the lane that a shuffle reads); LLVM, "Coroutines in LLVM".

A lane stores in the record of its warp what it waits for, its mask and its value, and is suspended.
When all lanes in the mask that have not ended wait for the same, the scheduler copies the values of
the warp, and resumes these lanes, each up to where it waits next: a value is read from the copy, so
that a lane may store the next one before the others have read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from llvmlite import ir

from . import debugging
from .races import STATE, write_join
from .registers import I1, I32, I64, POINTER
from .warps_ptx import as_bits, from_bits

if TYPE_CHECKING:
    from interchange.cuda.ir import BarrierVote, Lane, WarpCall

WARP: Final = 32
KINDS, MASKS, SITES, VALUES, COPY, PRESENT = 0, 128, 256, 384, 640, 896
"""Offsets in the record of a warp [bytes]: what each lane waits for, its mask, the position in the
source, its value, the copy of the values, and the mask of the lanes that are resumed."""
RECORD: Final = 960
"""Size of a record [bytes], a multiple of a cache line."""
_OF_A_LANE: Final = RECORD // WARP
ENDED, AT_BARRIER = -1, 0
"""What a lane waits for, if not a function of warps, which have numbers from 1 on."""
_OPERATIONS: Final = (
    "syncwarp", "shfl", "shfl_up", "shfl_down", "shfl_xor", "ballot", "all", "any", "eq",
    "match_any", "match_all",
)  # fmt: skip
_ACTIVE: Final = 64
"""The first number of a call of activemask, which waits for the lanes at the same call."""
_LANES: Final[Any] = ir.VectorType(I32, WARP)
_WIDE: Final[Any] = ir.VectorType(I64, WARP)


def field(b: Any, record: Any, offset: int, lane: Any = None, kind: Any = I32) -> Any:
    """Return the address of a field of a record, of a lane."""
    start = b.gep(record, [I64(offset)], source_etype=ir.IntType(8))
    return start if lane is None else b.gep(start, [lane], source_etype=kind)


def _all_of(kind: Any, number: int) -> Any:
    """Return a vector of equal numbers."""
    return ir.Constant(kind, [number] * WARP)


def _splat(b: Any, value: Any) -> Any:
    """Return a vector of a number."""
    kind = ir.VectorType(value.type, WARP)
    one = b.insert_element(ir.Constant(kind, ir.Undefined), value, I32(0))
    return b.shuffle_vector(one, ir.Constant(kind, ir.Undefined), _all_of(_LANES, 0))


def _mask_of(b: Any, tests: Any) -> Any:
    """Return the mask of the lanes for which a test is true."""
    return b.bitcast(tests, I32)


def _bit(b: Any, mask: Any, lane: Any) -> Any:
    """Return whether a mask names a lane."""
    return b.trunc(b.lshr(mask, lane), I1)


class Lanes:
    """The code of a lane."""

    def __init__(self, code: Any) -> None:
        self.code = code
        b = code.slots
        exchange = code.piece(RECORD, _OF_A_LANE)
        self.item: int = 2 + len(code.pieces)  # in `work`, after those that every kernel has
        number = code.linear_thread(b)
        warp = b.zext(b.lshr(number, I32(5)), I64)
        self.lane: Any = b.and_(number, I32(WARP - 1))
        self.record: Any = b.gep(exchange, [b.mul(warp, I64(RECORD))], source_etype=ir.IntType(8))
        self._calls = 0

    def wait(self, kind: int) -> None:
        """Store what the lane waits for."""
        b = self.code.b
        b.store(I32(kind), field(b, self.record, KINDS, self.lane))

    def call(self, node: WarpCall) -> list[Any]:
        """Return the results of a call, in which the lane waits for others."""
        code, b, operation = self.code, self.code.b, node.operation
        mask = code.value(node.mask)
        values = [code.value(argument) for argument in node.arguments]
        is_checked = code.checks and operation != "activemask"
        if is_checked:
            debugging.require(code, _bit(b, mask, self.lane), node.places[0])
        bits: Any = None
        if values:
            bits = as_bits(b, values[0])
            wide = bits if bits.type.width == I64.width else b.zext(bits, I64)
            b.store(wide, field(b, self.record, VALUES, self.lane, I64))
        b.store(mask, field(b, self.record, MASKS, self.lane))
        b.store(I32(node.stuck), field(b, self.record, SITES, self.lane))
        self.wait(self._kind(operation, bits))
        code.suspend()
        present = b.load(field(b, self.record, PRESENT), typ=I32)
        if is_checked and operation != "syncwarp":
            absent = b.and_(mask, b.not_(present))
            debugging.require(code, b.icmp_unsigned("==", absent, I32(0)), node.places[1])
        if operation == "syncwarp":
            return []
        if operation == "activemask":
            return [present]
        if operation.startswith("shfl"):
            return [self._shuffled(node, present, values[1], bits.type, values[0].type)]
        return self._compared(operation, present, bits)

    def _kind(self, operation: str, bits: Any) -> int:
        """Return the number of what lanes wait for: equal for calls that meet."""
        if operation == "activemask":
            self._calls += 1
            return _ACTIVE + self._calls
        is_wide = bits is not None and bits.type.width == I64.width
        return 1 + 2 * _OPERATIONS.index(operation) + is_wide

    def _shuffled(self, node: WarpCall, present: Any, lane: Any, bits: Any, kind: Any) -> Any:
        """Return the value of another lane, or the own one if there is no such lane."""
        b, own = self.code.b, self.lane
        base = b.and_(own, I32(-node.width))
        last = b.or_(own, I32(node.width - 1))
        step = b.and_(lane, I32(WARP - 1))
        if node.operation == "shfl":
            source = b.or_(base, b.and_(lane, I32(node.width - 1)))
        elif node.operation == "shfl_xor":
            source = b.xor(own, step)
        else:
            source = (b.sub if node.operation == "shfl_up" else b.add)(own, step)
        low = base if node.operation == "shfl_up" else I32(0)
        is_inside = b.and_(b.icmp_signed(">=", source, low), b.icmp_signed("<=", source, last))
        source = b.select(is_inside, source, own)
        source = b.select(_bit(b, present, source), source, own)
        found = b.load(field(b, self.record, COPY, source, I64), typ=I64)
        return from_bits(b, found if bits.width == I64.width else b.trunc(found, bits), kind)

    def _compared(self, operation: str, present: Any, bits: Any) -> list[Any]:
        """Return the results of a vote, or of a comparison of values."""
        b = self.code.b
        copy = b.load(field(b, self.record, COPY), typ=_WIDE)
        if operation.startswith("match"):
            wide = bits if bits.type.width == I64.width else b.zext(bits, I64)
            equal = b.and_(_mask_of(b, b.icmp_unsigned("==", copy, _splat(b, wide))), present)
            if operation == "match_any":
                return [equal]
            same = b.icmp_unsigned("==", equal, present)
            return [b.select(same, present, I32(0)), same]
        true = b.and_(_mask_of(b, b.icmp_unsigned("!=", copy, _all_of(_WIDE, 0))), present)
        if operation == "ballot":
            return [true]
        all_, any_ = b.icmp_unsigned("==", true, present), b.icmp_unsigned("!=", true, I32(0))
        return [{"all": all_, "any": any_, "eq": b.or_(all_, b.not_(any_))}[operation]]


def lane(code: Any, _: Lane) -> Any:
    """Return the index of the thread in its warp."""
    return code.lane()


def call(code: Any, node: WarpCall) -> None:
    """Generate a call, and store its results."""
    for slot, value in zip(node.results, code.warp_call(node), strict=True):
        code.b.store(value, code.slot(slot))


def vote(code: Any, node: BarrierVote) -> None:
    """Generate a barrier that counts, and store its result."""
    code.b.store(code.barrier_vote(node), code.slot(node.result))


def write_scheduler(code: Any) -> Any:
    """Return the function ``run_warps(records, handles, threads, states)``.

    It resumes lanes until each has ended or waits at a barrier of the block; it returns the number
    of threads that have ended, or, less than 0, the position of a call that waits forever.
    The last parameter is for `races.write_join`.
    """
    kind = ir.FunctionType(I64, [POINTER, POINTER, I64, POINTER])
    function = ir.Function(code.module, kind, "run_warps")
    function.linkage = "internal"
    return _Scheduler(code, function).write()


def clear_record(b: Any, records: Any, warp: Any) -> None:
    """Generate: no lane of a warp waits, so that those which the block does not have never do."""
    record = b.gep(records, [b.mul(warp, I64(RECORD))], source_etype=ir.IntType(8))
    b.store(_all_of(_LANES, ENDED), field(b, record, KINDS))


class _Scheduler:
    """Generates the scheduler."""

    def __init__(self, code: Any, function: Any) -> None:
        self.code, self.function = code, function
        names = ("entry", "next", "again", "pick", "skip", "last", "stuck", "go", "resume",
                 "rested", "done")  # fmt: skip
        self.blocks = {name: function.append_basic_block(name) for name in names}
        self.b: Any = ir.IRBuilder(self.blocks["entry"])
        self._join = None if code.watch is None else write_join(code.module)

    def _at(self, name: str) -> None:
        """Continue in another block."""
        self.b.position_at_end(self.blocks[name])

    def _phi(self, kind: Any = I32) -> Any:
        """Return a value that depends on the block before."""
        return self.b.phi(kind)

    def write(self) -> Any:
        """Return the function."""
        b, blocks = self.b, self.blocks
        records, handles, threads, states = self.function.args
        warps = b.lshr(b.add(threads, I64(WARP - 1)), I64(5))
        b.branch(blocks["next"])
        self._at("next")
        warp, ended = self._phi(I64), self._phi(I64)
        for each in (warp, ended):
            each.add_incoming(I64(0), blocks["entry"])
        record = b.gep(records, [b.mul(warp, I64(RECORD))], source_etype=ir.IntType(8))
        lanes = b.gep(handles, [b.mul(warp, I64(WARP))], source_etype=POINTER)
        self._states = b.gep(states, [b.mul(warp, I64(WARP * STATE))], source_etype=I32)
        b.branch(blocks["again"])
        done = self._one_warp(record, lanes)
        self._at("rested")
        more = b.zext(b.ctpop(done), I64)
        sum_, next_ = b.add(ended, more), b.add(warp, I64(1))
        warp.add_incoming(next_, blocks["rested"])
        ended.add_incoming(sum_, blocks["rested"])
        b.cbranch(b.icmp_unsigned("<", next_, warps), blocks["next"], blocks["done"])
        self._at("done")
        b.ret(b.sub(sum_, b.sub(b.mul(warps, I64(WARP)), threads)))
        return self.function

    def _one_warp(self, record: Any, handles: Any) -> Any:
        """Generate the loop over what the lanes of a warp wait for; return which have ended."""
        b, blocks = self.b, self.blocks
        self._at("again")
        kinds = b.load(field(b, record, KINDS), typ=_LANES)
        masks = b.load(field(b, record, MASKS), typ=_LANES)
        done = _mask_of(b, b.icmp_signed("==", kinds, _all_of(_LANES, ENDED)))
        waiting = _mask_of(b, b.icmp_signed(">", kinds, _all_of(_LANES, AT_BARRIER)))
        is_none = b.icmp_unsigned("==", waiting, I32(0))
        b.cbranch(is_none, blocks["rested"], blocks["pick"])

        self._at("pick")
        left, active = self._phi(), self._phi()
        left.add_incoming(waiting, blocks["again"])
        active.add_incoming(I32(0), blocks["again"])
        first = b.cttz(left, I1(1))
        kind, mask = (b.load(field(b, record, offset, first), typ=I32) for offset in (KINDS, MASKS))
        same = _mask_of(
            b,
            b.and_(
                b.icmp_signed("==", kinds, _splat(b, kind)),
                b.icmp_signed("==", masks, _splat(b, mask)),
            ),
        )
        missing = b.and_(b.and_(mask, b.not_(done)), b.not_(same))
        is_active = b.icmp_signed(">=", kind, I32(_ACTIVE))
        is_complete = b.and_(b.icmp_unsigned("==", missing, I32(0)), b.not_(is_active))
        b.cbranch(is_complete, blocks["go"], blocks["skip"])

        self._at("skip")
        others = b.and_(left, b.not_(same))
        is_first = b.and_(is_active, b.icmp_unsigned("==", active, I32(0)))
        chosen = b.select(is_first, same, active)
        left.add_incoming(others, blocks["skip"])
        active.add_incoming(chosen, blocks["skip"])
        is_last = b.icmp_unsigned("==", others, I32(0))
        b.cbranch(is_last, blocks["last"], blocks["pick"])

        self._at("last")
        is_stuck = b.icmp_unsigned("==", chosen, I32(0))
        b.cbranch(is_stuck, blocks["stuck"], blocks["go"])
        self._at("stuck")
        site = b.load(field(b, record, SITES, b.cttz(waiting, I1(1))), typ=I32)
        b.ret(b.sub(I64(0), b.sext(site, I64)))
        self._resume(record, handles, same, chosen)
        return done

    def _resume(self, record: Any, handles: Any, same: Any, chosen: Any) -> None:
        """Generate: copy the values, and resume some lanes."""
        b, blocks = self.b, self.blocks
        self._at("go")
        lanes = self._phi()
        lanes.add_incoming(same, blocks["pick"])
        lanes.add_incoming(chosen, blocks["last"])
        copied = b.load(field(b, record, VALUES), typ=_WIDE)
        b.store(copied, field(b, record, COPY))
        b.store(lanes, field(b, record, PRESENT))
        if self.code.watch is not None:
            kind = b.load(field(b, record, KINDS, b.cttz(lanes, I1(1))), typ=I32)
            is_sync = b.icmp_unsigned("==", kind, I32(1 + _OPERATIONS.index("syncwarp")))
            b.call(self._join, [self._states, b.select(is_sync, lanes, I32(0))])
        b.branch(blocks["resume"])
        self._at("resume")
        rest = self._phi()
        rest.add_incoming(lanes, blocks["go"])
        place = b.gep(handles, [b.cttz(rest, I1(1))], source_etype=POINTER)
        resume = self.code.declared("llvm.coro.resume", ir.VoidType(), [POINTER])
        b.call(resume, [b.load(place, typ=POINTER)])
        fewer = b.and_(rest, b.sub(rest, I32(1)))
        rest.add_incoming(fewer, blocks["resume"])
        b.cbranch(b.icmp_unsigned("==", fewer, I32(0)), blocks["again"], blocks["resume"])
