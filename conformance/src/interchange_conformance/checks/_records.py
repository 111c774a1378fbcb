"""Common code of the checks of the CUDA Array Interface: records, and objects that export them.

Source: CUDA Array Interface, version 3; NumPy array interface, typestr.
"""

from __future__ import annotations

import ctypes
import struct
from math import prod
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import driver
from interchange_conformance.findings import Found, NotApplicable, expect, note

if TYPE_CHECKING:
    from interchange_conformance.driver.cuda import Cuda
    from interchange_conformance.probes.under_test import ConsumerUnderTest, ProducerUnderTest

    Ints = tuple[int, ...]

ATTRIBUTE: Final = "__cuda_array_interface__"
SPEC: Final = "CUDA Array Interface 3, Python Interface Specification"
FIRST_WITH_STREAM: Final = 3
"""The version that added the stream of pending work."""

_RANGE_START: Final = 11  # CU_POINTER_ATTRIBUTE_RANGE_START_ADDR
_RANGE_SIZE: Final = 12  # CU_POINTER_ATTRIBUTE_RANGE_SIZE

TYPESTRS: Final = {
    "bool": "|b1",
    "int8": "|i1",
    "int16": "<i2",
    "int32": "<i4",
    "int64": "<i8",
    "uint8": "|u1",
    "uint16": "<u2",
    "uint32": "<u4",
    "uint64": "<u8",
    "float16": "<f2",
    "float32": "<f4",
    "float64": "<f8",
    "complex64": "<c8",
    "complex128": "<c16",
}
"""Element type -> its type string on this machine, if it is little-endian."""


def descr_size(descr: Any) -> int | None:
    """Return the size of the fields of a ``descr`` [bytes]; None if it has another form."""
    try:
        return _fields_size(descr)
    except (TypeError, ValueError, IndexError):
        return None


def _fields_size(descr: Any) -> int:
    """Return the total size of some fields [bytes]."""
    return sum(_field_size(*field) for field in descr)


def _field_size(_: Any, kind: Any, shape: Any = ()) -> int:
    """Return the size of a field [bytes]: of a type string, or of nested fields."""
    count = prod([shape] if isinstance(shape, int) else shape)
    if isinstance(kind, list):
        return count * _fields_size(kind)
    characters = 4 if kind[1] == "U" else 1
    return count * characters * int(kind[2:])


# ---------------------------------------------------------------- producers


def device_array(
    producer: ProducerUnderTest,
    shape: Ints | None = None,
    dtype: str | None = None,
    *,
    readonly: bool = False,
) -> Any:
    """Return an array in CUDA memory, of a library that supports the interface.

    Raises `NotApplicable`: there is no driver, no such array, or no interface.
    """
    driver()
    x = producer.make(shape, dtype, device="cuda", readonly=readonly)
    record_of(x)
    return x


def record_of(x: Any) -> Any:
    """Return the value of an array's attribute.

    Raises `NotApplicable`: the array has none.
    """
    record = getattr(x, ATTRIBUTE, None)
    if record is None:
        raise NotApplicable(f"{type(x).__name__} has no {ATTRIBUTE}")
    return record


def entry(record: Any, key: str) -> Any:
    """Return an entry of a record that is required; other checks report its absence.

    Raises `NotApplicable`: the entry is missing.
    """
    if not isinstance(record, dict) or key not in record:
        raise NotApplicable(f"the record has no {key!r}")
    return record[key]


def address_in(record: Any) -> int:
    """Return the address in a record, if it has the correct form."""
    data = entry(record, "data")
    if not isinstance(data, tuple) or not data or type(data[0]) is not int:
        raise NotApplicable(f"data is {data!r:.200}")
    return data[0]


def address_of_elements(record: Any) -> int:
    """Return the address in a record, if it is that of elements.

    Raises `NotApplicable`: it is not; other checks report this.
    """
    address = address_in(record)
    if not address:
        raise NotApplicable("the address is 0")
    return address


def span_of(record: Any, element: int) -> tuple[int, int]:
    """Return the first and last address of a record whose elements have a size [bytes]."""
    address, shape, strides = address_in(record), entry(record, "shape"), record.get("strides")
    if strides is not None and len(strides) != len(shape):
        raise NotApplicable(f"shape {shape!r:.100}, and strides {strides!r:.100}")
    if strides is None:
        strides, step = [], element
        for extent in reversed(shape):
            strides.insert(0, step)
            step *= extent
    reaches = [(extent - 1) * step for extent, step in zip(shape, strides, strict=True)]
    low, high = sum(min(0, reach) for reach in reaches), sum(max(0, reach) for reach in reaches)
    return address + low, address + high + element


