"""Host memory by the older protocols: buffers, and objects with ``__array_interface__``.

Source: PEP 3118; NumPy array interface, version 3.  `view` makes a memoryview with given fields,
valid or not; `Interfaced` makes an object with a given record.  Their memory is never freed.
"""

from __future__ import annotations

import ctypes
from math import prod
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange.abi.buffers import Py_buffer

if TYPE_CHECKING:
    from .memory import Ints

_from_buffer: Final = capsules.python_function(
    "PyMemoryView_FromBuffer", ctypes.py_object, ctypes.POINTER(Py_buffer)
)
_kept: Final[list[Any]] = []


def kept(data: bytes) -> int:
    """Return the address of a copy of some bytes that is never freed.

    Parameters
    ----------
    data : bytes
        The bytes.
    """
    block = ctypes.create_string_buffer(data, max(1, len(data)))
    _kept.append(block)
    return ctypes.addressof(block)


def view(
    address: int,
    shape: Ints,
    strides: Ints,
    letters: str,
    itemsize: int,
    *,
    readonly: bool = False,
    suboffsets: Ints | None = None,
) -> memoryview:
    """Return a memoryview with the given fields.

    Parameters
    ----------
    address : int
        Address of the first element.
    shape : tuple[int, ...]
        Extents [elements].
    strides : tuple[int, ...]
        Strides [bytes].
    letters : str
        The format.
    itemsize : int
        Size of an element [bytes].
    readonly : bool, default False
        Whether it is read-only.
    suboffsets : tuple[int, ...], optional
        Per axis, the offset from the pointer at each step that is dereferenced [bytes]; negative
        for an axis without pointers.

    Examples
    --------
    >>> view(kept(bytes(range(6))), (2, 3), (3, 1), "B", 1).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    vector = ctypes.c_ssize_t * len(shape)
    buffer = Py_buffer(
        buf=address,
        len=prod(shape) * itemsize,
        itemsize=itemsize,
        readonly=readonly,
        ndim=len(shape),
        format=letters.encode(),
        shape=vector(*shape),
        strides=vector(*strides),
    )
    if suboffsets is not None:
        buffer.suboffsets = vector(*suboffsets)
    _kept.append(buffer)
    found: memoryview = _from_buffer(ctypes.byref(buffer))
    return found


class Interfaced:
    """An object with ``__array_interface__`` only.

    Parameters
    ----------
    **record
        The items of the dict that the attribute returns, a new one each time.

    Attributes
    ----------
    read : int
        How often the attribute was read.

    Examples
    --------
    >>> Interfaced(version=3).__array_interface__
    {'version': 3}
    """

    read: int

    def __init__(self, **record: Any) -> None:
        self._record = record
        self.read = 0

    @property
    def __array_interface__(self) -> dict[str, Any]:
        self.read += 1
        return dict(self._record)
