"""The ctypes core: capsules in and out, over ctypes alone.

Source: dlpack.h 1.3; the Python specification of DLPack.  Memory is released by the producer's own
capsule destructor where the capsule is ours alone (`consume_fresh_capsule`), else by its deleter,
called from a finaliser, where CPython guards a pending exception (`consume_capsule`).  Exports use
NumPy's deleters (`_numpy_deleters`).
"""

from __future__ import annotations

import ctypes
import functools
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from interchange._streams.ordering import note_ready
from interchange._types.devices import CPU
from interchange._types.errors import (
    NO_ROOM,
    InterchangeError,
)
from interchange.abi import capsules
from interchange.abi.capsules import PyCapsule
from interchange.abi.dlpack import (
    DLPACK_MAJOR_VERSION,
    DLPACK_VERSION,
    DLDataTypeCode,
    DLManagedTensor,
    DLManagedTensorVersioned,
)
from interchange.abi.memory import SHIFT, memory, pointers, words

from ._export import answer_again, make_capsule
from ._owners import (
    CAN_RELEASE,
    HAS_GIL,
    LEGACY_CLAIM,
    NOTHING,
    VERSIONED_CLAIM,
    VERSIONED_DELETER,
    ManagedTensorOwner,
    as_pointer,
    check_interpreter,
    claim,
    deleters,
    empty_owner,
    keep_deleter,
    one_at_a_time,
    release_owner,
)
from ._parsing import (
    KNOWN_FLAGS,
    foreign_major,
    kinds,
    read_legacy,
    read_versioned,
    refuse_capsule,
    refuse_handles,
    unpack_legacy,
    unpack_versioned,
)
from ._tensor import Tensor, array_type, computed, describe, redescribe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from interchange.abi.exchange import ExchangeTable

    from ._arrow import (
        ArrowOwner,
        call_stream,
        make_arrow,
        make_arrow_schema,
        make_arrow_stream,
        new_arrow,
        stream_error,
        take_arrow,
    )
    from .core_protocol import FastPath, Launcher
    from .plans import Plan

    F = TypeVar("F", bound=Callable[..., Any])
    T = TypeVar("T", bound="Tensor")

__all__ = [
    "ALONE",
    "ArrowOwner",
    "Tensor",
    "answer_again",
    "array_type",
    "call_stream",
    "check_interpreter",
    "computed",
    "consume_capsule",
    "consume_fresh_capsule",
    "consume_managed_tensor",
    "describe",
    "device_in_capsule",
    "fast_asarray",
    "fast_checks",
    "fast_import",
    "fast_operator",
    "fast_records",
    "import_unordered",
    "make_arrow",
    "make_arrow_schema",
    "make_arrow_stream",
    "make_capsule",
    "make_launcher",
    "new_arrow",
    "redescribe",
    "release",
    "serve_c_callers",
    "stream_error",
    "take_arrow",
]

name: Final = "ctypes"

if not TYPE_CHECKING:  # checkers see the imports above

    def __getattr__(name: str) -> Any:
        """Import what owns structs of Arrow when it is first asked for: most never do."""
        if name not in __all__:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        from . import _arrow

        return getattr(_arrow, name)


_new_object: Final = object.__new__
_VERSIONED: Final = capsules.VERSIONED


# ---------------------------------------------------------------- consuming, by the letter


def consume_capsule(
    capsule: Any,
    source: object,
    cls: type[T],
    call: str,
    _cell: Any = ctypes.py_object,
    _hide: Any = capsules.fast_hide_from_collector,
) -> T:
    """Consume any capsule by the letter: claim, rename, clear the destructor, own."""
    owner = _new_object(ManagedTensorOwner)  # as `empty_owner`
    owner.__del__ = NOTHING
    cell = _cell(owner)
    _hide(cell)
    cell.value = capsule
    try:
        address = claim(owner, cell, VERSIONED_CLAIM)
    except ValueError:
        return _consume_legacy_capsule(owner, cell, source, cls, call)
    try:  # as `_own`
        if words[address >> 2] != DLPACK_MAJOR_VERSION:
            raise foreign_major(address, call)
        ptr, spec, flags = read_versioned(unpack_versioned(memory, address), call)
    except InterchangeError:
        release_owner(owner)
        raise
    self = _new_object(cls)
    self._ptr = ptr
    self._known = spec
    self._flags = flags
    self._owner = source
    self._keepalive = owner
    return self


