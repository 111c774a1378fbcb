"""Atomic instructions and fences in the interpreter of PTX, whose threads run in turn.

Source: PTX ISA 8.8, "atom", "red", "membar" and "fence".
"""

from __future__ import annotations

import operator

import numpy as np

from .ptx_types import FLOATS, decoder, encoder

_SPACES = ("global", "shared")
_ACTS = {
    "add": operator.add, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "min": min, "max": max, "exch": lambda _, value: value,
    "inc": lambda old, value: 0 if old >= value else old + 1,
    "dec": lambda old, value: value if old == 0 or old > value else old - 1,
    "cas": lambda old, wanted, value: value if old == wanted else old,
}  # fmt: skip
_TYPES = {
    "add": "u32 s32 u64 f16 f32 f64", "and": "b32 b64", "or": "b32 b64", "xor": "b32 b64",
    "min": "u32 s32 u64 s64", "max": "u32 s32 u64 s64", "exch": "b32 b64", "inc": "u32",
    "dec": "u32", "cas": "b16 b32 b64",
}  # fmt: skip
"""Operation -> the types for which PTX has it."""


def atom(code, op, operands):
    """Return an atomic operation; `red` is one without a result."""
    name = op.one_of(_ACTS)
    op.allow(f"{name} noftz relaxed acquire release acq_rel cta gpu sys {' '.join(_SPACES)}")
    if f"{op.type.kind}{op.type.bits}" not in _TYPES[name].split():
        op.refuse()
    to = operands[0] if op.name == "atom" else None
    target, *sources = operands[to is not None :]
    space, size = op.one_of(_SPACES), op.type.bits // 8
    address, look = code._address(target), code.machine.look
    reads = [code.operand(text) for text in sources]
    decode, encode, act = decoder(op.type), encoder(op.type), _ACTS[name]
    if op.type == ("f", 32) and space != "shared":
        act = _flushed

    def step(frame):
        data = look(space, address(frame), size)
        bits = int.from_bytes(data, "little")
        new = encode(act(decode(bits), *(decode(get(frame)) for get in reads)))
        data[:] = (new & ((1 << op.type.bits) - 1)).to_bytes(size, "little")
        if to is not None and to != "_":
            frame.registers[to] = bits

    return step


def _flushed(a, b):
    """Return a sum of floats in global memory: subnormal operands and sums are 0."""
    tiny = np.finfo(FLOATS[32]).tiny
    zero = lambda x: np.copysign(FLOATS[32](0), x) if abs(x) < tiny else x  # noqa: E731
    return zero(zero(a) + zero(b))


def fence(_, op, operands):
    """Return nothing: threads run in turn."""
    op.allow("gl cta sys" if op.name == "membar" else "sc acq_rel cta gpu sys")
    if operands and operands != [""]:
        op.refuse()
    return lambda _: None


def nanosleep(_, op, operands):  # noqa: ARG001 - a decoder
    """Return nothing: threads run in turn."""
    op.allow("")
    return lambda _: None


MAKERS = {"nanosleep": nanosleep, "atom": atom, "red": atom, "membar": fence, "fence": fence}
"""Name of an instruction -> its decoder."""
