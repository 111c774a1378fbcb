"""The grid: the result of an array that one subject makes and another imports."""

from __future__ import annotations

import textwrap

import pytest

from interchange_conformance.judging.grid import exchange
from interchange_conformance.judging.judge import Settings
from interchange_conformance.judging.selecting import select
from interchange_conformance.reports.model import SubjectReport

_PRODUCERS = """
import os, time
from dataclasses import replace
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Subject
from interchange_conformance.zoo import host

def make(shape, dtype, device, readonly):
    if device != "cpu": raise CannotMakeError("it has host memory only")
    return host(shape, dtype)

def flat(shape, dtype, device, readonly):
    if len(shape) != 1: raise CannotMakeError("it has one axis only")
    return make(shape, dtype, device, readonly)

def buffer(shape, dtype, device, readonly):
    return memoryview(bytearray(24)).cast("f", shape)

def silent(shape, dtype, device, readonly): return object()
def crashing(shape, dtype, device, readonly): os.abort()

honest = Subject("honest", make=make)
flat = Subject("flat", make=flat)
buffer = Subject("buffer", make=buffer)
silent = Subject("silent", make=silent)
crashing = Subject("crashing", make=crashing)
nothing = Subject("nothing", make=lambda *asked: make((1,), "int8", "other", False))
readonly = Subject("readonly", make=lambda *asked: make(*asked).but(flags=1))
"""
_CONSUMERS = """
import os, time
from interchange_conformance.probes.opened_capsule import OpenedCapsule
from interchange_conformance.subject import Subject
import struct

def take(x): return OpenedCapsule(x.__dlpack__(max_version=(1, 3)))
def read(y): return [struct.unpack("f" if len(one) == 4 else "b", one)[0] for one in y.read()]
def refuse(x): raise BufferError("not today")
def refuse_axes(x):
    y = take(x)
    if y.ndim > 1: raise BufferError("one axis only")
    return y
def crash(x): os.abort()
def hang(x): time.sleep(60)
def leave(x): raise SystemExit(3)
def fail(y): raise ValueError("unreadable")

sharing = Subject("sharing", take=take, read=read)
copying = Subject("copying", take=lambda x: read(take(x)), read=list)
wrong = Subject("wrong", take=take, read=lambda y: read(y)[::-1])
failing = Subject("failing", take=take, read=fail)
refusing = Subject("refusing", take=refuse, read=read)
flat = Subject("flat", take=refuse_axes, read=read)
crashing = Subject("crashing", take=crash, read=read)
leaving = Subject("leaving", take=leave, read=read)
hanging = Subject("hanging", take=hang, read=read)
viewing = Subject("viewing", take_buffer=memoryview, read=lambda y: sum(y.tolist(), []))
"""
_JEALOUS = """
import sys
from interchange_conformance.subject import Subject
if "{other}" in sys.modules: raise ImportError("{other} is here")
subject = Subject("{name}", make=print, take=print, read=print)
"""


