"""The pytest plugin adds a test for each item, with its result as the outcome."""

from __future__ import annotations

import textwrap
import xml.etree.ElementTree as ET

import pytest

pytest_plugins = ["pytester"]

SUBJECT = """
import os, time
from interchange_conformance.subject import Subject
from interchange_conformance.zoo import host

def make(shape, dtype, device, readonly):
    if dtype == "int64": print("made one")
    if dtype == "bool": os.abort()
    if dtype == "uint8": raise SystemExit
    return host(shape, dtype if dtype != "float64" else "float32")

subject = Subject("mine", make=make)
"""
CHECK = "make_gives_the_dtype_that_it_was_asked_for"
ONLY = f"--interchange-only={CHECK}"
KNOWN = f"""
[[failure]]
check = "{CHECK}[bool]"
reason = "it aborts"
link = "https://example.org/1"
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Return a function that runs pytest in a separate process, in an empty directory."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(mylib=SUBJECT)

    def run_pytest(*arguments, subject="mylib:subject", known=None):
        given = [f"--interchange-subject={subject}"] if subject else []
        if known:
            pytester.path.joinpath("known.toml").write_text(known, encoding="utf-8")
            given.append("--interchange-expected=known.toml")
        ours = ["-p", "interchange_conformance.plugin", "-p", "no:cacheprovider", *given]
        return pytester.runpytest_subprocess(*ours, *arguments)

    return run_pytest


def test_each_item_is_a_test(run):
    """Its id consists of the names of the subject and the item."""
    done = run(ONLY, "-v")

    done.stdout.fnmatch_lines_random(
        [
            f"mylib:subject::{CHECK}[[]float32] PASSED*",
            f"mylib:subject::{CHECK}[[]float64] FAILED*",
            f"mylib:subject::{CHECK}[[]bool] FAILED*",
        ]
    )
    done.assert_outcomes(passed=3, failed=3)
    done.stdout.fnmatch_lines(["*collected 6 items"])


def test_a_failure_tells_all(run):
    """The failure has evidence, output, requirement, advice and the command."""
    done = run(ONLY, "-k", "float64 or bool")

    done.stdout.fnmatch_lines_random(
        [
            "FAIL*mine unknown: *float64*",
            "due     An array that make() returns has the requested element type.",
            "found   make() was asked for float64: __dlpack__ says float32*",
            "do      Make an array of the element type*",
            "rule    *IX-SUBJECT-1, MUST*",
            f"again   interchange check mylib:subject --only '{CHECK}[[]float64]'",
            "found   SIGABRT ended the process*",
            "Fatal Python error: Aborted",
        ]
    )
    assert "plugin.py" not in done.stdout.str()


def test_what_is_not_applicable_is_skipped(run, pytester):
    """The reason is shown."""
    text = SUBJECT.replace('print("made one")', "raise CannotMakeError('no integers')")
    text += "\nfrom interchange_conformance.findings import CannotMakeError"
    pytester.makepyfile(mylib=text)

    done = run(ONLY, "-k", "int64", "-rs")

    done.assert_outcomes(skipped=1, deselected=5)
    done.stdout.fnmatch_lines(["SKIPPED*: no int64 of shape (2, 3) on cpu: no integers"])


def test_a_known_failure_is_an_expected_one(run):
    """The test is xfailed, with its reason and link."""
    done = run(ONLY, "-rx", known=KNOWN)

    done.assert_outcomes(passed=3, failed=2, xfailed=1)
    done.stdout.fnmatch_lines(["XFAIL *bool* - it aborts https://example.org/1"])


def test_a_known_failure_that_passes_fails(run):
    """The user is asked to remove the entry."""
    done = run(ONLY, "-k", "float32", known=KNOWN.replace("bool", "float32"))

    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*XPASS(strict)* it aborts https://example.org/1"])


def test_another_failure_than_the_known_one_fails(run):
    """The entry may name the known status."""
    run(ONLY, "-k", "bool", known=f"{KNOWN}status = 'hang'").assert_outcomes(failed=1)


def test_the_tests_of_a_project_run_too(run, pytester):
    """The usual options select from both."""
    pytester.makepyfile("def test_float32(): pass\ndef test_other(): pass")

    run(ONLY, "-k", "float32").assert_outcomes(passed=2, deselected=6)


def test_the_first_failure_may_be_the_last(run, pytester):
    """This is pytest's -x; a report of JUnit has each item, and failures with their evidence."""
    run(ONLY, "-x", "--junitxml=report.xml").assert_outcomes(passed=1, failed=1)

    cases = ET.parse(pytester.path / "report.xml").getroot().findall(".//testcase")  # noqa: S314
    assert [case.get("name") for case in cases] == [f"{CHECK}[float32]", f"{CHECK}[float64]"]
    assert "asked for float64" in cases[1].find("failure").text


