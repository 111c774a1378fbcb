"""Kernels on the CPU: a loop over the threads of a block, or coroutines if they wait.

Source: LLVM, "Coroutines in LLVM".  Without a barrier the function of a thread is inlined in loops
over the threads.  With one it is a coroutine that is suspended at each barrier; a block starts all
of its threads, and resumes them round by round.  The frames of coroutines are contiguous in memory
that the caller provides: `frame_size` returns the size of one.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import llvmlite.binding as llvm
from llvmlite import ir

from interchange.cuda.cooperative import RESUMES, SUSPENDED
from interchange.cuda.types import ArrayType, float64

from . import debugging, fastmath, printing, warps
from .code import CalledCode, Code
from .mathematics import INEXACT, LONG_DOUBLE, by_long_double
from .races import Watch
from .registers import I1, I8, I32, I64, POINTER, from_memory, memory_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange.cuda.intrinsics import Intrinsic
    from interchange.cuda.ir import ArrayValue, BarrierVote, Function, Print, Program, WarpCall
    from interchange.cuda.types import ScalarType

SPECIALS: Final = ("blockIdx", "threadIdx", "blockDim", "gridDim")
"""Each has three numbers among the parameters of a thread."""
FRAME_ALIGNMENT: Final = 64
"""Alignment of the frame of a coroutine [bytes]."""
SHARED, FRAMES, HANDLES = range(3)
"""Items of ``work`` that every kernel has: see `Blocks`."""
REPORT: Final = "report"
"""Name of the address where a thread reports an error: see `interchange.cuda.debugging`."""
STATUS: Final = 6
"""Index in ``dims`` of the status."""
DYNAMIC_BYTES: Final = 9
"""Index in ``dims`` of the size of dynamic shared memory."""
_OF_GRID: Final = 1 << 30
"""Added to the number of a barrier of the grid."""


class Piece(NamedTuple):
    """Memory of a block that the code of a kernel uses: one more item of ``work``.

    One with a name is an address instead, which the launch passes.
    """

    # size for a block, and for each thread of it [bytes]
    per_block: int
    per_thread: int
    name: str = ""


class _Token(ir.Type):  # type: ignore[misc]
    """LLVM's type of tokens, which llvmlite lacks."""

    def _to_string(self) -> str:
        return "token"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Token)

    def __hash__(self) -> int:
        return hash(_Token)

    def format_constant(self, value: object) -> str:
        """Return a token as it is written."""
        return str(value)


_TOKEN: Final = _Token()
_NONE: Final = ir.Constant(_TOKEN, "none")


class _Attributes(ir.values.FunctionAttributes):  # type: ignore[misc]
    """Attributes of functions, and the one that marks coroutines."""

    _known = ir.values.FunctionAttributes._known | {"presplitcoroutine"}


def flat_types(
    arguments: tuple[ScalarType | ArrayType, ...], pointer: ir.PointerType = POINTER
) -> list[Any]:
    """Return the parameters of a kernel: of an array its pointer, lengths and strides [bytes]."""
    found: list[Any] = []
    for type_ in arguments:
        if isinstance(type_, ArrayType):
            found += [pointer, *[I64] * (2 * type_.ndim)]
        else:
            found.append(memory_type(type_))
    return found


def take_arguments(code: Code, values: list[Any]) -> None:
    """Set the arguments in the code of a thread."""
    rest = iter(values)
    for place, type_ in enumerate(code.program.arguments):
        if not isinstance(type_, ArrayType):
            code.numbers[place] = from_memory(code.b, type_, next(rest))
            continue
        pointer = next(rest)
        lengths = [next(rest) for _ in range(type_.ndim)]
        strides = [next(rest) for _ in range(type_.ndim)]
        code.arrays[place] = pointer, lengths, _known_strides(code, type_, lengths, strides)


def _known_strides(code: Code, type_: ArrayType, lengths: list[Any], given: list[Any]) -> list[Any]:
    """Return strides computed from the lengths, if the type implies them."""
    if not type_.in_c_order or not type_.ndim:
        return given
    strides = [ir.Constant(I64, type_.element.itemsize)]
    for length in reversed(lengths[1:]):
        strides.append(code.b.mul(strides[-1], length, flags=["nsw"]))
    return strides[::-1]


