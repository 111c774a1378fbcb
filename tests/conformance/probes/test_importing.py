"""Attempts to import report what happened to the import."""

from __future__ import annotations

import pytest

from interchange.abi import RULES
from interchange_conformance.findings import Found, NotApplicable
from interchange_conformance.probes import importing
from interchange_conformance.probes.importing import (
    LINE,
    PLAIN,
    Attempt,
    Way,
    attempts as attempts_of,
    elements_of,
    expect_released,
    expect_right,
    object_way,
    paired,
    releases,
    show,
    ways,
)
from interchange_conformance.probes.under_test import ConsumerUnderTest
from interchange_conformance.subject import Subject
from interchange_conformance.zoo import Claim, host, legal, zoo
from mutants._honest_consumer import Consumer, honest, subject_of


class Holder:
    """An array that raises when it is inspected."""

    @property
    def shape(self):
        raise ValueError("not now")


class OneAxis(Consumer):
    """A consumer of arrays with one axis."""

    def check_axes(self, ndim):
        if ndim != 1:
            raise BufferError(f"{ndim} axes")


@pytest.fixture
def consumer():
    """Return an honest consumer for the checks."""
    return ConsumerUnderTest(honest())


@pytest.fixture
def one_axis():
    """Return a consumer of arrays with one axis for the checks."""
    return ConsumerUnderTest(subject_of(OneAxis()))


# ---------------------------------------------------------------- one attempt


def test_an_attempt_keeps_the_array(consumer):
    """The elements that the consumer reads are kept as well."""
    attempt = Attempt(consumer.take, host())

    assert attempt.taken
    assert attempt.values(consumer) == [0, 1, 2, 3, 4, 5]
    assert str(attempt) == "was taken, as Array"


def test_an_attempt_keeps_an_error_and_no_frames(consumer):
    """A traceback, or that of a chained error, would keep the capsule and its tensor alive."""

    def chained(x):
        try:
            x.__dlpack__(max_version=1)
        except TypeError as error:
            raise BufferError("no") from error

    source = zoo()["name-unknown"].make()
    attempt, other = Attempt(consumer.take, source), Attempt(chained, host())

    assert isinstance(attempt.error, ValueError)
    assert attempt.error.__traceback__ is None
    assert source.deleter_calls == 1
    assert isinstance(other.error, BufferError)
    assert other.error.__cause__ is None


def test_what_refuses_to_be_looked_at_is_not_taken():
    """Some libraries parse a struct when the shape is requested."""
    attempt = Attempt(lambda _: Holder(), host())

    assert not attempt.taken
    assert str(attempt) == "was refused with ValueError: not now"


def test_what_refuses_to_be_read_is_not_read(consumer):
    """The import counts as refused from then on."""
    attempt = Attempt(consumer.take, host())
    attempt.array.said = None

    assert attempt.values(consumer) is None
    assert not attempt.taken


def test_who_cannot_read_is_not_judged(consumer):
    """The elements are not compared."""
    blind = ConsumerUnderTest(Subject("blind", take=consumer.take))

    with pytest.raises(NotApplicable):
        Attempt(blind.take, host()).values(blind)


# ---------------------------------------------------------------- ways


def test_each_function_is_a_way_of_each_generation(consumer):
    """The consumer accepts both, as objects and as capsules."""
    found = {(way.name, way.generation, way.shape) for way in ways(consumer)}

    assert found == {
        ("take", "versioned", PLAIN),
        ("take", "legacy", PLAIN),
        ("take_capsule", "versioned", PLAIN),
        ("take_capsule", "legacy", PLAIN),
    }


def test_a_way_may_be_one_axis_wide(one_axis):
    """This is for libraries of columns."""
    assert {way.shape for way in ways(one_axis)} == {LINE}


def test_a_consumer_without_ways_is_not_judged(consumer):
    """The reasons are those of the refusals; requests of a consumer of capsules are unknown."""
    refusing = ConsumerUnderTest(Subject("refusing", take=lambda _: 1 / 0))
    capsules_only = Subject("capsules", take_capsule=consumer.subject.take_capsule)

    with pytest.raises(NotApplicable, match="a plain legacy array was refused with ZeroDivision"):
        ways(refusing)
    with pytest.raises(NotApplicable):
        object_way(ConsumerUnderTest(capsules_only))


@pytest.fixture
def line():
    """Return a way for arrays with one axis."""
    return Way("take", "versioned", LINE, lambda _: None)


def test_a_plain_array_is_laid_out_for_a_way_of_one_axis(line):
    """The memory is the same, whatever else is invalid."""
    source = zoo()["code-99"].make()
    found = line.fit(source)

    assert (found.said.shape, found.said.strides, found.said.dtype) == (LINE, (1,), (99, 32, 1))
    assert found.memory is source.memory


@pytest.mark.parametrize("name", ["f-order", "scalar", "empty"])
def test_an_array_that_needs_its_axes_fits_no_way_of_one(line, one_axis, name):
    """With one axis it would be a different case; nor does one whose capsule already exists."""
    exported = host().but(repeat=True, generation="versioned")
    Claim(exported.__dlpack__())

    assert line.fit(legal()[name].make()) is None
    assert line.fit(exported) is None
    with pytest.raises(NotApplicable, match="more axes"):
        list(attempts_of(one_axis, paired(legal())["f-order"]))


