"""Import of columns by `asarray`: by Arrow, or by another protocol if that loses nothing.

Source: The Arrow PyCapsule interface; Interoperability with NumPy, ``__array__``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from interchange import _core
from interchange._array import Array
from interchange._protocols import dlpack, host
from interchange._protocols.array_method import import_array_method
from interchange._protocols.arrow.elements import tensor_axes
from interchange._protocols.arrow.producers import Answer, Moved
from interchange._protocols.export_guards import hint_for_call, is_column
from interchange._protocols.protocol_attributes import ARROW_METHODS, attribute, column_method_of
from interchange._types.errors import (
    CopyNeededError,
    ExchangeError,
    NoProtocolError,
    UnsupportedDTypeError,
)

from .arrow_importing import import_arrow


def import_column(
    x: Any, copy: bool | None, call: str, stream: Any, given: list[Answer | Moved] | None = None
) -> tuple[Array, bool] | None:
    """Return an Array of a column, and whether it is a copy; None if DLPack raises the error.

    `x`: an object with a method of Arrow; it does not support DLPack, or refused to export.
    `copy`, `call`, `stream`: as for `interchange.asarray`, the call that errors name.
    `given`: what was got from `x` already, as for `take`.

    Raises ExchangeError: arrow refused, and no other protocol is supported, or it would drop nulls
        (ARROW-NULL-2), or its error is less specific.
    """
    is_copy, tables = copy is True, attribute(x, "__array__") is None  # else of two axes
    try:
        return import_arrow(
            x, tables=tables, copy=is_copy, stream=stream, given=given, call=call
        ), is_copy
    except BufferError as error:
        if _is_final(error, x, copy):
            raise _with_hint_for(error, call) from error.__cause__
        refused = error.with_traceback(None)  # which would hold this frame
    try:
        return host.import_buffer(x, Array, call), False
    except NoProtocolError:
        if dlpack.supports_dlpack(x):
            return None
    try:
        return import_array_method(x, Array, copy, call), False
    except (CopyNeededError, UnsupportedDTypeError):
        if not _is_clearer(refused):
            raise
        raise _with_hint_for(refused, call) from None


def _is_final(refused: BufferError, x: Any, copy: bool | None) -> bool:
    """Whether no other protocol can or may be used after Arrow refused."""
    if dlpack.supports_dlpack(x):
        return False
    if attribute(x, "__array__") is None:
        return True
    drops_nulls = isinstance(refused, ExchangeError) and refused.rule == "ARROW-NULL-2"
    return drops_nulls and not (copy or is_column(x))


def _is_clearer(refused: BufferError) -> bool:
    """Whether Arrow preserves the elements, while ``__array__`` converts them."""
    if isinstance(refused, (CopyNeededError, UnsupportedDTypeError)):
        return True
    return isinstance(refused, ExchangeError) and refused.rule == "ARROW-NULL-2"


def _with_hint_for(refused: BufferError, call: str) -> BufferError:
    """Return the error with a fix for this call."""
    if not isinstance(refused, ExchangeError):
        return refused  # an error of the producer
    return refused._but(call, hint_for_call(refused.hint, call))


# ---------------------------------------------------------------- what the native core begins


def resume(x: Any, is_shared: bool, *given: Any) -> Any:
    """Return the rest of ``asarray(x)`` if it is shared, or of ``from_arrow(x)``.

    `given`: the fields of an `Answer`, or of what was `Moved`.
    """
    once = [Answer(*given) if len(given) == len(Answer._fields) else Moved(*given)]
    del given  # which the traceback of an error would keep
    if not is_shared:
        return import_arrow(x, given=once, call="from_arrow()")
    found = import_column(x, None, "asarray()", None, once)
    return import_array_method(x, Array, None, "asarray()") if found is None else found[0]


@lru_cache(maxsize=256)
def _remembered_axes(parameters: bytes, size: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the result of `tensor_axes` as tuples."""
    shape, order = tensor_axes(parameters, size)
    return tuple(shape), tuple(order)


_core.use_columns(resume, _remembered_axes, ARROW_METHODS, column_method_of)
