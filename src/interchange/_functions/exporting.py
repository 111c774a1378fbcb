"""From `Array` to other libraries, where ``library.from_dlpack(array)`` is not enough.

Source: array API standard 2025.12; the libraries' own import functions.  On a device it is said
which stream may use the memory at once; what moves between host and device is a copy.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import TYPE_CHECKING, Any, Final

from interchange._array import copies
from interchange._array.host_copies import share_with_host
from interchange._core._numpy import require_numpy_dtype
from interchange._protocols import dlpack
from interchange._protocols.array_method import without_copies
from interchange._streams.driver import driver_of
from interchange._streams.handles import stream_handle
from interchange._streams.ordering import device_guard
from interchange._streams.rules import NO_SYNC, check_stream, streams_of
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
from interchange.abi import PyCapsule
from interchange.abi._records import NamedTuple
from interchange.abi.dlpack import DLDeviceType

from .cai import to_cai
from .importing import asarray, import_any, import_ordered

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange._array import Array

_CALL: Final = "convert()"


def to_capsule(x: Any, /, *, stream: Any = None, max_version: tuple[int, int] | None = None) -> Any:
    """Return a DLPack capsule, for libraries that take capsules only.

    Parameters
    ----------
    x : object
        Anything that `asarray` takes.
    stream : None or int, optional
        The consumer's stream, on devices that have streams.
    max_version : tuple[int, int], optional
        The newest version the consumer knows; legacy when left out.

    Returns
    -------
    capsule
        Fresh and unused; it keeps the memory alive.

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
    return import_any(x, call="to_capsule()").__dlpack__(stream=stream, max_version=max_version)


class Target(NamedTuple):
    """A library that arrays can be handed to.

    Attributes
    ----------
    module : str
        What to import.
    take : callable
        ``take(module, array)`` -> the library's own array, sharing the memory.
    keeps_readonly : bool
        Whether its arrays can say, or ensure, that memory is not written.
    may_alter : bool
        Whether `take` was seen to copy or to cast without saying so: what it gives is looked at.
    take_copy : callable or None
        As `take`, and the memory is copied; for libraries that share none, so that ours is not
        copied twice.
    is_foreign : bool
        Whether what `take` raises is the library's word, and not a mistake of interchange.
    memory : str
        Where its arrays are: ``"host"``, ``"device"``, or ``"any"``.
    take_on_stream : callable or None
        ``take_on_stream(module, array, stream)``: as `take`, where the caller named the stream
        that the array is ready on; for libraries that want to know it.
    """

    module: str
    take: Callable[[Any, Array], Any]
    keeps_readonly: bool
    may_alter: bool = False
    take_copy: Callable[[Any, Array], Any] | None = None
    is_foreign: bool = True
    memory: str = "any"
    take_on_stream: Callable[[Any, Array, int | None], Any] | None = None


Target.__module__ = "interchange"


def _as_writable(array: Array) -> Array:
    """Return an alias that says it may be written, for consumers that are known not to."""
    alias = array.__copy__()
    alias._flags = 0
    return alias


def _refuse_copy(library: str, error: Exception) -> CopyNeededError:
    """Return the error for a library that said that it would have to copy."""
    reason = _first_line(error).partition(". ")[0].rstrip(".")
    what = f"{library} would copy ({reason})"
    return CopyNeededError(_CALL, what, "IX-CONVERT-3", "pass copy=True")


def _first_line(error: Exception) -> str:
    """Return what an error of a library says, without what follows."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _to_interchange(_: Any, array: Array) -> Array:
    """Return the Array itself."""
    return array


def _to_numpy(_: Any, array: Array) -> Any:
    """Return an ndarray."""
    return array.__array__()


def _by_from_dlpack(module: Any, array: Array) -> Any:
    """Return what the library's ``from_dlpack`` makes."""
    return module.from_dlpack(array)


def _to_torch(module: Any, array: Array) -> Any:
    """Return a tensor of torch."""
    if any(step < 0 for step in array.strides):
        # torch aborts the process where it should raise
        raise ValueError("torch has no negative strides")
    return module.from_dlpack(array)


