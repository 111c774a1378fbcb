"""The rules of this code base, as far as a program can see them."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from interchange.abi import RULES

ROOT = Path(__file__).parents[1]
SOURCE = sorted(
    path
    for top in ("src", "conformance", "tests/conformance/mutants")
    for path in (ROOT / top).rglob("*.py")
)
TESTS = sorted({*(ROOT / "tests").rglob("*.py")}.difference(SOURCE))
PROSE = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("*.toml"),
        *(ROOT / "conformance").glob("*.md"),
        *(ROOT / "conformance").glob("*.toml"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / ".ci").glob("*"),
    ]
)

MOST_LINES = 500  # of a module
LONG = 40  # [lines], of a function without its docstring
SHARE_OF_LONG = 0.05


def name_of(path):
    """Return a path as it is seen from the root."""
    return path.relative_to(ROOT).as_posix()


every_source = pytest.mark.parametrize("path", SOURCE, ids=name_of)
every_module = pytest.mark.parametrize("path", SOURCE + TESTS, ids=name_of)
every_test = pytest.mark.parametrize(
    "path", [path for path in TESTS if path.name.startswith("test_")], ids=name_of
)
every_text = pytest.mark.parametrize("path", SOURCE + TESTS + PROSE, ids=name_of)


@cache
def text_of(path):
    """Return what is in a file."""
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path):
    """Return a file's syntax tree."""
    return ast.parse(text_of(path))


def nodes(path, *kinds):
    """Return the nodes of some kinds."""
    return [node for node in ast.walk(tree_of(path)) if isinstance(node, kinds)]


def functions(path):
    """Return every function of a file."""
    return nodes(path, ast.FunctionDef, ast.AsyncFunctionDef)


def length(function):
    """Return the lines of a function, its docstring left out."""
    documented = ast.get_docstring(function) is not None
    doc = function.body[0] if documented else None
    whole = function.end_lineno - function.lineno + 1
    return whole - (doc.end_lineno - doc.lineno + 1 if doc else 0)


def test_there_is_something_to_look_at():
    """The paths above are those of this repository."""
    assert ROOT / "src/interchange/__init__.py" in SOURCE
    assert Path(__file__) in TESTS


# ---------------------------------------------------------------- size


@every_module
def test_a_module_has_at_most_500_lines(path):
    """A longer one is two."""
    assert len(text_of(path).splitlines()) <= MOST_LINES


def test_functions_are_short():
    """Nineteen of twenty have at most 40 lines."""
    lengths = {
        f"{name_of(path)}:{function.lineno} {function.name}": length(function)
        for path in SOURCE
        for function in functions(path)
    }
    long = [name for name, lines in lengths.items() if lines > LONG]

    assert len(long) <= SHARE_OF_LONG * len(lengths), long


# ---------------------------------------------------------------- words


@every_module
def test_a_module_says_its_job_in_its_first_line(path):
    """One sentence of some words, with a full stop."""
    text = ast.get_docstring(tree_of(path)) or ""
    first = text.partition("\n")[0]

    assert first.endswith(".")
    assert len(first.split()) > 2


@every_source
def test_a_module_names_its_source(path):
    """What it was written from, so that it can be checked; a folder's own page need not."""
    text = ast.get_docstring(tree_of(path)) or ""

    assert path.name in {"__init__.py", "__main__.py"} or re.search(r"\bSources?\b", text)


@every_source
def test_every_function_says_what_it_does(path):
    """In a docstring that begins with a sentence, unless Python or its one statement says it.

    Functions of the namespace have theirs from its table (``@document``).
    """
    outer = [tree_of(path), *nodes(path, ast.ClassDef)]
    silent = [
        function.name
        for scope in outer
        for function in scope.body
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        and not re.fullmatch(r"__\w+__", function.name)
        and not (len(function.body) == 1 and not function.name[0].isalpha())
        and not any(
            re.search(r"\b(overload|document)\b", ast.unparse(one))
            for one in function.decorator_list
        )
        and not (ast.get_docstring(function) or "").partition("\n")[0].endswith(".")
    ]

    assert silent == []


@every_test
def test_every_test_states_a_claim(path):
    """In one line that ends with a full stop."""
    silent = [
        function.name
        for function in functions(path)
        if function.name.startswith("test_")
        and not (ast.get_docstring(function) or "").partition("\n")[0].endswith((".", ":"))
    ]

    assert silent == []


@every_text
def test_nothing_is_left_to_do(path):
    """What is to be done is an issue, not a comment."""
    words = "TO" + "DO", "FIX" + "ME", "XX" + "X:"

    assert [word for word in words if word in text_of(path)] == []


@every_text
def test_no_path_of_one_machine_is_written_down(path):
    """What is here works anywhere."""
    places = "/ro" + "ot/", "/ho" + "me/", "/wo" + "rk/", "/tm" + "p/envs", "/Us" + "ers/"

    assert [place for place in places if place in text_of(path)] == []


# ---------------------------------------------------------------- rules

RULE_ID = re.compile(r"(?<![\w-])(?:DLP|CAI|BUF|AI|HOST|IX)(?:-[A-Z]+)*-[0-9]+(?![\w-])")


def test_the_pattern_finds_every_rule():
    """No rule of the book escapes the check below."""
    assert all(RULE_ID.fullmatch(rule) for rule in RULES)


@every_text
def test_every_rule_that_is_cited_exists(path):
    """An id that nobody can look up is no help."""
    cited = set(RULE_ID.findall(text_of(path)))
    made_up = {"DLP-NONE-1", "DLP-CAP-7"}  # in tests and examples of what happens then

    assert cited - set(RULES) - made_up == set()


# ---------------------------------------------------------------- what is not done


@every_source
def test_nothing_depends_on_an_assertion(path):
    """They vanish under ``python -O``, and say nothing to users."""
    if "conformance" in path.parts:
        return  # there a check that fails is a verdict
    assert [node.lineno for node in nodes(path, ast.Assert)] == []


@every_source
def test_no_python_function_becomes_a_c_function_without_the_gil(path):
    """A callback behind a C pointer crashes (DLP-LIFE-4): its very name is banned."""
    assert "C" + "FUNCTYPE" not in text_of(path)


@every_source
def test_prototypes_are_made_in_one_place(path):
    """Everybody else asks `interchange.abi.capsules`."""
    used = "PY" + "FUNCTYPE" in text_of(path)

    assert not used or name_of(path) == "src/interchange/abi/capsules.py"


@every_source
def test_the_shared_handle_on_python_is_not_used(path):
    """Prototypes set there would change the calls of every library (HOST-CTYPES-1)."""
    assert "python" + "api" not in text_of(path)


@every_source
def test_no_name_is_made_up_at_run_time(path):
    """No star imports, no names made by ``vars()[...]``: what is there can be found by a search."""
    stars = [node for node in nodes(path, ast.ImportFrom) if any(a.name == "*" for a in node.names)]
    made = [
        node
        for node in nodes(path, ast.Subscript)
        if isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Call)
        and getattr(node.value.func, "id", "") in {"vars", "globals", "locals"}
    ]

    assert (stars, made) == ([], [])


@every_source
def test_no_error_is_swallowed_whole(path):
    """A bare ``except:`` would take the user's Ctrl-C."""
    assert [node.lineno for node in nodes(path, ast.ExceptHandler) if node.type is None] == []
