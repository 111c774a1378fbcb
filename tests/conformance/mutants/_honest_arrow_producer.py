"""An honest producer of Arrow columns, and the mutants derived from it.

Source: the Arrow C data, stream, device and PyCapsule interfaces; the columnar format.  The
kit's
zoo creates the structs that it describes, with callbacks in C.
"""

from __future__ import annotations

import ctypes
import datetime as dt
import re
import struct
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Final

from interchange.abi.arrow_formats import NUMBERS
from interchange_conformance.driver.cuda import opened
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Subject
from interchange_conformance.zoo.arrow import (
    Chunk,
    DeviceArraySource,
    DeviceStreamSource,
    EverySource,
    Field,
    Place,
    building,
)
from interchange_conformance.zoo.memory import Memory

from .model import mutant, replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FORMATS: Final = {name: text for text, name in NUMBERS.items()}
_LETTERS: Final = dict(zip("cCsSiIlLefg", "bBhHiIqQefd", strict=True))
_SIZED: Final = re.compile(r"\[([0-9]+)\]")
_BYTE: Final = (1, 8, 1)
_CUDA: Final = 2
_NO_TIMING: Final = 2
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_TIMES: Final = {
    "timestamp_us": ("tsu:", "q"),
    "timestamp_us_utc": ("tsu:UTC", "q"),
    "date32": ("tdD", "i"),
    "duration_us": ("tDu", "q"),
}
"""Element type of a column -> its format, and the format character of its numbers."""
_events: Final[list[ctypes.c_void_p]] = []


def block(data: bytes) -> Memory:
    """Return aligned memory with the given bytes."""
    memory = Memory(0, _BYTE, lead=len(data))
    memory.view()[:] = data
    return memory


