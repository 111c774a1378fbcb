"""Deviations of a library are reported under the correct rule, and correct behaviour under none."""

from __future__ import annotations

import os

import pytest

from interchange_conformance.checks import consuming_elements
from interchange_conformance.checks._views import VIEWS
from interchange_conformance.driver import cuda
from interchange_conformance.findings import BAD, Found
from interchange_conformance.probes.opened_capsule import OpenedCapsule
from interchange_conformance.probes.panics import Panicked
from interchange_conformance.probes.under_test import (
    ArrowConsumerUnderTest,
    ConsumerUnderTest,
    ProducerUnderTest,
)
from interchange_conformance.registry import load_checks
from interchange_conformance.running.execution import execute
from interchange_conformance.subject import Subject
from interchange_conformance.zoo import ELEMENTS, arrow
from mutants._honest_arrow_consumer import honest_arrow_consumer
from mutants._honest_consumer import honest as honest_consumer
from mutants._honest_producer import Honest, producer_of
from mutants.trying import Trials, caught, items_of_role

CHECKS = load_checks()


@pytest.fixture(scope="module")
def trials():
    """Return a process that runs checks."""
    with Trials({**os.environ, **cuda.environment("none")}) as tried:
        yield tried


# ------------------------------------------------------------------ wrong error classes


class PanicException(BaseException):
    """The exception that PyO3 raises for a panic in Rust."""


def panicking(function):
    """Return a function whose errors are panics."""

    def call(*arguments, **keywords):
        try:
            return function(*arguments, **keywords)
        except Exception as error:  # noqa: BLE001 - whatever it is
            raise PanicException(str(error)) from None

    return call


MUSTS = [
    item
    for item in items_of_role("consumer")
    if (check := CHECKS[item.partition("[")[0]]).severity == "MUST"
    and check.on == "host"
    and not check.fresh
    and check.area in {"capsule", "negotiation", "readonly", "copies", "devices", "errors"}
]


@pytest.fixture
def panics():
    """Return an honest consumer whose refusals are panics."""
    honest = honest_consumer()
    return Subject("panics", take=panicking(honest.take), read=honest.read)


@pytest.mark.exhaustive(but=["the others"])
@pytest.mark.parametrize("is_race", [False, True], ids=["the others", "two threads"])
def test_a_refusal_by_a_panic_breaks_no_rule_that_must_be_kept(panics, is_race):
    """The consumer refuses the same objects, and accepts the others."""
    items = [item for item in MUSTS if item.startswith("of_two_threads_") == is_race]

    found = {item: execute(item, panics) for item in items}

    assert len(found) > 50 or is_race
    assert {item: end for item, end in found.items() if end[0] in BAD} == {}


def test_the_class_of_the_error_is_reported_once(panics):
    """The check of the error class reports it, with the name of the library's class."""
    status, evidence = execute("unsupported_devices_raise_buffer_error[unknown]", panics)

    assert status == "fail"
    assert "was refused with PanicException: " in evidence
    assert "due was BufferError" in evidence


def test_a_panic_of_the_arrow_role_is_a_refusal_too():
    """The result is the same in both roles."""
    honest = honest_arrow_consumer()
    consumer = ArrowConsumerUnderTest(
        Subject("panics", take_arrow=panicking(honest.take_arrow), read_arrow=honest.read_arrow)
    )

    with pytest.raises(Panicked) as caught_here:
        consumer.take(next(case for name, case in arrow.zoo().items() if "name" in name).make())

    assert type(caught_here.value).__name__ == "PanicException"


def test_a_producer_that_panics_has_refused():
    """The panic counts as a refusal, like other errors."""

    class Panicking(Honest):
        __dlpack__ = panicking(Honest.__dlpack__)

    subject = producer_of(Panicking)

    assert execute("streams_are_ints[text]", subject) == ("pass", "")
    with pytest.raises(Panicked, match="is no int"):
        ProducerUnderTest(subject).export(ProducerUnderTest(subject).make(), stream="1")


