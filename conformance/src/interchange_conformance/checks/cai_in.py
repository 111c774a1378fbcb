"""Imported records of the CUDA Array Interface: versions, layouts, memory, lifetime.

Source: CUDA Array Interface, versions 0 to 3; a library may refuse an unsupported layout, but must
not misread it.
"""

from __future__ import annotations

import gc
import struct
import weakref
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange_conformance.driver.cuda import driver
from interchange_conformance.findings import NotApplicable, expect
from interchange_conformance.probes.under_test import settled
from interchange_conformance.registry import area

from ._records import (
    ATTRIBUTE,
    COUNT,
    SPEC,
    Exporter,
    Floats,
    expect_values,
    expect_values_or_refusal,
    need_plain_records,
    values_or_refusal,
)

if TYPE_CHECKING:
    from interchange_conformance.probes.under_test import ConsumerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("cai")

_LIFE: Final = "CUDA Array Interface 3, Lifetime management"
_PLAIN: Final = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


# ---------------------------------------------------------------- versions and optional entries


CURRENT: Final[dict[str, object]] = {
    "all": {},
    "no-optionals": {"strides": ..., "stream": ...},
    "nones": {"strides": None, "stream": None, "mask": None, "descr": None},
    "descr": {"descr": [("", "<f4")]},
}


@check("CAI-VER-1", source=f"{SPEC}: optional entries", cases=CURRENT, on="cuda")
def records_of_version_3_are_taken(consumer: ConsumerUnderTest, case: dict[str, Any]) -> None:
    """A version 3 record is imported, with and without the optional entries.

    Use record.get() for strides, descr, mask and stream: None means the same as a missing entry.
    """
    record = Floats(driver()).record(**case)

    expect_values(consumer, Exporter(record), _PLAIN, f"a record with {sorted(record)}")


@check("CAI-VER-1", source="interchange; the interface is silent", severity="QUIRK", on="cuda")
def unknown_keys_of_records_are_ignored(consumer: ConsumerUnderTest) -> None:
    """A version 3 record with an unknown entry is imported, and the entry ignored.

    Read the entries that you know, and ignore the others.
    """
    record = Floats(driver()).record(flavour="vanilla")

    expect_values(consumer, Exporter(record), _PLAIN, f"a record with {sorted(record)}")


OLDER: Final[dict[str, dict[str, object]]] = {
    "version-2": {"version": 2, "stream": ...},
    "version-1": {"version": 1, "stream": ..., "strides": ...},
    "version-0": {"version": 0, "stream": ..., "strides": ...},
}


@check("CAI-VER-1", source=SPEC, severity="QUIRK", cases=OLDER, on="cuda")
def records_of_older_versions_are_taken(consumer: ConsumerUnderTest, case: dict[str, Any]) -> None:
    """A record of version 0, 1 or 2 is imported.

    Some libraries still publish these: PyTorch and JAX version 2, RMM version 0. They do not
    describe pending work; wait for the legacy default stream.
    """
    record = Floats(driver()).record(**case)

    expect_values(consumer, Exporter(record), _PLAIN, f"a record of version {case['version']}")


@check("CAI-VER-1", source="NumPy array interface, version", severity="QUIRK", on="cuda")
def records_of_newer_versions_are_taken(consumer: ConsumerUnderTest) -> None:
    """A record of a newer version is imported, and unknown entries ignored.

    Ignore unknown keys, and do not compare the version with your own.
    """
    record = Floats(driver()).record(version=4, extra=True)

    expect_values(consumer, Exporter(record), _PLAIN, "a record of version 4")


@check("CAI-DATA-5", source="interchange", severity="QUIRK", on="cuda")
def records_are_read_once(consumer: ConsumerUnderTest) -> None:
    """The attribute is read once for each import.

    Keep the dict: the attribute may be a property that enqueues waits (hasattr() reads it, too).
    """
    need_plain_records(consumer)
    x = Exporter(Floats(driver()).record())
    y = consumer.take_cai(x)
    reads = x.reads
    del y

    expect(reads == 1, f"{ATTRIBUTE} was read {reads} times, due: once")


@check("CAI-DATA-5", source="interchange", severity="QUIRK", on="cuda")
def records_that_change_are_not_mixed(consumer: ConsumerUnderTest) -> None:
    """An import uses the entries of one record, and does not mix several.

    Take address, shape and strides from the same dict.
    """
    cuda = driver()
    first = Floats(cuda).record()
    then = Floats(cuda, 100).record(shape=(2, 2))
    legal = [_PLAIN, [100.0, 101.0, 102.0, 103.0]]
    found = values_or_refusal(consumer, Exporter(first, then), "an object whose record changes")
    words = f"{found} was read, the records say {legal[0]} and {legal[1]}"
    expect(found is None or found in legal, words)


