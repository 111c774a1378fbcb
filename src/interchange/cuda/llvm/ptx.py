"""Kernels as PTX, the assembly language of NVIDIA's GPUs.

Source: LLVM, "User Guide for NVPTX Back-end"; PTX ISA; CUDA, libdevice (functions of math).
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import llvmlite.binding as llvm
from llvmlite import ir

from interchange._types.errors import ArgumentError, UnsupportedDeviceError, show

from . import cache, debugging, fastmath, printing, warps_ptx
from .code import CalledCode, Code
from .compiled import locked, optimize
from .host import flat_types, take_arguments
from .ptxas import widen
from .registers import I32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interchange.cuda.intrinsics import Intrinsic
    from interchange.cuda.ir import ArrayValue, BarrierVote, Function, Print, Program, WarpCall
    from interchange.cuda.types import ScalarType

TRIPLE: Final = "nvptx64-nvidia-cuda"
GLOBAL, SHARED, CONST = 1, 3, 4  # address spaces
_SPECIAL: Final = {
    "threadIdx": "tid", "blockIdx": "ctaid", "blockDim": "ntid", "gridDim": "nctaid",
}  # fmt: skip
_FENCES: Final = {
    "threadfence": "gl", "threadfence_block": "cta", "threadfence_system": "sys",
}  # fmt: skip
_SPACES: Final = {
    "argument": GLOBAL,
    "shared": SHARED,
    "dynamic": SHARED,
    "const": CONST,
    "local": 0,
}
"""Space of an array -> address space; local memory is addressed as any."""
_BARRIER: Final = "llvm.nvvm.barrier.cta.sync.aligned.all"
_LIBDEVICE: Final = "nvvm/libdevice/libdevice.10.bc"
_TOOLKITS: Final = ("/usr/local/cuda", "/opt/cuda")


class PtxCode(Code):
    """The function of one thread on a GPU, which is the kernel itself."""

    constant_space = CONST
    device_scope = 'syncscope("device") '

    def __init__(self, program: Program, module: ir.Module, *, checks: bool = False) -> None:
        self.checks = checks
        flat = flat_types(program.arguments, ir.PointerType(addrspace=GLOBAL))
        if program.has_grid_barrier:  # the address at which blocks count
            flat.append(ir.PointerType(addrspace=GLOBAL))
        if checks:  # the address of the report
            flat.append(ir.PointerType(addrspace=GLOBAL))
        kind = ir.FunctionType(ir.VoidType(), flat)
        function = ir.Function(module, kind, entry_name(program))
        function.calling_convention = "ptx_kernel"
        super().__init__(program, module, function)
        self._shared: dict[int | None, Any] = {}  # offset, None for dynamic -> pointer
        self.texts: dict[str, Any] = {}
        take_arguments(self, list(function.args))
        self._status = function.args[-1] if checks else None
        self._grid = function.args[-2 if checks else -1] if program.has_grid_barrier else None

    def special(self, name: str, axis: int) -> Any:
        """Return the value of a special register."""
        if name == "dynamicShared":
            kind = ir.FunctionType(I32, [])
            return self.b.asm(kind, "mov.u32 $0, %dynamic_smem_size;", "=r", [], side_effect=False)
        register = f"llvm.nvvm.read.ptx.sreg.{_SPECIAL[name]}.{'xyz'[axis]}"
        return self.call(register, I32, [])

    def barrier(self) -> None:
        """Wait at barrier 0."""
        self.b.call(self.declared(_BARRIER, ir.VoidType(), [I32]), [I32(0)])

    def grid_barrier(self) -> None:
        """Wait for the blocks of the grid: the first thread of each counts, and waits for all.

        The first block adds what makes the sum of all 2**31, so that the highest bit changes when
        the last block has come, and the word needs not be cleared.
        """
        self.barrier()
        names = ("first", "wait", "met", "go_on")
        first, wait, met, go_on = (self.function.append_basic_block(name) for name in names)
        is_first = self._are_zero("threadIdx")
        self.b.cbranch(is_first, first, go_on)
        self.b.position_at_end(first)
        x, y, z = (self.special("gridDim", axis) for axis in range(3))
        rest = self.b.sub(I32(1 << 31), self.b.sub(self.b.mul(self.b.mul(x, y), z), I32(1)))
        added = self.b.select(self._are_zero("blockIdx"), rest, I32(1))
        self.fence("threadfence")
        before = self.b.atomic_rmw("add", self._grid, added, f"{self.device_scope}monotonic")
        self.b.branch(wait)
        self.b.position_at_end(wait)
        now = self.b.load_atomic(self._grid, f"{self.device_scope}monotonic", 4, typ=I32)
        changed = self.b.and_(self.b.xor(before, now), I32(1 << 31))
        self.b.cbranch(self.b.icmp_unsigned("==", changed, I32(0)), wait, met)
        self.b.position_at_end(met)
        self.fence("threadfence")
        self.b.branch(go_on)
        self.b.position_at_end(go_on)
        self.barrier()

    def _are_zero(self, name: str) -> Any:
        """Return whether the three numbers of a register are 0."""
        x, y, z = (self.special(name, axis) for axis in range(3))
        return self.b.icmp_unsigned("==", self.b.or_(self.b.or_(x, y), z), I32(0))

    def fence(self, name: str) -> None:
        """Order memory accesses."""
        function = f"llvm.nvvm.membar.{_FENCES[name]}"
        self.b.call(self.declared(function, ir.VoidType(), []), [])

    def lane(self) -> Any:
        """Return the value of a special register."""
        return self.call("llvm.nvvm.read.ptx.sreg.laneid", I32, [])

    def barrier_vote(self, node: BarrierVote) -> Any:
        """Wait at barrier 0, and return what the threads count."""
        return warps_ptx.vote(self, node)

    def warp_call(self, node: WarpCall) -> list[Any]:
        """Return the results of instructions."""
        return warps_ptx.call(self, node)

    def shared(self, array: ArrayValue) -> Any:
        """Return a variable of the module in shared memory."""
        if array.offset not in self._shared:
            size = ir.ArrayType(ir.IntType(8), array.nbytes)
            memory = self._in_shared(size, f"shared.{array.offset}")
            memory.linkage = "internal"
            memory.initializer = ir.Constant(size, ir.Undefined)
            self._shared[array.offset] = memory
        return self._shared[array.offset]

    def dynamic(self) -> Any:
        """Return the variable whose size the launch determines."""
        if None not in self._shared:
            self._shared[None] = self._in_shared(ir.ArrayType(ir.IntType(8), 0), "dynamic$shared")
        return self._shared[None]

    def _in_shared(self, size: ir.ArrayType, name: str) -> Any:
        """Return a new variable in shared memory."""
        memory = ir.GlobalVariable(self.module, size, name, addrspace=SHARED)
        memory.align = 16
        memory.type = ir.PointerType(addrspace=SHARED)
        return memory

    def library_name(self, name: str, type_: ScalarType) -> str:
        """Return the name in libdevice."""
        return fastmath.libdevice_name(name, type_, self.program)

    def callee(self, function: Function) -> Code:
        """Return the generator of a function that is called."""
        return PtxFunction(self, function)

    def surroundings(self) -> list[Any]:
        """Return the address of the report, if there is one."""
        return [self._status] if self.checks else []

    def pointer_to(self, space: str) -> Any:
        """Return the type of pointers to a memory space."""
        return ir.PointerType(addrspace=_SPACES[space])

    def lowering(self, intrinsic: Intrinsic) -> str | Callable[..., Any]:
        """Return the code of the row."""
        return intrinsic.ptx

    def leave(self) -> None:
        """Return."""
        self.b.ret_void()

    def print_line(self, node: Print, values: list[Any]) -> None:
        """Print by ``vprintf``."""
        printing.print_on_device(self, node, values)

    def fail(self, place: int) -> None:
        """Report the position, and end the thread."""
        debugging.fail(self, self._status, place)


class PtxFunction(CalledCode, PtxCode):
    """A function that threads call."""

    def __init__(self, caller: PtxCode, function: Function) -> None:
        arguments, surroundings = self.begin(caller, function)
        self._shared = caller._shared
        take_arguments(self, arguments)
        self._status = surroundings[-1] if self.checks else None


def entry_name(program: Program) -> str:
    """Return the name of a kernel in PTX, which reserves names, and allows few characters."""
    name = program.name
    if re.fullmatch(r"[A-Za-z][0-9A-Za-z_]*", name) and name != "WARP_SZ":
        return name
    return "kernel_" + re.sub(r"[^0-9A-Za-z_]", "_", name)


def ptx_module(program: Program, *, checks: bool = False) -> ir.Module:
    """Return the module of a kernel for GPUs."""
    module = ir.Module(name=program.name)
    module.triple = TRIPLE
    PtxCode(program, module, checks=checks).write()
    fastmath.relax(program, module)
    return module


ARCHITECTURES: Final = ((7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0))
"""Compute capabilities that code is compiled for; a GPU runs code for an earlier one, too."""


_ARCHITECTURE: Final = re.compile(r"sm_([0-9]+)[af]?")
_ENTRY: Final = re.compile(r"(\.entry [^{]*\))\s*\{")
_OLDEST: Final = 75


def find_architecture(capability: tuple[int, int], call: str) -> str:
    """Return the architecture to compile for, of a GPU's compute capability."""
    fitting = [known for known in ARCHITECTURES if known <= capability]
    if not fitting:
        what = f"a GPU of compute capability {'.'.join(map(str, capability))}"
        raise UnsupportedDeviceError(call, what, "CPY-PTX-2")
    major, minor = max(fitting)
    return f"sm_{major}{minor}"


