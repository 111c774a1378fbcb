"""`repr` of an Array, also in HTML and for rich: its attributes, and some host elements.

Only host memory is read, and never more than a few elements.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from interchange._protocols import host
from interchange._types.devices import CPU
from interchange._types.numpy_dtypes import has_numpy, load_numpy, numpy_dtype
from interchange.abi._show import name_of

from .allocations import Allocation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .array_base import ArrayBase

_EDGE = 3  # elements at each end of an axis
_MOST = 100  # elements shown without an ellipsis


def describe_array(array: ArrayBase) -> str:
    """Return the repr of an Array."""
    head = ", ".join(f"{name}={value}" for name, value in _fields(array).items())
    preview = _preview(array)
    if preview is None:
        return f"Array({head})"
    lines = "\n".join(f"      {line}" for line in preview.splitlines())
    return f"Array({head},\n{lines})"


def describe_array_in_html(array: ArrayBase) -> str:
    """Return the HTML that notebooks show for an Array."""
    from .html_repr import html_of  # rarely needed

    return html_of(array, _fields(array), _preview(array))


def rich_fields(array: ArrayBase) -> Iterator[tuple[str, Any]]:
    """Yield what rich shows of an Array: attributes, and elements if they are few."""
    for name in ("shape", "dtype", "device", "strides", "readonly"):
        yield name, getattr(array, name)
    yield "owner", "interchange" if _is_own(array) else type(array.owner)
    if _is_readable(array) and array.size <= _MOST:
        yield "elements", host.as_ndarray(array, "repr()").tolist()


def _fields(array: ArrayBase) -> dict[str, str]:
    """Return the attributes that the repr shows, as text."""
    return {
        "shape": str(array.shape),
        "dtype": str(array.dtype),
        "device": str(array.device),
        "strides": str(array.strides),
        "readonly": str(array.readonly),
        "owner": "interchange" if _is_own(array) else name_of(type(array.owner)),
    }


def _is_own(array: ArrayBase) -> bool:
    """Whether the memory was allocated here, by a driver."""
    return isinstance(array.owner, Allocation)


def _is_readable(array: ArrayBase) -> bool:
    """Whether there are elements, and NumPy can show them."""
    if array.device is not CPU or array.dtype.is_packed or not array.size:
        return False
    # A 32-bit array may be larger than NumPy supports there.
    return array.nbytes <= sys.maxsize and has_numpy() and numpy_dtype(array.dtype) is not None


def _preview(array: ArrayBase) -> str | None:
    """Return the elements as text, or None if they cannot be read."""
    if not _is_readable(array):
        return None
    view = host.as_ndarray(array, "repr()")
    text: str = load_numpy().array2string(
        view, threshold=_MOST, edgeitems=_EDGE, separator=", ", max_line_width=88
    )
    return text
