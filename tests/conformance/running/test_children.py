"""The exit of a child is part of its result if requested, and its last note is evidence."""

from __future__ import annotations

import json
import textwrap

import pytest

_SCRIPT = """
import atexit, ctypes, json, os, sys, threading, time
from interchange_conformance.findings import note
from interchange_conformance.running.children import run_in_child

def work():
{body}

print(json.dumps(run_in_child(work, 1.0, ends={ends})), flush=True)
"""


@pytest.fixture
def end_of(run_isolated):
    """Return a function that runs work in a child, and returns the verdict."""

    def run(body, *, ends=True):
        text = _SCRIPT.format(
            body=textwrap.indent(textwrap.dedent(body).strip(), "    "), ends=ends
        )
        return json.loads(run_isolated(text))

    return run


PASSES = "return 'pass', ''"


def test_a_good_end_is_a_pass(end_of):
    """Functions that are registered with atexit run, and the result is kept."""
    verdict = end_of(f"atexit.register(print, 'at exit')\n{PASSES}")

    assert (verdict["status"], verdict["output"]) == ("pass", "at exit\n")


def test_where_no_end_is_asked_for_none_comes(end_of):
    """The process is terminated as soon as the work is done."""
    verdict = end_of(f"atexit.register(print, 'at exit')\n{PASSES}", ends=False)

    assert (verdict["status"], verdict["output"]) == ("pass", "")


@pytest.mark.parametrize(
    ("at_exit", "status", "evidence"),
    [
        ("atexit.register(os._exit, 3)", "exit", "exit code 3, when the check was over"),
        ("atexit.register(ctypes.string_at, 0)", "crash", "SIGSEGV ended the process, when"),
        ("atexit.register(time.sleep, 60)", "hang", "after its time, when the check was over"),
        ("threading.Thread(target=time.sleep, args=(60,)).start()", "hang", "after its time, when"),
    ],
)
def test_a_bad_end_after_a_pass_is_the_verdict(end_of, at_exit, status, evidence):
    """The interpreter did not exit properly."""
    verdict = end_of(f"{at_exit}\n{PASSES}")

    assert verdict["status"] == status
    assert evidence in verdict["evidence"]


def test_a_bad_end_after_a_failure_hides_nothing(end_of):
    """The failure that was found is kept."""
    verdict = end_of("atexit.register(os._exit, 3)\nreturn 'fail', 'found'")

    assert (verdict["status"], verdict["evidence"]) == ("fail", "found")


@pytest.mark.parametrize(
    ("end", "evidence"),
    [
        ("ctypes.string_at(0)", "SIGSEGV ended the process while reading"),
        ("os._exit(4)", "the process was ended with exit code 4 while reading"),
        ("time.sleep(60)", "the process was still running after its time while reading"),
    ],
)
def test_the_last_note_is_evidence(end_of, end, evidence):
    """The note has the step during which the process ended."""
    verdict = end_of(f"note('making')\nnote('reading')\n{end}", ends=False)

    assert verdict["evidence"] == evidence


def test_notes_may_be_anything(end_of):
    """Long notes, line breaks and lone surrogates are accepted."""
    verdict = end_of("note('{\"status\": 1}\\n\\udc80' * 100000)\nos._exit(1)", ends=False)

    assert verdict["status"] == "exit"
    assert len(verdict["evidence"]) < 1000


def test_notes_without_end_take_no_memory(end_of):
    """Only the last note is kept."""
    verdict = end_of("while True: note('x' * 500)", ends=False)

    assert verdict["status"] == "hang"


def test_children_of_the_child_say_nothing(end_of):
    """Their notes are ignored."""
    body = """
        note("mine")
        if os.fork() == 0:
            note("theirs")
            os._exit(0)
        os.wait()
        os._exit(1)
        """

    assert end_of(body, ends=False)["evidence"].endswith(" while mine")


def test_an_error_of_ours_is_no_verdict_of_pass(end_of):
    """Work must not raise; if it does, it has no verdict."""
    verdict = end_of("raise RuntimeError('of the kit')", ends=False)

    assert verdict["status"] == "exit"
    assert "RuntimeError: of the kit" in verdict["output"]
