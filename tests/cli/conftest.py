"""Fixtures of the command's tests: the command in this process, and libraries with mistakes."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from types import ModuleType

import pytest

from interchange._functions.targets import TARGETS
from interchange._libraries.target import Target
from interchange.cli import main
from interchange_conformance.matrix import tables


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def run_cli(capsys):
    """Return a function that runs the command in this process."""

    def run(*arguments):
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as error:  # argparse ends so
            code = error.code
        return Done(code, *capsys.readouterr())

    return run


@pytest.fixture
def kind_named():
    """Return a function that finds a row of the table."""

    def find(name):
        return next(kind for kind in tables.kinds_of("cpu") if kind.name == name)

    return find


@pytest.fixture
def add_liar(monkeypatch, kind_named):
    """Return a function that registers a library of NumPy arrays with a given import function."""

    def add(take, **options):
        monkeypatch.setitem(sys.modules, "liar", ModuleType("liar"))
        monkeypatch.setitem(
            TARGETS, "liar", Target("liar", take, **{"keeps_readonly": True, **options})
        )
        liar = replace(kind_named("NumPy"), name="Liar", target="liar", head="liar")
        kinds = (*tables.kinds_of("cpu"), liar)
        monkeypatch.setattr(tables, "kinds_of", lambda _: kinds)
        return liar

    return add
