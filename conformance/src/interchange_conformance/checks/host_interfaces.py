"""The metadata that arrays export by the buffer protocol and by the array interface.

Source: PEP 3118; Python library reference, struct; NumPy array interface, version 3.
"""

from __future__ import annotations

import struct
import sys
from math import prod
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import BrokenRule, parse_record
from interchange.abi.buffers import buffer_address
from interchange_conformance.findings import Found, NotApplicable, expect
from interchange_conformance.probes.forms import DTYPES, forms_of
from interchange_conformance.probes.under_test import collect
from interchange_conformance.registry import area
from interchange_conformance.zoo.memory import ELEMENTS, c_strides, itemsize

from ._exports import words
from ._records import TYPESTRS, descr_size

if TYPE_CHECKING:
    from interchange.abi import InterfaceRecord
    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

    Ints = tuple[int, ...]

check: Decorator = area("host")

_ATTRIBUTE: Final = "__array_interface__"
_BUFFER: Final = "PEP 3118, The Py_buffer struct"
_INTERFACE: Final = "NumPy array interface, version 3"
_SHAPES: Final[dict[str, Ints]] = {"plain": (2, 3), "line": (6,), "scalar": (), "empty": (2, 0, 3)}
_NATIVE: Final = "<" if sys.byteorder == "little" else ">"
_NETWORK: Final = "!" if sys.byteorder == "big" else _NATIVE

_LETTERS: Final = {
    "bool": ("?",),
    **dict.fromkeys(("int8", "int16", "int32", "int64"), tuple("bhilqn")),
    **dict.fromkeys(("uint8", "uint16", "uint32", "uint64"), tuple("BHILQN")),
    **dict.fromkeys(("float16", "float32", "float64"), tuple("efd")),
    **dict.fromkeys(("complex64", "complex128"), ("Zf", "Zd", "F", "D")),
}
"""Element type -> the formats of its kind; their size determines which of them matches."""
_PAIRS: Final = {"Zf": "2f", "Zd": "2d", "F": "2f", "D": "2d"}
"""Formats of complex numbers -> their components, in formats that every Python supports."""
_ORDERS: Final = frozenset("@=<>!")
_NAMELESS: Final = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
_NUMBERS: Final = frozenset("?bhilqnBHILQNefd")


_buffers: Final[list[memoryview]] = []
"""Owners of the memory of records: referenced, so that it is not freed."""


def _named(*names: str) -> dict[str, str]:
    """Return element types with their names as names of cases."""
    return {name.replace("_", "-"): name for name in names}


# ------------------------------------------------------------------ buffers


def _buffer(x: Any) -> memoryview:
    """Return an array's buffer.

    Raises `NotApplicable`: the array exports none, or refuses.
    """
    try:
        return memoryview(x)
    except Exception as error:
        raise NotApplicable(f"memoryview() of {type(x).__name__} raised {words(error)}") from error


@check("BUF-1", source=f"{_BUFFER}: ndim, shape, len, itemsize", cases=_SHAPES)
def buffers_describe_the_array(producer: ProducerUnderTest, case: Ints) -> None:
    """The buffer has the shape and the element size of the array.

    Fill ndim, shape, itemsize and len from the array; len is the product of shape and itemsize,
    also if strides leave gaps.
    """
    x, form = producer.first_of(forms_of([case], DTYPES))
    found, size = _buffer(x), form.itemsize

    expect(found.shape == case, f"an array of shape {case} has a buffer of shape {found.shape}")
    expect(
        found.itemsize == size, f"{form.dtype} has a buffer of {found.itemsize} bytes per element"
    )
    due = size * prod(case)
    expect(found.nbytes == due, f"the buffer has {found.nbytes} bytes, due was {due}")


@check("BUF-FORMAT-1", source="PEP 3118, Additions to the struct string-syntax",
       cases=_named(*_LETTERS))  # fmt: skip