def bits(flags: Sequence[object]) -> bytes:
    """Return packed bits, the first in the lowest position."""
    number = sum(1 << place for place, flag in enumerate(flags) if flag)
    return number.to_bytes(-(-len(flags) // 8), "little")


def _units(value: dt.date | dt.timedelta) -> int:
    """Return the days of a date, and the microseconds of a datetime or timedelta."""
    if isinstance(value, dt.datetime):
        value = value.replace(tzinfo=dt.timezone.utc) - _EPOCH
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(microseconds=1)
    return (value - _EPOCH.date()).days


def _chunk(values: Sequence[Any], buffers: Sequence[bytes], start: int, **more: Any) -> Chunk:
    """Return a chunk with buffers after the validity."""
    valid = [value is not None for value in values]
    blocks = [block(bits(valid)) if not all(valid) else None, *map(block, buffers)]
    return Chunk(
        len(values) - start,
        valid[start:].count(False),
        start,
        tuple(None if one is None else one.address for one in blocks),
        memory=tuple(blocks),
        **more,
    )


def encoded(values: Sequence[Any], dtype: str, start: int = 0) -> tuple[Field, Chunk]:
    """Return the type and the chunk of values."""
    name, sizes = dtype.partition("[")[0], [int(size) for size in _SIZED.findall(dtype)]
    if sizes:
        size = sizes[0]
        rows = ([None] * size if row is None else row for row in values)
        rest = name + "".join(f"[{one}]" for one in sizes[1:])
        field, below = encoded(list(chain.from_iterable(rows)), rest)
        children = (replace(field, name="item"),)
        chunk = _chunk(values, [], start, children=(below,))
        return Field(f"+w:{size}", children=children), chunk
    if name.startswith("list("):
        field, below = encoded(list(chain.from_iterable(row or () for row in values)), name[5:-1])
        ends = list(accumulate((len(row or ()) for row in values), initial=0))
        offsets = struct.pack(f"={len(ends)}i", *ends)
        children = (replace(field, name="item"),)
        return Field("+l", children=children), _chunk(values, [offsets], start, children=(below,))
    if name in _TIMES:
        form, letter = _TIMES[name]
        numbers = [0 if value is None else _units(value) for value in values]
        return Field(form), _chunk(
            values, [struct.pack(f"={len(numbers)}{letter}", *numbers)], start
        )
    if name == "bool":
        return Field("b"), _chunk(values, [bits(values)], start)
    if name == "string":
        texts = [(value or "").encode() for value in values]
        ends = [sum(map(len, texts[:place])) for place in range(len(texts) + 1)]
        buffers = [struct.pack(f"={len(ends)}i", *ends), b"".join(texts)]
        return Field("u"), _chunk(values, buffers, start)
    if name not in _FORMATS:
        raise CannotMakeError(f"no {name}")
    letter = _LETTERS[_FORMATS[name]]
    numbers = [0 if value is None else value for value in values]
    data = struct.pack(f"={len(numbers)}{letter}", *numbers)
    return Field(_FORMATS[name]), _chunk(values, [data], start)


class HonestColumn(EverySource):
    """A column that keeps every rule, and has every method."""


def column_of(
    kind: type[EverySource], values: Sequence[Any], dtype: str, start: int, chunks: int
) -> Any:
    """Return a column of a kind."""
    step = -(-len(values) // chunks) if values else 1
    parts = [values[place : place + step] for place in range(0, len(values), step)] or [values]
    found = [encoded(part, dtype, 0 if number else start) for number, part in enumerate(parts)]
    return kind(found[0][0], tuple(chunk for _, chunk in found), tuple(values[start:]))


class HonestDeviceColumn(DeviceArraySource, DeviceStreamSource):
    """A column of bytes on a device: each export has an event after the work of its stream."""

    stream = 0
    device = 0

    def _give(self, method: str, keywords: dict[str, Any], make: Any) -> Any:
        """Return structs with a separate event."""
        self.place = Place(_CUDA, self.device, ctypes.addressof(self.event()))
        return super()._give(method, keywords, make)

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        """Refuse: a struct for memory of the host does not state a device."""
        raise BufferError("the memory is on a device")

    def event(self) -> ctypes.c_void_p:
        """Return a new, recorded event; it is kept, as the structs of the zoo are."""
        cuda, event = opened(), ctypes.c_void_p()
        with cuda.on_device(self.device):
            cuda("cuEventCreate", ctypes.byref(event), _NO_TIMING)
            self.record(event)
        _events.append(event)
        return event

    def record(self, event: ctypes.c_void_p) -> None:
        """Record an event after the work."""
        opened()("cuEventRecord", event, self.stream)


def device_column_of(kind: type[HonestDeviceColumn], values: Sequence[Any], stream: int) -> Any:
    """Return a column of bytes in memory of the current device, used on a stream."""
    chunk = Chunk(len(values), 0, 0, (None, opened().memory(len(values))))
    found = kind(Field("C"), (chunk,), tuple(values))
    found.stream, found.device = stream, opened().current_device
    return found


def producer_of(
    kind: type[EverySource], on_device: type[HonestDeviceColumn] = HonestDeviceColumn
) -> Subject:
    """Return the subject whose columns are of a kind, and on devices of another."""

    def make(
        values: Sequence[Any], dtype: str, start: int, chunks: int, stream: int | None = None
    ) -> Any:
        if stream is not None:
            return device_column_of(on_device, values, stream)
        return column_of(kind, values, dtype, start, chunks)

    return Subject(kind.__name__, make_arrow=make, release=forget_released)


def forget_released() -> None:
    """Drop the released structs, which the zoo keeps for queries."""
    for one in tuple(building._kept):
        if one.due and not one.alive:
            one.forget()


def honest_arrow_producer() -> Subject:
    """Return the honest counterpart: it keeps every rule."""
    return producer_of(HonestColumn)


def changed(**methods: Any) -> Subject:
    """Return a producer with some methods replaced, each by ``f(column, ...)``."""
    return producer_of(type("Changed", (HonestColumn,), methods))


def saying(change: Callable[[Any], Any], *, formats: Sequence[str] = ()) -> Subject:
    """Return a producer whose columns, of some formats or of all, are changed."""

    def make(values: Sequence[Any], dtype: str, start: int, chunks: int) -> Any:
        x = column_of(HonestColumn, values, dtype, start, chunks)
        return change(x) if x.field.format in formats or not formats else x

    return Subject("a column that says otherwise", make_arrow=make, release=forget_released)


def _with_chunks(change: Callable[[Chunk], Chunk], **more: Any) -> Subject:
    """Return a producer whose chunks, of columns of some formats or of all, are changed."""

    def changed(x: HonestColumn) -> HonestColumn:
        x.chunks = tuple(map(change, x.chunks))
        return x

    return saying(changed, **more)


arrow_producer_mutant = partial(mutant, counterpart=honest_arrow_producer, build=replacing(changed))
column_mutant = partial(mutant, counterpart=honest_arrow_producer, build=saying)
chunk_mutant = partial(mutant, counterpart=honest_arrow_producer, build=_with_chunks)
