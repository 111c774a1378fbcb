"""interchange itself: described memory, of any protocol and on any device.

Source: its API reference (``docs/api``).

The kit imports it by name, and uses public functions only.
"""

from __future__ import annotations

import ctypes
import datetime as dt
import importlib
import itertools
import math
import operator
import re
import struct
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from interchange.abi.arrow import ARROW_SCHEMA
from interchange_conformance.driver.cuda import chosen, opened
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import DEVICES, KINDS, Kind, Subject
from interchange_conformance.zoo.arrow import Field, make_schema

from ._common import one
from ._devices import lacks_driver, need_device, on, store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Shape = tuple[int, ...]

_NAME: Final = "interchange"
_MOST_AXES: Final = 64
_PAIR: Final = 2  # values and offsets
_DRIVER: Final = ("cuda.bindings.driver",) if chosen() != "none" and find_spec("cuda") else ()
_PRELOAD: Final = (_NAME, "numpy", *_DRIVER)  # which it would otherwise import in each child
_SIZED: Final = re.compile(r"\[([0-9]+)\]")
_LETTERS: Final = {
    "bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B",
    "uint16": "H", "uint32": "I", "uint64": "Q", "float16": "e", "float32": "f", "float64": "d",
}  # fmt: skip
"""Element type of a column -> format character of ``struct``."""
_NAMES: Final = {"cuda": "cuda:0", "pinned": "cuda_host"}


def _ix() -> Any:
    """Return the module interchange."""
    return importlib.import_module(_NAME)


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return an Array of new memory."""
    need_device(device, tuple(DEVICES), "interchange")
    x = _array(shape, dtype, device)
    if not readonly:
        return x
    return _ix().from_pointer(x.ptr, shape, dtype, device=x.device, owner=x, readonly=True)


def _array(shape: Shape, dtype: str, device: str) -> Any:
    """Return an Array on a device."""
    x = _on_host(shape, dtype)
    if device in KINDS:
        return _ix().from_pointer(x.ptr, shape, dtype, device=device, owner=x)
    if device == "managed":
        with on(device):
            address = opened().managed(x.nbytes)
        return _ix().from_pointer(address if x.size else 0, shape, dtype, device="cuda_managed")
    return x if device == "cpu" else x.to_device(_NAMES.get(device, device))


def _on_host(shape: Shape, dtype: str) -> Any:
    """Return an Array of zeros in memory allocated by interchange."""
    ix = _ix()
    if len(shape) > _MOST_AXES:
        raise CannotMakeError("an Array has 64 axes at most")
    try:
        size = ix.from_pointer(0, (0,), dtype).itemsize
    except ix.UnsupportedDTypeError as error:
        raise CannotMakeError(str(error)) from error
    block = bytearray(math.prod(shape) * size)
    address = ix.from_buffer(block).ptr if block else 0
    return ix.from_pointer(address, shape, dtype, owner=block).copy()


def make_on(stream: int, shape: Shape, dtype: str, device: str = "cuda") -> Any:
    """Return an Array that is ready on a stream."""
    x = _array(shape, dtype, f"cuda:{opened().current_device}" if device == "cuda" else device)
    return _ix().from_pointer(x.ptr, shape, dtype, device=x.device, owner=x, stream=stream)


def take(x: Any) -> Any:
    """Import by DLPack."""
    return _ix().from_dlpack(x)


def take_on(stream: int, x: Any) -> Any:
    """Import by DLPack, for a stream."""
    return _ix().from_dlpack(x, stream=stream)


def take_cai(x: Any) -> Any:
    """Import by the CUDA Array Interface."""
    return _ix().from_cai(x)


def use_cai(x: Any, work: Callable[[int], object]) -> None:
    """Borrow the memory of an object for a stream, and release it."""
    stream = opened().stream()
    with _ix().borrow(x, stream=stream):
        work(stream)


def take_with(x: Any, copy: bool | None = None, device: str | None = None) -> Any:
    """Import by DLPack, with the standard's keywords."""
    return _ix().from_dlpack(x, copy=copy, device=device)