def _to_jax(module: Any, array: Array) -> Any:
    """Return an array of JAX, which may not copy."""
    # JAX asks for legacy capsules only, which cannot say read-only; its arrays are never written,
    # and buffers that it did not allocate are not reused when they are donated.
    source = _as_writable(array) if array.readonly else array
    try:
        return module.dlpack.from_dlpack(
            source, copy=False
        )  # without it JAX copies and says nothing
    except ValueError as error:
        raise _refuse_copy("jax", error) from error


def _to_mlx(module: Any, array: Array) -> Any:
    """Return an array of MLX, which may not copy."""
    try:
        return module.from_dlpack(array, copy=False)
    except ValueError as error:
        if "without a copy" in str(error):
            raise _refuse_copy("mlx", error) from error
        raise


def _to_tensor(module: Any, array: Array) -> Any:
    """Return a tensor of pyarrow."""
    if hasattr(module.Tensor, "from_dlpack"):  # since pyarrow 26
        return module.Tensor.from_dlpack(array, copy=False)
    _check_no_bits(array)
    return module.Tensor.from_numpy(array.__array__())


def _to_arrow_array(module: Any, array: Array) -> Any:
    """Return an array of pyarrow, of one axis."""
    if hasattr(module.Array, "from_dlpack"):  # since pyarrow 26
        return module.Array.from_dlpack(array, copy=False)
    _check_no_bits(array)
    if array.ndim != 1 or not array.is_contiguous():
        raise ValueError("pyarrow.Array has one axis, without gaps")
    view = array.__array__()
    buffers = [None, module.py_buffer(view)]
    return module.Array.from_buffers(module.from_numpy_dtype(view.dtype), view.size, buffers)


def _check_no_bits(array: Array) -> None:
    """Refuse bool, which Arrow packs into bits, and whose tensors it takes for uint8."""
    if array.dtype.name == "bool":
        raise TypeError("pyarrow packs bool into bits")


def _to_strided_view(module: Any, array: Array) -> Any:
    """Return cuda.core's view, for the stream that the standard assumes."""
    return _to_strided_view_on_stream(module, array, check_stream(None, array.device, _CALL))


def _to_strided_view_on_stream(module: Any, array: Array, stream: int | None) -> Any:
    """Return cuda.core's view, for a stream, which it wants to be told of host memory, too."""
    if stream is None:  # it sends -1 on, unless memory is on the CPU, and 0 as None
        stream = NO_SYNC if array.device is CPU else 0
    view = module.StridedMemoryView.from_dlpack(array, stream_ptr=stream)
    _ = view.dtype  # raises where it took elements that it has no name for
    return view


def _to_numba(module: Any, array: Array) -> Any:
    """Return a device array of Numba; the host waits, since any stream may use it next."""
    return _name_elements(module.as_cuda_array(to_cai(array)), array)


def _to_numba_on_stream(module: Any, array: Array, _: int | None) -> Any:
    """Return a device array of Numba whose stream is the one that the array is ready on."""
    return _name_elements(module.as_cuda_array(to_cai(array), sync=False), array)


def _name_elements(found: Any, array: Array) -> Any:
    """Return an array of Numba with the dtype of `array`, which its typestr may not have told."""
    return found if found.dtype.kind != "V" else found.view(require_numpy_dtype(array.dtype, _CALL))


def _to_tvm_ffi(module: Any, array: Array) -> Any:
    """Return a tensor of tvm-ffi."""
    tensor = module.from_dlpack(array)
    _ = tensor.dtype  # as above
    return tensor


def _to_warp(module: Any, array: Array) -> Any:
    """Return an array of Warp."""
    module.init()  # at its first array, which may be this one; later calls do nothing
    return module.from_dlpack(array)


def _to_memoryview(_: Any, array: Array) -> memoryview:
    """Return a memoryview."""
    return array.as_memoryview()


