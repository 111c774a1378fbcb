"""Common code of the checks of the C exchange table: its type, and readers of its results.

Source: dlpack.h 1.3, ``DLPackExchangeAPI``.  A struct without a capsule is put into one, without a
destructor, so that it is read like any other.
"""

from __future__ import annotations

import builtins
import ctypes
import importlib
import re
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange.abi import capsules
from interchange.abi.dlpack import (
    DLDataType,
    DLDevice,
    DLManagedTensorVersioned,
    DLPackExchangeAPI,
    DLPackVersion,
    DLTensor,
)
from interchange.abi.exchange import ATTRIBUTES, exchange_table
from interchange_conformance.findings import BrokenSubjectError, Found, NotApplicable
from interchange_conformance.probes.opened_capsule import OpenedCapsule

if TYPE_CHECKING:
    from interchange.abi.exchange import ExchangeTable
    from interchange_conformance.probes.under_test import ProducerUnderTest

    Ints = tuple[int, ...]

_SILENT: Final = "without setting an error"  # wording of `ExchangeTable`


# ---------------------------------------------------------------- the type with the table


def carrier_of(producer: ProducerUnderTest, x: Any = None) -> type:
    """Return the type with the table: the one that the subject names, else an array's.

    Parameters
    ----------
    producer : ProducerUnderTest
        The library.
    x : object, optional
        An array of the library; made if omitted.

    Raises
    ------
    BrokenSubjectError
        The type that the subject names cannot be imported.
    """
    spec = producer.subject.array_type
    if spec is None:
        return type(producer.make() if x is None else x)
    module, _, name = spec.partition(":")
    try:
        found: Any = reduce(getattr, name.split("."), importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        raise BrokenSubjectError(f"array_type={spec!r}: {error}") from error
    cls: type = found
    return cls


def attributes_of(x: object) -> list[str]:
    """Return those of the two attribute names under which an object or a type has a table."""
    return [name for name in ATTRIBUTES if getattr(x, name, None) is not None]


def address_of_table(cls: type) -> int:
    """Return the address in the attribute of a type, without validation.

    Raises `NotApplicable`: the type has no table, or its attribute has an invalid form.
    """
    names = attributes_of(cls)
    if not names:
        raise NotApplicable(f"{cls.__name__} has no exchange table")
    value = getattr(cls, names[0])
    if type(value) is int and value:
        return value
    if type(value) is capsules.PyCapsule:
        return int(capsules.capsule_pointer(value, capsules.capsule_name(value)))
    raise NotApplicable(f"{cls.__name__}.{names[0]} is {value!r:.200}, which leads nowhere")


def table_of(producer: ProducerUnderTest, x: Any = None) -> ExchangeTable:
    """Return the exchange table of the subject's arrays, or of one of them.

    Raises `NotApplicable`: they have no table of major version 1.
    """
    cls = carrier_of(producer, x)
    found = exchange_table(cls)
    if found is None:
        raise NotApplicable(f"{cls.__name__} has no exchange table of major version 1")
    return found


def of_the_carrier(producer: ProducerUnderTest, x: Any) -> Any:
    """Return an array; it must have exactly the type with the table."""
    cls = carrier_of(producer, x)
    if type(x) is not cls:
        what = f"the array is {type(x).__name__}, and the exchange table that of {cls.__name__}"
        raise NotApplicable(what)
    return x


# ---------------------------------------------------------------- calls


def silent(error: BaseException) -> bool:
    """Return whether an error represents a return value of -1 without an error set."""
    return isinstance(error, BufferError) and _SILENT in str(error)


def described(table: ExchangeTable, x: Any) -> OpenedCapsule:
    """Return the result of `owned`; if the table fails, the check does not apply.

    Raises `NotApplicable`: the function failed, which other checks report.
    """
    try:
        return owned(table, x)
    except Found as found:
        raise NotApplicable(str(found)) from found


def owned(table: ExchangeTable, x: Any) -> OpenedCapsule:
    """Return the tensor that a table exports of an array, to be consumed and released.

    Raises `Found`: the function failed, and set an error; `NotApplicable`: the function failed
    without setting an error, which another check reports.
    """
    try:
        address = table.managed_from(x)
    except Exception as error:
        what = f"managed_tensor_from_py_object_no_sync of {type(x).__name__}"
        if silent(error):
            raise NotApplicable(f"{what} failed, and no error was set") from error
        raise Found(f"{what} failed: {error!r:.300}") from error
    return opened_at(address)


def opened_at(address: int) -> OpenedCapsule:
    """Return a reader of a managed tensor that has no capsule."""
    return OpenedCapsule(capsules.new_capsule(address, capsules.VERSIONED, None))


class BorrowedTensor(NamedTuple):
    """A borrowed tensor, in a struct that can be read like an owned one."""

    opened: OpenedCapsule
    struct: DLManagedTensorVersioned


def borrowed(table: ExchangeTable, x: Any) -> BorrowedTensor:
    """Return the borrowed tensor of an array."""
    version = DLPackVersion(*table.version)
    struct = DLManagedTensorVersioned(version=version, dl_tensor=table.tensor_from(x))
    return BorrowedTensor(opened_at(ctypes.addressof(struct)), struct)


# ---------------------------------------------------------------- the allocator

_Allocate: Final = capsules.Prototype(
    ctypes.c_int,
    ctypes.POINTER(DLTensor),
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_void_p,
    ctypes.c_void_p,
)
_SET_ERROR: Final = ctypes.cast(ctypes.CDLL(None).strcat, ctypes.c_void_p).value
"""The error callback of the allocator, called with a context, a kind and a message: ``strcat``
appends the kind to the context, which is a buffer, and ignores the third argument.  It is native
code, because no Python function becomes a C function pointer (DLP-LIFE-4)."""
_KIND: Final = 4096  # size of the buffer [bytes]


_KINDS: Final = "|".join(
    sorted(
        (name for name, kind in vars(builtins).items() if isinstance(kind, type)
         and issubclass(kind, BaseException)),
        key=len,
        reverse=True,
    )
)  # fmt: skip


def calls_in(kinds: str) -> int:
    """Return how many calls of ``SetError`` a text is from: one, if it is not a list of errors.

    Parameters
    ----------
    kinds : str
        Concatenated error kinds.

    Examples
    --------
    >>> calls_in("MemoryError"), calls_in("MemoryErrorValueErrorMemoryError")
    (1, 3)
    """
    found = re.findall(_KINDS, kinds)
    return len(found) if "".join(found) == kinds else 1


class Allocated(NamedTuple):
    """The result of an allocator; `kind` joins the kinds that ``SetError`` was called with."""

    code: int
    address: int
    kind: str


def allocate(
    table: ExchangeTable, shape: Ints, element: tuple[int, int, int], device: tuple[int, int]
) -> Allocated:
    """Ask a table for a tensor.

    Parameters
    ----------
    table : ExchangeTable
        The table.
    shape : tuple of int
        Extents [elements].
    element : tuple of int
        Code, bits and lanes.
    device : tuple of int
        Type and id.

    Raises
    ------
    NotApplicable
        The table has no allocator.
    """
    function = DLPackExchangeAPI.from_address(table.address).managed_tensor_allocator
    if not function:
        raise NotApplicable("managed_tensor_allocator is NULL")
    extents = (ctypes.c_int64 * len(shape))(*shape)
    prototype = DLTensor(
        device=DLDevice(*device),
        ndim=len(shape),
        dtype=DLDataType(*element),
        shape=ctypes.cast(extents, ctypes.POINTER(ctypes.c_int64)),
    )
    out, context = ctypes.c_void_p(), ctypes.create_string_buffer(_KIND)
    where = ctypes.addressof(context)
    try:
        code = _Allocate(function)(ctypes.byref(prototype), ctypes.byref(out), where, _SET_ERROR)
    except Exception:  # noqa: BLE001 - a Python error may be set as well
        code = -1
    return Allocated(code, out.value or 0, context.value.decode("latin-1"))
