"""Layouts: axes, extents, strides, and the address of the first element.

Source: dlpack.h 1.3, DLTensor.
"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import NotApplicable, expect, note
from interchange_conformance.probes.forms import NUMERIC, SIX, Form, forms_of
from interchange_conformance.registry import area
from interchange_conformance.zoo.memory import c_strides, itemsize, reach

from ._exports import (
    GENERATIONS,
    answer,
    asking,
    holding,
    in_each,
    newest,
    numbered,
    opened,
    require_generation,
    require_host,
    some_array,
)
from ._views import LINE, VIEWS, extents_of, spread, view_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

    from ._views import View

    Shape = tuple[int, ...]

check: Decorator = area("capsule")

SHAPES: Final[dict[str, Shape]] = {
    "scalar": (),
    "one": (1,),
    "vector": (6,),
    "matrix": (2, 3),
    "box": (2, 3, 4),
    "8-axes": (1, 2, 1, 2, 1, 2, 1, 2),
}
EMPTY: Final[dict[str, Shape]] = {
    "no-elements": (0,),
    "no-rows": (0, 3),
    "no-columns": (3, 0),
    "no-middle": (2, 0, 3),
}
_WITH_AXES: Final = {name: shape for name, shape in SHAPES.items() if shape}
_BOTH: Final = in_each({**_WITH_AXES, **EMPTY})


# ------------------------------------------------------------------ axes and extents


@check("DLP-SHAPE-1", source="dlpack.h 1.3, DLTensor.ndim", cases={**SHAPES, "64-axes": (1,) * 64})
def ndim_is_the_number_of_axes(producer: ProducerUnderTest, case: Shape) -> None:
    """The struct's ndim is the number of axes of the array, 0 for a scalar.

    Write the number of axes. A scalar has none, and is not an array of shape (1,); refuse arrays
    with too many axes with BufferError.
    """
    found = newest(producer, producer.make(case))

    expect(found.ndim == len(case), f"an array of {len(case)} axes is exported with {found.ndim}")


@check("DLP-SHAPE-2", source="dlpack.h 1.3, DLTensor.shape", cases={**_WITH_AXES, **EMPTY})
def shape_points_to_the_extents(producer: ProducerUnderTest, case: Shape) -> None:
    """The struct's shape points to the extents of the array, unless it has no axes.

    Keep the extents as int64 in the block of the struct, and let shape point there.
    """
    found = newest(producer, producer.make(case))

    if found.ndim != len(case):
        raise NotApplicable(f"the struct says ndim = {found.ndim} of an array of shape {case}")
    expect(found.shape == case, f"the array has shape {case}, the struct {found.shape or 'NULL'}")


_CUTS: Final[dict[str, Callable[[Any], Any]]] = {
    "from-the-end": lambda x: x[LINE:],
    "beyond-the-end": lambda x: x[LINE + 8 :],
    "nothing": lambda x: x[:0],
    "crossed": lambda x: x[7:3],
    "crossed-with-a-step": lambda x: x[7:3:2],
    "crossed-backwards": lambda x: x[3:7:-1],
}


@check("DLP-SHAPE-3", source="dlpack.h 1.3, DLTensor.shape", cases=_CUTS)
def empty_slices_have_extent_0(producer: ProducerUnderTest, case: Callable[[Any], Any]) -> None:
    """A slice that begins after its end has extent 0, not a negative one.

    Clip the extent at 0: stop - start is negative for such a slice, and becomes a huge number as
    unsigned.
    """
    y = view_of(producer.make((LINE,)), case)
    extents = tuple(y.shape) if hasattr(y, "shape") else (len(y),)
    if extents != (0,):
        raise NotApplicable(f"the library makes an array of shape {extents} of it")

    found = newest(producer, y)

    expect(found.shape == (0,), f"a slice without elements was exported with shape {found.shape}")


_LONG: Final[dict[str, Shape]] = {
    "2-to-the-40-rows": (2**40, 3),
    "2-to-the-61-bytes": (2**59, 1),
    "2-to-the-64-bytes": (2**62, 1),
    "2-to-the-66-elements": (2**33, 2**33),
}


@check(
    "DLP-SHAPE-4",
    source="dlpack.h 1.3, DLTensor.data: GetDataSize(), which multiplies without a check",
    severity="SHOULD",
    cases=in_each(_LONG),
)
def sizes_of_repeated_elements_fit(producer: ProducerUnderTest, case: tuple[str, Shape]) -> None:
    """A broadcast array is exported with its shape, unless it has 2**63 bytes or more.

    Multiply with an overflow check, and refuse with BufferError: consumers compute the size in 64
    bits, where a product that wraps is a small buffer.
    """
    generation, shape = case
    if producer.subject.immutable:
        raise NotApplicable("arrays that are never written may be repeated by copying them")
    require_generation(producer, generation)
    x = producer.make((1, 3 if shape[1] == 3 else 1))
    y = view_of(x, lambda x: spread(x, shape))

    found = answer(producer, y, **asking(generation))

    if isinstance(found, Exception):
        return
    size = math.prod(found.shape or ()) * itemsize(found.dtype)
    said = extents_of(y) or shape  # the library may repeat fewer times than requested
    expect(
        found.shape == said and 0 <= size < 2**63,
        f"an array of shape {said} was exported with shape {found.shape}, {size} bytes",
    )


# ------------------------------------------------------------------ strides


@check(
    "DLP-STRIDES-1",
    source="dlpack.h 1.3, DLTensor.strides: not NULL in version 1.2 and later",
    cases={**_WITH_AXES, **EMPTY},
)
def strides_are_there_since_version_1_2(producer: ProducerUnderTest, case: Shape) -> None:
    """A struct of version 1.2 or newer has strides, unless the array has no axes.

    Fill the strides of C-contiguous arrays too. Since DLPack 1.2 consumers read strides[i] without
    a check for NULL.
    """
    found = opened(producer, producer.make(case), "versioned")

    expect(
        found.strides is not None or (found.version or (0, 0)) < (1, 2),
        f"strides is NULL in a struct of version {found.version} for an array of shape {case}",
    )


@check(
    "DLP-STRIDES-1",
    source="dlpack.h 1.3, DLTensor.strides: note on versions before 1.2",
    severity="QUIRK",
    cases=_BOTH,
)
def strides_are_there_in_every_version(
    producer: ProducerUnderTest, case: tuple[str, Shape]
) -> None:
    """Structs of every version have strides, also for arrays without elements.

    Always fill them: NULL was allowed before DLPack 1.2, and some consumers read them without a
    check.
    """
    generation, shape = case
    found = opened(producer, producer.make(shape), generation)

    expect(found.strides is not None, f"strides is NULL for an array of shape {shape}")


@check("DLP-STRIDES-2", source="dlpack.h 1.3, DLTensor.data and strides", cases=_WITH_AXES)
def elements_lie_in_the_address_range(producer: ProducerUnderTest, case: Shape) -> None:
    """All elements of an array lie within the address range.

    Compute strides in signed 64-bit arithmetic: a negative step divided as unsigned, or a product
    that wrapped, leads out of memory.
    """
    found = newest(producer, producer.make(case))
    if found.shape is None or found.strides is None:
        raise NotApplicable("extents or strides are NULL")

    ends = [found.first + end * found.itemsize for end in reach(found.shape, found.strides)]
    expect(
        all(0 < end < 2**64 for end in ends),
        f"shape {found.shape} and strides {found.strides} lead to where no memory can be",
    )


@check("DLP-STRIDES-4", source="dlpack.h 1.3, DLTensor.strides: in number of elements")
def strides_count_elements(producer: ProducerUnderTest) -> None:
    """Strides are numbers of elements, not of bytes.

    Divide byte strides by the size of an element. In bytes, consumers read every eighth float64,
    and then beyond the end.
    """
    x, form = producer.first_of([*forms_of(SIX, ["float64"]), producer.plain])
    found = newest(producer, x)
    plain = _strides_of_bytes(producer) or c_strides(form.shape)
    if found.strides is None or found.itemsize == 1:
        raise NotApplicable(f"strides {found.strides}, elements of {found.itemsize} bytes")

    in_bytes = tuple(step * found.itemsize for step in plain)
    expect(
        found.strides != in_bytes,
        f"the strides of a new array are {plain} for elements of one byte, and "
        f"{found.strides} for elements of {found.itemsize}: they are bytes",
    )


def _strides_of_bytes(producer: ProducerUnderTest) -> Shape | None:
    """Return the strides of an array of bytes, if the library has one."""
    with contextlib.suppress(NotApplicable):
        return newest(producer, some_array(producer, "uint8")).strides
    return None


@check(
    "DLP-STRIDES-3",
    source="dlpack.h 1.3, DLTensor.strides; array API standard 2025.12, array.__dlpack__, Raises",
    cases=GENERATIONS,
)
def steps_of_half_elements_stay(producer: ProducerUnderTest, case: str) -> None:
    """An array whose rows are 2.5 elements apart is not exported with a stride of 2 or 3.

    Raise BufferError if a byte stride is not a multiple of the element size, or copy if that was
    allowed: DLPack cannot describe such a stride.
    """
    require_generation(producer, case)
    y = uneven(producer)

    found = answer(producer, y, **asking(case))
    if isinstance(found, Exception):
        return
    note("reading an array whose rows lie 2.5 elements apart")
    elements = found.read()
    due = [b"\0\1", b"\2\3", b"\5\6", b"\7\x08"]
    expect(
        elements == due,
        f"two rows of 2-byte elements that lie 5 bytes apart were exported with strides "
        f"{found.strides}: they read as {elements}, and {due} is due",
    )


def uneven(producer: ProducerUnderTest) -> Any:
    """Return a view of 2-byte elements in a numbered array of 2 rows of 5 bytes."""
    base, *_ = holding(producer, list(range(10)), [Form((2, 5), "uint8")])
    pairs = producer.make((1,), "uint16")
    y = view_of(base, lambda x: x[:, :4].view(pairs.dtype))
    if tuple(y.shape) != (2, 2):
        raise NotApplicable(f"viewed as pairs of bytes, the array has shape {y.shape}")
    return y


# ------------------------------------------------------------------ addresses of elements


@check("DLP-DATA-1", source="dlpack.h 1.3, DLTensor.data", cases=SHAPES)
def data_of_elements_is_not_null(producer: ProducerUnderTest, case: Shape) -> None:
    """The data of an array that has elements is not NULL.

    Let data point to the first element. Allocate memory that does not exist yet, of a lazy array
    for example, before the export, or refuse with BufferError.
    """
    found = newest(producer, producer.make(case))

    expect(found.data, f"data is NULL for an array of shape {case}")


@check(
    "DLP-DATA-2",
    source="dlpack.h 1.3, DLTensor.byte_offset and DLTensor.strides",
    cases=in_each(VIEWS),
)
def views_lead_to_their_own_elements(producer: ProducerUnderTest, case: tuple[str, View]) -> None:
    """The address data + byte_offset and the strides lead to the elements of the view.

    Let data + byte_offset be the address of element (0, 0, ...), which for a negative stride is not
    the lowest address, and use the strides of the view, not of its base.
    """
    generation, view = case
    view.rehearse(producer)
    x, elements, form = numbered(producer, view.bases(producer))
    due = view.due(elements, form.shape)
    y = view_of(x, view.make, due.shape)

    found = require_host(opened(producer, y, generation))
    expect(found.shape == due.shape, f"the view has shape {due.shape}, the struct {found.shape}")
    note(f"reading a view at {found.first:#x} with strides {found.strides}")
    read = found.read()
    number_of = {element: number for number, element in enumerate(elements[:100])}
    numbers = [[number_of.get(one, one.hex()) for one in many] for many in (read, due.elements)]
    expect(
        read == due.elements,
        f"element n of the base holds n; the view reads as {numbers[0]} with strides "
        f"{found.strides}, and {numbers[1]} is due",
    )


@check(
    "DLP-DATA-2",
    source="dlpack.h 1.3, DLTensor.data: note on byte_offset=0",
    severity="QUIRK",
    cases=VIEWS,
)
def host_memory_needs_no_offset(producer: ProducerUnderTest, case: View) -> None:
    """On the host, data points to the first element, and byte_offset is 0.

    Add the offset to data. Both are valid, but some consumers do not add byte_offset, or refuse it.
    """
    case.rehearse(producer)
    x, _ = producer.first_of(forms_of(case.bases(producer), NUMERIC))

    found = require_host(newest(producer, view_of(x, case.make)))

    offset = int(found.tensor.byte_offset)
    expect(not offset, f"byte_offset is {offset}")


@check("DLP-DATA-3", source="dlpack.h 1.3, DLTensor.data: of size zero", cases=EMPTY)
def data_of_empty_arrays_is_null(producer: ProducerUnderTest, case: Shape) -> None:
    """The data of an array without elements is NULL.

    Export NULL. Another address is unknown to the driver and the allocator, or belongs to other
    memory.
    """
    found = newest(producer, producer.make(case))

    expect(not found.data, f"data is not NULL for an array of shape {case}")