TARGETS: Final = {
    "array_api_strict": Target(
        "array_api_strict", _by_from_dlpack, keeps_readonly=True, memory="host"
    ),
    "cuda.core": Target(
        "cuda.core.utils",
        _to_strided_view,
        keeps_readonly=True,
        take_on_stream=_to_strided_view_on_stream,
    ),
    "cupy": Target("cupy", _by_from_dlpack, keeps_readonly=False, memory="device"),
    "interchange": Target("interchange", _to_interchange, keeps_readonly=True, is_foreign=False),
    "jax": Target("jax", _to_jax, keeps_readonly=True, may_alter=True),
    "memoryview": Target(
        "builtins", _to_memoryview, keeps_readonly=True, is_foreign=False, memory="host"
    ),
    "mlx": Target(
        "mlx.core", _to_mlx, keeps_readonly=False, may_alter=True, take_copy=_by_from_dlpack
    ),
    "numba": Target(
        "numba.cuda",
        _to_numba,
        keeps_readonly=False,
        memory="device",
        take_on_stream=_to_numba_on_stream,
    ),
    "numpy": Target("numpy", _to_numpy, keeps_readonly=True, is_foreign=False, memory="host"),
    "pyarrow": Target("pyarrow", _to_tensor, keeps_readonly=True, memory="host"),
    "pyarrow.Array": Target("pyarrow", _to_arrow_array, keeps_readonly=True, memory="host"),
    "torch": Target("torch", _to_torch, keeps_readonly=False),
    "tvm_ffi": Target("tvm_ffi", _to_tvm_ffi, keeps_readonly=False),
    "warp": Target("warp", _to_warp, keeps_readonly=False),
}
"""Name of a library -> how it takes arrays; ``"pyarrow"`` makes a ``pyarrow.Tensor``."""


