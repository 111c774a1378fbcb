"""Kernels on the CPU whose blocks are loops over their threads: one between every two barriers.

Source: P. Jääskeläinen et al., "pocl: A Performance-Portable OpenCL Implementation"; LLVM Language
Reference, "llvm.loop.parallel_accesses" (threads do not depend on each other between barriers).  A
variable whose value crosses a barrier has a place for each thread, in arrays.  Without barriers,
and if only its index in the grid matters, a thread's neighbours are those of the next block, too.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import llvmlite.binding as llvm
from llvmlite import ir as llvm_ir

from interchange.cuda import ir
from interchange.cuda.memory import ALIGNMENT
from interchange.cuda.types import intp

from . import host
from .code import Code
from .host import SHARED, STATUS, HostCode, counted_loop, flat_types, take_arguments
from .lanes import LANES, Vector, divided
from .peeling import Peeler, global_axis, has_no_effect
from .registers import I8, I32, I64, POINTER, value_type
from .uniformity import Region, assigned, parts, slots_in, split, walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange.cuda.ir import Program

    from .lanes import Parts
    from .peeling import Guard
    from .uniformity import Split

_REBUILT: Final = (
    ir.Constant, ir.Read, ir.Argument, ir.Cast, ir.Extent, ir.Special, ir.Slot, ir.ArrayValue,
    ir.Binary,
)  # fmt: skip
"""Nodes of values that are computed again in each region, instead of kept."""
_CHEAP: Final = frozenset({"+", "-", "*", "&", "|", "^", "<", "<=", ">", ">=", "==", "!="})
_MOST_NODES: Final = 16
_MOST_NEIGHBOURS: Final = 4096
"""Threads along x that are executed one after the other, if a block has several rows."""
_INDICES: Final = frozenset({"threadIdx", "blockIdx"})
_NO_SIGN: Final = (1 << 31) - 1
_INTRINSICS: Final = "llvm.{}.sat.i64"


class _Distinct(llvm_ir.MDValue):  # type: ignore[misc]
    """A node of metadata that is itself its identity; a loop's has itself as first operand."""

    is_loop = False

    def descr(self, buf: list[str]) -> None:
        """Write the node."""
        names = [self.get_reference()] * self.is_loop
        names += [operand.get_reference() for operand in self.operands]
        buf += (f"distinct !{{ {', '.join(names)} }}", "\n")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def _distinct(module: Any, operands: list[Any], *, is_loop: bool) -> Any:
    """Return a new node of metadata."""
    found = _Distinct(module, operands, name=str(len(module.metadata)))
    found.is_loop = is_loop
    return found


class _Parallel(llvm_ir.IRBuilder):  # type: ignore[misc]
    """A builder whose accesses to memory do not depend on those of other threads."""

    group: Any = None
    kept_whole: Any = None  # metadata of loops that are not unrolled: those of a block

    def _insert(self, instruction: Any) -> None:
        """Insert an instruction."""
        super()._insert(instruction)
        is_jump = instruction.opname == "br" and len(instruction.operands) == 1
        if self.group is None and is_jump and instruction.operands[0].is_terminated:  # of a loop
            instruction.set_metadata("llvm.loop", self.kept_whole())
        if self.group is not None and instruction.opname in {"load", "store"}:
            instruction.set_metadata("llvm.access.group", self.group)


