"""PyTorch, on the host and on GPUs.

Source: PyTorch, ``torch.Tensor``, ``torch.device``, CUDA semantics; array API standard 2025.12;
array-api-compat, ``array_api_compat.torch``.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, ClassVar, Final

from interchange._streams.handles import stream_handle
from interchange._streams.rules import LEGACY_DEFAULT_STREAM, check_stream
from interchange._types.devices import CPU, Device
from interchange._types.errors import BackendUnavailableError, UnsupportedDeviceError, show
from interchange._types.library import Deviation, Example, Library
from interchange.abi.dlpack import DLDeviceType

from .array_api import GPUS, ArrayAPI, gpu, refuse_device
from .dlpack_backend import DLPackBackend
from .standard_names import STANDARD_DTYPES
from .target import Target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interchange._core import Tensor
    from interchange._types.library import Loss, Pair

# ---------------------------------------------------------------- devices

_DEVICE_TYPES: Final = {
    "cuda": DLDeviceType.kDLCUDA,
    "mps": DLDeviceType.kDLMetal,
    "xpu": DLDeviceType.kDLOneAPI,
}


def _read_device(device: Any, call: str) -> Pair | None:
    """Read a ``torch.device``, None for one that has no number in DLPack.

    Raises UnsupportedDeviceError: it has no index, and means the device that is current at each use
        (DLP-DEV-1).
    """
    if device.type == "cpu":
        return DLDeviceType.kDLCPU, 0
    number, ordinal = _DEVICE_TYPES.get(device.type), device.index
    if number is None:
        return None
    if number is DLDeviceType.kDLMetal:
        return number, ordinal or 0  # there is one
    if ordinal is None:
        what = f"{show(device)} may be {device.type}:0, or the current device of torch"
        kind = device.type
        hint = f"pass `'{kind}:0'`, or the number that `torch.{kind}.current_device` gives"
        raise UnsupportedDeviceError(call, what, "DLP-DEV-1", hint)
    if number is DLDeviceType.kDLCUDA:
        return gpu(ordinal, is_rocm=sys.modules["torch"].version.hip is not None)
    return number, ordinal


def _find_device(device: Any) -> Device | None:
    """Read a ``torch.device``, or a value that torch converts to one."""
    torch = sys.modules["torch"]
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        refuse_device("torch", device, "device")
    if found.type == "cpu":
        return CPU
    if found.type != "cuda":
        return None
    if found.index is None and not torch.cuda.is_available():
        return None
    ordinal = torch.cuda.current_device() if found.index is None else found.index
    return Device(*gpu(ordinal, is_rocm=torch.version.hip is not None))


def _write_device(device: Device) -> Any:
    """Return a ``torch.device``."""
    torch = sys.modules["torch"]
    if device is CPU:
        return torch.device("cpu")
    is_here = device.type in GPUS and device.id < torch.cuda.device_count()
    return torch.device("cuda", device.id) if is_here else None


def _move(x: Any, device: Any, stream: Any, call: str) -> Any:
    """Move a tensor, on a stream of CUDA if one is named."""
    if stream is None:
        return x.to(device)
    torch = sys.modules["torch"]
    where = _find_device(x.device)
    found = check_stream(stream_handle(stream, call), CPU if where is None else where, call)
    with torch.cuda.stream(torch.cuda.ExternalStream(0 if found in {None, 1} else found)):
        return x.to(device)


# ---------------------------------------------------------------- exports


def _table_keeps_meaning(x: Any) -> bool:
    """Whether the C exchange functions of torch describe the tensor correctly."""
    return not (x.requires_grad or x.is_conj() or x.is_neg()) and x.device.type == "cpu"


def _guard_export(x: Any) -> Loss | None:
    """Return what the export of a tensor would lose: its negative bit."""
    is_neg = getattr(x, "is_neg", None)
    if is_neg is None or not is_neg():
        return None
    return "the tensor has its negative bit set", "DLP-DTYPE-6", "pass `x.resolve_neg()`"


def _guard_record(x: Any) -> Loss | None:
    """Return what the CUDA record of a tensor omits: its conjugate or negative bit."""
    is_conj = getattr(x, "is_conj", None)
    if is_conj is not None and is_conj():
        return "the tensor has its conjugate bit set", "DLP-DTYPE-6", "pass `x.resolve_conj()`"
    return _guard_export(x)


def _explain_refusal(x: Any) -> Loss | None:
    """Return why a tensor cannot be exported: it has no memory, or a layout without strides."""
    if getattr(x, "is_meta", False):
        hint = "make one that has, with `torch.empty_like(x, device='cpu')`"
        return "the tensor is on torch's device meta, and has no memory", "DLP-DEV-1", hint
    if getattr(x, "is_quantized", False):
        what = f"the elements are {x.dtype}, quantized with a scale of the tensor"
        return what, "DLP-DTYPE-3", "pass `x.dequantize()`, or `x.int_repr()`"
    layout = getattr(x, "layout", None)
    if getattr(x, "is_nested", False):
        return "the tensor is nested", "DLP-STRIDES-5", "pass `x.to_padded_tensor(0)`, or its parts"
    if layout is not None and str(layout) != "torch.strided":
        return f"the tensor is {layout}", "DLP-STRIDES-5", "pass `x.to_dense()`, or its parts"
    if getattr(x, "requires_grad", False):
        return "the tensor requires a gradient", "IX-GRAD-1", "pass `x.detach()`"
    if layout is None or not x.is_conj():
        return None
    return "the tensor has its conjugate bit set", "DLP-DTYPE-6", "pass `x.resolve_conj()`"


_STORAGES: Final = frozenset({"UntypedStorage", "TypedStorage"})


def _hint(x: Any) -> str | None:
    """Return the hint for a module or a storage, which have no elements or no element type."""
    if type(x).__name__ in _STORAGES:
        dtype = str(getattr(x, "dtype", "torch.uint8"))
        return f"pass a tensor over it, `torch.empty(0, dtype={dtype}).set_(x)`, which shares it"
    parameters = getattr(x, "named_parameters", None)
    name = next((name for name, _ in parameters()), None) if callable(parameters) else None
    if name is None:
        return None
    return f"pass one of its tensors, such as `x.get_parameter({name!r}).detach()`"


# ---------------------------------------------------------------- convert


def _take(module: Any, array: Any) -> Any:
    """Return a tensor of an Array."""
    if any(step < 0 for step in array.strides):
        # torch aborts the process where it should raise
        raise ValueError("torch has no negative strides")
    return module.from_dlpack(array)


# ---------------------------------------------------------------- backend

_EXCHANGED_ONLY: Final = frozenset({"uint16", "uint32", "uint64"})


class TorchBackend(DLPackBackend):
    """PyTorch; its operators do not promote as the standard requires, so functions replace them."""

    name: ClassVar[str] = "torch"
    uses_operators: ClassVar[bool] = False
    takes_negative_strides: ClassVar[bool] = False

    def __init__(self, device: Device, torch: Any, namespace: Any) -> None:
        self.array_type = torch.Tensor
        self._torch = torch
        self._place = torch.device("cpu" if device is CPU else f"cuda:{device.id}")
        super().__init__(device, namespace)

    def import_tensor(self, tensor: Tensor) -> Any:
        """Return a tensor of PyTorch over described memory."""
        return self._torch.from_dlpack(tensor)

    def dtypes(self) -> tuple[str, ...]:
        """Return the names of the element types, except those that PyTorch only exchanges."""
        return tuple(name for name in STANDARD_DTYPES if name not in _EXCHANGED_ONLY)

    def keywords(self) -> Mapping[str, Any]:
        """Return the keyword for the device."""
        return {"device": self._place}

    def stream(self) -> tuple[int | None, Any]:
        """Return PyTorch's current stream on the device, and what keeps it alive."""
        if self.device is CPU:
            return None, None
        current = self._torch.cuda.current_stream(self._place)
        return int(current.cuda_stream) or 1, current

    def as_native(self, result: Any) -> Any:
        """Return a tensor on this device, with the conjugate and negative bits resolved."""
        if isinstance(result, self.array_type):
            return result.resolve_conj().resolve_neg()
        return self._torch.asarray(result, device=self._place)

    def may_share(self, one: Any, other: Any) -> bool:
        """Whether two tensors share a storage."""
        return bool(one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr())

    def copy(self, native: Any) -> Any:
        """Return a copy."""
        return native.clone()

    def as_index(self, native: Any) -> Any:
        """Return integers as int64: PyTorch treats uint8 as a mask, and accepts few other types."""
        return native if native.dtype is self._torch.bool else native.long()

    def to_host(self, native: Any) -> Any:
        """Return a copy."""
        return native.cpu().numpy().copy()


