"""Atomic operations and memory fences in LLVM IR.

Source: LLVM Language Reference, "atomicrmw", "cmpxchg" and "fence"; LLVM, "User Guide for NVPTX
Back-end" (scopes).  Operations are relaxed ("monotonic"), as those of CUDA.  What an instruction
does not compute is a loop around ``cmpxchg``: ``min`` and ``max`` of floats, and halves on the CPU.
LLVM makes ``atomicrmw`` plain in local memory, but not ``cmpxchg``, which PTX has not got there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from llvmlite import ir

from interchange.cuda.races import ATOMIC
from interchange.cuda.types import HALVES, float16

from .halves import rounded
from .registers import F16, F32, I1, I64, from_memory, memory_type, to_memory, value_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange.cuda.ir import Atomic, Fence

_RELAXED: Final = "monotonic"
_INSTRUCTIONS: Final = {
    "add": "add", "sub": "sub", "and_": "and", "or_": "or", "xor": "xor", "exch": "xchg",
    "inc": "uinc_wrap", "dec": "udec_wrap", "min": "min", "nanmin": "min", "max": "max",
    "nanmax": "max",
}  # fmt: skip
"""Operation -> LLVM's name of it for ints."""
_SPACES: Final = {0: "", 1: ".global", 3: ".shared"}
"""Address space of a pointer -> the modifier of an instruction."""
_MINMAX: Final = {"min": ">", "max": "<"}
"""Operation -> how an element compares with a value that replaces it."""


def atomic(code: Any, node: Atomic) -> Any:
    """Return the old value of an element, which an atomic operation replaces."""
    values = [code.value(argument) for argument in node.arguments]
    pointer, name = code.address(node.target, ATOMIC), node.operation
    if name == "cas" and node.target.array.space == "local":
        old = code.b.load(pointer, typ=values[0].type)
        is_same = code.b.icmp_unsigned("==", old, values[0])
        code.b.store(code.b.select(is_same, values[1], old), pointer)
        return old
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

    return _replaced(code, pointer, node, replaced)


def _combine(code: Any, pointer: Any, node: Atomic, value: Any) -> Any:
    """Store a half, or the sum with it, and return the old one."""

    def replaced(old: Any) -> tuple[Any, Any]:
        if node.operation == "exch":
            return ir.Constant(I1, 1), value
        return ir.Constant(I1, 1), rounded(code.b, code.b.fadd(old, value), node.type)

    return _replaced(code, pointer, node, replaced)


def _replaced(code: Any, pointer: Any, node: Atomic, replaced: Callable[[Any], Any]) -> Any:
    """Return the old float, which another replaces by ``cmpxchg``.

    `replaced` returns whether it is, and the other float.
    """
    b, type_ = code.b, node.type
    bits, is_half = ir.IntType(type_.bits), type_ in HALVES
    if node.target.array.space == "local":
        old = from_memory(b, type_, b.load(pointer, typ=memory_type(type_)))
        is_replaced, new = replaced(old)
        b.store(to_memory(b, type_, b.select(is_replaced, new, old)), pointer)
        return old
    names = ("compare", "replace", "replaced")
    test, replace, done = (code.function.append_basic_block(name) for name in names)
    first = b.load_atomic(pointer, _RELAXED, type_.itemsize, typ=bits)
    before = b.block
    b.branch(test)
    b.position_at_end(test)
    held = b.phi(bits)
    held.add_incoming(first, before)
    old = from_memory(b, type_, held) if is_half else b.bitcast(held, value_type(type_))
    is_replaced, new = replaced(old)
    b.cbranch(is_replaced, replace, done)
    b.position_at_end(replace)
    new = to_memory(b, type_, new) if is_half else b.bitcast(new, bits)
    if is_half and code.device_scope:
        found = _compare_and_swap_half(b, pointer, held, new)
    else:
        pair = b.cmpxchg(pointer, held, new, code.device_scope + _RELAXED, _RELAXED)
        found = b.extract_value(pair, 0)
    held.add_incoming(found, replace)
    b.cbranch(b.icmp_unsigned("==", found, held), done, test)
    b.position_at_end(done)
    return old


def _compare_and_swap_half(b: Any, pointer: Any, held: Any, new: Any) -> Any:
    """Return the bits of a half before PTX's instruction; LLVM would access 32 bits instead."""
    instruction = f"atom.relaxed.gpu{_SPACES[pointer.type.addrspace]}.cas.b16 $0, [$1], $2, $3;"
    values = [b.ptrtoint(pointer, I64), held, new]
    kind = ir.FunctionType(held.type, [value.type for value in values])
    return b.asm(kind, instruction, "=h,l,h,h,~{memory}", values, True)  # noqa: FBT003 - llvmlite's


def fence(code: Any, node: Fence) -> None:
    """Order the memory accesses before with those after."""
    code.fence(node.name)
