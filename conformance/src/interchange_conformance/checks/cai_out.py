"""The CUDA Array Interface of a library's arrays: form and correctness of the record.

Source: CUDA Array Interface, version 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange.abi import BrokenRule, parse_typestr
from interchange_conformance.driver.cuda import driver
from interchange_conformance.findings import Found, NotApplicable, expect
from interchange_conformance.registry import area
from interchange_conformance.zoo.memory import c_strides

from ._memory import references_gained
from ._on_devices import exported
from ._records import (
    ATTRIBUTE,
    SPEC,
    TYPESTRS,
    address_in,
    address_of_elements,
    allocation_of,
    descr_size,
    device_array,
    entry,
    is_int,
    record_of,
    size_in,
    span_of,
)

if TYPE_CHECKING:
    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

    Shape = tuple[int, ...]

check: Decorator = area("cai")

_REQUIRED: Final = ("shape", "typestr", "data")
_HASATTR: Final = "Python documentation, hasattr(): AttributeError; known of jax#19134"
_ZERO_MEANS_EMPTY: Final = 2  # since that version
_MUST_BE_DICT: Final = 2  # likewise


# ---------------------------------------------------------------- the host


@check("CAI-ATTR-1", source=_HASATTR, severity="SHOULD")
def hasattr_works_on_arrays_of_the_host(producer: ProducerUnderTest) -> None:
    """Accessing the interface of a host array raises AttributeError, or nothing.

    Raise AttributeError in the property if there is no device memory, and no other error.
    """
    x = producer.make()
    try:
        hasattr(x, ATTRIBUTE)
    except Exception as error:
        raise Found(f"hasattr(x, {ATTRIBUTE!r}) raised {error!r:.300}") from error


@check("CAI-DEV-1", source=f"{SPEC}: the data must be device-accessible")
def arrays_of_the_host_have_no_record(producer: ProducerUnderTest) -> None:
    """An array in memory that no device can access has no record.

    Raise AttributeError in the property: consumers dereference the address on a device.
    """
    x = producer.make()
    try:
        record = getattr(x, ATTRIBUTE, None)
    except Exception as error:
        raise NotApplicable(f"reading it raised {type(error).__name__}") from error

    expect(record is None, f"an array of the host has the record {record!r:.300}")


# ---------------------------------------------------------------- the form of the record


@check("CAI-DICT-1", source=f"{SPEC}: returns a dictionary (dict) that must contain", on="cuda")
def records_are_dicts(producer: ProducerUnderTest) -> None:
    """__cuda_array_interface__ is a dict with 'shape', 'typestr' and 'data'.

    Return a fresh dict from a property.
    """
    record = record_of(device_array(producer))
    expect(isinstance(record, dict), f"the record is {record!r:.300}")
    missing = [key for key in _REQUIRED if key not in record]

    expect(not missing, f"the record lacks {', '.join(missing)}: {record!r:.300}")


SHAPES: Final[dict[str, tuple[int, ...]]] = {
    "plain": (2, 3),
    "scalar": (),
    "one": (1,),
    "deep": (2, 1, 3, 4),
}


@check("CAI-SHAPE-1", source=f"{SPEC}, shape: a tuple of int", cases=SHAPES, on="cuda")
def record_shapes_are_tuples_of_ints(producer: ProducerUnderTest, case: Shape) -> None:
    """The shape of a record is a tuple of ints: the extents of the array.

    Convert what holds your extents: tuple(int(extent) for extent in x.shape).
    """
    shape = entry(record_of(device_array(producer, case)), "shape")
    plain = type(shape) is tuple and all(map(is_int, shape))

    expect(plain and shape == case, f"shape is {shape!r:.200}, due: {case}")


@check("CAI-STRIDES-1", source=f"{SPEC}, strides: the number of bytes", cases=SHAPES, on="cuda")
def record_strides_count_bytes(producer: ProducerUnderTest, case: Shape) -> None:
    """The strides of a record are None, or a tuple of ints that count bytes.

    Multiply strides that count elements by the size of one; leave the key out, or None, for C
    order.
    """
    record = record_of(device_array(producer, case))
    strides = record.get("strides") if isinstance(record, dict) else None
    if strides is None:
        return
    plain = type(strides) is tuple and all(map(is_int, strides))
    expect(plain, f"strides is {strides!r:.200}, due: None or a tuple of ints")
    size = size_in(record)
    apart = [step for step, extent in zip(strides, case, strict=False) if extent > 1]

    words = f"strides {strides} of elements of {size} bytes: elements would overlap"
    expect(all(step % size == 0 and step for step in apart), words)


@check("CAI-STRIDES-2", source=f"{SPEC}, strides: at each dimension", cases=SHAPES, on="cuda")
def record_strides_are_one_per_axis(producer: ProducerUnderTest, case: Shape) -> None:
    """The strides of a record, if it has any, are as many as the extents.

    Give one per axis, also for axes of length 1.
    """
    record = record_of(device_array(producer, case))
    strides = record.get("strides") if isinstance(record, dict) else None
    if strides is not None:
        expect(len(strides) == len(case), f"shape {case}, and strides {strides!r:.200}")


@check("CAI-DATA-1", source=f"{SPEC}, data: a 2-tuple", on="cuda")
def record_data_is_an_address_and_a_flag(producer: ProducerUnderTest) -> None:
    """The data of a record is a tuple of an int and a bool.

    Give the address as an int: int(pointer).
    """
    data = entry(record_of(device_array(producer)), "data")
    expect(isinstance(data, tuple) and len(data) == 2, f"data is {data!r:.200}")
    address, readonly = data

    expect(is_int(address) and 0 <= address < 2**64, f"the address is {address!r:.200}")
    expect(isinstance(readonly, bool), f"the read-only flag is {readonly!r:.200}")


@check("CAI-DATA-1", source=f"{SPEC}, data: the read-only flag", on="cuda")
def records_of_read_only_arrays_say_so(producer: ProducerUnderTest) -> None:
    """The record of a read-only array has the read-only flag.

    Put True second in the data entry.
    """
    data = entry(record_of(device_array(producer, readonly=True)), "data")

    expect(data[1], f"data of a read-only array is {data!r:.200}")


EMPTY: Final[dict[str, tuple[int, ...]]] = {"flat": (0,), "rows": (0, 3), "columns": (2, 0)}


@check("CAI-DATA-2", source=f"{SPEC}, data: zero-size arrays, use 0", cases=EMPTY, on="cuda")
def records_of_empty_arrays_have_address_0(producer: ProducerUnderTest, case: Shape) -> None:
    """The address of an array without elements is 0.

    Write 0 if the size is 0: there is no memory that the driver knows.
    """
    record = record_of(device_array(producer, case))
    version = record.get("version", 0) if isinstance(record, dict) else 0
    if is_int(version) and version < _ZERO_MEANS_EMPTY:
        raise NotApplicable(f"version {version} does not define empty arrays")

    expect(not address_in(record), f"shape {case} is at {address_in(record):#x}, due: 0")


@check("CAI-DATA-2", source=f"{SPEC}, data: the data pointer", on="cuda")
def records_of_elements_have_an_address(producer: ProducerUnderTest) -> None:
    """The address of an array with elements is not 0.

    Publish the address of the first element.
    """
    expect(address_in(record_of(device_array(producer))), "six elements, and the address is 0")


TYPES: Final = {name.replace("_", "-"): name for name in TYPESTRS}


@check("CAI-TYPESTR-1", source="NumPy array interface, typestr", cases=TYPES, on="cuda")
def record_typestrs_name_the_element_type(producer: ProducerUnderTest, case: str) -> None:
    """The typestr of a record is a byte order, a kind and a size: those of the elements.

    Take it from NumPy's dtype.str, or from a table.
    """
    typestr = entry(record_of(device_array(producer, dtype=case)), "typestr")
    try:
        found = parse_typestr(typestr)
    except BrokenRule as error:
        raise Found(str(error)) from error
    due = parse_typestr(TYPESTRS[case])
    agrees = found[1:] == due[1:] and (found.byteorder == due.byteorder or found.size == 1)

    expect(agrees, f"typestr of {case} is {typestr!r}, due: {TYPESTRS[case]!r}")


NAMELESS: Final = {
    "bfloat16": "bfloat16",
    "float8-e4m3fn": "float8_e4m3fn",
    "float8-e5m2": "float8_e5m2",
}


@check(
    "CAI-TYPESTR-2",
    source="NumPy array interface, typestr: the basic type; known of pytorch#129621",
    cases=NAMELESS,
    on="cuda",
)
def nameless_element_types_are_not_called_another(producer: ProducerUnderTest, case: str) -> None:
    """An element type without a typestr is not published under that of another type.

    Raise AttributeError, or write '<V2' or '|V1': a bfloat16 that is published as '<f2' is read as
    a wrong number.
    """
    device_array(producer)  # it has the interface
    record = getattr(producer.make(dtype=case, device="cuda"), ATTRIBUTE, None)
    if record is None:
        return
    typestr = entry(record, "typestr")
    try:
        kind = parse_typestr(typestr).kind
    except BrokenRule as error:
        raise NotApplicable(f"typestr is {typestr!r:.100}") from error

    expect(kind == "V", f"typestr of {case} is {typestr!r}, due: none, or one of kind V")


@check("CAI-VER-1", source=f"{SPEC}, version: an integer", on="cuda")
def records_say_their_version(producer: ProducerUnderTest) -> None:
    """The version of a record is an int; 3 is the current one.

    Add 'version': 3.
    """
    record = record_of(device_array(producer))
    if not isinstance(record, dict):
        raise NotApplicable("the record is no dict")
    version = record.get("version")

    legal = isinstance(version, int) and is_int(version) and version >= 0
    expect(legal, f"version is {version!r:.100}, due: 0 to 3")


@check("CAI-MASK-2", source=f"{SPEC}, mask: None or object exposing", on="cuda")
def record_masks_are_records(producer: ProducerUnderTest) -> None:
    """The mask of a record, if it has one, is an object with the interface.

    Omit the key if all elements are valid.
    """
    mask = record_of(device_array(producer)).get("mask")
    if mask is not None:
        expect(hasattr(mask, ATTRIBUTE), f"mask is {mask!r:.200}, which has no {ATTRIBUTE}")


@check("CAI-DESCR-1", source="NumPy array interface, descr: the only requirement", on="cuda")
def record_descrs_agree_with_the_typestr(producer: ProducerUnderTest) -> None:
    """The descr of a record of plain elements, if it has one, has as many bytes as the typestr.

    Leave the key out, or write [('', typestr)].
    """
    record = record_of(device_array(producer))
    descr = record.get("descr")
    if descr is None:
        return
    typestr = entry(record, "typestr")
    agrees = descr_size(descr) == int(typestr[2:])

    expect(agrees, f"typestr is {typestr!r}, and descr is {descr!r:.200}")


# ---------------------------------------------------------------- correctness


@check("CAI-DATA-3", source=f"{SPEC}, data: must be device-accessible", on="cuda")
def recorded_addresses_are_known_to_the_driver(producer: ProducerUnderTest) -> None:
    """The address in a record is known to the driver.

    Publish the device pointer, not the address of the object or of a host copy.
    """
    x = device_array(producer)
    address = address_of_elements(record_of(x))
    kind, _ = driver().kind(address)
    del x

    expect(kind != "host", f"the driver knows no memory at {address:#x}")


@check("CAI-DATA-4", source="CUDA driver API, CU_POINTER_ATTRIBUTE_RANGE_SIZE", on="cuda")
def recorded_elements_are_in_their_allocation(producer: ProducerUnderTest) -> None:
    """The elements that a record describes lie within one allocation.

    Publish the address of the first element, with the strides in bytes that belong to it.
    """
    x = device_array(producer, (16, 32))
    record = record_of(x)
    start, end = allocation_of(driver(), address_of_elements(record))
    del x
    low, high = span_of(record, size_in(record))

    where = f"the elements are at {low:#x} to {high:#x}, the allocation at {start:#x} to {end:#x}"
    expect(start <= low <= high <= end, where)


@check("CAI-DATA-5", source="interchange", severity="SHOULD", on="cuda")
def records_are_the_same_when_read_again(producer: ProducerUnderTest) -> None:
    """The record of an unchanged array is the same each time.

    Make the record from the array's own fields; only its stream may differ.
    """
    x = device_array(producer)
    first, again = dict(record_of(x)), dict(record_of(x))
    keys = ("shape", "strides", "typestr", "data")
    differs = [key for key in keys if first.get(key) != again.get(key)]

    expect(not differs, f"{', '.join(differs)} changed: {first!r:.300}, then {again!r:.300}")


@check(
    "CAI-DATA-5",
    source="array API standard 2025.12, __dlpack__; CUDA Array Interface 3, data",
    cases={"writable": False, "read-only": True},
    on="cuda",
)
def records_agree_with_capsules(producer: ProducerUnderTest, case: bool) -> None:
    """The record of an array describes the memory that its __dlpack__ does.

    Let one description serve both: address, shape and read-only flag, strides times the size of an
    element, and the device that the driver says the address is on.
    """
    x = device_array(producer, (4, 6), readonly=case)
    record = record_of(x)
    opened = exported(producer, x)
    if opened.copied:
        raise NotApplicable("the capsule is one of a copy")
    address = address_of_elements(record)
    shape = tuple(entry(record, "shape"))
    said = (address, shape, _steps(record.get("strides"), shape, size_in(record)))
    strides = opened.strides and [step * opened.itemsize for step in opened.strides]
    steps = _steps(strides, opened.shape or (), opened.itemsize)
    due = (opened.first, opened.shape, steps)
    kind, device = driver().kind(address)

    expect(said == due, f"address, shape and byte strides are {said}, those of the capsule {due}")
    if kind == "cuda":
        expect(device == opened.device[1], f"on device {device}, the capsule says {opened.device}")
    flag = bool(entry(record, "data")[1])
    if opened.versioned:
        expect(flag == opened.readonly, f"read-only is {flag}, the capsule says {opened.readonly}")


def _steps(strides: Any, shape: Shape, size: int) -> list[int]:
    """Return byte strides, without those of axes of length 1, which have no meaning."""
    if strides is None:
        strides = [step * size for step in c_strides(shape)]
    return [step for step, extent in zip(strides, shape, strict=False) if extent > 1]


@check("CAI-LIFE-1", source="CUDA Array Interface 3, Lifetime management", on="cuda")
def records_own_nothing(producer: ProducerUnderTest) -> None:
    """Reading the record has no effect on the lifetime of the array.

    Put only numbers into the dict, and take no reference: producers are not notified when a
    consumer is done.
    """
    x = device_array(producer)
    more = references_gained(x, lambda: record_of(x))

    expect(not more, f"the record was read three times, and the array has {more} more references")
