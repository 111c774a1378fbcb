"""Export of an `Array` to other libraries, if ``library.from_dlpack(array)`` is not enough.

Source: array API standard 2025.12; the libraries' own import functions.  On a device the caller
names the stream that may use the memory at once; moves between host and device copy.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from interchange._array import copies
from interchange._array.host_copies import share_with_host
from interchange._libraries.target import first_line
from interchange._protocols import dlpack
from interchange._protocols.array_method import without_copies
from interchange._streams.driver import driver_of
from interchange._streams.handles import stream_handle
from interchange._streams.ordering import device_guard
from interchange._streams.rules import check_stream, streams_of
from interchange._types.devices import CPU, Device
from interchange._types.errors import (
    NO_ROOM,
    ArgumentError,
    BackendUnavailableError,
    CopyNeededError,
    ExchangeError,
    InterchangeError,
    ReadOnlyError,
    UnsupportedDeviceError,
    UnsupportedDTypeError,
    show,
)
from interchange._types.library import all_libraries, library_named
from interchange.abi import PyCapsule
from interchange.abi.dlpack import DLDeviceType

from .importing import asarray, import_any, keep_array
from .targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict

    import cupy
    import jax
    import mlx.core
    import numpy as np
    import pyarrow as pa
    import torch
    import tvm_ffi
    import warp
    from typing_extensions import CapsuleType, Unpack

    from interchange._array import Array
    from interchange._libraries.target import Target
    from interchange._types.typing import AnyArray

    class Options(TypedDict, total=False):
        """Keywords of `convert`, for its overloads."""

        copy: bool | None
        assume_writable: bool
        stream: Any


_CALL: Final = "convert()"
_RISK: Final = "a write would change constant data or crash the process"


def to_capsule(
    x: AnyArray, /, *, stream: Any = None, max_version: tuple[int, int] | None = None
) -> CapsuleType:
    """Return a DLPack capsule, for libraries that take capsules only.

    Parameters
    ----------
    x : object
        Any object that `asarray` accepts.
    stream : None or int, optional
        The consumer's stream, on devices that have streams.
    max_version : tuple[int, int], optional
        The newest version that the consumer supports; legacy by default.

    Returns
    -------
    capsule
        New and unused; it keeps the memory alive.

    Raises
    ------
    ReadOnlyError
        A legacy capsule of read-only memory (DLP-RO-1).
    ExchangeError
        As `asarray`.

    Examples
    --------
    >>> import interchange as ix
    >>> ix.from_dlpack(ix.to_capsule(bytearray(4))).shape
    (4,)
    """
    array = import_any(x, call="to_capsule()")
    try:
        capsule: CapsuleType = array.__dlpack__(stream=stream, max_version=max_version)
    except InterchangeError as refused:
        error = refused._for_call("to_capsule()")
        keep_array(error, x, array)
        raise error from refused.__cause__
    return capsule


@overload
def convert(
    x: AnyArray, library: Literal["cupy"], /, **options: Unpack[Options]
) -> cupy.ndarray: ...
@overload
def convert(
    x: AnyArray, library: Literal["interchange"], /, **options: Unpack[Options]
) -> Array: ...
@overload
def convert(x: AnyArray, library: Literal["jax"], /, **options: Unpack[Options]) -> jax.Array: ...
@overload
def convert(
    x: AnyArray, library: Literal["memoryview"], /, **options: Unpack[Options]
) -> memoryview: ...
@overload
def convert(
    x: AnyArray, library: Literal["mlx"], /, **options: Unpack[Options]
) -> mlx.core.array: ...
@overload
def convert(
    x: AnyArray, library: Literal["numpy"], /, **options: Unpack[Options]
) -> np.ndarray[Any, np.dtype[Any]]: ...
@overload
def convert(
    x: AnyArray, library: Literal["pyarrow"], /, **options: Unpack[Options]
) -> pa.Tensor: ...
@overload
def convert(
    x: AnyArray, library: Literal["pyarrow.Array"], /, **options: Unpack[Options]
) -> pa.Array: ...
@overload
def convert(
    x: AnyArray, library: Literal["torch"], /, **options: Unpack[Options]
) -> torch.Tensor: ...
@overload
def convert(
    x: AnyArray, library: Literal["tvm_ffi"], /, **options: Unpack[Options]
) -> tvm_ffi.Tensor: ...
@overload
def convert(
    x: AnyArray, library: Literal["warp"], /, **options: Unpack[Options]
) -> warp.array[Any]: ...
@overload
def convert(x: AnyArray, library: str, /, **options: Unpack[Options]) -> Any: ...
def convert(
    x: AnyArray,
    library: str,
    /,
    *,
    copy: bool | None = None,
    assume_writable: bool = False,
    stream: Any = None,
) -> Any:
    """Return `x` as an array of a named library.

    Parameters
    ----------
    x : object
        Any object that `asarray` accepts.
    library : str
        One of `interchange.TARGETS`, such as ``"torch"``.
    copy : bool, optional
        None: share the memory or raise.  True: return a copy, on the host or on a device as the
        library needs it.  False: as None, and also refuse copies by the producer.
    assume_writable : bool, default False
        Treat memory as writable if its producer cannot say (a legacy capsule).
    stream : None, int or stream object, optional
        The stream on which device memory will be used: it waits for the producer's, and the host
        does not.  -1 waits for nothing.  By default the library orders the work: CuPy, PyTorch and
        JAX let their current stream wait, Numba the host; a view of cuda.core, which has no stream
        of its own, is ready on the legacy default stream.

    Returns
    -------
    object
        The library's own array.

    Raises
    ------
    BackendUnavailableError
        The library is unknown or not installed (IX-CONVERT-1).
    CopyNeededError
        The library would copy, such as JAX memory not aligned to 64 bytes (IX-CONVERT-3).
    ReadOnlyError
        The memory is read-only, or not known to be writable, and the library's arrays cannot be
        marked read-only (DLP-RO-3).
    UnsupportedDeviceError
        The library's arrays are on the host, and the memory is not (DLP-DEV-6), or the other way
        round (IX-CONVERT-2).
    StreamError
        `stream` is not a stream of the memory's device.
    ExchangeError
        The library cannot describe the array, or would cast it (IX-CONVERT-2); `x` refuses to
        export its memory (IX-PROTOCOL-1).

    Examples
    --------
    >>> import interchange as ix
    >>> ix.convert(bytearray(b"abc"), "numpy")
    array([97, 98, 99], dtype=uint8)
    """
    dlpack.check_copy(copy, _CALL)
    target = _find_target(library)
    take, shares = target.take, True
    if copy and target.take_copy is not None:
        take, shares, copy = target.take_copy, False, None
    uploads = bool(copy) and target.memory == "device"
    array = _import(x, copy=copy, assume_writable=assume_writable, stream=stream, uploads=uploads)
    try:
        return _hand_over(array, x, library, target, take, copy=copy, shares=shares, stream=stream)
    except InterchangeError as error:
        keep_array(error, x, array)
        raise


def _hand_over(
    array: Array,
    x: Any,
    library: str,
    target: Target,
    take: Callable[[Any, Array], Any],
    *,
    copy: bool | None,
    shares: bool,
    stream: Any,
) -> Any:
    """Return an Array of `x` as an array of a library."""
    if shares and not copy and array.readonly is not False and not target.keeps_readonly:
        kind = "read-only memory" if array.readonly else "memory not known to be writable"
        hint = "pass `copy=True`" + ("" if array.readonly else " or `assume_writable=True`")
        what = f"{library} arrays cannot be marked read-only, and this is {kind} ({_RISK})"
        raise ReadOnlyError(_CALL, what, "DLP-RO-3", hint)
    array = _place(array, x, target, library, copy=copy, stream=stream)
    module = _import_target(library, target)
    try:
        with device_guard(array.device, _CALL) or contextlib.nullcontext():
            if stream is None or target.take_on_stream is None:
                result = take(module, array)
            else:
                handle = check_stream(stream_handle(stream, _CALL), array.device, _CALL)
                result = target.take_on_stream(module, array, handle)
    except (InterchangeError, *NO_ROOM):
        raise
    except Exception as error:
        if not target.is_foreign:
            raise
        what = f"{library} refused {array.dtype} of shape {array.shape} ({first_line(error)})"
        raise ExchangeError(_CALL, what, "IX-CONVERT-2", _way_to_fit(array, library)) from error
    if target.may_alter:
        _check_unaltered(array, asarray(result), library, shares=shares)
    return result


def _import(
    x: Any, *, copy: bool | None, assume_writable: bool, stream: Any, uploads: bool
) -> Array:
    """Return `x` as an Array on its device; only its producer may copy.

    `stream` is one of the device of the memory, or of the device it `uploads` to.
    """
    only_shared, copies = without_copies(x, copy), copy is True
    try:
        if stream is None:
            array = import_any(x, copy=only_shared, copies=copies, call=_CALL)
        else:
            array = import_any(x, stream=stream, copies=copies, call=_CALL)
            if not (uploads and streams_of(array.device) is None):
                check_stream(stream_handle(stream, _CALL), array.device, _CALL)
    except InterchangeError:
        raise
    except BufferError as error:  # the standard's error of a producer that refuses
        what = f"{type(x).__qualname__} refused to export its memory ({first_line(error)})"
        hint = "look at the error of the producer, which is the cause"
        raise ExchangeError(_CALL, what, "IX-PROTOCOL-1", hint) from error
    if assume_writable and not copy:
        array = array.__copy__()
        dlpack.check_result(array, copy=only_shared, assume_writable=True, call=_CALL)
    return array


def _place(
    array: Array, x: Any, target: Target, library: str, *, copy: bool | None, stream: Any
) -> Array:
    """Return the memory on a device of the library, copied if requested."""
    there = array.device
    if target.memory == "host" and not there.is_host_accessible:
        if not copy:
            what = f"{library} has arrays on the host only, and the memory is on {there}"
            brings = "pass `copy=True`, and it is copied to the host"
            known = brings if there.type in copies.COPIED_BY_DRIVERS else None
            raise UnsupportedDeviceError(_CALL, what, "DLP-DEV-6", known)
        return copies.move_array(array, CPU, None, _CALL)
    if target.memory == "device" and (there is CPU or (copy and there.is_host_accessible)):
        if not copy:
            what = f"{library} has arrays on devices only, and the memory is on {there}"
            is_here = importlib.util.find_spec(target.module.partition(".")[0]) is not None
            hint = "" if is_here else f"install {library}, which is not here, and "
            hint += "pass `copy=True`, and it is copied to the current device"
            raise UnsupportedDeviceError(_CALL, what, "IX-CONVERT-2", hint)
        return copies.move_array(array, _current_device(), stream, _CALL)
    if target.memory == "host" and there is not CPU:
        array = share_with_host(array, None, _CALL)
    if not copy:
        return array
    if there.type in copies.COPIED_BY_DRIVERS:
        return copies.copy_array(array, type(array), "C", _CALL, stream)
    if there.is_host_accessible or type(x) is PyCapsule:
        return copies.copy_array(array, type(array), "C", _CALL)
    return import_any(x, copy=True, call=_CALL)  # its producer may be able to copy


def _current_device() -> Device:
    """Return the device that is current in the calling thread."""
    cuda = Device(DLDeviceType.kDLCUDA)
    return Device(cuda.type, driver_of(cuda, _CALL).current_device(_CALL))


def _way_to_fit(array: Array, library: str) -> str | None:
    """Return a hint if a library refused the device or the layout of an array."""
    if not array.device.is_host_accessible and not _has_device(library, array.device):
        build = f"{library} has no {array.device} here: install a build of it that has"
        if array.device.type not in copies.COPIED_BY_DRIVERS:
            return build
        return f"{build}, or pass a copy on the host, `interchange.asarray(x, device='cpu')`"
    one_axis = any(library in one.one_axis_targets for one in all_libraries())
    if one_axis and array.ndim != 1:
        lists = "`pyarrow.array(interchange.to_arrow(x))`, an array of lists of one length"
        return (
            f"use {lists}" if array.ndim else "pass one axis, `interchange.asarray(x).reshape(1)`"
        )
    return None if array.is_contiguous() else "pass `copy=True`"


def _has_device(library: str, device: Device) -> bool:
    """Whether a library that was imported has arrays on a device, as far as is known."""
    api = next((one.array_api for one in all_libraries() if library in one.targets), None)
    return api is None or api.write_device(device) is not None


def _check_unaltered(sent: Array, found: Array, library: str, *, shares: bool) -> None:
    """Refuse the library's result if it was cast, or copied instead of shared."""
    if found.dtype is not sent.dtype:
        what = f"{library} made {found.dtype} of {sent.dtype}"
        hint = f"cast first, or enable {sent.dtype} in {library} if it has such an option"
        raise UnsupportedDTypeError(_CALL, what, "IX-CONVERT-2", hint)
    if shares and found.ptr != sent.ptr:
        what = f"{library} copied {sent.dtype} of shape {sent.shape}"
        raise CopyNeededError(_CALL, what, "IX-CONVERT-3")


