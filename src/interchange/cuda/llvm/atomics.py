"""Atomic operations and memory fences in LLVM IR.

Source: LLVM Language Reference, "atomicrmw", "cmpxchg" and "fence"; LLVM, "User Guide for NVPTX
Back-end" (scopes).  Operations are relaxed ("monotonic"), as those of CUDA.  What an instruction
does not compute is a loop around ``cmpxchg``: ``min`` and ``max`` of floats, and halves on the CPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from llvmlite import ir

from interchange.cuda.races import ATOMIC
from interchange.cuda.types import HALVES, float16

from .halves import rounded
from .registers import F16, F32, I1, from_memory, to_memory, value_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange.cuda.ir import Atomic, Fence
    from interchange.cuda.types import ScalarType

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
    value, plain = values[0], name.removeprefix("nan")
    if node.type.kind == "float" and plain in _MINMAX:
        return _replace_if(code, pointer, node, value)
    if node.type.kind == "float" and name == "sub":  # PTX has no instruction for differences
        value, name = code.b.fneg(value), "add"
    if node.type in HALVES and not (name == "add" and node.type is float16 and code.device_scope):
        return _combine(code, pointer, node, value)
    if node.type is float16:
        value = code.b.fptrunc(value, F16)
    instruction = _INSTRUCTIONS.get(name, name)
    if node.type.kind == "float" and name == "add":
        instruction = "fadd"
    if node.type.kind == "uint" and instruction in _MINMAX:
        instruction = f"u{instruction}"
    old = code.b.atomic_rmw(instruction, pointer, value, code.device_scope + _RELAXED)
    return code.b.fpext(old, F32) if node.type is float16 else old


def _replace_if(code: Any, pointer: Any, node: Atomic, value: Any) -> Any:
    """Store a float in place of one that compares so with it, and return the old one."""
    compare = code.b.fcmp_unordered if node.operation.startswith("nan") else code.b.fcmp_ordered
    is_number = code.b.fcmp_ordered("ord", value, value)
    relation = _MINMAX[node.operation.removeprefix("nan")]

    def replaced(old: Any) -> tuple[Any, Any]:
        return code.b.and_(compare(relation, old, value), is_number), value

    return _replaced(code, pointer, node.type, replaced)


def _combine(code: Any, pointer: Any, node: Atomic, value: Any) -> Any:
    """Store a half, or the sum with it, and return the old one."""

    def replaced(old: Any) -> tuple[Any, Any]:
        if node.operation == "exch":
            return ir.Constant(I1, 1), value
        return ir.Constant(I1, 1), rounded(code.b, code.b.fadd(old, value), node.type)

    return _replaced(code, pointer, node.type, replaced)


def _replaced(code: Any, pointer: Any, type_: ScalarType, replaced: Callable[[Any], Any]) -> Any:
    """Return the old float, which another replaces by ``cmpxchg``.

    `replaced` returns whether it is, and the other float.
    """
    b, bits = code.b, ir.IntType(type_.bits)
    names = ("compare", "replace", "replaced")
    test, replace, done = (code.function.append_basic_block(name) for name in names)
    first = b.load_atomic(pointer, _RELAXED, type_.itemsize, typ=bits)
    before = b.block
    b.branch(test)
    b.position_at_end(test)
    held = b.phi(bits)
    held.add_incoming(first, before)
    is_half = type_ in HALVES
    old = from_memory(b, type_, held) if is_half else b.bitcast(held, value_type(type_))
    is_replaced, new = replaced(old)
    b.cbranch(is_replaced, replace, done)
    b.position_at_end(replace)
    new = to_memory(b, type_, new) if is_half else b.bitcast(new, bits)
    found = b.cmpxchg(pointer, held, new, code.device_scope + _RELAXED, _RELAXED)
    held.add_incoming(b.extract_value(found, 0), replace)
    b.cbranch(b.extract_value(found, 1), done, test)
    b.position_at_end(done)
    return old


def fence(code: Any, node: Fence) -> None:
    """Order the memory accesses before with those after."""
    code.fence(node.name)
