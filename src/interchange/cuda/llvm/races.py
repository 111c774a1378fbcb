"""Detection of races on the CPU: each access is compared with earlier ones that nothing orders.

Source: Flanagan and Freund, "FastTrack: Efficient and Precise Dynamic Race Detection"; Compute
Sanitizer, "Racecheck".  Shadow memory has an entry for each granule of memory: two writes, two
reads and two atomic operations, each the most recent one, or two that nothing orders.  Two are
enough: they are of different blocks if there are any, else of different warps, so that a later
access is ordered after both only if it is ordered after all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from llvmlite import ir

from interchange.cuda.ir import Fence, View, WarpCall
from interchange.cuda.races import ATOMIC, ENTRY, MOST_AXES, RACE_WORD, READ, REGION, WRITE

from . import debugging
from .registers import I1, I32, I64, POINTER, memory_type
from .uniformity import walk

if TYPE_CHECKING:
    from interchange.cuda.ir import Element

_SHARED: Final = -1  # the region of shared memory
_RECORD: Final = 16  # [bytes]: block + 1 or 0 for none, epoch, thread and clock, place
_PAIR: Final = 2 * _RECORD
_ME: Final = [I32, I32, I32, POINTER, POINTER, I1]
"""Parameters of an access: block + 1, epoch, thread and clock, the state of the thread or null,
that of the blocks, whether the memory is shared."""
STATE: Final = 34
"""Words of the state of a thread: the clocks of the lanes of its warp that it knows, its own among
them; the clock up to which it has released what it did; whether it has acquired what others did."""
RELEASED, ACQUIRED = 32, 33
_THREAD_BITS: Final = 10
_WARP_BITS: Final = 5
_CONFLICTS: Final = {WRITE: (WRITE, READ, ATOMIC), READ: (WRITE, ATOMIC), ATOMIC: (WRITE, READ)}
"""Kind of access, the number of its pair in an entry -> the kinds that it conflicts with."""


class _Runtime:
    """Generates the functions that the code of threads calls."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def function(self, name: str, result: Any, kinds: list[Any], *, inline: bool) -> Any:
        """Return a new internal function, and the builder of its first block."""
        found = ir.Function(self.module, ir.FunctionType(result, kinds), name)
        found.linkage = "internal"
        found.attributes.add("alwaysinline" if inline else "noinline")
        return found, ir.IRBuilder(found.append_basic_block())

    def unordered(self) -> Any:
        """Return: whether a record, its place aside, is of an access that nothing orders before."""
        kinds = [POINTER, *_ME]
        function, b = self.function("race.unordered", I1, kinds, inline=True)
        record, block, epoch, who, state, blocks, is_shared = function.args
        its_block, its_epoch, its_who = (_word(b, record, k) for k in range(3))
        with b.if_then(b.icmp_unsigned("==", its_block, I32(0))):
            b.ret(I1(0))
        with b.if_then(b.icmp_unsigned("!=", its_block, block)):
            with b.if_then(is_shared):
                b.ret(I1(0))  # this memory was that of another block
            with b.if_then(_is_null(b, state)):
                b.ret(I1(1))
            mine, its = (b.shl(b.sub(each, I32(1)), I32(1)) for each in (block, its_block))
            acquired = b.or_(_word(b, blocks, b.add(mine, I32(1))), _word(b, state, ACQUIRED))
            is_released = b.icmp_unsigned(">", _word(b, blocks, its), its_epoch)
            b.ret(b.not_(b.and_(is_released, b.icmp_unsigned("!=", acquired, I32(0)))))
        with b.if_then(b.icmp_unsigned("!=", its_epoch, epoch)):
            b.ret(I1(0))
        thread, its_thread = (b.and_(each, I32(1023)) for each in (who, its_who))
        with b.if_then(b.icmp_unsigned("==", its_thread, thread)):
            b.ret(I1(0))
        with b.if_then(_is_null(b, state)):
            b.ret(I1(1))
        clock = b.lshr(its_who, I32(_THREAD_BITS))
        warp, its_warp = (b.lshr(each, I32(_WARP_BITS)) for each in (thread, its_thread))
        is_near = b.icmp_unsigned("==", warp, its_warp)
        known = _word(b, state, b.and_(its_thread, I32(31)))
        with b.if_then(b.and_(is_near, b.icmp_unsigned(">=", known, clock))):
            b.ret(I1(0))
        away = b.mul(b.sub(its_thread, thread), I32(STATE))
        is_released = b.icmp_unsigned(">=", _word(b, state, b.add(away, I32(RELEASED))), clock)
        acquired = b.icmp_unsigned("!=", _word(b, state, ACQUIRED), I32(0))
        b.ret(b.not_(b.and_(acquired, is_released)))
        return function

    def insert(self, unordered: Any) -> Any:
        """Return: add a record to a pair."""
        kinds = [POINTER, I32, *_ME]
        function, b = self.function("race.insert", ir.VoidType(), kinds, inline=False)
        first, place, *rest = function.args
        block, epoch, who = rest[:3]
        second = b.gep(first, [I32(_RECORD)], source_etype=ir.IntType(8))

        def put(record: Any) -> None:
            for k, value in enumerate((block, epoch, who, place)):
                b.store(value, b.gep(record, [I32(k)], source_etype=I32))

        with b.if_then(b.not_(b.call(unordered, [first, *rest]))):
            put(first)
            with b.if_then(b.not_(b.call(unordered, [second, *rest]))):
                b.store(I32(0), second)
            b.ret_void()
        is_free = b.not_(b.call(unordered, [second, *rest]))
        one = _word(b, first, 0), _word(b, first, 2)
        other = _word(b, second, 0), _word(b, second, 2)
        is_better = b.icmp_unsigned(">", _distance(b, one, (block, who)), _distance(b, one, other))
        with b.if_then(b.or_(is_free, is_better)):
            put(second)
        b.ret_void()
        return function

    def access(self, kind: int, unordered: Any, insert: Any) -> Any:
        """Return: note an access to some granules; return what it conflicts with, or null.

        The fourth parameter is whether it writes the value that is there already, which conflicts
        with no other write.
        """
        kinds = [POINTER, I64, I32, I1, *_ME]
        function, b = self.function(f"race.{kind}", POINTER, kinds, inline=False)
        entry, count, place, is_same, *me = function.args
        byte, before = ir.IntType(8), b.block
        loop, done = (function.append_basic_block(name) for name in ("loop", "done"))
        b.branch(loop)
        b.position_at_end(loop)
        now = b.phi(I64)
        now.add_incoming(I64(0), before)
        here = b.gep(entry, [b.mul(now, I64(ENTRY))], source_etype=byte)

        def at(offset: int) -> Any:
            return b.gep(here, [I32(offset)], source_etype=byte)

        for pair in _CONFLICTS[kind]:
            for record in (at(pair * _PAIR), at(pair * _PAIR + _RECORD)):
                met = b.call(unordered, [record, *me])
                if kind == pair == WRITE:
                    met = b.and_(met, b.not_(is_same))
                with b.if_then(met, likely=False):
                    b.ret(record)
        b.call(insert, [at(kind * _PAIR), place, *me])
        if kind == WRITE:
            for record in range(_PAIR, ENTRY, _RECORD):
                b.store(I32(0), at(record))
        following = b.add(now, I64(1))
        now.add_incoming(following, b.block)
        b.cbranch(b.icmp_unsigned("<", following, count), loop, done)
        b.position_at_end(done)
        b.ret(ir.Constant(POINTER, None))
        return function


