"""`Producer`: a base class that supports every protocol by one method.

Source: array API standard 2025.12 (``__dlpack__``); NumPy array interface; PEP 688.
"""

from __future__ import annotations

from typing import Any

from interchange._array import Array
from interchange._types.errors import ExchangeError, show


def check_described(array: object, x: object, call: str) -> Array:
    """Return the result of ``__interchange__`` of `x`, if it is an Array."""
    if isinstance(array, Array):
        return array
    what = f"__interchange__() of {type(x).__name__} returned {show(array)}"
    raise ExchangeError(call, what, "IX-PRODUCER-1")  # no TypeError: that means an old producer


class Producer:
    """A mixin for classes that hold memory: define ``__interchange__`` to support every protocol.

    ``__interchange__(self)`` returns an `Array`, usually made by `from_pointer` with
    ``owner=self``.

    Examples
    --------
    >>> import ctypes
    >>> import numpy as np
    >>> import interchange as ix
    >>> class Samples(ix.Producer):
    ...     def __init__(self, count):
    ...         self.block = (ctypes.c_double * count)()
    ...
    ...     def __interchange__(self):
    ...         address = ctypes.addressof(self.block)
    ...         return ix.from_pointer(address, (len(self.block),), "float64", owner=self)
    >>> np.from_dlpack(Samples(3))
    array([0., 0., 0.])
    """

    __slots__ = ()

    def __interchange__(self) -> Array:
        """Return the memory as an Array: to be defined by the class."""
        raise NotImplementedError(f"{type(self).__name__} defines no __interchange__()")

    def _described(self) -> Array:
        """Return the result of ``__interchange__``, checked."""
        return check_described(self.__interchange__(), self, f"{type(self).__name__}")

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a new capsule of the memory."""
        return self._described().__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return device type and id."""
        return self._described().__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return an ndarray over the memory."""
        return self._described().__array__(dtype, copy)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._described().__array_interface__

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self._described().__cuda_array_interface__

    def __buffer__(self, flags: int, /) -> memoryview:
        return self._described().__buffer__(flags)


Producer.__module__ = "interchange"
