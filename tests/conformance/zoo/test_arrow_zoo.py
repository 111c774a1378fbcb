"""The tables of Arrow producers: legal cases are read correctly by an independent library."""

from __future__ import annotations

import gc

import pytest

from interchange.abi import RULES
from interchange_conformance.emucuda.building import CannotBuildError
from interchange_conformance.zoo import arrow

ZOO, LEGAL = arrow.zoo(), arrow.legal()
METHODS = ("array", "stream", "device_array", "device_stream")


@pytest.fixture(scope="module", autouse=True)
def built():
    """Skip the test if there is no compiler."""
    try:
        arrow.numbers().__arrow_c_array__()
    except CannotBuildError as error:
        pytest.skip(str(error))


def ask(source):
    """Return the result of the first method of a producer."""
    methods = [f"__arrow_c_{one}__" for one in METHODS]
    return getattr(source, next(one for one in methods if hasattr(source, one)))()


@pytest.mark.parametrize("name", ZOO)
def test_a_case_breaks_a_rule_that_there_is(name):
    """Structs that are not consumed are released as often as expected."""
    case = ZOO[name]
    source = case.make()
    ask(source)
    if source.answers.repeat:
        source.forget()

    gc.collect()
    assert case.rule in RULES
    assert source.counts == source.due


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_legal_is_released_too(name):
    """A legal case breaks no rule."""
    case = LEGAL[name]
    source = case.make()
    ask(source)

    gc.collect()
    assert case.rule is None
    assert source.counts == source.due


def test_producers_are_fresh():
    """Their logs are separate."""
    first, second = (ZOO["nulls"].make() for _ in range(2))
    ask(first)

    assert (len(first.log), len(second.log)) == (1, 0)


# ---------------------------------------------------------------- read by another library


def _read(pa, source):
    """Return the elements that pyarrow reads."""
    if hasattr(source, "__arrow_c_stream__"):
        return pa.chunked_array(source).to_pylist()
    return pa.array(source).to_pylist()


def _tuples(values):
    """Return nested lists as tuples."""
    return tuple(map(_tuples, values)) if isinstance(values, list | tuple) else values


UNREAD = {"stream-on-the-host", "everything"}  # pyarrow does not read device streams


@pytest.mark.interop
@pytest.mark.parametrize("name", sorted(set(LEGAL) - UNREAD))
def test_what_is_legal_is_read_right(need, name):
    """pyarrow reads the case, and releases it once."""
    need("pyarrow")
    import pyarrow as pa

    source = LEGAL[name].make()

    found = _read(pa, source)
    gc.collect()

    assert _tuples(found) == source.values
    assert source.counts == source.due


HONEST = {
    "nulls": lambda: arrow.numbers(nulls=[0, 5], offset=1),
    "lists-null": lambda: arrow.lists(nulls=[1], child_nulls=[0, 11], offset=1),
    "bools-null": lambda: arrow.bools(nulls=[2], offset=7),
    "texts": arrow.texts,
    "ragged": arrow.ragged,
    "dictionary": arrow.dictionary,
    "table": lambda: arrow.table(x=arrow.numbers(), y=arrow.texts("abcdef")),
    "chunks": lambda: arrow.chunked(arrow.numbers(), arrow.numbers(length=2)).as_stream(),
}


@pytest.mark.interop
@pytest.mark.parametrize("name", HONEST)
def test_other_honest_columns_are_read_right(need, name):
    """Their values are those that pyarrow reads."""
    need("pyarrow")
    import pyarrow as pa

    source = HONEST[name]()

    values = source.values
    if name == "lists-null":
        values = ((None, 4.0, 5.0), None, (9.0, 10.0, 11.0), (12.0, 13.0, None))
    assert _tuples(_read(pa, source)) == values
