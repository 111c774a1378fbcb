"""Variants of interchange that take elements of Arrow for other ones.

Source: the rule book; `checks.functions_arrow_types`.
"""

from __future__ import annotations

import ctypes
import json
from typing import TYPE_CHECKING, Any

from interchange.abi.arrow_formats import EXTENSION_METADATA, decode_metadata
from interchange_conformance.zoo import arrow

from ._proxies import honest_functions, original
from .functions_arrow import instead, reading, reciting
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


# ---------------------------------------------------------------- numbers


@mutant("elements_of_no_one_width_are_refused", twin=honest_functions)
def takes_the_first_column() -> Subject:
    """Takes the first column of a table for the table."""

    def act(honest: Any, x: Any, **keywords: Any) -> Any:
        if x.field.format != "+s":
            return honest(x, **keywords)
        first = arrow.ArraySource(x.field.children[0], (x.chunks[0].children[0],))
        return honest(first, **keywords)

    return instead("ARROW-TYPE-1", act)


@mutant("elements_of_no_one_width_are_refused", twin=honest_functions)
def cites_the_rule_of_storage() -> Subject:
    """Says of elements of no one width that what is stored can be asked for."""
    return reciting("ARROW-TYPE-1", "ARROW-TYPE-2")


def _moved(honest: Any, x: Any, **keywords: Any) -> Any:
    """Return the numbers at the start of the buffer, wherever the column begins."""
    array = honest(x, **keywords)
    start = array.ptr - x.chunks[0].offset * array.itemsize
    return original().from_pointer(start, array.shape, array.dtype.name, owner=array, readonly=True)


@mutant("columns_of_numbers_are_shared", twin=honest_functions)
def forgets_offsets() -> Subject:
    """Reads numbers from the start of the buffer on."""
    return reading(_moved)


@mutant("columns_of_numbers_are_shared", "tensors_have_the_axes_that_they_say",
        twin=honest_functions)  # fmt: skip
def copies_columns() -> Subject:
    """Copies every column."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        return honest(x, **{**keywords, "copy": True})

    return reading(change)


@mutant("columns_come_in_read_only", twin=honest_functions)
def lets_memory_of_arrow_be_written() -> Subject:
    """Gives arrays that may be written to."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        array = honest(x, **keywords)
        return original().from_pointer(array.ptr, array.shape, array.dtype.name, owner=[array])

    return reading(change)


@mutant("columns_of_numbers_are_shared", twin=honest_functions)
def flattens_lists() -> Subject:
    """Gives the numbers of lists along one axis."""
    return reading(lambda honest, x, **keywords: honest(x, **keywords).reshape(-1))


@mutant("what_stands_for_something_else_is_refused", twin=honest_functions)
def gives_out_what_is_stored() -> Subject:
    """Gives integers for times and values of a dictionary, unasked."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        return honest(x, **{**keywords, "storage": True})

    return reading(change)


@mutant("what_stands_for_something_else_is_refused", twin=honest_functions)
def gives_out_the_storage_of_extensions() -> Subject:
    """Takes an extension type that it does not know for what it is stored as."""

    def act(honest: Any, x: Any, **keywords: Any) -> Any:
        return honest(x.but(metadata=None), **keywords)

    return instead("ARROW-TYPE-2", act)


@mutant("what_is_stored_comes_in_on_request", twin=honest_functions)
def never_gives_out_what_is_stored() -> Subject:
    """Refuses what stands for something else although what is stored was asked for."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        return honest(x, **{**keywords, "storage": False})

    return reading(change)


