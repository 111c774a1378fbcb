"""``interchange inspect``: evaluation, output and exit code."""

from __future__ import annotations

import json

import pytest

import interchange as ix

NULL_ADDRESS = "{'shape': (2,), 'typestr': '<f4', 'data': (0, False), 'version': 3}"


@pytest.mark.parametrize(
    "target",
    [
        "numpy:zeros((2, 3))",
        "numpy.zeros((2, 3))",
        "numpy:zeros((2, 6))[:, 1:4]",
        "numpy.zeros((2, 6))[:, 1:4]",
        " numpy:stack([zeros(3) for _ in range(2)]) ",
        "numpy.lib.stride_tricks.as_strided(numpy.zeros(6), (2, 3))",
        "numpy.stack([numpy.zeros(3) for _ in range(2)])",
    ],
)
def test_expressions_are_evaluated(run_cli, target):
    """A module and an expression, or an expression whose names are modules, make an array."""
    done = run_cli("inspect", target)

    assert (done.code, done.err) == (0, "")
    assert "shape        (2, 3)" in done.out


def test_the_report_is_that_of_inspect(run_cli):
    """The output is the report of the function."""
    assert run_cli("inspect", "builtins:b'abc'").out == f"{ix.inspect(b'abc')}\n"


def test_a_module_of_the_current_directory_is_found(run_cli, tmp_path, monkeypatch):
    """A file beside the user is a module, as for ``python -m``."""
    (tmp_path / "beside_the_user.py").write_text("DATA = bytearray(5)")
    monkeypatch.chdir(tmp_path)

    assert run_cli("inspect", "beside_the_user:DATA").code == 0


def test_a_broken_rule_ends_with_1(run_cli):
    """Violations are printed with their rules, and give exit code 1."""
    done = run_cli("inspect", NULL_ADDRESS)

    assert done.code == 1
    assert "CAI-DATA-2" in done.out


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("no_such_module_at_all:x", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("no_such_name_at_all", "NameError: name 'no_such_name_at_all' is not defined"),
        ("numpy:no_such_name", "NameError: name 'no_such_name' is not defined"),
        ("numpy:zeros(", "is no Python expression"),
        ("x = 3", "is no Python expression"),
        ("builtins:[][1]", "IndexError: list index out of range"),
        ("3", "[IX-PROTOCOL-1]"),
        ("", "is no Python expression"),
    ],
)
def test_what_cannot_be_evaluated_ends_with_2(run_cli, target, said):
    """Invalid input gives exit code 2 and a message with the reason."""
    done = run_cli("inspect", target)

    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_what_a_module_lacks_is_said(run_cli, tmp_path, monkeypatch):
    """A module that is there, and does not import, is not called an unknown name."""
    (tmp_path / "lacks_something.py").write_text("import no_such_module_at_all")
    monkeypatch.chdir(tmp_path)

    done = run_cli("inspect", "lacks_something.DATA")

    assert done.code == 2
    assert "No module named 'no_such_module_at_all'" in done.err


@pytest.mark.parametrize(("target", "code"), [("b'abc'", 0), (NULL_ADDRESS, 1)])
def test_json_has_the_same_verdict(run_cli, target, code):
    """JSON and exit code have the same verdict."""
    done = run_cli("inspect", target, "--json")

    assert (done.code, json.loads(done.out)["ok"]) == (code, code == 0)


def test_json_has_the_words_of_the_rules(run_cli):
    """A finding has its id, severity and text, so that no rule book is needed to read it."""
    told = json.loads(run_cli("inspect", NULL_ADDRESS, "--json").out)

    assert told["findings"] == [
        {
            "rule": "CAI-DATA-2",
            "what": "the address is 0 for shape (2,)",
            "severity": "MUST",
            "text": ix.abi.RULES["CAI-DATA-2"].text,
        }
    ]


@pytest.mark.parametrize("command", [["inspect"], ["inspect", "--json", "-"]])
def test_names_of_others_do_not_reach_the_terminal(run_cli, tmp_path, monkeypatch, command):
    """Control characters are written out, as `check` does."""
    code = """
class Theirs:
    __array_interface__ = {"shape": "\x1b[31m", "typestr": "\x1b]0;x\x07"}

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **_):
        raise RuntimeError("\x1b[2J\u202e")

Theirs.__qualname__ = "\x1b[31mTheirs"
"""
    (tmp_path / "theirs.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = run_cli(command[0], "theirs:Theirs()", *command[1:])

    assert "Theirs" in done.out
    assert not {"\x1b", "\x07", "\u202e"} & {*done.out, *done.err}


def test_errors_of_others_do_not_reach_the_terminal(run_cli):
    """Control characters in an expression's error are escaped."""
    done = run_cli("inspect", "builtins:int('\x1b[31m')")
    unknown = run_cli("inspect", r"builtins:type('\x1b[31m', (), {})()")

    assert (done.code, unknown.code) == (2, 2)
    assert "\x1b" not in done.err + unknown.err