def take_buffer(x: Any) -> Any:
    """Import by the buffer protocol."""
    return _ix().from_buffer(x)


def take_array_interface(x: Any) -> Any:
    """Import by NumPy's array interface."""
    return _ix().from_array_interface(x)


def read(y: Any) -> list[Any]:
    """Return the elements, with those on devices copied to the host."""
    here = y.to_device("cpu") if str(y.device) != "cpu" else y
    return _flat(here.tolist(), here.ndim)


def _flat(nested: Any, depth: int) -> list[Any]:
    """Return the elements of nested lists."""
    if depth == 0:
        return [nested]
    return [leaf for one in nested for leaf in _flat(one, depth - 1)]


def write(y: Any) -> None:
    """Set the first element, if the Array is writable."""
    y.require(writable=True)
    data = one(y.dtype.name)
    if str(y.device) == "cpu":
        ctypes.memmove(y.ptr, data, len(data))
    else:
        store(y.ptr, data)


def make_arrow(
    values: Sequence[Any], dtype: str, start: int, chunks: int, stream: int | None = None
) -> Any:
    """Return a column of an Array, with nulls by a mask, or a stream of several columns."""
    ix = _ix()
    if ix.core_name != "native" or dtype == "string":
        raise CannotMakeError("an Array has numbers, and the native core exports them")
    if stream is not None:
        return ix.to_arrow(make_on(stream, (len(values),), dtype)[start:])
    if chunks > 1:
        raise CannotMakeError("an Array is one chunk")
    if dtype.startswith("list("):
        return _lists(values, dtype[5:-1], start)
    numbers, valid = _stored(values[start:], dtype)
    kind = _KINDS_OF_TIME.get(dtype)
    meaning = None if kind is None else ix.Meaning.of(_Schema(kind))
    return ix.to_arrow(numbers, mask=_mask(valid), meaning=meaning)


_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_MICROSECOND: Final = dt.timedelta(microseconds=1)
_KINDS_OF_TIME: Final = {
    "timestamp_us": "tsu:",
    "timestamp_us_utc": "tsu:UTC",
    "date32": "tdD",
    "duration_us": "tDu",
}


