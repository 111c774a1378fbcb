"""Producers of the CUDA Array Interface whose record is malformed or wrong.

Source: CUDA Array Interface, version 3; `checks.cai_out`.
"""

from __future__ import annotations

import math
from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.zoo.on_device import place

from ._honest_recorder import Recorded, honest_recorder, recorder_mutant, recorder_of
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.subject import Subject

    from ._honest_producer import Honest

_FAR: Final = 2**45  # [bytes], beyond all memory of the driver


def _saying(**changes: Callable[[Recorded, Any], Any]) -> Subject:
    """Return a subject whose records have changed entries; ``...`` removes one."""

    def record(x: Recorded) -> Any:
        record = Recorded.record(x)
        for key, change in changes.items():
            record[key] = change(x, record.get(key))
        return {key: value for key, value in record.items() if value is not ...}

    return recorder_of(record=record)


# ---------------------------------------------------------------- the host


@mutant("hasattr_works_on_arrays_of_the_host", counterpart=honest_recorder)
def raises_on_the_host() -> Subject:
    """Raises RuntimeError if the interface of a host array is requested."""

    def cuda_array_interface(_: Honest) -> Any:
        raise RuntimeError("this array is on the host")

    return recorder_of(host={"__cuda_array_interface__": property(cuda_array_interface)})


@mutant("arrays_of_the_host_have_no_record", counterpart=honest_recorder)
def publishes_the_host() -> Subject:
    """Publishes host memory that no device can access."""

    def cuda_array_interface(x: Honest) -> Any:
        return {**x.array.__array_interface__, "version": 3}

    return recorder_of(host={"__cuda_array_interface__": property(cuda_array_interface)})


# ---------------------------------------------------------------- the form


@recorder_mutant("records_are_dicts", step="record")
def gives_a_proxy(x: Recorded) -> Any:
    """Returns a mapping that is not a dict."""
    return MappingProxyType(Recorded.record(x))


@mutant("records_are_dicts", counterpart=honest_recorder)
def leaves_the_typestr_out() -> Subject:
    """Returns a dict without 'typestr'."""
    return _saying(typestr=lambda _, __: ...)


@mutant("record_shapes_are_tuples_of_ints", counterpart=honest_recorder)
def gives_a_list_of_extents() -> Subject:
    """Returns the shape as a list."""
    return _saying(shape=lambda x, _: list(x.shape))


@mutant("record_shapes_are_tuples_of_ints", counterpart=honest_recorder)
def gives_scalars_an_axis() -> Subject:
    """Returns the shape of a scalar as (1,)."""
    return _saying(shape=lambda x, _: x.shape or (1,))


@mutant("record_strides_count_bytes", counterpart=honest_recorder)
def counts_strides_in_elements() -> Subject:
    """Returns strides in elements, as cuVS does."""
    return _saying(strides=lambda x, _: _steps(x.shape, 1))


@mutant("record_strides_are_one_per_axis", counterpart=honest_recorder)
def leaves_a_stride_out() -> Subject:
    """Returns one stride too few."""
    return _saying(strides=lambda x, _: _steps(x.shape, 4)[1:] if x.shape else None)


def _steps(shape: tuple[int, ...], step: int) -> tuple[int, ...]:
    """Return the strides of a C-ordered array whose last one is given."""
    found: list[int] = []
    for extent in reversed(shape):
        found.insert(0, step)
        step *= extent
    return tuple(found)


@mutant("record_data_is_an_address_and_a_flag", counterpart=honest_recorder)
def gives_a_number_for_a_flag() -> Subject:
    """Returns the read-only flag as 0 or 1."""
    return _saying(data=lambda _, data: (data[0], int(data[1])))


@mutant("record_data_is_an_address_and_a_flag", counterpart=honest_recorder)
def gives_a_list_of_data() -> Subject:
    """Returns the data as a list."""
    return _saying(data=lambda _, data: list(data))


@mutant("records_of_read_only_arrays_say_so", counterpart=honest_recorder)
def publishes_everything_as_writable() -> Subject:
    """Marks every array as writable."""
    return _saying(data=lambda _, data: (data[0], False))


