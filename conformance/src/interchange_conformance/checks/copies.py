"""Copies: shared memory, copies, and their contents.

Source: array API standard 2025.12, ``array.__dlpack__``, copy; dlpack.h 1.3,
DLPACK_FLAG_BITMASK_IS_COPIED.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import NotApplicable, expect, note
from interchange_conformance.registry import area

from ._exports import (
    GENERATIONS,
    REFUSALS,
    SOMETHING,
    answer,
    asking,
    call,
    export_keywords,
    knows,
    newest,
    numbered,
    opened,
    require_host,
    some_array,
    told,
)
from ._views import VIEWS, View, view_of

if TYPE_CHECKING:
    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("copies")

_SOURCE: Final = "array API standard 2025.12, array.__dlpack__, copy"
_FLAG: Final = "array API standard 2025.12, array.__dlpack__, copy: IS_COPIED must be set"


def _shared(producer: ProducerUnderTest, x: Any, generation: str) -> OpenedCapsule:
    """Return a capsule of host memory that was exported without requesting a copy."""
    return require_host(opened(producer, x, generation))


def _copied(producer: ProducerUnderTest, x: Any, generation: str) -> OpenedCapsule:
    """Return a capsule that was requested as a copy, if it is one."""
    shared = _shared(producer, x, generation)
    copied = require_host(opened(producer, x, generation, copy=True))
    if _overlap(copied, shared):
        raise NotApplicable("copy=True gives memory that is shared with the array")
    return copied


def _overlap(one: OpenedCapsule, other: OpenedCapsule) -> bool:
    """Return whether two tensors have an element in common."""
    return not set(one.addresses()).isdisjoint(other.addresses())


# ------------------------------------------------------------------ no copy


@check("DLP-COPY-1", source=_SOURCE, cases=GENERATIONS)
def copy_false_shares_memory(producer: ProducerUnderTest, case: str) -> None:
    """copy=False exports the array's own memory.

    Export the array's own memory, or raise BufferError if that is not possible.
    """
    x = some_array(producer)

    first = require_host(opened(producer, x, case, copy=False))
    second = require_host(opened(producer, x, case, copy=False))

    expect(not first.copied, f"copy=False gave a struct with flags {first.flags:#x}: a copy")
    expect(
        first.first == second.first,
        "copy=False gave memory at one address, and when asked again, at another",
    )
    _expect_one_memory(producer, first, second)


@check("DLP-COPY-1", source=f"{_SOURCE}: None must reuse the buffer if possible", cases=GENERATIONS)
def memory_is_shared_if_it_can_be(producer: ProducerUnderTest, case: str) -> None:
    """Without copy, or with copy=None, the memory is shared if copy=False would share it.

    Share the memory unless it is impossible: for plain host arrays it never is.
    """
    x = some_array(producer)
    plain = _shared(producer, x, case)
    again = _shared(producer, x, case)
    never = answer(producer, x, **asking(case, copy=False))
    if isinstance(never, Exception):  # another check tests the class
        raise NotApplicable(told(asking(case, copy=False), never))

    expect(
        plain.first == again.first,
        "two exports of one array gave memory at different addresses",
    )
    _expect_one_memory(producer, plain, again)


def _expect_one_memory(
    producer: ProducerUnderTest, one: OpenedCapsule, other: OpenedCapsule
) -> None:
    """Raise an error unless a write through one tensor is visible through the other."""
    if one.readonly or other.readonly or producer.subject.immutable:
        return
    ones = [b"\1" * one.itemsize for _ in one.addresses()]
    one.write(ones)
    expect(other.read() == ones, "what is written through one export is not there in another")


@check("DLP-COPY-2", source=f"{_FLAG} when a copy happens, and says so")
def shared_memory_is_not_called_a_copy(producer: ProducerUnderTest) -> None:
    """Shared memory is not flagged as a copy.

    Set DLPACK_FLAG_BITMASK_IS_COPIED only if you copied: it tells the consumer that it is the sole
    owner of the memory.
    """
    x = some_array(producer)
    one = opened(producer, x, "versioned")
    other = opened(producer, x, "versioned")

    expect(
        not one.copied or one.first != other.first,
        f"two exports share memory, and have flags {one.flags:#x}",
    )


# ------------------------------------------------------------------ copies


@check(
    "DLP-COPY-2", source=f"{_SOURCE}: True must always copy", severity="SHOULD", cases=GENERATIONS
)
def copies_are_made_on_request(producer: ProducerUnderTest, case: str) -> None:
    """copy=True returns a capsule.

    Copy the elements and export the copy, also to consumers without max_version. BufferError is
    better than shared memory, but the standard has no exception for copies.
    """
    x = some_array(producer)
    opened(producer, x, case)
    keywords = asking(case, copy=True)

    found = answer(producer, x, **keywords)

    expect(not isinstance(found, Exception), told(keywords, found))


@check("DLP-COPY-2", source=f"{_SOURCE}: True must always copy", cases=GENERATIONS)
def copy_true_never_shares_memory(producer: ProducerUnderTest, case: str) -> None:
    """copy=True exports memory that is not shared.

    Copy, or raise BufferError: the consumer writes to the copy.
    """
    x = some_array(producer)
    shared = _shared(producer, x, case)

    copied = require_host(opened(producer, x, case, copy=True))
    another = require_host(opened(producer, x, case, copy=True))

    asked = call(asking(case, copy=True))
    expect(
        not _overlap(copied, shared),
        f"{asked} gave the memory of the array itself",
    )
    expect(not _overlap(copied, another), f"{asked} gave the same memory twice")


@check("DLP-COPY-2", source=_FLAG)
def copies_are_flagged(producer: ProducerUnderTest) -> None:
    """The struct of a copy has the flag IS_COPIED.

    Set DLPACK_FLAG_BITMASK_IS_COPIED in the versioned struct if you copied: it tells the consumer
    that writes have no other effect.
    """
    copied = _copied(producer, some_array(producer), "versioned")

    expect(copied.copied, f"the flags of a copy are {copied.flags:#x}")


@check(
    "DLP-COPY-2",
    source="dlpack.h 1.3, DLPACK_FLAG_BITMASK_IS_COPIED: solely owned by the consumer",
    severity="SHOULD",
    cases={"of-writable": False, "of-read-only": True},
)
def copies_may_be_written(producer: ProducerUnderTest, case: bool) -> None:
    """A copy is not flagged read-only, also if its source is read-only.

    Clear the read-only flag of a copy: its memory belongs to the consumer alone.
    """
    if producer.subject.immutable and not case:
        raise NotApplicable("the library's arrays are all constant")
    x = some_array(producer, readonly=case and not producer.subject.immutable)
    kind = "read-only" if case else "writable"

    copied = _copied(producer, x, "versioned")
    expect(not copied.readonly, f"the flags of a copy of {kind} memory are {copied.flags:#x}")
    note(f"writing to a copy of {kind} memory")
    copied.write([b"\1" * copied.itemsize for _ in copied.addresses()])


@check(
    "DLP-COPY-2",
    source=f"{_SOURCE}: the copy is performed by the producer",
    cases={"vector": None, **VIEWS},
)
def copies_hold_the_elements(producer: ProducerUnderTest, case: View | None) -> None:
    """A copy has the elements of its source, in their order.

    Copy by the strides of the array, and describe the copy by its own strides.
    """
    whole = case or View(1, lambda x: x, lambda line: line)
    whole.rehearse(producer)
    x, elements, form = numbered(producer, whole.bases(producer))
    due = whole.due(elements, form.shape)

    y = view_of(x, whole.make, due.shape)
    newest(producer, y)
    copied = require_host(newest(producer, y, copy=True))
    expect(copied.shape == due.shape, f"shape {due.shape} became {copied.shape} in the copy")
    note(f"reading a copy with strides {copied.strides}")
    expect(
        copied.read() == due.elements,
        f"the copy, with shape {copied.shape} and strides {copied.strides}, holds other elements",
    )


# ------------------------------------------------------------------ the argument


_MALFORMED: Final[dict[str, Any]] = {
    "zero": 0,
    "one": 1,
    "two": 2,
    "text": "yes",
    "empty-list": [],
    "an-object": SOMETHING,
}


@check(
    "DLP-COPY-3",
    source=f"{_SOURCE}: a bool or None; it names no class",
    severity="QUIRK",
    cases=_MALFORMED,
)
def malformed_copy_arguments_are_refused(producer: ProducerUnderTest, case: Any) -> None:
    """A copy argument other than None or a bool is refused with TypeError.

    Compare the argument with `is`, and raise TypeError; ValueError and BufferError are accepted as
    well.
    """
    x = some_array(producer)
    keywords = asking("versioned" if knows(producer, x, "max_version") else "legacy", copy=case)
    export_keywords(producer, x)

    found = answer(producer, x, **keywords)

    expect(isinstance(found, REFUSALS), told(keywords, found))
