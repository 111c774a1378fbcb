"""A wrapper around an array that logs the requests of a consumer.

Source: array API standard 2025.12, ``array.__dlpack__`` and ``array.__dlpack_device__``.
"""

from __future__ import annotations

from typing import Any

from .source import Call


class Recorder:
    """Forward the two DLPack methods of an array, and log each request.

    Attributes
    ----------
    log : list[Call]
        Every request, in order, with its keywords.

    Examples
    --------
    >>> from interchange_conformance import zoo
    >>> recorder = Recorder(zoo.host())
    >>> recorder.__dlpack_device__()
    (1, 0)
    >>> capsule = recorder.__dlpack__(max_version=(1, 3), copy=False)
    >>> recorder.log[-1]
    Call(method='__dlpack__', keywords={'max_version': (1, 3), 'copy': False})
    """

    def __init__(self, x: Any) -> None:
        self.x = x
        self.log: list[Call] = []

    def __dlpack__(self, **keywords: Any) -> Any:
        self.log.append(Call("__dlpack__", keywords))
        return self.x.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        self.log.append(Call("__dlpack_device__", {}))
        return self.x.__dlpack_device__()

    def __repr__(self) -> str:
        return f"Recorder({self.x!r})"
