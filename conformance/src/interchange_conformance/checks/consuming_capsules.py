"""Consumers and capsules: accepted names, the mark of consumption, and single use.

Source: DLPack Python specification, Implementation; dlpack.h 1.3; CPython, PyCapsule.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange_conformance.findings import Found, NotApplicable, expect, note
from interchange_conformance.probes.importing import (
    EACH_GENERATION,
    PLAIN,
    Attempt,
    attempts,
    elements_of,
    expect_all_released,
    expect_released,
    expect_right,
    of_rule,
    paired,
    release_caches,
    releases,
    shares,
    show,
    ways,
)
from interchange_conformance.registry import area
from interchange_conformance.zoo import host, zoo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from interchange_conformance.probes.importing import Generation, Pair, Way
    from interchange_conformance.probes.under_test import ConsumerUnderTest
    from interchange_conformance.registry import Decorator
    from interchange_conformance.zoo import Source

check: Decorator = area("capsule")

_ZOO: Final = paired(zoo())
_SPECIFICATION: Final = "DLPack Python specification, Implementation"


@check("DLP-CAP-1", source="array API standard 2025.12, from_dlpack")
def plain_arrays_are_taken(consumer: ConsumerUnderTest) -> None:
    """A float32 array in host memory is imported and read correctly.

    Support at least one of the two structs, and one axis. All other consumer checks apply only to
    hooks that import such an array.
    """
    if consumer.subject.take is None and consumer.subject.take_capsule is None:
        raise NotApplicable("the subject describes neither take() nor take_capsule()")
    source = host(PLAIN)
    if consumer.subject.take is not None:
        refused = Attempt(consumer.subject.take, source)
        asked = any(call.method == "__dlpack__" for call in source.log)
        if not (refused.taken or asked):
            raise NotApplicable(f"host memory {refused}, before any capsule was asked for")

    try:
        found = ways(consumer)
    except NotApplicable as refusals:
        raise Found(f"no plain array of host memory was taken: {refusals}") from None

    for way in found:
        attempt = Attempt(way.take, host(way.shape).but(generation=way.generation))
        if consumer.subject.read is not None:
            read = expect_right(consumer, way, attempt, elements_of(attempt.source))
            expect(read, f"{way}: {show(attempt.source)} {attempt}")


@check("DLP-CAP-1", source=_SPECIFICATION, cases=of_rule(_ZOO, "DLP-CAP-1"))
def capsules_of_other_names_are_refused(consumer: ConsumerUnderTest, case: Pair) -> None:
    """A capsule with any other name than the two names is refused.

    Compare the whole name: another name stands for another struct, or for a consumed tensor.
    """
    for way, attempt in attempts(consumer, case):
        expect(not attempt.taken, f"{way}: a capsule with {case.name} {attempt}")


@check("DLP-CAP-2", source=_SPECIFICATION, cases=of_rule(_ZOO, "DLP-CAP-2"))
def used_capsules_are_refused(consumer: ConsumerUnderTest, case: Pair) -> None:
    """A capsule whose name begins with 'used_' is refused.

    Its tensor belongs to the consumer that renamed it and will release it: a second owner frees it
    twice.
    """
    for way, attempt in attempts(consumer, case):
        expect(not attempt.taken, f"{way}: the capsule of {case.name} {attempt}")


@check("DLP-CAP-2", source=_SPECIFICATION, cases=EACH_GENERATION)
def taken_capsules_are_renamed(consumer: ConsumerUnderTest, case: Generation) -> None:
    """A consumed capsule is renamed: 'used_' and its previous name.

    Call PyCapsule_SetName with the used name of the struct: the producer's destructor compares it,
    and releases the tensor if the name is another.
    """
    due = capsules.USED_NAME[capsules.VERSIONED if case == "versioned" else capsules.LEGACY]
    for way in ways(consumer, case):
        attempt = Attempt(way.take, host(way.shape).but(generation=case))

        found = [loan.name for loan in attempt.source.loans]

        names = " and ".join(map(repr, found))
        expect(due in found, f"{way}: the capsule is named {names} after it, due was {due!r}")


@check("DLP-CAP-2", source=_SPECIFICATION, cases=EACH_GENERATION)
def a_capsule_is_taken_once(consumer: ConsumerUnderTest, case: Generation) -> None:
    """A second import of a capsule is refused, and leaves the first valid.

    Rename the capsule when you take ownership of the tensor, and refuse renamed capsules.
    """
    for way in ways(consumer, case):
        source = host(way.shape).but(generation=case, repeat=True)
        first = Attempt(way.take, source)

        second = Attempt(way.take, source)
        release_caches(consumer)

        expect(not second.taken, f"{way}: the same capsule, a second time, {second}")
        _expect_unharmed(consumer, way, first)
        expect_released(consumer, way, first)


def _expect_unharmed(consumer: ConsumerUnderTest, way: Way, first: Attempt) -> None:
    """Raise an error unless an array is still on valid memory, and is read correctly."""
    source = first.source
    calls = source.deleter_calls
    if not calls and consumer.subject.read is None:
        return
    alive = not calls or not shares(consumer, source, first.array)
    words = f"{way}: the same capsule was refused a second time, and the first array"
    expect(alive, f"{words} lives while its deleter has run {calls} times")
    due = elements_of(source)
    found = first.values(consumer)
    expect(found == due, f"{words} is read as {found!s:.200}, due was {due}")


_REFUSED: Final = {
    "element-type": "code-99",
    "device": "device-99",
    "extent": "extent-negative",
}
"""Errors that consumers detect at various points of an import."""


@check(
    "DLP-CAP-5",
    source="DLPack Python specification, Implementation: rename, then own",
    cases={name: _ZOO[case] for name, case in _REFUSED.items()},
)
def a_refused_capsule_is_either_used_or_not(consumer: ConsumerUnderTest, case: Pair) -> None:
    """After a refusal a capsule is unused with a live tensor, or used and its tensor released.

    Rename the capsule and take ownership of the tensor in one step that cannot fail, and validate
    afterwards; or validate first and change nothing. In between, a tensor is leaked or freed twice.
    """
    refused = False
    for way in ways(consumer, *case.versions):
        source = way.fit(case.versions[way.generation].make().but(repeat=True))
        if source is None:
            continue
        note(f"taking {case.name} by {way}")
        attempt = Attempt(way.take, source)
        if attempt.taken or not source.loans:
            continue
        refused = True
        name = source.loans[-1].name or b""
        is_used = name in capsules.USED_NAME.values()

        if is_used:
            releases(consumer, source)  # it may be released by the next collection
        else:
            release_caches(consumer)
        calls = source.deleter_calls

        words = f"the capsule is named {name!r}, and the deleter has run {calls} times"
        expect(calls == is_used, f"{way}: {case.name} {attempt}; {words}")
    if not refused:
        raise NotApplicable(f"{case.name} is not refused once there is a capsule")


@check("DLP-CAP-5", source=_SPECIFICATION, severity="QUIRK", cases=EACH_GENERATION)
def the_destructor_of_a_taken_capsule_is_cleared(
    consumer: ConsumerUnderTest, case: Generation
) -> None:
    """The destructor of a consumed capsule is set to NULL.

    Call PyCapsule_SetDestructor(capsule, NULL) after the renaming: some producers' destructors
    release the tensor regardless of the name.
    """
    for way in ways(consumer, case):
        attempt = Attempt(way.take, host(way.shape).but(generation=case))

        cleared = any(loan.destructor_cleared for loan in attempt.source.loans)

        expect(cleared, f"{way}: the capsule has its destructor still")


@check(
    "DLP-CAP-3",
    source="array API standard 2025.12, array.__dlpack__, Returns",
    cases=of_rule(_ZOO, "DLP-CAP-3"),
)
def what_is_no_capsule_is_refused(consumer: ConsumerUnderTest, case: Pair) -> None:
    """A producer whose __dlpack__() returns no capsule is refused.

    Check the type before you read the name or the pointer.
    """
    for way, attempt in attempts(consumer, case):
        returned = attempt.source.manners.returns
        expect(not attempt.taken, f"{way}: a __dlpack__() that returns {returned!r} {attempt}")


# ------------------------------------------------------------------ threads

_ROUNDS: Final = 200
_SLOW: Final = 6  # rounds in which every Python function yields to the other thread
_SWITCH: Final = 1e-6  # switch interval of threads [seconds]


@check("DLP-CAP-2", source=_SPECIFICATION, cases=EACH_GENERATION)
def of_two_threads_one_takes_a_capsule(consumer: ConsumerUnderTest, case: Generation) -> None:
    """If two threads import one capsule at once, one gets the tensor and the other an error.

    Read and change the name in one step, under a lock or the GIL: otherwise both threads own the
    tensor, and both release it.
    """
    for way in ways(consumer, case):
        sources = [host(way.shape).but(generation=case, repeat=True) for _ in range(_ROUNDS)]
        for source in sources:
            source.__dlpack__(max_version=(1, 3))  # the one capsule that both threads receive
        winners = []
        for both in _at_once(way.take, sources):
            taken = [one for one in both if one.taken]
            expect(len(taken) == 1, f"{way}: of two threads {len(taken)} took the same capsule")
            winners += taken
        expect_all_released(consumer, [(way, winner) for winner in winners])


def _at_once(
    take: Callable[[Any], Any], sources: Sequence[Source]
) -> Iterator[tuple[Attempt, Attempt]]:
    """Yield the results of imports of some capsules by two threads at the same time."""
    barrier = threading.Barrier(2)
    found: tuple[list[Attempt], list[Attempt]] = [], []

    def work(mine: list[Attempt]) -> None:
        for number, source in enumerate(sources):
            barrier.wait()
            yields = number < _SLOW  # to the other thread, at each call
            sys.setprofile((lambda *_: time.sleep(_SWITCH)) if yields else None)
            mine.append(Attempt(take, source))
            sys.setprofile(None)

    threads = [threading.Thread(target=work, args=(mine,), daemon=True) for mine in found]
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    yield from zip(*found, strict=True)
