"""Functions that kernels call: internal functions of the module, which LLVM may inline.

Source: LLVM Language Reference, "Functions", "Linkage Types".  An array is passed as its pointer,
in the address space of its memory, its lengths and its strides; several results as a struct.  A
function that may end the thread returns first whether it did.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from interchange.cuda.types import ArrayType

from .memory import layout, lengths
from .registers import I8, I64, from_memory, memory_type, to_memory, value_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interchange.cuda.ir import ArrayValue, Expression, Function, Invoke, Slot


def invoke(code: Any, node: Invoke) -> None:
    """Call a function, which is generated on its first call."""
    called = code.functions.get(node.function)
    if called is None:
        called = code.functions[node.function] = code.callee(node.function).write_function(
            node.function
        )
    values = [each for argument in node.arguments for each in _passed(code, argument)]
    found = code.b.call(called, [*values, *code.surroundings()])
    is_ending = may_end(code, node.function)
    kinds = _result_types(node.function, is_ending=is_ending)
    parts = [found] if len(kinds) == 1 else [
        code.b.extract_value(found, place) for place in range(len(kinds))
    ]  # fmt: skip
    if is_ending:
        _leave_if(code, parts.pop(0))
    for slot, part in zip(node.results, parts, strict=True):
        code.b.store(from_memory(code.b, slot.type, part), code.slot(slot))


def may_end(code: Any, function: Function) -> bool:
    """Whether a function may end the thread: in debug mode every one."""
    return bool(code.checks) or function.is_ending


def _leave_if(code: Any, ended: Any) -> None:
    """End this function, too, if the thread has ended."""
    leaves, goes_on = (code.function.append_basic_block(name) for name in ("leaves", "goes.on"))
    code.b.cbranch(code.b.icmp_unsigned("!=", ended, I8(0)), leaves, goes_on)
    code.b.position_at_end(leaves)
    code.leave()
    code.b.position_at_end(goes_on)


def _passed(code: Any, argument: Expression | ArrayValue) -> list[Any]:
    """Return the values that are passed for an argument."""
    if not isinstance(argument.type, ArrayType):
        return [to_memory(code.b, argument.type, code.value(argument))]
    array: Any = argument
    pointer, strides = layout(code, array)
    return [pointer, *lengths(code, array), *strides]


def _result_types(function: Function, *, is_ending: bool) -> list[Any]:
    """Return the types of what a function returns."""
    return [*[I8] * is_ending, *(memory_type(slot.type) for slot in function.results)]


def declare(code: Any, function: Function, surroundings: Sequence[Any]) -> tuple[Any, int]:
    """Return a new function of the module, and its number of parameters for arguments."""
    kinds: list[Any] = []
    for type_, space in zip(function.arguments, function.spaces, strict=True):
        if isinstance(type_, ArrayType):
            kinds += [code.pointer_to(space), *[I64] * (2 * type_.ndim)]
        else:
            kinds.append(memory_type(type_))
    parts = _result_types(function, is_ending=may_end(code, function))
    result = parts[0] if len(parts) == 1 else ir.LiteralStructType(parts)
    result = result if parts else ir.VoidType()
    name = code.module.get_unique_name("function_" + re.sub(r"[^0-9A-Za-z_]", "_", function.name))
    found = ir.Function(code.module, ir.FunctionType(result, [*kinds, *surroundings]), name)
    found.linkage = "internal"
    found.attributes.add("nounwind")
    if function.inline != "auto":
        found.attributes.add({"always": "alwaysinline", "never": "noinline"}[function.inline])
    return found, len(kinds)


def return_from(code: Any, function: Function, *, has_ended: bool) -> None:
    """Return the results; or only that the thread has ended."""
    is_ending = may_end(code, function)
    values = [I8(int(has_ended))] * is_ending
    for slot in function.results:
        values.append(_result(code, slot, has_ended=has_ended))
    if not values:
        code.b.ret_void()
    elif len(values) == 1:
        code.b.ret(values[0])
    else:
        found = ir.Constant(code.function.function_type.return_type, ir.Undefined)
        for place, value in enumerate(values):
            found = code.b.insert_value(found, value, place)
        code.b.ret(found)


def _result(code: Any, slot: Slot, *, has_ended: bool) -> Any:
    """Return a result as it is in memory."""
    kind = memory_type(slot.type)
    if has_ended:
        return ir.Constant(kind, None)
    value = code.b.load(code.slot(slot), typ=value_type(slot.type))
    return to_memory(code.b, slot.type, value)
