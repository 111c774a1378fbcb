"""Host memory by its older names: buffers, and objects with ``__array_interface__``.

Source: PEP 3118; NumPy array interface, version 3.  `view` makes a memoryview that says what it is
told, true or not; `Interfaced` an object whose record says what it is told.  What they point at is
kept for ever.
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
    """Return the address of a copy of some bytes, which stays there.

    Parameters
    ----------
    data : bytes
        What is to be there.
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
    """Return a memoryview that says what it is told.

    Parameters
    ----------
    address : int
        Of its first element.
    shape : tuple[int, ...]
        Extents [elements].
    strides : tuple[int, ...]
        Steps [bytes].
    letters : str
        Its format.
    itemsize : int
        Size of an element [bytes].
    readonly : bool, default False
        Whether it must not be written.
    suboffsets : tuple[int, ...], optional
        Where the pointer that an axis steps to is followed, and how far it is from there [bytes];
        negative where none is.

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
    """An object with ``__array_interface__``, and nothing else.

    Parameters
    ----------
    **record
        What the attribute returns, as a fresh dict each time.

    Attributes
    ----------
    read : int
        How often it was read.

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
