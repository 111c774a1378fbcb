"""Common code of the checks of producers: requests for capsules, and refusals.

Source: array API standard 2025.12, ``array.__dlpack__``.
"""

from __future__ import annotations

import enum
import math
import struct
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from interchange.abi.dlpack import DLDataTypeCode, DLDeviceType
from interchange_conformance.findings import Found, NotApplicable, expect
from interchange_conformance.probes.forms import NUMERIC, forms_of
from interchange_conformance.probes.opened_capsule import OpenedCapsule
from interchange_conformance.zoo import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from interchange_conformance.probes.forms import Form
    from interchange_conformance.probes.under_test import ProducerUnderTest

NEWEST: Final = (1, 3)
HOST: Final = (1, 0)
HOST_KINDS: Final = frozenset(
    {DLDeviceType.kDLCPU, DLDeviceType.kDLCUDAHost, DLDeviceType.kDLROCMHost}
)
"""Device types whose memory the host can read."""
SOMETHING: Final[Any] = type("Something", (), {"__repr__": lambda _: "<something>"})()
"""An argument that no method accepts."""
REFUSALS: Final = (TypeError, ValueError, BufferError)
"""Valid exceptions for malformed arguments: the standard specifies no class for them."""
GENERATIONS: Final = {"legacy": "legacy", "versioned": "versioned"}
"""Cases of checks that run for both structs."""

_PENDING: Final = 0.01  # until a new array is ready [seconds]


def asking(generation: str, **more: Any) -> dict[str, Any]:
    """Return the keywords that request a struct of a generation."""
    return {**({"max_version": NEWEST} if generation == "versioned" else {}), **more}


