"""Consumers that misread buffers and records of host memory.

Source: the rules BUF-1, BUF-FORMAT-1, BUF-SUBOFFSETS-1, AI-1, AI-MASK-1, AI-DESCR-1 and those of
DLPack and of the CUDA Array Interface that say the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange.abi import parse_record

from ._honest_host_consumer import (
    NATIVE,
    HostConsumer,
    honest_host_consumer,
    host_consumer,
    host_consumer_mutant,
)
from .model import mutant

if TYPE_CHECKING:
    from interchange.abi import InterfaceRecord, TypeStr
    from interchange_conformance.subject import Subject

    from ._honest_consumer import Array, Element

_held: Final[list[memoryview]] = []


@host_consumer_mutant("plain_buffers_are_taken", step="take_buffer")
def refuses_buffers(_: HostConsumer, __: Any) -> Array:
    """It refuses every buffer."""
    raise BufferError("no buffers")


@host_consumer_mutant("every_plain_buffer_is_taken", step="take_buffer")
def takes_buffers_of_one_axis(consumer: HostConsumer, x: Any) -> Array:
    """It refuses buffers of more axes than one."""
    if memoryview(x).ndim != 1:
        raise BufferError("too many axes")
    return HostConsumer.take_buffer(consumer, x)


@host_consumer_mutant("buffers_are_read_as_they_say", step="element_in")
def reads_signed_bytes_as_unsigned_ones(consumer: Any, letters: Any, size: Any) -> Any:
    """It reads signed bytes as unsigned."""
    return HostConsumer.element_in(consumer, letters.replace("b", "B"), size)


@host_consumer_mutant("rows_that_lie_apart_are_not_read_as_one_block", step="check_suboffsets")
def reads_pointers_as_elements(*_: object) -> None:
    """It reads the pointers of a buffer with suboffsets as elements."""


@host_consumer_mutant("formats_of_other_elements_are_not_read_as_plain", step="element_in")
def ignores_the_order_of_formats(consumer: HostConsumer, letters: str, size: int) -> Element:
    """It reads buffers of another byte order as native ones."""
    return HostConsumer.element_in(consumer, letters.lstrip("<>!"), size)


@host_consumer_mutant("steps_between_elements_are_not_rounded", step="steps")
def rounds_steps(_: Any, strides: Any, __: Any, size: Any) -> Any:
    """It rounds strides to whole elements."""
    return tuple(step // size for step in strides)


@host_consumer_mutant("the_buffer_is_held_as_long_as_the_array", step="owner_of_buffer")
def releases_the_buffer_at_once(_: Any, view: Any) -> Any:
    """It releases a buffer as soon as it has read the address."""
    return view.release()


@host_consumer_mutant("the_buffer_is_held_as_long_as_the_array", step="owner_of_buffer")
def never_releases_a_buffer(_: Any, view: Any) -> Any:
    """It never releases a buffer."""
    return _held.append(view)


@host_consumer_mutant("memory_of_others_that_is_read_only_is_not_written", step="flags_for")
def writes_buffers_that_are_read_only(*_: object, **__: object) -> Any:
    """It writes read-only memory of buffers and records."""
    return 0


@host_consumer_mutant("plain_records_of_host_memory_are_taken", step="record_of")
def wants_strides_in_records(_: HostConsumer, x: Any) -> InterfaceRecord:
    """It refuses records without strides."""
    record = x.__array_interface__
    if "strides" not in record:
        raise KeyError("strides")
    return parse_record(record)


@host_consumer_mutant("records_of_host_memory_are_read_as_they_say", step="record_of")
def takes_bytes_for_elements(_: HostConsumer, x: Any) -> InterfaceRecord:
    """It treats the strides of a record, which are in bytes, as elements."""
    record = parse_record(x.__array_interface__)
    size = record.typestr.itemsize
    strides = record.strides and tuple(step * size for step in record.strides)
    return record._replace(strides=strides)


@host_consumer_mutant("malformed_records_of_host_memory_are_refused", step="record_of")
def presumes_a_typestr(_: Any, x: Any) -> Any:
    """It treats records without a typestr as float32."""
    return parse_record({"typestr": f"{NATIVE}f4", **x.__array_interface__})


@host_consumer_mutant("masks_are_not_dropped", step="check_mask")
def drops_masks(*_: object) -> None:
    """It reads elements that the mask marks as invalid."""


@mutant("structured_records_are_not_read_as_plain", counterpart=honest_host_consumer)
def reads_structures_as_doubles() -> Subject:
    """It reads structured elements of 8 bytes as float64."""
    return host_consumer(
        check_fields=lambda *_: None,
        element_named=lambda consumer, typestr: (
            (2, 64, 1) if typestr.kind == "V" else HostConsumer.element_named(consumer, typestr)
        ),
    )


@host_consumer_mutant("records_of_another_byte_order_are_not_read_as_native", step="element_named")
def ignores_the_order_of_typestrs(consumer: HostConsumer, typestr: TypeStr) -> Element:
    """It reads records of another byte order as native ones."""
    return HostConsumer.element_named(consumer, typestr._replace(byteorder=NATIVE))


@host_consumer_mutant("objects_with_a_record_are_held", step="owner_of_record")
def lets_the_object_go(*_: object) -> None:
    """It does not keep the exporter of a record alive."""
