"""The elements of a capsule are those of the array, as far as other sources show.

Source: dlpack.h 1.3, DLTensor.  If arrays cannot be indexed, no view shows a wrong address:
capsules of both generations are compared with each other, with the numbers from which an array was
made, and with the elements that the library itself reads.
"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import NotApplicable, expect, note
from interchange_conformance.probes.forms import NUMERIC, SIX, forms_of
from interchange_conformance.probes.under_test import ConsumerUnderTest
from interchange_conformance.registry import area
from interchange_conformance.zoo import ELEMENTS, host

from ._exports import (
    GENERATIONS,
    answer,
    asking,
    bytes_of,
    holding,
    in_each,
    made_from,
    opened,
    repeated,
    require_host,
    some_array,
    told,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interchange_conformance.probes.forms import Form
    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("capsule")

_WHERE: Final = "dlpack.h 1.3, DLTensor.data and byte_offset"
_NUMBERS: Final = [3, 1, 4, 15, 92, 65]
_MOST: Final = 2**14  # limit of elements that are compared one by one


def _forms(producer: ProducerUnderTest) -> Iterator[Form]:
    """Yield forms of arrays that can hold the numbers."""
    yield from forms_of(SIX, NUMERIC)
    if math.prod(producer.plain.shape) <= _MOST:
        yield from forms_of([producer.plain.shape], NUMERIC)


@check("DLP-DATA-2", source=_WHERE)
def both_generations_lead_to_the_same_elements(producer: ProducerUnderTest) -> None:
    """The legacy and the versioned capsule of an array describe the same elements.

    Fill both structs from one place: the address of the first element, or its base and offset.
    """
    x, elements, _ = holding(producer, _NUMBERS, _forms(producer))
    for generation in GENERATIONS:
        found = require_host(opened(producer, x, generation))
        note(f"reading the elements of a {generation} capsule")
        _expect_elements(found, elements, f"a {generation} capsule, after the array was filled")


@check("DLP-DATA-2", source=_WHERE, cases=GENERATIONS)
def exported_elements_are_those_it_was_made_of(producer: ProducerUnderTest, case: str) -> None:
    """The exported elements are the numbers that the array was made of.

    Let data + byte_offset be the address of the first element.
    """
    x, form = made_from(producer, _NUMBERS, _forms(producer))
    found = require_host(opened(producer, x, case))
    if found.dtype != ELEMENTS[form.dtype]:
        raise NotApplicable(f"the array is none of {form.dtype}")
    due = [bytes_of(number, form.dtype) for number in repeated(_NUMBERS, form)]
    note(f"reading the elements of a {case} capsule")
    _expect_elements(found, due, f"a {case} capsule of an array that was made of {_NUMBERS}")


@check("DLP-DATA-2", source=_WHERE, cases=GENERATIONS)
def exported_elements_are_those_that_the_library_reads(
    producer: ProducerUnderTest, case: str
) -> None:
    """Values written through a capsule are those that the library then reads.

    Let data + byte_offset be the address of the first element, and export the array's own memory.
    """
    read = _reader(producer)
    x, elements, form = holding(producer, _NUMBERS, _forms(producer))
    found = require_host(opened(producer, x, case))
    note(f"writing through a {case} capsule")
    found.write(elements)
    seen = read(x)

    words = f"{_NUMBERS} was written through a {case} capsule, and the library reads {seen!s:.200}"
    expect(seen == repeated(_NUMBERS, form), words)


def _reader(producer: ProducerUnderTest) -> Callable[[Any], list[Any]]:
    """Return the function that reads arrays, if made and imported arrays have the same type."""
    consumer = ConsumerUnderTest(producer.subject)
    if producer.subject.immutable:
        raise NotApplicable("its arrays are never written")
    try:
        kind = type(consumer.take(host(SIX[1])))
    except NotApplicable:
        raise
    except Exception as error:
        raise NotApplicable(f"a plain array is not taken: {error!r:.200}") from error

    def read(x: Any) -> list[Any]:
        if type(x) is not kind:
            raise NotApplicable(f"{type(x).__name__} is made, and {kind.__name__} taken")
        return consumer.values(x)

    return read


def _expect_elements(found: OpenedCapsule, due: list[bytes], what: str) -> None:
    """Raise an error unless a tensor has the given elements."""
    seen = found.read()
    hexes = [[one.hex() for one in elements] for elements in (seen, due)]
    expect(seen == due, f"{what} leads to {hexes[0]}, due was {hexes[1]}")


# ------------------------------------------------------------------ possible exports


_STANDARD: Final = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip


@check(
    "DLP-DTYPE-1",
    source="array API standard 2025.12, Data types; dlpack.h 1.3, DLDataTypeCode has each",
    severity="SHOULD",
    cases={name: name for name in _STANDARD},
)
def element_types_with_a_code_are_exported(producer: ProducerUnderTest, case: str) -> None:
    """An array of a standard element type with a DLPack code is exported.

    Export what dlpack.h can describe; BufferError is for other element types.
    """
    plain = some_array(producer)
    if all(isinstance(found, Exception) for _, found in _answers(producer, plain)):
        raise NotApplicable("a plain array is refused, whatever is asked")
    x = some_array(producer, case)

    found = _answers(producer, x)

    refused = [told(keywords, one) for keywords, one in found if isinstance(one, Exception)]
    expect(len(refused) < len(found), f"{case}: {'; '.join(refused)}")


def _answers(
    producer: ProducerUnderTest, x: Any
) -> list[tuple[dict[str, Any], OpenedCapsule | Exception]]:
    """Return the result of requesting each generation, if that can be requested."""
    found = []
    for generation in GENERATIONS:
        with contextlib.suppress(NotApplicable):
            found.append((asking(generation), answer(producer, x, **asking(generation))))
    if not found:
        raise NotApplicable("no generation can be asked for")
    return found


_SMALL: Final = {
    "float6_e2m3fn": (15, 6),
    "float6_e3m2fn": (16, 6),
    "float4_e2m1fn": (17, 4),
}


@check(
    "DLP-DTYPE-1",
    source="dlpack.h 1.3, DLDataTypeCode: FP6 and FP4, the producer must ensure that bits is set",
    cases=in_each({name.replace("_", "-"): name for name in _SMALL}),
)
def floats_below_8_bits_have_their_bits(producer: ProducerUnderTest, case: tuple[str, str]) -> None:
    """Floats of 6 and 4 bits are exported with 6 and 4 bits.

    Write the bits of the type, also if each element has a byte: the flag IS_SUBBYTE_TYPE_PADDED
    says that.
    """
    generation, name = case
    found = answer(producer, some_array(producer, name), **asking(generation))
    if isinstance(found, Exception):
        raise NotApplicable(told(asking(generation), found))

    due = _SMALL[name]
    expect(
        found.dtype[0] != due[0] or found.dtype[1] == due[1],
        f"{name} is exported with (code, bits) = {found.dtype[:2]}; {due} is due",
    )