def test_items_are_spread_over_processes(run):
    """Each process of pytest-xdist has a separate pool."""
    pytest.importorskip("xdist")

    run(ONLY, "-p", "xdist", "-n", "2").assert_outcomes(passed=3, failed=3)


def test_a_subject_that_cannot_be_judged_fails_one_test(run, pytester):
    """The other subjects are judged."""
    pytester.makepyfile(broken="import no_such_module_here")

    done = run(ONLY, "--interchange-subject=broken:subject")

    done.assert_outcomes(passed=3, failed=4)
    done.stdout.fnmatch_lines(["*No module named 'no_such_module_here'*"])


def test_items_can_be_listed(run):
    """The items are not run."""
    done = run(ONLY, "--collect-only", "-q")

    done.stdout.fnmatch_lines([f"mylib:subject::{CHECK}[[]float32]"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--interchange-only=nothing"], "'nothing' is no severity"),
        (["--interchange-expected=missing.toml"], "missing.toml"),
        (["--interchange-subject=numpy", "--interchange-expected=x"], "the file of one subject"),
        (["--interchange-subject=nothing"], "there is no subject 'nothing'"),
        (["--interchange-only=QUIRK,subject"], "there is nothing to judge it by"),
        (["--interchange-python=no-such-python"], "'no-such-python' is no program"),
    ],
)
def test_what_cannot_be_done_is_reported(run, arguments, words):
    """The message is a usage error without a traceback."""
    done = run(*arguments)

    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"ERROR: *{words}*"])


def test_a_stale_entry_is_reported(run):
    """This holds for a complete run."""
    done = run(known=KNOWN.replace(CHECK, "no_such_check"))

    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["ERROR: *'no_such_check[[]bool]' is no check or case*"])


@pytest.mark.parametrize("option", [
    ONLY, "--interchange-expected=x.toml", "--interchange-cuda=real", "--interchange-python=x",
    "--interchange-fail-on-quirks",
])  # fmt: skip
def test_options_without_a_subject_are_refused(run, pytester, option):
    """Otherwise the run would succeed without judging anything."""
    pytester.makepyfile("def test_one(): pass")

    done = run(option, subject=None)

    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["ERROR: *name what is to be judged with --interchange-subject"])


def test_a_quirk_is_an_expected_failure(run, pytester):
    """The standards allow it, unless an option makes it fail."""
    text = """
        class Any:
            def __init__(self, x): self.x = x
            def __dlpack_device__(self): return (1, 0)
            def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
                return self.x.__dlpack__(max_version=max_version)
    """
    pytester.makepyfile(mylib=SUBJECT.replace("return host(", "return Any(host(").replace(
        '"float32")', '"float32"))') + textwrap.dedent(text))  # fmt: skip
    only = "--interchange-only=devices_in_a_list_are_refused"

    done = run(only, "-rx")
    done.assert_outcomes(xfailed=1)
    done.stdout.fnmatch_lines(["XFAIL *QUIRK, which the standards allow: *"])
    run(only, "--interchange-fail-on-quirks").assert_outcomes(failed=1)


def test_arrays_that_are_of_no_use_are_one_test(run, pytester):
    """All other tests would have the same result."""
    pytester.makepyfile(mylib=SUBJECT.replace("return host(", "os.abort(); return host("))

    done = run("--interchange-only=MUST", "-v")

    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*::make_returns_an_array FAILED*"])


def test_without_a_subject_nothing_is_added(run, pytester):
    """pytest loads the plugin in every run if it is installed."""
    pytester.makepyfile("def test_one(): pass")

    run(subject=None).assert_outcomes(passed=1)


def test_to_load_the_plugin_costs_little(run_isolated):
    """It imports pytest, but neither the checks nor NumPy."""
    loaded = run_isolated("import sys, interchange_conformance.plugin\nprint(*sys.modules)").split()

    assert [name for name in loaded if name == "numpy" or name.startswith("interchange.")] == []
    assert [name for name in loaded if name.startswith("interchange_conformance.")] == [
        "interchange_conformance.plugin"
    ]