@mutant("what_is_stored_comes_in_on_request", twin=honest_functions)
def gives_out_days_without_a_sign() -> Subject:
    """Gives what is stored as unsigned integers."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        array = honest(x, **keywords)
        return array.view(f"uint{8 * array.itemsize}")

    return reading(change)


# ---------------------------------------------------------------- bools


@mutant("bools_that_need_a_copy_are_refused", twin=honest_functions)
def copies_bits_although_it_must_not() -> Subject:
    """Spreads bits although copy=False."""

    def change(honest: Any, x: Any, *, copy: bool | None = None, **keywords: Any) -> Any:
        return honest(x, copy=copy or None, **keywords)

    return reading(change)


@mutant("bools_that_need_a_copy_are_refused", twin=honest_functions)
def shares_bytes_that_are_no_bools() -> Subject:
    """Shares bytes of arrow.bool8 other than 0 and 1."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        if x.field.format != "c":
            return honest(x, **keywords)
        return honest(x, **{**keywords, "storage": True}).view("bool")

    return reading(change)


@mutant("bools_come_in_as_bytes_of_0_and_1", twin=honest_functions)
def copies_bytes_as_they_are() -> Subject:
    """Leaves bytes of arrow.bool8 as they are in a copy."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        if x.field.format != "c" or not keywords.get("copy"):
            return honest(x, **keywords)
        return honest(x, **{**keywords, "storage": True}).view("bool")

    return reading(change)


@mutant("bools_come_in_as_bytes_of_0_and_1", twin=honest_functions)
def copies_bytes_that_are_bools() -> Subject:
    """Copies bytes of arrow.bool8 that could be shared."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        return honest(x, **{**keywords, "copy": True})

    return reading(change)


@mutant("bools_come_in_as_bytes_of_0_and_1", twin=honest_functions)
def reads_the_highest_bit_first() -> Subject:
    """Reads the bits of each byte from the highest to the lowest."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        array = honest(x, **keywords)
        if x.field.format != "b":
            return array
        found = array.view("uint8").tolist()
        turned = [one for at in range(0, len(found), 8) for one in found[at : at + 8][::-1]]
        return original().from_buffer(bytes(turned), dtype="bool")

    return reading(change)


@mutant("bools_come_in_as_bytes_of_0_and_1", twin=honest_functions)
def gives_bytes_for_bools() -> Subject:
    """Gives uint8 for bools."""
    return reading(lambda honest, x, **keywords: honest(x, **keywords).view("uint8"))


# ---------------------------------------------------------------- tensors


@mutant("tensors_that_are_none_are_refused", twin=honest_functions)
def takes_tensors_for_lists() -> Subject:
    """Takes a column for one of lists where the metadata of its tensors are wrong."""

    def act(honest: Any, x: Any, **keywords: Any) -> Any:
        return honest(x.but(metadata=None), **keywords)

    return instead("ARROW-TENSOR-1", act)


@mutant("tensors_that_are_none_are_refused", twin=honest_functions)
def cites_the_rule_of_metadata() -> Subject:
    """Refuses tensors with the rule of metadata that cannot be read."""
    return reciting("ARROW-TENSOR-1", "ARROW-FORMAT-3")


def _said(x: Any) -> Any:
    """Return the parameters of tensors."""
    block = ctypes.create_string_buffer(x.field.metadata)
    return json.loads(decode_metadata(ctypes.addressof(block))[EXTENSION_METADATA])


def _as_it_lies(honest: Any, x: Any, **keywords: Any) -> tuple[Any, list[int]]:
    """Return tensors with the axes of the memory, and their permutation."""
    said = _said(x)
    shape = {"shape": said["shape"]}
    plain = x.but(metadata=arrow.extension("arrow.fixed_shape_tensor", json.dumps(shape)))
    return honest(plain, **keywords), said.get("permutation") or list(range(len(said["shape"])))


@mutant("tensors_have_the_axes_that_they_say", twin=honest_functions)
def forgets_permutations() -> Subject:
    """Gives tensors the axes of the memory."""
    return reading(lambda honest, x, **keywords: _as_it_lies(honest, x, **keywords)[0])


@mutant("tensors_have_the_axes_that_they_say", twin=honest_functions)
def turns_permutations_round() -> Subject:
    """Takes a permutation for its inverse."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        array, order = _as_it_lies(honest, x, **keywords)
        inverse = [order.index(axis) for axis in range(len(order))]
        return array.permute_dims((0, *(axis + 1 for axis in inverse)))

    return reading(change)
