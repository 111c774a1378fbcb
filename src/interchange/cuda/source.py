"""The source of a function that is to be a kernel: its tree, its lines, and what its names mean.

Source: CPython, `inspect` and `ast`.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from typing import TYPE_CHECKING, Any

from interchange._types.errors import ArgumentError, show

if TYPE_CHECKING:
    from collections.abc import Callable

MISSING = object()


class Source:
    """A function, read.

    Attributes
    ----------
    function : callable
        The function itself.
    tree : ast.FunctionDef
        Its definition.
    file, first_line
        Where that begins.
    """

    function: Callable[..., Any]
    name: str
    tree: ast.FunctionDef
    first_line: int

    def __init__(self, function: Callable[..., Any]) -> None:
        code = getattr(function, "__code__", None)
        if code is None:
            raise ArgumentError("cuda.jit()", f"{show(function)} is no function", "CPY-NPM-4")
        self.function, self.name = function, function.__name__
        try:  # of the code: a function that wraps another is not what it wraps
            lines, first = inspect.getsourcelines(code)
        except (OSError, TypeError) as error:
            what = f"the source of {self.name}() cannot be read"
            raise ArgumentError("cuda.jit()", what, "CPY-NPM-4") from error
        self.file: Any = code.co_filename
        self.text: str = "".join(lines)
        self._lines = self.text.splitlines()
        found = _definition(self.text)
        if found is None:
            what = f"{self.name} is not defined with def"
            raise ArgumentError("cuda.jit()", what, "CPY-NPM-4")
        self.tree, self.first_line = found, max(first, 1)

    def line(self, number: int) -> str:
        """Return a line, counted from 1 at the first of the definition."""
        return self._lines[number - 1] if 0 < number <= len(self._lines) else ""

    def meaning(self, name: str) -> Any:
        """Return what a name means outside the function, `MISSING` for nothing."""
        function = self.function
        for free, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            if free == name:
                try:
                    return cell.cell_contents
                except ValueError:
                    return MISSING
        found = function.__globals__.get(name, MISSING)
        return getattr(builtins, name, MISSING) if found is MISSING else found


def _definition(text: str) -> ast.FunctionDef | None:
    """Return what a text defines; of a lambda, the text is a piece of a statement.

    The text is not dedented: lines of a string or of comments may begin at the left.
    """
    is_indented = text[:1].isspace()
    try:
        found = ast.parse("if 1:\n" + text if is_indented else text).body[0]
    except SyntaxError:
        return None
    if is_indented and isinstance(found, ast.If):
        found = ast.increment_lineno(found.body[0], -1)
    return found if isinstance(found, ast.FunctionDef) else None
