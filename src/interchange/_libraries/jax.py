"""JAX, whose arrays are immutable.

Source: JAX, ``jax.Array``, ``jax.Device``, ``jax.dlpack``, ``jax.numpy``; array API standard
2025.12.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, ClassVar, Final

from interchange._streams.handles import stream_handle
from interchange._streams.rules import check_stream
from interchange._types.devices import CPU, Device
from interchange._types.errors import (
    CopyNeededError,
    UnsupportedDeviceError,
    UnsupportedDTypeError,
)
from interchange._types.library import Deviation, Example, Library, package_of
from interchange.abi.dlpack import DLDeviceType

from .array_api import GPUS, ArrayAPI, gpu
from .dlpack_backend import DLPackBackend
from .standard_names import STANDARD_DTYPES
from .target import CALL, Target, copy_refused, writable_alias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interchange._core import Tensor
    from interchange._types.dtypes import DType
    from interchange._types.library import Loss, Pair

# ---------------------------------------------------------------- devices


def _read_device(device: Any, _: str) -> Pair | None:
    """Read a ``jax.Device``: every device of the CPU platform is the host."""
    if device.platform == "cpu":
        return DLDeviceType.kDLCPU, 0
    if device.platform not in {"gpu", "cuda", "rocm"}:
        return None
    version = str(getattr(device.client, "platform_version", ""))
    return gpu(device.local_hardware_id, is_rocm="rocm" in version.lower())


def _find_device(device: Any) -> Device | None:
    """Read a ``jax.Device``; None for a sharding, which may have several."""
    platform = getattr(device, "platform", None)
    if platform is None or (platform == "cpu" and device.id):
        return None
    found = _read_device(device, "")
    return None if found is None else Device(*found)


def _write_device(device: Device) -> Any:
    """Return a ``jax.Device``."""
    if device is not CPU and device.type not in GPUS:
        return None
    try:
        found = sys.modules["jax"].local_devices(backend="cpu" if device is CPU else "gpu")
    except RuntimeError:  # JAX has no such devices here
        return None
    return next((one for one in found if _find_device(one) is device), None)


def _move(x: Any, device: Any, stream: Any, call: str) -> Any:
    """Move an array; JAX has no streams that a caller can name."""
    if stream is not None:
        check_stream(stream_handle(stream, call), CPU, call)
    return sys.modules["jax"].device_put(x, device)


# ---------------------------------------------------------------- exports and convert


def _hint(x: Any) -> str | None:
    """Return the hint for a tracer, which has no elements yet."""
    kinds = type(x).__mro__
    is_tracer = any(one.__name__ == "Tracer" and package_of(one) == "jax" for one in kinds)
    return "compute with jax while it traces, and import the result" if is_tracer else None


def _explain_refusal(x: Any) -> Loss | None:
    """Return why an array cannot be exported: its memory was freed, or given to a computation."""
    is_deleted = getattr(x, "is_deleted", None)
    if is_deleted is None or not is_deleted():
        return None
    what = "the array is deleted: its memory was freed, or donated to a computation"
    return what, "DLP-DATA-1", "make the array again, or import it before it is donated"


_ENABLE: Final = "set jax_enable_x64 of jax.config"
_WIDE: Final = frozenset({"int64", "uint64", "float64", "complex128"})


def _take(module: Any, array: Any) -> Any:
    """Return an array of JAX, which must not copy."""
    if array.dtype.name in _WIDE and not module.config.jax_enable_x64:
        what, hint = f"jax has no {array.dtype} by default", f"{_ENABLE}, or cast first"
        raise UnsupportedDTypeError(CALL, what, "IX-CONVERT-2", hint)
    # JAX requests legacy capsules only, which cannot be marked read-only; its arrays are immutable,
    # and buffers that it did not allocate are not reused when they are donated.
    source = writable_alias(array) if array.readonly else array
    try:
        return module.dlpack.from_dlpack(source, copy=False)  # otherwise JAX copies silently
    except ValueError as error:
        raise copy_refused("jax", error) from error


# ---------------------------------------------------------------- arguments of JAX's functions


def _value_of(array: Any) -> Any:
    """Return what JAX uses for an Array: an ndarray of host memory, or an array on its device.

    JAX's own rules for ndarrays apply on the host: which calls copy, and 64-bit types.
    """
    if array.device.is_host_accessible:
        return array.__array__()
    try:
        backend = _make_backend(array.device)
    except LookupError:
        what = f"the memory is on {array.device}"
        hint = "move the array to the host with Array.to_device, if a driver copies such memory"
        raise UnsupportedDeviceError(_CALL, what, "IX-CONVERT-2", hint) from None
    try:
        return backend.view(array)
    except CopyNeededError:
        return backend.view(array.copy())


def register(cls: type) -> None:
    """Let JAX's functions take instances of `cls`, Array, as they take ndarrays.

    Functions of ``jax.numpy`` call ``__jax_array__``; transformations look types up in tables.
    """
    cls.__jax_array__ = _value_of  # type: ignore[attr-defined]
    core = importlib.import_module("jax._src.core")
    dtypes = importlib.import_module("jax._src.dtypes")
    handle = getattr(dtypes, "register_canonicalize_value_handler", None)
    if handle is not None:  # else transformations refuse Arrays, and name `jax.numpy.array`
        core.pytype_aval_mappings[cls] = lambda x: core.shaped_abstractify(_value_of(x))
        handle(cls, lambda x: dtypes.canonicalize_value(_value_of(x)))


# ---------------------------------------------------------------- backend

_CALL: Final = "Array"
_PLATFORMS: Final = {
    DLDeviceType.kDLCPU: "cpu",
    DLDeviceType.kDLCUDA: "cuda",
    DLDeviceType.kDLROCM: "rocm",
}


class JAXBackend(DLPackBackend):
    """JAX; it has 64-bit types only if ``jax_enable_x64`` is set."""

    name: ClassVar[str] = "jax"
    is_mutable: ClassVar[bool] = False
    takes_negative_strides: ClassVar[bool] = False

    def __init__(self, device: Device, jax: Any, place: Any) -> None:
        self.array_type = jax.Array
        self._jax = jax
        self._place = place
        super().__init__(device, jax.numpy)

    def import_tensor(self, tensor: Tensor) -> Any:
        """Return an array of JAX over described memory, or a copy if it does not accept the memory.

        Raises UnsupportedDTypeError: JAX would silently use a narrower type (DLP-DTYPE-4).
        Raises CopyNeededError: the array is not contiguous (DLP-COPY-1).
        """
        self._check_width(tensor._spec.dtype)
        if not tensor._spec.layout.is_c_contiguous:
            what = f"jax takes no strides {tensor._spec.strides}"
            raise CopyNeededError(_CALL, what, "DLP-COPY-1", "take a contiguous copy")
        found = self._jax.numpy.from_dlpack(tensor)
        if tensor._spec.layout.size and found.unsafe_buffer_pointer() != tensor.ptr:
            what = f"jax copied memory at {tensor.ptr:#x}, which is not aligned to 64 bytes"
            raise CopyNeededError(_CALL, what, "DLP-COPY-1", "take a copy")
        return found

    def _check_width(self, dtype: DType) -> None:
        """Refuse 64-bit types if they are not enabled in JAX."""
        if dtype.name in _WIDE and not self._jax.config.jax_enable_x64:
            what = f"jax has no {dtype} on {self.device}"
            hint = f"{_ENABLE}, or cast to a narrower type"
            raise UnsupportedDTypeError(_CALL, what, "DLP-DTYPE-4", hint)

    def find_dtype(self, dtype: DType) -> Any:
        """Return JAX's scalar type, unless JAX would silently use a narrower one."""
        self._check_width(dtype)
        return super().find_dtype(dtype)

    def dtypes(self) -> tuple[str, ...]:
        """Return the names of the element types, with those of 64 bits if they are enabled."""
        wide = self._jax.config.jax_enable_x64
        return tuple(name for name in STANDARD_DTYPES if wide or name not in _WIDE)

    def keywords(self) -> Mapping[str, Any]:
        """Return the keyword for the device."""
        return {"device": self._place}

    def as_native(self, result: Any) -> Any:
        """Return an array on this device."""
        if isinstance(result, self.array_type):
            return result
        return self.namespace.asarray(result, device=self._place)

    def to_host(self, native: Any) -> Any:
        """Return a copy."""
        numpy = importlib.import_module("numpy")
        return numpy.array(native)


