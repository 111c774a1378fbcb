"""The metadata of an array, by each of its protocols: shape and element type.

Source: dlpack.h 1.3; CUDA Array Interface, version 3; NumPy array interface; PEP 3118.  If two
protocols of an array disagree, a rule is broken, and the checks of that protocol report it; a
caller that only needs the intended metadata accepts the first that matches.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange_conformance.findings import Found
from interchange_conformance.zoo.memory import ELEMENTS

from .opened_capsule import OpenedCapsule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NAMES: Final = {element: name for name, element in ELEMENTS.items()}
_KINDS: Final = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}
"""Letter of a typestr -> first part of a name; the second part is the number of bits."""
_FORMATS: Final = {
    **dict.fromkeys("bhilqn", "int"),
    **dict.fromkeys("BHILQN", "uint"),
    **dict.fromkeys("efd", "float"),
    "?": "bool",
}
"""Letter of a buffer format -> first part of a name."""


class ArrayMetadata(NamedTuple):
    """Shape and element type of an array, as one protocol reports them.

    Attributes
    ----------
    by : str
        The protocol, such as ``"__dlpack__"``.
    shape : tuple of int
        Extents [elements].
    dtype : str
        Name of the element type; ``"?"`` if this protocol has no name for it.
    """

    by: str
    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.by} says {self.dtype} of shape {self.shape}"


def metadata_of(x: Any) -> list[ArrayMetadata]:
    """Return the metadata of an array, as reported by each protocol that it supports."""
    return [found for ask in _WAYS for found in ask(x)]


def has_protocol(x: Any) -> bool:
    """Return whether an object supports any protocol for arrays."""
    protocols = ("__dlpack__", "__array_interface__", "__cuda_array_interface__")
    return any(hasattr(x, protocol) for protocol in protocols) or _has_buffer(x)


def _has_buffer(x: Any) -> bool:
    """Return whether an object exports a buffer; False if it refuses."""
    try:
        memoryview(x)
    except TypeError:
        return False
    except Exception:  # noqa: BLE001 - any exception of a library
        return True
    return True


def _by_dlpack(x: Any) -> Iterator[ArrayMetadata]:
    """Yield the metadata of the newest DLPack struct."""
    for keywords in ({"max_version": (1, 3)}, {}):
        with contextlib.suppress(Exception, Found):
            opened = OpenedCapsule(x.__dlpack__(**keywords))
            yield ArrayMetadata("__dlpack__", opened.shape or (), _NAMES.get(opened.dtype, "?"))
            return


def _by_interface(attribute: str) -> Callable[[Any], Iterator[ArrayMetadata]]:
    """Return a function that yields the metadata of an interface dictionary."""

    def say(x: Any) -> Iterator[ArrayMetadata]:
        with contextlib.suppress(Exception):
            record = getattr(x, attribute)
            yield ArrayMetadata(attribute, tuple(record["shape"]), _named(record["typestr"]))

    return say


def _named(typestr: str) -> str:
    """Return the name of a typestr such as ``"<f4"``."""
    kind = _KINDS.get(typestr[1], "?")
    return kind if kind in {"bool", "?"} else f"{kind}{8 * int(typestr[2:])}"


def _by_buffer(x: Any) -> Iterator[ArrayMetadata]:
    """Yield the metadata of the buffer."""
    with contextlib.suppress(Exception), memoryview(x) as view:
        letters = view.format.lstrip("@=<>!")
        kind = "complex" if letters[:1] == "Z" else _FORMATS.get(letters, "?")
        name = kind if kind in {"bool", "?"} else f"{kind}{8 * view.itemsize}"
        yield ArrayMetadata("its buffer", tuple(view.shape or ()), name)


def _by_attributes(x: Any) -> Iterator[ArrayMetadata]:
    """Yield the metadata of the attributes ``shape`` and ``dtype``."""
    with contextlib.suppress(Exception):
        name = str(x.dtype).rpartition(".")[2].rstrip("_")
        yield ArrayMetadata("the array", tuple(map(int, x.shape)), name)


_WAYS: Final = (
    _by_dlpack,
    _by_interface("__array_interface__"),
    _by_interface("__cuda_array_interface__"),
    _by_buffer,
    _by_attributes,
)