class HostCode(Code):
    """The function of a thread on the CPU."""

    def __init__(
        self, program: Program, module: ir.Module, *, checks: bool, races: bool = False
    ) -> None:
        self.checks = checks
        flat = flat_types(program.arguments)
        result = POINTER if program.has_barrier else ir.VoidType()
        rest = [*[I32] * (3 * len(SPECIALS)), *[POINTER] * 4]  # shared memory, frames, status, work
        function = ir.Function(module, ir.FunctionType(result, [*flat, *rest]), "thread")
        function.linkage = "internal"
        super().__init__(program, module, function)
        first = len(flat)
        self._specials = function.args[first : first + 3 * len(SPECIALS)]
        self._shared, self._frames, self._status, self._work = function.args[-4:]
        self._barriers = 0
        self.is_coroutine: bool = program.has_barrier
        self.pieces: list[Piece] = []
        self._outside: dict[str, Any] = {}
        self.lanes: Any = None
        if program.has_barrier:
            self._begin_coroutine()
            self.lanes = warps.Lanes(self) if program.has_warps else None
            if program.has_votes:
                self._votes = self.piece(FRAME_ALIGNMENT)
                self.votes_item: int = HANDLES + len(self.pieces)
            self._write_ends()
        else:
            function.attributes.add("alwaysinline")
        take_arguments(self, list(function.args[:first]))
        if races:
            self.watch: Any = Watch(self)

    def special(self, name: str, axis: int) -> Any:
        """Return a parameter."""
        if name == "dynamicShared":
            return self.dynamic_bytes()
        return self._specials[3 * SPECIALS.index(name) + axis]

    def fence(self, name: str) -> None:
        """Order memory accesses; all threads of a block run on one thread of the machine."""
        self.b.fence("seq_cst", "singlethread" if name == "threadfence_block" else None)
        if self.watch is not None:
            self.watch.fence(name)

    def shared(self, array: ArrayValue) -> Any:
        """Return an address in the memory of the block."""
        return self.b.gep(self._shared, [I64(array.offset)], source_etype=I8)

    def outside(self, name: str) -> Any:
        """Return an address that the launch passes by a name."""
        if name not in self._outside:
            self._outside[name] = self.piece(0, 0, name)
        return self._outside[name]

    def dynamic(self) -> Any:
        """Return the address after the arrays of constant shape."""
        return self.b.gep(self._shared, [I64(self.program.shared_bytes)], source_etype=I8)

    def dynamic_bytes(self) -> Any:
        """Return the size of dynamic shared memory, which follows the status in ``dims``."""
        place = self.b.gep(self._status, [I32(DYNAMIC_BYTES - STATUS)], source_etype=I32)
        return self.b.load(place, typ=I32)

    def piece(self, per_block: int, per_thread: int = 0, name: str = "") -> Any:
        """Return the address of more memory of the block, which is not cleared."""
        self.pieces.append(Piece(per_block, per_thread, name))
        place = self.slots.gep(self._work, [I32(HANDLES + len(self.pieces))], source_etype=POINTER)
        found = self.slots.load(place, typ=POINTER)
        found.set_metadata("invariant.load", self.module.add_metadata([]))
        return found

    def library_name(self, name: str, type_: ScalarType) -> str:
        """Return the name in the C library."""
        return name + ("f" if type_.bits == 32 else "")

    def callee(self, function: Function) -> Code:
        """Return the generator of a function that is called."""
        return HostFunction(self, function)

    def surroundings(self) -> list[Any]:
        """Return the indices of the thread, and the memory of the block and of the launch."""
        specials = [self.special(name, axis) for name in SPECIALS for axis in range(3)]
        return [*specials, self._shared, self._status, self._work]

    def pointer_to(self, space: str) -> Any:  # noqa: ARG002 - all memory is in one space
        """Return the type of pointers to a memory space."""
        return POINTER

    def library_call(self, name: str, type_: ScalarType, arguments: list[Any]) -> Any:
        """Return a call; of a function that is inexact in float64, the one of long double."""
        if name not in INEXACT or type_ is not float64 or LONG_DOUBLE is None:
            return super().library_call(name, type_, arguments)
        return self.b.call(by_long_double(self, name), arguments)

    def lowering(self, intrinsic: Intrinsic) -> str | Callable[..., Any]:
        """Return the code of the row."""
        return intrinsic.host

    def leave(self) -> None:
        """Return, or finish the coroutine."""
        if self.program.has_barrier:
            self.b.branch(self._final)
        else:
            self.b.ret_void()

    def print_line(self, node: Print, values: list[Any]) -> None:
        """Add a line to those that the launch writes."""
        printing.print_on_host(self, node, values)

    def fail(self, place: int) -> None:
        """Report the position, and end the thread."""
        debugging.fail(self, self.outside(REPORT), place)

    # ------------------------------------------------------------ coroutines

    def _begin_coroutine(self) -> None:
        """Take a frame; if there is no room for one, return the size of a frame instead."""
        function, b = self.function, self.slots
        function.attributes = _Attributes()
        function.attributes.add("presplitcoroutine")
        function.attributes.add("noinline")
        null = ir.Constant(POINTER, None)
        id_ = b.call(
            self.declared("llvm.coro.id", _TOKEN, [I32, POINTER, POINTER, POINTER]),
            [I32(FRAME_ALIGNMENT), null, null, null],
        )
        size = b.call(self.declared("llvm.coro.size.i64", I64, []), [])
        rounded = b.and_(b.add(size, I64(FRAME_ALIGNMENT - 1)), I64(-FRAME_ALIGNMENT))
        is_asked = b.icmp_unsigned("==", self._frames, null)
        asked, begun = (function.append_basic_block(name) for name in ("asked", "begun"))
        b.cbranch(is_asked, asked, begun)
        b.position_at_end(asked)
        b.ret(b.inttoptr(rounded, POINTER))
        b.position_at_end(begun)
        frame = b.load(self._frames, typ=POINTER)
        b.store(b.gep(frame, [rounded], source_etype=I8), self._frames)
        begin = self.declared("llvm.coro.begin", POINTER, [_TOKEN, POINTER])
        self._handle = b.call(begin, [id_, frame])
        self._suspended = function.append_basic_block("suspended")
        self._final = function.append_basic_block("final")

    def _write_ends(self) -> None:
        """Generate the exits of a coroutine: suspended, and finished."""
        b = ir.IRBuilder(self._suspended)
        end = self.declared("llvm.coro.end", ir.VoidType(), [POINTER, I1, _TOKEN])
        b.call(end, [self._handle, I1(0), _NONE])
        b.ret(self._handle)
        kept, self.b = self.b, ir.IRBuilder(self._final)
        if self.lanes is not None:
            self.lanes.wait(warps.ENDED)
        self.suspend(is_final=True)
        self.b.unreachable()
        self.b: Any = kept

    def suspend(self, *, is_final: bool = False) -> None:
        """Suspend the coroutine."""
        suspend = self.declared("llvm.coro.suspend", I8, [_TOKEN, I1])
        state = self.b.call(suspend, [_NONE, I1(int(is_final))])
        resumed = self.function.append_basic_block("resumed")
        switch = self.b.switch(state, self._suspended)
        switch.add_case(I8(0), resumed)
        switch.add_case(I8(1), self._suspended)
        self.b.position_at_end(resumed)

    def grid_barrier(self) -> None:
        """Wait for the threads of the grid: ``run`` returns when those of the block wait."""
        self.barrier(_OF_GRID)

    def barrier(self, kind: int = 0) -> None:
        """Wait for the other threads; report a barrier where not all threads wait."""
        self._barriers += 1
        waiting, elsewhere = (self.b.gep(self._status, [I32(k)], source_etype=I32) for k in (1, 2))
        first = self.b.load(waiting, typ=I32)
        is_first = self.b.icmp_unsigned("==", first, I32(0))
        here = I32(self._barriers | kind)
        self.b.store(here, waiting)
        differs = self.b.zext(self.b.icmp_unsigned("!=", first, here), I32)
        differs = self.b.select(is_first, I32(0), differs)
        self.b.store(self.b.or_(self.b.load(elsewhere, typ=I32), differs), elsewhere)
        if self.lanes is not None:
            self.lanes.wait(warps.AT_BARRIER)
        self.suspend()
        if self.watch is not None:
            self.watch.barrier()

    def barrier_vote(self, node: BarrierVote) -> Any:
        """Add a predicate to the sum; the scheduler moves it when it resumes the threads."""
        predicate = self.b.zext(self.value(node.predicate), I32)
        self.b.store(self.b.add(self.b.load(self._votes, typ=I32), predicate), self._votes)
        self.barrier()
        count = self.b.load(self.b.gep(self._votes, [I32(1)], source_etype=I32), typ=I32)
        if node.operation == "count":
            return count
        sizes = (self.special("blockDim", axis) for axis in range(3))
        all_ = functools.reduce(self.b.mul, sizes) if node.operation == "and" else I32(0)
        test = "==" if node.operation == "and" else "!="
        return self.b.zext(self.b.icmp_unsigned(test, count, all_), I32)

    def warp_call(self, node: WarpCall) -> list[Any]:
        """Wait for the other lanes, and return the results."""
        found: list[Any] = self.lanes.call(node)
        return found

    def lane(self) -> Any:
        """Return a part of the index of the thread in its block."""
        return self.b.and_(self.linear_thread(self.b), I32(warps.WARP - 1))

    def linear_thread(self, b: Any) -> Any:
        """Return the index of the thread in its block, x fastest."""
        x, y, z = (self.special("threadIdx", axis) for axis in range(3))
        wide, high = (self.special("blockDim", axis) for axis in range(2))
        return b.add(b.mul(b.add(b.mul(z, high), y), wide), x)


