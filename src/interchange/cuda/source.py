"""The source of a kernel function: its syntax tree, its lines, and the meaning of its names.

Source: the Python Language Reference, "Naming and binding", "Private name mangling".
"""

from __future__ import annotations

import builtins
import functools
import inspect
from itertools import chain
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from interchange._types.errors import ArgumentError, show

from .definition import find_definition, texts_of

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from .definition import Definition

MISSING = object()
_WHERE_TEXT_IS: Final = (
    "define it in a file, in a notebook or in the shell of CPython 3.13; text for exec() is found"
    " in linecache.cache, under the name that compile() is given"
)
_sources: Final[WeakValueDictionary[int, Source]] = WeakValueDictionary()
"""Sources in use, by the id of the function, which they keep alive."""


class Source:
    """The source of a function; the text of a file is kept for the functions that it calls."""

    function: Callable[..., Any]  # the function itself
    code: Any  # its code object when it was read
    name: str
    tree: ast.FunctionDef  # its definition
    lines: list[str]  # the text of the definition
    first_line: int  # where its text begins in `file`
    text: list[str]  # the lines of that file

    def __init__(self, function: Callable[..., Any], caller: Source | None = None) -> None:
        code = getattr(function, "__code__", None)
        if code is None:
            raise ArgumentError("cuda.jit()", f"{show(function)} is not a function", "CPY-NPM-4")
        self.warned: set[int] = set()
        self.function, self.name, self.code = function, function.__name__, code
        self.file: Any = code.co_filename
        self._known: dict[int, Source] = {} if caller is None else caller._known
        if code.co_name == "<lambda>" or inspect.iscoroutinefunction(function):
            what = f"{self.name} is not defined with def"
            raise ArgumentError("cuda.jit()", what, "CPY-NPM-4")
        self.tree, self.lines, self.first_line = self._find_definition()
        self._known[id(function)] = _sources[id(function)] = self

    def _find_definition(self) -> Definition:
        """Return the source of the code, and keep the text of its file."""
        kept = [known.text for known in self._known.values() if known.file == self.file]
        text: list[str] = []
        for text in chain(kept, texts_of(self.function)):
            found = find_definition(text, self.function)
            if found is not None:
                self.text = text
                return found
        where = f"{self.name}(), line {self.code.co_firstlineno} of {self.file},"
        if text and not self.file.startswith("<"):
            raise ArgumentError("cuda.jit()", f"{where} is not in that file now", "CPY-NPM-5")
        raise ArgumentError("cuda.jit()", f"{where} has no text", "CPY-NPM-4", _WHERE_TEXT_IS)

    def callee(self, function: Callable[..., Any]) -> Source:
        """Return the source of a function that is called, read once for a kernel."""
        found = _sources.get(id(function))
        if found is None or found.code is not getattr(function, "__code__", None):
            return Source(function, self)
        self._known[id(function)] = found
        return found

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        """The parameters and their defaults."""
        return inspect.signature(self.function, follow_wrapped=False)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(self.code.co_varnames[: self.code.co_argcount])

    def line(self, number: int) -> str:
        """Return a line, counted from 1 at the first of the definition."""
        found = self.lines[number - 1] if 0 < number <= len(self.lines) else ""
        return found.rstrip("\r\n")

    def meaning(self, name: str) -> Any:
        """Return the meaning of a name outside the function, `MISSING` for none."""
        function, name = self.function, self._compiled_name(name)
        for free, cell in zip(self.code.co_freevars, function.__closure__ or (), strict=True):
            if free == name:
                try:
                    return cell.cell_contents
                except ValueError:
                    return MISSING
        found = function.__globals__.get(name, MISSING)
        return getattr(builtins, name, MISSING) if found is MISSING else found

    def _compiled_name(self, name: str) -> str:
        """Return a name as in the code object: with the name of the class if it is private."""
        known = {*self.code.co_names, *self.code.co_freevars}
        if not name.startswith("__") or name.endswith("__") or name in known:
            return name
        private = (each for each in known if each[0] == "_" and each.endswith(name))
        return min(private, key=len, default=name)
