"""An honest consumer of the CUDA Array Interface: it parses strictly, asks the driver, and waits.

Source: CUDA Array Interface, versions 0 to 3; CUDA driver API.  Each part is a separate method,
so that a mutant can omit one duty.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import struct
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange.abi import parse_record
from interchange_conformance.checks._records import (
    ATTRIBUTE,
    FIRST_WITH_STREAM,
    allocation_of,
    span_of,
)
from interchange_conformance.driver.cuda import LEGACY, driver
from interchange_conformance.subject import Subject

from .model import mutant, replacing

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange.abi import InterfaceRecord
    from interchange_conformance.driver.cuda import Cuda

_FORMATS: Final = {
    "b1": "?",
    "i1": "b",
    "i2": "h",
    "i4": "i",
    "i8": "q",
    "u1": "B",
    "u2": "H",
    "u4": "I",
    "u8": "Q",
    "f2": "e",
    "f4": "f",
    "f8": "d",
    "c8": "ff",
    "c16": "dd",
}
"""Kind and size -> the format of one element."""


class Taken(NamedTuple):
    """An array over a record's memory: the format of an element, and an owner to keep alive."""

    record: InterfaceRecord
    layout: str
    owner: Any


class Taker:
    """Imports records, and works on a separate stream."""

    def __init__(self) -> None:
        self.cuda: Cuda = driver()
        self.stream = self.cuda.stream()

    def take(self, x: Any) -> Taken:
        """Return an array over the memory of an object."""
        record = self.parse(self.read_attribute(x))
        self.check_mask(record)
        taken = Taken(record, self.layout_of(record), self.owner_of(x))
        if self.size_of(record.shape):
            self.check_memory(taken)
            self.order(taken)
        return taken

    # ------------------------------------------------------------ the parts

    def read_attribute(self, x: Any) -> Any:
        """Return the record of an object."""
        raw = getattr(x, ATTRIBUTE, None)
        if raw is None:
            raise TypeError(f"{type(x).__name__} has no {ATTRIBUTE}")
        return raw

    def parse(self, raw: Any) -> InterfaceRecord:
        """Return the entries of a record, after checking their form."""
        return parse_record(raw)

    def check_mask(self, record: InterfaceRecord) -> None:
        """Refuse a mask."""
        if record.mask is not None:
            raise BufferError("records with a mask are not taken")

    def layout_of(self, record: InterfaceRecord) -> str:
        """Return the format of an element, or refuse its type."""
        typestr = record.typestr
        layout = _FORMATS.get(f"{typestr.kind}{typestr.size}")
        if layout is None:
            raise BufferError(f"elements of typestr {typestr} are not known here")
        return self.byte_order(record) + layout

    def byte_order(self, record: InterfaceRecord) -> str:
        """Return the byte order of a format."""
        return ">" if record.typestr.byteorder == ">" else "<"

    def size_of(self, shape: tuple[int, ...]) -> int:
        """Return the number of elements."""
        size = math.prod(shape)
        if size >= 2**63:
            raise BufferError(f"shape {shape} has more elements than 64 bits count")
        return size

    def check_memory(self, taken: Taken) -> None:
        """Refuse missing memory."""
        if not taken.record.ptr:
            raise BufferError("the address of elements is 0")
        self.check_kind(taken, self.cuda.kind(taken.record.ptr)[0])

    def check_kind(self, taken: Taken, kind: str) -> None:
        """Refuse memory that the driver does not know."""
        if kind == "host":
            raise BufferError(f"the driver knows no memory at {taken.record.ptr:#x}")
        self.check_span(taken)

    def check_span(self, taken: Taken) -> None:
        """Refuse elements outside their allocation."""
        start, end = allocation_of(self.cuda, taken.record.ptr)
        low, high = self.span(taken)
        if not start <= low <= high <= end:
            raise BufferError("elements are outside their allocation")

    def span(self, taken: Taken) -> tuple[int, int]:
        """Return the start and the end of the elements."""
        record = taken.record
        said = {"data": (record.ptr, False), "shape": record.shape, "strides": record.strides}
        return span_of(said, struct.calcsize(taken.layout))

    def order(self, taken: Taken) -> None:
        """Make the stream wait for the published one; before version 3, for the default stream."""
        published = taken.record.stream
        if taken.record.version < FIRST_WITH_STREAM:
            published = LEGACY
        if published is not None:
            self.cuda.order(published, self.stream)

    def use(self, x: Any, work: Callable[[int], object]) -> None:
        """Use the memory of an object on the stream, and make the published stream wait for it."""
        taken = self.take(x)
        work(self.stream)
        self.give_back(taken)

    def give_back(self, taken: Taken) -> None:
        """Make the published stream wait for the use of the memory."""
        if taken.record.stream is not None:
            self.cuda.order(self.stream, taken.record.stream)

    def owner_of(self, x: Any) -> Any:
        """Return the object that is kept alive with the array."""
        return x

    # ------------------------------------------------------------ the elements

    def read(self, taken: Taken) -> list[Any]:
        """Return the elements, in C order."""
        if not self.size_of(taken.record.shape):
            return []
        low, high = self.span(taken)
        data = self.load(low, high - low)
        return [self.number(data, at - low, taken) for at in self.places(taken)]

    def load(self, address: int, nbytes: int) -> bytes:
        """Return bytes that are copied on the stream."""
        target = self.cuda.pinned(nbytes)
        self.cuda.copy(target, address, nbytes, self.stream)
        self.cuda.synchronize(self.stream)
        return ctypes.string_at(target, nbytes)

    def places(self, taken: Taken) -> list[int]:
        """Return the address of every element, in C order."""
        record = taken.record
        steps = self.strides(taken)
        return [
            record.ptr + sum(i * step for i, step in zip(index, steps, strict=True))
            for index in itertools.product(*map(range, record.shape))
        ]

    def strides(self, taken: Taken) -> tuple[int, ...]:
        """Return the strides of all axes [bytes]."""
        record = taken.record
        if record.strides is not None:
            return record.strides
        size = struct.calcsize(taken.layout)
        return tuple(size * math.prod(record.shape[i + 1 :]) for i in range(len(record.shape)))

    def number(self, data: bytes, at: int, taken: Taken) -> Any:
        """Return the element at an offset in bytes."""
        real, *imaginary = struct.unpack_from(taken.layout, data, at)
        return complex(real, imaginary[0]) if imaginary else real

    def write(self, taken: Taken) -> None:
        """Set the first element to 1, unless the record is read-only."""
        if self.is_readonly(taken):
            raise BufferError("the memory is read-only")
        numbers = (1, 0)[: len(taken.layout) - 1]
        self.cuda.write(taken.record.ptr, struct.pack(taken.layout, *numbers))

    def is_readonly(self, taken: Taken) -> bool:
        """Return whether the memory is read-only."""
        return taken.record.readonly


def taker_of(**steps: Any) -> Subject:
    """Return a subject of a taker with some steps replaced, each by ``f(taker, ...)``."""
    kind = type("Taker", (Taker,), steps)
    made: list[Taker] = []

    def one() -> Taker:
        if not made:
            made.append(kind())
        return made[0]

    return Subject(
        kind.__name__,
        take_cai=lambda x: one().take(x),
        use_cai=lambda x, work: one().use(x, work),
        read=lambda y: one().read(y),
        write=lambda y: one().write(y),
    )


def honest_taker() -> Subject:
    """Return the honest counterpart: a consumer that keeps every rule."""
    return taker_of()


taker_mutant = partial(mutant, counterpart=honest_taker, build=replacing(taker_of))
