"""Calls of `print` in kernels, with numbers and literal texts.

Source: Numba for CUDA, "Supported Python features" (print): up to 32 arguments; texts are constant.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from . import choices, ir
from .context import Object, Values
from .types import BY_NAME, bool_

if TYPE_CHECKING:
    from .expressions import Expressions

MOST: Final = 32
"""Arguments of print()."""
_RULE: Final = "CPY-PRINT-1"
_WIDE: Final = {kind: BY_NAME[f"{kind}64"] for kind in ("int", "uint", "float")}


def read_print(reader: Expressions, node: ast.Call) -> Values:
    """Convert a call of print()."""
    texts = [_text(reader, each) for each in node.args]
    rest = [each for each, text in zip(node.args, texts, strict=True) if text is None]
    numbers = iter(
        [_printed(reader, *pair) for pair in zip(rest, reader.numbers(rest), strict=True)]
    )
    parts = tuple(next(numbers) if text is None else text for text in texts)
    if len(parts) > MOST:
        reader.refuse(node, f"print() of {len(parts)} arguments", _RULE)
    line = tuple(each if isinstance(each, str) else each.type for each in parts)
    reader.program.lines.append(line)
    reader.out.append(ir.Print(parts, len(reader.program.lines) - 1))
    return Values(())


def _text(reader: Expressions, node: ast.expr) -> str | None:
    """Return a text, None for anything else."""
    if isinstance(node, ast.Constant):
        found = node.value
    else:
        known = reader.value(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        found = known.value if isinstance(known, Object) else None
        if choices.is_array(known) or isinstance(known, Values):
            kind = "an array" if choices.is_array(known) else "a tuple"
            reader.refuse(node, f"print() of {kind}", _RULE)
    if not isinstance(found, str):
        if isinstance(node, ast.JoinedStr):
            reader.refuse(node, "print() of a text that is computed", _RULE)
        return None
    if "\0" in found:
        reader.refuse(node, "print() of a text with NUL", _RULE)
    return found


def _printed(reader: Expressions, node: ast.expr, number: ir.Expression) -> ir.Expression:
    """Return a number as it is printed: 64 bits wide, or a bool."""
    if number.type.kind == "complex":
        reader.refuse(node, "print() of a complex number", _RULE, "print .real and .imag")
    return reader.cast(number, bool_ if number.type is bool_ else _WIDE[number.type.kind])
