"""Spies in the structs of other libraries: they count calls of release callbacks.

Source: the Arrow C data and C stream interfaces, Release callback semantics.  A spy is a C function
that forwards the first call; a second call, which would free twice, is only counted.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

from interchange.abi import capsules
from interchange.abi.arrow import (
    ARROW_ARRAY,
    ARROW_ARRAY_STREAM,
    ARROW_DEVICE_ARRAY,
    ARROW_DEVICE_ARRAY_STREAM,
    ARROW_RELEASE,
    ARROW_SCHEMA,
)
from interchange_conformance.zoo import compiled

_POINTER: Final = ctypes.sizeof(ctypes.c_void_p)
_FUNCTIONS: Final = {
    ARROW_SCHEMA: "spy_on_schema",
    ARROW_ARRAY: "spy_on_array",
    ARROW_DEVICE_ARRAY: "spy_on_array",
    ARROW_ARRAY_STREAM: "spy_on_stream",
    ARROW_DEVICE_ARRAY_STREAM: "spy_on_device_stream",
}
_kept: Final[list[Any]] = []
capsules.increase_reference(_kept)  # structs may be released after this module is unloaded


class _Record(ctypes.Structure):
    """The C ``struct spy``."""

    _fields_ = (
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
        ("calls", ctypes.c_int64),
        ("left", ctypes.c_int64),
        ("looks", ctypes.c_int64),
    )


class Spy:
    """Counts the releases of a struct of another library.

    Parameters
    ----------
    name : bytes
        Name of the capsule that belongs to such a struct.
    address : int
        Address of the struct, which must not be released.
    is_below : bool, default False
        Whether it is a child or a dictionary, which may be freed by its release.
    """

    def __init__(self, name: bytes, address: int, *, is_below: bool = False) -> None:
        place = address + ARROW_RELEASE[name]
        release = ctypes.c_void_p.from_address(place)
        private_data = ctypes.c_void_p.from_address(place + _POINTER)
        self._record = _Record(release.value, private_data.value, looks=not is_below)
        _kept.append(self._record)
        private_data.value = ctypes.addressof(self._record)
        release.value = compiled.function_address("arrow_spies.c", _FUNCTIONS[name])

    @property
    def calls(self) -> int:
        """How often the release callback was called."""
        return int(self._record.calls)

    @property
    def left(self) -> bool:
        """Whether the callback left the ``release`` field unchanged (ARROW-RELEASE-1)."""
        return bool(self._record.left)
