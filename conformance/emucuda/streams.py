"""Any stream-like object to the handle that the driver's calls take.

Source: the ``__cuda_stream__`` protocol of cuda.core; ``CUstream`` of cuda.bindings, which `int`
takes.
"""

from __future__ import annotations

from typing import Any


def handle_of(stream: Any) -> int:
    """Return the handle of a stream.

    Parameters
    ----------
    stream : int, or object with ``__cuda_stream__`` or ``__int__``
        0 and 1 stand for the legacy, 2 for the per-thread default stream.

    Raises
    ------
    TypeError
        `stream` is none of these.

    Examples
    --------
    >>> handle_of(2)
    2
    """
    describe = getattr(stream, "__cuda_stream__", None)
    if describe is not None:
        # cuda.core had it as an attribute before it became a method
        _version, handle = describe() if callable(describe) else describe
        return int(handle)
    if isinstance(stream, (str, bytes, float)) or not hasattr(stream, "__int__"):
        raise TypeError(
            f"{stream!r} is no stream: pass a handle, or an object with __cuda_stream__ or __int__"
        )
    return int(stream)
