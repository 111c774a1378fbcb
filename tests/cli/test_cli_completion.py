"""Completion in shells, tested with bash itself."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interchange.cli import completion, kit, parser

PAGE = Path(__file__).parents[2] / "docs" / "api" / "commands.md"
BASH = shutil.which("bash") or "bash"
ASK = """
source "$1"
shift
function=$(complete -p interchange | sed -E 's/.* -F ([^ ]+) .*/\\1/')
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
"$function" interchange "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' ${COMPREPLY[@]+"${COMPREPLY[@]}"}
"""
"""Simulates pressing Tab in bash, and prints the completions."""


@pytest.fixture
def written(run_cli, tmp_path):
    """Return a function that writes the script of a shell into a file."""

    def write(shell):
        done = run_cli("--print-completion", shell)
        assert (done.code, done.err) == (0, "")
        path = tmp_path / f"completion.{shell}"
        path.write_text(done.out, encoding="utf-8")
        return path

    return write


@pytest.fixture
def offered(written, tmp_path):
    """Return a function that returns bash's completions for a command line."""
    script = written("bash")

    def ask(line):
        words = [*shlex.split(line), ""] if line.endswith(" ") else shlex.split(line)
        done = subprocess.run(
            [BASH, "--norc", "-c", ASK, "bash", script, *words],
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return set(done.stdout.split())

    return ask


def options_of(command):
    """Return the options in the command's own help."""
    below = next(a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    return {text for action in below.choices[command]._actions for text in action.option_strings}


@pytest.mark.parametrize("shell", [one for one in completion.SHELLS if shutil.which(one)])
def test_a_shell_can_read_its_script(written, shell):
    """Each installed shell, bash at least, can parse its script."""
    done = subprocess.run(
        [shell, "-n", written(shell)], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_a_script_knows_the_commands(written, shell):
    """A script has the commands and their options."""
    text = written(shell).read_text(encoding="utf-8")

    for word in ("inspect", "matrix", "check", "dtype", "fail-on-quirks", "bfloat16", "emulated"):
        assert word in text


@pytest.mark.isolated
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("interchange ", {"inspect", "doctor", "matrix", "check"}),
        ("interchange ma", {"matrix"}),
        ("interchange --print-completion ", {"bash", "zsh", "tcsh"}),
        ("interchange inspect --j", {"--json"}),
        ("interchange matrix --dev", {"--device"}),
        ("interchange matrix --device ", {"cpu", "cuda"}),
        ("interchange matrix --dtype bf", {"bfloat16"}),
        ("interchange matrix --only jax --device cu", {"cuda"}),
        ("interchange matrix --only numb", {"numba"}),
        ("interchange check --role con", {"consumer"}),
        ("interchange check --cuda e", {"emulated"}),
        ("interchange check tor", {"torch"}),
        ("interchange check torch num", {"numpy", "numba-cuda"}),
        ("interchange check --cuda real al", {"all"}),
    ],
)
def test_bash_offers_what_comes_next(offered, line, words):
    """Commands, options, their choices, and names of libraries."""
    assert offered(line) == words


@pytest.mark.isolated
@pytest.mark.parametrize("command", ["inspect", "doctor", "matrix", "check"])
def test_bash_offers_every_option(offered, command):
    """Exactly the options of the command are completed."""
    assert offered(f"interchange {command} -") == options_of(command)


@pytest.mark.isolated
@pytest.mark.parametrize(
    "line", ["matrix --html ", "check numpy --junit ", "check --expected ", "check --python "]
)
def test_bash_offers_files_where_a_file_is_meant(offered, tmp_path, line):
    """bash completes the files of the folder for a file argument."""
    (tmp_path / "report.html").touch()

    assert offered(f"interchange {line}rep") == {"report.html"}


@pytest.mark.isolated
def test_commands_of_the_kit_are_completed_without_it(monkeypatch, request):
    """Commands of the kit are completed by name without it; their options need the kit."""
    monkeypatch.setattr(kit.importlib.util, "find_spec", lambda _: None)

    offered = request.getfixturevalue("offered")

    assert offered("interchange ch") == {"check"}
    assert offered("interchange ma") == {"matrix"}
    assert offered("interchange check --") == set()


def test_without_shtab_it_says_what_to_install(run_cli, monkeypatch):
    """Without shtab the error says what to install, and all other commands work."""
    monkeypatch.setitem(sys.modules, "shtab", None)

    done = run_cli("--print-completion", "bash")

    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "interchange: --print-completion needs shtab, which the extra `completion` installs; "
        f"install it with: {sys.executable} -m pip install shtab\n"
    )
    assert run_cli("inspect", "b'abc'").code == 0


def test_a_shell_that_is_unknown_is_refused(run_cli):
    """The error lists the known shells."""
    done = run_cli("--print-completion", "cmd")

    assert (done.code, done.out) == (2, "")
    assert all(shell in done.err for shell in completion.SHELLS)


@pytest.mark.isolated
def test_the_page_says_how_it_is_switched_on(tmp_path):
    """The lines of the page, run in a new home, enable completion in a new bash."""
    section = PAGE.read_text(encoding="utf-8").partition("\n## Completion\n")[2]
    section = section.partition("\n## ")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    home = {**os.environ, "HOME": str(tmp_path), "PATH": path}

    for block in blocks:
        subprocess.run([BASH, "-euc", block], env=home, timeout=60, check=True)
    done = subprocess.run(
        [BASH, "-ic", "complete -p interchange"],
        env=home, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.stdout.endswith(" interchange\n")
    assert (tmp_path / ".zfunc" / "_interchange").read_text().startswith("#compdef interchange\n")
    assert "complete interchange" in (tmp_path / ".interchange.tcsh").read_text()
