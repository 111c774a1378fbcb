"""Consumers of buffers, and of objects with the array interface.

Source: PEP 3118; NumPy array interface, version 3.
"""

from __future__ import annotations

import array
import ctypes
import struct
import sys
import weakref
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import NotApplicable, expect, note
from interchange_conformance.probes.importing import eventually, release_caches
from interchange_conformance.registry import area
from interchange_conformance.zoo.hosts import Interfaced, kept, view

from ._exports import words

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.probes.under_test import ConsumerUnderTest
    from interchange_conformance.registry import Decorator

    Make = Callable[[], Any]

check: Decorator = area("host")

_BUFFER: Final = "PEP 3118, The Py_buffer struct"
_INTERFACE: Final = "NumPy array interface, version 3"
_NUMBERS: Final = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
_FLOATS: Final = struct.pack("=6f", *_NUMBERS)
_NATIVE, _FOREIGN = ("<", ">") if sys.byteorder == "little" else (">", "<")
"""The byte order of this machine, and the other one."""


def _take(consumer: ConsumerUnderTest, by: str, x: Any) -> Any:
    """Return a consumer's object for another object, or the error of its refusal."""
    take = getattr(consumer.subject, by)
    if take is None:
        raise NotApplicable(f"the subject describes no {by}()")
    try:
        return take(x)
    except NotApplicable:
        raise
    except Exception as error:  # noqa: BLE001 - any exception is a refusal
        return error


def _take_odd(consumer: ConsumerUnderTest, by: str, x: Any) -> Any:
    """Return the result of `_take`, for a consumer that imports a plain object by that function.

    Raises `NotApplicable`: it imports none: its refusals do not depend on the unusual property.
    """
    plain = _PLAIN.values() if by == "take_buffer" else (_record,)
    refusal = None
    for make in plain:  # until one is imported: the consumer may not support the others
        refusal = _take(consumer, by, make())
        if not isinstance(refusal, Exception):
            return _take(consumer, by, x)
    raise NotApplicable(f"{by}() refuses what is plain: {_refusal(refusal)}")


def _expect_read(consumer: ConsumerUnderTest, by: str, y: Any) -> None:
    """Raise an error unless an imported object is read as the plain numbers."""
    found, due = consumer.values(y), list(_NUMBERS)
    expect(found == due, f"{by}() gave {found!s:.200}, due was {due}")


def _refusal(y: Any) -> str:
    """Return a refusal as text."""
    return words(y) if isinstance(y, BaseException) else type(y).__name__


def _expect_right_or_refused(
    consumer: ConsumerUnderTest, by: str, x: Any, due: list[Any], what: str
) -> None:
    """Raise an error if an object is misread."""
    note(f"{by}() of {what}")
    y = _take_odd(consumer, by, x)
    if isinstance(y, Exception):
        return
    try:
        found = consumer.values(y)
    except NotApplicable:
        raise
    except Exception:  # noqa: BLE001 - a refusal to read
        return
    expect(_flat(found) == due, f"{by}() of {what} gave {found!s:.200}, due was {due}")


def _flat(value: Any) -> list[Any]:
    """Return the numbers in nested lists, tuples or records."""
    if isinstance(value, (list, tuple)):
        return [number for part in value for number in _flat(part)]
    return _flat(value.tolist()) if hasattr(value, "tolist") else [value]


# ------------------------------------------------------------------ buffers


_PLAIN: Final[dict[str, Make]] = {
    "two-axes": lambda: memoryview(bytearray(_FLOATS)).cast("f", (2, 3)),
    "one-axis": lambda: memoryview(bytearray(_FLOATS)).cast("f"),
    "array": lambda: array.array("f", _NUMBERS),
    "ctypes": lambda: (ctypes.c_float * 6)(*_NUMBERS),  # strides are NULL, requested or not
}


