"""Pillow: images of one band, by the array interface.

Source: https://pillow.readthedocs.io/en/stable/reference/Image.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Subject

from ._common import need_dtype, need_writable
from ._devices import need_device

if TYPE_CHECKING:
    Shape = tuple[int, ...]

_MODES: Final = {"uint8": "L", "int32": "I", "float32": "F", "bool": "1", "uint16": "I;16"}


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return an image."""
    need_device(device, ("cpu",), "Pillow")
    need_dtype(dtype, _MODES, "Pillow")
    need_writable(readonly, "Pillow")
    if len(shape) != 2:
        raise CannotMakeError("an image of one band has two axes")

    from PIL import Image

    height, width = shape
    return Image.new(_MODES[dtype], (width, height))


def take(x: Any) -> Any:
    """Import by the array interface; Pillow copies the memory."""
    from PIL import Image

    return Image.fromarray(x)


def read(y: Any) -> list[Any]:
    """Return the elements."""
    return list(y.get_flattened_data() if hasattr(y, "get_flattened_data") else y.getdata())


def write(y: Any) -> None:
    """Set the first element."""
    y.putpixel((0, 0), 1)


subject: Subject = Subject(
    "Pillow",
    make=make,
    read=read,
    write=write,
    take_array_interface=take,
    distribution="pillow",
    preload=("PIL.Image",),
)