def test_a_case_is_tried_on_every_way_that_it_has_a_struct_for(consumer):
    """The legacy struct has no version that could be wrong."""
    found = [way.generation for way, _ in attempts_of(consumer, paired(zoo())["major-2"])]

    assert found == ["versioned", "versioned"]


# ---------------------------------------------------------------- cases


@pytest.mark.parametrize("table", [zoo, legal])
def test_every_case_is_in_one_pair(table):
    """No case is lost, and a name consists of lower-case letters, digits and hyphens."""
    cases = table()
    pairs = paired(cases)
    found = [case.name for pair in pairs.values() for case in pair.versions.values()]

    assert sorted(found) == sorted(cases)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for name in pairs)


def test_a_legacy_case_is_tried_with_the_legacy_struct():
    """The name does not matter."""
    for pair in paired(zoo()).values():
        for generation, case in pair.versions.items():
            manners = case.make().manners
            assert manners.generation in {"auto", generation}


@pytest.mark.parametrize("rule", sorted({case.rule for case in zoo().values() if case.rule}))
def test_cases_of_a_rule_are_found(rule):
    """All cases are found, except those that are excluded."""
    pairs = paired(zoo())
    found = importing.of_rule(pairs, rule)
    left = next(iter(found))

    assert rule in RULES
    assert importing.of_rule(pairs, rule, left) == {
        name: pair for name, pair in found.items() if name != left
    }


# ---------------------------------------------------------------- texts


SHOWN = {
    "data-null": "an array with data=NULL",
    "major-2": "an array with version=(2, 0)",
    "returns-none": "an array with __dlpack__() returning None",
    "fake-cuda": "an array with device=(2, 0)",
    "strides-null": "an array with strides=None, version=(1, 1)",
    "strides-null-legacy": "an array with strides=None",
}
"""Case -> what is shown of it: other fields are left out, in particular addresses."""


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_unusual_is_shown(name):
    """A plain array has nothing to show, a legacy struct no version, and long shapes are cut."""
    assert show({**zoo(), **legal()}[name].make()) == SHOWN[name]
    assert show(host(PLAIN)) == "an array"
    assert "shape=(1, ..., 1; 65 of them)" in show(zoo()["ndim-65"].make())


# ---------------------------------------------------------------- elements and releases


@pytest.mark.parametrize(
    "name", ["scalar", "scalar-null-pointers", "scalar-dangling-pointers", "scalar-strides-null"]
)
def test_a_scalar_has_one_element(name):
    """This holds for all pointers."""
    assert elements_of(legal()[name].make()) == [0]


def test_wrong_elements_are_found(consumer):
    """The message has the expected elements; only elements that were read can be wrong."""
    way = ways(consumer)[0]

    with pytest.raises(Found, match=r"read as \[0.0, 1.0, .*due was \[7\]"):
        expect_right(consumer, way, Attempt(way.take, host()), [7])
    assert not expect_right(consumer, way, Attempt(way.take, zoo()["code-99"].make()), [7])


def test_a_leak_is_found_when_patience_is_over(consumer, monkeypatch):
    """A library may release late, but not never."""
    monkeypatch.setattr(importing, "_PATIENCE", 0.05)
    source = host()
    held = Attempt(consumer.take, source)

    assert releases(consumer, source) == (0,)
    held.drop()
    assert releases(consumer, source) == (1,)


def test_a_late_release_is_waited_for():
    """The library is asked to release its memory."""
    kept = []
    honest_one = honest()

    def take(x):
        kept.append(honest_one.take(x))
        return object()

    late = ConsumerUnderTest(Subject("late", take=take, release=kept.clear))
    source = host()
    way = Way("take", "versioned", PLAIN, take)

    expect_released(late, way, Attempt(take, source))

    assert source.counts == (1,)


def test_a_second_release_is_found_though_it_comes_late(consumer):
    """The second release happens in the garbage collection after the first."""
    source = host()

    release = Claim(source.__dlpack__()).release

    class Again:
        def __del__(self):
            release()

    def take(_):
        cycle = [Again(), Again()]
        cycle.append(cycle)
        return object()

    with pytest.raises(Found, match="has run 2 times"):
        expect_released(consumer, ways(consumer)[0], Attempt(take, source))


def test_a_condition_holds_when_the_library_has_released(monkeypatch):
    """The library is asked to release, even if the condition already holds."""
    monkeypatch.setattr(importing, "_PATIENCE", 60.0)  # a collection is slow in a large process
    asked = []
    subject = Subject("late", release=lambda: asked.append(None))

    assert importing.eventually(ConsumerUnderTest(subject), lambda: len(asked) > 4)
    assert importing.eventually(ConsumerUnderTest(subject), lambda: True)
    assert len(asked) == 7
    monkeypatch.setattr(importing, "_PATIENCE", 0.05)
    assert not importing.eventually(ConsumerUnderTest(subject), lambda: False)


def test_memory_is_shared_or_not(consumer):
    """This holds for every offset; the memory is restored afterwards."""
    for source in (host(), host(byte_offset=64), host(strides=(-3, -1))):
        before = source.values()
        shared, copied = consumer.take(source), consumer.subject.take_with(source, copy=True)

        assert importing.shares(consumer, source, shared)
        assert not importing.shares(consumer, source, copied)
        assert consumer.values(shared) == before


def test_nothing_is_due_of_a_null_deleter(consumer):
    """A NULL deleter cannot be called."""
    way = ways(consumer)[0]
    source = host().but(deleter=False)

    expect_released(consumer, way, Attempt(way.take, source))

    assert source.counts == (0,)
