"""The tables of Arrow producers: legal cases are read correctly by an independent library."""

from __future__ import annotations

import gc

import pytest

from interchange.abi import RULES
from interchange_conformance.zoo import arrow

ZOO, LEGAL = arrow.zoo(), arrow.legal()
METHODS = ("array", "stream", "device_array", "device_stream")


pytestmark = pytest.mark.usefixtures("arrow_zoo")


def ask(source):
    """Return the result of the first method of a producer."""
    methods = [f"__arrow_c_{one}__" for one in METHODS]
    return getattr(source, next(one for one in methods if hasattr(source, one)))()


@pytest.mark.parametrize("case", [*ZOO.values(), *LEGAL.values()], ids=lambda case: case.name)
def test_what_is_not_consumed_is_released_as_often_as_due(case):
    """A case breaks a rule that exists, a legal case none."""
    source = case.make()
    ask(source)
    if source.answers.repeat:
        source.forget()

    gc.collect()
    assert case.rule is None if LEGAL.get(case.name) is case else case.rule in RULES
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
HONEST = {
    **{name: case.make for name, case in LEGAL.items() if name not in UNREAD},
    "honest-nulls": lambda: arrow.numbers(nulls=[0, 5], offset=1),
    "honest-lists-null": lambda: arrow.lists(nulls=[1], child_nulls=[0, 11], offset=1),
    "honest-bools-null": lambda: arrow.bools(nulls=[2], offset=7),
    "honest-texts": arrow.texts,
    "honest-ragged": arrow.ragged,
    "honest-dictionary": arrow.dictionary,
    "honest-table": lambda: arrow.table(x=arrow.numbers(), y=arrow.texts("abcdef")),
    "honest-chunks": lambda: arrow.chunked(arrow.numbers(), arrow.numbers(length=2)).as_stream(),
}


@pytest.mark.interop
@pytest.mark.parametrize("name", HONEST)
def test_honest_columns_are_read_right(need, name):
    """pyarrow reads a column, and releases it as often as due."""
    need("pyarrow")
    import pyarrow as pa

    source = HONEST[name]()
    values = source.values
    if name == "honest-lists-null":
        values = ((None, 4.0, 5.0), None, (9.0, 10.0, 11.0), (12.0, 13.0, None))

    found = _read(pa, source)
    gc.collect()

    assert _tuples(found) == values
    assert source.counts == source.due