def _consume_legacy_capsule(
    owner: ManagedTensorOwner, cell: Any, source: object, cls: type[T], call: str
) -> T:
    """Consume a capsule that is not versioned, or say why it cannot be."""
    try:
        address = claim(owner, cell, LEGACY_CLAIM)
    except ValueError:
        raise refuse_capsule(cell.value, call) from None
    try:
        ptr, spec = read_legacy(unpack_legacy(memory, address), call)
    except InterchangeError:
        release_owner(owner)
        raise
    return describe(ptr, spec, None, source, owner, cls)


if not HAS_GIL:  # C code is interrupted by other threads, too
    consume_capsule = one_at_a_time(consume_capsule)


def device_in_capsule(capsule: Any) -> int | None:
    """Return the device type that a capsule says, without consuming it; None if it cannot be read.

    Nothing is decided by it but whether an argument makes sense.
    """
    cell = ctypes.py_object(capsule)
    for name, struct_ in (
        (capsules.VERSIONED, DLManagedTensorVersioned),
        (capsules.LEGACY, DLManagedTensor),
    ):
        try:
            address = capsules.fast_pointer(cell, name)
        except ValueError:
            continue
        if struct_ is DLManagedTensorVersioned and words[address >> 2] != DLPACK_MAJOR_VERSION:
            return None
        return int(struct_.from_address(address).dl_tensor.device.device_type)
    return None


def consume_managed_tensor(
    table: ExchangeTable,
    source: object,
    cls: type[T],
    call: str,
    _pointer: Any = ctypes.c_void_p,
    _reference: Any = ctypes.byref,
) -> T | None:
    """Own the struct that an exchange table makes of an object, None where it makes none."""
    if not table.make_managed:
        return None
    owner, _ = empty_owner()
    out = _pointer()
    made = map(table.make_managed, (source,), (_reference(out),))
    try:
        try:
            (failed,) = made
        except NO_ROOM:
            raise
        except Exception:  # noqa: BLE001 - whatever a library raises
            return None
        address = out.value
        if failed or not address:
            return None
        deleter = pointers[address + VERSIONED_DELETER >> SHIFT]
        if deleter:
            function = deleters.get(deleter) or keep_deleter(deleter)
            owner.__del__ = partial(function, as_pointer(address))
    except BaseException:  # as in `claim`
        address = out.value
        if address and owner.__del__ is NOTHING and pointers[address + VERSIONED_DELETER >> SHIFT]:
            deleter = pointers[address + VERSIONED_DELETER >> SHIFT]
            try:
                function = deleters[deleter]
            except KeyError:
                function = capsules.fast_deleter(deleter)
            function(as_pointer(address))
        raise
    return _own(owner, address, source, cls, call)


def _own(owner: ManagedTensorOwner, address: int, source: object, cls: type[T], call: str) -> T:
    """Return the tensor of a versioned struct, or give it back and refuse."""
    try:
        if words[address >> 2] != DLPACK_MAJOR_VERSION:
            raise foreign_major(address, call)
        ptr, spec, flags = read_versioned(unpack_versioned(memory, address), call)
    except InterchangeError:
        release_owner(owner)
        raise
    self = _new_object(cls)
    self._ptr = ptr
    self._known = spec
    self._flags = flags
    self._owner = source
    self._keepalive = owner
    return self


# ---------------------------------------------------------------- consuming what is ours alone


def consume_fresh_capsule(capsule: Any, source: object, cls: type[T], call: str) -> T:
    """Consume a capsule nobody else refers to, whose destructor is native code.

    The capsule itself stays the owner: its destructor calls the deleter when the last view dies,
    which saves the rename and a finaliser of our own.  It must therefore be out of reach for
    everybody else, or it could be consumed twice.
    """
    cell = ctypes.py_object(capsule)
    try:
        address = capsules.fast_pointer(cell, capsules.VERSIONED)
    except ValueError:
        return consume_capsule(capsule, source, cls, call)
    try:
        if words[address >> 2] != DLPACK_MAJOR_VERSION:
            raise foreign_major(address, call)
        ptr, spec, flags = read_versioned(unpack_versioned(memory, address), call)
    except InterchangeError:
        _release_capsule(cell)
        raise
    return describe(ptr, spec, flags, source, cell, cls)


def _release_capsule(cell: Any) -> None:
    """Release what is in a versioned capsule of ours; a debugger may still refer to it."""
    owner, _ = empty_owner()
    claim(owner, cell, VERSIONED_CLAIM)
    release_owner(owner)


def release(tensor: Tensor) -> None:
    """Release the memory of a fresh import that nobody has seen, whoever refers to the tensor."""
    if isinstance(tensor._keepalive, ManagedTensorOwner):
        release_owner(tensor._keepalive)
    else:
        _release_capsule(tensor._keepalive)


