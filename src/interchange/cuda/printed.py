"""Lines that kernels print: their formats, and those of host code, written to `sys.stdout`.

Source: Numba for CUDA, whose formats are those of ``vprintf``: ``%lld``, ``%llu`` and ``%f``.  Code
for the CPU adds each line to a list, which is written after the launch, or, on the emulated driver,
when the host waits for a stream; a GPU writes to the standard output of the process.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from typing import TYPE_CHECKING, Any, Final

from interchange.abi._loaded import c_library

if TYPE_CHECKING:
    from collections.abc import Callable

    from .ir import Program
    from .types import ScalarType

FORMATS: Final = {"bool": "%s", "int": "%lld", "uint": "%llu", "float": "%f"}
"""Kind of a number -> the conversion of ``printf``."""
_CTYPES: Final[dict[str, Any]] = {
    "bool": ctypes.c_int64, "int": ctypes.c_int64, "uint": ctypes.c_uint64,
    "float": ctypes.c_double,
}  # fmt: skip
_HEAD: Final = 16  # [bytes] of a line before its numbers: the next line, and its format
_NUMBER: Final = 8  # [bytes]


def format_of(line: tuple[str | ScalarType, ...]) -> str:
    """Return the format of a line for ``vprintf``, in which texts are literal."""
    parts = (
        each.replace("%", "%%") if isinstance(each, str) else FORMATS[each.kind] for each in line
    )
    return " ".join(parts) + "\n"


class Printed:
    """The lines that host code of a kernel has printed, and that are not yet written.

    Parameters
    ----------
    program : Program
        The kernel, whose lines are numbered.
    take : callable
        The function of its code that takes the list away from an address.
    """

    def __init__(self, program: Program, take: Callable[[int], int | None]) -> None:
        self._lines, self._take = program.lines, take
        self._head = ctypes.c_void_p()
        self.address: int = ctypes.addressof(self._head)

    def texts(self) -> list[str]:
        """Return the lines so far, in the order in which they were added, and forget them."""
        found: list[str] = []
        place = self._take(self.address)
        while place:
            following, number = (
                ctypes.c_uint64.from_address(place),
                ctypes.c_int64.from_address(place + _NUMBER),
            )
            after, line = following.value, self._lines[number.value]
            found.append(_formatted(line, place + _HEAD))
            _free(place)
            place = after
        return found[::-1]


def _formatted(line: tuple[str | ScalarType, ...], place: int) -> str:
    """Return the text of a line, whose numbers are at an address."""
    numbers: list[Any] = []
    for kind in (each.kind for each in line if not isinstance(each, str)):
        number = _CTYPES[kind].from_address(place + _NUMBER * len(numbers)).value
        numbers.append(bool(number) if kind == "bool" else number)
    conversions = format_of(line).replace("%ll", "%").replace("%u", "%d")
    return conversions % tuple(numbers)


_free: Final[Any] = c_library().free
_free.argtypes = [ctypes.c_void_p]
_lock: Final = threading.Lock()
_running: Final[list[Printed]] = []
"""Lines of kernels that run asynchronously, by host code."""


def keep(printed: Printed) -> None:
    """Write the lines of a kernel whenever the host waits for a stream."""
    with _lock:
        _running.append(printed)


def write(texts: list[str]) -> None:
    """Write lines to `sys.stdout`."""
    if texts:
        sys.stdout.write("".join(texts))


def write_running() -> None:
    """Write what kernels have printed so far that run asynchronously, by host code."""
    if _running:
        with _lock:
            texts = [text for printed in _running for text in printed.texts()]
        write(texts)
