"""Every place in src where an error is created: its rule, and the texts that its fix may have.

Source: Python, ``ast``.  A text is a template, with a NUL for each part known at run time only.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import interchange
from interchange._protocols.export_guards import hint_for_call
from interchange.abi import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES: Final = Path(interchange.__file__).parent
HOLE: Final = "\0"
_RULE: Final = re.compile(r"[A-Z]{2,}(?:-[A-Z0-9]+)*-\d+")
_OF_KERNELS: Final = "CPY-"
_FITS: Final = hint_for_call.__name__
_LISTS: Final = ("_streams/rules.py", "cli/")
"""Modules whose rows cite rules, and which raise nothing."""
_DEEPEST = 9  # names that are aliases of names
_LEAST, _MOST = 2, 3  # parts of a tuple that becomes an error: found value, rule, fix


class Site(NamedTuple):
    """A place where an error is created."""

    path: str
    first: int
    last: int
    rule: str
    texts: tuple[str, ...]
    chosen: tuple[str, ...]
    is_tuple: bool

    def makes(self, frames: set[tuple[str, int]], rule: str, hint: str, text: str) -> bool:
        """Whether an error came from here with this text; of tuples the frames do not tell."""
        if rule != self.rule or not pattern(text).fullmatch(hint):
            return False
        return self.is_tuple or any(
            path == self.path and self.first <= line <= self.last for path, line in frames
        )


def pattern(text: str) -> re.Pattern[str]:
    """Return the text of a template at run time."""
    return re.compile(".*".join(map(re.escape, text.split(HOLE))), re.DOTALL)


class _Sources:
    """The values of names, over all modules."""

    def __init__(self) -> None:
        self.trees = {
            str(path.relative_to(SOURCES)): ast.parse(path.read_text(encoding="utf-8"))
            for path in sorted(SOURCES.rglob("*.py"))
        }
        self.chosen: set[str] = set()  # the texts that a function of ours returned
        self.constants: dict[str, list[ast.expr]] = defaultdict(list)
        self.functions: dict[str, list[ast.FunctionDef]] = defaultdict(list)
        for tree in self.trees.values():
            for node in tree.body:
                for name, value in _assigned(node):
                    self.constants[name].append(value)
            for found in ast.walk(tree):
                if isinstance(found, ast.FunctionDef):
                    self.functions[found.name].append(found)

    def texts(self, node: ast.expr | None, scope: ast.AST, rule: str, depth: int = 0) -> set[str]:
        """Return the possible values of an expression as templates; none for a parameter."""
        if node is None or depth > _DEEPEST:
            return set()
        if isinstance(node, ast.Constant):
            own = {RULES[rule].hint} if rule in RULES else set()
            return own if node.value is None else {str(node.value)}
        if isinstance(node, ast.JoinedStr):
            parts = (str(p.value) if isinstance(p, ast.Constant) else HOLE for p in node.values)
            return {"".join(parts)}
        if isinstance(node, ast.Name):
            return self._of_name(node.id, scope, rule, depth + 1)
        if isinstance(node, ast.Call):
            return self._of_call(node, scope, rule, depth + 1)
        return self._of_several(node, scope, rule, depth + 1)

    def _of_several(self, node: ast.expr, scope: ast.AST, rule: str, depth: int) -> set[str]:
        """Return the possible values of a compound expression: a choice, a sum, a dict's values."""
        if isinstance(node, ast.BoolOp):  # a None that is not the last means the next
            *first, last = node.values
            found = [self.texts(one, scope, "", depth) for one in first]
            return self.texts(last, scope, rule, depth).union(*found)
        if isinstance(node, ast.BinOp):
            left, right = (self.texts(one, scope, rule, depth) for one in (node.left, node.right))
            return {one + other for one in left for other in right}
        several: list[ast.expr] = []
        if isinstance(node, ast.IfExp):
            several = [node.body, node.orelse]
        elif isinstance(node, ast.Dict):
            several = node.values
        return set().union(*(self.texts(one, scope, rule, depth) for one in several))

    def _of_name(self, name: str, scope: ast.AST, rule: str, depth: int) -> set[str]:
        """Return the possible values of a name: assignments in the function, or a constant."""
        local = [value for node in ast.walk(scope) for key, value in _assigned(node) if key == name]
        return set().union(
            *(self.texts(one, scope, rule, depth) for one in local or self.constants[name])
        )

    def _of_call(self, node: ast.Call, scope: ast.AST, rule: str, depth: int) -> set[str]:
        """Return the possible results of a function of ours, or of a string method."""
        function = node.func
        constant = all(isinstance(one, ast.Constant) for one in node.args)
        if isinstance(function, ast.Attribute) and function.attr == "replace" and constant:
            old, new = (ast.literal_eval(one) for one in node.args[:2])
            known = self.texts(function.value, scope, rule, depth)
            self.chosen |= {text.replace(old, new, 1) for text in known & self.chosen}
            return {text.replace(old, new, 1) for text in known}
        name = function.id if isinstance(function, ast.Name) else ""
        if name == _FITS:
            known = self.texts(node.args[0], scope, rule, depth)
            fitted = known | {hint_for_call(text, "") for text in known}
            self.chosen |= fitted
            return fitted
        if name not in self.functions:
            words = [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]
            return set().union(*(self._of_name(one, scope, rule, depth) for one in words), set())
        found: set[str] = set()
        for made in self.functions[name]:
            for one in ast.walk(made):
                if isinstance(one, ast.Return):
                    found |= self.texts(one.value, made, rule, depth)
        self.chosen |= found
        return found


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a statement binds, and their values."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
        yield node.target.id, node.value
    if isinstance(node, ast.NamedExpr):
        yield node.target.id, node.value
    if not isinstance(node, ast.Assign):
        return
    for target in node.targets:
        if isinstance(target, ast.Name):
            yield target.id, node.value
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for one, value in zip(target.elts, node.value.elts, strict=False):
                if isinstance(one, ast.Name):
                    yield one.id, value