def to_ptx(
    program: Program, architecture: str = "sm_75", features: str = "", *, checks: bool = False
) -> str:
    """Return a kernel in PTX.

    Parameters
    ----------
    program : Program
        The typed program.
    architecture : str, default "sm_75"
        The GPU that it is for, and all newer ones.
    features : str
        LLVM's feature, such as ``"+ptx80"``, for a later version of PTX.
    checks : bool
        Whether debug mode is on.  The last parameter is then the address of a report, of
        `interchange.cuda.debugging.WORDS` times an int32, which are 0.
    """
    number = _ARCHITECTURE.fullmatch(architecture)
    if number is None or int(number[1]) < _OLDEST:
        what = f"architecture={show(architecture)}"
        raise UnsupportedDeviceError("to_ptx()", what, "CPY-PTX-2", 'pass "sm_75" or a later one')
    with locked():
        text = str(ptx_module(program, checks=checks))
        library = find_libdevice().read_bytes() if '@"__nv_' in text else b""
        identity = hashlib.sha256(library).hexdigest()
        options, name = program.options, entry_name(program)
        level = 3 if options.opt else 1
        parts = ("ptx", text, TRIPLE, architecture, features, identity, f"-O{level}")

        def compile_it() -> bytes:
            return _compiled(text, name, library, architecture, features, level)

        found = cache.get_or_compile(parts, compile_it, on_disk=options.cache).decode()
    directives = options.directives(int(number[1]))
    return _ENTRY.sub(rf"\1\n{directives}\n{{", found) if directives else found


