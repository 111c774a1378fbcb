"""``interchange inspect``: evaluates an expression, and reports what its value exports.

The expression is the user's own, typed on their own machine, and is run as Python.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import interchange
from interchange._types.errors import NoProtocolError
from interchange.abi import RULES

from . import forms, output
from .libraries import first_line
from .output import UsageError, printable

if TYPE_CHECKING:
    import argparse

_TARGET: Final = re.compile(
    r"(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):(?P<expression>.+)", re.DOTALL
)


def run(options: argparse.Namespace) -> int:
    """Report the contents of the value of an expression.

    `options`: ``target``: ``module:expression``, evaluated in the module, or an expression whose
        names are modules; ``json``: where JSON goes.

    Returns the exit code.

    Raises UsageError: the expression is missing, cannot be evaluated, or its value supports no
        protocol.
    """
    if options.target is None:
        words = "write an expression, such as 'numpy:zeros((2, 3))'"
        raise UsageError(f"{words}, before --json: what follows that is a file")
    file = output.json_file(options)
    with output.stdout_reserved(file):
        value = evaluate(options.target)
        try:
            report = interchange.inspect(value)
        except NoProtocolError as error:
            raise UsageError(str(error)) from error
    if file != output.STDOUT:
        print(printable(str(report)))
    if file is not None:
        output.write(file, as_json(report))
    return output.FINE if report.ok else output.FOUND


def as_json(report: interchange.Report) -> str:
    """Return a report as JSON, in the form that ``inspection.schema.json`` describes."""
    return forms.as_text("inspection", {"ok": report.ok, **_as_dict(report)})


def _as_dict(report: interchange.Report) -> dict[str, Any]:
    """Return a report, with the text and severity of each broken rule beside its id."""
    return {
        "kind": report.kind,
        "fields": report.values,
        "findings": [_finding(one) for one in report.findings],
        "parts": [_as_dict(part) for part in report.parts],
    }


def _finding(found: interchange.Finding) -> dict[str, str]:
    """Return a broken rule."""
    rule = RULES[found.rule]
    return {**asdict(found), "severity": rule.severity, "text": rule.text}


def evaluate(target: str) -> Any:
    """Return the value of ``module:expression``, or of an expression whose names are modules.

    Raises UsageError: it is not Python, a module does not import, or the evaluation raises.
    """
    match = _TARGET.fullmatch(target.strip())
    module, text = (match["module"], match["expression"]) if match else (None, target)
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{text!r} is no Python expression: {first_line(error)}") from error
    with _current_directory():
        try:
            names = _names_in_module(module) if module else _modules_named_in(tree)
            return eval(compile(tree, "<target>", "eval"), names)  # noqa: S307 - see the module
        except (Exception, SystemExit) as error:
            what = f"{type(error).__name__}: {first_line(error)}"
            raise UsageError(f"{target!r} cannot be evaluated: {what}") from error


def _names_in_module(module: str) -> dict[str, Any]:
    """Return the names that an expression sees in a module."""
    return dict(vars(importlib.import_module(module)))


def _modules_named_in(tree: ast.Expression) -> dict[str, Any]:
    """Import the modules that an expression names, with those below them, and return them."""
    found: dict[str, Any] = {}
    for node in ast.walk(tree):
        parts = _dotted(node)
        if not parts or hasattr(builtins, parts[0]):
            continue
        for end in range(1, len(parts) + 1):
            if not _import_if_there(".".join(parts[:end])):
                break
        if parts[0] in sys.modules:
            found[parts[0]] = sys.modules[parts[0]]
    return found


def _import_if_there(name: str) -> bool:
    """Import a module, and return whether it exists; a failing import within it is an error."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return False
    return True


def _dotted(node: ast.AST) -> list[str]:
    """Return the names of ``a.b.c``, or nothing for any other expression."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        above = _dotted(node.value)
        return [*above, node.attr] if above else []
    return []


@contextlib.contextmanager
def _current_directory() -> Any:
    """Let modules of the current directory be imported, as ``python -m`` does."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
