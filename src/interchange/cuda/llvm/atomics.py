"""Atomic operations and memory fences in LLVM IR.

Source: LLVM Language Reference, "atomicrmw", "cmpxchg" and "fence"; LLVM, "User Guide for NVPTX
Back-end" (scopes).  Operations are relaxed ("monotonic"), as those of CUDA.  What an instruction
does not compute is a loop around ``cmpxchg``: ``min`` and ``max`` of floats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from llvmlite import ir

from interchange.cuda.races import ATOMIC

from .registers import value_type

if TYPE_CHECKING:
    from interchange.cuda.ir import Atomic, Fence

_RELAXED: Final = "monotonic"
_INSTRUCTIONS: Final = {
    "add": "add", "sub": "sub", "and_": "and", "or_": "or", "xor": "xor", "exch": "xchg",
    "inc": "uinc_wrap", "dec": "udec_wrap", "min": "min", "nanmin": "min", "max": "max",
    "nanmax": "max",
}  # fmt: skip
"""Operation -> LLVM's name of it for ints."""
_MINMAX: Final = {"min": ">", "max": "<"}
"""Operation -> how an element compares with a value that replaces it."""


def atomic(code: Any, node: Atomic) -> Any:
    """Return the old value of an element, which an atomic operation replaces."""
    values = [code.value(argument) for argument in node.arguments]
    pointer, name = code.address(node.target, ATOMIC), node.operation
    if name == "cas":
        found = code.b.cmpxchg(pointer, *values, code.device_scope + _RELAXED, _RELAXED)
        return code.b.extract_value(found, 0)
    value = values[0]
    if node.type.kind == "float":
        if name.removeprefix("nan") in _MINMAX:
            return _float_minmax(code, pointer, value, node)
        if name == "sub":  # PTX has no instruction for differences
            value = code.b.fneg(value)
        if name in {"add", "sub"}:
            name = "fadd"
    instruction = _INSTRUCTIONS.get(name, name)
    if node.type.kind == "uint" and instruction in _MINMAX:
        instruction = f"u{instruction}"
    return code.b.atomic_rmw(instruction, pointer, value, code.device_scope + _RELAXED)


def _float_minmax(code: Any, pointer: Any, value: Any, node: Atomic) -> Any:
    """Store a float in place of one that compares so with it, and return the old one."""
    b, bits, kind = code.b, ir.IntType(node.type.bits), value_type(node.type)
    compare = b.fcmp_unordered if node.operation.startswith("nan") else b.fcmp_ordered
    names = ("compare", "replace", "replaced")
    test, replace, done = (code.function.append_basic_block(name) for name in names)
    is_number = b.fcmp_ordered("ord", value, value)
    first = b.load_atomic(pointer, _RELAXED, node.type.itemsize, typ=bits)
    before = b.block
    b.branch(test)
    b.position_at_end(test)
    held = b.phi(bits)
    held.add_incoming(first, before)
    old = b.bitcast(held, kind)
    less = compare(_MINMAX[node.operation.removeprefix("nan")], old, value)
    b.cbranch(b.and_(less, is_number), replace, done)
    b.position_at_end(replace)
    new = b.bitcast(value, bits)
    found = b.cmpxchg(pointer, held, new, code.device_scope + _RELAXED, _RELAXED)
    held.add_incoming(b.extract_value(found, 0), replace)
    b.cbranch(b.extract_value(found, 1), done, test)
    b.position_at_end(done)
    return old


def fence(code: Any, node: Fence) -> None:
    """Order the memory accesses before with those after."""
    code.fence(node.name)
