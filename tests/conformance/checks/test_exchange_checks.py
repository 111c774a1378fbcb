"""The checks of the exchange table: what they read, and what they ignore."""

from __future__ import annotations

import pytest

from interchange.abi.exchange import ATTRIBUTES, ExchangeTable
from interchange_conformance.checks import _exchange
from interchange_conformance.emucuda.building import CannotBuildError
from interchange_conformance.findings import BrokenSubjectError, NotApplicable
from interchange_conformance.probes.under_test import ProducerUnderTest
from interchange_conformance.registry import load_checks
from interchange_conformance.running.execution import execute
from interchange_conformance.subject import Subject
from interchange_conformance.zoo import host
from interchange_conformance.zoo.carriers import carrying, make_table

pytestmark = pytest.mark.isolated

load_checks()


@pytest.fixture(scope="module", autouse=True)
def built():
    """Skip the test if there is no compiler."""
    try:
        make_table()
    except CannotBuildError as error:
        pytest.skip(str(error))


def library(make=None, **described):
    """Return a producer for the checks."""
    return ProducerUnderTest(Subject("a subject", make=make or (lambda *_: host()), **described))


class Described:
    """A type with a table under the attribute name of DLPack 1.2."""

    __c_dlpack_exchange_api__ = 4096


def test_the_type_with_the_table_is_that_of_the_arrays():
    """The subject can name another type."""
    named = f"{__name__}:Described"
    module = type("Module", (), {"Described": Described})

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__("sys").modules, __name__, module)
        assert _exchange.carrier_of(library(array_type=named)) is Described
    assert _exchange.carrier_of(library(lambda *_: Described())) is Described


@pytest.mark.parametrize("spec", ["no_such_module:Array", "ctypes:NoSuchType"])
def test_a_type_that_cannot_be_found_is_the_subjects_fault(spec):
    """The error is reported as one of the subject, not of the library."""
    with pytest.raises(BrokenSubjectError, match="array_type"):
        _exchange.carrier_of(library(array_type=spec))


def test_an_int_of_dlpack_1_2_is_followed():
    """The attribute name is that of DLPack 1.2."""
    assert _exchange.address_of_table(Described) == 4096


@pytest.mark.parametrize("value", [0, 1.5, "table"])
def test_what_leads_nowhere_is_not_followed(value):
    """Invalid pointers are judged by another check."""
    cls = type("Odd", (), {ATTRIBUTES[0]: value})

    with pytest.raises(NotApplicable):
        _exchange.address_of_table(cls)


def test_a_library_without_a_table_is_not_judged():
    """No check applies."""
    checks = [check for check in load_checks().values() if check.area == "exchange-api"]
    items = [item for check in checks if check.role == "producer" for item in check.items()]
    subject = Subject("NumPy", make=lambda *_: host())

    assert {execute(item, subject)[0] for item in items} == {"not-applicable"}


@pytest.mark.parametrize(
    ("allocator", "element", "found"),
    [
        ("allocate", (2, 32, 1), (0, "")),
        ("allocate", (200, 32, 1), (-1, "BufferError")),
        ("allocate_in_silence", (200, 32, 1), (-1, "")),
        ("allocate_complaining", (2, 32, 1), (0, "UserWarning")),
    ],
)
def test_what_an_allocator_says_is_heard(allocator, element, found):
    """The code and the kind passed to SetError are recorded."""
    table = ExchangeTable(make_table(managed_tensor_allocator=allocator))

    made = _exchange.allocate(table, (2, 3), element, (1, 0))

    assert (made.code, made.kind) == found


@pytest.mark.parametrize(
    ("kinds", "calls"),
    [
        ("MemoryError", 1),
        ("MemoryErrorMemoryError", 2),
        ("BufferErrorBufferErrorBufferError", 3),
        ("ValueErrorUserWarning", 2),
        ("UnicodeDecodeError", 1),
        ("an error of the library", 1),
    ],
)
def test_calls_that_added_up_are_counted(kinds, calls):
    """Failed calls are counted by the names of Python's exceptions."""
    assert _exchange.calls_in(kinds) == calls


def test_no_allocator_is_not_called():
    """A NULL allocator is reported by another check."""
    with pytest.raises(NotApplicable, match="NULL"):
        _exchange.allocate(
            ExchangeTable(make_table(managed_tensor_allocator=None)), (2,), (2, 32, 1), (1, 0)
        )


def test_a_failure_without_an_error_is_distinguished_from_one_with():
    """The messages of `ExchangeTable` are different."""
    silent = make_table(managed_tensor_to_py_object_no_sync="to_object_in_silence")
    producer = carrying(host(), make_table(managed_tensor_from_py_object_no_sync=None))

    with pytest.raises(BufferError) as null:
        _exchange.exchange_table(type(producer)).managed_from(producer)
    with pytest.raises(BufferError) as without:
        ExchangeTable(silent).managed_to(host_address())
    assert not _exchange.silent(null.value)
    assert _exchange.silent(without.value)


def host_address():
    """Return the address of a struct that the consumer refuses."""
    from interchange_conformance.zoo import Loan
    from interchange_conformance.zoo.carriers import use_taker

    def refuse(_):
        raise BufferError("no")

    use_taker(refuse)
    source = host()
    return Loan(source.said, source.memory, versioned=True).address
