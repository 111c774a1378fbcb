"""Atomic operations on elements of arrays, and memory fences.

Source: CUDA C++ Programming Guide, "Atomic Functions" and "Memory Fence Functions"; the names, the
signatures, and the treatment of NaN are those of ``numba.cuda.atomic``.
"""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from . import choices, ir
from .context import Values
from .intrinsics import Intrinsic
from .types import HALVES

if TYPE_CHECKING:
    from collections.abc import Callable

_BITS: Final = (32, 64)
_REALS: Final = ("int", "uint", "float")
_INTEGERS: Final = ("int", "uint")
_ONE_VALUE: Final = ("array", "index", "value")


class Atomic(Intrinsic):
    """An atomic operation; it returns the old value of the element."""

    def __init__(
        self, name: str, doc: str, kinds: tuple[str, ...], parameters: tuple[str, ...] = _ONE_VALUE
    ) -> None:
        super().__init__(f"atomic.{name}", f"{doc} Returns the old value.", parameters)
        self.kinds = kinds
        self.operation = name


class AtomicOperations:
    """Atomic operations on elements of arrays, which kernels call."""

    __slots__ = ()

    add: Final = Atomic("add", "Add a value to an element.", _REALS)
    sub: Final = Atomic("sub", "Subtract a value from an element.", _REALS)
    min: Final = Atomic(
        "min", "Store a value if it is less than the element; not if one of them is NaN.", _REALS
    )
    max: Final = Atomic(
        "max", "Store a value if it is greater than the element; not if one of them is NaN.", _REALS
    )
    nanmin: Final = Atomic("nanmin", "As `atomic.min`, but replaces an element of NaN.", _REALS)
    nanmax: Final = Atomic("nanmax", "As `atomic.max`, but replaces an element of NaN.", _REALS)
    and_: Final = Atomic("and_", "Store the bitwise and.", _INTEGERS)
    or_: Final = Atomic("or_", "Store the bitwise or.", _INTEGERS)
    xor: Final = Atomic("xor", "Store the bitwise exclusive or.", _INTEGERS)
    inc: Final = Atomic(
        "inc", "Add 1, or store 0 if the element is the value or greater.", ("uint",)
    )
    dec: Final = Atomic(
        "dec", "Subtract 1, or store the value if the element is 0 or greater than it.", ("uint",)
    )
    exch: Final = Atomic("exch", "Store a value.", _REALS)
    cas: Final = Atomic(
        "cas", "Store a value if the element equals `old`.", _INTEGERS,
        ("array", "index", "old", "value"),
    )  # fmt: skip
    compare_and_swap: Final = Atomic(
        "compare_and_swap", "As `atomic.cas`, of element 0.", _INTEGERS, ("array", "old", "value")
    )


atomic: Final = AtomicOperations()
OPERATIONS: Final = tuple(
    each for each in vars(AtomicOperations).values() if isinstance(each, Atomic)
)
"""Every atomic operation."""
threadfence: Final = Intrinsic(
    "threadfence", "Order the memory accesses of the thread, for all threads of the device."
)
threadfence_block: Final = Intrinsic(
    "threadfence_block", "Order the memory accesses of the thread, for all threads of the block."
)
threadfence_system: Final = Intrinsic(
    "threadfence_system", "Order the memory accesses of the thread, for all devices and the host."
)


def _operation(reader: Any, node: ast.Call, function: Atomic) -> Any:
    """Convert a call of an atomic operation, which is executed here, once."""
    called, count = f"{function.name}()", len(function.parameters)
    if len(node.args) != count:
        reader.refuse(node, f"{called} takes {', '.join(function.parameters)}", "CPY-CALL-1")
    array = reader.value(node.args[0])
    return choices.each(reader, node, array, lambda one: _applied(reader, node, function, one))


def _applied(reader: Any, node: ast.Call, function: Atomic, array: Any) -> Any:
    """Convert a call of an atomic operation on an array."""
    called = f"{function.name}()"
    if not isinstance(array, ir.ArrayValue):
        reader.refuse(node.args[0], f"{called} of something that is no array", "CPY-ATOMIC-1")
    type_ = array.type.element
    is_wide = type_.bits in _BITS or type_ in HALVES
    if type_.kind not in function.kinds or not is_wide:
        reader.refuse(node, f"{called} of an array of {type_}", "CPY-ATOMIC-1")
    if array.alignment < type_.itemsize:
        reader.refuse(node, f"{called} of elements that may not be aligned", "CPY-ATOMIC-1")
    operation, index, values = function.operation, node.args[1], node.args[2:]
    if operation == "compare_and_swap":
        operation, values = "cas", node.args[1:]
        index = ast.copy_location(ast.Constant(0), node)
    found = reader.element(ast.copy_location(ast.Subscript(node.args[0], index), index), array)
    indices = tuple(i if isinstance(i, ir.Constant) else reader.put(i) for i in found.index)
    element = ir.Element(array, indices, found.place)
    pairs = zip(values, reader.numbers(values), strict=True)
    arguments = tuple(reader.stored(each, number, type_) for each, number in pairs)
    reader.write_to(node, array)
    if array.argument is not None:
        reader.program.reads.add(array.argument)
    return reader.put(ir.Atomic(type_, operation, element, arguments))


def _fence(reader: Any, node: ast.Call, function: Intrinsic) -> Values:
    """Convert a call of a memory fence."""
    if node.args:
        reader.refuse(node, f"{function.name}() takes nothing", "CPY-CALL-1")
    reader.out.append(ir.Fence(function.name))
    return Values(())


FUNCTIONS: Final[dict[Any, Callable[[Any, ast.Call], Any]]] = {
    **{each: partial(_operation, function=each) for each in OPERATIONS},
    **{
        each: partial(_fence, function=each)
        for each in (threadfence, threadfence_block, threadfence_system)
    },
}
"""Function -> what converts a call of it."""
