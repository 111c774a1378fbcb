"""PTX written so that NVIDIA's assembler translates it right.

Source: PTX ISA, ``min`` and ``max``; ptxas 13.0, its code for sm_90 and sm_100 disassembled, and
run on an H100.
"""

from __future__ import annotations

import re
from typing import Final

_NARROW: Final = re.compile(r"\t(min|max)\.([su])16 \t(%rs\d+), (%rs\d+), (%rs\d+|-?\d+);")


def widen_extremes(text: str) -> str:
    """Return PTX whose smaller or larger of two numbers of 16 bits is found in 32 bits.

    From sm_90 on, ptxas 13.0 makes one instruction of it and of a comparison with the result.  That
    looks at the upper 16 bits of the registers, too, and tells of these.
    """
    return _NARROW.sub(_widened, text)


def _widened(found: re.Match[str]) -> str:
    """Return the same in 32 bits."""
    name, sign, target, *operands = found.groups()
    into = [_into(f"wide{k}", sign, operand) for k, operand in enumerate(operands)]
    lines = (
        "{ .reg .b32 wide0, wide1;",
        *into,
        f"{name}.{sign}32 wide0, wide0, wide1;",
        f"cvt.u16.u32 {target}, wide0; }}",
    )
    return "\t" + " ".join(lines)


def _into(register: str, sign: str, operand: str) -> str:
    """Return what brings a register or a number of 16 bits into a register of 32 bits."""
    if operand.startswith("%"):
        return f"cvt.{sign}32.{sign}16 {register}, {operand};"
    number = int(operand) & 0xFFFF
    if sign == "s":
        number -= (number & 0x8000) << 1
    return f"mov.b32 {register}, {number};"