@check("BUF-1", source=_BUFFER)
def plain_buffers_are_taken(consumer: ConsumerUnderTest) -> None:
    """A contiguous float32 buffer of some kind is imported and read correctly.

    Request PyBUF_FULL_RO, and check the result.
    """
    refusals = []
    for name, make in _PLAIN.items():
        note(f"take_buffer() of {name}")
        y = _take(consumer, "take_buffer", make())
        if not isinstance(y, Exception):
            _expect_read(consumer, "take_buffer", y)
            return
        refusals.append(f"{name}: {_refusal(y)}")
    expect(not refusals, f"take_buffer() refused every one: {'; '.join(refusals)}")


@check("BUF-1", source=_BUFFER, severity="SHOULD", cases=_PLAIN)
def every_plain_buffer_is_taken(consumer: ConsumerUnderTest, case: Make) -> None:
    """A contiguous float32 buffer of any object and number of axes is imported.

    Import any object that exports a buffer: request the buffer, and do not check the type.
    """
    y = _take_odd(consumer, "take_buffer", case())
    expect(not isinstance(y, Exception), f"take_buffer() refused it with {_refusal(y)}")
    _expect_read(consumer, "take_buffer", y)


def _letters(letters: str, *numbers: Any) -> tuple[Make, list[Any]]:
    """Return a function that makes a buffer of some format, and its expected elements."""
    data, size = struct.pack(f"{len(numbers)}{letters}", *numbers), struct.calcsize(letters)
    return (lambda: view(kept(data), (len(numbers),), (size,), letters, size)), list(numbers)


_LAYOUTS: Final[dict[str, tuple[Make, list[Any]]]] = {
    "every-other": (lambda: memoryview(bytearray(_FLOATS)).cast("f")[::2], [0.0, 2.0, 4.0]),
    "backwards": (lambda: memoryview(bytearray(_FLOATS)).cast("f")[::-1], list(_NUMBERS[::-1])),
    "no-elements": (lambda: memoryview(bytearray()).cast("f"), []),
    "by-columns": (lambda: view(kept(_FLOATS), (3, 2), (4, 12), "f", 4),
                   [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]),
    "broadcast": (lambda: view(kept(_FLOATS), (2, 3), (0, 4), "f", 4), [0.0, 1.0, 2.0] * 2),
    "bools": _letters("?", *map(bool, (1, 0, 1))),
    "signed-bytes": _letters("b", -128, 0, 127),
    "unsigned-bytes": _letters("B", 0, 128, 255),
    "shorts": _letters("h", -32768, 0, 32767),
    "longs": _letters("l", -(2**31), 0, 2**31 - 1),
    "unsigned-long-longs": _letters("Q", 0, 1, 2**64 - 1),
    "doubles": _letters("d", 0.0, -1.5, 2.0**1000),
    "sizes": _letters("n", -1, 0, 1),
}  # fmt: skip


@check("BUF-1", source=f"{_BUFFER}: shape, strides, format", cases=_LAYOUTS)
def buffers_are_read_as_they_say(consumer: ConsumerUnderTest, case: tuple[Make, list[Any]]) -> None:
    """A buffer of any strides and format is read correctly, or refused.

    Strides count bytes, and may be negative or zero; buf is the first element, not the lowest. A
    letter without '=' is a native C type.
    """
    make, due = case
    x = make()
    said = memoryview(x)
    words = f"a buffer of format {said.format!r}, shape {said.shape}, strides {said.strides}"
    _expect_right_or_refused(consumer, "take_buffer", x, due, words)


@check("BUF-SUBOFFSETS-1", source=f"{_BUFFER}: suboffsets")
def rows_that_lie_apart_are_not_read_as_one_block(consumer: ConsumerUnderTest) -> None:
    """A buffer with suboffsets is read correctly, or refused.

    Request it without PyBUF_INDIRECT, so that the exporter refuses, or follow the pointers: buf
    then points to addresses, not to elements.
    """
    rows = [kept(_FLOATS[:12]), kept(_FLOATS[12:])]
    pointers = kept(struct.pack("2P", *rows))
    x = view(pointers, (2, 3), (8, 4), "f", 4, suboffsets=(0, -1))

    _expect_right_or_refused(consumer, "take_buffer", x, list(_NUMBERS), "a buffer with suboffsets")


