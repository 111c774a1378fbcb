"""The kinds of producers: one type for each signature that ``__dlpack__`` has had.

Source: array API standard, 2021.12 to 2025.12, and libraries older than it.  Some consumers cache
what they learn about a producer per type, so that a type never changes here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from .memory import ELEMENTS, Memory, c_strides, itemsize, reach
from .source import Source
from .structs import Description

if TYPE_CHECKING:
    from .memory import Element, Ints

S = TypeVar("S", bound=Source)

_ABSENT: Final[Any] = type("Absent", (), {"__repr__": lambda _: "<absent>"})()


def _foreign(cls: type[S]) -> type[S]:
    """Hide the module of a kind from libraries that identify producers by their module."""
    cls.__module__ = "foreign"
    return cls


class _Placed(Source):
    """A source with ``__dlpack_device__``."""

    def __dlpack_device__(self) -> Any:
        return self._device()


class _Keywords(Source):
    """A source whose ``__dlpack__`` accepts all four keywords."""

    def __dlpack__(
        self,
        *,
        stream: Any = _ABSENT,
        max_version: Any = _ABSENT,
        dl_device: Any = _ABSENT,
        copy: Any = _ABSENT,
    ) -> Any:
        given = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        sent = {name: value for name, value in given.items() if value is not _ABSENT}
        error = self._hear(sent)
        if error is not None:
            raise error
        return self._answer(sent)


@_foreign
class Producer(_Keywords, _Placed):
    """A producer of the current standard: all four keywords."""


@_foreign
class StreamOnly(_Placed):
    """A producer of 2021.12 and 2022.12: ``stream`` only."""

    def __dlpack__(self, *, stream: Any = _ABSENT) -> Any:
        sent = {} if stream is _ABSENT else {"stream": stream}
        error = self._hear(sent)
        if error is not None:
            raise error
        return self._answer(sent)


@_foreign
class Bare(_Placed):
    """A producer older than the standard: no keywords."""

    def __dlpack__(self) -> Any:
        error = self._hear({})
        if error is not None:
            raise error
        return self._answer({})


@_foreign
class AnyKeyword(_Placed):
    """A producer that accepts every keyword, and logs them in their order."""

    def __dlpack__(self, **keywords: Any) -> Any:
        error = self._hear(keywords)
        if error is not None:
            raise error
        return self._answer(keywords)


class _OpaqueMethod:
    """A method like those of extension modules: callable, without a readable signature."""

    def __init__(self, source: Source | None) -> None:
        self._source = source

    def __get__(self, source: Source | None, cls: type) -> _OpaqueMethod:
        return type(self)(source)

    @property
    def __signature__(self) -> Any:
        raise ValueError("no signature found")

    def __call__(self, **keywords: Any) -> Any:
        unknown = [name for name in keywords if name != "stream"]
        if unknown or self._source is None:
            raise TypeError(f"__dlpack__() got an unexpected keyword argument {unknown[0]!r}")
        error = self._source._hear(keywords)
        if error is not None:
            raise error
        return self._source._answer(keywords)


@_foreign
class Opaque(_Placed):
    """A compiled producer that accepts ``stream`` only, which cannot be found by inspection."""

    __dlpack__: _OpaqueMethod = _OpaqueMethod(None)


@_foreign
class Deviceless(_Keywords):
    """A producer without ``__dlpack_device__``."""


@_foreign
class Speechless(_Placed):
    """An object with ``__dlpack_device__`` but without ``__dlpack__``."""


SIGNATURES: Final[dict[str, type[Source]]] = {
    "modern": Producer,
    "stream": StreamOnly,
    "none": Bare,
    "keywords": AnyKeyword,
    "opaque": Opaque,
}
"""Keywords that ``__dlpack__`` accepts -> the kind of producer."""


@overload
def host(
    shape: Ints = ...,
    dtype: str | Element = ...,
    *,
    strides: Ints | None = ...,
    byte_offset: int = ...,
) -> Producer: ...


@overload
def host(
    shape: Ints = ...,
    dtype: str | Element = ...,
    *,
    strides: Ints | None = ...,
    byte_offset: int = ...,
    kind: type[S],
) -> S: ...


def host(
    shape: Ints = (2, 3),
    dtype: str | Element = "float32",
    *,
    strides: Ints | None = None,
    byte_offset: int = 0,
    kind: type[Source] = Producer,
) -> Source:
    """Return a correct producer of host memory, whose element number n has the value n.

    Parameters
    ----------
    shape : tuple[int, ...], default (2, 3)
        Extent of each axis [elements].
    dtype : str or tuple[int, int, int], default "float32"
        A name in `ELEMENTS`, or code, bits and lanes.
    strides : tuple[int, ...], optional
        Stride of each axis [elements]; C order by default.  The memory covers all elements, in both
        directions, and is numbered from its lowest element.
    byte_offset : int, default 0
        Offset of the first element from the ``data`` address [bytes].
    kind : type, default Producer
        Type of the producer, which determines its methods and keywords.

    Examples
    --------
    >>> source = host((2, 2), "int16", strides=(-2, 1))
    >>> source.values()
    [2, 3, 0, 1]
    """
    element = ELEMENTS[dtype] if isinstance(dtype, str) else dtype
    steps = c_strides(shape) if strides is None else strides
    empty = 0 in shape
    low, high = (0, -1) if empty else reach(shape, steps)
    memory = Memory(high - low + 1, element, lead=byte_offset)
    data = None if empty else memory.address - low * itemsize(element)
    said = Description(shape, steps, dtype=element, data=data, byte_offset=byte_offset)
    return kind(said, memory)


def claiming(
    device: tuple[int, int] = (2, 0), shape: Ints = (2, 3), dtype: str | Element = "float32"
) -> Producer:
    """Return a producer of host memory that claims to be on another device.

    Parameters
    ----------
    device : tuple[int, int], default (2, 0)
        Type and id, both in ``__dlpack_device__`` and in the capsule.
    shape, dtype
        As for `host`.

    Examples
    --------
    >>> claiming((2, 1)).__dlpack_device__()
    (2, 1)
    """
    return host(shape, dtype).but(device=device)