class BlockCode(HostCode):
    """The function ``blocks``, which executes some blocks, of a program that was split."""

    pieces: list[host.Piece]

    def __init__(self, program: ir.Program, module: Any, found: Split) -> None:
        self.checks: bool = False
        self.is_coroutine = False
        self._split = found
        flat = flat_types(program.arguments)
        kinds = [*flat, *[I32] * 6, I64, I64, POINTER, POINTER, POINTER]
        function = llvm_ir.Function(
            module, llvm_ir.FunctionType(llvm_ir.VoidType(), kinds), "blocks"
        )
        function.linkage = "internal"
        function.attributes.add("noinline")
        Code.__init__(self, program, module, function)
        self.b: Any = _Parallel(self.start)
        self.b.kept_whole = lambda: self._properties(("llvm.loop.unroll.disable",))
        rest = list(function.args[len(flat) :])
        self._extents = rest[:6]  # of block and grid
        self._first, self._last, self._shared, self._status, self._work = rest[6:]
        self._shared.add_attribute("noalias")
        self.pieces, self._outside = [], {}
        self._local: dict[ir.ArrayValue, Any] = {}  # local array -> the memory of all threads
        take_arguments(self, list(function.args[: len(flat)]))
        self._regions = walk_regions(found.body)
        self._classify()
        self._is_collapsed = not program.has_barrier and self._uses_grid_only()
        self._axes = self._axes_used()
        self._origin: list[Any] = []  # of the block, or of its first thread in the grid
        self._thread: list[Any] = []
        self._end: Any = None

    # ------------------------------------------------------------ variables

    def _classify(self) -> None:
        """Find the variables that are computed again in each region, and those that are kept."""
        self._rebuilt: dict[ir.Slot, ir.Store] = {}
        self._kept: dict[ir.Slot, Any] = {}  # variable -> its array
        if not self.program.has_barrier:
            return
        stored = [each.slot for each in walk(self.program.body) if isinstance(each, ir.Store)]
        once = {slot for slot, count in Counter(stored).items() if count == 1}
        for top in self._split.body:
            stores = [each for each in getattr(top, "body", ()) if isinstance(each, ir.Store)]
            for each in stores if isinstance(top, Region) else ():
                if each.slot in once and self._is_cheap(each.value, once):
                    self._rebuilt[each.slot] = each
        uses = Counter(slot for region in self._regions for slot in slots_in(region.body))
        carried = set[ir.Slot]().union(*(read_first(region.body) for region in self._regions))
        for slot, count in uses.items():
            is_single = slot in self._split.scalars or slot in self._rebuilt
            if not is_single and (count > 1 or slot in carried):
                self._kept[slot] = None

    def _is_cheap(self, value: Any, once: set[ir.Slot]) -> bool:
        """Whether a value can be computed in every region, from what does not change."""
        nodes = list(walk([value]))
        return len(nodes) <= _MOST_NODES and all(
            isinstance(each, _REBUILT)
            and (not isinstance(each, ir.Binary) or each.operator in _CHEAP)
            and (
                not isinstance(each, ir.Read)
                or each.slot in self._rebuilt
                or (each.slot in self._split.scalars and each.slot in once)
            )
            for each in nodes
        )

    def _axes_used(self) -> set[int]:
        """Return the axes of the indices that threads use."""
        nodes = list(walk(self.program.body))
        if any(isinstance(each, ir.Invoke) and each.function.has_index for each in nodes):
            return {0, 1, 2}
        return {each.axis for each in nodes if isinstance(each, ir.Special)}

    def _uses_grid_only(self) -> bool:
        """Whether threads use no index along x but that in the grid."""
        stack: list[Any] = list(self.program.body)
        while stack:
            each = stack.pop()
            if global_axis(each) == 0:
                continue
            if isinstance(each, ir.Lane):
                return False
            if isinstance(each, ir.Special) and each.axis == 0 and each.name in _INDICES:
                return False
            if isinstance(each, ir.Invoke) and each.function.has_index:
                return False
            stack += parts(each)
        return True

    # ------------------------------------------------------------ the thread

    def special(self, name: str, axis: int) -> Any:
        """Return the size of a block or the grid, or a part of an index."""
        if name == "dynamicShared":
            return self.dynamic_bytes()
        if name in {"blockDim", "gridDim"}:
            return self._extents[axis + 3 * (name == "gridDim")]
        found = self._thread if name == "threadIdx" else self._origin
        return self.b.trunc(found[axis], I32)

    def value(self, node: Any) -> Any:
        """Return the value of an expression; indices in the grid are counted, not computed."""
        wide = node.value if isinstance(node, ir.Cast) and node.type is intp else None
        if isinstance(wide, ir.Special) and wide.name in _INDICES:
            found = self._thread if wide.name == "threadIdx" else self._origin
            return found[wide.axis]
        if self._is_collapsed and global_axis(node) == 0:
            found = self._thread[0]
            return found if node.type.bits == 64 else self.b.trunc(found, I32)
        return super().value(node)

    def statements(self, body: list[Any]) -> None:
        """Generate statements and regions, up to the first jump."""
        for each in body:
            if isinstance(each, Region) and not self.b.block.is_terminated:
                self._write_region(each)
            else:
                super().statements([each])

    def leave(self) -> None:
        """Go on with the next thread, or with the next block."""
        self.b.branch(self._end)

    # ------------------------------------------------------------ blocks

    def write(self) -> None:
        """Generate the loop over blocks."""
        counted_loop(self.b, self.slots, "block", self._first, self._last, self._write_block)
        self.b.ret_void()
        self.slots.branch(self.start)

    def _write_block(self, now: Any) -> Any:
        """Generate a block, or several that are executed together; return their number."""
        x, y, _ = (self.b.zext(extent, I64) for extent in self._extents[3:])
        rest = self.b.udiv(now, x)
        self._origin = [self.b.urem(now, x), self.b.urem(rest, y), self.b.udiv(rest, y)]
        self._count = self._neighbours(x, now) if self._is_collapsed else I64(1)
        self._end = self.function.append_basic_block("block.step")
        self.statements(self._split.body)
        if not self.b.block.is_terminated:
            self.b.branch(self._end)
        self.b.position_at_end(self._end)
        return self._count

    def _neighbours(self, x: Any, now: Any) -> Any:
        """Return how many blocks, neighbours along x, are executed together."""
        b = self.b
        rows = b.mul(*(b.zext(extent, I64) for extent in self._extents[1:3]))
        wide = b.zext(self._extents[0], I64)
        few = self._smaller("smax", b.udiv(I64(_MOST_NEIGHBOURS), wide), I64(1))
        most = b.select(b.icmp_unsigned("==", rows, I64(1)), I64(_NO_SIGN), few)
        there = self._smaller("smin", b.sub(x, self._origin[0]), b.sub(self._last, now))
        return self._smaller("smin", there, most)

    def _smaller(self, name: str, one: Any, other: Any) -> Any:
        """Return the smaller or the larger of two numbers."""
        return self.call(f"llvm.{name}.i64", I64, [one, other])

    def loop(
        self,
        first: Any,
        last: Any,
        body: Callable[[Any], None],
        *,
        ids: Any = None,
        step: int = 1,
    ) -> None:
        """Generate a loop over int64."""

        def one_round(now: Any) -> Any:
            body(now)
            return I64(step)

        back = counted_loop(self.b, self.slots, "threads", first, last, one_round)
        if ids is not None:
            back.set_metadata("llvm.loop", ids)

    # ------------------------------------------------------------ regions

    def _write_region(self, region: Region) -> None:
        """Generate the loops over the threads of the block, x fastest."""
        known: dict[ir.Slot, Any] = {slot: ir.Read(slot) for slot in self._split.scalars}
        used = self._rebuilt_in(region)
        body: list[ir.Statement] = [*used, *(s for s in region.body if s not in used)]
        peeler = Peeler(known, is_collapsed=self._is_collapsed)
        peeled = peeler.peel(body)
        guards = peeler.guards
        if peeler.assigned & self._kept.keys():
            peeled, guards = body, []
        if all(map(has_no_effect, body)) and not (assigned(body) & self._kept.keys()):
            return
        self._write_threads(peeled, guards)

    def _rebuilt_in(self, region: Region) -> list[ir.Store]:
        """Return the assignments of variables that a region uses, in order."""
        wanted = slots_in(region.body)
        for slot in reversed(self._rebuilt):
            if slot in wanted:
                wanted |= slots_in(self._rebuilt[slot].value)
        return [store for slot, store in self._rebuilt.items() if slot in wanted]

    def _write_threads(self, body: list[ir.Statement], guards: list[Guard]) -> None:
        """Generate three loops; threads that use one local array after the other are in order."""
        x, y, z = (self.b.zext(extent, I64) for extent in self._extents[:3])
        group, ids = self._parallel() if self._is_parallel(body) else (None, None)
        is_simple = group is not None and not self.program.has_barrier
        parts = divided(body) if is_simple else None
        first, last = I64(0), x
        if self._is_collapsed:
            first = self.b.mul(self._origin[0], x, flags=["nsw", "nuw"])
            last = self.b.add(first, self.b.mul(self._count, x), flags=["nsw", "nuw"])

        def row(kz: Any, ky: Any, number: Any) -> None:
            self._thread = [I64(0), ky, kz]
            low, high = self._interval(guards, first, last)
            line = self.b.mul(number, x)

            def thread(kx: Any) -> None:
                self._thread = [kx, ky, kz]
                self._write_thread(body, self.b.add(line, kx), group)

            if parts is not None:
                low = vectors(parts, kz, ky, low, high)
            self.loop(low, high, thread, ids=ids)

        def vectors(parts: Parts, kz: Any, ky: Any, low: Any, high: Any) -> Any:
            count = self._smaller("smax", self.b.sub(high, low), I64(0))
            end = self.b.add(low, self.b.and_(count, I64(-LANES)))

            def several(first: Any) -> None:
                def begin(lane: Any) -> None:
                    self._thread = [self.b.add(first, lane, flags=["nsw", "nuw"]), ky, kz]

                Vector(self, parts).write(begin, group)

            self.loop(low, end, several, step=LANES)
            return end

        def rows(kz: Any) -> None:
            first_row = self.b.mul(kz, y)
            self.loop(I64(0), y, lambda ky: row(kz, ky, self.b.add(first_row, ky)))

        if 2 in self._axes:
            self.loop(I64(0), z, rows)
            return
        is_any = 1 not in self._axes  # rows are alike, whatever their y
        self.loop(
            I64(0),
            self.b.mul(y, z),
            lambda number: row(I64(0), number if is_any else self.b.urem(number, y), number),
        )

    def _is_parallel(self, body: list[ir.Statement]) -> bool:
        """Whether no memory is that of one thread after the other."""
        return self.program.has_barrier or not any(
            isinstance(each, ir.ArrayValue) and each.space == "local" for each in walk(body)
        )

    def _parallel(self) -> tuple[Any, Any]:
        """Return metadata of accesses that do not depend on other threads, and of their loop."""
        group = _distinct(self.module, [], is_loop=False)
        return group, self._properties(("llvm.loop.parallel_accesses", group))

    def parallel_of(self, group: Any) -> Any:
        """Return metadata of the loop over a vector of threads."""
        one_vector = ("llvm.loop.vectorize.width", I32(LANES)), ("llvm.loop.unroll.disable",)
        return self._properties(("llvm.loop.parallel_accesses", group), *one_vector)

    def _properties(self, *properties: tuple[Any, ...]) -> Any:
        """Return metadata of a loop: each property is a name, perhaps with a value."""
        found = [
            self.module.add_metadata([llvm_ir.MetaDataString(self.module, name), *values])
            for name, *values in properties
        ]
        return _distinct(self.module, found, is_loop=True)

    def _interval(self, guards: list[Guard], first: Any, last: Any) -> tuple[Any, Any]:
        """Return the first and the last thread of a row for which all guards are true."""
        low, high = first, last
        for guard in guards:
            left, right = (self._wide(each) for each in (guard.left, guard.right))
            if not guard.slope:
                is_true = self.b.icmp_signed(guard.operator, left, right)
                high = self.b.select(is_true, high, low)
                continue
            limit = self.call(_INTRINSICS.format("ssub"), I64, [right, left])
            after = self.call(_INTRINSICS.format("sadd"), I64, [limit, I64(1)])
            if guard.operator in {"<", "<=", "=="}:
                high = self._smaller("smin", high, limit if guard.operator == "<" else after)
            if guard.operator in {">", ">=", "=="}:
                low = self._smaller("smax", low, after if guard.operator == ">" else limit)
        return low, high

    def _wide(self, node: ir.Expression) -> Any:
        """Return an integer as an int64."""
        value = self.value(node)
        if value.type.width == I64.width:
            return value
        return (self.b.sext if node.type.kind == "int" else self.b.zext)(value, I64)

    def _write_thread(self, body: list[ir.Statement], number: Any, group: Any) -> None:
        """Generate one thread: what it kept, its statements, and what it keeps."""
        local = {each for each in walk(body) if isinstance(each, ir.ArrayValue)}
        for array in local:
            if array.space == "local" and self.program.has_barrier:
                self.memory[array] = self._own(array, number)
        kept = [slot for slot in slots_in(body) if slot in self._kept]
        places = {slot: self._place(slot, number) for slot in kept}
        self.b.group = group
        for slot in kept:
            kind = I8 if slot.type.kind == "bool" else value_type(slot.type)
            value = self.b.load(places[slot], typ=kind)
            if slot.type.kind == "bool":
                value = self.b.icmp_unsigned("!=", value, I8(0))
            self.b.store(value, self.slot(slot))
        self.write_statements(body, group)
        written = assigned(body)
        for slot in kept:
            if slot in written:
                value = self.b.load(self.slot(slot), typ=value_type(slot.type))
                if slot.type.kind == "bool":
                    value = self.b.zext(value, I8)
                self.b.store(value, places[slot])
        self.b.group = None

    def write_statements(self, body: list[ir.Statement], group: Any) -> None:
        """Generate statements of a thread, whose returns go to their end."""
        kept, self.b.group = self.b.group, group
        outer, self._end = self._end, self.function.append_basic_block("thread.end")
        loops, self._loops = self._loops, []
        ends, self._ends = self._ends, []
        self.statements(body)
        if not self.b.block.is_terminated:
            self.b.branch(self._end)
        self.b.position_at_end(self._end)
        self._end, self._loops, self._ends = outer, loops, ends
        self.b.group = kept

    def _own(self, array: ir.ArrayValue, number: Any) -> Any:
        """Return the address of a local array of a thread."""
        size = -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        if array not in self._local:
            self._local[array] = self.piece(0, size)
        step = self.b.mul(number, I64(size), flags=["nsw"])
        return self.b.gep(self._local[array], [step], source_etype=I8)

    def _place(self, slot: ir.Slot, number: Any) -> Any:
        """Return the address of a variable of a thread."""
        is_single = isinstance(value_type(slot.type), llvm_ir.FloatType)  # of a half, too
        size = I32.width // 8 if is_single else slot.type.itemsize
        if self._kept[slot] is None:
            self._kept[slot] = self.piece(0, size)
        step = self.b.mul(number, I64(size), flags=["nsw"])
        return self.b.gep(self._kept[slot], [step], source_etype=I8)