_MOST_ALONE: Final = 1 if sys.version_info >= (3, 14) else 2
"""Since CPython 3.14 the call that asks borrows its argument from the local variable."""


def _references() -> int:
    """Return what ``sys.getrefcount`` says of a capsule that one local variable refers to.

    Without the GIL counts are split between threads and say nothing: no capsule counts as alone.
    """
    if not HAS_GIL:
        return -1
    capsule = capsules.new_capsule(ctypes.addressof(capsules.anchor), None, None)
    return min(sys.getrefcount(capsule), _MOST_ALONE)  # a debugger's trace function holds one more


ALONE: Final = _references()
"""Reference count of a capsule that only the asking function refers to."""


def fast_import(  # noqa: C901 - each call within costs a tenth of the whole
    cls: type[T], fast_path: FastPath, call: str
) -> Callable[[F], F]:
    """Decorate an import function: objects of the type in `fast_path` skip the negotiation.

    Parameters
    ----------
    cls : type
        What the function returns.
    fast_path : object
        Its ``kind`` is the type whose memory is always on the host, that knows ``max_version``,
        and whose capsules have native destructors; None while it is not known.
    call : str
        Named in errors.
    """
    if not CAN_RELEASE:
        return lambda negotiate: negotiate  # which refuses
    make_cell = ctypes.py_object  # names of this function are found faster than those of modules
    open_capsule = capsules.fast_pointer
    handles = DLDataTypeCode.kDLOpaqueHandle

    def decorate(negotiate: F) -> F:
        @functools.wraps(negotiate)
        def import_(  # one body: each call within costs a tenth of the whole
            x: Any,
            /,
            *,
            device: Any = None,
            copy: Any = None,
            stream: Any = None,
            assume_writable: Any = False,
        ) -> Any:
            if device is not None or copy is not None or stream is not None or assume_writable:
                return negotiate(
                    x, device=device, copy=copy, stream=stream, assume_writable=assume_writable
                )
            kind: type | None = type(x)
            if kind is not fast_path.kind:
                if type(x) is not PyCapsule:
                    return negotiate(x)
                found = consume_capsule(x, None, cls, call)
                spec = found._known or found._spec
                if spec.dtype.code is handles:
                    refuse_handles(spec, call, found)
                if spec.device is not CPU:
                    note_ready(found, None, None, call)
                return found
            try:
                cell = make_cell(x.__dlpack__(max_version=DLPACK_VERSION))
            except BufferError:
                return negotiate(x)  # which says why
            try:
                fields = unpack_versioned(memory, open_capsule(cell, _VERSIONED))
            except ValueError:
                return consume_capsule(cell.value, x, cls, call)
            flags = fields[2]
            if fields[0] != DLPACK_MAJOR_VERSION or flags > KNOWN_FLAGS or fields[4] not in kinds:
                return consume_fresh_capsule(cell.value, x, cls, call)
            self = _new_object(cls)
            self._ptr = fields[3]
            self._known = None
            self._fields = fields
            self._flags = flags
            self._owner = x
            self._keepalive = cell
            return self

        return import_  # type: ignore[return-value]

    return decorate


def fast_asarray(careful: F) -> F:
    """Leave ``asarray`` as it is: it asks `fast_import` for what is fast."""
    return careful


def fast_checks(careful: Callable[..., T], plans: Sequence[Plan | None]) -> Callable[..., T]:
    """Leave contracts to Python, which remembers what met them last."""
    del plans
    return careful


def serve_c_callers() -> None:
    """Leave C callers to the native core: a Python function is never called by a C pointer."""


def import_unordered(x: Any) -> Any:  # noqa: ARG001 - of the contract
    """Return None: whoever wants an Array imports it in the ordinary way."""
    return None


def make_launcher(
    calls: tuple[int, int, int],
    streams: dict[int, int],
    pending: type,
    on_consumer: type,
    ordered: type,
) -> Launcher | None:
    """Leave repeated launches to Python."""
    del calls, streams, pending, on_consumer, ordered
    return None


def fast_operator(
    name: str, direct: Callable[[Any, Any], Any], careful: F, is_reflected: bool
) -> F:
    """Leave an operator as it is."""
    del name, direct, is_reflected
    return careful


def fast_records(
    from_record: Callable[..., T], publish: Callable[..., Any], is_plain: Callable[[type], bool]
) -> Callable[[F], F]:
    """Leave the import of records as it is."""
    del from_record, publish, is_plain
    return lambda careful: careful
