"""Demands of C callers that the native core does not meet by itself: copies, streams, and errors.

Source: interchange/interchange.h, ``interchange_view_with`` and ``interchange_view_done``; CUDA
Array Interface, version 3, Synchronization; The Arrow PyCapsule interface.  The native core imports
this module, and calls its functions, the first time that it needs one.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from interchange._array import Array, transfers
from interchange._array.contract import CheckedArgument, Contract
from interchange._array.contract_errors import contract_error
from interchange._protocols import dlpack
from interchange._protocols.arrow.producers import take
from interchange._protocols.dlpack import IS_COPIED
from interchange._protocols.published_work import ATTRIBUTE, names_stream
from interchange._streams.ordering import order_streams, ordinal_for
from interchange._streams.pending import PendingWork, pending_work_of
from interchange._streams.rules import NO_SYNC, STREAM_RULES, check_stream, streams_of
from interchange._streams.write_back import order_users
from interchange._types.devices import Device
from interchange._types.dtypes import DType
from interchange._types.errors import ContractError, InterchangeError, UnsupportedDTypeError
from interchange.abi.dlpack import DLDeviceType

from . import arrow_asarray  # noqa: F401 - from then on the core asks known types by itself
from .arrow_importing import raise_refusals
from .arrow_out import to_arrow
from .borrow import import_published, order_use
from .cai import from_cai
from .importing import asarray, keep_array

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange._core import ArrowOwner

_CALL: Final = "interchange_view_with()"
_UNNAMED: Final = "object"  # the argument of a request without a name
_NONE, _HANDLE, _UNORDERED, _LEGACY, _PER_THREAD, _DEFAULT = range(6)  # INTERCHANGE_STREAM_*
_LONG_DOUBLES: Final = frozenset({0xE0, 0xE1})  # INTERCHANGE_DTYPE_*, which DLPack does not have
_COPYABLE: Final = frozenset({"order", "device", "align"})  # differences that a copy removes
_MOST_AXES: Final = 64
_MOST_WORDS: Final = 8  # numbers of axes that an error lists
_ANY_ID: Final = -1

HandBack: TypeAlias = "Callable[[int, str], None]"
"""``f(stream, call)`` makes the producer wait for the work that is on a stream."""
Given: TypeAlias = (
    "tuple[str | None, tuple[tuple[int, int, int], ...], int, int, str, int, int, int, int]"
)
"""Name, element types, least and most axes, order, device type and id, writable, alignment."""


def meet(
    x: Any, array: Array | None, kind: int, handle: int, may_copy: int, given: Given
) -> tuple[Array, HandBack | None]:
    """Return an Array of `x` that meets demands, and the function that hands it back, or None.

    `array`: what was imported of `x` already.
    `kind`, `handle`: an InterchangeStream.
    `may_copy`: whether demands on the device, the order and the alignment may be met by a copy.

    Raises ContractError: a demand is not met (IX-REQUIRE-1).
    """
    name = given[0] or _UNNAMED
    contract = contract_of(given)
    stream = None if kind == _NONE else _stream_of(x, kind, handle)
    taken = _import(x, stream) if array is None else array
    try:
        if given[1] and not contract._dtypes:
            what = f"argument {name!r} has dtype {taken.dtype}, wanted long double"
            raise ContractError(_CALL, what, "IX-REQUIRE-1")
        if may_copy:
            copied = _copy_to_meet(taken, contract, given, stream)
            if copied is not taken:
                _check(copied, contract, name)
                return copied, None
        _check(taken, contract, name)
        if stream is None:
            return taken, None
        return lend(taken, stream)
    except InterchangeError as error:
        keep_array(error, x, taken)
        raise


def contract_of(given: Given) -> Contract:
    """Return the contract that a request describes."""
    _, types, least, most, order, device_type, device_id, writable, align = given
    words: dict[str, Any] = {}
    known = tuple(DType(*one) for one in types if one[0] not in _LONG_DOUBLES)
    if known:
        words["dtype"] = known
    if most < _MOST_AXES or most - least < _MOST_WORDS:
        words["ndim"] = tuple(range(least, most + 1))
    elif least:
        words["shape"] = (*(None,) * least, ...)
    if order:
        words["order"] = order
    if device_type:
        device = Device(device_type, max(device_id, 0))
        words["device"] = str(device).partition(":")[0] if device_id == _ANY_ID else device
    if writable:
        words["writable"] = True
    if align > 1:
        words["align"] = align
    return Contract._of(words, _CALL)


def _check(array: Array, contract: Contract, name: str) -> None:
    """Refuse an Array that does not meet a contract."""
    if not contract._is_met(array, {}):
        raise contract_error([CheckedArgument(name, array, contract, is_ours=False)], _CALL)


def _import(x: Any, stream: int | None) -> Array:
    """Return an Array of an object, whose producer may still be ordered."""
    if stream is None or isinstance(x, Array):
        return asarray(x)
    if names_stream(getattr(x, ATTRIBUTE, None)):
        with contextlib.suppress(BufferError):
            return from_cai(x)  # which registers the type for the native core
    return import_published(x, stream, _CALL)


def _copy_to_meet(array: Array, contract: Contract, given: Given, stream: int | None) -> Array:
    """Return a copy that meets the demands, or the Array itself if a copy does not help."""
    wrong = contract._violations(array, {}, _UNNAMED).keys()
    if not wrong or not wrong <= _COPYABLE:
        return array
    order = "F" if given[4] == "F" else "C"
    target = contract._device if "device" in wrong else None
    if target is not None:
        found = transfers.move(array, target, stream, _CALL)
        wrong = contract._violations(found, {}, _UNNAMED).keys()
    else:
        found = array
    if wrong:
        where = stream if found.device.type in STREAM_RULES else None
        found = transfers.copy(found, order, _CALL, where)
    found._flags = (found._flags or 0) | IS_COPIED
    return found


# ---------------------------------------------------------------- streams


def _stream_of(x: Any, kind: int, handle: int) -> int:
    """Return the number of a stream, for memory of `x`."""
    if kind == _DEFAULT:
        where = x.__dlpack_device__()[0] if hasattr(type(x), "__dlpack_device__") else None
        return 0 if where in {DLDeviceType.kDLROCM, DLDeviceType.kDLROCMHost} else 1
    return {_HANDLE: handle, _UNORDERED: NO_SYNC, _LEGACY: 1, _PER_THREAD: 2}[kind]


def lend(array: Array, stream: int) -> tuple[Array, HandBack | None]:
    """Order a stream after the producer of an Array; return an alias, and how to hand it back."""
    if streams_of(array.device) is None:
        return array, None
    known = pending_work_of(array)
    alias = array.__copy__()
    with contextlib.ExitStack() as debts:
        order_use(array, alias, stream, None, debts, _CALL)
        back = debts.pop_all()
    if stream == NO_SYNC:
        return alias, None
    alias._pending_work = known  # C callers are told the stream of the producer
    return alias, _Lent(array, stream, back)


class _Lent:
    """Memory that a C caller uses on a stream.

    `stream`: the stream that waited for the producer.
    `back`: the callbacks that order the producer after the stream; they run once.
    """

    def __init__(self, array: Array, stream: int, back: contextlib.ExitStack) -> None:
        self._array, self._stream = array, stream
        self._back: contextlib.ExitStack | None = back

    def __call__(self, stream: int, call: str) -> None:
        """Make the producer wait for the work that is on `stream` now."""
        device = self._array.device
        where = ordinal_for(device, self._stream, call)
        if stream != self._stream:
            order_streams(device, stream, self._stream, where, call)
        back, self._back = self._back, None
        if back is not None:
            back.close()
        else:  # more work since then
            order_users(self._array, self._stream, call)


def order(
    device_type: int, device_id: int, earlier: int, later: int, by_host: int, call: str
) -> None:
    """Make the stream `later` wait for `earlier`; or the host, if `by_host`."""
    device = Device(device_type, device_id)
    streams = streams_of(device)
    if streams is None:
        return
    first = check_stream(earlier, streams, call)
    if first is None or first == NO_SYNC:
        return
    then = None if by_host else check_stream(later, streams, call)
    order_streams(device, first, then, ordinal_for(device, first, call), call)


# ---------------------------------------------------------------- arrays of C


def describe(array: Array, kind: int, handle: int, call: str) -> None:
    """Refuse handles as elements, and record the stream with pending work on memory of C."""
    dlpack.refuse_handles(array, call)
    device = array.device
    streams = streams_of(device)
    if kind in {_NONE, _UNORDERED} or streams is None:
        return
    stream = check_stream(_stream_of(array, kind, handle), streams, call)
    if stream is not None:
        array._pending_work = PendingWork(stream, ordinal_for(device, stream, call), None)


def export(
    array: Array,
    max_version: tuple[int, int] | None,
    stream_given: tuple[int, int],
    device: tuple[int, int] | None,
    copy: int,
    call: str,
) -> Any:
    """Return a capsule of an Array, as ``__dlpack__`` makes it; errors name `call`.

    `stream_given`: the kind and the handle of an InterchangeStream.
    `copy`: 1, 0, or -1 for None.
    """
    kind, handle = stream_given
    stream = None if kind == _NONE or streams_of(array.device) is None else kind
    if stream is not None:
        stream = _stream_of(array, kind, handle)
    try:
        return array.__dlpack__(
            stream=stream,
            max_version=max_version,
            dl_device=device,
            copy=None if copy < 0 else bool(copy),
        )
    except InterchangeError as error:
        raise error._but(call, error.hint) from error.__cause__


# ---------------------------------------------------------------- columns


def column(x: Any, call: str) -> tuple[bytes, ArrowOwner, ArrowOwner | None]:
    """Return type and only chunk of a column, without elements None, and the name of its capsule.

    Raises UnsupportedDTypeError: it has several chunks (IX-CAPI-5).
    """
    return raise_refusals(call, lambda: _column(x, call))


def _column(x: Any, call: str) -> tuple[bytes, ArrowOwner, ArrowOwner | None]:
    """Return what `column` does; on an error, release the data, or keep it."""
    taken = take(to_arrow(x) if isinstance(x, Array) else x, call)
    try:
        taken.fill(1)
        _refuse_chunks(len(taken.chunks), call)
    except BaseException as error:
        if not taken.keep_for(error):
            taken.release()
        raise
    return taken.name, *taken.hand_over()


def _refuse_chunks(count: int, call: str) -> None:
    """Refuse several chunks, which no struct describes."""
    if count > 1:
        raise UnsupportedDTypeError(call, "the stream has several chunks", "IX-CAPI-5")


# ---------------------------------------------------------------- errors


def named(error: BaseException, name: str) -> BaseException:
    """Return an error of an import that names the argument of a C function."""
    from interchange._protocols.conversion_hints import hint_for_argument  # for an error only
    from interchange._protocols.export_guards import hint_for_call

    call = f"{_CALL}, argument {name!r}"
    if isinstance(error, InterchangeError):
        if error.call == _CALL:
            return error  # of a demand, which names it
        found = error._but(call, hint_for_argument(hint_for_call(error.hint, call), name))
        found.__cause__ = error.__cause__
        return found
    if sys.version_info >= (3, 11) and isinstance(error, Exception):
        error.add_note(call)
    return error
