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


@pytest.mark.parametrize("ends", [True, False])
def test_a_good_end_is_a_pass(end_of, ends):
    """Functions that are registered with atexit run if requested; else the process ends at once."""
    verdict = end_of(f"atexit.register(print, 'at exit')\n{PASSES}", ends=ends)

    assert (verdict["status"], verdict["output"]) == ("pass", "at exit\n" * ends)


FORK = """
note("mine")
if os.fork() == 0:
    note("theirs")
    os._exit(0)
os.wait()
os._exit(1)
"""
NOTED = "note('making')\nnote('reading')\n"


@pytest.mark.parametrize(
    ("body", "ends", "status", "evidence"),
    [
        (f"atexit.register(os._exit, 3)\n{PASSES}", True, "exit",
         "exit code 3, when the check was over"),
        (f"atexit.register(ctypes.string_at, 0)\n{PASSES}", True, "crash",
         "SIGSEGV ended the process, when"),
        (f"atexit.register(time.sleep, 60)\n{PASSES}", True, "hang",
         "after its time, when the check was over"),
        (f"threading.Thread(target=time.sleep, args=(60,)).start()\n{PASSES}", True, "hang",
         "after its time, when"),
        ("atexit.register(os._exit, 3)\nreturn 'fail', 'found'", True, "fail", "found"),
        (f"{NOTED}ctypes.string_at(0)", False, "crash",
         "SIGSEGV ended the process while reading"),
        (f"{NOTED}os._exit(4)", False, "exit",
         "the process was ended with exit code 4 while reading"),
        (f"{NOTED}time.sleep(60)", False, "hang",
         "the process was still running after its time while reading"),
        ("while True: note('x' * 500)", False, "hang", ""),
        (FORK, False, "exit", " while mine"),
    ],
    ids=[
        *("exit-at-exit", "crash-at-exit", "hang-at-exit", "thread-at-exit", "failure-before"),
        *("crash", "exit", "hang", "notes-without-end", "notes-of-a-child"),
    ],
)  # fmt: skip
def test_a_bad_end_is_the_verdict(end_of, body, ends, status, evidence):
    """After a pass, the exit decides; else the last note, not a child's, has the step."""
    verdict = end_of(body, ends=ends)

    assert verdict["status"] == status
    assert evidence in verdict["evidence"]


def test_notes_may_be_anything(end_of):
    """Long notes, line breaks and lone surrogates are accepted."""
    verdict = end_of("note('{\"status\": 1}\\n\\udc80' * 100000)\nos._exit(1)", ends=False)

    assert verdict["status"] == "exit"
    assert len(verdict["evidence"]) < 1000


def test_an_error_of_ours_is_no_verdict_of_pass(end_of):
    """Work must not raise; if it does, it has no verdict."""
    verdict = end_of("raise RuntimeError('of the kit')", ends=False)

    assert verdict["status"] == "exit"
    assert "RuntimeError: of the kit" in verdict["output"]