def formats_name_the_element_type(producer: ProducerUnderTest, case: str) -> None:
    """The format of a buffer is the letter of the element type, in native order.

    Write the letter of a C type of that kind and size, such as 'f'. After '=' or '<' the standard
    sizes apply: 'l' then means 4 bytes, and 'q' means 8. No format means unsigned bytes.
    """
    found = _buffer(producer.make(dtype=case))

    letters = found.format
    size = itemsize(ELEMENTS[case])
    order, rest = (letters[0], letters[1:]) if letters[:1] in _ORDERS else ("@", letters)
    native = order in ("@", "=", _NATIVE, _NETWORK) or found.itemsize == 1
    right = native and rest in _LETTERS[case] and _size(order, rest) == found.itemsize == size
    expect(
        right,
        f"{case} has format {letters!r}, which means {_size(order, rest)} bytes, with "
        f"{found.itemsize} bytes per element",
    )


def _size(order: str, letters: str) -> int | None:
    """Return the size of a format [bytes]: native for '@', else the standard size."""
    try:
        return struct.calcsize(order + _PAIRS.get(letters, letters))
    except struct.error:
        return None


@check("BUF-FORMAT-2", source="PEP 3118: there is no such format", cases=_named(*_NAMELESS))
def elements_without_a_format_are_no_other_numbers(producer: ProducerUnderTest, case: str) -> None:
    """An element type without a format has no buffer, or one of raw bytes.

    Raise BufferError: bfloat16 exported as 'e' or 'H' is read as wrong numbers.
    """
    _buffer(producer.make())  # other arrays export one
    x = producer.make(dtype=case)

    try:
        found = memoryview(x)
    except Exception:  # noqa: BLE001 - it exports none, which is correct
        return
    letters = found.format.lstrip("@=<>!")
    expect(letters not in _NUMBERS, f"{case} has format {found.format!r}, which is another type")


@check("BUF-1", source=f"{_BUFFER}: readonly")
def read_only_arrays_give_read_only_buffers(producer: ProducerUnderTest) -> None:
    """The buffer of a read-only array is read-only.

    Set readonly, and refuse PyBUF_WRITABLE, if the array refuses writes.
    """
    found = _buffer(producer.make(readonly=True))

    expect(found.readonly, "a read-only array has a writable buffer")


@check("BUF-SUBOFFSETS-1", source=f"{_BUFFER}: suboffsets", severity="QUIRK")
def buffers_have_no_suboffsets(producer: ProducerUnderTest) -> None:
    """The buffer of an array has no suboffsets.

    Keep the elements in one block: few libraries support suboffsets.
    """
    found = _buffer(producer.make())

    expect(not found.suboffsets, f"the buffer has suboffsets {found.suboffsets}")


@check("BUF-1", source=f"{_BUFFER}: obj; the exporter stays alive while there are views")
def a_buffer_keeps_the_array(producer: ProducerUnderTest) -> None:
    """The memory stays valid as long as there is a buffer.

    Let the view own a reference to the owner of the memory.
    """
    form = producer.block(2**14)
    x = producer.make(*form)
    found = _buffer(x)
    before = found.tobytes()
    del x
    collect()
    others = [producer.make(*form) for _ in range(4)]
    for other in others:
        _overwrite(other)

    kept = found.tobytes() == before

    expect(kept, "the array was destroyed, and the elements in its buffer changed")


def _overwrite(x: Any) -> None:
    """Write into an array, if its buffer is writable."""
    found = _buffer(x)
    if not found.readonly and found.c_contiguous:
        found.cast("B")[:] = b"\xff" * found.nbytes


# ------------------------------------------------------------------ the array interface


def _record(x: Any) -> InterfaceRecord:
    """Return an array's record after validation of its form.

    Raises `NotApplicable`: the array has none; `Found`: it is malformed.
    """
    try:
        record = getattr(x, _ATTRIBUTE, None)
    except Exception as error:
        raise Found(f"{_ATTRIBUTE} raised {words(error)}, which hasattr() lets through") from error
    if record is None:
        raise NotApplicable(f"{type(x).__name__} has no {_ATTRIBUTE}")
    if not isinstance(record, dict):
        raise Found(f"{_ATTRIBUTE} is {type(record).__name__}, and no dict")
    try:
        return parse_record({**record, "data": _place(x, record)})
    except BrokenRule as broken:
        raise Found(str(broken)) from broken


