"""Each documented exit code is produced, and an error of the command is no finding."""

from __future__ import annotations

import numpy as np
import pytest

from interchange.cli import doctor, inspecting, output, versions
from interchange_conformance.cli import exits
from interchange_conformance.matrix import exchanging

KITS = "interchange check"
"""Commands whose codes are tested in the conformance kit."""
ALWAYS = ("matrix", "--only", "numpy,stdlib,interchange")
NULL_ADDRESS = "{'shape': (2,), 'typestr': '<f4', 'data': (0, False), 'version': 3}"
NOWHERE = ("--json", "/nowhere/found.json")
PROVOKED = {
    ("interchange", 0): ("--no-import",),
    ("interchange", 2): ("--no-import", *NOWHERE),
    ("interchange inspect", 0): ("inspect", "b'abc'"),
    ("interchange inspect", 1): ("inspect", NULL_ADDRESS),
    ("interchange inspect", 2): ("inspect", "3"),
    ("interchange doctor", 0): ("doctor",),
    ("interchange doctor", 1): ("doctor",),
    ("interchange doctor", 2): ("doctor", *NOWHERE),
    ("interchange matrix", 0): ALWAYS,
    ("interchange matrix", 1): ALWAYS,
    ("interchange matrix", 2): ("matrix", "--only", "nothing"),
}
"""Command and exit code -> arguments; an incorrect library gives the matrix's 1, a folder that
another user can write the doctor's."""
WORK = {
    ("--no-import",): (versions, "environment"),
    ("inspect", "b'abc'"): (inspecting, "evaluate"),
    ("doctor",): (doctor, "namesakes"),
    ALWAYS: (exchanging, "run"),
}
"""Call -> where it does its work."""


def test_every_documented_code_is_provoked():
    """Every documented code is tested, and no other."""
    documented = {
        (command, code)
        for command, codes in {**output.COMMANDS, **exits.COMMANDS}.items()
        for code in codes
        if command != KITS
    }

    assert set(PROVOKED) == documented


@pytest.mark.parametrize(("command", "code"), PROVOKED)
def test_a_documented_code_is_the_real_one(run_cli, add_liar, tmp_path, monkeypatch, command, code):
    """The exit code is the documented one; only codes for results have output."""
    if (command, code) == ("interchange matrix", 1):
        add_liar(lambda _, array: np.array(array))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if (command, code) == ("interchange doctor", 1):
        tmp_path.chmod(0o777)
        monkeypatch.setenv("INTERCHANGE_CACHE_DIR", str(tmp_path))

    done = run_cli(*PROVOKED[command, code])

    assert (done.code, bool(done.out), bool(done.err)) == (code, code < 2, code == 2)


@pytest.mark.parametrize(
    "arguments",
    [["--colour"], ["inspect", "b'abc'", "--colour"], ["matrix", "--dtype"], ["check", "--colour"]],
    ids=" ".join,
)
def test_a_wrong_call_is_2(run_cli, arguments):
    """A wrong command line gives 2 for every command."""
    assert run_cli(*arguments).code == exits.CANNOT


@pytest.mark.parametrize("arguments", WORK, ids=" ".join)
def test_an_interrupt_is_130(run_cli, monkeypatch, arguments):
    """An interrupt gives 130 for every command, without a traceback."""

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(*WORK[arguments], interrupt)

    assert run_cli(*arguments) == type(run_cli("--version"))(exits.INTERRUPTED, "", "")


@pytest.mark.parametrize("arguments", WORK, ids=" ".join)
def test_a_mistake_of_the_command_is_2(run_cli, monkeypatch, arguments):
    """An internal error gives 2 with a traceback, since Python's 1 would mean a finding."""

    def err(*_):
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(*WORK[arguments], err)

    done = run_cli(*arguments)

    assert (done.code, done.out) == (exits.CANNOT, "")
    assert done.err.endswith("ZeroDivisionError: a mistake\n")
    assert done.err.startswith("Traceback")


def test_an_expression_cannot_choose_the_code(run_cli):
    """An expression that exits gives the code for an evaluation error."""
    done = run_cli("inspect", "sys.exit(0)")

    assert (done.code, done.out) == (exits.CANNOT, "")
    assert "'sys.exit(0)' cannot be evaluated: SystemExit" in done.err
