"""Use of the C exchange API of DLPack: find a type's table and call its functions.

Source: dlpack.h 1.3 (``DLPackExchangeAPI``); 1.2 had another attribute name and an int. The
functions run with the GIL held and raise the callee's exception.  None of them synchronizes.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

from . import capsules
from .dlpack import DLPACK_MAJOR_VERSION, DLPackExchangeAPI, DLPackExchangeAPIHeader, DLTensor

ATTRIBUTES: Final = ("__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__")
"""The attributes with the table: since 1.3, and in 1.2."""

_LAST_ADDRESS: Final = 2 ** (8 * ctypes.sizeof(ctypes.c_void_p)) - 1
_MOST_MAJORS: Final = 16  # maximum length of the chain of older tables

_FromPyObject = capsules.Prototype(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
_ToPyObject = capsules.Prototype(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))
_DLTensorFromPyObject = capsules.Prototype(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
_CurrentWorkStream = capsules.Prototype(
    ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)
)


class ExchangeTable:
    """The functions of one exchange table, callable from Python.

    Parameters
    ----------
    address : int
        Address of a ``DLPackExchangeAPI`` of major version 1, alive for the whole process.
    """

    __slots__ = ("_current", "_managed_to", "_tensor_from", "address", "make_managed", "version")

    make_managed: Any
    """``f(x, byref(pointer))`` -> 0; the pointer is to a new struct for `x`, owned by the caller.

    Any other result, or an exception, is a failure.  False if the table has no such function.
    """

    def __init__(self, address: int) -> None:
        table = DLPackExchangeAPI.from_address(address)
        self.address: int = address
        self.version: tuple[Any, Any] = (table.header.version.major, table.header.version.minor)
        self.make_managed = _FromPyObject(table.managed_tensor_from_py_object_no_sync or 0)
        self._managed_to = _ToPyObject(table.managed_tensor_to_py_object_no_sync or 0)
        self._current = _CurrentWorkStream(table.current_work_stream or 0)
        tensor_from = table.dltensor_from_py_object_no_sync
        self._tensor_from = _DLTensorFromPyObject(tensor_from) if tensor_from else None

    @staticmethod
    def _has(function: Any) -> bool:
        """Whether a member of the table is not NULL."""
        return bool(function)

    @property
    def has_tensor_from(self) -> bool:
        """Whether the table can describe an object without owning it."""
        return self._tensor_from is not None

    def managed_from(self, x: object) -> int:
        """Return the address of an owned ``DLManagedTensorVersioned`` for `x`.

        The caller owns it and calls its deleter once.  `x` must have exactly the type that has the
        table.  A result that an interrupt discards after the call is leaked.
        """
        if not self._has(self.make_managed):
            raise BufferError("the exchange table has no managed_tensor_from_py_object_no_sync")
        out = ctypes.c_void_p()
        if self.make_managed(x, ctypes.byref(out)) or not out.value:
            raise BufferError("the exchange table failed without setting an error")
        return out.value

    def managed_to(self, address: int) -> Any:
        """Return a new object of the table's library that takes over the tensor at `address`."""
        if not self._has(self._managed_to):
            raise BufferError("the exchange table has no managed_tensor_to_py_object_no_sync")
        out = ctypes.py_object()
        if self._managed_to(address, ctypes.byref(out)):
            raise BufferError("the exchange table failed without setting an error")
        result = out.value
        capsules.decrease_reference(result)  # the reference belongs to this call
        return result

    def tensor_from(self, x: object) -> DLTensor:
        """Return a borrowed description of `x`, valid while `x` is alive and unchanged."""
        if self._tensor_from is None:
            raise BufferError("the exchange table has no dltensor_from_py_object_no_sync")
        out = DLTensor()
        if self._tensor_from(x, ctypes.byref(out)):
            raise BufferError("the exchange table failed without setting an error")
        return out

    def current_work_stream(self, device_type: int, device_id: int) -> int | None:
        """Return the library's current stream on a device, or None for the null handle."""
        if not self._has(self._current):
            raise BufferError("the exchange table has no current_work_stream")
        out = ctypes.c_void_p()
        if self._current(device_type, device_id, ctypes.byref(out)):
            raise BufferError("the exchange table failed without setting an error")
        return out.value


def _table_address(value: object) -> int | None:
    """Return the address in the attribute's value: a capsule, or an int from 1.2."""
    if type(value) is int:  # a bool is not an address
        return value if 0 < value <= _LAST_ADDRESS else None
    if type(value) is not capsules.PyCapsule:
        return None
    if capsules.capsule_name(value) != capsules.EXCHANGE_API:
        return None
    return int(capsules.capsule_pointer(value, capsules.EXCHANGE_API))


def exchange_table(cls: type) -> ExchangeTable | None:
    """Return the exchange table of `cls`, of a major version known here, or None.

    Parameters
    ----------
    cls : type
        The exact type of the objects to exchange; attributes of instances are ignored (DLP-API-1).

    Returns
    -------
    ExchangeTable or None
        None if the type has no table, or none of major version 1.
    """
    for attribute in ATTRIBUTES:
        address = _table_address(getattr(cls, attribute, None))
        for _ in range(_MOST_MAJORS):
            if not address:
                break
            header = DLPackExchangeAPIHeader.from_address(address)
            if header.version.major == DLPACK_MAJOR_VERSION:
                return ExchangeTable(address)
            address = header.prev_api
    return None
