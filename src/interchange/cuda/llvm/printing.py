"""`print` in kernels: a list of lines on the CPU, and ``vprintf`` on a GPU.

Source: CUDA C++ Programming Guide, "Formatted Output"; PTX Interoperability, "System Calls"
(vprintf).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from llvmlite import ir

from interchange.cuda.printed import format_of

from .registers import I8, I32, I64, POINTER

if TYPE_CHECKING:
    from interchange.cuda.ir import Print

PRINTED: Final = "printed"
"""Name of the address of the list of lines."""
_HEAD: Final = 2  # words before the numbers of a line: the next line, and the number of its format


def write_print(code: Any, node: Print) -> None:
    """Print a line."""
    values = [code.value(each) for each in node.parts if not isinstance(each, str)]
    code.print_line(node, values)


def print_on_host(code: Any, node: Print, values: list[Any]) -> None:
    """Add a line to the list."""
    b = code.b
    size = I64(8 * (_HEAD + len(values)))
    line = b.call(code.declared("malloc", POINTER, [I64]), [size])
    is_there = b.icmp_unsigned("!=", b.ptrtoint(line, I64), I64(0))
    with b.if_then(is_there):
        b.store(I64(node.line), b.gep(line, [I32(1)], source_etype=I64))
        for place, value in enumerate(values, _HEAD):
            wide = b.zext(value, I64) if value.type.intrinsic_name == "i1" else value
            b.store(wide, b.gep(line, [I32(place)], source_etype=I64))
        b.call(_push(code.module), [code.outside(PRINTED), line])


def _push(module: ir.Module) -> Any:
    """Return the function that adds a line to a list, which several threads may do."""
    found = module.globals.get("print.push")
    if found is not None:
        return found
    found = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER, POINTER]), "print.push")
    found.linkage = "internal"
    found.attributes.add("noinline")
    b = ir.IRBuilder(found.append_basic_block())
    head, line = found.args
    new, first = b.ptrtoint(line, I64), b.load(head, typ=I64)
    before = b.block
    again, done = (found.append_basic_block(name) for name in ("again", "done"))
    b.branch(again)
    b.position_at_end(again)
    old = b.phi(I64)
    old.add_incoming(first, before)
    b.store(old, line)
    swapped = b.cmpxchg(head, old, new, "acq_rel", "monotonic")
    old.add_incoming(b.extract_value(swapped, 0), again)
    b.cbranch(b.extract_value(swapped, 1), done, again)
    b.position_at_end(done)
    b.ret_void()
    return found


def write_take(module: ir.Module) -> None:
    """Generate the function that takes the list away from its address."""
    function = ir.Function(module, ir.FunctionType(I64, [POINTER]), "take_printed")
    b = ir.IRBuilder(function.append_basic_block())
    b.ret(b.atomic_rmw("xchg", function.args[0], I64(0), "acquire"))


def print_on_device(code: Any, node: Print, values: list[Any]) -> None:
    """Call ``vprintf`` with a format, and the numbers as words of 8 bytes."""
    b = code.b
    words = ir.ArrayType(I64, max(1, len(values)))
    memory = code.slots.alloca(words, name="printed")
    memory.align, memory.type = 8, POINTER
    for place, value in enumerate(values):
        is_bool = value.type.intrinsic_name == "i1"
        texts = [_text(code, word) for word in ("True", "False") if is_bool]
        word = b.select(value, *texts) if is_bool else value
        b.store(word, b.gep(memory, [I32(place)], source_etype=I64))
    line = tuple(each if isinstance(each, str) else each.type for each in node.parts)
    code.call("vprintf", I32, [_text(code, format_of(line)), memory])


def _text(code: Any, text: str) -> Any:
    """Return the generic address of a constant text."""
    data = bytearray(text.encode() + b"\0")
    kind = ir.ArrayType(I8, len(data))
    known = code.texts.get(text)
    if known is None:
        known = ir.GlobalVariable(code.module, kind, f"text.{len(code.texts)}", addrspace=1)
        known.linkage, known.global_constant = "internal", True
        known.initializer = ir.Constant(kind, data)
        known.type = ir.PointerType(addrspace=1)
        code.texts[text] = known
    return code.b.addrspacecast(known, POINTER)
