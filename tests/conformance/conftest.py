"""Fixtures for tests of the kit: subjects that misbehave, written for one test, and their pools."""

from __future__ import annotations

import contextlib
import itertools
import textwrap
from pathlib import Path

import pytest

from interchange_conformance.cli import command
from interchange_conformance.running.pool import Pool

_NUMBERS = itertools.count()
_TEXT = """
import ctypes, os, signal, subprocess, sys, threading, time
from pathlib import Path
from interchange_conformance import zoo
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Subject

HERE = Path(__file__).parent
{at_import}

def host(shape, dtype):
    if dtype not in zoo.ELEMENTS:
        raise CannotMakeError(dtype)
    return zoo.host(shape, dtype)

def make(shape, dtype, device, readonly):
{in_make}
    return host(shape, dtype)

subject = Subject("hostile", make=make)
"""


@pytest.fixture
def write_subject(tmp_path, monkeypatch):
    """Return a function that writes a module with a subject, and returns its spec."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(in_make="", at_import=""):
        name = f"hostile_{next(_NUMBERS)}"
        body = textwrap.indent(textwrap.dedent(in_make).strip() or "pass", "    ")
        text = _TEXT.format(at_import=textwrap.dedent(at_import), in_make=body)
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        return f"{name}:subject"

    return write


@pytest.fixture
def check(capsys):
    """Return a function that runs the command in this process: exit code, output and errors."""

    def run(*arguments):
        capsys.readouterr()
        try:
            code = command.main(["check", *map(str, arguments)])
        except SystemExit as end:  # argparse raises SystemExit
            code = end.code
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def pool_of(write_subject):
    """Return a function that writes a subject, and returns a pool of it, closed afterwards."""
    with contextlib.ExitStack() as closing:

        def pool(in_make="", at_import="", **options):
            made = Pool(write_subject(in_make, at_import), **options)
            return closing.enter_context(made)

        yield pool


@pytest.fixture
def is_gone():
    """Return a function that returns whether a process has ended."""

    def gone(process):
        try:
            status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
        except (FileNotFoundError, ProcessLookupError):
            return True
        return "State:\tZ" in status  # zombies are not reaped here

    return gone
