"""Consumers that misread buffers and records of host memory.

Source: the rules BUF-1, BUF-FORMAT-1, BUF-SUBOFFSETS-1, AI-1, AI-MASK-1, AI-DESCR-1 and those of
DLPack and of the CUDA Array Interface that say the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange.abi import parse_record

from ._honest_host_consumer import NATIVE, HostConsumer, honest_host_consumer, host_consumer
from .model import mutant

if TYPE_CHECKING:
    from interchange.abi import InterfaceRecord, TypeStr
    from interchange_conformance.subject import Subject

    from ._honest_consumer import Array, Element

_held: Final[list[memoryview]] = []


def _one_axis(consumer: HostConsumer, x: Any) -> Array:
    """Return an array with one axis."""
    if memoryview(x).ndim != 1:
        raise BufferError("too many axes")
    return HostConsumer.take_buffer(consumer, x)


def _no_buffer(_: HostConsumer, __: Any) -> Array:
    """Refuse every buffer."""
    raise BufferError("no buffers")


@mutant("plain_buffers_are_taken", twin=honest_host_consumer)
def refuses_buffers() -> Subject:
    """It refuses every buffer."""
    return host_consumer(take_buffer=_no_buffer)


@mutant("every_plain_buffer_is_taken", twin=honest_host_consumer)
def takes_buffers_of_one_axis() -> Subject:
    """It refuses buffers of more axes than one."""
    return host_consumer(take_buffer=_one_axis)


@mutant("buffers_are_read_as_they_say", twin=honest_host_consumer)
def reads_signed_bytes_as_unsigned_ones() -> Subject:
    """It reads signed bytes as unsigned."""
    return host_consumer(
        element_in=lambda consumer, letters, size: HostConsumer.element_in(
            consumer, letters.replace("b", "B"), size
        )
    )


@mutant("rows_that_lie_apart_are_not_read_as_one_block", twin=honest_host_consumer)
def reads_pointers_as_elements() -> Subject:
    """It reads the pointers of a buffer with suboffsets as elements."""
    return host_consumer(check_suboffsets=lambda *_: None)


def _without_order(consumer: HostConsumer, letters: str, size: int) -> Element:
    """Return the element type of a format, whatever its byte order."""
    return HostConsumer.element_in(consumer, letters.lstrip("<>!"), size)


@mutant("formats_of_other_elements_are_not_read_as_plain", twin=honest_host_consumer)
def ignores_the_order_of_formats() -> Subject:
    """It reads buffers of another byte order as native ones."""
    return host_consumer(element_in=_without_order)


@mutant("steps_between_elements_are_not_rounded", twin=honest_host_consumer)
def rounds_steps() -> Subject:
    """It rounds strides to whole elements."""
    return host_consumer(steps=lambda _, strides, __, size: tuple(step // size for step in strides))


@mutant("the_buffer_is_held_as_long_as_the_array", twin=honest_host_consumer)
def releases_the_buffer_at_once() -> Subject:
    """It releases a buffer as soon as it has read the address."""
    return host_consumer(owner_of_buffer=lambda _, view: view.release())


@mutant("the_buffer_is_held_as_long_as_the_array", twin=honest_host_consumer)
def never_releases_a_buffer() -> Subject:
    """It never releases a buffer."""
    return host_consumer(owner_of_buffer=lambda _, view: _held.append(view))


@mutant("memory_of_others_that_is_read_only_is_not_written", twin=honest_host_consumer)
def writes_buffers_that_are_read_only() -> Subject:
    """It writes read-only memory of buffers and records."""
    return host_consumer(flags_for=lambda *_, **__: 0)


def _with_strides(_: HostConsumer, x: Any) -> InterfaceRecord:
    """Return a record, which must have strides."""
    record = x.__array_interface__
    if "strides" not in record:
        raise KeyError("strides")
    return parse_record(record)


@mutant("plain_records_of_host_memory_are_taken", twin=honest_host_consumer)
def wants_strides_in_records() -> Subject:
    """It refuses records without strides."""
    return host_consumer(record_of=_with_strides)


def _strides_in_elements(_: HostConsumer, x: Any) -> InterfaceRecord:
    """Return a record with strides in elements."""
    record = parse_record(x.__array_interface__)
    size = record.typestr.itemsize
    strides = record.strides and tuple(step * size for step in record.strides)
    return record._replace(strides=strides)


@mutant("records_of_host_memory_are_read_as_they_say", twin=honest_host_consumer)
def takes_bytes_for_elements() -> Subject:
    """It treats the strides of a record, which are in bytes, as elements."""
    return host_consumer(record_of=_strides_in_elements)


@mutant("malformed_records_of_host_memory_are_refused", twin=honest_host_consumer)
def presumes_a_typestr() -> Subject:
    """It treats records without a typestr as float32."""
    return host_consumer(
        record_of=lambda _, x: parse_record({"typestr": f"{NATIVE}f4", **x.__array_interface__})
    )


@mutant("masks_are_not_dropped", twin=honest_host_consumer)
def drops_masks() -> Subject:
    """It reads elements that the mask marks as invalid."""
    return host_consumer(check_mask=lambda *_: None)


@mutant("structured_records_are_not_read_as_plain", twin=honest_host_consumer)
def reads_structures_as_doubles() -> Subject:
    """It reads structured elements of 8 bytes as float64."""
    return host_consumer(
        check_fields=lambda *_: None,
        element_named=lambda consumer, typestr: (
            (2, 64, 1) if typestr.kind == "V" else HostConsumer.element_named(consumer, typestr)
        ),
    )


def _native_always(consumer: HostConsumer, typestr: TypeStr) -> Element:
    """Return the element type of a typestr, whatever its byte order."""
    return HostConsumer.element_named(consumer, typestr._replace(byteorder=NATIVE))


@mutant("records_of_another_byte_order_are_not_read_as_native", twin=honest_host_consumer)
def ignores_the_order_of_typestrs() -> Subject:
    """It reads records of another byte order as native ones."""
    return host_consumer(element_named=_native_always)


@mutant("objects_with_a_record_are_held", twin=honest_host_consumer)
def lets_the_object_go() -> Subject:
    """It does not keep the exporter of a record alive."""
    return host_consumer(owner_of_record=lambda *_: None)
