"""From memory of the host that describes itself to `Array`: buffers and NumPy's records.

Source: PEP 3118; NumPy array interface, version 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interchange._array import Array
from interchange._protocols import host

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from interchange._types.typing import SupportsArrayInterface


def from_buffer(x: Buffer, /) -> Array:
    """Import an object with the buffer protocol: bytes, bytearray, array.array, memoryview, mmap...

    Parameters
    ----------
    x : object
        Anything that ``memoryview(x)`` takes, in any layout.

    Returns
    -------
    Array
        Sharing the memory; read-only where the buffer is.

    Raises
    ------
    NoProtocolError
        `x` gives no buffer (BUF-1).
    ExchangeError
        The buffer has suboffsets, structured or foreign elements, or strides that are no whole
        elements (BUF-SUBOFFSETS-1, BUF-FORMAT-1, DLP-STRIDES-3).

    Notes
    -----
    Source: PEP 3118.

    Examples
    --------
    >>> import array
    >>> from_buffer(array.array("h", [1, 2, 3])).dtype
    DType('int16')
    """
    return host.import_buffer(x, Array, "from_buffer()")


def from_array_interface(x: SupportsArrayInterface, /) -> Array:
    """Import an object with NumPy's ``__array_interface__``.

    Parameters
    ----------
    x : object
        Its record may point to memory, or hold an object with a buffer.

    Returns
    -------
    Array
        Sharing the memory; `x` is kept alive.

    Raises
    ------
    NoProtocolError
        `x` has no such attribute (AI-1).
    ExchangeError
        The record is malformed, masked, structured or of foreign byte order (``CAI-*``,
        AI-MASK-1, AI-DESCR-1, DLP-DTYPE-3).

    Notes
    -----
    Source: NumPy array interface, version 3.

    Examples
    --------
    >>> import numpy as np
    >>> from_array_interface(np.zeros((2, 3), "f4")).shape
    (2, 3)
    """
    return host.import_array_interface(x, Array, "from_array_interface()")