@pytest.mark.parametrize("end", [SystemExit, KeyboardInterrupt])
def test_what_ends_a_process_is_no_refusal(end):
    """An exception that ends the process is not caught."""

    def take(_):
        raise end

    with pytest.raises(end):
        ConsumerUnderTest(Subject("ends", take=take, read=list)).take(None)


# ------------------------------------------------------------------ unreadable elements


class Kept:
    """An array that keeps a capsule, and reports a wrong element type."""

    def __init__(self, opened, dtype):
        self.opened, self.dtype = opened, dtype


def keeping(dtype, read):
    """Return a consumer that keeps the imported memory, and reports another element type."""

    def take(x):
        return Kept(OpenedCapsule(x.__dlpack__(max_version=(1, 3))), dtype)

    return ConsumerUnderTest(Subject("keeping", take=take, read=read))


def as_ints(y):
    """Return elements as the integers in their bytes."""
    return [int.from_bytes(one, "little") for one in y.opened.read()]


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("read", [as_ints, lambda y: y.opened.read()])
def test_elements_without_a_number_may_be_read_as_their_bytes(dtype, read):
    """This is allowed if the array reports the type that it uses."""
    consumer = keeping(f"ml_dtypes.{dtype}", read)

    consuming_elements.elements_are_read_as_their_type_says(consumer, dtype)


@pytest.mark.parametrize(
    ("said", "read", "due"),
    [
        ("uint8", as_ints, "float8_e4m3fn"),
        ("ml_dtypes.float8_e5m2", as_ints, "float8_e4m3fn"),
        ("float8_e4m3fn", lambda y: [n + 1 for n in as_ints(y)], "float8_e4m3fn"),
        ("int16", lambda y: y.opened.read(), "int16"),
    ],
    ids=["another integer type", "another float type", "other numbers", "bytes of an int16"],
)
def test_what_is_read_wrong_is_found(said, read, due):
    """Bytes have other values in another type, and are no number if the type has numbers."""
    assert "int16" in ELEMENTS
    with pytest.raises(Found, match="was read as"):
        consuming_elements.elements_are_read_as_their_type_says(keeping(said, read), due)


# ------------------------------------------------------------------ operations of the library

FRAGILE = "mutant:subject.a_transpose_that_aborts"
TRANSPOSED = [
    item
    for item in items_of_role("producer")
    if item.partition("[")[0] != "views_are_made_without_harm"
    and "transposed" in item.partition("[")[2]
]


def test_a_crash_of_an_operation_that_the_kit_needs_is_no_crash_of_an_export(trials):
    """Every check that transposes is not applicable, and says why."""
    found = trials.of(FRAGILE, TRANSPOSED, alone={item.partition("[")[0] for item in TRANSPOSED})

    assert len(found) > len(VIEWS) / 2
    assert {end.status for end in found.values()} == {"not-applicable"}
    assert (
        "SIGABRT ended the process while of the library alone"
        in found["copies_hold_the_elements[transposed]"].evidence
    )


def test_it_is_reported_by_a_separate_check(trials):
    """A library that crashes in its own transpose is reported by one check."""
    item = "views_are_made_without_harm[transposed]"
    found = trials.of(FRAGILE, [item], alone={"views_are_made_without_harm"})

    assert found[item].status == "crash"


# ------------------------------------------------------------------ tables


def test_a_table_that_fails_without_an_error_is_reported_once(trials):
    """It is reported under DLP-API-2, and not under the rules about its tensors."""
    mutant = "exchange_failing.table_fails_silently"
    outcomes = trials.of(f"mutant:{mutant}", items_of_role("producer"))

    assert {item.partition("[")[0] for item in caught(outcomes)} == {
        "refused_exports_of_tables_leave_an_error"
    }


def test_a_stream_for_the_host_loses_no_data():
    """It is not a MUST by the definition of severities."""
    assert CHECKS["host_memory_takes_no_stream"].severity == "SHOULD"