def _is_null(b: Any, pointer: Any) -> Any:
    """Return whether a pointer is null."""
    return b.icmp_unsigned("==", pointer, ir.Constant(POINTER, None))


def _word(b: Any, record: Any, number: Any) -> Any:
    """Return a word of a record."""
    place = I32(number) if isinstance(number, int) else number
    return b.load(b.gep(record, [place], source_etype=I32), typ=I32)


def _distance(b: Any, one: tuple[Any, Any], other: tuple[Any, Any]) -> Any:
    """Return how far two threads are from each other: 2 in two blocks, 1 in two warps, else 0."""
    blocks = b.icmp_unsigned("!=", one[0], other[0])
    warps = [b.and_(b.lshr(who, I32(_WARP_BITS)), I32(31)) for _, who in (one, other)]
    is_far = b.zext(b.icmp_unsigned("!=", *warps), I32)
    return b.select(blocks, I32(2), is_far)


class Watch:
    """Watches the accesses of the code of a thread on the CPU.

    Attributes
    ----------
    granules : dict
        Region, the index of an argument or -1 for shared memory, -> its smallest access [bytes].
    """

    def __init__(self, code: Any) -> None:
        self.code = code
        self.granules: dict[int, int] = {}
        runtime = _Runtime(code.module)
        unordered = runtime.unordered()
        insert = runtime.insert(unordered)
        self._access = {kind: runtime.access(kind, unordered, insert) for kind in _CONFLICTS}
        self._regions: dict[int, list[Any]] = {}
        slots = code.slots
        self._epoch = slots.alloca(I32, name="epoch")
        slots.store(I32(0), self._epoch)
        self._me: tuple[Any, Any] | None = None
        self._state: Any = ir.Constant(POINTER, None)
        self._blocks: Any = ir.Constant(POINTER, None)
        self._fenced: Any = None
        self.item: int = 0  # of the states, in `work`
        if any(isinstance(each, (WarpCall, Fence)) for each in walk(code.program.body)):
            self._begin_clocks()

    def _begin_clocks(self) -> None:
        """Begin the state of the thread, whose clock starts at 1."""
        b, code = self.code.slots, self.code
        states = code.piece(0, 4 * STATE)
        self.item = 2 + len(code.pieces)
        thread = code.linear_thread(b)
        self._lane = b.and_(thread, I32(31))
        self._state = b.gep(states, [b.mul(thread, I32(STATE))], source_etype=I32)
        kind = ir.VectorType(I32, STATE)
        b.store(ir.Constant(kind, [0] * STATE), self._state, align=4)
        self._clock = b.gep(self._state, [self._lane], source_etype=I32)
        b.store(I32(1), self._clock)
        table = code.outside("races")
        place = len(REGION) * (len(code.program.arguments) + 1)
        self._blocks = b.load(b.gep(table, [I32(place)], source_etype=I64), typ=POINTER)
        self._fenced = b.alloca(I32, name="fenced")
        b.store(I32(0), self._fenced)

    def fence(self, name: str) -> None:
        """Note that the next atomic operation releases what the thread did, to its block or all."""
        is_wide = name != "threadfence_block"
        self.code.b.store(I32(1 + is_wide), self._fenced)

    def _synchronize(self) -> None:
        """Note an atomic operation: with fences, it acquires and releases."""
        if self._fenced is None:
            return
        b, (block, _) = self.code.b, self._who()
        own = b.shl(b.sub(block, I32(1)), I32(1))
        b.store(I32(1), b.gep(self._state, [I32(ACQUIRED)], source_etype=I32))
        b.store(I32(1), b.gep(self._blocks, [b.add(own, I32(1))], source_etype=I32))
        fenced = b.load(self._fenced, typ=I32)
        with b.if_then(b.icmp_unsigned("!=", fenced, I32(0))):
            clock = b.load(self._clock, typ=I32)
            b.store(clock, b.gep(self._state, [I32(RELEASED)], source_etype=I32))
            b.store(b.add(clock, I32(1)), self._clock)
            with b.if_then(b.icmp_unsigned("==", fenced, I32(2))):
                epoch = b.add(b.load(self._epoch, typ=I32), I32(1))
                b.store(epoch, b.gep(self._blocks, [own], source_etype=I32))

    def barrier(self) -> None:
        """Note that the threads of the block have waited for each other."""
        b = self.code.b
        b.store(b.add(b.load(self._epoch, typ=I32), I32(1)), self._epoch)

    def _who(self) -> tuple[Any, Any]:
        """Return the number of the block from 1 on, and that of the thread."""
        if self._me is None:
            b, special = self.code.slots, self.code.special
            numbers = []
            for index, extent in (("blockIdx", "gridDim"), ("threadIdx", "blockDim")):
                rest = b.mul(special(extent, 1), special(index, 2))
                rest = b.mul(special(extent, 0), b.add(special(index, 1), rest))
                numbers.append(b.add(special(index, 0), rest))
            self._me = b.add(numbers[0], I32(1)), numbers[1]
        return self._me

    def _region(self, number: int) -> list[Any]:
        """Return the offset, shadow memory and shift of a region, read once."""
        if number not in self._regions:
            b, table = self.code.slots, self.code.outside("races")
            first = len(REGION) * (len(self.code.program.arguments) if number < 0 else number)
            self._regions[number] = [
                b.load(b.gep(table, [I32(first + k)], source_etype=I64), typ=I64)
                for k in range(len(REGION))
            ]
        return self._regions[number]

    def see(self, node: Element, pointer: Any, indices: list[Any], access: int, value: Any) -> None:
        """Generate the check of an access; `value` is what a write stores."""
        code, b = self.code, self.code.b
        array = node.array.base if isinstance(node.array, View) else node.array
        is_shared, number = array.argument is None, _SHARED
        if array.argument is not None:
            number = array.argument
        elif array.space not in {"shared", "dynamic"}:
            return
        base = code._shared if is_shared else code.arrays[number][0]
        size = node.type.itemsize
        granule = min(size, node.array.alignment)
        self.granules[number] = min(granule, self.granules.get(number, granule))
        offset, shadow, shift = self._region(number)
        distance = b.sub(b.ptrtoint(pointer, I64), b.ptrtoint(base, I64))
        place = b.ashr(b.add(distance, offset), shift)
        entry = b.inttoptr(b.add(shadow, b.mul(place, I64(ENTRY))), POINTER)
        count = b.lshr(I64(size), shift)
        block, thread = self._who()
        clock = I32(1) if self._fenced is None else b.load(self._clock, typ=I32)
        who = b.or_(thread, b.shl(clock, I32(_THREAD_BITS)))
        me = [block, b.load(self._epoch, typ=I32), who, self._state, self._blocks]
        is_same = I1(0) if value is None else self._is_there(node, pointer, value)
        given = [entry, count, I32(node.place), is_same, *me, I1(int(is_shared))]
        self._refuse(node, entry, b.call(self._access[access], given), indices, access)
        if access == ATOMIC:
            self._synchronize()

    def _is_there(self, node: Element, pointer: Any, value: Any) -> Any:
        """Return whether memory has the bits of a value."""
        b, kind = self.code.b, memory_type(node.type)
        old = b.load(pointer, typ=kind, align=self.code._alignment(node))
        if isinstance(kind, ir.LiteralStructType):
            parts = [[b.extract_value(each, k) for each in (old, value)] for k in range(2)]
        else:
            parts = [[old, value]]
        found = I1(1)
        for pair in parts:
            bits = ir.IntType(node.type.bits // len(parts))
            one, other = (
                each if isinstance(each.type, ir.IntType) else b.bitcast(each, bits)
                for each in pair
            )
            found = b.and_(found, b.icmp_unsigned("==", one, other))
        return found

    def _refuse(self, node: Element, entry: Any, met: Any, indices: list[Any], access: int) -> None:
        """End the thread where an access meets another."""
        code, b = self.code, self.code.b
        is_fine = b.icmp_unsigned("==", met, ir.Constant(POINTER, None))
        fine, races = (code.function.append_basic_block(name) for name in ("fine", "races"))
        b.cbranch(is_fine, fine, races)
        b.position_at_end(races)
        within = b.urem(b.sub(b.ptrtoint(met, I64), b.ptrtoint(entry, I64)), I64(ENTRY))
        thread = b.and_(_word(b, met, 2), I32(1023))
        words = [
            _word(b, met, 3), thread, b.sub(_word(b, met, 0), I32(1)), I32(access),
            b.trunc(b.udiv(within, I64(_PAIR)), I32), I32(min(len(indices), MOST_AXES)),
        ]  # fmt: skip
        for index in indices[:MOST_AXES]:
            words += [b.trunc(index, I32), b.trunc(b.lshr(index, I64(32)), I32)]
        debugging.report(
            code, code.outside("report"), I32(node.place), dict(enumerate(words, RACE_WORD))
        )
        code.leave()
        b.position_at_end(fine)


def write_join(module: Any) -> Any:
    """Return the function that lets lanes of a warp know each other's clocks: those of a mask.

    The first parameter is the state of the first thread of the warp.
    """
    kind = ir.FunctionType(ir.VoidType(), [POINTER, I32])
    function = ir.Function(module, kind, "race.join")
    function.linkage = "internal"
    names = ("entry", "read", "write", "done")
    blocks = [function.append_basic_block(name) for name in names]
    b = ir.IRBuilder(blocks[0])
    states, lanes = function.args
    vector = ir.VectorType(I32, 32)
    b.cbranch(b.icmp_unsigned("==", lanes, I32(0)), blocks[3], blocks[1])

    def row(lane: Any) -> Any:
        return b.gep(states, [b.mul(lane, I32(STATE))], source_etype=I32)

    b.position_at_end(blocks[1])
    left, most = b.phi(I32), b.phi(vector)
    held = b.load(row(b.cttz(left, I1(1))), typ=vector, align=4)
    larger = b.select(b.icmp_unsigned(">", held, most), held, most)
    rest = b.and_(left, b.sub(left, I32(1)))
    left.add_incoming(lanes, blocks[0])
    left.add_incoming(rest, blocks[1])
    most.add_incoming(ir.Constant(vector, [0] * 32), blocks[0])
    most.add_incoming(larger, blocks[1])
    b.cbranch(b.icmp_unsigned("==", rest, I32(0)), blocks[2], blocks[1])
    b.position_at_end(blocks[2])
    left = b.phi(I32)
    lane = b.cttz(left, I1(1))
    b.store(larger, row(lane), align=4)
    own = b.gep(row(lane), [lane], source_etype=I32)
    b.store(b.add(b.load(own, typ=I32), I32(1)), own)
    rest = b.and_(left, b.sub(left, I32(1)))
    left.add_incoming(lanes, blocks[1])
    left.add_incoming(rest, blocks[2])
    b.cbranch(b.icmp_unsigned("==", rest, I32(0)), blocks[3], blocks[2])
    b.position_at_end(blocks[3])
    b.ret_void()
    return function
