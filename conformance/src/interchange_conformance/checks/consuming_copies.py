"""Consumers and copies: sharing by default, and the effect of ``copy``.

Source: array API standard 2025.12, ``from_dlpack``, copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import NotApplicable, expect
from interchange_conformance.probes.importing import Attempt, object_way, shares, show, ways
from interchange_conformance.registry import area
from interchange_conformance.zoo import Producer, StreamOnly, host

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.probes.importing import Shape
    from interchange_conformance.probes.under_test import ConsumerUnderTest
    from interchange_conformance.registry import Decorator
    from interchange_conformance.zoo import Source

check: Decorator = area("copies")

_COPY: Final = "array API standard 2025.12, from_dlpack, copy"


@check("DLP-COPY-1", source=f"{_COPY}=None: must reuse memory if possible", severity="SHOULD")
def memory_is_shared_by_default(consumer: ConsumerUnderTest) -> None:
    """An array in host memory is imported without a copy.

    Share the memory: users write to one array to change the other, and import arrays that fit into
    memory only once.
    """
    for way in ways(consumer):
        source = host(way.shape).but(generation=way.generation)
        y = way.take(source)

        expect(
            shares(consumer, source, y),
            f"{way}: what the producer wrote after the import is not in the array",
        )


def _asking(consumer: ConsumerUnderTest, copy: bool | None) -> Callable[[Source], Any]:
    """Return the function that imports producers with a value of ``copy``."""
    take_with = consumer.subject.take_with
    if take_with is None:
        raise NotApplicable("the subject describes no take_with()")
    if copy is not None:  # the keyword must be supported
        plain = Attempt(_asking(consumer, copy=None), host(object_way(consumer).shape))
        if not plain.taken:
            raise NotApplicable(f"take_with(copy=None): a plain array {plain}")
    return lambda source: take_with(source, copy=copy)


def _by_columns(shape: Shape) -> Source:
    """Return a producer in Fortran order."""
    if len(shape) == 1:
        raise NotApplicable("arrays of one axis have one order")
    return host(shape, strides=(1, shape[0]))


def _off_by_4(shape: Shape) -> Source:
    """Return a producer whose data is aligned to its elements only."""
    source = host(shape, byte_offset=4)
    return source.but(data=(source.said.data or 0) + 4, byte_offset=0)


_LAYOUTS: Final[dict[str, Callable[[Shape], Source]]] = {
    "plain": host,
    "f-order": _by_columns,
    "gaps": lambda shape: host(shape, strides=(32, 5)[-len(shape) :]),
    "data-at-4-bytes": _off_by_4,
}
"""Layouts that some libraries can only import with a copy."""


@check("DLP-COPY-1", source=f"{_COPY}=False: must never copy", cases=_LAYOUTS)
def copy_false_shares_or_refuses(
    consumer: ConsumerUnderTest, case: Callable[[Shape], Source]
) -> None:
    """With copy=False an array shares the producer's memory, or is refused.

    Send copy=False to the producer, and copy nothing yourself, for alignment or strides either.
    """
    shape = object_way(consumer).shape
    take = _asking(consumer, copy=False)
    attempt = Attempt(take, case(shape))
    if not attempt.taken:
        return

    shared = shares(consumer, attempt.source, attempt.array)

    expect(shared, f"copy=False: {show(attempt.source)} {attempt}, and is a copy")


@check("DLP-COPY-1", source=f"{_COPY}=False: raises if a copy is necessary", severity="SHOULD")
def copy_false_takes_what_is_shared_anyway(consumer: ConsumerUnderTest) -> None:
    """With copy=False an array is imported if its memory is shared by default.

    Refuse copy=False only if you would have to copy.
    """
    shape = object_way(consumer).shape
    take = _asking(consumer, copy=False)
    default = Attempt(_asking(consumer, copy=None), host(shape))
    if not shares(consumer, default.source, default.array):
        raise NotApplicable("a plain array is copied by default")

    attempt = Attempt(take, host(shape))

    expect(attempt.taken, f"copy=False: {show(attempt.source)} {attempt}, and copy=None shares it")


_COPIED: Final = {"by-the-producer": Producer, "by-the-consumer": StreamOnly}
"""The library that copies: a producer of 2021.12 does not support ``copy``."""


@check("DLP-COPY-2", source=f"{_COPY}=True: must always copy", cases=_COPIED)
def copy_true_copies_or_refuses(consumer: ConsumerUnderTest, case: type[Source]) -> None:
    """With copy=True an array has memory of its own, or is refused.

    Send copy=True to the producer, and copy yourself if it does not support the keyword. The caller
    is going to write to the copy.
    """
    shape = object_way(consumer).shape
    take = _asking(consumer, copy=True)
    attempt = Attempt(take, host(shape, kind=case))
    if not attempt.taken:
        return

    shared = shares(consumer, attempt.source, attempt.array)

    expect(not shared, f"copy=True: {show(attempt.source)} {attempt}, and shares the memory")


class _Copying(Producer):
    """A producer that copies unless ``copy=False``."""

    def __dlpack__(self, *, copy: bool | None = None, **keywords: Any) -> Any:
        return super().__dlpack__(copy=copy is not False, **keywords)


@check("DLP-COPY-1", source=f"{_COPY}=False, and array.__dlpack__, copy")
def copy_false_reaches_the_producer(consumer: ConsumerUnderTest) -> None:
    """copy=False is passed on to the producer.

    Pass the keyword on: otherwise the producer may copy.
    """
    shape = object_way(consumer).shape
    if not Attempt(_asking(consumer, copy=None), host(shape, kind=_Copying)).taken:
        raise NotApplicable("a producer that copies is refused")
    take = _asking(consumer, copy=False)
    attempt = Attempt(take, host(shape, kind=_Copying))
    if not attempt.taken:
        return

    shared = shares(consumer, attempt.source, attempt.array)

    expect(shared, "copy=False: the producer was not told, and copied")
