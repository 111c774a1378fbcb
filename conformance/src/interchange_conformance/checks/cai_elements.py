"""Elements of imported records: element types, byte orders, structures, masks.

Source: CUDA Array Interface, versions 0 to 3; NumPy array interface (typestr, descr, mask).  A
library may refuse an unknown element type, but must not misread it.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import driver
from interchange_conformance.findings import NotApplicable, expect, note
from interchange_conformance.registry import area

from ._records import (
    SPEC,
    Exporter,
    Floats,
    expect_values_or_refusal,
    need_plain_records,
    values_or_refusal,
)

if TYPE_CHECKING:
    from interchange_conformance.probes.under_test import ConsumerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("cai")

_PLAIN: Final = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


ELEMENTS: Final[dict[str, tuple[str, str, tuple[float, float]]]] = {
    "bool": ("|b1", "=2?", (True, False)),
    "int8": ("|i1", "=2b", (-1, 2)),
    "int16": ("<i2", "<2h", (-300, 2)),
    "int32": ("<i4", "<2i", (-70000, 2)),
    "int64": ("<i8", "<2q", (-(2**40), 2)),
    "uint8": ("|u1", "=2B", (255, 2)),
    "uint16": ("<u2", "<2H", (65535, 2)),
    "uint32": ("<u4", "<2I", (2**32 - 1, 2)),
    "uint64": ("<u8", "<2Q", (2**63, 2)),
    "float16": ("<f2", "<2e", (1.5, -2.0)),
    "float64": ("<f8", "<2d", (1.5, -2.0)),
}
"""Name -> type string, format, and the numbers in memory."""


@check("CAI-TYPESTR-1", source="NumPy array interface, typestr", cases=ELEMENTS, on="cuda")
def elements_are_read_as_the_typestr_says(
    consumer: ConsumerUnderTest, case: tuple[Any, ...]
) -> None:
    """Elements are read as the type in the typestr, or the record is refused.

    Read kind and size; raise BufferError for unsupported types.
    """
    _expect_elements(consumer, *case)


COMPLEX: Final = {
    "complex64": ("<c8", "<4f", (1 + 2j, -3j)),
    "complex128": ("<c16", "<4d", (1 + 2j, -3j)),
}


@check("CAI-TYPESTR-1", source="NumPy array interface, typestr", cases=COMPLEX, on="cuda")
def complex_elements_are_pairs(consumer: ConsumerUnderTest, case: tuple[Any, ...]) -> None:
    """The size in the typestr of a complex type is that of both parts.

    Read '<c8' as two float32.
    """
    _expect_elements(consumer, *case)


FOREIGN: Final[dict[str, tuple[str, str, tuple[complex, complex]]]] = {
    "int16": (">i2", ">2h", (1, 2)),
    "float32": (">f4", ">2f", (1.5, -2.0)),
    "complex64": (">c8", ">4f", (1 + 2j, -3j)),
}


@check("DLP-DTYPE-3", source="NumPy array interface, typestr", cases=FOREIGN, on="cuda")
def foreign_byte_order_is_not_read_as_native(
    consumer: ConsumerUnderTest, case: tuple[Any, ...]
) -> None:
    """Big-endian elements are read as such, or the record is refused.

    Check the first character of the typestr; raise BufferError for '>'.
    """
    _expect_elements(consumer, *case)


def _expect_elements(
    consumer: ConsumerUnderTest, typestr: str, layout: str, numbers: tuple[Any, ...]
) -> None:
    """Raise `Found` unless two elements are read according to their typestr, or refused."""
    cuda = driver()
    address = cuda.memory(64)
    parts = [part for n in numbers for part in ((n.real, n.imag) if type(n) is complex else (n,))]
    cuda.write(address, struct.pack(layout, *parts))
    record = Floats(cuda).record(shape=(2,), typestr=typestr, data=(address, False))

    what = f"elements of typestr {typestr!r}"
    found = expect_values_or_refusal(consumer, Exporter(record), list(numbers), what)
    if found is not None and type(numbers[0]) is bool:
        are_bools = all(str(one) in {"True", "False"} for one in found)  # NumPy has a separate type
        expect(are_bools, f"{what} were read as {found!r:.200}, which are no truth values")


AMBIGUOUS: Final = {"V2": "<V2", "V1": "|V1", "f1": "<f1"}


@check(
    "CAI-TYPESTR-2",
    source="NumPy array interface, typestr: V is other; known of pytorch#143042",
    cases=AMBIGUOUS,
    on="cuda",
)
def ambiguous_elements_are_not_read_as_numbers(consumer: ConsumerUnderTest, case: str) -> None:
    """Elements with an ambiguous typestr are imported as raw bytes, or refused.

    '<V2' stands for bfloat16, and for any other type of two bytes: let the caller name the type.
    """
    record = Floats(driver()).record(shape=(2,), typestr=case)
    _expect_no_numbers(consumer, record, f"elements of typestr {case!r}")


@check("CAI-DESCR-1", source=f"{SPEC}, descr", on="cuda")
def structures_are_not_read_as_numbers(consumer: ConsumerUnderTest) -> None:
    """Structured elements are imported as structures, or refused.

    Check descr if the kind of the typestr is V.
    """
    fields = [("weight", "<f4"), ("count", "<i4")]
    record = Floats(driver()).record(shape=(2,), typestr="|V8", descr=fields)
    _expect_no_numbers(consumer, record, f"elements of fields {fields}")


def _expect_no_numbers(consumer: ConsumerUnderTest, record: dict[str, Any], what: str) -> None:
    """Raise `Found` if elements that are not numbers are read as numbers."""
    found = values_or_refusal(consumer, Exporter(record), what) or []
    numbers = [one for one in found if isinstance(one, (int, float, complex))]

    expect(not numbers, f"{what} were read as the numbers {numbers[:4]}")


# ---------------------------------------------------------------- masks


@check("CAI-MASK-1", source=f"{SPEC}, mask", on="cuda")
def masks_are_not_ignored(consumer: ConsumerUnderTest) -> None:
    """A record with a mask is refused, or its masked elements are not read as valid ones.

    Raise if mask is not None, unless you have masked arrays.
    """
    cuda = driver()
    bits = cuda.memory(6)
    cuda.write(bits, bytes([1, 0, 1, 0, 1, 0]))
    memory = Floats(cuda)
    mask = Exporter(memory.record(typestr="|b1", data=(bits, False)))
    _expect_not_plain(consumer, memory.record(mask=mask), "a record with a mask")


WRONG_MASKS: Final[dict[str, object]] = {
    "no-interface": object(),
    "number": 1,
    "list": [True, False],
}


@check("CAI-MASK-2", source=f"{SPEC}, mask", cases=WRONG_MASKS, on="cuda")
def what_is_no_mask_is_refused(consumer: ConsumerUnderTest, case: Any) -> None:
    """A record whose mask has no CUDA Array Interface is refused.

    Read the mask's own record, or refuse all masks.
    """
    record = Floats(driver()).record(mask=case)
    _expect_not_plain(consumer, record, f"a record whose mask is {case!r:.60}")


@check("CAI-MASK-2", source="NumPy array interface, mask", on="cuda")
def masks_of_another_shape_are_refused(consumer: ConsumerUnderTest) -> None:
    """A record whose mask does not broadcast to the shape of the data is refused.

    Compare the shapes, or refuse all masks.
    """
    cuda = driver()
    memory = Floats(cuda)
    mask = Exporter(memory.record(shape=(5,), typestr="|b1", data=(cuda.memory(5), False)))
    _expect_not_plain(consumer, memory.record(mask=mask), "a record with a mask of shape (5,)")


def _expect_not_plain(consumer: ConsumerUnderTest, record: dict[str, Any], what: str) -> None:
    """Raise `Found` if a record is imported as one of six valid elements."""
    need_plain_records(consumer)
    note(f"taking {what}")
    try:
        y = consumer.take_cai(Exporter(record))
    except NotApplicable:
        raise
    except Exception:  # noqa: BLE001 - a refusal is correct
        return
    found = consumer.values(y)

    expect(found != _PLAIN, f"{what} was read as the six elements {found}")
