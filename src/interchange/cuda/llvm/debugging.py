"""Reports of threads in debug mode: the first one is kept, with the thread and its block.

Source: PTX ISA, ``atom.cas``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir

from .registers import I32

if TYPE_CHECKING:
    from interchange.cuda.ir import Assert, Raise


def write_raise(code: Any, node: Raise) -> None:
    """End the thread, and report why in debug mode."""
    if code.checks:
        code.fail(node.place)
    else:
        code.leave()


def write_assert(code: Any, node: Assert) -> None:
    """Report a test that is false, in debug mode."""
    if not code.checks:
        return
    code.statements(node.body)
    require(code, code.value(node.test), node.place)


def require(code: Any, test: Any, place: int) -> None:
    """End the thread, and report a place, where a value of LLVM is false."""
    holds, fails = (code.function.append_basic_block(name) for name in ("holds", "fails"))
    code.b.cbranch(test, holds, fails)
    code.b.position_at_end(fails)
    code.fail(place)
    code.b.position_at_end(holds)


def fail(code: Any, words: Any, place: int) -> None:
    """End the thread, and report a place, by code that all places of a function share."""
    known = code.failing.get(code.function)
    if known is None:
        block = code.function.append_basic_block("failing")
        kept, code.b = code.b, ir.IRBuilder(block)
        known = code.failing[code.function] = block, code.b.phi(I32)
        report(code, words, known[1])
        code.leave()
        code.b = kept
    block, number = known
    number.add_incoming(I32(place), code.b.block)
    code.b.branch(block)


def report(code: Any, words: Any, place: Any, more: dict[int, Any] | None = None) -> None:
    """Report a place, a value of LLVM, and this thread, unless another thread has reported.

    `more` are further words.
    """
    b = code.b
    swapped = b.cmpxchg(words, I32(0), place, "monotonic", "monotonic")
    first, done = (code.function.append_basic_block(name) for name in ("report", "reported"))
    b.cbranch(b.extract_value(swapped, 1), first, done)
    b.position_at_end(first)
    names = ("threadIdx", "blockIdx")
    numbers = [code.special(name, axis) for name in names for axis in range(3)]
    for number, value in {**dict(enumerate(numbers, 1)), **(more or {})}.items():
        b.store(value, b.gep(words, [I32(number)], source_etype=I32))
    b.branch(done)
    b.position_at_end(done)