def _make_backend(device: Device) -> TorchBackend:
    """Return the PyTorch backend of a device.

    Raises LookupError: PyTorch does not compute on that device.
    Raises BackendUnavailableError: PyTorch or array-api-compat is not installed (IX-XP-3).
    """
    if device is not CPU and device.type not in GPUS:
        raise LookupError(device)
    torch = importlib.import_module("torch")
    try:
        namespace = importlib.import_module("array_api_compat.torch")
    except ModuleNotFoundError:
        what = "torch supports the array API only through array-api-compat"
        hint = "install array-api-compat"
        raise BackendUnavailableError("interchange.xp", what, "IX-XP-3", hint) from None
    if device is not CPU and device.id >= torch.cuda.device_count():
        raise LookupError(device)
    return TorchBackend(device, torch, namespace)


_DEVIATIONS: Final = (
    Deviation(
        "torch",
        "2.13.0",
        "the C exchange functions ignore requires_grad and the conjugate and negative bits",
        "DLP-API-1",
        "such tensors are asked through __dlpack__, which refuses the first two",
    ),
    Deviation(
        "torch",
        "2.13.0",
        "__dlpack__ exports a tensor with the negative bit as if it had none",
        "DLP-DTYPE-6",
        "such tensors are refused; call resolve_neg() first",
    ),
    Deviation(
        "torch",
        "2.13.0",
        "from_dlpack() and from_numpy() forget that memory is read-only",
        "DLP-RO-3",
        "convert() refuses read-only memory unless a copy is allowed",
        "https://github.com/pytorch/pytorch/issues/32868",
    ),
    Deviation(
        "torch",
        "2.13.0",
        "__dlpack__() without stream= orders no CUDA work, where others take the default stream",
        "DLP-STREAM-5",
        "the stream is always passed to producers with streams",
        "https://github.com/pytorch/pytorch/pull/163242",
    ),
    Deviation(
        "torch",
        "2.12 and 2.13",
        "from_dlpack() of an array with negative strides aborts the process",
        "DLP-STRIDES-2",
        "convert() refuses such arrays; copy them first",
        "https://github.com/pytorch/pytorch/issues/188023",
    ),
    Deviation(
        "torch",
        "2.13.0",
        "asarray() asks for a buffer before __dlpack__, and reads any buffer as float32",
        "BUF-FORMAT-1",
        "none can, from CPython 3.12 on: use torch.from_dlpack(), torch.as_tensor() or convert()",
    ),
    Deviation(
        "torch",
        "2.13.0",
        "pinned tensors advertise device type 3 and ship a capsule that says 1",
        "DLP-DEV-3",
        "the capsule is believed, and no stream is sent",
        "https://github.com/pytorch/pytorch/issues/136250",
    ),
)