def walk_regions(body: list[Any]) -> list[Region]:
    """Return the regions in statements of a block."""
    return [each for each in walk(body) if isinstance(each, Region)]


def read_first(body: list[ir.Statement]) -> set[ir.Slot]:
    """Return the variables that may be read before statements assign them."""
    return _Reads().of(body)


class _Reads:
    """Variables that are read before they are assigned."""

    def __init__(self) -> None:
        self._found: set[ir.Slot] = set()
        self._returned: list[list[set[ir.Slot]]] = []

    def of(self, body: list[ir.Statement]) -> set[ir.Slot]:
        """Return those of statements."""
        self._returned.append([])
        self._list(body, set())
        return self._found

    def _list(self, body: list[ir.Statement], known: set[ir.Slot]) -> set[ir.Slot] | None:
        """Return what is assigned after statements, None if what follows is not reached."""
        now: set[ir.Slot] | None = known
        for each in body:
            if now is None:
                return None
            now = self._one(each, now)
        return now

    def _read(self, node: Any, known: set[ir.Slot]) -> None:
        """Note the variables that a node reads."""
        self._found |= slots_in([node]) - known

    def _one(self, node: Any, known: set[ir.Slot]) -> set[ir.Slot] | None:
        """Return what is assigned after a statement."""
        if isinstance(node, ir.Store):
            self._read(node.value, known)
            return known | {node.slot}
        if isinstance(node, ir.If):
            self._read(node.test, known)
            ends = [self._list(each, known) for each in (node.body, node.orelse)]
            return _both(ends)
        if isinstance(node, ir.Loop):
            tested = self._list(node.before_test, known)
            if tested is None:
                return None
            self._read(node.test, tested)
            self._list(node.body, tested)
            self._list(node.step, tested)
            return tested
        if isinstance(node, ir.Inlined):
            self._returned.append([])
            end = self._list(node.body, known)
            return _both([end, *self._returned.pop()])
        if isinstance(node, ir.Jump):
            if node.kind == "return":
                self._returned[-1].append(known)
            return None
        if isinstance(node, ir.Invoke):
            self._read(node.arguments, known)
            return known | set(node.results)
        self._read(node, known)
        return known


