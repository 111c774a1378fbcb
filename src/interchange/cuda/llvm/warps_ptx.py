"""Functions of warps on a GPU.

Source: LLVM, "User Guide for NVPTX Back-end" and IntrinsicsNVVM.td; PTX ISA, "shfl.sync",
"vote.sync", "match.sync", "bar.warp.sync" and "activemask".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from llvmlite import ir

from . import debugging
from .registers import I1, I32, I64

if TYPE_CHECKING:
    from interchange.cuda.ir import BarrierVote, WarpCall

_NVVM: Final = "llvm.nvvm."
_SHUFFLES: Final = {"shfl": "idx", "shfl_up": "up", "shfl_down": "down", "shfl_xor": "bfly"}
_VOTES: Final = {"ballot": "ballot", "all": "all", "any": "any", "eq": "uni"}
_REDUCED: Final = {"count": "popc", "and": "and", "or": "or"}


def as_bits(b: Any, value: Any) -> Any:
    """Return the bits of a number as an int of 32 or 64 bits."""
    if not isinstance(value.type, ir.IntType):
        size = {"half": 16, "bfloat": 16, "float": 32, "double": 64}[str(value.type)]
        value = b.bitcast(value, ir.IntType(size))
    return value if value.type.width >= I32.width else b.zext(value, I32)


def from_bits(b: Any, bits: Any, kind: Any) -> Any:
    """Return the number of bits that were made by `as_bits`."""
    if isinstance(kind, ir.IntType):
        return bits if kind.width == bits.type.width else b.trunc(bits, kind)
    size = {"half": 16, "bfloat": 16, "float": 32, "double": 64}[str(kind)]
    narrow = bits if size == bits.type.width else b.trunc(bits, ir.IntType(size))
    return b.bitcast(narrow, kind)


def call(code: Any, node: WarpCall) -> list[Any]:
    """Return the results of a call."""
    mask = code.value(node.mask)
    values = [code.value(argument) for argument in node.arguments]
    if code.checks and node.operation != "activemask":
        _check(code, node, mask)
    if node.operation == "activemask":
        return [code.call(f"{_NVVM}activemask", I32, [])]
    if node.operation == "syncwarp":
        code.call(f"{_NVVM}bar.warp.sync", ir.VoidType(), [mask])
        return []
    if node.operation in _VOTES:
        kind = I32 if node.operation == "ballot" else I1
        return [code.call(f"{_NVVM}vote.{_VOTES[node.operation]}.sync", kind, [mask, *values])]
    if node.operation in _SHUFFLES:
        return [_shuffle(code, node, mask, *values)]
    return _match(code, node, mask, values[0])


def _check(code: Any, node: WarpCall, mask: Any) -> None:
    """In debug mode, end the thread if its mask leaves it out, or names absent lanes."""
    own = code.b.shl(I32(1), code.lane())
    is_named = code.b.icmp_unsigned("!=", code.b.and_(mask, own), I32(0))
    debugging.require(code, is_named, node.places[0])
    if node.operation != "syncwarp":
        present = code.call(f"{_NVVM}vote.ballot.sync", I32, [mask, I1(1)])
        debugging.require(code, code.b.icmp_unsigned("==", mask, present), node.places[1])


def _shuffle(code: Any, node: WarpCall, mask: Any, value: Any, lane: Any) -> Any:
    """Return a number of another lane, in parts of 32 bits."""
    b, name = code.b, f"{_NVVM}shfl.sync.{_SHUFFLES[node.operation]}.i32"
    last = 0 if node.operation == "shfl_up" else 31
    control = I32((32 - node.width) << 8 | last)
    bits = as_bits(b, value)

    def exchanged(part: Any) -> Any:
        return code.call(name, I32, [mask, part, lane, control])

    if bits.type.width == I32.width:
        return from_bits(b, exchanged(bits), value.type)
    low, high = b.trunc(bits, I32), b.trunc(b.lshr(bits, I64(32)), I32)
    low, high = (b.zext(exchanged(part), I64) for part in (low, high))
    return from_bits(b, b.or_(b.shl(high, I64(32)), low), value.type)


def _match(code: Any, node: WarpCall, mask: Any, value: Any) -> list[Any]:
    """Return which lanes have the same value."""
    bits = as_bits(code.b, value)
    if node.operation == "match_any":
        return [code.call(f"{_NVVM}match.any.sync.{bits.type}", I32, [mask, bits])]
    pair = ir.LiteralStructType([I32, I1])
    found = code.call(f"{_NVVM}match.all.sync.{bits.type}p", pair, [mask, bits])
    return [code.b.extract_value(found, part) for part in (0, 1)]


def vote(code: Any, node: BarrierVote) -> Any:
    """Return the result of a barrier that counts."""
    operation = _REDUCED[node.operation]
    kind = I32 if operation == "popc" else I1
    name = f"{_NVVM}barrier.cta.red.{operation}.aligned.all"
    found = code.call(name, kind, [I32(0), code.value(node.predicate)])
    return found if kind is I32 else code.b.zext(found, I32)
