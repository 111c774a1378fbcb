"""Workarounds in PTX for errors of NVIDIA's assembler.

Source: PTX ISA, integer arithmetic instructions; ptxas 13.0, whose code for sm_80, sm_90 and sm_100
was disassembled, and run on an H100.
"""

from __future__ import annotations

import re
from typing import Final

_NARROW: Final = re.compile(
    r"\t(?P<name>min|max|neg|abs|sub)\.(?P<sign>[su])16 \t(?P<target>%rs\d+), "
    r"(?P<first>%rs\d+|-?\d+)(?:, (?P<second>%rs\d+|-?\d+))?;"
)


def widen(text: str) -> str:
    """Return PTX that computes in 32 bits the operations that ptxas 13.0 gets wrong in 16.

    - ``min`` and ``max``: from sm_90 on, they are merged with a comparison of the result into one
      instruction.  It compares the upper 16 bits of the registers, too, and its result depends on
      them.
    - ``neg`` and ``abs``: the result for the lowest number is that number, and is treated as 32768
      if it is compared or extended.
    """
    return _NARROW.sub(_widened, text)


def _widened(found: re.Match[str]) -> str:
    """Return the same in 32 bits; a difference only if it is one from 0."""
    name, sign, target = found["name"], found["sign"], found["target"]
    operands = [found["first"], *filter(None, [found["second"]])]
    if name == "sub" and operands[0] != "0":
        return found[0]
    lines = (
        "{ .reg .b32 wide0, wide1;",
        *(_into(f"wide{k}", sign, operand) for k, operand in enumerate(operands)),
        f"{name}.{sign}32 wide0, {', '.join(f'wide{k}' for k in range(len(operands)))};",
        f"cvt.u16.u32 {target}, wide0; }}",
    )
    return "\t" + " ".join(lines)


def _into(register: str, sign: str, operand: str) -> str:
    """Return code that extends a register or a number of 16 bits to a register of 32 bits."""
    if operand.startswith("%"):
        return f"cvt.{sign}32.{sign}16 {register}, {operand};"
    number = int(operand) & 0xFFFF
    if sign == "s":
        number -= (number & 0x8000) << 1
    return f"mov.b32 {register}, {number};"
