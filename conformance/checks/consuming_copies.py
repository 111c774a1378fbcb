"""Consumers and copies: what is shared by default, and what ``copy`` changes about it.

Source: array API standard 2025.12, ``from_dlpack``, copy.
"""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING, Any, Final

from ..attempts import Attempt, show, ways
from ..findings import NotApplicable, expect
from ..registry import area
from ..zoo import Producer, StreamOnly, host

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..attempts import Way
    from ..doors import ConsumerDoor
    from ..zoo import Source

check = area("copies")

_COPY: Final = "array API standard 2025.12, from_dlpack, copy"
_MARK: Final = 77.0
"""What is written into the producer's memory after an import."""


def _sees_writes(consumer: ConsumerDoor, source: Source, y: Any) -> bool:
    """Whether what is written into the producer's memory now is read in an array."""
    if source.memory is None:
        raise NotApplicable("there is no memory")
    ctypes.memmove(source.memory.address, struct.pack("=f", _MARK), 4)
    return bool(consumer.values(y)[0] == _MARK)


@check("DLP-COPY-1", source=f"{_COPY}=None: must reuse memory if possible", severity="SHOULD")
def memory_is_shared_by_default(consumer: ConsumerDoor) -> None:
    """An array in host memory is taken without a copy.

    Wrap the memory. Users write into one array to change the other, and take arrays that fit into
    memory once.
    """
    for way in ways(consumer):
        source = host(way.shape).but(generation=way.generation)
        y = way.take(source)

        expect(
            _sees_writes(consumer, source, y),
            f"{way}: what the producer wrote after the import is not in the array",
        )


def _asking(consumer: ConsumerDoor, copy: bool | None) -> Callable[[Source], Any]:
    """Return the function that takes producers with a value of ``copy``."""
    take_with = consumer.subject.take_with
    if take_with is None:
        raise NotApplicable("the subject describes no take_with()")
    return lambda source: take_with(source, copy=copy)


def _way(consumer: ConsumerDoor) -> Way:
    """Return a way that producers go."""
    for way in ways(consumer):
        if way.name == "take":
            return way
    raise NotApplicable("take() takes no plain array")


@check("DLP-COPY-1", source=f"{_COPY}=False: must never copy")
def copy_false_shares_or_refuses(consumer: ConsumerDoor) -> None:
    """With copy=False an array shares the producer's memory, or is refused.

    Send copy=False to the producer, and copy nothing yourself, for alignment or strides either.
    """
    shape = _way(consumer).shape
    take = _asking(consumer, copy=False)
    attempt = Attempt(take, host(shape))
    if not attempt.taken:
        return

    shared = _sees_writes(consumer, attempt.source, attempt.array)

    expect(shared, f"copy=False: {show(attempt.source)} {attempt}, and is a copy")


_COPIED: Final = {"by-the-producer": Producer, "by-the-consumer": StreamOnly}
"""Who has to make the copy: a producer of 2021.12 knows no ``copy``."""


@check("DLP-COPY-2", source=f"{_COPY}=True: must always copy", cases=_COPIED)
def copy_true_copies_or_refuses(consumer: ConsumerDoor, case: type[Source]) -> None:
    """With copy=True an array has memory of its own, or is refused.

    Send copy=True to the producer, and copy yourself where it does not know the keyword. Whoever
    asks for a copy is going to write to it.
    """
    shape = _way(consumer).shape
    take = _asking(consumer, copy=True)
    attempt = Attempt(take, host(shape, kind=case))
    if not attempt.taken:
        return

    shared = _sees_writes(consumer, attempt.source, attempt.array)

    expect(not shared, f"copy=True: {show(attempt.source)} {attempt}, and shares the memory")


class _Copying(Producer):
    """A producer that would rather copy, unless it is told not to."""

    def __dlpack__(self, *, copy: bool | None = None, **keywords: Any) -> Any:
        return super().__dlpack__(copy=copy is not False, **keywords)


@check("DLP-COPY-1", source=f"{_COPY}=False, and array.__dlpack__, copy")
def copy_false_reaches_the_producer(consumer: ConsumerDoor) -> None:
    """A producer learns of copy=False.

    Pass the keyword on: a producer that is not told may copy as it likes.
    """
    shape = _way(consumer).shape
    if not Attempt(_asking(consumer, copy=None), host(shape, kind=_Copying)).taken:
        raise NotApplicable("a producer that copies is refused")
    take = _asking(consumer, copy=False)
    attempt = Attempt(take, host(shape, kind=_Copying))
    if not attempt.taken:
        return

    shared = _sees_writes(consumer, attempt.source, attempt.array)

    expect(shared, "copy=False: the producer was not told, and copied")