def size_in(record: Any) -> int:
    """Return the size of an element according to a record [bytes].

    Raises `NotApplicable`: the record does not contain it.
    """
    try:
        return int(entry(record, "typestr")[2:])
    except (TypeError, ValueError) as error:
        raise NotApplicable(f"typestr is {record['typestr']!r:.200}") from error


def allocation_of(cuda: Cuda, address: int) -> tuple[int, int]:
    """Return the start and the end of the allocation that contains an address."""
    start, size = ctypes.c_uint64(), ctypes.c_size_t()
    for place, attribute in ((start, _RANGE_START), (size, _RANGE_SIZE)):
        where = ctypes.addressof(place)
        if cuda.code("cuPointerGetAttribute", where, attribute, address):
            raise NotApplicable(f"the driver knows no allocation at {address:#x}")
    return start.value, start.value + size.value


def is_int(value: object) -> bool:
    """Return whether a value is an int, and not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def expect_stream(record: Any, what: str) -> None:
    """Raise `Found` unless the stream of a record is one that may be exported."""
    stream = record.get("stream")
    legal = stream is None or (is_int(stream) and 0 < stream < 2**64)
    expect(legal, f"{what} publishes stream {stream!r:.100}, due: None, 1, 2 or a handle")


# ---------------------------------------------------------------- consumers


class Exporter:
    """An object with an arbitrary record.

    Parameters
    ----------
    record : object
        Value of the attribute; a dict is copied each time.
    *then : object
        Values at later reads; the last one is repeated.

    Attributes
    ----------
    reads : int
        How often the attribute was read.
    """

    def __init__(self, record: Any, *then: Any) -> None:
        self.records = (record, *then)
        self.reads = 0

    @property
    def __cuda_array_interface__(self) -> Any:
        record = self.records[min(self.reads, len(self.records) - 1)]
        self.reads += 1
        return dict(record) if isinstance(record, dict) else record

    def __repr__(self) -> str:
        return f"<an object with the record {self.records[0]!r}>"


COUNT: Final = 24
"""Number of float32 elements in the memory of a plain record; element n is n."""


class Floats:
    """Device memory of numbered float32 elements.

    Attributes
    ----------
    address : int
        Address of element number 0.
    """

    def __init__(self, cuda: Cuda, first: int = 0) -> None:
        self.address = cuda.memory(COUNT * 4)
        numbers = range(first, first + COUNT)
        cuda.write(self.address, struct.pack(f"={COUNT}f", *numbers))

    def record(self, **changes: Any) -> dict[str, Any]:
        """Return a record of version 3 of the first six elements; ``...`` omits a key."""
        entries = {
            "shape": (2, 3),
            "typestr": TYPESTRS["float32"],
            "data": (self.address, False),
            "strides": None,
            "version": 3,
            "stream": None,
        }
        return {key: value for key, value in (entries | changes).items() if value is not ...}


def expect_values(consumer: ConsumerUnderTest, x: Any, due: list[Any], what: str) -> None:
    """Raise `Found` unless a record is imported and read correctly."""
    note(f"taking {what}")
    try:
        y = consumer.take_cai(x)
    except NotApplicable:
        raise
    except Exception as error:
        raise Found(f"{what} was refused: {error!r:.400}") from error
    found = consumer.values(y)

    expect(found == due, f"{what} was read as {found}, due: {due}")


def expect_values_or_refusal(
    consumer: ConsumerUnderTest, x: Any, due: list[Any], what: str
) -> list[Any] | None:
    """Raise `Found` unless a record is refused, immediately or when read, or is read correctly.

    Returns
    -------
    list or None
        The elements; None after a refusal.
    """
    found = values_or_refusal(consumer, x, what)
    words = f"{what} was read as {found}, due: {due}, or to refuse it"
    expect(found is None or found == due, words)
    return found


def values_or_refusal(consumer: ConsumerUnderTest, x: Any, what: str) -> list[Any] | None:
    """Return the elements of an object with a record; None if it is refused, also when read."""
    need_plain_records(consumer)
    note(f"taking {what}")
    try:
        return consumer.values(consumer.take_cai(x))
    except NotApplicable:
        raise
    except Exception:  # noqa: BLE001 - the kind of refusal is not tested here
        return None


def need_plain_records(consumer: ConsumerUnderTest) -> None:
    """Raise `NotApplicable` if even a plain record is refused: refusals then have no meaning."""
    memory = Floats(driver())
    try:
        consumer.take_cai(Exporter(memory.record()))
    except NotApplicable:
        raise
    except Exception as error:
        raise NotApplicable(f"it takes no plain record: {error!r:.300}") from error
