"""The error for a function that is not a valid kernel: line, caret, rule and fix."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NoReturn

from interchange._types.errors import InterchangeError

if TYPE_CHECKING:
    import ast

    from .source import Source


class KernelError(InterchangeError, TypeError):
    """A function is not a valid kernel.

    Attributes
    ----------
    line : int
        Number of the line, in the file that contains the function.
    thread, block : tuple of int
        The thread that reported the error, and its block, in debug mode; empty for an error of the
        compiler.
    exception : str
        Name of the class, if the kernel raised an exception.
    """

    line: int = 0
    thread: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    exception: str = ""


class KernelWarning(UserWarning):
    """A kernel is valid, and probably does not do what was meant."""


def refuse(
    source: Source, node: ast.AST, what: str, rule: str, hint: str | None = None
) -> NoReturn:
    """Raise the error at a node of the function's syntax tree."""
    raise error_at(source, node, what, rule, hint) from None


def error_at(
    source: Source, node: ast.AST, what: str, rule: str, hint: str | None = None
) -> KernelError:
    """Return the error at a node of the function's syntax tree."""
    first = getattr(node, "lineno", 1)
    is_one_line = getattr(node, "end_lineno", first) == first
    text = source.line(first)
    in_bytes = text.encode()
    column = len(in_bytes[: getattr(node, "col_offset", 0)].decode())
    end = len(in_bytes[: getattr(node, "end_col_offset", None) if is_one_line else None].decode())
    width = max(1, (end if end > column else len(text)) - column)
    line = source.first_line + first - 1
    marked = f"{text}\n{' ' * column}{'^' * width}"
    call = f"{source.file}:{line}, in {source.name}()\n{marked}\n{source.name}()"
    error = KernelError(call, what, rule, hint)
    error.line = line
    return error


def warn_at(source: Source, node: ast.AST, what: str, hint: str) -> None:
    """Warn of a line of a kernel, once."""
    line = source.first_line + getattr(node, "lineno", 1) - 1
    if line not in source.warned:
        source.warned.add(line)
        text = f"in {source.name}(): {what}; {hint}"
        warnings.warn_explicit(text, KernelWarning, source.file, line, "interchange.cuda")
