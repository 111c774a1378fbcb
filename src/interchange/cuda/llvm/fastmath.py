"""``fastmath``: operations of floats may be reordered, fused and approximated.

Source: LLVM Language Reference, "Fast-Math Flags"; CUDA, "libdevice User's Guide" (``__nv_fast_``).
NaN and infinite numbers keep their meaning, as with ``nvcc --use_fast_math``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from llvmlite import ir

if TYPE_CHECKING:
    from interchange.cuda.ir import Program
    from interchange.cuda.types import ScalarType

_FLAGS: Final = ("nsz", "arcp", "contract", "afn", "reassoc")
_OPERATIONS: Final = frozenset({"fadd", "fsub", "fmul", "fdiv", "fneg"})
_FLOATS: Final = (ir.FloatType, ir.DoubleType)
_FAST: Final = frozenset({"sin", "cos", "tan", "exp", "log", "log2", "log10", "pow"})


def relax(program: Program, module: ir.Module) -> None:
    """Set the flags of every operation of a module, if the kernel has the option."""
    if not program.options.fastmath:
        return
    for function in module.functions:
        for block in function.blocks:
            for each in block.instructions:
                if each.opname in _OPERATIONS:
                    each.flags = [*_FLAGS]
                elif isinstance(each, ir.CallInstr) and isinstance(each.type, _FLOATS):
                    for flag in _FLAGS:
                        each.fastmath.add(flag)


def libdevice_name(name: str, type_: ScalarType, program: Program) -> str:
    """Return the name of a function of math in libdevice."""
    end = "f" if type_.bits == 32 else ""
    is_fast = end and program.options.fastmath and name in _FAST
    return f"__nv_fast_{name}{end}" if is_fast else f"__nv_{name}{end}"