class _Pair(ctypes.Structure):
    """A structured element."""

    _fields_ = (("a", ctypes.c_int32), ("b", ctypes.c_float))


_PAIRS: Final = [1, 0.5, 2, 1.5, 3, 2.5]
_SWAPPED: Final = struct.pack(f"{_FOREIGN}6f", *_NUMBERS)
_FORMATS: Final[dict[str, tuple[Make, list[Any]]]] = {
    "foreign-floats": (
        lambda: view(kept(_SWAPPED), (6,), (4,), f"{_FOREIGN}f", 4), list(_NUMBERS)
    ),
    "foreign-shorts": (
        lambda: view(kept(struct.pack(f"{_FOREIGN}3h", 1, 2, 3)), (3,), (2,), f"{_FOREIGN}h", 2),
        [1, 2, 3],
    ),
    "network-ints": (
        lambda: view(kept(struct.pack("!3i", 1, 2, 3)), (3,), (4,), "!i", 4), [1, 2, 3]
    ),
    "structured": (lambda: (_Pair * 3)(_Pair(1, 0.5), _Pair(2, 1.5), _Pair(3, 2.5)), _PAIRS),
    "repeated": (lambda: view(kept(_FLOATS), (3,), (8,), "2f", 8), list(_NUMBERS)),
    "padded": (lambda: view(kept(_FLOATS), (3,), (8,), "f4x", 8), [0.0, 2.0, 4.0]),
}  # fmt: skip


@check("BUF-FORMAT-1", source="PEP 3118, Additions to the struct string-syntax", cases=_FORMATS)
def formats_of_other_elements_are_not_read_as_plain(
    consumer: ConsumerUnderTest, case: tuple[Make, list[Any]]
) -> None:
    """A buffer whose elements are not native numbers is read correctly, or refused.

    Parse the whole format: the byte order, the count, and the rest. Refuse unsupported element
    types.
    """
    make, due = case
    x = make()
    letters = memoryview(x).format
    _expect_right_or_refused(consumer, "take_buffer", x, due, f"a buffer of format {letters!r}")


@check(
    "DLP-STRIDES-3",
    source=f"{_BUFFER}: strides",
    cases={"buffer": "take_buffer", "record": "take_array_interface"},
)
def steps_between_elements_are_not_rounded(consumer: ConsumerUnderTest, case: str) -> None:
    """Strides that are not multiples of the element size are kept, or the array is refused.

    Check the remainder when you divide bytes by the element size: rounded strides read other
    elements.
    """
    data = struct.pack("=ihihi", 1, -1, 2, -1, 3)
    address = kept(data)
    x: Any = view(address, (3,), (6,), "i", 4)
    if case == "take_array_interface":
        x = Interfaced(
            shape=(3,), typestr=f"{_NATIVE}i4", data=(address, False), strides=(6,), version=3
        )
    _expect_right_or_refused(consumer, case, x, [1, 2, 3], "4-byte elements 6 bytes apart")


@check("BUF-1", source=f"{_BUFFER}; PyBuffer_Release")
def the_buffer_is_held_as_long_as_the_array(consumer: ConsumerUnderTest) -> None:
    """The buffer is held as long as an array uses its memory, and then released.

    Keep the Py_buffer, or a memoryview, with the array: the exporter may move or free its memory
    once the buffer is released.
    """
    owner = bytearray(_FLOATS)
    y = _take(consumer, "take_buffer", memoryview(owner).cast("f"))
    if isinstance(y, Exception):
        raise NotApplicable(f"a plain buffer was refused: {words(y)}")
    release_caches(consumer)

    struct.pack_into("=f", owner, 0, 77.0)
    shares = consumer.values(y)[0] == 77.0
    held = not _is_movable(owner)
    expect(held or not shares, "the array is on the memory of a bytearray, and holds it not")

    del y
    released = eventually(consumer, lambda: _is_movable(owner))
    expect(released, "the array was destroyed, and its buffer is still held")


