"""Any stream-like object to a handle.

Source: the ``__cuda_stream__`` protocol of cuda.core: a method that returns ``(0, handle)``.
"""

from __future__ import annotations

from interchange._terms.devices import is_index, is_pair
from interchange._terms.errors import StreamError, show


def stream_handle(stream: object, call: str) -> int | None:
    """Return the handle of `stream`, which is None, an int or has ``__cuda_stream__``.

    Parameters
    ----------
    stream : None, int or object with ``__cuda_stream__``
        What the user passed.
    call : str
        Named in the error.

    Raises
    ------
    StreamError
        `stream` is none of these (DLP-STREAM-4).

    Examples
    --------
    >>> stream_handle(7, "f()")
    7
    """
    if stream is None or is_index(stream):
        return stream  # type: ignore[return-value]
    describe = getattr(stream, "__cuda_stream__", None)
    if describe is not None:
        answer = describe()
        if is_pair(answer):
            return int(answer[1]) or None  # the null handle is the device's default stream
    raise StreamError(call, f"stream={show(stream)} is no int", "DLP-STREAM-4")
