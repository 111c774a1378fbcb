"""How `asarray` imports columns: by Arrow, or by another protocol where that loses nothing.

Source: The Arrow PyCapsule interface; Interoperability with NumPy, ``__array__``.
"""

from __future__ import annotations

from typing import Any

from interchange._array import Array
from interchange._protocols import dlpack, host
from interchange._protocols.array_method import import_array_method
from interchange._protocols.export_guards import hint_for_call, is_column
from interchange._protocols.protocol_attributes import attribute
from interchange._types.errors import (
    CopyNeededError,
    ExchangeError,
    NoProtocolError,
    UnsupportedDTypeError,
)

from .arrow_columns import import_arrow


def import_column(x: Any, copy: bool | None, call: str, stream: Any) -> tuple[Array, bool] | None:
    """Return an Array of a column, and whether it is a copy; None where DLPack raises the error.

    Parameters
    ----------
    x : object
        Has a method of Arrow; it does not support DLPack, or refused to export.
    copy, call, stream
        As in `interchange.asarray`, which is the call that errors name.

    Raises
    ------
    ExchangeError
        What Arrow refused is not spoken otherwise, or what else is spoken would drop nulls
        (ARROW-NULL-2), or tells less of the reason.
    """
    is_copy, tables = copy is True, attribute(x, "__array__") is None  # else of two axes
    try:
        return import_arrow(x, tables=tables, copy=is_copy, stream=stream, call=call), is_copy
    except BufferError as error:
        if _is_final(error, x, copy):
            raise _told_by(error, call) from error.__cause__
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
        raise _told_by(refused, call) from None


def _is_final(refused: BufferError, x: Any, copy: bool | None) -> bool:
    """Whether what Arrow refused may not be had by another protocol, or there is none."""
    if dlpack.supports_dlpack(x):
        return False
    if attribute(x, "__array__") is None:
        return True
    drops_nulls = isinstance(refused, ExchangeError) and refused.rule == "ARROW-NULL-2"
    return drops_nulls and not (copy or is_column(x))


def _is_clearer(refused: BufferError) -> bool:
    """Whether Arrow describes the elements, where ``__array__`` converts them."""
    if isinstance(refused, (CopyNeededError, UnsupportedDTypeError)):
        return True
    return isinstance(refused, ExchangeError) and refused.rule == "ARROW-NULL-2"


def _told_by(refused: BufferError, call: str) -> BufferError:
    """Return a refusal whose fix is one of this call."""
    if not isinstance(refused, ExchangeError):
        return refused  # of the producer
    return refused._but(call, hint_for_call(refused.hint, call))
