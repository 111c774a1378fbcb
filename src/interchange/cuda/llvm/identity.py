"""A text that determines the code of a typed program, so that a cached one is not generated.

Equal texts mean equal code: every node is written with all of its fields, and variables and arrays
by the order in which they occur.  The text of the modules of `interchange.cuda` is part of it.
"""

from __future__ import annotations

import functools
import hashlib
import struct
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from interchange.cuda.intrinsics import Intrinsic
from interchange.cuda.types import ScalarType

if TYPE_CHECKING:
    from interchange.cuda.ir import Program

_PLAIN: Final = frozenset({int, str, bool, bytes, type(None)})
_NOT_WRITTEN: Final = frozenset({
    "reads", "writes", "memory", "functions", "calls", "kept", "places", "variables",
})  # fmt: skip
"""Fields of a program from which no code is generated."""


class _UnknownError(Exception):
    """An object of another kind is part of a program."""


def text_of(program: Program) -> str | None:
    """Return the text of a program, None if it contains objects that are not known here."""
    found = _Text()
    try:
        for each in fields(program):
            if each.name not in _NOT_WRITTEN:
                found.add(getattr(program, each.name))
    except (_UnknownError, RecursionError):
        return None
    return " ".join((generator(), *found.words))


class _Text:
    """The words of a program's text."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._known: dict[int, str] = {}

    def add(self, value: Any) -> None:
        """Add an object and what it consists of."""
        kind: Any = type(value)
        if kind in _PLAIN:
            self.words.append(repr(value))
        elif isinstance(value, ScalarType):  # that of a record has the name of its dtype
            self.words.append(value.name)
        elif isinstance(value, (list, tuple)):
            self.words.append(f"{kind.__name__}{len(value)}")
            for each in value:
                self.add(each)
        elif (names := _names_of(kind)) is not None:
            known = self._known.get(id(value))
            if known is not None:
                self.words.append(known)
                return
            self._known[id(value)] = f"#{len(self._known)}"
            self.words.append(kind.__name__)
            for name in names:
                self.add(getattr(value, name))
        else:
            self._add_other(value)

    def _add_other(self, value: Any) -> None:
        """Add a float by its bits, or an intrinsic by its name."""
        if type(value) is float:
            self.words.append(struct.pack("<d", value).hex())
        elif type(value) is complex:
            self.words.append(struct.pack("<2d", value.real, value.imag).hex())
        elif isinstance(value, Intrinsic):
            self.words.append(f"{type(value).__name__}.{value.name}")
        else:
            raise _UnknownError


@functools.cache
def _names_of(kind: type) -> tuple[str, ...] | None:
    """Return the names of the fields of a node, None for other objects."""
    return tuple(each.name for each in fields(kind)) if is_dataclass(kind) else None


@functools.cache
def generator() -> str:
    """Return a checksum of the text of the compiler."""
    found = hashlib.sha256()
    for folder in (Path(__file__).parent, Path(__file__).parents[1]):
        for path in sorted(folder.glob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()
