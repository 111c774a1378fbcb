"""Variants of interchange that read or write columns of Arrow in another way.

Source: interchange, its rule book; `checks.functions_arrow`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange_conformance.zoo import arrow

from ._proxies import citing, functions_of, honest_functions, original
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.subject import Subject


def _reading(change: Callable[..., Any]) -> Subject:
    """Return a subject whose from_arrow() is ``change(honest, x, **keywords)``."""

    def from_arrow(x: Any, /, **keywords: Any) -> Any:
        return change(original().from_arrow, x, **keywords)

    return functions_of(from_arrow=from_arrow)


def _writing(change: Callable[..., Any]) -> Subject:
    """Return a subject whose to_arrow() is ``change(honest, x, **keywords)``."""

    def to_arrow(x: Any, /, **keywords: Any) -> Any:
        return change(original().to_arrow, x, **keywords)

    return functions_of(to_arrow=to_arrow)


def _instead(rule: str, answer: Callable[[Any], Any]) -> Subject:
    """Return a subject that gives something instead of a refusal by a rule."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        try:
            return honest(x, **keywords)
        except original().InterchangeError as error:
            if error.rule != rule:
                raise
            return answer(x)

    return _reading(change)


@mutant("columns_with_nulls_are_refused", twin=honest_functions)
def makes_numbers_of_nulls() -> Subject:
    """Gives the data of a column with nulls."""
    return _instead("ARROW-NULL-2", lambda x: original().from_arrow(x, nulls="separate")[0])


@mutant("nulls_are_given_apart", twin=honest_functions)
def masks_what_is_null() -> Subject:
    """Gives a mask that is True where an element is null."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        found = honest(x, **keywords)
        if keywords.get("nulls") != "separate":
            return found
        data, mask = found
        flat = bytearray(not one for one in bytes(memoryview(mask.copy()).cast("B")))
        return data, original().from_buffer(flat, dtype="bool", shape=mask.shape)

    return _reading(change)


@mutant("null_counts_that_lie_are_refused", twin=honest_functions)
def believes_null_counts() -> Subject:
    """Takes a null_count that lies."""
    return _instead(
        "ARROW-NULL-1", lambda x: original().from_arrow(x.but(null_count=-1), nulls="separate")[0]
    )


@mutant("elements_without_one_width_are_refused", twin=honest_functions)
def reads_no_strings() -> Subject:
    """Gives an array without elements for strings."""
    return _instead("ARROW-TYPE-1", lambda _: original().from_buffer(b""))


@mutant("what_stands_for_something_else_is_refused", twin=honest_functions)
def gives_what_is_stored() -> Subject:
    """Gives the integers of dates and dictionaries, asked or not."""
    return _instead("ARROW-TYPE-2", lambda x: original().from_arrow(x, storage=True))


@mutant("what_is_stored_is_given_on_request", twin=honest_functions)
def copies_what_is_stored() -> Subject:
    """Copies what is stored."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        if keywords.get("storage"):
            keywords["copy"] = True
        return honest(x, **keywords)

    return _reading(change)


@mutant("bits_are_not_shared", twin=honest_functions)
def copies_bits_always() -> Subject:
    """Copies bits, also where no copy was to be made."""
    return _instead("ARROW-BOOL-1", lambda x: original().from_arrow(x))


@mutant("bools_become_bytes", twin=honest_functions)
def reads_bits_from_the_start() -> Subject:
    """Reads the bits of bools from the start of a byte on."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        is_bits = getattr(x, "field", None) is not None and x.field.format == "b"
        return honest(x.but(offset=x.chunks[0].offset // 8 * 8) if is_bits else x, **keywords)

    return _reading(change)


@mutant("several_chunks_are_refused", twin=honest_functions)
def joins_chunks_always() -> Subject:
    """Copies several chunks into one array, asked or not."""
    return _instead("ARROW-CHUNK-1", lambda x: original().from_arrow(x, copy=True))


@mutant("several_chunks_are_joined_by_a_copy", twin=honest_functions)
def copies_the_first_chunk() -> Subject:
    """Copies the first of several chunks."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        if len(getattr(x, "chunks", ())) > 1:
            x.chunks = x.chunks[:1]
        return honest(x, **keywords)

    return _reading(change)


