"""Device objects of other libraries, read by the record of the library that defines them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import UnsupportedDeviceError, show
from .library import library_of

if TYPE_CHECKING:
    from .library import Pair


def read_device(value: object, call: str) -> Pair | None:
    """Return the device that an object of a library means, None for any other object.

    Raises UnsupportedDeviceError: DLPack has no number for it, or it means more than one device
        (DLP-DEV-1).
    """
    cls = type(value)
    library = library_of(cls)
    if library.read_device is None or cls.__name__ not in library.device_types:
        return None
    found = library.read_device(value, call)
    if found is None:
        what = f"device={show(value)} has no number in DLPack"
        raise UnsupportedDeviceError(call, what, "DLP-DEV-1", "say where the memory is: 'cpu'")
    return found
