"""The ctypes core: import and export of capsules with ctypes only.

Source: dlpack.h 1.3; the Python specification of DLPack.  Memory is released by the deleter of the
struct, called from a finaliser, where CPython keeps a pending exception.  Exports use NumPy's
deleters (`_numpy_deleters`).
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import NO_ROOM, InterchangeError
from interchange.abi import capsules
from interchange.abi.dlpack import (
    DLPACK_MAJOR_VERSION,
    DLManagedTensor,
    DLManagedTensorVersioned,
)
from interchange.abi.memory import SHIFT, memory, pointers, words

from ._export import make_capsule
from ._owners import (
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
    foreign_major,
    read_legacy,
    read_versioned,
    refuse_capsule,
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
        arrow_type,
        call_stream,
        export_plain,
        join_views,
        make_arrow,
        make_arrow_batches,
        make_arrow_schema,
        make_arrow_stream,
        measure_views,
        new_arrow,
        plain_blocks,
        plain_column,
        scan_offsets,
        scan_views,
        shift_offsets,
        stream_error,
        take_arrow,
        take_chunks,
        write_offsets,
    )
    from ._bits import count_bits, fill_zeros, join_blocks, pack_bits, spread_bits
    from ._strided import copy_strided
    from .core_protocol import FastPath, Launcher
    from .plans import Plan

    F = TypeVar("F", bound=Callable[..., Any])
    T = TypeVar("T", bound="Tensor")

__all__ = [
    "ArrowOwner",
    "Tensor",
    "array_type",
    "arrow_type",
    "call_stream",
    "check_interpreter",
    "computed",
    "consume_capsule",
    "consume_managed_tensor",
    "copy_strided",
    "count_bits",
    "describe",
    "device_in_capsule",
    "export_plain",
    "fast_asarray",
    "fast_checks",
    "fast_copies",
    "fast_function",
    "fast_import",
    "fast_operator",
    "fast_records",
    "fill_zeros",
    "import_unordered",
    "join_blocks",
    "join_views",
    "make_arrow",
    "make_arrow_batches",
    "make_arrow_schema",
    "make_arrow_stream",
    "make_capsule",
    "make_launcher",
    "measure_views",
    "new_arrow",
    "pack_bits",
    "plain_blocks",
    "plain_column",
    "redescribe",
    "release",
    "scan_offsets",
    "scan_views",
    "serve_c_callers",
    "shift_offsets",
    "spread_bits",
    "stream_error",
    "take_arrow",
    "take_chunks",
    "write_offsets",
]

name: Final = "ctypes"

if not TYPE_CHECKING:  # type checkers see the imports above

    def __getattr__(name: str) -> Any:
        """Import the modules for Arrow on first use: most programs need none."""
        if name not in __all__:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        from . import _arrow, _bits, _strided

        home = _strided if hasattr(_strided, name) else _bits
        return getattr(home if hasattr(home, name) else _arrow, name)


# ---------------------------------------------------------------- import of capsules


def consume_capsule(capsule: Any, source: object, cls: type[T], call: str) -> T:
    """Consume a capsule strictly: claim it, rename it, clear its destructor, own its struct."""
    owner, cell = empty_owner()
    cell.value = capsule
    try:
        address = claim(owner, cell, VERSIONED_CLAIM)
    except ValueError:
        return _consume_legacy_capsule(owner, cell, source, cls, call)
    return _own(owner, address, source, cls, call)


def _consume_legacy_capsule(
    owner: ManagedTensorOwner, cell: Any, source: object, cls: type[T], call: str
) -> T:
    """Consume a legacy capsule, or refuse a capsule of another name."""
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


if not HAS_GIL:  # other threads run during C calls
    consume_capsule = one_at_a_time(consume_capsule)


def device_in_capsule(capsule: Any) -> int | None:
    """Return the device type in a capsule without consuming it; None if it cannot be read.

    It is used only to validate arguments.
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
) -> T | None:
    """Own the struct that an exchange table makes of an object; None if it makes none."""
    if not table.make_managed:
        return None
    owner, _ = empty_owner()
    out = ctypes.c_void_p()
    made = map(table.make_managed, (source,), (ctypes.byref(out),))
    try:
        try:
            (failed,) = made
        except NO_ROOM:
            raise
        except Exception:  # noqa: BLE001 - libraries may raise anything
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
    """Return the tensor of a versioned struct, or release the struct and raise."""
    try:
        if words[address >> 2] != DLPACK_MAJOR_VERSION:
            raise foreign_major(address, call)
        ptr, spec, flags = read_versioned(unpack_versioned(memory, address), call)
    except InterchangeError:
        release_owner(owner)
        raise
    return describe(ptr, spec, flags, source, owner, cls)


def release(tensor: Tensor) -> None:
    """Release the memory of a new import, even if there are other references to the tensor."""
    if isinstance(tensor._keepalive, ManagedTensorOwner):
        release_owner(tensor._keepalive)


# ---------------------------------------------------------------- left to Python


def fast_import(cls: type[T], fast_path: FastPath, call: str) -> Callable[[F], F]:
    """Return an import function unchanged."""
    del cls, fast_path, call
    return lambda negotiate: negotiate


def fast_description(careful: F) -> F:
    """Return a function unchanged."""
    return careful


def fast_asarray(careful: F) -> F:
    """Return ``asarray`` unchanged."""
    return careful


def fast_copies(careful: F) -> F:
    """Return ``copyto`` as it is."""
    return careful


def fast_columns(careful: F) -> F:
    """Return ``from_arrow`` as it is."""
    return careful


def use_columns(
    resume: Callable[..., Any],
    tensor_axes: Callable[[bytes, int], tuple[Any, Any]],
    methods: tuple[str, ...],
    method_of: Callable[[type], int],
) -> None:
    """Do nothing: columns are read in Python."""
    del resume, tensor_axes, methods, method_of


def fast_checks(careful: Callable[..., T], plans: Sequence[Plan | None]) -> Callable[..., T]:
    """Return `careful` unchanged: contracts are checked in Python."""
    del plans
    return careful


def serve_c_callers() -> None:
    """Publish nothing: C callers need functions in C, which the native core has."""


def import_unordered(x: Any) -> Any:  # noqa: ARG001 - part of the interface
    """Return None: the caller imports the object in the ordinary way."""
    return None


def make_launcher(
    streams: dict[int, int],
    pending: type,
    on_consumer: type,
    ordered: type,
    host_stream: type,
) -> Launcher | None:
    """Return None: launches are repeated in Python."""
    del streams, pending, on_consumer, ordered, host_stream
    return None


def fast_function(
    name: str, careful: F, operands: int, host: Callable[[str], Any] | None = None
) -> F:
    """Return a function unchanged."""
    del name, operands, host
    return careful


def learn_type(cls: type) -> None:
    """Change nothing: objects of all types are imported in Python."""
    del cls


def log_exchanges(is_on: bool, /) -> None:
    """Change nothing: all imports and exports are made in Python."""
    del is_on


def fast_operator(
    name: str, direct: Callable[[Any, Any], Any], careful: F, is_reflected: bool
) -> F:
    """Return an operator unchanged."""
    del name, direct, is_reflected
    return careful


def fast_records(
    from_record: Callable[..., T], publish: Callable[..., Any], is_plain: Callable[[type], bool]
) -> Callable[[F], F]:
    """Return the import of records unchanged."""
    del from_record, publish, is_plain
    return lambda careful: careful
