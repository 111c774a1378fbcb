"""Consumers and versions: supported structs, and release of the others without reading them.

Source: dlpack.h 1.3, DLPackVersion and DLManagedTensorVersioned; array API standard 2025.12,
``from_dlpack``.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import TYPE_CHECKING, Final

from interchange.abi import capsules
from interchange.abi.dlpack import DLManagedTensorVersioned
from interchange_conformance.findings import NotApplicable, expect, note
from interchange_conformance.probes.importing import (
    EACH_GENERATION,
    Attempt,
    attempts,
    expect_imported,
    expect_right_if_read,
    of_rule,
    paired,
    releases,
    show,
    ways,
)
from interchange_conformance.registry import area
from interchange_conformance.zoo import host, legal, zoo
from interchange_conformance.zoo.counting import COUNTING_DELETER

if TYPE_CHECKING:
    from interchange_conformance.probes.importing import (
        Generation,
        Pair,
    )
    from interchange_conformance.probes.under_test import ConsumerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("negotiation")

_ZOO: Final = paired(zoo())
_LEGAL: Final = paired(legal())
_OLD: Final = "major-0"
_NEWER: Final = of_rule(_ZOO, "DLP-VER-1", _OLD)
_HEADER: Final = "dlpack.h 1.3, DLPackVersion: major"


@check("DLP-VER-1", source=_HEADER, cases=_NEWER)
def newer_majors_are_refused(consumer: ConsumerUnderTest, case: Pair) -> None:
    """A struct of a newer major version is refused.

    Check version.major first: the other fields may have another meaning.
    """
    for way, attempt in attempts(consumer, case):
        expect(not attempt.taken, f"{way}: {show(attempt.source)} {attempt}")


@check("DLP-VER-1", source=f"{_HEADER}: call the deleter", cases=_NEWER)
def newer_majors_are_released(consumer: ConsumerUnderTest, case: Pair) -> None:
    """A struct of a newer major version is released once.

    Call its deleter, whose place is the same in every version, or leave the capsule as it was, so
    that its destructor does.
    """
    for way, attempt in attempts(consumer, case):
        outcome = str(attempt)
        attempt.drop()

        counts = releases(consumer, attempt.source)

        words = f"{way}: {case.name} {outcome}; with no reference left, the deleter has run"
        expect(set(counts) == {1}, f"{words} {' and '.join(map(str, counts))} times")


class _Guarded:
    """A struct of another major version, of which only the stable part can be read."""

    def __init__(self, version: tuple[int, int]) -> None:
        page = mmap.PAGESIZE
        self._pages = mmap.mmap(-1, 2 * page)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._pages))
        address = start + page - DLManagedTensorVersioned.dl_tensor.offset
        managed = DLManagedTensorVersioned.from_address(address)
        managed.version.major, managed.version.minor = version
        managed.deleter = COUNTING_DELETER
        protect = ctypes.CDLL(None).mprotect
        protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        nothing = 0  # PROT_NONE
        if protect(start + page, page, nothing):
            raise NotApplicable("this system does not protect memory")
        _guarded.append(self)
        self.capsule = capsules.new_capsule(address, capsules.VERSIONED, None)


_guarded: Final[list[_Guarded]] = []  # a consumer may read them later


@check("DLP-VER-1", source=f"{_HEADER}: not safe to access any other fields")
def nothing_of_a_newer_major_is_read(consumer: ConsumerUnderTest) -> None:
    """Only version, deleter and flags of a newer major version's struct are read.

    Check version.major first. In this check the rest of the struct is in unreadable memory, so that
    a consumer that reads it crashes.
    """
    for way in ways(consumer, "versioned"):
        newer = Attempt(way.take, host(way.shape).but(generation="versioned", version=(2, 0)))
        if newer.taken:
            raise NotApplicable("it takes newer majors, which is another check's to say")
        guarded = _Guarded((2, 0))

        note(f"taking a struct of version 2.0 by {way}, most of which cannot be read")
        attempt = Attempt(way.take, host(way.shape).but(returns=guarded.capsule))

        expect(not attempt.taken, f"{way}: a struct of version 2.0 {attempt}")


@check("DLP-VER-1", source=_HEADER, severity="SHOULD")
def versioned_structs_of_major_0_are_refused(consumer: ConsumerUnderTest) -> None:
    """A versioned struct with major version 0 is refused.

    Versioned structs begin with 1.0. Compare with ==, and not with <=: 0 most likely is a struct
    that was not filled.
    """
    for way, attempt in attempts(consumer, _ZOO[_OLD]):
        expect(not attempt.taken, f"{way}: {show(attempt.source)} {attempt}")


_MINORS: Final = {name: _LEGAL[name] for name in ("minor-0", "minor-99")}


@check("DLP-VER-1", source="dlpack.h 1.3, DLPackVersion: minor", severity="SHOULD", cases=_MINORS)
def every_minor_is_taken(consumer: ConsumerUnderTest, case: Pair) -> None:
    """A struct of the same major version is imported, whatever its minor version.

    Minor versions only add values of fields. Refuse the unknown values, and nothing else.
    """
    expect_imported(consumer, case)


@check(
    "DLP-VER-1",
    source="dlpack.h 1.3, DLPACK_FLAG_BITMASK_IS_COPIED",
    severity="SHOULD",
    cases={"copied": _LEGAL["copied"]},
)
def flags_of_no_concern_are_ignored(consumer: ConsumerUnderTest, case: Pair) -> None:
    """Flags that forbid nothing do not prevent the import.

    Test single bits. IS_COPIED only says that the consumer is the sole owner of the memory.
    """
    expect_imported(consumer, case)


_UNKNOWN: Final = {name: _LEGAL[name] for name in ("flags-unknown", "flags-unknown-highest")}


@check(
    "DLP-VER-1",
    source="dlpack.h 1.3, DLManagedTensorVersioned.flags: minor versions add bits",
    severity="QUIRK",
    cases=_UNKNOWN,
)
def unknown_flags_are_ignored(consumer: ConsumerUnderTest, case: Pair) -> None:
    """Unknown flags do not prevent the import.

    Ignore unknown bits, or refuse arrays that have them: no document says which. A consumer that
    refuses them will refuse arrays of the next minor version.
    """
    expect_imported(consumer, case)


@check(
    "DLP-VER-3",
    source="array API standard 2025.12, array.__dlpack__, max_version: may return another version",
    cases=EACH_GENERATION,
)
def the_name_says_which_struct_it_is(consumer: ConsumerUnderTest, case: Generation) -> None:
    """A capsule is read as its name says, whatever version was requested.

    Dispatch on the name of the capsule. A producer that supports one struct returns that, and the
    two have different layouts.
    """
    for way in ways(consumer):
        note(f"taking a {case} capsule by {way.name}()")
        attempt = Attempt(way.take, host(way.shape).but(generation=case))
        expect_right_if_read(consumer, way._replace(generation=case), attempt)
