"""The types for type checkers are those at run time; ``check.py`` runs the checkers."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import runpy
import sys
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest

import interchange as ix
from interchange._array import operators

HERE = Path(__file__).parent


def load(name):
    """Return a program of this folder as a module."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check, stub = load("check"), load("stub")

PROGRAMS = [
    pytest.param(
        program,
        id=program.stem,
        marks=() if check.imported_by(program) <= check.ALWAYS else pytest.mark.interop,
    )
    for program in sorted((HERE / "right").glob("*.py"))
]


def is_of(value, kind):
    """Return whether a value has a type, as far as its class tells."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        return any(is_of(value, each) for each in arguments)
    if origin is Literal:
        return value in arguments
    return kind is Any or isinstance(value, origin or kind)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_that_checks_has_those_types_when_it_runs(program, monkeypatch):
    """Every ``assert_type`` of a program is true of the object at run time."""
    seen = []
    if not check.is_installed("typing_extensions"):
        monkeypatch.setitem(sys.modules, "typing_extensions", ModuleType("typing_extensions"))
    module = importlib.import_module("typing_extensions")
    note = lambda value, kind: seen.append((value, kind))  # noqa: E731
    monkeypatch.setattr(module, "assert_type", note, raising=False)

    runpy.run_path(str(program))

    assert seen
    assert [(value, kind) for value, kind in seen if not is_of(value, kind)] == []


def test_checkers_know_the_operators_that_are_made():
    """The class that checkers see has the names of the other one."""
    tree = ast.parse(Path(operators.__file__).read_text(encoding="utf-8"))
    (told,) = (
        node
        for branch in tree.body
        if isinstance(branch, ast.If) and ast.unparse(branch.test) == "TYPE_CHECKING"
        for node in branch.body
        if isinstance(node, ast.ClassDef)
    )
    names = [node.name for node in told.body if isinstance(node, ast.FunctionDef)]
    made = [name for name, value in vars(operators.Operators).items() if callable(value)]

    assert sorted(names) == sorted(made)


def test_the_overloads_of_convert_are_its_targets():
    """Without those whose class no library declares to a checker."""
    untold = {"array_api_strict", "cuda.core", "numba"}
    tree = ast.parse(check.CONVERT.read_text(encoding="utf-8"))
    told = {
        node.args.posonlyargs[1].annotation.slice.value
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "convert"
        if isinstance(node.args.posonlyargs[1].annotation, ast.Subscript)
    }

    assert told == ix.TARGETS.keys() - untold


def test_the_stub_of_the_namespace_is_that_of_its_functions():
    """``python tests/checkers/stub.py`` writes it again."""
    assert stub.STUB.read_text(encoding="utf-8") == stub.stub()


def test_a_line_that_should_be_refused_and_is_not_is_found():
    """A program that is refused although it should pass is reported, and one with another error."""
    wanted = {("a.py", 1): {"arg-type"}, ("a.py", 2): {"misc"}, ("a.py", 3): {"operator"}}
    found = {("a.py", 2): {"misc"}, ("a.py", 3): {"call-arg"}, ("b.py", 1): {"operator"}}

    assert [line.partition(": ")[0] for line in check.differences(wanted, found)] == [
        "a.py:1",
        "a.py:3",
        "b.py:1",
    ]


def test_each_wrong_program_has_lines_that_both_checkers_must_refuse():
    """A mark that is not understood is an error, since it would demand nothing."""
    programs = sorted((HERE / "wrong").glob("*.py"))
    marks = [line for one in programs for line in one.read_text().splitlines() if "# error" in line]

    for checker in ("mypy", "pyright"):
        assert {name for name, _ in check.expected(programs, checker)} == {
            f"wrong/{program.name}" for program in programs
        }
    assert [line for line in marks if not check.MARK.search(line)] == []