@mutant("columns_come_in_read_only", twin=honest_functions)
def copies_every_column() -> Subject:
    """Copies every column."""
    return _reading(lambda honest, x, **keywords: honest(x, **{**keywords, "copy": True}))


@mutant("tensors_that_are_none_are_refused", twin=honest_functions)
def ignores_wrong_tensors() -> Subject:
    """Gives lists for tensors whose parameters are wrong."""
    return _instead("ARROW-TENSOR-1", lambda x: original().from_arrow(x.but(metadata=None)))


@mutant("tensors_have_their_shape", twin=honest_functions)
def ignores_permutations() -> Subject:
    """Gives tensors as they lie in memory."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        if b"permutation" in (getattr(getattr(x, "field", None), "metadata", None) or b""):
            x = x.but(metadata=arrow.tensors("int32", (2, 2, 3)).field.metadata)
        return honest(x, **keywords)

    return _reading(change)


@mutant("arrays_go_out_as_tensors", twin=honest_functions)
def writes_lists_for_tensors() -> Subject:
    """Gives columns of lists where tensors are asked for."""
    return _writing(lambda honest, x, **_: honest(x))


@mutant("arrays_without_a_column_are_refused", twin=honest_functions)
def writes_bytes_for_any_elements() -> Subject:
    """Gives a column of bytes for elements that Arrow has not."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        try:
            return honest(x, **keywords)
        except original().InterchangeError as error:
            if error.rule != "ARROW-OUT-1":
                raise
            return honest(original().from_buffer(bytearray(x.nbytes)))

    return _writing(change)


@mutant("arrays_go_out_as_columns", twin=honest_functions)
def copies_what_goes_out() -> Subject:
    """Copies what goes out as a column."""
    return _writing(
        lambda honest, x, **keywords: honest(
            x.copy() if hasattr(x, "dtype") and x.dtype.name == "int8" else x, **keywords
        )
    )


@mutant("arrays_that_lie_apart_are_refused", twin=honest_functions)
def copies_what_lies_apart() -> Subject:
    """Copies arrays whose elements lie apart."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        try:
            return honest(x, **keywords)
        except original().CopyNeededError:
            return honest(x.copy(), **keywords)

    return _writing(change)


@mutant("columns_that_make_no_table_are_refused", twin=honest_functions)
def cuts_columns_to_one_length() -> Subject:
    """Gives a table of the first column where another one is longer or elsewhere."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        try:
            return honest(x, **keywords)
        except original().ViewError as error:
            if error.rule != "ARROW-OUT-3":
                raise
            name, first = next(iter(x.items()))
            return honest({name: first}, **keywords)

    return _writing(change)


class _Recited:
    """A column whose errors cite another rule."""

    def __init__(self, column: Any) -> None:
        self.column = column

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.column, name)

        def call(**keywords: Any) -> Any:
            try:
                return method(**keywords)
            except original().InterchangeError as error:
                raise citing(error, "IX-CONVERT-1") from None

        return call


@mutant("exports_need_the_native_core", twin=honest_functions)
def cites_another_rule_for_the_core() -> Subject:
    """Says that a library is missing where the core cannot export."""
    return _writing(lambda honest, x, **keywords: _Recited(honest(x, **keywords)))


@mutant("imports_wait_for_the_event", twin=honest_functions)
def waits_for_no_event() -> Subject:
    """Imports memory of a device, and waits for no event."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        if keywords.get("stream") is not None:
            keywords["stream"] = -1
        return honest(x, **keywords)

    return _reading(change)


@mutant("exports_have_an_event_after_their_work", twin=honest_functions)
def exports_without_an_event() -> Subject:
    """Exports memory of a device as if it were ready."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        if str(getattr(x, "device", "cpu")) == "cpu":
            return honest(x, **keywords)
        ix = original()
        ready = ix.from_pointer(x.ptr, x.shape, x.dtype, device=x.device, owner=x)
        return honest(ready, **keywords)

    return _writing(change)