class HostFunction(CalledCode, HostCode):
    """A function that threads call."""

    pieces: list[Piece]

    def __init__(self, caller: HostCode, function: Function) -> None:
        arguments, surroundings = self.begin(caller, function)
        self.is_coroutine: bool = False
        self.pieces, self._outside = caller.pieces, {}
        *self._specials, self._shared, self._status, self._work = surroundings
        take_arguments(self, arguments)


class Blocks:
    """The function ``run(params, dims, first, last, work)``, of some blocks.

    It returns 0; 1 if threads of a block wait at different barriers, or have ended; or 1 more than
    the place of a call in which lanes of a warp wait forever.

    ``dims`` has, after the sizes of block and grid, the position of an index out of bounds, the
    barrier at which threads wait, whether they wait at another, and the size of dynamic shared
    memory [bytes].  ``work`` has addresses of memory of a block: shared memory, frames of
    coroutines, their handles, and each `Piece` of the code.
    """

    code: HostCode
    module: Any
    work: Any
    memory: Any
    frames: Any
    handles: Any
    block: list[Any]
    grid: list[Any]
    done: Any

    def __init__(self, code: HostCode, module: ir.Module) -> None:
        self.code, self.module = code, module
        kinds = [POINTER, POINTER, I64, I64, POINTER]
        self.function: Any = ir.Function(module, ir.FunctionType(I32, kinds), "run")
        self.entry: Any = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.b: Any = ir.IRBuilder(self.function.append_basic_block("start"))

    def write(self) -> None:
        """Generate the loop over blocks."""
        params, dims, first, last, self.work = self.function.args
        self.memory, self.frames, self.handles = (
            self.entry.load(self.entry.gep(self.work, [I32(k)], source_etype=POINTER), typ=POINTER)
            for k in (SHARED, FRAMES, HANDLES)
        )
        kinds = flat_types(self.code.program.arguments)
        self.arguments: list[Any] = [self._load(params, k, kind) for k, kind in enumerate(kinds)]
        sizes = [
            self.entry.load(self.entry.gep(dims, [I32(k)], source_etype=I32), typ=I32)
            for k in range(6)
        ]
        self.block, self.grid = sizes[:3], sizes[3:]
        self.status: Any = self.entry.gep(dims, [I32(STATUS)], source_etype=I32)
        self.next_frame: Any = self.entry.alloca(POINTER)
        self._loop("block", first, last, self._one_block)
        self.b.ret(I32(0))
        self.entry.branch(self.function.blocks[1])

    def _load(self, params: Any, place: int, kind: Any) -> Any:
        """Return an argument, read once for all threads."""
        pointer = self.entry.gep(params, [I32(place)], source_etype=POINTER)
        return self.entry.load(self.entry.load(pointer, typ=POINTER), typ=kind)

    def _loop(self, name: str, first: Any, last: Any, body: Callable[[Any], None]) -> None:
        """Generate a loop over int64 from first to last."""

        def one_round(now: Any) -> None:
            body(now)

        counted_loop(self.b, self.entry, name, first, last, one_round)

    def _one_block(self, linear: Any) -> None:
        """Generate one block."""
        wide = [self.b.zext(extent, I64) for extent in self.grid]
        rest = self.b.udiv(linear, wide[0])
        places = [
            self.b.urem(linear, wide[0]),
            self.b.urem(rest, wide[1]),
            self.b.udiv(rest, wide[1]),
        ]
        self.place: list[Any] = [self.b.trunc(place, I32) for place in places]
        if self.code.program.has_barrier:
            self._rounds()
        else:
            self._threads(lambda thread: self._call(thread, ir.Constant(POINTER, None)))

    def _threads(self, act: Callable[[list[Any]], Any]) -> None:
        """Generate three loops over the threads of a block, x fastest."""
        z, y, x = (self.b.zext(extent, I64) for extent in reversed(self.block))

        def along_x(kz: Any, ky: Any) -> None:
            self._loop("x", I64(0), x, lambda kx: act([self.b.trunc(k, I32) for k in (kx, ky, kz)]))

        self._loop(
            "z", I64(0), z, lambda kz: self._loop("y", I64(0), y, lambda ky: along_x(kz, ky))
        )

    def _call(self, thread: list[Any], frames: Any) -> Any:
        """Generate a call of the function of a thread."""
        numbers = [*self.place, *thread, *self.block, *self.grid]
        places = self.memory, frames, self.status, self.work
        return self.b.call(self.code.function, [*self.arguments, *numbers, *places])

    def _rounds(self) -> None:
        """Generate: start all threads, then resume all until they are done."""
        self.b.store(self.frames, self.next_frame)
        count, self.done = (self.entry.alloca(I64, name=name) for name in ("count", "done"))
        self.b.store(I64(0), count)
        self.b.store(I64(0), self.done)

        def begin(thread: list[Any]) -> None:
            handle = self._call(thread, self.next_frame)
            number = self.b.load(count, typ=I64)
            self.b.store(handle, self._handle(number))
            self.b.store(self.b.add(number, I64(1)), count)
            self._count_done(handle)

        names = ("round", "look", "go", "ready", "divergent")
        again, look, go, ready, bad = (self.function.append_basic_block(name) for name in names)
        if self.code.program.has_grid_barrier:
            self._branch_if_resumed(go)
        self._clear()
        self._threads(begin)
        total = functools.reduce(self.entry.mul, (self.entry.zext(n, I64) for n in self.block))
        self.b.branch(again)
        self.b.position_at_end(again)
        if self.code.lanes is not None:
            self._run_warps(total)
        done = self.b.load(self.done, typ=I64)
        waiting, elsewhere = (self.b.gep(self.status, [I32(k)], source_etype=I32) for k in (1, 2))
        barrier = self.b.load(waiting, typ=I32)
        self.b.store(I32(0), waiting)
        self.b.cbranch(self.b.icmp_signed("==", done, total), ready, look)
        self.b.position_at_end(look)
        all_wait = self.b.icmp_signed("==", done, I64(0))
        is_one = self.b.icmp_unsigned("==", self.b.load(elsewhere, typ=I32), I32(0))
        together = self.b.and_(all_wait, is_one)
        ir.IRBuilder(bad).ret(I32(1))
        if self.code.program.has_grid_barrier:
            self._return_if_suspended(together, barrier, bad)
            together = I1(1)
        self.b.cbranch(together, go, bad)
        self.b.position_at_end(go)
        if self.code.program.has_votes:
            self._move_votes()
        self._loop("resume", I64(0), total, self._resume)
        self.b.branch(again)
        self.b.position_at_end(ready)

    def _branch_if_resumed(self, go: Any) -> None:
        """Generate: threads that wait at a barrier of the grid are resumed."""
        begin = self.function.append_basic_block("begin")
        flag = self.b.load(
            self.b.gep(self.status, [I32(RESUMES - STATUS)], source_etype=I32), typ=I32
        )
        self.b.cbranch(self.b.icmp_unsigned("==", flag, I32(0)), begin, go)
        self.b.position_at_end(begin)

    def _return_if_suspended(self, together: Any, barrier: Any, bad: Any) -> None:
        """Generate: return if all threads of the block wait at a barrier of the grid."""
        names = ("waiting", "suspended", "goes_on")
        waiting, suspended, goes_on = (self.function.append_basic_block(name) for name in names)
        self.b.cbranch(together, waiting, bad)
        self.b.position_at_end(waiting)
        is_grid = self.b.icmp_unsigned("!=", self.b.and_(barrier, I32(_OF_GRID)), I32(0))
        self.b.cbranch(is_grid, suspended, goes_on)
        ir.IRBuilder(suspended).ret(I32(SUSPENDED))
        self.b.position_at_end(goes_on)

    def _clear(self) -> None:
        """Generate: no votes so far, and no lanes that wait."""
        if self.code.program.has_votes:
            self.b.store(I32(0), self._item(self.code.votes_item))
        if self.code.lanes is not None:
            threads = functools.reduce(self.b.mul, (self.b.zext(n, I64) for n in self.block))
            count = self.b.lshr(self.b.add(threads, I64(warps.WARP - 1)), I64(5))
            records = self._item(self.code.lanes.item)
            self._loop(
                "warp", I64(0), count, lambda warp: warps.clear_record(self.b, records, warp)
            )

    def _item(self, number: int) -> Any:
        """Return an address in ``work``."""
        place = self.entry.gep(self.work, [I32(number)], source_etype=POINTER)
        return self.entry.load(place, typ=POINTER)

    def _move_votes(self) -> None:
        """Generate: the sum of the predicates becomes the result."""
        votes = self._item(self.code.votes_item)
        self.b.store(self.b.load(votes, typ=I32), self.b.gep(votes, [I32(1)], source_etype=I32))
        self.b.store(I32(0), votes)

    def _run_warps(self, total: Any) -> None:
        """Generate: resume lanes until each has ended or waits at a barrier."""
        run = warps.write_scheduler(self.code)
        records = self._item(self.code.lanes.item)
        watch = self.code.watch
        states = ir.Constant(POINTER, None) if watch is None else self._item(watch.item)
        found = self.b.call(run, [records, self.handles, total, states])
        stuck, fine = (self.function.append_basic_block(name) for name in ("stuck", "fine"))
        self.b.cbranch(self.b.icmp_signed("<", found, I64(0)), stuck, fine)
        self.b.position_at_end(stuck)
        self.b.ret(self.b.trunc(self.b.sub(I64(1), found), I32))
        self.b.position_at_end(fine)
        self.b.store(found, self.done)

    def _resume(self, number: Any) -> None:
        """Generate: resume a waiting thread."""
        handle = self.b.load(self._handle(number), typ=POINTER)
        resume = self.code.declared("llvm.coro.resume", ir.VoidType(), [POINTER])
        self.b.call(resume, [handle])
        self._count_done(handle)

    def _count_done(self, handle: Any) -> None:
        """Generate: count a thread that is done."""
        if self.code.lanes is not None:
            return  # the scheduler of warps counts
        is_done = self.code.declared("llvm.coro.done", I1, [POINTER])
        more = self.b.zext(self.b.call(is_done, [handle]), I64)
        self.b.store(self.b.add(self.b.load(self.done, typ=I64), more), self.done)

    def _handle(self, number: Any) -> Any:
        """Return the address of a handle."""
        return self.b.gep(self.handles, [number], source_etype=POINTER)