# ---------------------------------------------------------------- layouts and element types


class Layout(NamedTuple):
    """A layout of numbered float32 elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    first: int
    due: list[float]


LAYOUTS: Final = {
    "c-order": Layout((2, 3), (12, 4), 0, _PLAIN),
    "f-order": Layout((2, 3), (4, 8), 0, [0, 2, 4, 1, 3, 5]),
    "gaps": Layout((2, 2), (32, 8), 0, [0, 2, 8, 10]),
    "reversed": Layout((4,), (-4,), 3, [3, 2, 1, 0]),
    "repeated": Layout((2, 3), (0, 4), 0, [0, 1, 2, 0, 1, 2]),
    "one-row": Layout((1, 3), (20, 4), 0, [0, 1, 2]),
    "offset": Layout((3,), (4,), 5, [5, 6, 7]),
    "odd-step-of-one": Layout((1, 2), (6, 4), 0, [0, 1]),
}


@check("CAI-STRIDES-1", source=f"{SPEC}, strides", cases=LAYOUTS, on="cuda")
def layouts_are_read_as_the_strides_say(consumer: ConsumerUnderTest, case: Layout) -> None:
    """Strides are byte steps from the address of the first element, or the record is refused.

    Divide by the element size, with the sign kept; raise BufferError if there is a remainder, or
    for unsupported layouts.
    """
    memory = Floats(driver())
    data = (memory.address + 4 * case.first, False)
    record = memory.record(shape=case.shape, strides=case.strides, data=data)

    what = f"shape {case.shape} with byte strides {case.strides}"
    expect_values_or_refusal(consumer, Exporter(record), case.due, what)


@check("DLP-STRIDES-3", source=f"{SPEC}, strides; known of nanobind#487", on="cuda")
def inexact_strides_are_not_rounded(consumer: ConsumerUnderTest) -> None:
    """Byte strides that are not multiples of the element size are kept, or the record is refused.

    Check step % itemsize before you divide, for axes longer than 1.
    """
    cuda = driver()
    address = cuda.memory(64)
    cuda.write(address, struct.pack("=f2xf2xf", 1.5, 2.5, 3.5))
    record = Floats(cuda).record(shape=(3,), strides=(6,), data=(address, False))

    what = "float32 elements that are 6 bytes apart"
    expect_values_or_refusal(consumer, Exporter(record), [1.5, 2.5, 3.5], what)


@check("CAI-SHAPE-1", source=f"{SPEC}, shape", on="cuda")
def scalars_are_read_as_they_are(consumer: ConsumerUnderTest) -> None:
    """A record with shape () has one element, or is refused.

    The product of an empty shape is 1.
    """
    record = Floats(driver(), 7).record(shape=())

    expect_values_or_refusal(consumer, Exporter(record), [7.0], "a record of shape ()")


EMPTY: Final[dict[str, tuple[int, ...]]] = {"flat": (0,), "rows": (0, 3), "columns": (2, 0)}


@check("CAI-DATA-2", source=f"{SPEC}, data: zero-size arrays", cases=EMPTY, on="cuda")
def empty_records_are_not_followed(consumer: ConsumerUnderTest, case: tuple[int, ...]) -> None:
    """The address of an array without elements, which is 0, is not dereferenced.

    Check the size first: there is no memory.
    """
    record = Floats(driver()).record(shape=case, data=(0, False))

    what = f"an empty record of shape {case}"
    expect_values_or_refusal(consumer, Exporter(record), [], what)


@check(
    "CAI-DATA-2",
    source=f"{SPEC}, data: zero-size arrays",
    severity="SHOULD",
    cases=EMPTY,
    on="cuda",
)
def empty_records_are_taken(consumer: ConsumerUnderTest, case: tuple[int, ...]) -> None:
    """A record of an array without elements, whose address is 0, is imported.

    Check the size first: the driver does not know the address.
    """
    record = Floats(driver()).record(shape=case, data=(0, False))

    expect_values(consumer, Exporter(record), [], f"an empty record of shape {case}")


# ---------------------------------------------------------------- memory


KINDS: Final = {"managed": "managed", "page-locked": "pinned"}


@check("CAI-DEV-1", source=f"{SPEC}, data", severity="SHOULD", cases=KINDS, on="cuda")
def memory_that_a_device_reaches_is_taken(consumer: ConsumerUnderTest, case: str) -> None:
    """A record of managed or page-locked memory is imported.

    Query the memory type and CU_POINTER_ATTRIBUTE_IS_MANAGED, and do not require device memory.
    """
    cuda = driver()
    address = getattr(cuda, case)(COUNT * 4)
    cuda.write(address, struct.pack("=6f", *_PLAIN))
    record = Floats(cuda).record(data=(address, False))

    expect_values(consumer, Exporter(record), _PLAIN, f"a record of {case} memory")


@check("CAI-DATA-3", source=f"{SPEC}, data: known of pytorch#25017", on="cuda")
def memory_of_other_devices_is_read_there(consumer: ConsumerUnderTest) -> None:
    """Memory of a device that is not current is read correctly, or the record is refused.

    Query CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL of the address.
    """
    cuda = driver()
    cuda.need_second_device()
    with cuda.on_device(1):
        memory = Floats(cuda, 50)
    due = [50.0 + n for n in range(6)]

    what = "a record of memory of device 1, with device 0 current,"
    expect_values_or_refusal(consumer, Exporter(memory.record()), due, what)


ELSEWHERE: Final[dict[str, dict[str, Any]]] = {
    "taken": {},
    "of-no-type": {"typestr": "|V4"},
}


@check("DLP-DEV-7", source="CUDA driver API, Context Management", cases=ELSEWHERE, on="cuda")
def taking_a_record_leaves_the_current_device_alone(
    consumer: ConsumerUnderTest, case: dict[str, Any]
) -> None:
    """Importing or refusing a record of another device leaves the current device unchanged.

    Push the context of the memory and pop it again, on every path.
    """
    cuda = driver()
    cuda.need_second_device()
    need_plain_records(consumer)
    with cuda.on_device(1):
        memory = Floats(cuda)
    cuda.make_current(0)
    before, became = cuda.current_context, "was taken"
    try:
        y = consumer.take_cai(Exporter(memory.record(**case)))
    except Exception as error:  # noqa: BLE001 - a refusal is also correct
        y, became = None, f"raised {type(error).__name__}"

    after = cuda.current_context
    where = f"device {cuda.current_device}" if after else "no device"
    expect(
        before == after,
        f"device 0 was current, a record of memory of device 1 {became}, and then {where} was "
        f"current, with context {after:#x}",
    )
    del y


@check("CAI-DATA-1", source=f"{SPEC}, data: the read-only flag", severity="SHOULD", on="cuda")
def read_only_records_are_not_written(consumer: ConsumerUnderTest) -> None:
    """A read-only record is refused, or gives an array that refuses writes.

    Keep the second entry of data.
    """
    memory = Floats(driver())
    need_plain_records(consumer)
    try:
        y = consumer.take_cai(Exporter(memory.record(data=(memory.address, True))))
    except NotApplicable:
        raise
    except Exception:  # noqa: BLE001 - a refusal is correct
        return
    write = consumer.subject.write
    if write is None:
        raise NotApplicable("the subject describes no write()")
    try:
        write(y)
    except Exception:  # noqa: BLE001 - likewise
        return
    now = driver().read(memory.address, 4)

    expect(now == struct.pack("=f", 0), "read-only memory was written")


@check("CAI-LIFE-1", source=_LIFE, severity="SHOULD", on="cuda")
def taken_arrays_keep_their_exporter(consumer: ConsumerUnderTest) -> None:
    """An imported array keeps the producer of the record alive.

    Hold a reference to it: the record owns no memory.
    """
    need_plain_records(consumer)
    x = Exporter(Floats(driver()).record())
    alive = weakref.ref(x)
    y = consumer.take_cai(x)
    del x
    gc.collect()
    kept = alive() is not None
    del y

    expect(kept, "the object that gave the record died while the array was there")


@check("CAI-LIFE-1", source=_LIFE, severity="SHOULD", on="cuda")
def dropped_arrays_let_their_exporter_go(consumer: ConsumerUnderTest) -> None:
    """The producer of the record is released with the imported array.

    Drop the reference when the array is destroyed.
    """
    need_plain_records(consumer)
    x = Exporter(Floats(driver()).record())
    alive = weakref.ref(x)
    y = consumer.take_cai(x)
    del x, y

    gone = settled(consumer.subject, lambda: alive() is None)
    expect(gone, "the array died, and the object that gave the record lives on")
