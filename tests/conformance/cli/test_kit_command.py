"""The check command: its output, its files and its exit codes."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from interchange_conformance.cli import command
from interchange_conformance.judging import judge
from interchange_conformance.registry import load_checks
from interchange_conformance.running.loading import shipped

ITEM = "make_returns_an_array"
REPORTS = ("json", "markdown", "junit", "html", "badge")


@pytest.fixture
def known(tmp_path):
    """Return a function that writes a file of known failures for checks."""

    def write(*checks):
        path = tmp_path / "known.toml"
        entries = [f"[[failure]]\ncheck = '{one}'\nreason = 'so it is'\n" for one in checks]
        path.write_text("".join(entries), encoding="utf-8")
        return path

    return write


def program(*arguments):
    """Return the command line that runs the command in a separate process."""
    return [sys.executable, "-m", "interchange_conformance", "check", *map(str, arguments)]


# ---------------------------------------------------------------- exit codes


def test_all_as_expected_is_0_and_a_failure_is_1(check, write_subject):
    """A summary is printed, and the evidence of a failure."""
    code, out, err = check(write_subject(), "--only", ITEM)
    failed, told, _ = check(write_subject("print('made')"), "--only", "make_prints_nothing")

    assert (code, err, failed) == (0, "", 1)
    assert "hostile  1 pass" in out
    assert "made" in told


def test_a_subject_that_cannot_be_judged_is_2(check, write_subject):
    """The other subjects are judged."""
    broken, sound = write_subject("", "import no_such_module_here"), write_subject()

    code, out, err = check(broken, sound, "--only", ITEM)

    assert code == 2
    assert "could not be judged" in out
    assert "could not be judged" in err
    assert "no_such_module_here" in out
    assert "  1 pass" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name a subject"),
        (
            ["no-such-library"],
            "there is no subject 'no-such-library'; write module:name, or",
        ),
        (["numpy", "--only", "nothing"], "'nothing' is no severity"),
        (["numpy", "--expected", "/nowhere/known.toml"], "/nowhere/known.toml"),
        (["numpy", "torch", "--expected", "known.toml"], "--expected is the file of one subject"),
        (["numpy", "--json", "-", "--html", "-"], "only one report can go to -"),
        (["numpy", "--json", "x/../x", "--html", "x"], "only one report can go to x"),
        (["numpy", "--json", "/nowhere/report.json"], "there is no directory /nowhere"),
        (["numpy", "--json", "/"], "it is a directory"),
        (["numpy", "--role", "arrow_producer", "--only", ITEM], "there is nothing that --only and"),
        (["numpy", "-j", "0"], "it is at least 1"),
        (["numpy", "-j", "two"], "invalid"),
        (["numpy", "--patience", "0"], "it is more than 0"),
        (["numpy", "--patience", "nan"], "it is more than 0"),
        (["numpy", "--cuda", "fake"], "invalid choice: 'fake'"),
        (["numpy", "--expected", "x", "--no-expected"], "not allowed with"),
    ],
)
def test_what_cannot_be_done_is_2(check, arguments, words):
    """The reason is printed on standard error."""
    code, out, err = check(*arguments)

    assert (code, out) == (2, "")
    assert words in err


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--json missing/report.json", "missing"),
        ("--html report.html", "--html: pages need Jinja2, which is not installed; install it"),
        ("--expected known.toml", "failure 1: it has no check"),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_run(
    check, write_subject, tmp_path, monkeypatch, option, words
):
    """The library is not imported for a folder, a package or an entry that is wrong."""
    monkeypatch.setitem(sys.modules, "jinja2", None)
    spec = write_subject("", "(HERE / 'imported').touch()")
    (tmp_path / "known.toml").write_text("[[failure]]\nreason = 'x'", encoding="utf-8")

    name, _, file = option.partition(" ")
    code, _, err = check(spec, name, tmp_path / file)

    assert code == 2
    assert words in err
    assert not (tmp_path / "imported").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_a_report_that_finds_no_room_is_2(check, write_subject, tmp_path):
    """The other reports are written."""
    files = ("--json", "/dev/full", "--badge", tmp_path / "badge.json")

    code, out, err = check(write_subject(), "--only", ITEM, *files)

    assert code == 2
    assert "/dev/full" in err
    assert "No space left" in err
    assert "1 pass" in out
    assert json.loads((tmp_path / "badge.json").read_text())["schemaVersion"] == 1


def test_a_directory_that_goes_away_is_2(check, write_subject, tmp_path):
    """The results are printed, and no partial file is left."""
    (tmp_path / "reports").mkdir()
    spec = write_subject("shutil.rmtree(HERE / 'reports', ignore_errors=True)", "import shutil")

    code, out, err = check(spec, "--only", ITEM, "--json", tmp_path / "reports" / "report.json")

    assert code == 2
    assert "there is no directory" in err
    assert "1 pass" in out


# ---------------------------------------------------------------- known failures


def test_a_known_failure_is_as_expected(check, write_subject, known):
    """The exit code is 0."""
    spec = write_subject("print('made')")
    path = known("make_prints_nothing")

    assert check(spec, "--only", "make_prints_nothing")[0] == 1
    assert check(spec, "--only", "make_prints_nothing", "--expected", path)[0] == 0
    assert check(spec, "--only", "make_prints_nothing", "--no-expected")[0] == 1


STALE = "'take_prints_nothing' is no check or case by which the subject is judged"
NO_CHECK = "'no_such_check' is no check or case that there is"


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ((ITEM, "--only", ITEM), 1, "so it is"),
        (("take_prints_nothing", "--only", ITEM), 0, "1 pass"),
        (("take_prints_nothing",), 2, STALE),
        (("no_such_check", "--only", ITEM), 2, NO_CHECK),
    ],
    ids=["passes", "other item", "stale", "no check"],
)
def test_an_entry_to_remove_is_reported(check, write_subject, known, asked, code, words):
    """A failure that passes is 1; a stale entry of a complete run, or of no check, is 2."""
    entry, *options = asked
    found, out, err = check(write_subject(), *options, "--expected", known(entry))

    assert found == code
    assert words in out + err


# ---------------------------------------------------------------- items that are run

_PRINTS = "make_prints_nothing"
_TAKING = """
def abort(*_): os.abort()
both = Subject("both", make=abort, take=lambda x: x, read=lambda y: [0] * 6)
"""


def test_a_function_is_judged(check, tmp_path, monkeypatch):
    """No description is needed."""
    text = "from interchange_conformance.zoo import host\ndef make_array(): return host()\n"
    (tmp_path / "raw_function.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    code, out, _ = check("raw_function:make_array", "--only", "subject")

    assert code == 0
    assert "raw_function:make_array  " in out
    assert "pass" in out


def test_the_first_failure_may_be_the_last(check, write_subject, tmp_path):
    """--fail-fast also applies to subjects."""
    bad, sound = write_subject("print('made')"), write_subject()

    check(bad, sound, "--only", _PRINTS, "--fail-fast", "-j", "1", "--json", tmp_path / "report")

    report = json.loads((tmp_path / "report").read_text())
    assert [subject["spec"] for subject in report["subjects"]] == [bad]
    assert len(report["subjects"][0]["results"]) == 1


@pytest.mark.exhaustive(but=["exits", "crashes", "old-name"])
@pytest.mark.parametrize(
    ("in_make", "rule", "words"),
    [
        ("os._exit(3)", "IX-SUBJECT-1", "the process was ended"),
        ("raise SystemExit(3)", "IX-SUBJECT-1", "SystemExit(3) was raised"),
        ("os.kill(os.getpid(), 11)", "IX-SUBJECT-1", "SIGSEGV"),
        ("raise KeyError('no')", "IX-SUBJECT-1", "KeyError"),
        ("shape = (7,)", "IX-SUBJECT-1", "was asked for the shape (2, 3)"),
        ("shape = shape[::-1]", "IX-SUBJECT-1", "of shape (3, 2), which is the other way round"),
        (
            "return host(shape, dtype).but(generation='legacy', name=b'dltensor_versioned')",
            "DLP-CAP-1",
            "read as DLManagedTensorVersioned, as the name",
        ),
        (
            "return host(shape, dtype).but(generation='versioned', name=b'dltensor')",
            "DLP-CAP-1",
            "read as DLManagedTensor, as the name",
        ),
    ],
    ids=["ends", "exits", "crashes", "raises", "other-shape", "turned", "new-name", "old-name"],
)
def test_arrays_that_are_of_no_use_are_one_finding(check, write_subject, in_make, rule, words):
    """The finding has a rule id; other checks are skipped, and the next subject is judged."""
    code, out, _ = check(write_subject(in_make), write_subject(), "--only", f"{_PRINTS},{ITEM}")

    assert code == 1
    assert "could not be judged" not in out
    assert "hostile  1 unexpected (" in out
    assert f"[{rule}, MUST]" in out
    assert words in " ".join(out.split())
    assert "2 pass" in out


def test_arrays_that_are_of_no_use_are_not_handed_over(check, tmp_path, monkeypatch):
    """The grid would repeat the finding for each consumer."""
    text = _READING + "def abort(*_): import os; os.abort()\ncrash = Subject('crash', make=abort)\n"
    (tmp_path / "reading.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    given = ("--only", ITEM, "--grid", "-j", "1", "--json", tmp_path / "report.json")

    code, out, _ = check("reading:subject", "reading:crash", *given)

    assert code == 1
    assert "crash  1 unexpected (" in " ".join(out.split(" "))
    grid = json.loads((tmp_path / "report.json").read_text())["grid"]
    assert [(one["producer"], one["consumer"]) for one in grid] == [("right", "right")]


def test_what_arrays_cannot_be_judged_by_leaves_the_rest(check, write_subject):
    """Imports of a library whose arrays crash are judged."""
    spec = write_subject("os.abort()", _TAKING)

    code, out, _ = check(spec.replace(":subject", ":both"), "--only", "subject")

    assert code == 1
    assert "CRASH" in out
    assert "pass" in out.partition("\n")[0]


def test_a_subject_is_judged_once(check, write_subject):
    """A subject that is named repeatedly is judged once."""
    spec = write_subject()

    assert check(spec, spec, "--only", ITEM)[1].count("hostile") == 1


def test_all_is_what_is_installed(monkeypatch):
    """``all`` means the installed libraries that the kit knows."""
    monkeypatch.setattr(judge, "shipped", lambda: {
        "numpy": shipped()["numpy"], "cupy": shipped()["cupy"]})  # fmt: skip
    found = judge.installed()

    assert found[-1] == "numpy"
    assert set(found) <= {"numpy", "cupy"}


def test_items_are_listed(check):
    """Each line has an item with role, rule, severity and area."""
    code, out, _ = check("--list", "--only", "IX-SUBJECT-1")

    lines = out.splitlines()
    checks = [check for check in load_checks().values() if check.rule == "IX-SUBJECT-1"]
    assert code == 0
    assert len(lines) == sum(len(list(check.items())) for check in checks)
    assert lines[0].split()[:4] == [ITEM, "producer", "IX-SUBJECT-1", "MUST"]


def test_items_of_a_subject_are_listed(check, write_subject):
    """The items are those of its roles; a subject that cannot be judged has none."""
    code, out, _ = check("--list", write_subject(), "--only", "subject")

    assert code == 0
    assert {line.split()[1] for line in out.splitlines()} == {"producer"}
    assert check("--list", write_subject("", "import no_such_module_here"))[0] == 2


_READING = """
import struct
from interchange_conformance.probes.opened_capsule import OpenedCapsule
from interchange_conformance.subject import Subject
from interchange_conformance.zoo import host

