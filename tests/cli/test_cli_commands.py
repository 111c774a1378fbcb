"""The command's grammar, its exit codes, and its output."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import interchange as ix
from interchange.cli import main
from interchange_conformance.matrix import exchanging, tables

ALWAYS = "numpy,stdlib,interchange"


def _child(*arguments, **options):
    """Run ``python -m interchange`` in its own process."""
    return subprocess.run(
        [sys.executable, "-m", "interchange", *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        **options,
    )


# ---------------------------------------------------------------- exit codes


def test_a_matrix_without_a_mistake_ends_with_0(run_cli):
    """A matrix without failures has exit code 0, a table, and an empty standard error."""
    done = run_cli("matrix", "--only", ALWAYS)

    assert (done.code, done.err) == (0, "")
    assert "24 hand-overs: 24 zero-copy, 0 copied, 0 refused, 0 failed." in done.out


def test_a_lying_library_ends_the_matrix_with_1(run_cli, add_liar):
    """One failed cell gives exit code 1, and the table shows it with the reason."""
    add_liar(lambda _, array: np.array(array))

    done = run_cli("matrix", "--only", ALWAYS)

    assert done.code == 1
    assert "9 failed" in done.out
    assert "a copy was made without a request" in done.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["matrix", "--only", "nothing"], "--only: 'nothing' is none of numpy, ml_dtypes,"),
        (["matrix", "--only", ""], "--only: '' is none of"),
        (["matrix", "--dtype", "float33"], "invalid choice: 'float33'"),
        (["matrix", "--only", "ml_dtypes"], "nothing to exchange"),
        (["matrix", "--json", "-", "--html", "-"], "only one report can go to -"),
        (["matrix", "--colour"], "unrecognized arguments: --colour"),
        (["exchange"], "invalid choice: 'exchange'"),
        (["inspect"], "write an expression, such as"),
    ],
)
def test_bad_arguments_end_with_2(run_cli, arguments, said):
    """Invalid arguments give exit code 2 and a message, and no other output."""
    if arguments[-1] == "ml_dtypes":
        pytest.importorskip("ml_dtypes", reason="a row without a column takes ml_dtypes")

    done = run_cli(*arguments)

    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_library_that_was_named_and_is_not_here_ends_with_2(run_cli, monkeypatch, kind_named):
    """A library named on the command line that is not installed gives exit code 2."""
    from dataclasses import replace

    ghost = replace(kind_named("NumPy"), name="Ghost", library="mlx", module="no_such_library")
    kinds = (*tables.kinds_of("cpu")[:1], ghost)
    monkeypatch.setattr(tables, "kinds_of", lambda _: kinds)

    done = run_cli("matrix", "--only", "numpy,mlx")

    assert (done.code, done.out) == (2, "")
    assert "--only names libraries that are not here: mlx (not installed)" in done.err


def test_an_interrupt_ends_with_130(run_cli, monkeypatch):
    """Ctrl-C ends the command with 130, without a traceback."""

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(exchanging, "run", interrupt)

    done = run_cli("matrix", "--only", ALWAYS)

    assert (done.code, done.out, done.err) == (130, "", "")


@pytest.mark.isolated
def test_a_reader_that_goes_away_ends_with_2():
    """A closed pipe, as after ``| head``, gives exit code 2 and no traceback."""
    command = [sys.executable, "-m", "interchange", "matrix", "--only", ALWAYS, "--json", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.close()
        err = child.stderr.read().decode()

    assert (child.returncode, err) == (2, "")


# ---------------------------------------------------------------- ways in


@pytest.mark.isolated
def test_the_module_runs_the_command():
    """``python -m interchange`` is the same command, and its result is the exit code."""
    done = _child("inspect", "b'abc'")

    assert (done.returncode, done.stdout.splitlines()[0], done.stderr) == (0, "bytes", "")
    assert _child("inspect", "no_such_module_at_all:x").returncode == 2


def test_the_version_is_printed(run_cli):
    """``--version`` prints the release and nothing else."""
    done = run_cli("--version")

    assert (done.code, done.out) == (0, f"{ix.__version__}\n")


PARSE = "import sys, interchange.cli\ninterchange.cli.parser()\n"
HEAVY = (
    "heavy = {'rich', 'shtab', 'jinja2', 'numpy', 'torch', 'jax', 'pyarrow', 'tvm_ffi', 'warp',"
    " 'ml_dtypes'}\nprint(sorted(heavy & set(sys.modules)))"
)
OF_THE_KIT = (
    "print(sorted(one for one in sys.modules if one.startswith('interchange_conformance.')))"
)
LIGHT = [
    f"interchange_conformance.{name}"
    for name in ("cli", "cli.options", "registry", "reports", "reports.files", "reports.pages")
]
NONE_YET = (
    "import sys, interchange.cli\n"
    "print([one for one in sys.modules if one.startswith('interchange_conformance')])"
)


@pytest.mark.isolated
@pytest.mark.parametrize(
    ("program", "loaded"),
    [
        (PARSE + HEAVY, []),
        (NONE_YET, []),
        (PARSE + OF_THE_KIT, [*LIGHT, "interchange_conformance.reports.texts"]),
    ],
    ids=["heavy", "kit, before", "kit"],
)
def test_the_command_imports_nothing_that_it_does_not_need(run_isolated, program, loaded):
    """Parsing imports no rich, shtab or array library, and of the kit only the options."""
    assert run_isolated(program) == f"{loaded}\n"


# ---------------------------------------------------------------- without rich


MODULE = ("-m", "interchange")
NO_RICH = (
    "import sys; sys.modules |= dict.fromkeys(['rich', 'rich.console', 'rich.text'])\n"
    "from interchange.cli import main; sys.exit(main(sys.argv[1:]))"
)


@pytest.mark.parametrize("arguments", [["matrix", "--only", ALWAYS], ["--no-import"]])
def test_tables_are_the_same_without_rich(run_cli, monkeypatch, arguments):
    """rich adds colours, and no text."""
    with_rich = run_cli(*arguments)
    for name in ("rich", "rich.console", "rich.text"):
        monkeypatch.setitem(sys.modules, name, None)

    without = run_cli(*arguments)

    assert (without.code, without.out) == (0, with_rich.out)


@pytest.mark.isolated
def test_a_terminal_without_rich_gets_plain_text():
    """Without rich a terminal gets a table of its width, without colours and progress."""
    shown = _on_a_terminal("matrix", "--only", ALWAYS, program=("-c", NO_RICH))

    assert "24 hand-overs: 24 zero-copy" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["matrix", "--only", ALWAYS, "--json", "-"],
        ["matrix", "--only", ALWAYS, "--markdown", "-"],
        ["inspect", "b'abc'"],
        ["--json", "--no-import"],
    ],
)
def test_no_report_takes_rich(run_cli, monkeypatch, arguments):
    """No report needs rich, or other packages that interchange does not install."""
    monkeypatch.setitem(sys.modules, "rich", None)

    assert run_cli(*arguments).code == 0


# ---------------------------------------------------------------- the terminal


@pytest.mark.parametrize("width", [None, 30, 60, 200])
def test_the_table_fits_the_terminal(run_cli, monkeypatch, width):
    """Columns that do not fit are in a table below, and no row is cut; by default they are 100."""
    if width:
        monkeypatch.setenv("COLUMNS", str(width))

    done = run_cli("matrix", "--only", ALWAYS)

    assert max(map(len, done.out.splitlines())) <= (width or 100)
    assert done.out.count("●") == 24 * 1 + 1  # one per transfer, one in the legend
    assert "…" not in done.out
    assert ("\x1b" in done.out, done.err) == (False, "")  # no terminal: no colours, no progress


@pytest.mark.isolated
@pytest.mark.parametrize(
    ("options", "shown"), [((), "= zero-copy"), (("--markdown", "-"), "zero-copy")]
)
def test_an_encoding_without_symbols_gets_ascii(options, shown):
    """The table uses ASCII; in Markdown, characters that cannot be encoded are replaced."""
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}

    done = _child("matrix", "--only", "numpy,stdlib", *options, env=ascii_only)

    assert (done.returncode, done.stderr) == (0, "")
    assert shown in done.stdout


def _on_a_terminal(*arguments, program=MODULE, **env):
    """Return the terminal output of a command, standard output and error together."""
    import pty

    master, slave = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, *program, *arguments],
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **env},
    )
    os.close(slave)
    parts = []
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # how Linux reports that the other side is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(master)
    assert child.wait(timeout=60) == 0
    return b"".join(parts).decode()


@pytest.mark.isolated
@pytest.mark.parametrize(("no_color", "has_colour"), [("", True), ("1", False)])
def test_a_terminal_sees_progress_and_colour(no_color, has_colour):
    """A terminal gets a progress bar and coloured verdicts; NO_COLOR leaves no colour."""
    shown = _on_a_terminal("matrix", "--only", ALWAYS, NO_COLOR=no_color)

    assert "importing NumPy" in shown or not has_colour
    assert "●" in shown
    assert ("\x1b[32m●" in shown) == has_colour


# ---------------------------------------------------------------- versions


def test_versions_name_the_core_and_the_libraries(run_cli):
    """`versions` lists release, core, DLPack, Python, NumPy, and a row for each kind of array."""
    done = run_cli()

    assert done.code == 0
    assert f"core         {ix.core_name}" in done.out
    assert f"NumPy        {np.__version__}" in done.out
    assert "array.array" in done.out
    assert "imported to see what they support" in done.out


@pytest.mark.parametrize(
    ("name", "refused", "line"),
    [
        ("native", {}, "native"),
        ("ctypes", {}, "ctypes (no better one was looked for)"),
        ("ctypes", {"native": "it is not here"}, "ctypes (it is not here)"),
    ],
)
def test_versions_say_why_a_better_core_is_not_in_use(run_cli, monkeypatch, name, refused, line):
    """For the best core no reason is shown; for another one the reason is."""
    from interchange import _core

    monkeypatch.setattr(ix, "core_name", name)
    monkeypatch.setattr(_core, "core_name", name)
    monkeypatch.setattr(_core, "refused", refused)

    assert f"core         {line}\n" in run_cli("--no-import").out


@pytest.mark.isolated
def test_a_core_that_is_not_built_does_not_look_broken(run_isolated):
    """One line lists what works without the native core, and what does not."""
    script = """
