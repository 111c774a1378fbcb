"""The table of errors by cause, executed: each cause is run, and so is its fix.

Source: `interchange`; the causes are in docs/examples/errors.  Needs neither Sphinx nor docutils.

Code in a fix is between backticks.  It is executed by one of these rules: a keyword, such as
``copy=True``, is added to the call that failed, and after "omit" removed from it; an expression
after "pass", "copy", "move", "fill" or "give" replaces `x` in that call, and any other replaces the
call.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import tables

import interchange
from interchange import compat, xp

if TYPE_CHECKING:
    from types import ModuleType

CASES: Final = tables.DOCS / "examples" / "errors" / "cases.py"
CODE: Final = re.compile(r"`([^`]+)`")
_KEYWORD: Final = re.compile(r"([a-z_]+)=([^=].*)")
_STATEMENT: Final = re.compile(r"(\w+) = ")
NAME: Final = re.compile(r"(?!x\.)[a-zA-Z_]\w*(?:\.[a-zA-Z_]\w*)*")
_ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")
_SHOWN: Final = 3  # lines of a program that makes `x`, at most
_COMMAND: Final = "python -m "
_PASSING: Final = frozenset({"pass", "copy", "move", "fill", "give"})
_OMITTING: Final = "omit"
_OTHERS: Final = (
    _OMITTING,
    "use",
    "take",
    "ask",
    "index",
    "write",
    "have",
    "make",
    "read",
    "name",
    "look",
)
_VERBS: Final = re.compile(rf"\b({'|'.join([*sorted(_PASSING), *_OTHERS])})\b")


class Advice(NamedTuple):
    """One piece of code in a fix."""

    code: str
    is_passed: bool
    is_omitted: bool = False


def load() -> ModuleType:
    """Return the module of the causes."""
    name = "interchange_error_cases"
    spec = importlib.util.spec_from_file_location(name, CASES)
    if spec is None or spec.loader is None:
        raise ImportError(str(CASES))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def missing(case: Any) -> list[str]:
    """Return the libraries that a case needs and that are not installed."""
    nodes = [*ast.walk(ast.parse(case.make))]
    names = [one.name for node in nodes if isinstance(node, ast.Import) for one in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    tops = (name.partition(".")[0] for name in names)
    return [name for name in tops if importlib.util.find_spec(name) is None]


def prepared(case: Any) -> dict[str, Any]:
    """Return the names of a case, made afresh."""
    names = {name: getattr(interchange, name) for name in interchange.__all__}
    names["interchange"] = interchange
    space: dict[str, Any] = {**names, "ix": interchange, "xp": xp, "np": np, "compat": compat}
    _run(case.make, space)
    return space


def _run(code: str, space: dict[str, Any]) -> None:
    """Execute code of a case, or of a fix."""
    exec(code, space)  # noqa: S102 - both are ours


def meet(case: Any) -> interchange.InterchangeError:
    """Return the error of a case.

    Raises
    ------
    ValueError
        It has none.
    """
    try:
        _run(case.call, prepared(case))
    except interchange.InterchangeError as error:
        return error
    finally:
        interchange.set_backend("cpu", None)  # which a case may have chosen
    raise ValueError(f"{case.cause}: {case.call} raises nothing")


def advice_of(hint: str) -> list[Advice]:
    """Return the code in a fix, and of each whether it is to be passed."""
    found = []
    for match in CODE.finditer(hint):
        if match[1].startswith(_COMMAND):
            continue
        verbs = _VERBS.findall(CODE.sub("", hint[: match.start()]))
        passes = not _PASSING.isdisjoint(verbs[-1:]) and not NAME.fullmatch(match[1])
        found.append(Advice(match[1], passes, verbs[-1:] == [_OMITTING]))
    return found


def follow(case: Any, advice: Advice) -> None:
    """Apply a fix to the statement that failed; its errors are raised."""
    try:
        space = prepared(case)
        if advice.is_omitted:
            _run(_with_keyword(case.call, advice.code.partition("=")[0]), space)
            return
        keyword = _KEYWORD.fullmatch(advice.code)
        if keyword is not None:
            _run(_with_keyword(case.call, keyword[1], keyword[2]), space)
            return
        statement = _STATEMENT.match(advice.code)
        if statement is not None:
            name = statement[1]  # the name of the array in the error
            again = {**space, name: space["x"]}
            _run(advice.code, again)
            _run(case.call, {**again, "x": again[name]})
            return
        if advice.code.startswith("error."):
            space["error"] = _refusal(case, space)
        found = eval(advice.code, space)  # noqa: S307 - a fix of ours
        if advice.is_passed:
            _run(case.call, {**space, "x": found})
    finally:
        interchange.set_backend("cpu", None)


def _refusal(case: Any, space: dict[str, Any]) -> interchange.InterchangeError | None:
    """Return the error of a case under the name that its fix has for it."""
    try:
        _run(case.call, space)
    except interchange.InterchangeError as error:
        return error
    return None


def _with_keyword(call: str, name: str, value: str = "") -> str:
    """Return a statement with a keyword of its call set, or without it if there is no value."""
    tree = ast.parse(call)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [node for node in calls if any(one.arg == name for one in node.keywords)]
    target = (named or calls)[0]
    target.keywords = [one for one in target.keywords if one.arg != name]
    if value:
        target.keywords.append(ast.keyword(name, ast.parse(value, mode="eval").body))
    return ast.unparse(ast.fix_missing_locations(tree))


def causes(*words: str) -> str:
    """Return the table of one group: cause and program, error and fix, from a run of the cases.

    A program that needs a library which is not installed is left out, and the page says so.
    """
    cases = load().GROUPS[" ".join(words)]
    absent = sorted({name for case in cases for name in missing(case)})
    rows = [_row(case) for case in cases if not missing(case)]
    parts = [tables.table(("Cause and program", "Error and fix"), rows)] if rows else []
    if absent:
        parts.append(f"Left out here, where this page was built without: {', '.join(absent)}.")
    return "\n\n".join(parts)


def _row(case: Any) -> tuple[str, str]:
    """Return one row: the program, and its output."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of prototypes among the tensors
        error = meet(case)
    lines = [line for line in case.make.splitlines() if not line.startswith(("import", "from"))]
    shown = lines if len(lines) <= _SHOWN else lines[-1:]
    program = "<br>".join([tables.sentence(case.cause), *map(tables.code, [*shown, case.call])])
    what = _ADDRESS.sub("", error.what)
    said = f"{tables.code(type(error).__name__)}: {tables.sentence(what)} ({error.rule})"
    return program, f"{said}<br>Fix: {tables.sentence(error.hint)}"
