"""What tests of the command line stand on: the command in this process, and libraries that lie."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from interchange._functions.targets import TARGETS
from interchange._libraries.target import Target
from interchange.cli import libraries, main

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange.cli.subjects import Subject


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def run_cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Return a function that runs the command in this process."""

    def run(*arguments: object) -> Done:
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as error:  # argparse ends so
            code = error.code
        return Done(code, *capsys.readouterr())

    return run


@pytest.fixture
def subject_named() -> Callable[[str], Subject]:
    """Return a function that finds a row of the table."""

    def find(name: str) -> Subject:
        return next(subject for subject in libraries.SUBJECTS if subject.name == name)

    return find


@pytest.fixture
def add_liar(
    monkeypatch: pytest.MonkeyPatch, subject_named: Callable[[str], Subject]
) -> Callable[..., Subject]:
    """Return a function that adds a library, whose arrays are NumPy's, and which takes as told."""

    def add(take: Callable[[Any, Any], Any], **options: Any) -> Subject:
        monkeypatch.setitem(sys.modules, "liar", ModuleType("liar"))
        monkeypatch.setitem(
            TARGETS, "liar", Target("liar", take, **{"keeps_readonly": True, **options})
        )
        liar = replace(subject_named("NumPy"), name="Liar", target="liar", short="liar")
        monkeypatch.setattr(libraries, "SUBJECTS", (*libraries.SUBJECTS, liar))
        return liar

    return add
