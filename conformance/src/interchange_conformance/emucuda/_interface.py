"""The control interface of the emulated driver: the C functions that it exports beside ``cu*``.

Source: ``control.c``, ``reports.c`` and ``trace.c``.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char, c_char_p, c_int, c_size_t, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_BUFFER: Final = POINTER(c_char)
_STREAM = _ADDRESS = c_void_p
_PROTOTYPES: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "emu_hold": (c_int, (_STREAM, c_int)),
    "emu_delay": (c_int, (_STREAM, c_uint64)),
    "emu_pending": (c_uint64, (_STREAM,)),
    "emu_drop_waits": (None, (c_int,)),
    "emu_reports": (c_uint64, ()),
    "emu_report": (c_size_t, (c_uint64, _BUFFER, c_size_t)),
    "emu_reset": (None, ()),
    "emu_trace": (None, (c_int,)),
    "emu_calls": (c_uint64, ()),
    "emu_call": (c_size_t, (c_uint64, _BUFFER, c_size_t)),
    "emu_live": (c_uint64, (c_int,)),
    "emu_alias": (c_void_p, (_ADDRESS,)),
    "emu_room": (c_uint64, (_ADDRESS,)),
    "emu_annotate": (c_int, (_STREAM, _ADDRESS, c_size_t, c_int, c_char_p)),
    "emu_fill": (c_int, (_STREAM, _ADDRESS, c_size_t, c_int, c_char_p)),
    "emu_host_access": (None, (_ADDRESS, c_size_t, c_int, c_char_p)),
}


def bind(library: Path) -> ctypes.CDLL:
    """Load the driver with prototypes, so that its SONAME resolves to it in the whole process.

    Raises
    ------
    OSError
        It cannot be loaded.
    AttributeError
        It is not the emulated driver.
    """
    # a CDLL, not a PyDLL: calls wait for streams, whose host functions may need the GIL
    driver = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    for name, (result, arguments) in _PROTOTYPES.items():
        function = getattr(driver, name)
        function.restype, function.argtypes = result, arguments
    return driver


def texts(count: Callable[[], int], text: Callable[[int, Any, int], int]) -> list[str]:
    """Return all texts of a list in C, each read with the conventions of ``snprintf``."""
    return [_text(text, index) for index in range(count())]


def _text(text: Callable[[int, Any, int], int], index: int) -> str:
    """Return one of the texts."""
    size = text(index, None, 0) + 1
    buffer = ctypes.create_string_buffer(size)
    text(index, buffer, size)
    return buffer.value.decode(errors="replace")
