"""The checks of the CUDA Array Interface: how they read records, and what counts as a refusal."""

from __future__ import annotations

import os

import pytest

from interchange_conformance.checks import _records
from interchange_conformance.driver import cuda
from interchange_conformance.findings import Found, NotApplicable
from interchange_conformance.registry import load_checks
from interchange_conformance.running.execution import execute
from interchange_conformance.running.pool import Pool
from interchange_conformance.subject import Subject

CHECKS = load_checks()
CAI = [check for check in CHECKS.values() if check.area == "cai"]
PLAIN = {"shape": (2, 3), "typestr": "<f4", "data": (4096, False), "version": 3}


@pytest.mark.parametrize(
    ("changes", "span"),
    [
        ({}, (4096, 4120)),
        ({"strides": (12, 4)}, (4096, 4120)),
        ({"strides": (-12, 4)}, (4084, 4108)),
        ({"strides": (0, 4)}, (4096, 4108)),
        ({"shape": ()}, (4096, 4100)),
        ({"shape": (3,), "strides": (6,)}, (4096, 4112)),
    ],
)
def test_the_span_of_a_record_is_that_of_its_elements(changes, span):
    """The span is in bytes, for strides of all signs."""
    assert _records.span_of({**PLAIN, **changes}, 4) == span


@pytest.mark.parametrize("stream", [None, 1, 2, 2**47])
def test_a_stream_that_may_be_published_is_let_pass(stream):
    """A record without a stream is valid as well."""
    _records.expect_stream({"stream": stream}, "an array")
    _records.expect_stream({}, "an array")


@pytest.mark.parametrize("stream", [0, -1, True, "7", 1.0, 2**64])
def test_a_stream_that_may_not_be_published_is_found(stream):
    """Stream 0 is the most important invalid value."""
    with pytest.raises(Found, match="publishes stream"):
        _records.expect_stream({"stream": stream}, "an array")


@pytest.mark.parametrize("record", [[], {}, {"data": 5}, {"data": ()}, {"data": ("x", False)}])
def test_an_address_that_is_none_is_not_followed(record):
    """Its form is judged by another check."""
    with pytest.raises(NotApplicable):
        _records.address_in(record)


def test_readings_of_an_exporter_are_counted():
    """Each read returns a new dict; later ones may have other values."""
    x = _records.Exporter(PLAIN, {**PLAIN, "version": 2})

    first, then, last = (x.__cuda_array_interface__ for _ in range(3))

    assert x.reads == 3
    assert (first["version"], then["version"], last["version"]) == (3, 2, 2)
    assert last is not then


def test_without_a_driver_nothing_is_judged(monkeypatch):
    """A check that needs a driver is not applicable, and says so."""
    monkeypatch.setenv(cuda.VARIABLE, "none")
    monkeypatch.setattr(cuda, "_found", [])
    subject = Subject("a subject", make=lambda *_: object(), take_cai=lambda x: x)
    items = [item for check in CAI if check.on == "cuda" for item in check.items()]

    assert {execute(item, subject)[0] for item in items} == {"not-applicable"}


# ---------------------------------------------------------------- on the emulated driver

SUBJECT = """
from interchange_conformance.subject import Subject

def take_cai(x):
    {take}

def read(y):
    {read}

subject = Subject("odd", take_cai=take_cai, read=read)
"""


@pytest.fixture
def verdict(tmp_path, monkeypatch):
    """Return a function that runs an item on a consumer, whose functions are source text."""
    monkeypatch.syspath_prepend(tmp_path)
    environment = cuda.environment()
    if environment[cuda.VARIABLE] != "emulated":
        pytest.skip("the emulated driver cannot be built here")

    def run(item, take, read="return []"):
        name = f"odd_{len(list(tmp_path.iterdir()))}"
        text = SUBJECT.format(take=take, read=read)
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        with Pool(f"{name}:subject", environment={**os.environ, **environment}) as pool:
            return pool.run_one(item)

    return run


REFUSAL = "wrong_shapes_are_refused[negative]"


LAYOUT = "layouts_are_read_as_the_strides_say[f-order]"
CAREFUL = "assert min(x.__cuda_array_interface__['shape']) >= 0; return x"


@pytest.mark.parametrize(
    ("item", "take", "read", "status", "words"),
    [
        (REFUSAL, "raise RuntimeError('no device')", "return []", "not-applicable", "no device"),
        (REFUSAL, CAREFUL, "return []", "pass", ""),
        (REFUSAL, "return x", "return []", "fail", "(-1, 3)"),
        (LAYOUT, "return x", "return [0, 1, 2, 3, 4, 5]", "fail", ""),
        (LAYOUT, "return x", "return [0, 2, 4, 1, 3, 5]", "pass", ""),
        (LAYOUT, "return x", "raise TypeError('only C order')", "pass", ""),
    ],
    ids=["refuses all", "any error", "takes all", "ignores strides", "reads strides", "reads none"],
)
def test_a_consumer_of_records_is_judged_by_what_it_does(verdict, item, take, read, status, words):
    """A refusal of plain records shows nothing; else any error refuses, also when it is read."""
    found = verdict(item, take, read)

    assert found.status == status
    assert words in found.evidence
