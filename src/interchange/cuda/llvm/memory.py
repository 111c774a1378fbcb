"""Addresses of the elements of arrays, of every memory space, and checks of indices.

Source: LLVM Language Reference, ``getelementptr``; LLVM, "User Guide for NVPTX Back-end" (address
spaces).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from llvmlite import ir

from interchange.cuda.ir import View
from interchange.cuda.memory import ALIGNMENT

from .debugging import require
from .registers import I8, I64, POINTER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interchange.cuda.ir import ArrayValue, Check, Element, Expression


class MemoryWriter(Protocol):
    """The code generator, as this module uses it."""

    b: Any
    slots: Any
    module: Any
    function: Any
    checks: bool
    watch: Any
    constant_space: int
    arrays: dict[int, tuple[Any, list[Any], list[Any]]]
    memory: dict[ArrayValue, Any]

    def value(self, node: Expression) -> Any:
        """Return the value of an expression."""

    def shared(self, array: ArrayValue) -> Any:
        """Return the pointer of an array in shared memory."""

    def dynamic(self) -> Any:
        """Return the pointer of dynamic shared memory."""

    def fail(self, place: int) -> None:
        """End the thread because an index is out of bounds."""


def address(code: MemoryWriter, node: Element, access: int | None = None, value: Any = None) -> Any:
    """Return the address of an element, whose indices are checked if the code has checks.

    See `code.Code.address` for the other parameters.
    """
    pointer, strides = layout(code, node.array)
    indices = [code.value(index) for index in node.index]
    if code.checks:
        for index, length in zip(indices, lengths(code, node.array), strict=True):
            require(code, code.b.icmp_unsigned("<", index, length), node.place)
    for index, stride in zip(indices, strides, strict=True):
        step = code.b.mul(index, stride, flags=["nsw"])
        pointer = code.b.gep(pointer, [step], source_etype=I8)
    if code.watch is not None and access is not None:
        code.watch.see(node, pointer, indices, access, value)
    return pointer


def layout(code: MemoryWriter, array: ArrayValue) -> tuple[Any, list[Any]]:
    """Return the pointer of an array and its strides [bytes]."""
    if isinstance(array, View):
        start = code.b.gep(_pointer(code, array.base), [code.value(array.first)], source_etype=I8)
        return start, [code.value(step) for step in array.steps]
    if array.argument is not None:
        return _pointer(code, array), code.arrays[array.argument][2]
    return _pointer(code, array), [I64(step) for step in array.strides]


def lengths(code: MemoryWriter, array: ArrayValue) -> Sequence[Any]:
    """Return the lengths of an array [elements]."""
    if isinstance(array, View):
        return [code.value(length) for length in array.lengths]
    if array.argument is not None:
        return code.arrays[array.argument][1]
    return [I64(length) for length in array.shape]


def _pointer(code: MemoryWriter, array: ArrayValue) -> Any:
    """Return the pointer of an array that is not a view."""
    if array.argument is not None:
        return code.arrays[array.argument][0]
    if array.space == "shared":
        return code.shared(array)
    if array.space == "dynamic":
        return code.dynamic()
    if array not in code.memory:
        code.memory[array] = (_local if array.space == "local" else _constant)(code, array)
    return code.memory[array]


def _local(code: MemoryWriter, array: ArrayValue) -> Any:
    """Return memory of the thread, which is not cleared."""
    memory = code.slots.alloca(ir.ArrayType(I8, array.nbytes), name="local")
    memory.align = ALIGNMENT
    memory.type = POINTER
    return memory


def _constant(code: MemoryWriter, array: ArrayValue) -> Any:
    """Return a constant of the module."""
    size = ir.ArrayType(I8, len(array.data))
    name = code.module.get_unique_name("const")
    memory = ir.GlobalVariable(code.module, size, name, addrspace=code.constant_space)
    memory.linkage, memory.global_constant = "internal", True
    memory.initializer = ir.Constant(size, bytearray(array.data))
    memory.align = ALIGNMENT
    memory.type = ir.PointerType(addrspace=code.constant_space)
    return memory


def check(code: MemoryWriter, node: Check) -> None:
    """End the thread if the index of a view is out of bounds, if the code has checks."""
    if code.checks:
        is_below = code.b.icmp_unsigned("<", code.value(node.index), code.value(node.length))
        require(code, is_below, node.place)