def sites() -> list[Site]:
    """Return every place that creates an error with a rule, except for those of kernels."""
    known = _Sources()
    found = []
    for path, tree in known.trees.items():
        if path.startswith(("abi/rules/", *_LISTS)):
            continue
        found += [
            site for scope, node in _scoped(tree) for site in _sites_of(known, path, scope, node)
        ]
    return found


def _scoped(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield every node with the function around it."""
    stack: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
    while stack:
        scope, node = stack.pop()
        yield scope, node
        inner = node if isinstance(node, ast.FunctionDef) else scope
        stack += [(inner, child) for child in ast.iter_child_nodes(node)]


def _sites_of(known: _Sources, path: str, scope: ast.AST, node: ast.AST) -> list[Site]:
    """Return the sites that a node is: one for each rule that it may cite."""
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if not (name.endswith("Error") or name == "error_for") or len(node.args) <= _LEAST:
            return []
        rule, rest = node.args[_LEAST], node.args[_LEAST + 1 :]
    elif isinstance(node, ast.Tuple) and _LEAST <= len(node.elts) <= _MOST:
        rule, rest = node.elts[1], node.elts[2:]
        if not isinstance(rule, ast.Constant) and len(node.elts) == _LEAST:
            return []
    else:
        return []
    is_tuple = isinstance(node, ast.Tuple)
    made = []
    for one in sorted(known.texts(rule, scope, "", 0) if not _is_none(rule) else ()):
        if _RULE.fullmatch(one) and one in RULES and not one.startswith(_OF_KERNELS):
            known.chosen.clear()
            texts = known.texts(rest[0], scope, one) if rest else {RULES[one].hint}
            chosen = texts & known.chosen
            last, split = node.end_lineno or node.lineno, (sorted(texts - chosen), sorted(chosen))
            made.append(Site(path, node.lineno, last, one, *map(tuple, split), is_tuple))
    return made


def _is_none(node: ast.expr) -> bool:
    """Whether an expression is None."""
    return isinstance(node, ast.Constant) and node.value is None