import sys
sys.modules["interchange._core._native"] = None
from interchange.cli import main
main(["--no-import"])
"""
    words = " ".join(run_isolated(script).split())

    assert (
        " core ctypes (the native core is not built here; without it all works, slower, but"
        " exports to Arrow and what C code calls)" in words
    )


def test_versions_as_json_have_the_protocols_of_each_library(run_cli):
    """Each kind of array has one JSON entry with a value for every protocol."""
    done = run_cli("--json")

    told = json.loads(done.out)
    speech = {library["name"]: library for library in told["libraries"]}
    assert told["numpy"] == np.__version__
    assert speech["bytes"] == {
        "name": "bytes",
        "version": "{}.{}.{}".format(*sys.version_info),
        "dlpack_in": False,
        "dlpack_out": None,
        "table": None,
        "array_interface": False,
        "buffer": True,
        "array": False,
        "cai": False,
    }
    assert (speech["NumPy"]["dlpack_in"], speech["NumPy"]["dlpack_out"]) == (True, "1.0")


NO_IMPORT = """
import sys
from interchange.cli import main
main(['--no-import', '--json'])
print(sorted({'numpy', 'ml_dtypes', 'array_api_strict', 'pyarrow'} & set(sys.modules)))
"""


@pytest.mark.isolated
def test_no_import_imports_no_array_library(run_isolated):
    """`--no-import` finds the installed libraries without importing them."""
    text, _, modules = run_isolated(NO_IMPORT).rstrip("\n").rpartition("\n")

    assert json.loads(text)["versions"]["numpy"] == np.__version__
    assert modules == "[]"


def test_main_reads_the_arguments_of_the_process(monkeypatch, capsys):
    """The installed command uses the arguments of the process."""
    monkeypatch.setattr(sys, "argv", ["interchange", "inspect", "b'abc'"])

    assert main() == 0
    assert capsys.readouterr().out.startswith("bytes")


def test_who_computes_is_said(run_cli):
    """NumPy on the host, always."""
    line = next(
        line for line in run_cli("--no-import").out.splitlines() if line.startswith("computing")
    )

    assert "cpu: numpy" in line
