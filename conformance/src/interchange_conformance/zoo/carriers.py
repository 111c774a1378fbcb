"""Producers with a C exchange table, without a library that implements one.

Source: dlpack.h 1.3, DLPackExchangeAPI.  The table's functions are C, because Python cannot return
to C with an error set: they are compiled at run time from ``exchange_table.c``, and call methods of
the object that they are given.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange.abi.dlpack import (
    DLPACK_VERSION,
    DLManagedTensorVersioned,
    DLPackExchangeAPI,
    DLPackExchangeAPIHeader,
    DLPackVersion,
)
from interchange.abi.exchange import ATTRIBUTES

from . import compiled
from .kinds import Producer
from .source import Call
from .structs import Loan

if TYPE_CHECKING:
    from collections.abc import Callable

    from .source import Source

HONEST: Final = {
    "managed_tensor_allocator": "allocate",
    "managed_tensor_from_py_object_no_sync": "from_object",
    "managed_tensor_to_py_object_no_sync": "to_object",
    "dltensor_from_py_object_no_sync": "lend_object",
    "current_work_stream": "no_stream",
}
"""Member of a table -> the correct function for it in ``exchange_table.c``."""

_SOURCE: Final = "exchange_table.c"
_kept: Final[list[Any]] = []  # tables exist until the process exits


def function_address(name: str) -> int:
    """Return the address of a function of ``exchange_table.c``."""
    return compiled.function_address(_SOURCE, name)


def make_table(
    *, version: tuple[int, int] = DLPACK_VERSION, prev: int | None = None, **members: str | None
) -> int:
    """Return the address of an exchange table, which is never freed.

    Parameters
    ----------
    version : tuple[int, int], optional
        Version in the table's header.
    prev : int, optional
        Address of an older table.
    **members : str or None
        By member: the function of ``exchange_table.c`` to use instead of the correct one, or None
        for NULL.

    Raises
    ------
    CannotBuildError
        There is no C compiler.
    """
    header = DLPackExchangeAPIHeader(DLPackVersion(*version), prev)
    chosen = HONEST | members
    addresses = {
        member: None if name is None else function_address(name) for member, name in chosen.items()
    }
    table = DLPackExchangeAPI(header, **addresses)
    _kept.append(table)
    return ctypes.addressof(table)


def table_capsule(address: int, name: bytes = capsules.EXCHANGE_API) -> Any:
    """Return a capsule of a table; its name must be static."""
    return capsules.new_capsule(address, name, None)


def use_taker(take: Callable[[Any], Any]) -> None:
    """Set the function with which ``to_object`` of every table makes objects of capsules."""
    call = capsules.Prototype(None, ctypes.py_object)(function_address("set_taker"))
    call(take)


class _Carrying(Producer):
    """A producer with the methods that the functions of a table call."""

    def _for_table(self) -> Any:
        """Return the capsule for the table."""
        self.log.append(Call("_for_table", {}))
        return self._answer({"max_version": DLPACK_VERSION})

    @property
    def _dltensor(self) -> int:
        """Address of a struct for borrowing, which is never freed."""
        loan = Loan(self.said, self.memory, versioned=True)
        return loan.address + DLManagedTensorVersioned.dl_tensor.offset


def carrying(source: Source, table: int, *, on_instance: bool = False) -> Producer:
    """Return a producer like `source`, whose own type has an exchange table.

    Parameters
    ----------
    source : Source
        The description and memory.
    table : int
        Address of the table.
    on_instance : bool, default False
        Whether the table is an attribute of the object instead of its type, where consumers must
        not find it.

    Examples
    --------
    >>> from interchange.abi import exchange_table
    >>> from interchange_conformance.zoo import host
    >>> from interchange_conformance.zoo.carriers import carrying, make_table
    >>> x = carrying(host(), make_table())
    >>> exchange_table(type(x)).managed_from(x) == x.loans[0].address
    True
    """
    attribute = {ATTRIBUTES[0]: table_capsule(table)}
    cls = type("Carrier", (_Carrying,), {} if on_instance else attribute)
    cls.__module__ = "foreign"
    made: Producer = cls(source.said, source.memory, source.manners)
    if on_instance:
        vars(made).update(attribute)
    return made