def _compiled(
    text: str, kernel: str, library: bytes, architecture: str, features: str, level: int
) -> bytes:
    """Return the PTX of a module, with the functions of math that it calls."""
    module = llvm.parse_assembly(text)
    target = llvm.Target.from_triple(TRIPLE)
    machine = target.create_target_machine(cpu=architecture, features=features, opt=3)
    if library:
        _link_libdevice(module, kernel, library)
    module.verify()
    optimize(module, machine, level)
    found: str = machine.emit_assembly(module)
    return widen(found).encode()


def _link_libdevice(module: Any, kernel: str, bitcode: bytes) -> None:
    """Link the functions of math into a module, to be inlined."""
    library = llvm.parse_bitcode(bitcode)
    library.triple = module.triple
    module.link_in(library)
    for function in module.functions:
        if not function.is_declaration and function.name != kernel:
            function.linkage = "internal"


def find_libdevice() -> Path:
    """Return the path of libdevice, from a wheel or a toolkit."""
    for folder in _folders():
        found = folder / _LIBDEVICE
        if found.exists():
            return found
    what = "libdevice.10.bc, which has the functions of math, is not found"
    raise ArgumentError("to_ptx()", what, "CPY-PTX-1")


def _folders() -> Iterator[Path]:
    """Yield the folders in which CUDA may be installed."""
    for entry in sys.path:
        yield from sorted(Path(entry, "nvidia").glob("cu[0-9]*"), reverse=True)
        yield Path(entry, "nvidia", "cuda_nvcc")
    yield from map(Path, _TOOLKITS)