def _both(ends: list[set[ir.Slot] | None]) -> set[ir.Slot] | None:
    """Return what is assigned on every path that goes on."""
    reached = [each for each in ends if each is not None]
    return set.intersection(*reached) if reached else None


class Run:
    """The function ``run(params, dims, first, last, work)``, which calls ``blocks``."""

    def __init__(self, code: BlockCode, module: Any) -> None:
        kinds = [POINTER, POINTER, I64, I64, POINTER]
        function = llvm_ir.Function(module, llvm_ir.FunctionType(I32, kinds), "run")
        self.b: Any = llvm_ir.IRBuilder(function.append_basic_block())
        params, dims, first, last, work = function.args
        arguments = [
            self.b.load(self._at(params, place), typ=kind)
            for place, kind in enumerate(flat_types(code.program.arguments))
        ]
        sizes = [
            self.b.and_(
                self.b.load(self.b.gep(dims, [I32(k)], source_etype=I32), typ=I32), I32(_NO_SIGN)
            )
            for k in range(6)
        ]
        status = self.b.gep(dims, [I32(STATUS)], source_etype=I32)
        shared = self._at(work, SHARED)
        self.b.call(code.function, [*arguments, *sizes, first, last, shared, status, work])
        self.b.ret(I32(0))

    def _at(self, pointer: Any, place: int) -> Any:
        """Return a pointer in an array of them."""
        return self.b.load(self.b.gep(pointer, [I32(place)], source_etype=POINTER), typ=POINTER)


def write_blocks(program: ir.Program, module: Any) -> BlockCode | None:
    """Generate a kernel as loops over threads, if it can be."""
    found = split(program)
    if found is None:
        return None
    code = BlockCode(program, module, found)
    code.write()
    Run(code, module)
    host.write_frame_size(code, module)
    return code


def host_module(program: Program, *, checks: bool, races: bool = False) -> tuple[Any, HostCode]:
    """Return the module of a kernel for the CPU, and its generator."""
    module = llvm_ir.Module(name=program.name)
    module.triple = llvm.get_default_triple()
    code = None if checks or races else write_blocks(program, module)
    if code is not None:
        return module, code
    return host.host_module(program, checks=checks, races=races)