def _is_movable(owner: bytearray) -> bool:
    """Return whether no buffer of a bytearray is exported; its contents do not change."""
    try:
        owner.append(0)
    except BufferError:
        return False
    owner.pop()
    return True


@check("DLP-RO-3", source=f"{_BUFFER}: readonly; NumPy array interface, data",
       cases={"buffer": "take_buffer", "record": "take_array_interface"})  # fmt: skip
def memory_of_others_that_is_read_only_is_not_written(
    consumer: ConsumerUnderTest, case: str
) -> None:
    """Writing to an array on a read-only buffer or record is refused, or changes a copy.

    Keep the flag in your array, or copy. Python's bytes objects are such memory, and are shared.
    """
    write = consumer.subject.write
    if write is None:
        raise NotApplicable("the subject describes no write()")
    address = kept(_FLOATS)
    x: Any = view(address, (6,), (4,), "f", 4, readonly=True)
    if case == "take_array_interface":
        x = _record(data=(address, True))
    y = _take_odd(consumer, case, x)
    if isinstance(y, Exception):
        return

    try:
        write(y)
    except Exception:  # noqa: BLE001 - a refusal
        return

    kept_as_it_was = ctypes.string_at(address, len(_FLOATS)) == _FLOATS
    expect(kept_as_it_was, f"{case}(): the first element of read-only memory was written")


# ------------------------------------------------------------------ the array interface


def _record(*without: str, **entries: Any) -> Interfaced:
    """Return an object with a record of two rows of three float32."""
    record = {
        "shape": (2, 3),
        "typestr": f"{_NATIVE}f4",
        "data": (kept(_FLOATS), False),
        "version": 3,
        **entries,
    }
    return Interfaced(**{key: value for key, value in record.items() if key not in without})


@check("AI-1", source=_INTERFACE, severity="SHOULD")
def plain_records_of_host_memory_are_taken(consumer: ConsumerUnderTest) -> None:
    """An object with a contiguous float32 record is imported and read correctly.

    Read shape, typestr and data; strides are None or missing for C order.
    """
    y = _take(consumer, "take_array_interface", _record())
    expect(not isinstance(y, Exception), f"take_array_interface() refused it with {_refusal(y)}")
    _expect_read(consumer, "take_array_interface", y)


_RECORDS: Final[dict[str, tuple[dict[str, Any], list[Any]]]] = {
    "strides-none": ({"strides": None}, list(_NUMBERS)),
    "by-columns": ({"shape": (3, 2), "strides": (4, 12)}, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]),
    "broadcast": ({"strides": (0, 4)}, [0.0, 1.0, 2.0] * 2),
    "scalar": ({"shape": ()}, [0.0]),
    "no-elements": ({"shape": (0, 3)}, []),
    "no-elements-and-no-address": ({"shape": (0, 3), "data": (0, False)}, []),
    "unknown-key": ({"gravity": 9.8}, list(_NUMBERS)),
    "newer-version": ({"version": 4}, list(_NUMBERS)),
    "bytes": ({"typestr": "|u1", "shape": (4,)}, list(_FLOATS[:4])),
    "in-a-buffer": ({"data": bytearray(_FLOATS)}, list(_NUMBERS)),
    "in-a-buffer-with-offset": ({"data": bytearray(bytes(8) + _FLOATS), "offset": 8},
                                list(_NUMBERS)),
}  # fmt: skip


@check("AI-1", source=_INTERFACE, cases=_RECORDS)
def records_of_host_memory_are_read_as_they_say(
    consumer: ConsumerUnderTest, case: tuple[dict[str, Any], list[Any]]
) -> None:
    """A record of any layout is read correctly, or refused.

    Strides count bytes. data may be an object with a buffer, to which offset is added. Ignore
    unknown keys, and versions newer than 3.
    """
    entries, due = case
    words = ", ".join(f"{key}={value!r:.60}" for key, value in entries.items())
    x = _record(**entries)
    _expect_right_or_refused(consumer, "take_array_interface", x, due, f"a record with {words}")