class _Schema:
    """A type of Arrow."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __arrow_c_schema__(self) -> Any:
        return make_schema(Field(self.kind)).capsule(ARROW_SCHEMA)


def _stored(values: Sequence[Any], dtype: str) -> tuple[Any, list[bool]]:
    """Return an Array of values, with zeros for nulls, and which of them are none."""
    name, sizes = dtype.partition("[")[0], [int(one) for one in _SIZED.findall(dtype)]
    valid = [value is not None for value in values]
    flat = _flat([value for value in values if value is not None], 1 + len(sizes))
    if sizes and (not all(valid) or None in flat):
        raise CannotMakeError("a mask has nulls of one level")
    form = {"date32": "int32"}.get(name, "int64") if name in _KINDS_OF_TIME else name
    numbers = [0 if value is None else _number(value) for value in values] if not sizes else flat
    block = bytearray(struct.pack(f"={len(numbers)}{_LETTERS[form]}", *numbers))
    return _ix().from_buffer(block, dtype=form, shape=(-1, *sizes)), valid


def _number(value: Any) -> Any:
    """Return the stored number of a value: days of dates, else microseconds."""
    if isinstance(value, dt.datetime):
        return (value.replace(tzinfo=dt.timezone.utc) - _EPOCH) // _MICROSECOND
    if isinstance(value, dt.date):
        return (value - _EPOCH.date()).days
    return value // _MICROSECOND if isinstance(value, dt.timedelta) else value


def _lists(values: Sequence[Any], dtype: str, start: int) -> Any:
    """Return a column of lists of any length."""
    lists = values[start:]
    ends = list(itertools.accumulate((len(one or ()) for one in lists), initial=0))
    items, _ = _stored([item for one in lists for item in one or ()], dtype)
    offsets = _ix().from_buffer(struct.pack(f"={len(ends)}i", *ends), dtype="int32")
    return _ix().to_arrow((items, offsets), mask=_mask([one is not None for one in lists]))


def _mask(valid: list[bool]) -> Any:
    """Return a mask, None if there are no nulls."""
    block = struct.pack(f"={len(valid)}?", *valid)
    return None if all(valid) else _ix().from_buffer(block, dtype="bool")


def take_arrow(x: Any) -> Any:
    """Import by Arrow: data, mask, and what the numbers stand for; several chunks are copied."""
    return _ix().from_arrow(x, ragged=True, nulls="separate", meaning=True, copy="if_needed")


def read_arrow(y: Any) -> list[Any]:
    """Return the elements, as values of Python; nulls, and lists of nulls only, are None."""
    data, mask, meaning = y
    if not isinstance(data, tuple):
        return list(_masked(data.tolist(), mask.tolist(), _value_of(meaning)))
    is_text = meaning is None
    if is_text:
        items: Any = bytes(data[0].tolist())
    else:
        items, mask = read_arrow((data[0], mask[0], meaning)), mask[1]
    starts = data[1].tolist()
    ends = starts[1:] if len(data) == _PAIR else map(operator.add, starts, data[2].tolist())
    found = [items[start:end] for start, end in zip(starts, ends, strict=False)]
    found = [one.decode() if is_text else one for one in found]
    return [one if valid else None for one, valid in zip(found, mask.tolist(), strict=True)]


def _masked(value: Any, valid: Any, read: Callable[[Any], Any]) -> Any:
    """Return a value with None for nulls."""
    if not isinstance(value, list):
        return read(value) if valid else None
    return [_masked_row(*pair, read) for pair in zip(value, valid, strict=True)]


def _masked_row(value: Any, valid: Any, read: Callable[[Any], Any]) -> Any:
    """Return an element, None for a list of nulls only."""
    found = _masked(value, valid, read)
    return (
        None
        if isinstance(found, list) and found and set(map(type, found)) == {type(None)}
        else found
    )


def _value_of(meaning: Any) -> Callable[[Any], Any]:
    """Return what a stored number stands for."""
    if meaning.categories is not None:
        return read_arrow(take_arrow(meaning.categories)).__getitem__
    if meaning.extension == "arrow.bool8":
        return bool
    unit = {"s": "seconds", "ms": "milliseconds", "us": "microseconds"}.get(meaning.unit, "days")
    zone = None if meaning.timezone is None else dt.timezone.utc
    start = _EPOCH.replace(tzinfo=zone)
    reads: dict[str, Callable[[Any], Any]] = {
        "date": lambda number: (start + dt.timedelta(**{unit: number})).date(),
        "timestamp": lambda number: start + dt.timedelta(**{unit: number}),
        "duration": lambda number: dt.timedelta(**{unit: number}),
    }
    return reads.get(meaning.kind, lambda number: number)


subject: Subject = Subject(
    "interchange",
    make=make,
    take=take,
    read=read,
    write=write,
    take_with=take_with,
    take_cai=take_cai,
    use_cai=use_cai,
    take_capsule=take,
    take_buffer=take_buffer,
    take_array_interface=take_array_interface,
    make_on=make_on,
    take_on=take_on,
    make_arrow=make_arrow,
    take_arrow=take_arrow,
    read_arrow=read_arrow,
    distribution="array-interchange",
    preload=_PRELOAD,
)

kinds: tuple[Kind, ...] = (
    Kind(
        "interchange",
        subject,
        lambda x: x.ptr,
        library="interchange",
        module="interchange",
        target="interchange",
        head="inter-\nchange",
        dtype=lambda x: x.dtype.name,
        readonly=lambda x: x.readonly is not False,  # unknown counts as read-only
        order=100,
    ),
)
kinds_on_devices: tuple[Kind, ...] = (replace(kinds[0], lacks=lacks_driver, is_ordered=False),)