def counted_loop(
    b: Any, slots: Any, name: str, first: Any, last: Any, body: Callable[[Any], Any]
) -> Any:
    """Generate a loop over int64; return the branch back to its test.

    `slots` is the builder of variables; `body` returns what is added to the counter, None for 1.
    """
    counter = slots.alloca(I64, name=name)
    b.store(first, counter)
    test, inside, done = (
        b.function.append_basic_block(f"{name}.{part}") for part in ("test", "in", "done")
    )
    b.branch(test)
    b.position_at_end(test)
    now = b.load(counter, typ=I64)
    b.cbranch(b.icmp_signed("<", now, last), inside, done)
    b.position_at_end(inside)
    step = body(now)
    b.store(b.add(now, I64(1) if step is None else step, flags=["nsw", "nuw"]), counter)
    back = b.branch(test)
    b.position_at_end(done)
    return back


def write_frame_size(code: HostCode, module: ir.Module) -> None:
    """Generate the function that returns the size of a thread's frame [bytes]."""
    function = ir.Function(module, ir.FunctionType(I64, []), "frame_size")
    b = ir.IRBuilder(function.append_basic_block())
    if not code.is_coroutine:
        b.ret(I64(0))
        return
    zeros = [ir.Constant(each.type, None) for each in code.function.args]
    b.ret(b.ptrtoint(b.call(code.function, zeros), I64))


def host_module(
    program: Program, *, checks: bool, races: bool = False
) -> tuple[ir.Module, HostCode]:
    """Return the module of a kernel for the CPU, and the generator of its threads."""
    module = ir.Module(name=program.name)
    module.triple = llvm.get_default_triple()
    code = HostCode(program, module, checks=checks, races=races)
    code.write()
    Blocks(code, module).write()
    write_frame_size(code, module)
    fastmath.relax(program, module)
    return module, code
