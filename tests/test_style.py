"""The rules of this code base, as far as a program can see them."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from interchange.abi import RULES

ROOT = Path(__file__).parents[1]
SOURCE = sorted(
    path
    for top in ("src", "conformance", "tests/conformance/mutants")
    for path in (ROOT / top).rglob("*.py")
)
TESTS = sorted({ROOT / "conftest.py", *(ROOT / "tests").rglob("*.py")}.difference(SOURCE))
MODULES = SOURCE + TESTS
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

MOST_LINES = 800  # of a module: one concept may need more than a few hundred
LONG = 40  # [lines], of a function without its docstring
SHARE_OF_LONG = 0.05


def name_of(path):
    """Return a path relative to the root."""
    return path.relative_to(ROOT).as_posix()


def found_in(paths, look):
    """Return the findings of `look` by file name; files without findings are left out."""
    findings = {name_of(path): look(path) for path in paths}
    return {name: finding for name, finding in findings.items() if finding}


@cache
def text_of(path):
    """Return the contents of a file."""
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path):
    """Return a file's syntax tree."""
    return ast.parse(text_of(path))


@cache
def nodes_by_kind(path):
    """Return the nodes of a file's syntax tree by their classes."""
    found = {}
    for node in ast.walk(tree_of(path)):
        found.setdefault(type(node), []).append(node)
    return found


def nodes(path, *kinds):
    """Return the nodes of some kinds."""
    return [node for kind in kinds for node in nodes_by_kind(path).get(kind, ())]


def docstring_of(node):
    """Return the docstring of a module or function, or an empty text."""
    return ast.get_docstring(node) or ""


def first_line_of(node):
    """Return the first line of a docstring."""
    return docstring_of(node).partition("\n")[0]


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


def test_no_file_is_longer_than_800_lines():
    """A longer file of Python or C would have more than one concept."""
    sources = [
        path for top in (ROOT / "src", ROOT / "conformance/src") for path in top.rglob("*.[ch]")
    ]
    lengths = {name_of(path): len(text_of(path).splitlines()) for path in [*MODULES, *sources]}

    assert sources
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_functions_are_short():
    """Nineteen of twenty have at most 40 lines."""
    lengths = {
        f"{name_of(path)}:{function.lineno} {function.name}": length(function)
        for path in SOURCE
        for function in functions(path)
    }
    long = [name for name, lines in lengths.items() if lines > LONG]

    assert len(long) <= SHARE_OF_LONG * len(lengths), long


# ---------------------------------------------------------------- docstrings and texts


def test_a_module_says_its_job_in_its_first_line():
    """The first line is one sentence of several words, with a full stop."""
    firsts = {name_of(path): first_line_of(tree_of(path)) for path in MODULES}

    assert {
        name: first
        for name, first in firsts.items()
        if not (first.endswith(".") and len(first.split()) > 2)
    } == {}


def test_a_module_whose_source_is_this_project_does_not_say_so():
    """The source of a module is the document that it follows, if there is one."""
    said = re.compile(r"^Sources?: interchange\.?(\s|$)", re.MULTILINE)
    assert [name_of(path) for path in SOURCE if said.search(docstring_of(tree_of(path)))] == []


def silent_functions(path):
    """Return the functions of a file that have no docstring and need one."""
    outer = [tree_of(path), *nodes(path, ast.ClassDef)]
    return [
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
        and not first_line_of(function).endswith(".")
    ]


def test_every_function_says_what_it_does():
    """The docstring begins with a sentence, unless Python or the only statement explains it.

    Functions of the namespace have theirs from its table (``@document``).
    """
    assert found_in(SOURCE, silent_functions) == {}


def silent_tests(path):
    """Return the tests of a file that state no claim."""
    return [
        function.name
        for function in functions(path)
        if function.name.startswith("test_") and not first_line_of(function).endswith((".", ":"))
    ]


def test_every_test_states_a_claim():
    """The first line of a test's docstring ends with a full stop."""
    tests = [path for path in TESTS if path.name.startswith("test_")]

    assert found_in(tests, silent_tests) == {}


def words_in(*words):
    """Return a function that returns those of the given words that are in a file."""
    return lambda path: [word for word in words if word in text_of(path)]


def test_nothing_is_left_to_do():
    """Open work is an issue, not a comment."""
    look = words_in("TO" + "DO", "FIX" + "ME", "XX" + "X:")

    assert found_in(MODULES + PROSE, look) == {}


def test_no_path_of_one_machine_is_written_down():
    """No file depends on this machine."""
    look = words_in("/ro" + "ot/", "/ho" + "me/", "/wo" + "rk/", "/tm" + "p/envs", "/Us" + "ers/")

    assert found_in(MODULES + PROSE, look) == {}


# ---------------------------------------------------------------- rules

RULE_ID = re.compile(r"(?<![\w-])(?:DLP|CAI|BUF|AI|ARROW|HOST|IX|CPY)(?:-[A-Z]+)*-[0-9]+(?![\w-])")


def test_the_pattern_finds_every_rule():
    """No rule of the book escapes the check below."""
    assert all(RULE_ID.fullmatch(rule) for rule in RULES)


def test_every_rule_that_is_cited_exists():
    """Every cited id is in the table."""
    made_up = {"DLP-NONE-1", "DLP-CAP-7"}  # in tests and examples of what happens then
    known = {*RULES, *made_up}

    def unknown(path):
        return set(RULE_ID.findall(text_of(path))) - known

    assert found_in(MODULES + PROSE, unknown) == {}


# ---------------------------------------------------------------- forbidden constructs


def test_nothing_depends_on_an_assertion():
    """Assert statements vanish under ``python -O``, and tell users nothing."""

    def assertions(path):
        if "conformance" in path.parts:
            return []  # there a check that fails is a verdict
        return [node.lineno for node in nodes(path, ast.Assert)]

    assert found_in(SOURCE, assertions) == {}


def test_no_python_function_becomes_a_c_function_without_the_gil():
    """A callback behind a C pointer crashes (DLP-LIFE-4): its very name is banned."""
    assert found_in(SOURCE, words_in("C" + "FUNCTYPE")) == {}


def test_prototypes_are_made_in_one_place():
    """All other modules use `interchange.abi.capsules`."""
    users = found_in(SOURCE, words_in("PY" + "FUNCTYPE"))

    assert set(users) <= {"src/interchange/abi/capsules.py"}


def test_the_shared_handle_on_python_is_not_used():
    """Prototypes set there would change the calls of every library (HOST-CTYPES-1)."""
    assert found_in(SOURCE, words_in("python" + "api")) == {}


def made_up_names(path):
    """Return the lines with star imports, and those that set items of a namespace."""
    stars = [node for node in nodes(path, ast.ImportFrom) if any(a.name == "*" for a in node.names)]
    made = [
        node
        for node in nodes(path, ast.Subscript)
        if isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Call)
        and getattr(node.value.func, "id", "") in {"vars", "globals", "locals"}
    ]
    return [node.lineno for node in stars + made]


def test_no_name_is_made_up_at_run_time():
    """No star imports, and no names set by ``vars()[...]``: every name can be found by a search."""
    assert found_in(SOURCE, made_up_names) == {}


def test_no_error_is_swallowed_whole():
    """A bare ``except:`` would catch the user's Ctrl-C."""

    def bare(path):
        return [node.lineno for node in nodes(path, ast.ExceptHandler) if node.type is None]

    assert found_in(SOURCE, bare) == {}