def convert(
    x: Any,
    library: str,
    /,
    *,
    copy: bool | None = None,
    assume_writable: bool = False,
    stream: Any = None,
) -> Any:
    """Return `x` as an array of a named library, by the best way in that it has.

    Parameters
    ----------
    x : object
        Anything that `asarray` takes.
    library : str
        One of `interchange.TARGETS`, such as ``"torch"``.
    copy : bool, optional
        None: share the memory or raise.  True: hand over a copy, on the host or on a device as the
        library needs it.  False: as None, and also refuse copies on the way in.
    assume_writable : bool, default False
        Take memory to be writable whose producer cannot say (a legacy capsule).
    stream : None, int or stream object, optional
        Where device memory will be used: that stream waits for the producer's, and the host does
        not.  -1 waits for nothing.  Left out, the library sees to it: CuPy, PyTorch and JAX let
        their current stream wait, Numba the host; a view of cuda.core, which has no stream of its
        own, is ready on the legacy default stream.

    Returns
    -------
    object
        The library's own array.

    Raises
    ------
    BackendUnavailableError
        The library is not known or not installed (IX-CONVERT-1).
    CopyNeededError
        The library would copy, such as JAX memory not aligned to 64 bytes (IX-CONVERT-3).
    ReadOnlyError
        The memory is read-only, or not known to be writable, and the library's arrays would forget
        it (DLP-RO-3).
    UnsupportedDeviceError
        The library's arrays are on the host, and the memory is not (DLP-DEV-6), or the other way
        round (IX-CONVERT-2).
    StreamError
        `stream` names no stream where the memory is.
    ExchangeError
        The library cannot describe the array, or would cast it (IX-CONVERT-2); `x` refuses to hand
        out its memory (IX-PROTOCOL-1).

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
    if shares and not copy and array.readonly is not False and not target.keeps_readonly:
        kind = "read-only memory" if array.readonly else "memory not known to be writable"
        way_out = "pass copy=True" + ("" if array.readonly else " or assume_writable=True")
        what = f"{kind}, of which {library} would not know"
        raise ReadOnlyError(_CALL, what, "DLP-RO-3", way_out)
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
        what = f"{library} refused {array.dtype} of shape {array.shape} ({_first_line(error)})"
        raise ExchangeError(_CALL, what, "IX-CONVERT-2") from error
    if target.may_alter:
        _check_unaltered(array, asarray(result), library, shares=shares)
    return result


def _import(
    x: Any, *, copy: bool | None, assume_writable: bool, stream: Any, uploads: bool
) -> Array:
    """Return `x` as an Array where it is; no copy is made here, but perhaps by the producer.

    `stream` is one of the device that memory is on, or will be copied to where it `uploads`.
    """
    only_shared = without_copies(x, copy)
    try:
        if stream is None:
            array = import_any(x, copy=only_shared, call=_CALL)
        else:
            array = import_ordered(x, stream, _CALL)
            if not (uploads and streams_of(array.device) is None):
                check_stream(stream_handle(stream, _CALL), array.device, _CALL)
    except InterchangeError:
        raise
    except BufferError as error:  # how a producer refuses, by the standard
        what = f"{type(x).__qualname__} gives no memory ({_first_line(error)})"
        raise ExchangeError(_CALL, what, "IX-PROTOCOL-1") from error
    if assume_writable and not copy:
        array = array.__copy__()
        dlpack.check_result(array, copy=only_shared, assume_writable=True, call=_CALL)
    return array


def _place(
    array: Array, x: Any, target: Target, library: str, *, copy: bool | None, stream: Any
) -> Array:
    """Return the memory where the library can have it, copied if that was asked for."""
    there = array.device
    if target.memory == "host" and not there.is_host_accessible:
        if not copy:
            what = f"{library} has arrays on the host alone, and the memory is on {there}"
            way_out = "pass copy=True, and it is copied to the host"
            raise UnsupportedDeviceError(_CALL, what, "DLP-DEV-6", way_out)
        return copies.move_array(array, CPU, None, _CALL)
    if target.memory == "device" and (there is CPU or (copy and there.is_host_accessible)):
        if not copy:
            what = f"{library} has arrays on devices alone, and the memory is on {there}"
            way_out = "pass copy=True, and it is copied to the current device"
            raise UnsupportedDeviceError(_CALL, what, "IX-CONVERT-2", way_out)
        return copies.move_array(array, _current_device(), stream, _CALL)
    if target.memory == "host" and there is not CPU:
        array = share_with_host(array, None, _CALL)
    if not copy:
        return array
    if there.type in copies.COPIED_BY_DRIVERS:
        return copies.copy_array(array, type(array), "C", _CALL, stream)
    if there.is_host_accessible or type(x) is PyCapsule:
        return copies.copy_array(array, type(array), "C", _CALL)
    return import_any(x, copy=True, call=_CALL)  # nobody here can: its producer may


def _current_device() -> Device:
    """Return the device that is current in the calling thread."""
    cuda = Device(DLDeviceType.kDLCUDA)
    return Device(cuda.type, driver_of(cuda, _CALL).current_device(_CALL))


def _check_unaltered(sent: Array, found: Array, library: str, *, shares: bool) -> None:
    """Refuse what a library made, if it is cast, or copied where it should share."""
    if found.dtype is not sent.dtype:
        what = f"{library} made {found.dtype} of {sent.dtype}"
        way_out = f"cast first, or let {library} have {sent.dtype} where that is an option of it"
        raise UnsupportedDTypeError(_CALL, what, "IX-CONVERT-2", way_out)
    if shares and found.ptr != sent.ptr:
        what = f"{library} copied {sent.dtype} of shape {sent.shape}"
        raise CopyNeededError(_CALL, what, "IX-CONVERT-3", "pass copy=True")


def _find_target(library: object) -> Target:
    """Return the row of a library."""
    if not isinstance(library, str):
        raise ArgumentError(_CALL, f"library={show(library)}", "IX-ARGUMENT-1", "pass its name")
    if library not in TARGETS:
        what = f"library={library!r} is not known"
        way_out = f"choose one of {', '.join(TARGETS)}, or call its own from_dlpack()"
        raise BackendUnavailableError(_CALL, what, "IX-CONVERT-1", way_out)
    return TARGETS[library]


def _import_target(library: str, target: Target) -> Any:
    """Return the module of a library."""
    try:
        return importlib.import_module(target.module)
    except (ImportError, OSError) as error:
        what = f"{library} cannot be imported ({_first_line(error)})"
        raise BackendUnavailableError(_CALL, what, "IX-CONVERT-1", f"install {library}") from error
