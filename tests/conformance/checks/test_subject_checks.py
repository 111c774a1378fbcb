"""Checks of the subject itself, in cases that mutants do not cover."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
import warnings

import pytest

from interchange_conformance.checks.subject import _changed, _handled_signals, _printed
from interchange_conformance.registry import load_checks
from interchange_conformance.running.execution import execute
from interchange_conformance.subject import Subject
from interchange_conformance.zoo import host

load_checks()
SHAPE = "make_gives_the_shape_that_it_was_asked_for"
DTYPE = "make_gives_the_dtype_that_it_was_asked_for"
DEVICE = "make_gives_the_device_that_it_was_asked_for"


class Contradictory:
    """An array with two contradictory shapes and element types."""

    shape = (2, 3)
    dtype = "float32"

    def __init__(self):
        self.__array_interface__ = {"shape": (6,), "typestr": "<f8"}

    def __dlpack_device__(self):
        raise RuntimeError("no driver")


def maker(x):
    """Return a subject that always makes `x`."""
    return Subject("mine", make=lambda *_: x)


@pytest.mark.parametrize(
    ("x", "item", "status"),
    [
        (Contradictory(), f"{SHAPE}[two-axes]", "pass"),
        (Contradictory(), f"{DTYPE}[float32]", "pass"),
        (Contradictory(), f"{SHAPE}[one-axis]", "fail"),
        (Contradictory(), f"{DTYPE}[int64]", "fail"),
        (Contradictory(), f"{DEVICE}[cpu]", "not-applicable"),
        (object(), f"{SHAPE}[none]", "not-applicable"),
        (object(), f"{DTYPE}[bool]", "not-applicable"),
        (object(), f"{DEVICE}[cpu]", "not-applicable"),
    ],
)
def test_one_protocol_that_agrees_is_enough_and_all_are_evidence(x, item, status):
    """Wrong values in other protocols, and arrays without any, are reported by other checks."""
    found, evidence = execute(item, maker(x))

    assert found == status
    told = "__array_interface__ says float64 of shape (6,); the array says float32" in evidence
    assert told == (status == "fail")


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (lambda _: 1 / 0, "read() raised ZeroDivisionError: division by zero"),
        (lambda _: None, "read() returned None"),
        (lambda _: (1, 2, 3, 4, 5, 6), "read() returned (1, 2, 3, 4, 5, 6)"),
        (lambda _: [1, 2, 3], "read() returned [1, 2, 3]"),
        (lambda _: ["1"] * 6, "read() returned ['1', "),
        (lambda _: [[1] * 6], "read() returned [[1, "),
    ],
)
def test_what_read_returns_is_a_flat_list_of_numbers(read, said):
    """The list has six numbers; anything else, and an error, is a broken description."""
    subject = Subject("mine", take=lambda x: x, read=read)

    status, evidence = execute("read_returns_a_flat_list_of_numbers", subject)

    assert status == "broken-subject"
    assert said in evidence


def test_a_library_that_takes_no_host_memory_is_not_judged():
    """Its refusals are judged by other checks."""

    def refuse(_):
        raise BufferError("on a device only")

    subject = Subject("mine", take=refuse, read=list)

    assert execute("take_prints_nothing", subject)[0] == "not-applicable"


# ---------------------------------------------------------------- state of the process


def test_what_is_printed_is_seen_below_python(capfd):
    """The output is not passed on; later output goes to its original destination."""

    def act():
        os.write(1, b"to one\n")
        os.write(2, b"to the other\n")

    found = _printed(act)
    os.write(1, b"later\n")

    assert found == "to one\nto the other"
    assert capfd.readouterr() == ("later\n", "")


def test_an_error_gives_the_streams_back(capfd):
    """The error is raised, and the streams are restored."""
    with pytest.raises(ZeroDivisionError):
        _printed(lambda: 1 / 0)

    os.write(1, b"later\n")
    assert capfd.readouterr().out == "later\n"


def test_warnings_and_logs_are_no_output():
    """Warnings and logs are configured by the program."""

    def act():
        warnings.warn("legacy", UserWarning, stacklevel=1)
        logging.getLogger("a library").warning("legacy")

    found = _printed(act)

    assert found == ""


def test_what_is_set_up_once_is_no_change():
    """A library may keep threads from its first import."""
    names = []

    def take(x):
        if not names:
            names.append(os.environ.setdefault("TAKEN_ARRAYS", "yes"))
        return x

    ended = execute("take_leaves_the_process_as_it_was[environment]", Subject("mine", take=take))
    os.environ.pop("TAKEN_ARRAYS")

    assert ended == ("pass", "")


def test_what_comes_of_the_death_of_an_array_is_not_of_its_making():
    """A library may free memory on a thread."""

    class Array:
        def __del__(self, start=lambda: threading.Thread(target=time.sleep, args=(0.1,)).start()):
            start()

    subject = Subject("mine", take=lambda _: Array())

    assert execute("take_leaves_the_process_as_it_was[threads]", subject) == ("pass", "")


def test_a_change_is_reported():
    """New, changed and removed items are reported."""
    state = {"kept": 1, "other": 2, "gone": 3}

    def act():
        state.pop("gone")
        state.update(other=4, new=5)

    found = _changed(lambda: dict(state), act)

    assert found == "other was 2, is 4; gone was 3, is None; new was None, is 5"


def test_nothing_changed_is_nothing_told():
    """Two equal states have no difference."""
    assert _changed(lambda: {"kept": 1}, lambda: None) == ""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_handlers_below_python_are_seen():
    """They are read as signal masks, except those of the C library's threads."""
    handled = _handled_signals()

    assert {"SIGINT", "SigCgt", "SigIgn"} <= set(handled)
    assert int(handled["SigCgt"], 16) & (0b11 << 31) == 0


def test_a_sound_subject_passes_everything():
    """The subject is a producer of the zoo, in this process."""
    subject = Subject("mine", make=lambda shape, dtype, *_: host(shape, dtype))
    names = [check for check in load_checks().values() if check.area == "subject"]
    items = [item for check in names if check.role == "producer" for item in check.items()]

    ended = {item: execute(item, subject) for item in items if "device" not in item}

    views = {ended.pop(item)[0] for item in [*ended] if item.startswith("views_are_made")}
    assert views == {"not-applicable"}  # it has no views
    assert {item: how for item, how in ended.items() if how[0] != "pass"} == {}
