"""Consumers and layouts: strides, offsets, scalars, arrays without elements, many axes.

Source: dlpack.h 1.3, DLTensor.  The layouts are legal: a consumer must read them correctly, or
refuse those that it does not support.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interchange_conformance.probes.importing import (
    Attempt,
    Pair,
    attempts,
    elements_of,
    expect_imported,
    expect_right,
    paired,
    ways,
)
from interchange_conformance.registry import area
from interchange_conformance.zoo import Case, host, legal, zoo

if TYPE_CHECKING:
    from interchange_conformance.probes.under_test import ConsumerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("capsule")

_LEGAL: Final = paired(legal())
_STRIDES: Final = "dlpack.h 1.3, DLTensor.strides"


def _some(*names: str) -> dict[str, Pair]:
    """Return legal cases by their names."""
    return {name: _LEGAL[name] for name in names}


def _expect_right_or_refused(consumer: ConsumerUnderTest, case: Pair) -> None:
    """Raise an error if a case is misread."""
    for way, attempt in attempts(consumer, case):
        expect_right(consumer, way, attempt, elements_of(attempt.source))


@check(
    "DLP-STRIDES-4",
    source=f"{_STRIDES}: in number of elements",
    cases=_some(
        "f-order", "negative-strides", "mixed-strides", "zero-strides", "broadcast",
        "overlapping", "gaps",
    ),
)  # fmt: skip
def strides_are_honoured(consumer: ConsumerUnderTest, case: Pair) -> None:
    """An array with any strides is read correctly, or refused.

    Strides count elements, may be negative or zero, and need not decrease. Refuse unsupported ones
    with BufferError; do not abort, and do not read the memory in C order.
    """
    _expect_right_or_refused(consumer, case)


@check(
    "DLP-STRIDES-1",
    source=f"{_STRIDES}: can be NULL before 1.2, which means compact and row-major",
    cases=_some("strides-null"),
)
def strides_that_are_null_mean_c_order(consumer: ConsumerUnderTest, case: Pair) -> None:
    """An array whose strides are NULL is imported in C order.

    Check the pointer. Producers older than DLPack 1.2 leave it NULL for compact arrays.
    """
    expect_imported(consumer, case)


_LATE: Final = Case(
    "strides-null-in-1-3", "DLP-STRIDES-1", lambda: host().but(generation="versioned", strides=None)
)


@check("DLP-STRIDES-1", source=f"{_STRIDES}: not NULL from 1.2 on", severity="QUIRK")
def strides_that_may_not_be_null_do_no_harm(consumer: ConsumerUnderTest) -> None:
    """An array of version 1.3 whose strides are NULL is read in C order, or refused.

    Check the pointer, whatever the version says: the producer may implement less of the header than
    its version.
    """
    _expect_right_or_refused(consumer, Pair(_LATE.name, {"versioned": _LATE}))


@check(
    "DLP-DATA-2",
    source="dlpack.h 1.3, DLTensor.byte_offset",
    cases={f"{offset}-bytes": offset for offset in (4, 64, 4096)},
)
def the_byte_offset_is_added(consumer: ConsumerUnderTest, case: int) -> None:
    """The first element is read at data + byte_offset, or the array is refused.

    Add byte_offset wherever you use data, and when you export again.
    """
    for way in ways(consumer):
        source = host(way.shape, byte_offset=case).but(generation=way.generation)
        expect_right(consumer, way, Attempt(way.take, source), elements_of(source))


@check(
    "DLP-SHAPE-2",
    source="dlpack.h 1.3, DLTensor.shape and strides: can be NULL when ndim == 0",
    cases=_some(
        "scalar", "scalar-null-pointers", "scalar-dangling-pointers", "scalar-strides-null"
    ),
)
def pointers_of_scalars_are_not_followed(consumer: ConsumerUnderTest, case: Pair) -> None:
    """An array without axes has one element; its shape and strides are not dereferenced.

    Dereference neither pointer if ndim is 0: they may be NULL or invalid.
    """
    _expect_right_or_refused(consumer, case)


@check(
    "DLP-DATA-3",
    source="dlpack.h 1.3, DLTensor.data: NULL for size-zero tensors",
    severity="MUST",
    cases=_some("empty", "empty-with-data", "empty-with-strides-0", "empty-with-huge-strides"),
)
def arrays_without_elements_are_not_followed(consumer: ConsumerUnderTest, case: Pair) -> None:
    """The data of an array with an extent of 0 is not dereferenced.

    Do not dereference data, or pass it to memcpy: it may be NULL or invalid.
    """
    _expect_right_or_refused(consumer, case)


@check(
    "DLP-DATA-3",
    source="dlpack.h 1.3, DLTensor.data: NULL for size-zero tensors",
    severity="SHOULD",
    cases=_some("empty"),
)
def arrays_without_elements_are_taken(consumer: ConsumerUnderTest, case: Pair) -> None:
    """An array with an extent of 0 is imported.

    Accept NULL for data if there are no elements.
    """
    expect_imported(consumer, case)


@check(
    "DLP-STRIDES-2",
    source=f"{_STRIDES}; practice: the stride of one element is never used",
    severity="SHOULD",
    cases=_some("shape-1-stride-3", "extent-1-huge-stride", "extent-1-negative-stride"),
)
def strides_of_single_elements_do_not_matter(consumer: ConsumerUnderTest, case: Pair) -> None:
    """An array is imported whatever the strides of axes of extent 1 are.

    Ignore axes of extent 0 and 1 when you check strides: no step is made along them.
    """
    expect_imported(consumer, case)


_AXES: Final = {"64": _LEGAL["64-axes"], "65": paired(zoo())["ndim-65"]}


@check("DLP-SHAPE-1", source="dlpack.h 1.3, DLTensor.ndim", cases=_AXES)
def no_axes_are_lost(consumer: ConsumerUnderTest, case: Pair) -> None:
    """An array with many axes is read correctly, or refused.

    Compare ndim with your maximum before you copy shape and strides.
    """
    _expect_right_or_refused(consumer, case)