class _Block:
    """Memory of PyTorch's caching allocator."""

    __slots__ = ("handle", "size")

    def __init__(self, handle: int, size: int) -> None:
        self.handle = handle
        self.size = size

    def close(self) -> None:
        """Return the memory to the allocator, once."""
        handle, self.handle = self.handle, 0
        if handle:
            sys.modules["torch"].cuda.caching_allocator_delete(handle)


class _Pool:
    """PyTorch's caching allocator."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def allocate(self, size: int, *, stream: Any) -> _Block:
        """Return memory that is used on a stream first."""
        cuda = importlib.import_module("torch").cuda
        handle = 0 if stream.handle == LEGACY_DEFAULT_STREAM else stream.handle
        return _Block(cuda.caching_allocator_alloc(size, self._device.id, handle), size)


LIBRARY: Final = Library(
    "torch",
    deviations=_DEVIATIONS,
    is_array_library=True,
    export_guard=_guard_export,
    record_guard=_guard_record,
    explain_refusal=_explain_refusal,
    hint=_hint,
    exchange_guard=_table_keeps_meaning,
    core_has_exchange_guard=True,
    has_record_on_host=False,
    may_mask_records=False,
    device_types=frozenset({"device"}),
    read_device=_read_device,
    allocator=_Pool,
    array_api=ArrayAPI(
        "torch",
        "torch",
        (("torch", "Tensor"),),
        "array_api_compat.torch",
        read_device=_find_device,
        write_device=_write_device,
        move=_move,
        memory="any",
        words=None,
        takes_host=False,
    ),
    targets={"torch": Target("torch", _take, keeps_readonly=False)},
    result_types=(("torch", "Tensor", "torch"),),
    preference={DLDeviceType.kDLCUDA: 1, DLDeviceType.kDLROCM: 1},
    make_backend=_make_backend,
    examples=(
        Example("PyTorch", "torch", "torch", lambda m: m.zeros(3, device="cpu"), "from_dlpack"),
    ),
)
