"""Consumers and read-only memory: it is not written, and is flagged in their own exports.

Source: dlpack.h 1.3, DLPACK_FLAG_BITMASK_READ_ONLY; array API standard 2025.12, ``from_dlpack``,
which lets a library without read-only arrays ignore the flag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange.abi.dlpack import DLPACK_FLAG_BITMASK_READ_ONLY
from interchange_conformance.findings import Found, NotApplicable, expect
from interchange_conformance.probes.importing import (
    Attempt,
    expect_right_if_read,
    ways,
)
from interchange_conformance.probes.opened_capsule import OpenedCapsule
from interchange_conformance.registry import area
from interchange_conformance.zoo import host

if TYPE_CHECKING:
    from interchange_conformance.probes.importing import Way
    from interchange_conformance.probes.under_test import ConsumerUnderTest
    from interchange_conformance.registry import Decorator
    from interchange_conformance.zoo import Source

check: Decorator = area("readonly")

_FLAG: Final = "dlpack.h 1.3, DLPACK_FLAG_BITMASK_READ_ONLY"


def _made(way: Way, flags: int = DLPACK_FLAG_BITMASK_READ_ONLY) -> Source:
    """Return a producer of read-only memory."""
    return host(way.shape).but(generation="versioned", flags=flags)


def _bytes_of(source: Source) -> bytes:
    """Return the bytes of a producer's memory."""
    return b"" if source.memory is None else bytes(source.memory.view())


def _write(consumer: ConsumerUnderTest, y: Any) -> Exception | None:
    """Try to write an array, and return the error of a refusal."""
    write = consumer.subject.write
    if write is None:
        raise NotApplicable("the subject describes no write()")
    try:
        write(y)
    except NotApplicable:
        raise
    except Exception as error:  # noqa: BLE001 - a refusal
        return error
    return None


@check("DLP-RO-3", source=_FLAG, severity="SHOULD")
def read_only_arrays_are_taken(consumer: ConsumerUnderTest) -> None:
    """A read-only array is imported.

    Make a read-only array of it, or ignore the flag if you have none; reading is allowed.
    """
    for way in ways(consumer, "versioned"):
        attempt = Attempt(way.take, _made(way))

        expect_right_if_read(consumer, way, attempt)
        expect(attempt.taken, f"{way}: an array that is flagged READ_ONLY {attempt}")


@check("DLP-RO-3", source=f"{_FLAG}; a library without such arrays may ignore it", severity="QUIRK")
def read_only_memory_is_not_written(consumer: ConsumerUnderTest) -> None:
    """Writing to an array on read-only memory is refused, or changes a copy.

    Keep the flag in your array. Memory is read-only because other users rely on its content, or
    because a write crashes the process.
    """
    for way in ways(consumer, "versioned"):
        attempt = Attempt(way.take, _made(way))
        if not attempt.taken:
            raise NotApplicable(f"an array that is flagged READ_ONLY {attempt}")
        before = _bytes_of(attempt.source)

        _write(consumer, attempt.array)

        changed = _bytes_of(attempt.source) != before
        expect(not changed, f"{way}: the first element of memory that is flagged was written")


@check("DLP-RO-3", source=f"{_FLAG}: 0 is writable", severity="QUIRK")
def writable_memory_stays_writable(consumer: ConsumerUnderTest) -> None:
    """An array on memory without the flag is writable, and writes change the memory.

    Make arrays read-only only if the flag is set; the versioned struct says that the memory may be
    written.
    """
    if consumer.subject.immutable:
        raise NotApplicable("the library's arrays can never be written")
    for way in ways(consumer, "versioned"):
        attempt = Attempt(way.take, _made(way, flags=0))
        if not _shares(consumer, attempt):
            raise NotApplicable("what is taken is a copy")
        before = _bytes_of(attempt.source)

        error = _write(consumer, attempt.array)

        expect(error is None, f"{way}: writing raised {type(error).__name__}: {error}")
        written = _bytes_of(attempt.source) != before
        expect(written, f"{way}: an element was written, and the producer's memory is as before")


def _handed_on(consumer: ConsumerUnderTest, way: Way, **keywords: Any) -> OpenedCapsule | Exception:
    """Return the capsule that an imported read-only array exports, or the error."""
    attempt = Attempt(way.take, _made(way))
    if not attempt.taken:
        raise NotApplicable(f"an array that is flagged READ_ONLY {attempt}")
    if not hasattr(attempt.array, "__dlpack__"):
        raise NotApplicable(f"{type(attempt.array).__name__} has no __dlpack__")
    if not _shares(consumer, attempt):
        raise NotApplicable("what is taken is a copy")
    try:
        return OpenedCapsule(attempt.array.__dlpack__(**keywords))
    except Found:
        raise
    except Exception as error:  # noqa: BLE001 - the class does not matter
        return error


def _shares(consumer: ConsumerUnderTest, attempt: Attempt) -> bool:
    """Return whether an array shares the producer's memory, if that can be determined."""
    memory = attempt.source.memory
    if consumer.subject.read is None or memory is None:
        return True
    view = memory.view()
    before = bytes(view)
    view[:] = bytes(len(view))
    found = attempt.values(consumer)
    view[:] = before
    return not any(found or [])


@check("DLP-RO-2", source=_FLAG, severity="SHOULD")
def the_read_only_flag_is_handed_on(consumer: ConsumerUnderTest) -> None:
    """Exports of an imported read-only array have the READ_ONLY flag.

    Set the flag in your structs from that of the array: the next consumer has no other information.
    """
    for way in ways(consumer, "versioned"):
        found = _handed_on(consumer, way, max_version=(1, 3))
        if isinstance(found, Exception):
            raise NotApplicable(f"it is not exported: {type(found).__name__}: {found}")
        if not found.versioned:
            raise NotApplicable("it is exported as the legacy struct, which has no flags")
        expect(
            found.readonly, f"{way}: taken with READ_ONLY, and exported with flags={found.flags}"
        )


@check(
    "DLP-RO-1",
    source="array API standard 2025.12, array.__dlpack__: the legacy struct has no flags",
    severity="SHOULD",
)
def read_only_arrays_do_not_leave_as_legacy(consumer: ConsumerUnderTest) -> None:
    """An imported read-only array is not exported as the legacy struct.

    Raise BufferError if max_version is None, and say that (1, 0) is needed: the legacy struct has
    no read-only flag.
    """
    for way in ways(consumer, "versioned"):
        newest = _handed_on(consumer, way, max_version=(1, 3))
        if isinstance(newest, Exception) or not newest.readonly:
            raise NotApplicable("the flag is lost already, or nothing is exported")
        legacy = _handed_on(consumer, way)
        gone = isinstance(legacy, OpenedCapsule) and not legacy.readonly
        expect(not gone, f"{way}: imported with READ_ONLY, and exported without that flag")