_WRONG: Final[dict[str, tuple[tuple[str, ...], dict[str, Any]]]] = {
    "no-shape": (("shape",), {}),
    "no-typestr": (("typestr",), {}),
    "typestr-of-no-kind": ((), {"typestr": "<q4"}),
    "negative-extent": ((), {"shape": (2, -3)}),
    "shape-a-number": ((), {"shape": 6}),
    "strides-of-fewer-axes": ((), {"strides": (4,)}),
    "address-of-text": ((), {"data": ("4096", False)}),
    "no-address": ((), {"data": (0, False)}),
}


@check("AI-1", source=_INTERFACE, severity="SHOULD", cases=_WRONG)
def malformed_records_of_host_memory_are_refused(
    consumer: ConsumerUnderTest, case: tuple[tuple[str, ...], dict[str, Any]]
) -> None:
    """A record with a missing or malformed entry is refused.

    Check each entry before you use it: the result is an address that you dereference.
    """
    without, entries = case
    y = _take_odd(consumer, "take_array_interface", _record(*without, **entries))

    expect(isinstance(y, Exception), f"it was taken, as {type(y).__name__}")


@check("AI-MASK-1", source=f"{_INTERFACE}, mask", severity="SHOULD")
def masks_are_not_dropped(consumer: ConsumerUnderTest) -> None:
    """A record with a mask is refused, or its masked elements are not read.

    Refuse a mask that is not None, unless you have masked arrays.
    """
    bits = kept(bytes([1, 0, 1, 1, 0, 1]))
    mask = _record(typestr="|b1", data=(bits, False))
    y = _take_odd(consumer, "take_array_interface", _record(mask=mask))
    if isinstance(y, Exception):
        return

    found = consumer.values(y)

    expect(found != list(_NUMBERS), f"the mask was ignored: {found!s:.100} was read")


@check("AI-DESCR-1", source=f"{_INTERFACE}, descr")
def structured_records_are_not_read_as_plain(consumer: ConsumerUnderTest) -> None:
    """A record of structured elements is read correctly, or refused.

    Check descr, and refuse more than one field unless you have structured arrays.
    """
    fields = [("a", f"{_NATIVE}i4"), ("b", f"{_NATIVE}f4")]
    data = kept(struct.pack("=ififif", *_PAIRS))
    x = _record(shape=(3,), typestr="|V8", descr=fields, data=(data, False))
    due = [float(number) for number in _PAIRS]

    _expect_right_or_refused(consumer, "take_array_interface", x, due, "pairs of int and float")


@check("DLP-DTYPE-3", source=f"{_INTERFACE}, typestr: byte order")
def records_of_another_byte_order_are_not_read_as_native(consumer: ConsumerUnderTest) -> None:
    """A record of numbers in foreign byte order is read correctly, or refused.

    Check the first character of typestr.
    """
    x = _record(typestr=f"{_FOREIGN}f4", data=(kept(_SWAPPED), False))

    _expect_right_or_refused(
        consumer, "take_array_interface", x, list(_NUMBERS), f"typestr '{_FOREIGN}f4'"
    )


@check("CAI-LIFE-1", source=f"{_INTERFACE}: the consumer keeps a reference to the object")
def objects_with_a_record_are_held(consumer: ConsumerUnderTest) -> None:
    """The producer of the record is held as long as an array uses its memory.

    Keep a reference to it with the array: the record owns no memory.
    """
    address = kept(_FLOATS)
    x = _record(data=(address, False))
    alive = weakref.ref(x)
    y = _take(consumer, "take_array_interface", x)
    if isinstance(y, Exception):
        raise NotApplicable(f"a plain record was refused: {words(y)}")
    del x
    release_caches(consumer)

    if alive() is None:
        ctypes.memmove(address, struct.pack("=f", 77.0), 4)
        expect(
            consumer.values(y)[0] != 77.0,
            "the object is gone, and the array is on its memory",
        )