def _find_target(library: object) -> Target:
    """Return the record of a library."""
    if not isinstance(library, str):
        hint = "pass the array, and then the name of a library, such as 'numpy'"
        raise ArgumentError(_CALL, f"library={show(library)}", "IX-ARGUMENT-1", hint)
    if library not in TARGETS:
        what = f"library={library!r} is not known"
        raise BackendUnavailableError(_CALL, what, "IX-CONVERT-1", _other_target(library))
    return TARGETS[library]


def _other_target(library: str) -> str:
    """Return the hint for an unknown library: how it takes arrays, or the known ones."""
    from interchange._types.nearest import nearest  # for an error only

    top = library.partition(".")[0]
    instead = library_named(top).instead_of_target if top.isidentifier() else None
    hint = f"choose one of {', '.join(TARGETS)}, or the library's own from_dlpack"
    if instead is not None:
        return f"{instead}, or {hint}"
    found = top if top in TARGETS else nearest(library, TARGETS)
    return hint if found is None else f"the nearest is `{found!r}`; {hint}"


def _import_target(library: str, target: Target) -> Any:
    """Return the module of a library."""
    try:
        return importlib.import_module(target.module)
    except (ImportError, OSError) as error:
        what = f"{library} cannot be imported ({first_line(error)})"
        raise BackendUnavailableError(_CALL, what, "IX-CONVERT-1", f"install {library}") from error
