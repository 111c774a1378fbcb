"""What kernels report in debug mode: `assert`, `raise`, and the position of the thread.

Source: Numba for CUDA, "Debugging CUDA Python" (exceptions are reported with ``debug=True``).
Without debug mode, `assert` is not compiled, and `raise` ends the thread.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

from . import ir
from .context import Object
from .errors import error_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .errors import KernelError
    from .expressions import Expressions

WORDS: Final = 32
"""Size of a report [int32]: the place, the thread, its block, and what races add."""
EXCEPTION: Final = "CPY-RAISE-1"
_ASSERTED: Final = "is assigned in an assertion, which is compiled in debug mode only"


def read_assert(reader: Expressions, node: ast.Assert) -> None:
    """Convert ``assert``, whose test is computed in debug mode only, with names of its own."""
    tests: list[ir.Expression] = []
    before = dict(reader.names)
    set_ = {each.target.id for each in ast.walk(node.test) if isinstance(each, ast.NamedExpr)}

    def read() -> None:
        for name in sorted(set_):
            if isinstance(slot := before.get(name), ir.Slot):
                reader.names[name] = reader.put(ir.Read(slot), name).slot
        tests.append(reader.truth(node.test))

    body = reader.nested(read)
    reader.lost.update(dict.fromkeys(reader.names.keys() - before.keys(), _ASSERTED))
    reader.names = before
    text = "" if node.msg is None else _text(reader, node.msg)
    reader.out.append(ir.Assert(body, tests[0], _place(reader, node, "AssertionError", text)))


def read_raise(reader: Expressions, node: ast.Raise) -> bool:
    """Convert ``raise``, of an exception class or of a call of one with constants."""
    given: ast.expr | None = node.exc
    arguments: list[ast.expr] = []
    if isinstance(given, ast.Call) and not given.keywords:
        arguments, given = given.args, given.func
    raised = reader.value(given) if isinstance(given, (ast.Name, ast.Attribute)) else None
    kind = raised.value if isinstance(raised, Object) else None
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        reader.refuse(node, "raise of something else than a class of exceptions", EXCEPTION)
    text = ", ".join(_text(reader, each) for each in arguments)
    reader.out.append(ir.Raise(_place(reader, node, kind.__name__, text)))
    return False


def _place(reader: Expressions, node: ast.stmt, name: str, text: str) -> int:
    """Return the place of an exception."""
    what = f"{name}: {text}" if text else name
    return reader.place(node, what, EXCEPTION, _HINTS[type(node)], name)


_HINTS: Final[dict[type[Any], str]] = {
    ast.Assert: "let the condition hold for each thread",
    ast.Raise: "pass arguments with which no thread reaches this line",
}


def _text(reader: Expressions, node: ast.expr) -> str:
    """Return the text of an argument of an exception, which must be constant."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    found = reader.value(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
    if not isinstance(found, Object) or not isinstance(found.value, (str, int, float)):
        reader.refuse(node, "the text of an exception is computed", EXCEPTION)
    return str(found.value)


def reported_error(program: ir.Program, words: Sequence[int]) -> KernelError:
    """Return the error that a thread reported."""
    place = program.places[words[0] - 1]
    thread, block = tuple(words[1:4]), tuple(words[4:7])
    what = f"{place.what}, in thread {thread} of block {block} of kernel {program.name}"
    error = error_at(place.source, place.node, what, place.rule, place.hint)
    error.thread, error.block, error.exception = thread, block, place.exception
    return error