def _make_backend(device: Device) -> JAXBackend:
    """Return the JAX backend of a device.

    Raises LookupError: JAX does not compute on that device.
    """
    platform = _PLATFORMS.get(device.type)
    if platform is None:
        raise LookupError(device)
    jax = importlib.import_module("jax")
    try:
        places = jax.devices(platform)
    except RuntimeError:
        raise LookupError(device) from None
    if device is not CPU and device.id >= len(places):
        raise LookupError(device)
    return JAXBackend(device, jax, places[0 if device is CPU else device.id])


_DEVIATIONS: Final = (
    Deviation(
        "jax",
        "0.10.2",
        "from_dlpack() never sends max_version, so that read-only producers refuse it",
        "DLP-NEG-3",
        "convert() hands JAX, whose arrays are never written, a capsule without the flag",
        "https://github.com/jax-ml/jax/issues/40789",
    ),
    Deviation(
        "jax",
        "0.10.2",
        "__dlpack__() gives legacy capsules whatever max_version says",
        "DLP-VER-4",
        "legacy capsules are taken",
    ),
    Deviation(
        "jax",
        "0.10.2",
        "its arrays are immutable, and its capsules do not say that they are read-only",
        "DLP-RO-1",
        "arrays of JAX are imported as read-only",
        "https://github.com/jax-ml/jax/issues/4636",
    ),
    Deviation(
        "jax",
        "0.10.2",
        "from_dlpack() copies memory that is not aligned to 64 bytes without a word",
        "IX-CONVERT-3",
        "convert() sends copy=False, and compares the address",
    ),
    Deviation(
        "jax",
        "0.10.2",
        "without x64 from_dlpack() makes float32 of float64, int32 of int64, even with copy=False",
        "IX-CAST-1",
        "convert() compares the dtype, and refuses",
    ),
)

LIBRARY: Final = Library(
    "jax",
    deviations=_DEVIATIONS,
    is_array_library=True,
    explain_refusal=_explain_refusal,
    hint=_hint,
    immutable_types=frozenset({"ArrayImpl"}),
    types_asked_without_device=frozenset({"ArrayImpl"}),
    has_record_on_host=False,
    may_mask_records=False,
    device_types=frozenset({"Device"}),
    read_device=_read_device,
    array_api=ArrayAPI(
        "jax",
        "jax.numpy",
        (("jax", "Array"), ("jax.core", "Tracer")),
        read_device=_find_device,
        write_device=_write_device,
        move=_move,
        memory="any",
    ),
    targets={"jax": Target("jax", _take, keeps_readonly=True, may_alter=True)},
    result_types=(("jax", "Array", "jax"),),
    preference={DLDeviceType.kDLCUDA: 2, DLDeviceType.kDLROCM: 2},
    make_backend=_make_backend,
    examples=(
        Example(
            "JAX",
            "jax",
            "jax",
            lambda m: m.numpy.zeros(3, "float32", device=m.devices("cpu")[0]),
            "dlpack.from_dlpack",
            environment={"JAX_PLATFORMS": "cpu"},
        ),
    ),
)