@pytest.fixture
def hand_over(tmp_path, monkeypatch):
    """Return a function that passes an array from each producer to each consumer."""
    (tmp_path / "making.py").write_text(_PRODUCERS, encoding="utf-8")
    (tmp_path / "taking.py").write_text(_CONSUMERS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    def run(producers, consumers, **options):
        subjects = [described(f"making:{name}", "producer") for name in producers.split()]
        subjects += [described(f"taking:{name}", "consumer") for name in consumers.split()]
        found = exchange(subjects, Settings(select(), **options))
        return {
            (one.producer.partition(":")[2], one.consumer.partition(":")[2]): one for one in found
        }

    return run


def described(spec, *roles):
    """Return the report of a subject, with the fields that the grid uses."""
    return SubjectReport(spec, spec, "1.0", roles, "", (), 0.0)


def test_what_becomes_of_an_array(hand_over):
    """Memory is shared or copied, and wrong values are reported."""
    found = hand_over("honest", "sharing copying wrong failing refusing")

    assert {pair[1]: one.status for pair, one in found.items()} == {
        "sharing": "shared",
        "copying": "copied",
        "wrong": "wrong",
        "failing": "wrong",
        "refusing": "refused",
    }
    assert "and it reads [6.0, 5.0" in found["honest", "wrong"].evidence
    assert "ValueError: unreadable" in found["honest", "failing"].evidence
    assert found["honest", "refusing"].evidence.startswith("BufferError: not today")


def test_a_process_that_ends_is_reported(hand_over):
    """The other pairs are not affected."""
    found = hand_over("honest crashing", "crashing leaving hanging sharing", patience=0.05)

    assert {pair: one.status for pair, one in found.items()} == {
        ("honest", "crashing"): "crash",
        ("honest", "leaving"): "crash",
        ("honest", "hanging"): "hang",
        ("honest", "sharing"): "shared",
        ("crashing", "crashing"): "crash",
        ("crashing", "leaving"): "crash",
        ("crashing", "hanging"): "crash",
        ("crashing", "sharing"): "crash",
    }
    assert "SIGABRT ended the process while crashing takes" in found["honest", "crashing"].evidence
    assert "while crashing makes an array on cpu" in found["crashing", "sharing"].evidence


def test_one_axis_is_tried_where_two_are_refused(hand_over):
    """The producer or the consumer may refuse two axes."""
    found = hand_over("honest flat", "flat sharing")

    assert {one.status for one in found.values()} == {"shared"}


def test_another_protocol_is_reported(hand_over):
    """The pair has no DLPack in common."""
    found = hand_over("buffer honest", "viewing sharing")

    assert found["buffer", "viewing"][2:] == ("shared", "by its buffer")
    assert found["buffer", "sharing"].status == "refused"
    assert "takes none of the protocols of memoryview" in found["buffer", "sharing"].evidence


def test_an_array_that_cannot_be_made_is_refused(hand_over):
    """The reason is the producer's, or what the array lacks."""
    found = hand_over("nothing silent", "sharing")

    assert found["nothing", "sharing"].status == "refused"
    assert "it has host memory only" in found["nothing", "sharing"].evidence
    assert found["silent", "sharing"].status == "refused"
    assert "object does not say where its elements are" in found["silent", "sharing"].evidence


def test_read_only_memory_is_shared_or_copied_all_the_same(hand_over):
    """This is determined by the address, or by a write despite the flag."""
    found = hand_over("readonly", "sharing copying")

    assert {pair[1]: one.status for pair, one in found.items()} == {
        "sharing": "shared",
        "copying": "copied",
    }


def test_libraries_that_cannot_meet_are_paired_apart(tmp_path, hand_over):
    """Libraries that cannot be imported together use a separate process."""
    for name, other in (("jealous_one", "jealous_two"), ("jealous_two", "jealous_one")):
        text = _PRODUCERS + _CONSUMERS + textwrap.dedent(_JEALOUS).format(name=name, other=other)
        text += 'subject = Subject("jealous", make=make, take=take, read=read)\n'
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    hand_over("honest", "sharing")
    specs = ("jealous_one:subject", "jealous_two:subject")
    subjects = [described(spec, "producer", "consumer") for spec in specs]

    found = exchange(subjects, Settings(select()))

    assert [one.status for one in found] == ["shared", "refused", "refused", "shared"]
    assert "jealous_one is here" in found[1].evidence


def test_what_takes_nothing_is_no_column(hand_over):
    """Subjects that cannot make arrays have no row."""
    assert set(hand_over("honest flat", "sharing")) == {("honest", "sharing"), ("flat", "sharing")}


def test_each_exchange_is_reported(hand_over):
    """The total number is announced as well."""
    hand_over("honest", "sharing")
    begun, told = [], []
    subjects = [described("making:honest", "producer"), described("taking:wrong", "consumer")]

    found = exchange(subjects, Settings(select()), lambda *words: begun.append(words), told.append)

    assert begun == [("the grid", 1)]
    assert told == found
