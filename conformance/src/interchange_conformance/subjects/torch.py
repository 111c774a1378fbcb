"""PyTorch: tensors on the host and on CUDA devices, which cannot be read-only.

Source: https://docs.pytorch.org/docs/stable/dlpack.html;
https://docs.pytorch.org/docs/stable/notes/cuda.html

There is no ``take_buffer``: ``torch.frombuffer`` uses only the bytes of the buffer, and requires
the element type as an argument.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import LEGACY, PER_THREAD, chosen
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Kind, Subject

from ._common import PLAIN, need_dtype, need_writable
from ._devices import need_device, need_gpu

if TYPE_CHECKING:
    Shape = tuple[int, ...]

_DTYPES: Final = (
    *PLAIN,
    "bfloat16",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
)
_NAMES: Final = {"cuda": "cuda:0"}
_HAS_GPU: Final = chosen() == "real"


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return a tensor."""
    need_device(device, ("cpu", "cuda", "cuda:1", "pinned"), "PyTorch")
    need_gpu(device, "PyTorch")
    need_writable(readonly, "PyTorch")
    need_dtype(dtype, _DTYPES, "PyTorch")

    import torch

    element = getattr(torch, dtype)
    if device == "pinned":
        return torch.zeros(shape, dtype=element, pin_memory=True)
    return torch.zeros(shape, dtype=element, device=_NAMES.get(device, device))


def _stream(handle: int) -> Any:
    """Return the stream of a handle."""
    import torch

    if handle == PER_THREAD:
        raise CannotMakeError("PyTorch has no per-thread default stream")
    return torch.cuda.default_stream() if handle == LEGACY else torch.cuda.ExternalStream(handle)


def make_on(stream: int, shape: Shape, dtype: str) -> Any:
    """Return a tensor; the stream stays current, and PyTorch orders its work at the export."""
    import torch

    torch.cuda.set_stream(_stream(stream))
    return torch.zeros(shape, dtype=getattr(torch, dtype), device=torch.cuda.current_device())


def take(x: Any) -> Any:
    """Import by DLPack."""
    import torch

    return torch.from_dlpack(x)


def take_on(stream: int, x: Any) -> Any:
    """Import by DLPack, with the given stream current."""
    import torch

    with torch.cuda.stream(_stream(stream)):
        return torch.from_dlpack(x)


def take_cai(x: Any) -> Any:
    """Import by the CUDA Array Interface."""
    import torch

    return torch.as_tensor(x, device="cuda")


def read(y: Any) -> list[Any]:
    """Return the elements."""
    return list(y.flatten().tolist())


def write(y: Any) -> None:
    """Set the first element."""
    y[(0,) * y.ndim] = 1


def release() -> None:
    """Free cached device memory."""
    import torch

    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def _lacks(module: Any) -> str | None:
    """Return why no tensor can be on a device, or None."""
    if not module.backends.cuda.is_built():
        return "built without CUDA"
    return None if module.cuda.is_available() else "finds no GPU"


subject: Subject = Subject(
    "PyTorch",
    make=make,
    take=take,
    read=read,
    write=write,
    take_cai=take_cai if _HAS_GPU else None,
    take_capsule=take,
    make_on=make_on if _HAS_GPU else None,
    take_on=take_on if _HAS_GPU else None,
    release=release,
    distribution="torch",
    preload=("torch",),
)

kinds: tuple[Kind, ...] = (
    Kind(
        "PyTorch",
        subject,
        lambda x: x.data_ptr(),
        library="torch",
        module="torch",
        target="torch",
        head="torch",
        order=3,
    ),
)
kinds_on_devices: tuple[Kind, ...] = (replace(kinds[0], lacks=_lacks, order=6),)
