"""Consumers and lifetime: a tensor is released once, with its last view, also after errors.

Source: dlpack.h 1.3, DLManagedTensorVersioned.deleter; DLPack Python specification, Implementation.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import NotApplicable, expect, note
from interchange_conformance.probes.importing import (
    EACH_GENERATION,
    Attempt,
    attempts,
    elements_of,
    expect_all_released,
    expect_released,
    expect_right_if_read,
    object_way,
    of_rule,
    paired,
    release_caches,
    releases,
    shares,
    show,
    ways,
)
from interchange_conformance.registry import area
from interchange_conformance.zoo import host, legal, zoo

if TYPE_CHECKING:
    from interchange_conformance.probes.importing import Generation, Pair, Way
    from interchange_conformance.probes.under_test import ConsumerUnderTest
    from interchange_conformance.registry import Decorator
    from interchange_conformance.zoo import Source

check: Decorator = area("lifetime")

_ZOO: Final = paired(zoo())
_LEGAL: Final = paired(legal())
_DELETER: Final = "dlpack.h 1.3, DLManagedTensorVersioned.deleter"


def _made(way: Way) -> Source:
    """Return a plain producer for a function."""
    return host(way.shape).but(generation=way.generation)


@check("DLP-LIFE-1", source=_DELETER, cases=EACH_GENERATION)
def the_deleter_runs_once_when_the_array_dies(
    consumer: ConsumerUnderTest, case: Generation
) -> None:
    """The deleter runs once, when the last array on the memory is destroyed, and not before.

    Own the struct in one place, and call its own deleter with its own address, not with that of a
    copy.
    """
    for way in ways(consumer, case):
        attempt = Attempt(way.take, _made(way))
        release_caches(consumer)
        counts = attempt.source.counts
        alive = 0 in counts or not shares(consumer, attempt.source, attempt.array)
        expect(alive, f"{way}: the array lives, and the deleter has run {_times(counts)}")

        expect_released(consumer, way, attempt)


def _times(counts: tuple[int, ...]) -> str:
    """Return how often deleters have run, as text."""
    return f"{' and '.join(map(str, counts)) or 'no'} times"


def _expect_once(counts: tuple[int, ...], words: str) -> None:
    """Raise an error unless each exported struct was released once."""
    expect(set(counts) == {1}, f"{words}, and the deleter ran {_times(counts)}")


_GROUPS: Final[dict[str, tuple[Pair, ...]]] = {
    "names": tuple(_ZOO[name] for name in ("name-unknown", "name-longer", "name-null")),
    "unknown-devices": tuple(of_rule(_ZOO, "DLP-DEV-1").values()),
    "lying-devices": tuple(of_rule(_ZOO, "DLP-DEV-3").values()),
    "unknown-elements": tuple(
        _ZOO[name] for name in ("code-99", "float17", "float6-of-8-bits", "bits-0", "lanes-0")
    ),
    "extents": tuple(_ZOO[name] for name in ("extent-negative", "extents-negative-product-6")),
    "sizes": tuple(_ZOO[name] for name in ("elements-overflow", "elements-overflow-to-6")),
    "versions": tuple(_LEGAL[name] for name in ("minor-99", "flags-unknown", "read-only")),
    "scalars": tuple(_LEGAL[name] for name in ("scalar", "scalar-strides-null")),
    "without-elements": tuple(_LEGAL[name] for name in ("empty", "empty-with-data")),
    "layouts": tuple(_LEGAL[name] for name in ("f-order", "broadcast", "gaps", "strides-null")),
    "rare-elements": tuple(
        _LEGAL[name] for name in ("bool", "complex128", "bfloat16", "lanes-2", "padded-uint4")
    ),
    "many-axes": (_LEGAL["64-axes"], _ZOO["ndim-65"]),
    "fake-cuda": (_LEGAL["fake-cuda"],),
}
"""Cases that most or some consumers refuse; an import may fail half-way."""


@check("DLP-LIFE-1", source=_DELETER, cases=_GROUPS)
def a_tensor_is_released_once_whatever_becomes_of_it(
    consumer: ConsumerUnderTest, case: tuple[Pair, ...]
) -> None:
    """A tensor is released once, whether it was refused, or imported and destroyed.

    On every path from the capsule to the array, errors included, the tensor has one owner: the
    capsule while it is unused, the consumer afterwards.
    """
    imports: list[tuple[Way, Attempt]] = []
    for pair in case:
        with contextlib.suppress(NotApplicable):
            imports += attempts(consumer, pair)
    if not imports:
        raise NotApplicable("no such array fits any way in")
    note("letting go of all of them")
    expect_all_released(consumer, imports)


@check("DLP-LIFE-1", source="dlpack.h 1.3, deleter; what was taken is handed on")
def views_keep_the_memory(consumer: ConsumerUnderTest) -> None:
    """The tensor is released when the last array on its memory is destroyed, and not before.

    Keep a reference from your exports to the imported tensor, not only to the array in between.
    """
    way = object_way(consumer)
    source = _made(way)
    first = way.take(source)
    if not hasattr(first, "__dlpack__"):
        raise NotApplicable(f"{type(first).__name__} has no __dlpack__")
    try:
        second: Any = way.take(first)
    except Exception as error:
        raise NotApplicable(f"its own array is refused: {type(error).__name__}") from error
    if not shares(consumer, source, second):
        raise NotApplicable("what is taken of its own array is a copy")

    del first
    release_caches(consumer)
    counts = source.counts
    alive = 0 in counts
    expect(alive, f"an array on the memory lives, and the deleter has run {_times(counts)}")

    del second
    _expect_once(releases(consumer, source), "both arrays were destroyed")


@check("DLP-LIFE-5", source=f"{_DELETER}: can be NULL", cases=EACH_GENERATION)
def deleters_that_are_null_are_not_called(consumer: ConsumerUnderTest, case: Generation) -> None:
    """A NULL deleter is not called when the array is destroyed or refused.

    Check the pointer before the call, also if you wrap it for later.
    """
    for way in ways(consumer, case):
        note(f"taking an array without a deleter by {way}")
        attempt = Attempt(way.take, _made(way).but(deleter=False))
        expect_right_if_read(consumer, way, attempt)

        note("letting go of an array without a deleter")
        attempt.drop()
        release_caches(consumer)


@check("DLP-LIFE-5", source=f"{_DELETER}: can be NULL", severity="SHOULD", cases=EACH_GENERATION)
def arrays_without_a_deleter_are_taken(consumer: ConsumerUnderTest, case: Generation) -> None:
    """An array whose deleter is NULL is imported.

    Treat it as memory that is never freed, such as constants and mapped files.
    """
    for way in ways(consumer, case):
        note(f"taking an array without a deleter by {way}")
        attempt = Attempt(way.take, _made(way).but(deleter=False))
        expect(attempt.taken, f"{way}: {show(attempt.source)} {attempt}")
        _kept.append(attempt.array)  # other checks test what happens to it


_kept: Final[list[Any]] = []


@check(
    "DLP-LIFE-8",
    source="dlpack.h 1.3, DLManagedTensorVersioned.manager_ctx: it can also be NULL",
    severity="SHOULD",
    cases=EACH_GENERATION,
)
def arrays_without_a_manager_ctx_are_taken(consumer: ConsumerUnderTest, case: Generation) -> None:
    """An array whose manager_ctx is NULL is imported.

    Only the producer's deleter uses this field.
    """
    for way in ways(consumer, case):
        note(f"taking an array whose manager_ctx is NULL by {way}")
        attempt = Attempt(way.take, _made(way).but(manager_ctx=None))
        expect(attempt.taken, f"{way}: an array whose manager_ctx is NULL {attempt}")
        expect_right_if_read(consumer, way, attempt)

        note("letting go of an array whose manager_ctx is NULL")
        expect_released(consumer, way, attempt)


@check("DLP-LIFE-7", source="interchange; the documents are silent", cases=EACH_GENERATION)
def the_struct_stays_as_the_producer_made_it(consumer: ConsumerUnderTest, case: Generation) -> None:
    """The consumer writes to no part of the struct, shape and strides included.

    Copy what you want to change, such as strides in bytes: the producer may read its struct, and
    give it to other consumers, as nanobind does.
    """
    for way in ways(consumer, case):
        plain = _made(way)
        offset = host(way.shape, byte_offset=64).but(generation=case)
        old = plain.but(strides=None, version=(1, 1))
        for source in (plain, offset, old):
            attempt = Attempt(way.take, source)

            changed = sorted({name for loan in source.loans for name in loan.rewritten})

            words = f"{way}: {show(source)} {attempt}, and its struct has other bytes in"
            expect(not changed, f"{words} {', '.join(changed)}")


@check(
    "DLP-LIFE-1",
    source="array API standard 2025.12, from_dlpack: a view of the memory",
    severity="SHOULD",
)
def elements_are_read_without_asking_again(consumer: ConsumerUnderTest) -> None:
    """After the import the producer is not called again.

    Keep the tensor, not the producer: that object may be changed, closed or destroyed.
    """
    way = object_way(consumer)
    source = _made(way)
    due = elements_of(source)
    attempt = Attempt(way.take, source)
    asked = len(source.log)
    source.manners = replace(source.manners, raises=BufferError("the producer is closed"))

    found = attempt.values(consumer)

    more = [call for call in source.log[asked:] if call.method == "__dlpack__"]
    expect(not more, "after the import __dlpack__() of the producer was called")
    expect(found == due, f"the elements were read as {found}, due was {due}")


@check("DLP-LIFE-1", source=f"{_DELETER}; DLPack Python specification, Implementation")
def arrays_may_die_on_another_thread(consumer: ConsumerUnderTest) -> None:
    """An array that is destroyed on another thread is released there, once.

    Use no thread-local storage; acquire the GIL if the deleter is called without it.
    """
    for way in ways(consumer):
        source = _made(way)
        held = [way.take(source)]
        thread = threading.Thread(target=held.clear)
        thread.start()
        thread.join()

        _expect_once(releases(consumer, source), f"{way}: the array died on another thread")


_alive: Final[list[Any]] = []


@check(
    "DLP-LIFE-1",
    source="DLPack Python specification, Implementation; CPython, Py_Finalize",
    fresh=True,
    seconds=60.0,
)
def arrays_may_outlive_the_interpreter(consumer: ConsumerUnderTest) -> None:
    """The interpreter exits normally while imported arrays are alive.

    Release nothing, or release safely, once the interpreter is finalizing: modules are cleared by
    then, and threads cannot acquire the GIL.
    """
    gc.unfreeze()  # frozen objects would not be released at the end
    for way in ways(consumer):
        y = way.take(_made(way))
        cycle: list[Any] = [y]
        cycle.append(cycle)
        _alive.append((y, cycle))
