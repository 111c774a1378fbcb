"""Requests by name that cannot be fulfilled never end with success."""

from __future__ import annotations

import pytest

from interchange_conformance.driver.cuda import environment
from interchange_conformance.emucuda import building

ITEM = "make_returns_an_array"


@pytest.mark.usefixtures("need_no_gpu")
def test_a_real_driver_that_is_not_there_is_2(check, write_subject):
    """The error precedes the run, in which all results would be as expected."""
    code, out, err = check(write_subject(), "--cuda", "real")

    assert (code, out) == (2, "")
    assert "the real CUDA driver cannot be used: there is no CUDA" in err


@pytest.fixture
def need_no_gpu():
    """Skip the test if there is a driver."""
    import ctypes

    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    pytest.skip("there is a CUDA driver here")


def test_an_emulated_driver_that_does_not_start_is_2(check, write_subject, monkeypatch, tmp_path):
    """The driver was built, but the loader refuses it."""
    (tmp_path / building.LIBRARY).write_text("no library", encoding="utf-8")
    place = {**environment("none"), "INTERCHANGE_CONFORMANCE_CUDA": "emulated"}
    place["LD_LIBRARY_PATH"] = str(tmp_path)
    monkeypatch.setattr("interchange_conformance.driver.cuda.environment", lambda _: place)

    code, out, err = check(write_subject(), "--only", ITEM, "--cuda", "emulated")

    assert (code, out) == (2, "")
    assert "the emulated CUDA driver cannot be used" in err


@pytest.mark.parametrize(
    ("at_import", "words"),
    [
        ("import no_such_module_here", "No module named 'no_such_module_here'"),
        ("raise RuntimeError('odd')", "RuntimeError: odd"),
        ("os._exit(0)", "exit code 0"),
        ("os.abort()", "signal 6"),
    ],
)
def test_a_subject_that_does_not_import_is_2(check, write_subject, at_import, words):
    """This includes an import that exits with success."""
    code, _, err = check(write_subject("", at_import), "--only", ITEM)

    assert code == 2
    assert "could not be judged" in err
    assert words in err


def test_a_library_that_is_not_installed_is_2(check, write_subject):
    """Its description imports it before anything is judged."""
    text = "subject = Subject('absent', make=print, preload=('no_such_library',))"
    spec = write_subject("", text.replace("subject =", "absent ="))

    code, _, err = check(spec.replace(":subject", ":absent"), "--only", ITEM)

    assert code == 2
    assert "no_such_library does not import: ModuleNotFoundError" in err


ARROW = ("interchange", "--role", "arrow_producer", "--only", "methods_return_capsules")
NEEDS_CUDA = "make_leaves_the_current_device_alone"


@pytest.mark.parametrize(
    ("options", "shown", "words"),
    [
        (ARROW, "interchange", "nothing of what was asked applies to hostile"),
        (("--only", NEEDS_CUDA), "2 not applicable", "applies to hostile: needs a CUDA driver"),
        (("--only", ITEM, "--grid"), "", "--grid: there is nothing to hand over"),
        (("--python", "no-such-python"), None, "is no program"),
        (("--python", "/bin/true"), None, "is no interpreter"),
        (("--only", ITEM, "--cuda", "emulated"), None, "no-such-compiler is not a command"),
    ],
    ids=["no such role", "no driver", "no consumer", "no program", "no interpreter", "no compiler"],
)
def test_what_runs_nothing_is_2(check, write_subject, monkeypatch, options, shown, words):
    """Each named subject needs an item that applies, an interpreter and a driver are looked for."""
    monkeypatch.setenv("CC", "no-such-compiler")

    code, out, err = check(write_subject(), *options)

    assert code == 2
    assert out == "" if shown is None else shown in out
    assert words in err


def test_a_list_of_nothing_is_2(check):
    """The two options select no common item."""
    code, out, err = check("--list", "--only", "QUIRK,subject")

    assert (code, out) == (2, "")
    assert "there is nothing that --only and --role leave" in err