@mutant("records_of_empty_arrays_have_address_0", counterpart=honest_recorder)
def gives_nothing_an_address() -> Subject:
    """Returns the address 1 for arrays without elements."""
    return _saying(data=lambda _, data: (data[0] or 1, data[1]))


@mutant("records_of_elements_have_an_address", counterpart=honest_recorder)
def gives_elements_no_address() -> Subject:
    """Returns the address 0 for every array."""
    return _saying(data=lambda _, data: (0, data[1]))


@mutant("record_typestrs_name_the_element_type", counterpart=honest_recorder)
def calls_unsigned_signed() -> Subject:
    """Returns the typestr of signed integers for unsigned ones."""
    return _saying(typestr=lambda _, typestr: typestr.replace("u", "i"))


@mutant("record_typestrs_name_the_element_type", counterpart=honest_recorder)
def gives_the_name_of_the_type() -> Subject:
    """Returns the name of the element type, such as 'float32'."""
    return _saying(typestr=lambda x, _: x.dtype)


@recorder_mutant("nameless_element_types_are_not_called_another", step="typestr")
def calls_bfloat16_a_half(x: Recorded) -> str:
    """Returns the typestr of float16 for bfloat16, as PyTorch did."""
    return "<f2" if x.dtype == "bfloat16" else Recorded.typestr(x)


@mutant("records_say_their_version", counterpart=honest_recorder)
def gives_the_version_as_text() -> Subject:
    """Returns the version as '3'."""
    return _saying(version=lambda _, __: "3")


@mutant("records_say_their_version", counterpart=honest_recorder)
def leaves_the_version_out() -> Subject:
    """Returns no version."""
    return _saying(version=lambda _, __: ...)


@mutant("record_masks_are_records", counterpart=honest_recorder)
def masks_with_a_truth_value() -> Subject:
    """Returns True as a mask, meaning that all elements are valid."""
    return _saying(mask=lambda _, __: True)


@mutant("record_descrs_agree_with_the_typestr", counterpart=honest_recorder)
def describes_other_elements() -> Subject:
    """Returns a descr that does not match the typestr."""
    return _saying(descr=lambda _, __: [("", "<i8")])


# ---------------------------------------------------------------- correctness


@mutant("recorded_addresses_are_known_to_the_driver", counterpart=honest_recorder)
def publishes_an_address_of_nothing() -> Subject:
    """Publishes an address without memory."""
    return _saying(data=lambda _, data: (data[0] and data[0] + _FAR, data[1]))


@mutant("recorded_elements_are_in_their_allocation", counterpart=honest_recorder)
def publishes_the_end() -> Subject:
    """Publishes the address of the last byte."""
    return _saying(data=lambda x, data: (data[0] and data[0] + max(0, x.nbytes - 1), data[1]))


@mutant("records_are_the_same_when_read_again", counterpart=honest_recorder)
def makes_strides_up_every_other_time() -> Subject:
    """Returns None for strides at one read, and numbers at the next."""
    reads: Counter[int] = Counter()

    def strides(x: Recorded, _: Any) -> Any:
        reads[id(x)] += 1
        return _steps(x.shape, x.nbytes // max(1, math.prod(x.shape))) if reads[id(x)] % 2 else None

    return _saying(strides=strides)


@mutant("records_agree_with_capsules", counterpart=honest_recorder)
def publishes_a_copy() -> Subject:
    """Publishes a copy of the memory of its capsules."""
    copies: dict[int, int] = {}

    def data(x: Recorded, said: Any) -> Any:
        if x.cuda is None or not said[0]:
            return said
        if said[0] not in copies:
            copies[said[0]] = place(x.cuda, "cuda", x.shape, x.dtype)[0].address
        return copies[said[0]], said[1]

    return _saying(data=data)


@mutant("records_own_nothing", counterpart=honest_recorder)
def keeps_what_was_read() -> Subject:
    """Keeps every array alive whose record was read."""
    kept: list[Recorded] = []

    def record(x: Recorded) -> Any:
        kept.append(x)
        return Recorded.record(x)

    return recorder_of(record=record)