def _place(x: Any, record: dict[str, Any]) -> Any:
    """Return the address and the read-only flag of a record.

    The interface permits ``data`` to be a tuple of both, an object with a buffer, or missing, which
    means the buffer of the array itself.
    """
    data = record.get("data")
    if isinstance(data, tuple):
        return data
    try:
        found = memoryview(x if data is None else data)
    except TypeError as error:
        raise Found(f"data is {data!r:.100}: no tuple, and nothing with a buffer") from error
    _buffers.append(found)
    return buffer_address(found) + int(record.get("offset", 0)), found.readonly


@check("AI-1", source=_INTERFACE, cases=_SHAPES)
def records_of_host_memory_describe_the_array(producer: ProducerUnderTest, case: Ints) -> None:
    """The record has the array's shape, strides for each axis, an address, and a version.

    Return a dict with shape, typestr and version; data is (address, read-only) or an object with a
    buffer, strides None for C order or a tuple of bytes.
    """
    x = producer.make(case)
    found = _record(x)

    expect(found.shape == case, f"an array of shape {case} has a record of shape {found.shape}")
    expect(found.ptr or 0 in case, "an array with elements has address 0 in its record")


@check("AI-1", source=f"{_INTERFACE}, typestr", cases=_named(*TYPESTRS))
def typestrs_of_host_memory_name_the_element_type(producer: ProducerUnderTest, case: str) -> None:
    """The typestr is that of the element type, in native order.

    Write the order, the kind and the number of bytes, such as '<f4', and '|' for single bytes.
    """
    found = str(_record(producer.make(dtype=case)).typestr)

    due = TYPESTRS[case].replace("<", _NATIVE)
    same = found[1:] == due[1:] and (found[0] == due[0] or due[0] == "|")
    expect(same, f"{case} has typestr {found!r}, due was {due!r}")


@check("AI-1", source=f"{_INTERFACE}, data")
def records_of_read_only_memory_say_so(producer: ProducerUnderTest) -> None:
    """The record of a read-only array has the read-only flag.

    Return (address, True) as data.
    """
    found = _record(producer.make(readonly=True))

    expect(found.readonly, "a read-only array has data=(..., False) in its record")


@check("AI-MASK-1", source=f"{_INTERFACE}, mask: optional", severity="QUIRK")
def arrays_without_a_mask_have_none(producer: ProducerUnderTest) -> None:
    """The record of an array without masked elements has no mask.

    Omit mask: consumers refuse arrays with a mask, or ignore it.
    """
    found = _record(producer.make())

    expect(found.mask is None, f"mask is {found.mask!r:.200}")


@check("AI-DESCR-1", source=f"{_INTERFACE}, descr: the only requirement")
def descr_says_what_typestr_says(producer: ProducerUnderTest) -> None:
    """The descr of an array of plain elements is missing, or has as many bytes as its typestr.

    Omit descr, or return [('', typestr)].
    """
    found = _record(producer.make())

    typestr = str(found.typestr)
    size = None if found.descr is None else descr_size(found.descr)
    same = size is None or size == int(typestr[2:])
    expect(same, f"descr is {found.descr!r:.200}, of {size} bytes, typestr {typestr!r}")


@check("AI-1", source=f"{_INTERFACE}, data and strides; PEP 3118")
def buffer_and_record_agree(producer: ProducerUnderTest) -> None:
    """The buffer and the record of an array describe the same memory.

    Fill both from one place: the address of the first element, and the strides in bytes.
    """
    x = producer.make()
    record, found = _record(x), _buffer(x)
    if not isinstance(getattr(x, _ATTRIBUTE).get("data"), tuple):
        raise NotApplicable("the record contains a buffer, which may be of a copy")

    address = buffer_address(found)
    expect(record.ptr == address, "the record and the buffer have different addresses")
    strides = record.strides
    strides = strides or tuple(found.itemsize * step for step in c_strides(record.shape))
    due = found.strides
    expect(strides == due, f"the record has strides {strides}, the buffer {due}")
    agree = found.readonly or not record.readonly  # a buffer may be stricter
    expect(agree, "the record says that the memory is read-only, and the buffer is writable")
