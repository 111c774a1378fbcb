"""Consumers of Arrow: capsules and structs that break a rule must be refused.

Source: the Arrow PyCapsule interface; C data interface, Structure definitions.  The names of
capsules determine which structs a consumer may read.  No document requires further validation of
the structs, which prevents crashes: those checks are QUIRKs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interchange_conformance.findings import NotApplicable, expect
from interchange_conformance.probes.arrow_importing import WAYS, Import, ways
from interchange_conformance.registry import area
from interchange_conformance.zoo import arrow

from ._arrow import CAPSULE, DATA

if TYPE_CHECKING:
    from interchange_conformance.probes.under_test import ArrowConsumerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("arrow")


def _of(rule: str, *but: str) -> dict[str, arrow.ArrowCase]:
    """Return the cases of the zoo that break a rule, with exceptions."""
    return {
        name: case
        for name, case in arrow.zoo().items()
        if case.rule == rule and not any(word in name for word in but)
    }


def _expect_refused(consumer: ArrowConsumerUnderTest, case: arrow.ArrowCase) -> None:
    """Raise `Found` unless a case is refused.

    Raises `NotApplicable`: the consumer does not support the method of this case, or only imports
    tables.
    """
    source = case.make()
    kind = next(one for one in WAYS if hasattr(source, f"__arrow_c_{one.replace('-', '_')}__"))
    (way,) = ways(consumer, kind)
    if way.in_table:
        raise NotApplicable("it takes tables alone")
    done = Import(consumer, source)

    expect(done.error is not None, f"{case.name} {done}")


_NAMES: Final = _of("ARROW-CAP-1", "no-capsules", "stream-in", "stream-none")


@check("ARROW-CAP-1", source=f"{CAPSULE}, PyCapsule Standard", cases=_NAMES)
def arrow_capsules_of_other_names_are_refused(
    arrow_consumer: ArrowConsumerUnderTest, case: arrow.ArrowCase
) -> None:
    """A capsule with another name than that of its struct is refused.

    Get the pointer with the required name: a capsule with another name holds another struct.
    """
    _expect_refused(arrow_consumer, case)


@check("ARROW-METHOD-1", source=f"{CAPSULE}, Export Protocol",
       cases={**_of("ARROW-METHOD-1", "answer-three"), **{
           name: arrow.zoo()[name] for name in ("answer-no-capsules", "stream-none")
       }})  # fmt: skip
def what_is_no_pair_of_capsules_is_refused(
    arrow_consumer: ArrowConsumerUnderTest, case: arrow.ArrowCase
) -> None:
    """A return value that is not the required capsules is refused.

    Unpack two values, and check their types.
    """
    _expect_refused(arrow_consumer, case)


@check("ARROW-FORMAT-1", source=f"{DATA}, Data type description", severity="QUIRK",
       cases=_of("ARROW-FORMAT-1"))  # fmt: skip
def formats_of_no_type_are_refused(
    arrow_consumer: ArrowConsumerUnderTest, case: arrow.ArrowCase
) -> None:
    """A format string that is not in the grammar is refused.

    Parse the whole string, and raise if characters are left over.
    """
    _expect_refused(arrow_consumer, case)


@check("ARROW-FORMAT-2", source=f"{DATA}, Structure definitions", severity="QUIRK",
       cases=_of("ARROW-FORMAT-2"))  # fmt: skip
def structs_that_their_format_does_not_fit_are_refused(
    arrow_consumer: ArrowConsumerUnderTest, case: arrow.ArrowCase
) -> None:
    """A struct without the children or buffers that its format requires is refused.

    Compare n_children and n_buffers with what the format says, in schema and array, before you
    follow a pointer.
    """
    _expect_refused(arrow_consumer, case)


@check("ARROW-FORMAT-3", source=f"{DATA}, ArrowSchema.metadata", severity="QUIRK",
       cases=_of("ARROW-FORMAT-3"))  # fmt: skip
def metadata_of_negative_lengths_are_refused(
    arrow_consumer: ArrowConsumerUnderTest, case: arrow.ArrowCase
) -> None:
    """Metadata with a negative number of pairs or a negative length is refused, or not read.

    Check each length before you use it.
    """
    source = case.make()
    (way,) = ways(arrow_consumer, "array")
    if way.in_table:
        raise NotApplicable("it takes tables alone")
    done = Import(arrow_consumer, source)

    right = done.error is not None or done.values == list(source.values)
    expect(right, f"{case.name} {done}")


@check("ARROW-LENGTH-1", source=f"{DATA}, ArrowArray.length, ArrowArray.offset",
       severity="QUIRK", cases=_of("ARROW-LENGTH-1"))  # fmt: skip
def negative_lengths_are_refused(
    arrow_consumer: ArrowConsumerUnderTest, case: arrow.ArrowCase
) -> None:
    """An array whose length or offset is negative or too large is refused.

    Check both before you add or multiply.
    """
    _expect_refused(arrow_consumer, case)


@check("ARROW-LENGTH-2", source="Arrow columnar format, Fixed-Size List Layout",
       severity="QUIRK", cases=_of("ARROW-LENGTH-2", "stream"))  # fmt: skip
def children_that_are_too_short_are_refused(
    arrow_consumer: ArrowConsumerUnderTest, case: arrow.ArrowCase
) -> None:
    """An array whose child has fewer elements than the array refers to is refused.

    Compare the length of the child with the offset, length and list size of the parent.
    """
    _expect_refused(arrow_consumer, case)


@check("ARROW-OFFSET-2", source="Arrow columnar format, Variable-size List Layout",
       severity="QUIRK", cases={**_of("ARROW-OFFSET-2"), **_of("ARROW-OFFSET-1")})  # fmt: skip
def offsets_that_are_no_ranges_are_refused(
    arrow_consumer: ArrowConsumerUnderTest, case: arrow.ArrowCase
) -> None:
    """Lists whose offsets decrease, or are negative, are refused.

    Compare each offset with the one before it, before you read elements.
    """
    _expect_refused(arrow_consumer, case)


@check("ARROW-BUFFER-1", source=f"{DATA}, ArrowArray.buffers", severity="QUIRK",
       cases=_of("ARROW-BUFFER-1"))  # fmt: skip
def arrays_without_memory_are_refused(
    arrow_consumer: ArrowConsumerUnderTest, case: arrow.ArrowCase
) -> None:
    """An array that has elements but no data buffer is refused.

    Check pointers for NULL before you dereference them.
    """
    _expect_refused(arrow_consumer, case)
