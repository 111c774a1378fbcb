"""Lifetime: memory is kept exactly as long as a capsule or a consumer holds it.

Source: DLPack Python specification, Implementation; dlpack.h 1.3, deleter.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange_conformance.findings import NotApplicable, expect, note
from interchange_conformance.probes.under_test import collect
from interchange_conformance.registry import area
from interchange_conformance.zoo.memory import c_strides

from ._exports import (
    EACH_WAY,
    GENERATIONS,
    HELD,
    WAYS,
    answer,
    asking,
    opened,
    require_host,
    some_array,
)
from ._memory import BLOCK, allocated, blocks, kept, least_kept, meter_for, references_gained, touch

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("lifetime")

_DELETER: Final = "dlpack.h 1.3, deleter: when the resource is no longer needed"
_DESTRUCTOR: Final = "DLPack Python specification, Implementation: PyCapsule_Destructor"

_HELD: Final = 2**20
"""Size of an array whose memory is soon reused after it is freed [bytes]."""
_MANY_AXES: Final = (1,) * 40  # so that a struct is too large for Python's small blocks
_CALLS: Final = 40
_REFUSALS: Final = 8
_LEAK: Final = 32, 0.9
"""Threshold of a leak per call: malloc's smallest block [bytes]; blocks of CPython.
"""


def filled(producer: ProducerUnderTest, x: Any, generation: str) -> OpenedCapsule:
    """Return a capsule of contiguous host memory, filled with a pattern if it is writable."""
    found = require_host(opened(producer, x, generation))
    if found.strides not in {None, c_strides(found.shape or ())} or not found.data:
        raise NotApplicable(f"the array is not contiguous, its strides are {found.strides}")
    if not (found.readonly or producer.subject.immutable):
        ctypes.memset(found.first, 0x5A, found.nbytes)
    return found


def other_arrays(producer: ProducerUnderTest) -> list[Any]:
    """Return arrays with other contents, which reuse freed memory."""
    arrays = [producer.make(*producer.block(_HELD)) for _ in range(4)]
    for x in arrays:
        touch(producer, x)
    return arrays


# ------------------------------------------------------------------ memory is kept


@check(
    "DLP-LIFE-2",
    source=_DELETER,
    cases=HELD,
)
def memory_stays_while_it_is_held(producer: ProducerUnderTest, case: tuple[str, str]) -> None:
    """The memory stays valid and unchanged while a capsule or a consumer holds it.

    Let manager_ctx own a reference to the owner of the memory, taken when the struct is made and
    dropped by the deleter. The array itself may be destroyed long before.
    """
    generation, held = case
    found = filled(producer, producer.make(*producer.block(_HELD)), generation)
    first, size = found.first, found.nbytes
    note("reading the memory of an array that is gone, while it is held")
    before = ctypes.string_at(first, size)

    owned = found.consume() if held == "consumed" else None
    collect()
    others = other_arrays(producer)
    expect(
        ctypes.string_at(first, size) == before,
        f"the array is gone, its memory is {held} and held, and has other contents now",
    )
    del others
    if owned is not None:
        owned.release()


@check("DLP-LIFE-2", source=f"{_DESTRUCTOR}, only for unconsumed capsules", cases=GENERATIONS)
def destructors_leave_consumed_tensors_alone(producer: ProducerUnderTest, case: str) -> None:
    """Destroying a consumed capsule does not run the deleter.

    Check the name in the destructor, and return if it is the used one: the tensor belongs to the
    consumer, which need not clear the destructor.
    """
    found = filled(producer, producer.make(*producer.block(_HELD)), case)
    first, size, deleter = found.first, found.nbytes, found.deleter
    before = ctypes.string_at(first, size)

    capsules.rename_capsule(found.capsule, capsules.USED_NAME[found.name])
    found.capsule = None
    collect()
    others = other_arrays(producer)
    note("reading consumed memory whose capsule is gone")
    expect(
        ctypes.string_at(first, size) == before,
        "the capsule was renamed by a consumer and died: the memory has other contents now",
    )
    del others
    note("calling the deleter of a consumed tensor whose capsule is gone")
    if deleter:
        capsules.deleter_at(deleter)(found.address)


@check("DLP-LIFE-2", source=_DELETER)
def exports_are_released_in_any_order(producer: ProducerUnderTest) -> None:
    """Exports of one array can be released in any order.

    Give every struct its own extents, strides and reference to the owner of the memory.
    """
    x = producer.make(*producer.block(_HELD))
    kinds = [one for one in GENERATIONS if _there_is(producer, x, one)]
    found = [filled(producer, x, kinds[turn % len(kinds)]) for turn in range(4)]
    places = [(one.first, one.nbytes, one.shape) for one in found]
    before = [ctypes.string_at(first, size) for first, size, _ in places]
    del x

    for turn in (2, 0, 3):
        WAYS["released" if turn else "dropped"](found[turn])
        others = other_arrays(producer)
        note(f"reading the last export of an array after export {turn} was released")
        expect(found[1].shape == places[1][2], f"the extents became {found[1].shape}")
        first, size, _ = places[1]
        expect(
            ctypes.string_at(first, size) == before[1],
            f"after export {turn} of 4 was released, the memory of another has other contents",
        )
        del others
    found[1].consume().release()


def _there_is(producer: ProducerUnderTest, x: Any, generation: str) -> bool:
    """Return whether an array can be exported in a generation."""
    try:
        opened(producer, x, generation)
    except NotApplicable:
        return generation == "versioned" and not _there_is(producer, x, "legacy")
    return True


# ------------------------------------------------------------------ memory is freed


@check("DLP-LIFE-2", source=f"{_DESTRUCTOR}; {_DELETER}", cases=EACH_WAY)
def memory_is_freed_when_nobody_holds_it(
    producer: ProducerUnderTest, case: tuple[str, str]
) -> None:
    """The memory is freed when the array and all capsules and consumers are destroyed.

    Give the capsule a destructor that runs the deleter of an unconsumed tensor, and let the deleter
    free everything: the reference to the owner, the struct, and the vectors.
    """
    generation, way = case
    meter, form = meter_for(producer), producer.block(BLOCK)

    def export() -> None:
        x = producer.make(*form)
        touch(producer, x)
        found = opened(producer, x, generation)
        if not found.deleter:
            raise NotApplicable("the deleter is NULL: there is nothing to release")
        WAYS[way](found)

    size = kept(producer, meter, export)
    words = (
        f"of every array of {form.nbytes / 2**20:.1f} MiB that was exported, {way} and forgotten"
    )
    expect(size < form.nbytes // 2, f"{words}, {size / 2**20:.1f} MiB are kept")


@check("DLP-LIFE-2", source=f"{_DESTRUCTOR}; {_DELETER}", cases=EACH_WAY)
def owners_get_their_references_back(producer: ProducerUnderTest, case: tuple[str, str]) -> None:
    """An export drops the references that it took to the array.

    Count: as many Py_DECREF in the deleter as Py_INCREF in the export, refused exports included.
    """
    generation, way = case
    x = some_array(producer)
    more = references_gained(x, lambda: WAYS[way](opened(producer, x, generation)), times=10)
    expect(not more, f"10 exports that were {way} changed the array's reference count by {more}")


@check(
    "DLP-LIFE-2", source="dlpack.h 1.3, deleter: deletes the argument self as well", cases=EACH_WAY
)
def structs_are_freed(producer: ProducerUnderTest, case: tuple[str, str]) -> None:
    """The struct, its extents and its strides are freed when the tensor is released.

    Free the block of the struct in the deleter: the capsule does not own it, and the consumer must
    not free it.
    """
    generation, way = case
    x = _with_a_large_struct(producer)

    def export() -> None:
        for _ in range(_CALLS):
            WAYS[way](opened(producer, x, generation))

    _expect_nothing_kept(producer, export, _CALLS, f"every export that is {way}")


def _expect_nothing_kept(
    producer: ProducerUnderTest, act: Callable[[], object], calls: int, what: str
) -> None:
    """Raise an error if malloc or CPython has more allocations after `act` than before."""
    found = [rest / calls for rest in least_kept(producer, (allocated, blocks), act)]
    expect(
        all(rest < leak for rest, leak in zip(found, _LEAK, strict=True)),
        f"{what} keeps {found[0]:.0f} bytes of malloc, and {found[1]:.1f} small blocks of Python",
    )


def _with_a_large_struct(producer: ProducerUnderTest) -> Any:
    """Return an array of many axes if possible, or of few."""
    if not allocated():
        raise NotApplicable("this C library does not count what is allocated")
    try:
        return producer.make(_MANY_AXES)
    except NotApplicable:
        return some_array(producer)


_REFUSED: Final[tuple[dict[str, Any], ...]] = (
    {"stream": 4096},
    {"stream": "1"},
    {"dl_device": (2, 0)},
    {"dl_device": (99, 0)},
    {"dl_device": "cpu"},
    {"max_version": "1.0"},
    {"copy": "yes"},
)


@check("DLP-LIFE-2", source="DLPack Python specification, Implementation; cuda-python#1291",
       cases=GENERATIONS)  # fmt: skip
def refused_exports_keep_nothing(producer: ProducerUnderTest, case: str) -> None:
    """A refused export leaks nothing.

    Check all arguments before you allocate the struct and take references, or undo both where you
    raise.
    """
    x = _with_a_large_struct(producer)
    requests = [
        asked
        for more in _REFUSED
        if isinstance(answer(producer, x, **(asked := {**asking(case), **more})), Exception)
    ]
    if not requests:
        raise NotApplicable("nothing is refused")
    before = sys.getrefcount(x)

    def refuse() -> None:
        for _ in range(_REFUSALS):
            for request in requests:
                with contextlib.suppress(Exception):
                    x.__dlpack__(**request)  # called directly: the kit keeps errors

    what = f"a round of {len(requests)} exports that are refused"
    _expect_nothing_kept(producer, refuse, _REFUSALS, what)
    more = sys.getrefcount(x) - before
    expect(not more, f"refused exports changed the array's reference count by {more}")
