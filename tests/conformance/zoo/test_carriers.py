"""Producers with an exchange table: honest if nothing is changed, and found as specified."""

from __future__ import annotations

import pytest

from interchange.abi import capsules
from interchange.abi.dlpack import DLPackExchangeAPI
from interchange.abi.exchange import exchange_table
from interchange_conformance.emucuda.building import CannotBuildError
from interchange_conformance.zoo import host
from interchange_conformance.zoo.carriers import (
    HONEST,
    carrying,
    function_address,
    make_table,
    table_capsule,
    use_taker,
)

pytestmark = pytest.mark.isolated


@pytest.fixture(scope="module", autouse=True)
def built():
    """Skip the test if there is no compiler."""
    try:
        make_table()
    except CannotBuildError as error:
        pytest.skip(str(error))


@pytest.fixture
def producer():
    """Return an honest producer with a table."""
    return carrying(host((2, 3)), make_table())


def test_the_table_of_a_carrier_is_found_on_its_type(producer):
    """The table is found on the exact type."""
    table = exchange_table(type(producer))

    assert table.version == (1, 3)
    assert type(producer) is not type(carrying(host(), make_table()))


def test_a_table_on_an_object_is_not_found_on_its_type():
    """An instance attribute is in the wrong place."""
    producer = carrying(host(), make_table(), on_instance=True)

    assert exchange_table(type(producer)) is None
    assert exchange_table(producer) is not None


def test_the_table_exports_what_the_producer_does(producer):
    """The exported struct is that of the capsule, consumed."""
    address = exchange_table(type(producer)).managed_from(producer)

    assert address == producer.loans[0].address
    assert producer.deleter_calls == 0
    assert [call.method for call in producer.log] == ["_for_table"]


def test_the_table_lends_a_description(producer):
    """Its fields are the producer's, and it is not released."""
    tensor = exchange_table(type(producer)).tensor_from(producer)

    assert (tensor.ndim, tensor.shape[0], tensor.shape[1]) == (2, 2, 3)
    assert tensor.data == producer.said.data
    assert producer.counts == ()


def test_the_table_takes_a_tensor_over(producer):
    """The function may consume the capsule, or not."""
    source = host()
    source.__dlpack__(max_version=(1, 3))
    loan = source.loans[0]
    capsules.set_capsule_destructor(loan._capsule, None)
    loan._capsule = None
    taken = []
    use_taker(taken.append)
    table = exchange_table(type(producer))

    table.managed_to(loan.address)
    assert loan.deleter_calls == 0
    taken.clear()
    assert loan.deleter_calls == 1


@pytest.mark.parametrize(
    ("function", "changes", "error", "words"),
    [
        ("from_object_refusing", {}, BufferError, "this"),
        ("from_object_breaking", {}, ValueError, "this"),
        (None, {"raises": BufferError("not now")}, BufferError, "not now"),
    ],
    ids=["refuses in C", "breaks in C", "the producer raises"],
)
def test_a_table_can_fail_with_an_error(function, changes, error, words):
    """ctypes raises the error that was set in C, or that of the producer's method."""
    broken = make_table(**{"managed_tensor_from_py_object_no_sync": function} if function else {})
    producer = carrying(host().but(**changes), broken)

    with pytest.raises(error, match=words):
        exchange_table(type(producer)).managed_from(producer)


def test_members_can_be_null_and_versions_anything():
    """None means NULL; by default the compiled source has all functions under their names."""
    older = make_table(version=(1, 2))
    table = DLPackExchangeAPI.from_address(
        make_table(version=(7, 1), prev=older, current_work_stream=None)
    )

    assert (table.header.version.major, table.header.version.minor) == (7, 1)
    assert table.header.prev_api == older
    assert table.current_work_stream is None
    assert all(map(function_address, HONEST.values()))


def test_the_capsule_of_a_table_has_its_name():
    """Another name can be requested."""
    address = make_table()

    assert capsules.capsule_name(table_capsule(address)) == capsules.EXCHANGE_API
    assert capsules.capsule_name(table_capsule(address, capsules.LEGACY)) == capsules.LEGACY


WITHOUT_COMPILER = """
from interchange_conformance.zoo.carriers import make_table
from interchange_conformance.emucuda.building import CannotBuildError
try:
    make_table()
except CannotBuildError as error:
    print(error)
"""


def test_without_a_compiler_it_is_said_how_to_get_one(run_isolated):
    """The error has the fix."""
    said = run_isolated(WITHOUT_COMPILER, env={"CC": "no-such-compiler"})

    assert "no-such-compiler is not a command" in said
