"""The source text of a function: found in a file, and compared with its code object.

Source: CPython, `inspect` and `linecache`; the Python Language Reference, "Code objects".  The file
may have been edited since it was imported, and now contain another function.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import sys
import tokenize
import warnings
from types import CodeType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Lines = list[str]
_NO_NAME: Final = "<string>"  # of the text of -c, and of exec()
_UNREADABLE: Final = (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError)
_PYTEST: Final = "@pytest_ar"  # a name in functions whose assertions pytest compiled
_MOST_TEXTS: Final = 8  # size of the cache


class Definition(NamedTuple):
    """A function definition."""

    tree: ast.FunctionDef  # its lines are counted from 1 at the first of the definition
    lines: Lines  # the lines of the definition
    first_line: int  # the offset of its first line


def texts_of(function: Callable[..., Any]) -> Iterator[Lines]:
    """Return the lines of texts that may contain a function: usually those of its file."""
    code = function.__code__
    try:
        yield inspect.findsource(function)[0]
    except (OSError, TypeError):  # no text, or fewer lines than before
        found = linecache.getlines(code.co_filename, function.__globals__)
        if found:
            yield found
    if code.co_filename == _NO_NAME:  # from CPython 3.13 on linecache has the text of -c itself
        for each in sys.orig_argv:
            yield each.removeprefix("-c").splitlines(keepends=True)


def find_definition(lines: Lines, function: Callable[..., Any]) -> Definition | None:
    """Return the definition of a function in a text, at its line or another; None without one."""
    code = function.__code__
    wanted = _shape(code)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python set those of the text when it compiled it
        try:
            named = [each for each in _codes_in("".join(lines)) if each.co_name == code.co_name]
            same = [each for each in named if _shape(each) == wanted]
            if not same and _PYTEST in code.co_names:
                same = [each for each in named if _head(each) == _head(code)]
            if not same:
                return None
            found = min(same, key=lambda each: abs(each.co_firstlineno - code.co_firstlineno))
            first = found.co_firstlineno
            block = inspect.getblock(lines[first - 1 :])
            tree = _parsed("".join(block))
        except _UNREADABLE:
            return None
    return Definition(tree, block, first) if isinstance(tree, ast.FunctionDef) else None


def _parsed(text: str) -> ast.AST:
    """Return the tree of a definition.

    The text is not dedented: lines of a string or of comments may start in column 0.
    """
    if not text[:1].isspace():
        return ast.parse(text).body[0]
    (around,) = ast.parse("if 1:\n" + text).body
    found: ast.AST = ast.increment_lineno(around.body[0], -1)  # type: ignore[attr-defined] # an if
    return found


@functools.lru_cache(_MOST_TEXTS)
def _codes_in(text: str) -> tuple[CodeType, ...]:
    """Return the code objects of all functions of a text, including nested ones."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    return tuple(_nested(compile(text, "<kernels>", "exec", flags, dont_inherit=True)))


def _nested(code: CodeType) -> Iterator[CodeType]:
    """Return the code objects of all functions within a code object."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _nested(each)


def _head(code: CodeType) -> tuple[Any, ...]:
    """Return a key that is equal for a function and what pytest made of its assertions."""
    return code.co_firstlineno, code.co_varnames[: code.co_argcount], code.co_freevars


def _shape(code: CodeType) -> tuple[Any, ...]:
    """Return a key that is equal for code objects that do the same at any position."""
    constants = [_shape(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return (
        code.co_name, code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars,
        code.co_cellvars, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount,
    )  # fmt: skip
