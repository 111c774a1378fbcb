"""The readable core: capsules in and out, over ctypes alone.

Source: dlpack.h 1.3; the Python specification of DLPack.  Releases are native code: the producer's
own capsule destructor where the capsule is ours alone (`take_fresh`), else its deleter, called from
a finaliser, where CPython guards a pending exception (`take`).  Exports use deleters borrowed from
NumPy (`_borrow`).
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from interchange._terms.errors import ConsumedCapsuleError, ExchangeError, NoProtocolError, show
from interchange.abi import capsules
from interchange.abi.capsules import PyCapsule
from interchange.abi.dlpack import DLPACK_FLAG_BITMASK_READ_ONLY, DLPACK_VERSION
from interchange.abi.memory import memory

from ._loans import Loan
from ._numpy import ndarray_over, numpy_can_lend
from ._reading import (
    KNOWN_FLAGS,
    kinds,
    read_legacy,
    read_versioned,
    unpack_legacy,
    unpack_versioned,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from interchange._terms.devices import Device
    from interchange._terms.dtypes import DType
    from interchange._terms.errors import InterchangeError
    from interchange._terms.spec import Spec

T = TypeVar("T", bound="Tensor")

name: Final = "ctypes"

_new_object: Final = object.__new__
_set_destructor: Final = capsules.fast_set_destructor
_VERSIONED: Final = capsules.VERSIONED
_USED_VERSIONED: Final = capsules.USED_VERSIONED


class Tensor:
    """One described block of memory, kept alive.  See `interchange._core.abc.Tensor`.

    What the memory holds is looked up at the first use, where the producer can be trusted to have
    described it well; `_fields` is what is known until then.
    """

    __slots__ = ("__weakref__", "_fields", "_flags", "_keep", "_known", "_lend", "_owner", "_ptr")

    _ptr: int
    _known: Spec | None
    _fields: tuple[Any, ...]  # set where `_known` is None
    _flags: int | None
    _owner: Any
    _keep: Any
    _lend: Any  # unset until the first export

    @property
    def _spec(self) -> Spec:
        return self._known or _look_up(self)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each axis [elements]."""
        return (self._known or _look_up(self)).shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Step along each axis [elements]; may be negative or zero."""
        return (self._known or _look_up(self)).strides

    @property
    def dtype(self) -> DType:
        """Element type."""
        return (self._known or _look_up(self)).dtype

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return (self._known or _look_up(self)).device

    @property
    def ptr(self) -> int:
        """Address of the first element, 0 for an empty array; a handle on devices with handles."""
        if self._known is None:
            _look_up(self)
        return self._ptr


def _look_up(tensor: Tensor) -> Spec:
    """Fill in what the memory holds, from the fields of its struct."""
    fields = tensor._fields
    tensor._ptr, spec, _ = read_versioned(fields, "from_dlpack()")
    tensor._known = spec
    return spec


def describe(
    ptr: int, spec: Spec, flags: int | None, owner: object, keep: object, cls: type[T]
) -> T:
    """Return a tensor over memory that `keep` keeps alive; everything is checked before."""
    self = _new_object(cls)
    self._ptr = ptr
    self._known = spec
    self._flags = flags
    self._owner = owner
    self._keep = keep
    return self


# ---------------------------------------------------------------- consuming, by the letter


class _Lease:
    """Owns one managed tensor: calls its deleter once, when asked or when it dies."""

    __slots__ = ("_address", "_deleter")

    _address: int
    _deleter: Any  # None where there is nothing to release: DLP-LIFE-5

    def release(self) -> None:
        """Call the deleter, unless that was done or there is none."""
        deleter, self._deleter = self._deleter, None
        if deleter is not None:
            deleter(self._address)

    def __del__(self) -> None:
        deleter = self._deleter
        if deleter is not None:
            deleter(self._address)


_find_deleter: Final = capsules.deleters.get


def _learn_deleter(address: int) -> Any:
    """Return the deleter at an address met for the first time, or None for NULL."""
    return capsules.deleter_at(address) if address else None


def _lease(address: int, deleter: int) -> _Lease:
    """Return what owns the managed tensor at `address`."""
    lease = _new_object(_Lease)
    lease._address = address
    lease._deleter = _find_deleter(deleter) or _learn_deleter(deleter)
    return lease


_claim = threading.Lock()


def _renew_lock() -> None:
    """Give a forked child a lock that no thread of its parent holds."""
    global _claim  # noqa: PLW0603 - the one lock of the process
    _claim = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def take(
    capsule: Any,
    source: object,
    cls: type[T],
    call: str,
    _cell: Any = ctypes.py_object,
    _open: Any = capsules.fast_pointer,
    _rename: Any = capsules.fast_rename,
) -> T:
    """Consume any capsule by the letter: claim, rename, clear the destructor, own."""
    cell = _cell(capsule)
    with _claim:  # of two threads one wins
        try:
            address = _open(cell, _VERSIONED)
        except ValueError:
            address = 0
        else:
            _rename(cell, _USED_VERSIONED)
    if not address:
        return _take_legacy(capsule, source, cls, call)
    _set_destructor(cell, None)
    fields = unpack_versioned(memory, address)
    deleter = fields[1]
    lease = _new_object(_Lease)
    lease._address = address
    lease._deleter = _find_deleter(deleter) or _learn_deleter(deleter)
    try:
        ptr, spec, flags = read_versioned(fields, call)
    except BaseException:
        lease.release()
        raise
    self = _new_object(cls)
    self._ptr = ptr
    self._known = spec
    self._flags = flags
    self._owner = source
    self._keep = lease
    return self


def _take_legacy(capsule: Any, source: object, cls: type[T], call: str) -> T:
    """Consume a capsule that is not versioned, or say why it cannot be."""
    cell = ctypes.py_object(capsule)
    with _claim:
        try:
            address = capsules.fast_pointer(cell, capsules.LEGACY)
        except ValueError:
            address = 0
        else:
            capsules.fast_rename(cell, capsules.USED_LEGACY)
    if not address:
        raise _refuse_capsule(capsule, call)
    _set_destructor(cell, None)
    fields = unpack_legacy(memory, address)
    lease = _lease(address, fields[5])
    try:
        ptr, spec = read_legacy(fields, call)
    except BaseException:
        lease.release()
        raise
    return describe(ptr, spec, None, source, lease, cls)


def _refuse_capsule(capsule: object, call: str) -> InterchangeError:
    """Say why nothing could be claimed."""
    if type(capsule) is not capsules.PyCapsule:
        return NoProtocolError(call, f"{show(capsule)} is no capsule", "DLP-CAP-3")
    found = capsules.capsule_name(capsule)
    what = f"the capsule is named {None if found is None else found.decode('latin-1')!r}"
    if found in capsules.USED_NAME.values():
        return ConsumedCapsuleError(call, what, "DLP-CAP-2")
    return ExchangeError(call, what, "DLP-CAP-1")


def take_managed(address: int, source: object, cls: type[T], call: str) -> T:
    """Own a ``DLManagedTensorVersioned`` that is in no capsule."""
    fields = unpack_versioned(memory, address)
    lease = _lease(address, fields[1])
    try:
        ptr, spec, flags = read_versioned(fields, call)
    except BaseException:
        lease.release()
        raise
    return describe(ptr, spec, flags, source, lease, cls)


# ---------------------------------------------------------------- consuming what is ours alone


def take_fresh(capsule: Any, source: object, cls: type[T], call: str) -> T:
    """Consume a capsule nobody else refers to, whose destructor is native code.

    The capsule itself stays the owner: its destructor calls the deleter when the last view dies,
    which saves the rename and a finaliser of our own.  It must therefore be out of reach for
    everybody else, or it could be consumed twice.
    """
    cell = ctypes.py_object(capsule)
    try:
        address = capsules.fast_pointer(cell, capsules.VERSIONED)
    except ValueError:
        return take(capsule, source, cls, call)
    ptr, spec, flags = read_versioned(unpack_versioned(memory, address), call)
    return describe(ptr, spec, flags, source, cell, cls)


def _references() -> int:
    """Return what ``sys.getrefcount`` says of a capsule that one local variable refers to.

    Without the GIL counts are split between threads and say nothing: no capsule counts as alone.
    """
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return -1
    capsule = capsules.new_capsule(ctypes.addressof(capsules.anchor), None, None)
    return sys.getrefcount(capsule)


ALONE: Final = _references()
"""Reference count of a capsule that only the asking function refers to."""


def straight_import(
    cls: type[T], straight: Container[type], call: str
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Decorate an import function: objects of the types in `straight` skip the negotiation.

    Parameters
    ----------
    cls : type
        What the function returns.
    straight : container of types
        Types whose memory is always on the host, that know ``max_version``, and whose capsules
        have native destructors.
    call : str
        Named in errors.
    """
    make_cell = ctypes.py_object  # names of this function are found faster than those of modules
    open_capsule = capsules.fast_pointer

    def decorate(negotiate: Callable[..., T]) -> Callable[..., T]:
        @functools.wraps(negotiate)
        def import_(  # one body: each call within costs a tenth of the whole
            x: Any,
            /,
            *,
            device: Any = None,
            copy: Any = None,
            stream: Any = None,
            assume_writable: Any = False,
        ) -> T:
            if device is not None or copy is not None or stream is not None or assume_writable:
                return negotiate(
                    x, device=device, copy=copy, stream=stream, assume_writable=assume_writable
                )
            if type(x) not in straight:
                return take(x, None, cls, call) if type(x) is PyCapsule else negotiate(x)
            cell = make_cell(x.__dlpack__(max_version=DLPACK_VERSION))
            try:
                fields = unpack_versioned(memory, open_capsule(cell, _VERSIONED))
            except ValueError:
                return take(cell.value, x, cls, call)
            flags = fields[2]
            if fields[0] != 1 or flags > KNOWN_FLAGS or fields[4] not in kinds:
                return take_fresh(cell.value, x, cls, call)
            self = _new_object(cls)
            self._ptr = fields[3]
            self._known = None
            self._fields = fields
            self._flags = flags
            self._owner = x
            self._keep = cell
            return self

        return import_

    return decorate


# ---------------------------------------------------------------- exporting


def lender(tensor: Tensor, flags: int) -> Callable[..., Any]:
    """Return what makes capsules of the memory of `tensor`, by NumPy itself where it can."""
    spec = tensor._spec
    if flags == tensor._flags and numpy_can_lend(spec):
        readonly = bool(flags & DLPACK_FLAG_BITMASK_READ_ONLY)
        view = ndarray_over(tensor.ptr, spec, tensor._keep, readonly=readonly)
        return cast("Callable[..., Any]", view.__dlpack__)
    return Loan(tensor.ptr, spec, flags, tensor._keep).lend