def make(shape, dtype, device, readonly): return host(shape, dtype)
def take(x): return OpenedCapsule(x.__dlpack__(max_version=(1, 3)))
def read(y): return [struct.unpack("f", one)[0] for one in y.read()]

subject = Subject("right", make=make, take=take, read=read)
wrong = Subject("wrong", take=take, read=lambda y: read(y)[::-1])
"""


def test_an_array_that_arrives_wrong_is_1(check, tmp_path, monkeypatch):
    """A wrong array in the grid is unexpected, like a failed check."""
    (tmp_path / "reading.py").write_text(_READING, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    specs = ["reading:subject", "reading:wrong"]

    code, out, _ = check(*specs, "--only", ITEM, "--grid", "-j", "1")

    assert code == 1
    assert "right to wrong [the grid]" in out
    assert "right to right" not in out
    assert check(specs[0], "--only", ITEM, "--grid", "-j", "1")[0] == 0


# ---------------------------------------------------------------- reports


def test_every_report_is_written(check, write_subject, tmp_path):
    """All reports are complete at the end of the run."""
    files = {name: tmp_path / f"report.{name}" for name in REPORTS}
    options = [word for name, file in files.items() for word in (f"--{name}", file)]

    code, _, err = check(write_subject(), "--only", ITEM, *options)

    assert (code, err) == (0, "")
    assert set(command.REPORTS) == set(REPORTS)
    assert all(file.stat().st_size > 100 for file in files.values())
    assert json.loads(files["json"].read_text())["subjects"][0]["name"] == "hostile"
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_report_may_go_to_standard_output(check, write_subject):
    """Nothing else is written to standard output then."""
    code, out, _ = check(write_subject(), "--only", ITEM, "--json", "-")

    assert code == 0
    assert json.loads(out)["driver"] == "none"


def test_the_driver_is_in_the_report(check, write_subject, need):
    """The number of jobs is that of the cores, or the one requested."""
    need("cuda.bindings")

    code, out, _ = check(
        write_subject(), "--only", ITEM, "--cuda", "emulated", "-j", "1", "--json", "-"
    )

    assert code == 0
    assert json.loads(out)["driver"] == "emulated"


# ---------------------------------------------------------------- separate process


def test_an_interruption_is_130(write_subject, tmp_path, is_gone):
    """The child process is terminated."""
    spec = write_subject("(HERE / 'child').write_text(str(os.getpid())); time.sleep(60)")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    process = subprocess.Popen(program(spec, "--only", ITEM), env=environment)
    mark = tmp_path / "child"
    while not (mark.exists() and mark.read_text()):
        time.sleep(0.01)

    process.send_signal(signal.SIGINT)

    assert process.wait(20) == 130
    assert is_gone(int(mark.read_text()))


@pytest.mark.parametrize("is_list", [True, False], ids=["list", "report"])
def test_a_reader_that_goes_away_is_no_error_of_ours(write_subject, tmp_path, is_list):
    """A closed pipe, as with ``head``, gives no traceback, also before the report is written."""
    process = subprocess.Popen(
        program("--list") if is_list else program(write_subject(), "--only", ITEM),
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process.stdout, process.stderr:
        if is_list:
            process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()

    assert errors == b""
    assert process.wait(20) == 2


@pytest.mark.parametrize("with_rich", [True, False])
def test_a_terminal_shows_how_far_it_is(write_subject, tmp_path, with_rich):
    """A bar is shown with rich, lines without it; the report is still on standard output."""
    spec = write_subject("print('made')")
    text = "import sys; sys.modules |= {} if %r else {'rich': None}; from interchange_conformance"
    text += ".cli.command import main; sys.exit(main(sys.argv[1:]))"
    ours, theirs = pty.openpty()
    options = [spec, "--only", "make_prints_nothing"]
    process = subprocess.Popen(
        [sys.executable, "-c", text % with_rich, "check", *options],
        env={**os.environ, "PYTHONPATH": str(tmp_path), "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            chunk = os.read(ours, 1000)
        except OSError:  # the other end is closed
            break
        shown += chunk
    os.close(ours)

    assert "hostile  1 unexpected" in process.communicate()[0]
    assert process.returncode == 1
    assert b"hostile" in shown
    assert (b"\x1b[" in shown) == with_rich
    assert (b"not as expected: make_prints_nothing" in shown) == (not with_rich)
