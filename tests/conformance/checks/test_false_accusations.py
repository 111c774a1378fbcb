"""No library is accused of what no document requires, or of one error under another rule."""

from __future__ import annotations

import builtins
import itertools
import re

import numpy as np
import pytest

from interchange_conformance.checks import (
    capsule_form,
    exchange_use,
    host_interfaces_in,
    layouts,
    lifetime,
    releasing,
)
from interchange_conformance.findings import NotApplicable
from interchange_conformance.probes.under_test import ConsumerUnderTest, ProducerUnderTest
from interchange_conformance.registry import load_checks
from interchange_conformance.subject import Subject
from mutants import load_mutants

CHECKS = load_checks()
OF_OTHERS = {name: check for name, check in CHECKS.items() if check.area != "subject"}
"""Checks of libraries; checks of descriptions belong to the kit."""
ERRORS = [
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, Exception) and name != "Exception"
]
NAMED = re.compile(rf"\b({'|'.join(ERRORS)})\b")


@pytest.mark.parametrize("name", OF_OTHERS)
def test_a_class_of_error_is_asked_for_where_a_document_names_it(name):
    """The source names the class, or the check is a QUIRK."""
    check = OF_OTHERS[name]
    asked = set(NAMED.findall(check.claim))

    assert check.severity == "QUIRK" or asked <= set(NAMED.findall(check.source))


@pytest.mark.parametrize("name", OF_OTHERS)
def test_what_only_interchange_asks_for_is_no_must(name):
    """The text of a MUST starts with the document that states it."""
    check = OF_OTHERS[name]
    is_own = re.match("interchange|known of|practice|convention", check.source)

    assert not (check.severity == "MUST" and is_own)


def test_a_buffer_that_a_consumer_cannot_take_is_replaced_by_another():
    """A consumer that crashes on one kind of buffer is judged with another."""
    asked = []

    def take(x):
        asked.append(type(x).__name__)
        return memoryview(x)

    subject = Subject("taker", take_buffer=take, read=lambda y: y.tolist())

    flat = Subject("taker", take_buffer=take, read=lambda y: list(y.cast("B").cast("f")))
    host_interfaces_in.plain_buffers_are_taken(ConsumerUnderTest(flat))
    make, due = CHECKS["buffers_are_read_as_they_say"].cases["backwards"]
    host_interfaces_in.buffers_are_read_as_they_say(ConsumerUnderTest(subject), (make, due))

    assert set(asked) == {"memoryview"}


def test_an_array_that_is_exported_once_has_its_axes_right():
    """The error of the second export is one finding, not a wrong shape, stride or address."""
    once = load_mutants()["capsule_form.arrays_that_are_exported_once"].make()

    with pytest.raises(NotApplicable, match="a second export raised KeyError"):
        layouts.strides_count_elements(_spent(ProducerUnderTest(once)))


@pytest.mark.parametrize("generation", ["legacy", "versioned"])
def test_an_array_that_is_exported_once_is_not_accused_of_its_threads(generation):
    """Errors of the threads are not evidence either."""
    once = load_mutants()["capsule_form.arrays_that_are_exported_once"].make()

    with pytest.raises(NotApplicable, match="a second export raised KeyError"):
        releasing.threads_export_one_array_at_once(ProducerUnderTest(once), generation)


@pytest.mark.exhaustive(but=["versioned"])
@pytest.mark.parametrize("generation", ["legacy", "versioned"])
def test_a_library_that_copies_for_every_export_shares_no_struct(generation):
    """Each capsule has the same contents, in different structs."""

    class Copying:
        def __dlpack__(self, **keywords):
            return np.zeros((2, 3), "float32").__dlpack__(**keywords)

    library = ProducerUnderTest(Subject("copying", make=lambda *_: Copying()))

    capsule_form.every_export_is_a_capsule_of_its_own(library, generation)


@pytest.mark.parametrize(
    "check",
    [
        exchange_use.tensors_of_tables_are_released_once,
        exchange_use.tables_that_do_not_lend_are_no_reason_to_crash,
    ],
)
def test_a_library_without_room_for_an_array_is_not_accused_of_its_table(check):
    """A library of matrices may refuse vectors, with or without a table."""

    def take(x):
        raise TypeError(f"{type(x).__name__} is no matrix")

    with pytest.raises(NotApplicable, match="it takes no plain array of one axis"):
        check(ConsumerUnderTest(Subject("matrices", take=take, read=list)))


@pytest.mark.exhaustive(but=["versioned"])
@pytest.mark.parametrize("generation", ["legacy", "versioned"])
def test_memory_that_the_kit_keeps_is_not_the_librarys(generation):
    """The kit records errors with changing messages, which is not growth of the library."""
    count = itertools.count()

    class Wordy:
        def __init__(self):
            self.array = np.zeros((2, 3), "float32")

        def __dlpack__(self, *, dl_device=None, **keywords):
            if dl_device not in {None, (1, 0)}:
                raise BufferError(f"refusal {next(count)} of {'many ' * 40}")
            return self.array.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return (1, 0)

    library = ProducerUnderTest(Subject("wordy", make=lambda *_: Wordy()))

    lifetime.refused_exports_keep_nothing(library, generation)


class _spent:  # noqa: N801 - stands for a function
    """A library whose arrays have all been exported before."""

    def __init__(self, library):
        self.library = library

    def __getattr__(self, name):
        return getattr(self.library, name)

    def make(self, *shape, **more):
        x = self.library.make(*shape, **more)
        self.library.export(x)
        return x
