"""What checks of the CUDA Array Interface share: records of arrays, and objects that have one.

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
"""The version that says where work is pending."""

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
"""Element type -> its type string, on a machine whose numbers begin with the low byte."""


def descr_size(descr: Any) -> int | None:
    """Return how many bytes the fields of a ``descr`` have; None where it has another form."""
    try:
        return _fields_size(descr)
    except (TypeError, ValueError, IndexError):
        return None


def _fields_size(descr: Any) -> int:
    """Return how many bytes some fields have together."""
    return sum(_field_size(*field) for field in descr)


def _field_size(_: Any, kind: Any, shape: Any = ()) -> int:
    """Return how many bytes a field has: of a type string, or of fields of its own."""
    count = prod([shape] if isinstance(shape, int) else shape)
    if isinstance(kind, list):
        return count * _fields_size(kind)
    characters = 4 if kind[1] == "U" else 1
    return count * characters * int(kind[2:])


# ---------------------------------------------------------------- of a producer


def device_array(
    producer: ProducerUnderTest,
    shape: Ints | None = None,
    dtype: str | None = None,
    *,
    readonly: bool = False,
) -> Any:
    """Return an array in CUDA memory, of a library that has the interface.

    Raises
    ------
    NotApplicable
        There is no driver, no such array, or no interface.
    """
    driver()
    x = producer.make(shape, dtype, device="cuda", readonly=readonly)
    record_of(x)
    return x


def record_of(x: Any) -> Any:
    """Return what an array's attribute gives.

    Raises
    ------
    NotApplicable
        It has none.
    """
    record = getattr(x, ATTRIBUTE, None)
    if record is None:
        raise NotApplicable(f"{type(x).__name__} has no {ATTRIBUTE}")
    return record


def entry(record: Any, key: str) -> Any:
    """Return an entry of a record that must be there; its absence is judged elsewhere.

    Raises
    ------
    NotApplicable
        It is not there.
    """
    if not isinstance(record, dict) or key not in record:
        raise NotApplicable(f"the record has no {key!r}")
    return record[key]


def address_in(record: Any) -> int:
    """Return the address in a record, where it is of the right form."""
    data = entry(record, "data")
    if not isinstance(data, tuple) or not data or type(data[0]) is not int:
        raise NotApplicable(f"data is {data!r:.200}")
    return data[0]


def address_of_elements(record: Any) -> int:
    """Return the address in a record, where that leads to elements.

    Raises
    ------
    NotApplicable
        It does not; that is judged elsewhere.
    """
    address = address_in(record)
    if not address:
        raise NotApplicable("the address is 0")
    return address


def span_of(record: Any, element: int) -> tuple[int, int]:
    """Return the lowest address of the elements of a record, and the one after the highest.

    Parameters
    ----------
    record : dict
        The record.
    element : int
        Size of one element [bytes].
    """
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
    """Return the size of an element, as a record says it [bytes]; that it is wrong is found by it.

    Raises
    ------
    NotApplicable
        It says none.
    """
    try:
        return int(entry(record, "typestr")[2:])
    except (TypeError, ValueError) as error:
        raise NotApplicable(f"typestr is {record['typestr']!r:.200}") from error


def allocation_of(cuda: Cuda, address: int) -> tuple[int, int]:
    """Return where the allocation that an address belongs to begins and ends."""
    start, size = ctypes.c_uint64(), ctypes.c_size_t()
    for place, attribute in ((start, _RANGE_START), (size, _RANGE_SIZE)):
        where = ctypes.addressof(place)
        if cuda.code("cuPointerGetAttribute", where, attribute, address):
            raise NotApplicable(f"the driver knows no allocation at {address:#x}")
    return start.value, start.value + size.value


def is_int(value: object) -> bool:
    """Whether a value is an int, and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def expect_stream(record: Any, what: str) -> None:
    """Raise `Found` unless the stream of a record is one that may be published."""
    stream = record.get("stream")
    legal = stream is None or (is_int(stream) and 0 < stream < 2**64)
    expect(legal, f"{what} publishes stream {stream!r:.100}, due: None, 1, 2 or a handle")


# ---------------------------------------------------------------- for a consumer


class Exporter:
    """An object with a record of any kind.

    Parameters
    ----------
    record : object
        What the attribute gives; a dict is copied each time.
    *then : object
        What it gives at the later readings; the last of them for ever.

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
"""How many float32 elements the memory of a plain record has; number n holds n."""


class Floats:
    """Device memory of numbered float32 elements.

    Parameters
    ----------
    cuda : Cuda
        The driver.
    first : int, default 0
        What element number 0 holds.

    Attributes
    ----------
    address : int
        Of element number 0.
    """

    def __init__(self, cuda: Cuda, first: int = 0) -> None:
        self.address = cuda.memory(COUNT * 4)
        numbers = range(first, first + COUNT)
        cuda.write(self.address, struct.pack(f"={COUNT}f", *numbers))

    def record(self, **changes: Any) -> dict[str, Any]:
        """Return a record of version 3 of the first six elements; ``...`` leaves a key out."""
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
    """Raise `Found` unless a record is taken, and read as it says."""
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
    """Raise `Found` unless a record is refused, at once or when it is read, or read as it says.

    Returns
    -------
    list or None
        What was read; None where it was refused.
    """
    need_plain_records(consumer)
    note(f"taking {what}")
    try:
        found = consumer.values(consumer.take_cai(x))
    except NotApplicable:
        raise
    except Exception:  # noqa: BLE001 - in which way it refuses is not looked at here
        return None

    expect(found == due, f"{what} was read as {found}, due: {due}, or to refuse it")
    return found


def need_plain_records(consumer: ConsumerUnderTest) -> None:
    """Raise `NotApplicable` where not even a plain record is taken: a refusal shows nothing then.

    Parameters
    ----------
    consumer : ConsumerUnderTest
        What takes it.
    """
    memory = Floats(driver())
    try:
        consumer.take_cai(Exporter(memory.record()))
    except NotApplicable:
        raise
    except Exception as error:
        raise NotApplicable(f"it takes no plain record: {error!r:.300}") from error
