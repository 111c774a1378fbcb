"""`repr` of an Array: shape, dtype, device, strides, readonly, owner, and some host elements.

Only host memory is read, and never more than a few elements.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from interchange._protocols import host
from interchange._types.devices import CPU
from interchange._types.numpy_dtypes import numpy_dtype
from interchange.abi._show import name_of

if TYPE_CHECKING:
    from .array_base import ArrayBase

_EDGE = 3  # elements at each end of an axis
_MOST = 100  # elements shown without an ellipsis


def describe_array(array: ArrayBase) -> str:
    """Return the repr of an Array."""
    name = name_of(type(array.owner))
    head = (
        f"Array(shape={array.shape}, dtype={array.dtype}, device={array.device},"
        f" strides={array.strides}, readonly={array.readonly}, owner={name}"
    )
    preview = _preview(array)
    return f"{head})" if preview is None else f"{head},\n{preview})"


def _preview(array: ArrayBase) -> str | None:
    """Return the elements as text, indented, or None if they cannot be read."""
    if array.device is not CPU or array.dtype.is_packed or not array.size:
        return None
    if array.nbytes > sys.maxsize or numpy_dtype(array.dtype) is None:
        return None  # a 32-bit array may be larger than NumPy supports there
    import numpy as np

    view = host.as_ndarray(array, "repr()")
    text = np.array2string(
        view, threshold=_MOST, edgeitems=_EDGE, separator=", ", max_line_width=88
    )
    return "\n".join(f"      {line}" for line in text.splitlines())