def in_each(cases: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """Return the cases of a check for both structs: a generation, and one of `cases`."""
    return {
        f"{generation}-{name}": (generation, value)
        for generation in GENERATIONS
        for name, value in cases.items()
    }


WAYS: Final[dict[str, Callable[[OpenedCapsule], object]]] = {
    "dropped": lambda found: setattr(found, "capsule", None),
    "released": lambda found: found.consume().release(),
}
"""State of a capsule: unconsumed, or consumed and released."""
EACH_WAY: Final = in_each({way: way for way in WAYS})
HELD: Final = in_each({held: held for held in ("unconsumed", "consumed")})


def call(keywords: Mapping[str, Any]) -> str:
    """Return the source text of a call of ``__dlpack__``."""
    return f"__dlpack__({', '.join(f'{name}={value!r:.60}' for name, value in keywords.items())})"


def words(error: BaseException) -> str:
    """Return the text of an error, shortened to one line."""
    return f"{type(error).__name__}: {error!s:.200}"


def told(keywords: Mapping[str, Any], found: OpenedCapsule | Exception) -> str:
    """Return a call of ``__dlpack__`` and its result, as a sentence."""
    if isinstance(found, Exception):
        return f"{call(keywords)} raised {words(found)}"
    return f"{call(keywords)} returned a capsule named {found.name!r}, on device {found.device}"


def reported_device(x: Any) -> Any:
    """Return the result of ``__dlpack_device__()``, with the value of an enum member.

    The standard's type of the first part is Enum, which is not necessarily an int.
    """
    said = x.__dlpack_device__()
    if isinstance(said, tuple) and said and isinstance(said[0], enum.Enum):
        return (said[0].value, *said[1:])
    return said


def some_array(
    producer: ProducerUnderTest, dtype: str | None = None, *, readonly: bool = False
) -> Any:
    """Return an array without special properties, except an element type if requested."""
    return producer.make(dtype=dtype, readonly=readonly)


def knows(producer: ProducerUnderTest, x: Any, keyword: str) -> bool:
    """Return whether ``__dlpack__`` accepts a keyword; None is a valid value of all four."""
    try:
        producer.export(x, **{keyword: None})
    except TypeError:
        pass
    except Exception:  # noqa: BLE001 - the keyword is not the reason
        return True
    else:
        return True
    try:
        producer.export(x)
    except TypeError:
        return True  # the same error without it: the keyword is not the reason
    except Exception:  # noqa: BLE001 - the keyword is not the reason either
        return False
    return False


def answer(producer: ProducerUnderTest, x: Any, **keywords: Any) -> OpenedCapsule | Exception:
    """Return the opened capsule, or the error that was raised instead.

    Raises `NotApplicable`: ``__dlpack__`` does not accept one of the keywords, or it did not return
    a capsule: other checks report this.
    """
    try:
        capsule = producer.export(x, **keywords)
    except NotApplicable:
        raise
    except Exception as error:
        if isinstance(error, TypeError):
            unknown = [keyword for keyword in keywords if not knows(producer, x, keyword)]
            if unknown:
                raise NotApplicable(f"__dlpack__() takes no {' nor '.join(unknown)}") from error
        return error.with_traceback(None)  # frames would keep arrays alive
    try:
        return OpenedCapsule(capsule)
    except Found as found:
        raise NotApplicable(str(found)) from found


def answer_at_rest(
    producer: ProducerUnderTest, x: Any, **keywords: Any
) -> OpenedCapsule | Exception:
    """Return the answer without pending work: some libraries check streams only with it."""
    found = answer(producer, x, **keywords)
    if isinstance(found, Exception):
        time.sleep(_PENDING)
        return answer(producer, x, **keywords)
    return found


def export_keywords(
    producer: ProducerUnderTest, x: Any, *, kind: int | None = None
) -> list[dict[str, Any]]:
    """Return the keywords of each generation with which a plain array can be exported.

    Raises `NotApplicable`: there are none, so that a refusal does not depend on the other keywords;
    or the memory is on another device.
    """
    found = []
    for generation in GENERATIONS:
        keywords = asking(generation)
        there = _exported_or_none(producer, x, keywords)
        if there is None:
            continue
        if kind is not None and there.device[0] != kind:
            raise NotApplicable(f"the memory is on device {there.device}")
        found.append(keywords)
    if not found:
        raise NotApplicable("a plain array is refused, whatever is asked")
    return found


def _exported_or_none(
    producer: ProducerUnderTest, x: Any, keywords: Mapping[str, Any]
) -> OpenedCapsule | None:
    """Return the opened capsule, or None if the export is refused."""
    try:
        found = answer(producer, x, **keywords)
    except NotApplicable:
        return None
    return None if isinstance(found, Exception) else found


def require_generation(producer: ProducerUnderTest, generation: str) -> None:
    """Make a check not applicable if even plain arrays cannot be exported as a generation.

    A refusal of the array of the check would then not depend on its properties.
    """
    keywords = asking(generation)
    if _exported_or_none(producer, some_array(producer), keywords) is None:
        raise NotApplicable(f"{call(keywords)} is refused for plain arrays, too")


def granted(producer: ProducerUnderTest, x: Any, **keywords: Any) -> OpenedCapsule:
    """Return the opened capsule; a refusal makes the check not applicable.

    A BufferError is a refusal, and any error if a copy was requested: another check tests the class
    of errors for refused copies.
    """
    found = answer(producer, x, **keywords)
    if isinstance(found, BufferError) or (isinstance(found, Exception) and "copy" in keywords):
        raise NotApplicable(told(keywords, found))
    if isinstance(found, Exception):
        raise found
    return found


def opened(producer: ProducerUnderTest, x: Any, generation: str, **more: Any) -> OpenedCapsule:
    """Return a capsule of one generation; if the library has none, the check does not apply."""
    keywords = asking(generation, **more)
    found = granted(producer, x, **keywords)
    if found.versioned != (generation == "versioned"):
        raise NotApplicable(told(keywords, found))
    return found


def newest(producer: ProducerUnderTest, x: Any, **more: Any) -> OpenedCapsule:
    """Return a capsule of the newest generation that the library supports."""
    if knows(producer, x, "max_version"):
        return granted(producer, x, max_version=NEWEST, **more)
    return granted(producer, x, **more)


def require_host(found: OpenedCapsule) -> OpenedCapsule:
    """Return the opened capsule; its memory must be readable on the host."""
    if found.device[0] not in HOST_KINDS:
        raise NotApplicable(f"the memory is on device {found.device}")
    return found


def numbered(
    producer: ProducerUnderTest, shapes: Iterable[tuple[int, ...]]
) -> tuple[Any, list[bytes], Form]:
    """Return an array whose elements are 0, 1, 2..., the bytes of each, and its form."""
    return holding(producer, list(range(100)), forms_of(shapes, NUMERIC))


def holding(
    producer: ProducerUnderTest, numbers: list[Any], forms: Iterable[Form]
) -> tuple[Any, list[bytes], Form]:
    """Return an array with given numbers in C order, the bytes of each, and its form.

    The numbers are written through its capsule, and repeated if the array is larger; for a library
    with immutable arrays, the array is made from them, and a capsule with other numbers is a
    finding.

    Raises `NotApplicable`: the array is read-only, or does not change.
    """
    immutable = producer.subject.immutable
    if immutable:
        x, form = made_from(producer, numbers, forms)
    else:
        x, form = producer.first_of(forms)
    elements = [bytes_of(number, form.dtype) for number in repeated(numbers, form)]
    found = require_host(newest(producer, x))
    if found.dtype != ELEMENTS[form.dtype] or (found.readonly and not immutable):
        words = f"the array is no writable one of {form.dtype}, so what it holds is unknown"
        raise NotApplicable(words)
    if immutable:
        read = found.read()
        expect(read == elements, f"an array of {numbers!r:.60} is exported as one of {read!r:.90}")
        return x, elements, form
    found.write(elements)
    if newest(producer, x).read() != elements:
        raise NotApplicable("what is written through a capsule does not reach the array")
    return x, elements, form


def made_from(
    producer: ProducerUnderTest, numbers: list[Any], forms: Iterable[Form]
) -> tuple[Any, Form]:
    """Return an array made from some numbers, in the first form that is supported, and the form."""
    return producer.first_of(forms, lambda form: producer.make_from(repeated(numbers, form), *form))


def repeated(numbers: list[Any], form: Form) -> list[Any]:
    """Return as many numbers as a form has elements, repeated if necessary."""
    return [numbers[n % len(numbers)] for n in range(math.prod(form.shape))]


def bytes_of(number: Any, dtype: str) -> bytes:
    """Return the bytes of an element."""
    code, bits, _ = ELEMENTS[dtype]
    if code == DLDataTypeCode.kDLComplex:
        form = "=ff" if bits == 64 else "=dd"
        return struct.pack(form, complex(number).real, complex(number).imag)
    if code == DLDataTypeCode.kDLFloat:
        return struct.pack({16: "=e", 32: "=f", 64: "=d"}[bits], number)
    return int(number).to_bytes(bits // 8, sys.byteorder, signed=number < 0)
