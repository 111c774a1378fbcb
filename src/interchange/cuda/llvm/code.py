"""From the typed program to LLVM IR: the part shared by GPU and CPU.

Source: LLVM Language Reference; CUDA C++ Programming Guide, "Arithmetic Instructions".  What C
leaves undefined has a result here: casts saturate, divisions by 0 give 0, and shifts by more than
the width shift all bits out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from llvmlite import ir

from interchange._types.errors import ArgumentError
from interchange.cuda.ir import (
    TOO_DEEP,
    Argument,
    Assert,
    Atomic,
    Barrier,
    BarrierVote,
    Binary,
    Call,
    Cast,
    Check,
    Choice,
    Complex,
    Constant,
    Element,
    Extent,
    Fence,
    GridBarrier,
    If,
    Inlined,
    Invoke,
    Jump,
    Lane,
    Loop,
    Math,
    Part,
    Print,
    Raise,
    Read,
    Rounds,
    Special,
    Store,
    StoreElement,
    Unary,
    Unrolled,
    WarpCall,
)
from interchange.cuda.races import READ, WRITE
from interchange.cuda.types import PART_OF, float32, float64

from . import arithmetic, atomics, debugging, functions, memory, printing, warps
from .mathematics import IN_DOUBLE, ONE_INSTRUCTION, choice, math_function
from .registers import from_memory, memory_type, to_memory, value_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange.cuda.intrinsics import Intrinsic
    from interchange.cuda.ir import ArrayValue, Expression, Function, Program, Slot, Statement
    from interchange.cuda.types import ScalarType


_CONSTRAINTS: Final = {"i16": "h", "i32": "r", "i64": "l", "float": "f", "double": "d"}
"""Type in a register -> its letter in inline assembly."""


class Code:
    """Generates the function of one thread; a target defines thread indices and barriers."""

    program: Program
    module: Any
    function: Any
    device_scope = ""  # LLVM's scope of atomic operations
    checks: bool = False  # whether indices are checked before they are used
    constant_space = 0  # address space of constant arrays
    watch: Any = None  # what finds races, if they are to be found

    def __init__(self, program: Program, module: ir.Module, function: ir.Function) -> None:
        self.program, self.module, self.function = program, module, function
        self.entry: Any = function.append_basic_block("entry")
        self.start: Any = function.append_basic_block("start")
        self.slots: Any = ir.IRBuilder(self.entry)
        self.b: Any = ir.IRBuilder(self.start)
        # index of an argument -> pointer, lengths and strides; or value
        self.arrays: dict[int, tuple[Any, list[Any], list[Any]]] = {}
        self.numbers: dict[int, Any] = {}
        self.memory: dict[ArrayValue, Any] = {}  # local or constant array -> its pointer
        self._slots: dict[Slot, Any] = {}
        self._loops: list[tuple[Any, Any]] = []
        self._ends: list[Any] = []
        self.failing: dict[Any, tuple[Any, Any]] = {}  # see `debugging.fail`
        self.functions: dict[Function, Any] = {}  # function -> that of the module

    # ------------------------------------------------------------ implemented by a target

    def special(self, name: str, axis: int) -> Any:
        """Return a special register."""
        raise NotImplementedError

    def barrier(self) -> None:
        """Wait for the threads of the block."""
        raise NotImplementedError

    def grid_barrier(self) -> None:
        """Wait for the threads of the grid."""
        raise NotImplementedError

    def fence(self, name: str) -> None:
        """Order memory accesses."""
        raise NotImplementedError

    def lane(self) -> Any:
        """Return the index of the thread in its warp."""
        raise NotImplementedError

    def barrier_vote(self, node: BarrierVote) -> Any:
        """Wait for the threads of the block, and return what they count."""
        raise NotImplementedError

    def warp_call(self, node: WarpCall) -> list[Any]:
        """Return the results of a function of warps."""
        raise NotImplementedError

    def shared(self, array: ArrayValue) -> Any:
        """Return the pointer of an array in shared memory."""
        raise NotImplementedError

    def dynamic(self) -> Any:
        """Return the pointer of dynamic shared memory."""
        raise NotImplementedError

    def library_name(self, name: str, type_: ScalarType) -> str:
        """Return the name of a function of math in the target's library."""
        raise NotImplementedError

    def lowering(self, intrinsic: Intrinsic) -> str | Callable[..., Any]:
        """Return the target's code of an intrinsic."""
        raise NotImplementedError

    def leave(self) -> None:
        """End the thread."""
        raise NotImplementedError

    def print_line(self, node: Print, values: list[Any]) -> None:
        """Print a line with numbers."""
        raise NotImplementedError

    def callee(self, function: Function) -> Code:
        """Return the generator of a function that is called."""
        raise NotImplementedError

    def surroundings(self) -> list[Any]:
        """Return what every function is passed besides its arguments."""
        raise NotImplementedError

    def pointer_to(self, space: str) -> Any:
        """Return the type of pointers to a memory space."""
        raise NotImplementedError

    def fail(self, place: int) -> None:
        """End the thread because an index is out of bounds."""
        raise NotImplementedError

    # ------------------------------------------------------------ statements

    def write(self) -> None:
        """Generate the body; the block of variables falls through to it."""
        self.write_body()
        if not self.b.block.is_terminated:
            self.leave()
        self.slots.branch(self.start)

    def write_body(self) -> None:
        """Generate the statements."""
        try:
            self.statements(self.program.body)
        except RecursionError:
            call = f"{self.program.name}()"
            raise ArgumentError(call, TOO_DEEP, "CPY-NPM-2", "write several statements") from None

    def write_function(self, function: Function) -> Any:
        """Generate a function that is called, and return it; ``return`` jumps to its end."""
        end = self.function.append_basic_block("end")
        self._ends.append(end)
        self.write_body()
        if not self.b.block.is_terminated:
            self.b.branch(end)
        self.b.position_at_end(end)
        functions.return_from(self, function, has_ended=False)
        self.slots.branch(self.start)
        return self.function

    def statements(self, body: list[Statement]) -> None:
        """Generate statements, up to the first jump."""
        for statement in body:
            if self.b.block.is_terminated:
                return
            self._WRITERS[type(statement)](self, statement)

    def slot(self, slot: Slot) -> Any:
        """Return the memory of a variable, initially 0."""
        if slot not in self._slots:
            kind = value_type(slot.type)
            variable = self.slots.alloca(kind, name=slot.name)
            self.slots.store(ir.Constant(kind, None), variable)
            self._slots[slot] = variable
        return self._slots[slot]

    def _write_store(self, node: Store) -> None:
        """Assign to a variable."""
        value = self.value(node.value)
        self.b.store(value, self.slot(node.slot))

    def _write_store_element(self, node: StoreElement) -> None:
        """Assign to an element."""
        value = self.value(node.value)
        value = to_memory(self.b, node.target.type, value)
        pointer = self.address(node.target, WRITE, value)
        self.b.store(value, pointer, align=self._alignment(node.target))

    def _write_if(self, node: If) -> None:
        """Generate both branches, and continue where they meet."""
        test = self.value(node.test)
        names = ("then", "else", "endif")
        then, other, end = (self.function.append_basic_block(name) for name in names)
        self.b.cbranch(test, then, other)
        reached = False
        for block, body in ((then, node.body), (other, node.orelse)):
            self.b.position_at_end(block)
            self.statements(body)
            if not self.b.block.is_terminated:
                self.b.branch(end)
                reached = True
        self.b.position_at_end(end)
        if not reached:
            self.b.unreachable()

    def _write_loop(self, node: Loop) -> None:
        """Generate a loop."""
        names = ("test", "body", "step", "done")
        test, body, step, done = (self.function.append_basic_block(name) for name in names)
        self.b.branch(test)
        self.b.position_at_end(test)
        self.statements(node.before_test)
        self.b.cbranch(self.value(node.test), body, done)
        self.b.position_at_end(body)
        self.write_iteration(node.body, step, done)
        self.b.position_at_end(step)
        self.statements(node.step)
        self.b.branch(test)
        self.b.position_at_end(done)

    def write_iteration(self, body: list[Statement], step: Any, done: Any) -> None:
        """Generate the statements of a loop that go to a step, or leave it."""
        self._loops.append((step, done))
        self.statements(body)
        self._loops.pop()
        if not self.b.block.is_terminated:
            self.b.branch(step)

    def _write_unrolled(self, node: Unrolled) -> None:
        """Generate the rounds of a loop, one after the other."""
        done = self.function.append_basic_block("done")
        for statements in node.rounds:
            step = self.function.append_basic_block("step")
            self.write_iteration(statements, step, done)
            self.b.position_at_end(step)
        self.b.branch(done)
        self.b.position_at_end(done)

    def _write_jump(self, node: Jump) -> None:
        """Generate a jump."""
        if node.kind == "return":
            if self._ends:
                self.b.branch(self._ends[-1])
            else:
                self.leave()
            return
        step, done = self._loops[-1]
        self.b.branch(done if node.kind == "break" else step)

    def _write_inlined(self, node: Inlined) -> None:
        """Generate the body of a function."""
        end = self.function.append_basic_block(f"after.{node.name}")
        kept, self._loops = self._loops, []
        self._ends.append(end)
        self.statements(node.body)
        self._ends.pop()
        self._loops = kept
        if not self.b.block.is_terminated:
            self.b.branch(end)
        self.b.position_at_end(end)

    def _write_grid_barrier(self, _: GridBarrier) -> None:
        """Wait for the grid."""
        self.grid_barrier()

    def _write_barrier(self, _: Barrier) -> None:
        """Wait for the block."""
        self.barrier()

    # ------------------------------------------------------------ values

    def value(self, node: Expression) -> Any:
        """Return the value of an expression."""
        return self._COMPUTED[type(node)](self, node)

    def _compute_constant(self, node: Constant) -> Any:
        """Return a constant."""
        if node.type.kind == "complex":
            part = value_type(PART_OF[node.type])
            number = complex(node.value)
            parts = [ir.Constant(part, number.real), ir.Constant(part, number.imag)]
            return ir.Constant.literal_struct(parts)
        if node.type.kind == "float":
            return ir.Constant(value_type(node.type), float(node.value))
        return ir.Constant(value_type(node.type), int(node.value))

    def _compute_read(self, node: Read) -> Any:
        """Return the value of a variable."""
        return self.b.load(self.slot(node.slot), typ=value_type(node.type))

    def _compute_argument(self, node: Argument) -> Any:
        """Return a scalar argument."""
        return self.numbers[node.index]

    def _compute_special(self, node: Special) -> Any:
        """Return a special register."""
        return self.special(node.name, node.axis)

    def _compute_extent(self, node: Extent) -> Any:
        """Return a length or a stride."""
        _, lengths, strides = self.arrays[node.array.argument or 0]
        return (strides if node.is_stride else lengths)[node.axis]

    def _compute_complex(self, node: Complex) -> Any:
        """Return an operation of complex numbers."""
        return self.pair(node.type, self.value(node.real), self.value(node.imag))

    def pair(self, type_: ScalarType, real: Any, imag: Any) -> Any:
        """Return a complex number of two parts."""
        empty = ir.Constant(value_type(type_), ir.Undefined)
        return self.b.insert_value(self.b.insert_value(empty, real, 0), imag, 1)

    def _compute_part(self, node: Part) -> Any:
        """Return a part of a complex number."""
        return self.b.extract_value(self.value(node.value), node.which)

    def mathematics(self, name: str, type_: ScalarType, arguments: list[Any]) -> Any:
        """Return a call of a function of math: LLVM's own, or one of the target's library."""
        is_own = name in ONE_INSTRUCTION
        if not is_own:
            return self.library_call(name, type_, arguments)
        return self.call(f"llvm.{name}.f{max(32, type_.bits)}", value_type(type_), arguments)

    def library_call(self, name: str, type_: ScalarType, arguments: list[Any]) -> Any:
        """Return a call of a function of the target's library."""
        if name in IN_DOUBLE and type_ is float32:
            wide = [self.b.fpext(each, value_type(float64)) for each in arguments]
            return self.b.fptrunc(self.library_call(name, float64, wide), value_type(type_))
        return self.call(self.library_name(name, type_), value_type(type_), arguments)

    def _compute_call(self, node: Call) -> Any:
        """Return the result of an intrinsic."""
        code, kind = self.lowering(node.intrinsic), value_type(node.type)
        values = [self.value(argument) for argument in node.arguments]
        if callable(code):
            return code(self.b, *values)
        if not code.endswith(";"):
            return self.call(code, kind, values)
        kinds = [value.type for value in values]
        letters = [_CONSTRAINTS[str(each)] for each in (kind, *kinds)]
        called = ir.FunctionType(kind, kinds)
        has_effects = not node.intrinsic.is_pure
        return self.b.asm(called, code, "=" + ",".join(letters), values, has_effects)

    # ------------------------------------------------------------ memory

    def address(self, node: Element, access: int | None = None, value: Any = None) -> Any:
        """Return the address of an element.

        `access` is a kind of `interchange.cuda.races`, `value` what a write stores; races of the
        access are then found, if the target does that.
        """
        return memory.address(self, node, access, value)

    def _alignment(self, node: Element) -> int:
        """Return the alignment of an address [bytes]; a complex number is two parts."""
        return node.array.alignment

    def _compute_element(self, node: Element) -> Any:
        """Return an element."""
        kind = memory_type(node.type)
        found = self.b.load(self.address(node, READ), align=self._alignment(node), typ=kind)
        return from_memory(self.b, node.type, found)

    def _compute_cast(self, node: Cast) -> Any:
        """Return a number cast to another type."""
        return arithmetic.cast(self, self.value(node.value), node.value.type, node.type)

    _WRITERS: Final[dict[type[Any], Callable[[Any, Any], None]]] = {
        Store: _write_store,
        StoreElement: _write_store_element,
        If: _write_if,
        Loop: _write_loop,
        Unrolled: _write_unrolled,
        Jump: _write_jump,
        Inlined: _write_inlined,
        Invoke: functions.invoke,
        Raise: debugging.write_raise,
        Assert: debugging.write_assert,
        Print: printing.write_print,
        Check: memory.check,
        Barrier: _write_barrier,
        GridBarrier: _write_grid_barrier,
        Fence: atomics.fence,
        BarrierVote: warps.vote,
        WarpCall: warps.call,
    }
    """Kind of statement -> the method that generates it."""
    _COMPUTED: Final[dict[type[Any], Callable[[Any, Any], Any]]] = {
        Constant: _compute_constant,
        Read: _compute_read,
        Argument: _compute_argument,
        Special: _compute_special,
        Lane: warps.lane,
        Extent: _compute_extent,
        Complex: _compute_complex,
        Part: _compute_part,
        Math: math_function,
        Call: _compute_call,
        Atomic: atomics.atomic,
        Element: _compute_element,
        Binary: arithmetic.binary,
        Unary: arithmetic.unary,
        Cast: _compute_cast,
        Choice: choice,
        Rounds: arithmetic.rounds,
    }
    """Kind of expression -> the method that generates its value."""

    def declared(self, name: str, result: Any, arguments: list[Any]) -> Any:
        """Return a function of the module, declared on first use."""
        found = self.module.globals.get(name)
        return found or ir.Function(self.module, ir.FunctionType(result, arguments), name)

    def call(self, name: str, result: Any, arguments: list[Any]) -> Any:
        """Return the result of a function of the target."""
        kinds = [argument.type for argument in arguments]
        return self.b.call(self.declared(name, result, kinds), arguments)


class CalledCode(Code):
    """The part of a function that threads call that all targets share."""

    functions: dict[Function, Any]

    def begin(self, caller: Code, function: Function) -> tuple[list[Any], list[Any]]:
        """Declare the function; return its parameters for arguments, and for surroundings."""
        self.checks: bool = caller.checks
        self._called = function
        kinds = [each.type for each in caller.surroundings()]
        declared, count = functions.declare(caller, function, kinds)
        program = replace(
            caller.program, name=function.name, arguments=function.arguments, body=function.body,
            has_barrier=False,
        )  # fmt: skip
        Code.__init__(self, program, caller.module, declared)
        self.functions = caller.functions
        return list(declared.args[:count]), list(declared.args[count:])

    def leave(self) -> None:
        """Return that the thread has ended."""
        functions.return_from(self, self._called, has_ended=True)
