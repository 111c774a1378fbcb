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

from interchange.cuda.ir import View
from interchange.cuda.races import ATOMIC, ENTRY, MOST_AXES, RACE_WORD, READ, REGION, WRITE

from . import debugging
from .registers import I1, I32, I64, POINTER, memory_type

if TYPE_CHECKING:
    from interchange.cuda.ir import Element

_SHARED: Final = -1  # the region of shared memory
_RECORD: Final = 16  # [bytes]: block + 1 or 0 for none, epoch, thread and clock, place
_PAIR: Final = 2 * _RECORD
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
        # record, block + 1, epoch, thread and clock, clocks that are known or null, is_shared
        kinds = [POINTER, I32, I32, I32, POINTER, I1]
        function, b = self.function("race.unordered", I1, kinds, inline=True)
        record, block, epoch, who, clocks, is_shared = function.args
        its_block, its_epoch, its_who = (_word(b, record, k) for k in range(3))
        with b.if_then(b.icmp_unsigned("==", its_block, I32(0))):
            b.ret(I1(0))
        with b.if_then(b.icmp_unsigned("!=", its_block, block)):
            b.ret(b.not_(is_shared))  # shared memory is that of another block
        with b.if_then(b.icmp_unsigned("!=", its_epoch, epoch)):
            b.ret(I1(0))
        thread, its_thread = (b.and_(each, I32(1023)) for each in (who, its_who))
        with b.if_then(b.icmp_unsigned("==", its_thread, thread)):
            b.ret(I1(0))
        warp, its_warp = (b.lshr(each, I32(_WARP_BITS)) for each in (thread, its_thread))
        is_far = b.icmp_unsigned("!=", warp, its_warp)
        with b.if_then(b.or_(is_far, b.icmp_unsigned("==", clocks, ir.Constant(POINTER, None)))):
            b.ret(I1(1))
        known = _word(b, clocks, b.and_(its_thread, I32(31)))
        b.ret(b.icmp_unsigned("<", known, b.lshr(its_who, I32(_THREAD_BITS))))
        return function

    def insert(self, unordered: Any) -> Any:
        """Return: add a record to a pair."""
        kinds = [POINTER, I32, I32, I32, I32, POINTER, I1]
        function, b = self.function("race.insert", ir.VoidType(), kinds, inline=False)
        first, block, epoch, who, place, clocks, is_shared = function.args
        second = b.gep(first, [I32(_RECORD)], source_etype=ir.IntType(8))
        rest = [block, epoch, who, clocks, is_shared]

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

        The last parameter is whether it writes the value that is there already, which conflicts
        with no other write.
        """
        kinds = [POINTER, I64, I32, I32, I32, I32, POINTER, I1, I1]
        function, b = self.function(f"race.{kind}", POINTER, kinds, inline=False)
        entry, count, block, epoch, who, place, clocks, is_shared, is_same = function.args
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
                met = b.call(unordered, [record, block, epoch, who, clocks, is_shared])
                if kind == pair == WRITE:
                    met = b.and_(met, b.not_(is_same))
                with b.if_then(met, likely=False):
                    b.ret(record)
        b.call(insert, [at(kind * _PAIR), block, epoch, who, place, clocks, is_shared])
        if kind == WRITE:
            for record in range(_PAIR, ENTRY, _RECORD):
                b.store(I32(0), at(record))
        following = b.add(now, I64(1))
        now.add_incoming(following, b.block)
        b.cbranch(b.icmp_unsigned("<", following, count), loop, done)
        b.position_at_end(done)
        b.ret(ir.Constant(POINTER, None))
        return function


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

    def barrier(self) -> None:
        """Note that the threads of the block have waited for each other."""
        b = self.code.b
        b.store(b.add(b.load(self._epoch, typ=I32), I32(1)), self._epoch)

    def _who(self) -> tuple[Any, Any]:
        """Return the number of the block from 1 on, and that of the thread with its clock."""
        if self._me is None:
            b, special = self.code.slots, self.code.special
            numbers = []
            for index, extent in (("blockIdx", "gridDim"), ("threadIdx", "blockDim")):
                rest = b.mul(special(extent, 1), special(index, 2))
                rest = b.mul(special(extent, 0), b.add(special(index, 1), rest))
                numbers.append(b.add(special(index, 0), rest))
            self._me = b.add(numbers[0], I32(1)), b.or_(numbers[1], I32(1 << _THREAD_BITS))
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
        block, who = self._who()
        epoch, none = b.load(self._epoch, typ=I32), ir.Constant(POINTER, None)
        is_same = I1(0) if value is None else self._is_there(node, pointer, value)
        given = [block, epoch, who, I32(node.place), none, I1(int(is_shared)), is_same]
        met = b.call(self._access[access], [entry, count, *given])
        self._refuse(node, entry, met, indices, access)

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
            code, code.outside("report"), node.place, dict(enumerate(words, RACE_WORD))
        )
        code.leave()
        b.position_at_end(fine)
