"""Read-only memory: when it is flagged, when it is not, and when it must be refused.

Source: dlpack.h 1.3, DLPACK_FLAG_BITMASK_READ_ONLY; array API standard 2025.12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import NotApplicable, expect
from interchange_conformance.probes.forms import NUMERIC, forms_of
from interchange_conformance.registry import area

from ._exports import answer, asking, knows, opened, some_array, told
from ._views import VIEWS, view_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

    from ._views import View

check: Decorator = area("readonly")

_FLAG: Final = "dlpack.h 1.3, DLPACK_FLAG_BITMASK_READ_ONLY"
_KINDS: Final = {"readonly": "readonly", "immutable": "immutable"}


def _unwritable(
    producer: ProducerUnderTest, kind: str, shapes: Iterable[tuple[int, ...]] | None = None
) -> Any:
    """Return a read-only array: one made read-only, or one of a library with immutable arrays."""
    immutable = producer.subject.immutable
    if immutable != (kind == "immutable"):
        raise NotApplicable(
            f"the library's arrays are {'all' if immutable else 'not all'} constant"
        )
    if shapes is None:
        return some_array(producer, readonly=not immutable)
    forms = forms_of(shapes, NUMERIC)
    return producer.first_of(forms, lambda form: producer.make(*form, readonly=not immutable))[0]


@check("DLP-RO-1", source=_FLAG, cases=_KINDS)
def readonly_arrays_are_flagged(producer: ProducerUnderTest, case: str) -> None:
    """The struct of a read-only array has the read-only flag.

    Set DLPACK_FLAG_BITMASK_READ_ONLY, also if all arrays of the library are immutable. Without it
    consumers let their users write.
    """
    found = opened(producer, _unwritable(producer, case), "versioned")

    if found.copied:
        raise NotApplicable("it is exported as a copy, which may be written")
    expect(found.readonly, f"the flags of memory that must not be written are {found.flags:#x}")


@check("DLP-RO-1", source=f"{_FLAG}; dlpack.h 1.3, flags: by default 0", severity="SHOULD")
def writable_arrays_are_not_flagged(producer: ProducerUnderTest) -> None:
    """The struct of a writable array has no read-only flag.

    Set the flag by what the array allows. Consumers refuse writes to flagged memory, and users make
    needless copies.
    """
    if producer.subject.immutable:
        raise NotApplicable("the library's arrays can never be written")
    found = opened(producer, some_array(producer), "versioned")

    expect(not found.readonly, f"the flags of memory that may be written are {found.flags:#x}")


@check(
    "DLP-RO-2",
    source=_FLAG,
    cases={
        name: VIEWS[name]
        for name in ("tail", "every-third", "backwards", "rows", "mirrored", "transposed", "spread")
    },
)
def views_of_readonly_arrays_are_flagged(producer: ProducerUnderTest, case: View) -> None:
    """A view of read-only memory is flagged like its base.

    Propagate the flag from the base to the view, and read that of the view at export.
    """
    kind = "immutable" if producer.subject.immutable else "readonly"
    case.rehearse(producer)
    x = _unwritable(producer, kind, case.bases(producer))
    base = opened(producer, x, "versioned")
    if not base.readonly:
        raise NotApplicable("the array itself is not flagged")

    found = opened(producer, view_of(x, case.make), "versioned")

    is_apart = set(found.addresses()).isdisjoint(base.addresses())
    expect(
        found.readonly or (found.first != base.first and is_apart),
        f"the array has flags {base.flags:#x}, and the view on its memory {found.flags:#x}",
    )


@check("DLP-RO-2", source=_FLAG)
def readonly_arrays_are_flagged_every_time(producer: ProducerUnderTest) -> None:
    """The flag is set in the second export too, whether the first was dropped, used or a copy.

    Decide by the array each time: a flag that is kept with the first struct, or cleared by a copy,
    is missing in later exports.
    """
    kind = "immutable" if producer.subject.immutable else "readonly"
    x = _unwritable(producer, kind)
    if not opened(producer, x, "versioned").readonly:
        raise NotApplicable("the array is not flagged at all")

    opened(producer, x, "versioned").consume().release()
    if knows(producer, x, "copy"):
        answer(producer, x, **asking("versioned", copy=True))
        answer(producer, x, copy=True)
    found = opened(producer, x, "versioned")

    expect(found.readonly, f"the flags of a later export are {found.flags:#x}")


@check(
    "DLP-RO-3",
    source="interchange: the legacy struct has no flags; refuse rather than forget",
    severity="SHOULD",
    cases=_KINDS,
)
def readonly_memory_is_not_handed_out_as_legacy(producer: ProducerUnderTest, case: str) -> None:
    """Read-only memory is not exported as a legacy struct, which has no read-only flag.

    Raise BufferError, and say that max_version=(1, 0) is needed. Consumers could not know that the
    memory is read-only.
    """
    x = _unwritable(producer, case)

    found = answer(producer, x)

    expect(
        isinstance(found, Exception) or found.versioned,
        f"{told({}, found)}: nothing in it says that the memory must not be written",
    )


@check("DLP-NEG-3", source="array API standard 2025.12, array.__dlpack__, Notes", severity="SHOULD")
def readonly_arrays_leave_with_a_version(producer: ProducerUnderTest) -> None:
    """A read-only array is exported to a consumer that sends max_version.

    Export a versioned struct with the flag: consumers that send max_version support read-only
    memory, and need no copy.
    """
    kind = "immutable" if producer.subject.immutable else "readonly"
    x = _unwritable(producer, kind)
    opened(producer, some_array(producer), "versioned")

    keywords = asking("versioned")
    found = answer(producer, x, **keywords)

    expect(not isinstance(found, Exception), told(keywords, found))
