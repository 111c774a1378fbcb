"""Paddle: tensors on the host.

Source: https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/utils/dlpack/from_dlpack_en.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Subject

from ._common import need_writable
from ._devices import need_device

if TYPE_CHECKING:
    Shape = tuple[int, ...]

_DTYPES: Final = frozenset({
    "bool", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64",
    "complex64", "complex128", "bfloat16", "float8_e4m3fn", "float8_e5m2",
})  # fmt: skip
_WITHOUT_NUMBERS: Final = frozenset({"bfloat16", "float8_e4m3fn", "float8_e5m2"})
"""Element types that are read as float32, because Python has no such numbers."""
_MOST_AXES: Final = 9


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return a tensor."""
    need_device(device, ("cpu",), "Paddle")
    need_writable(readonly, "Paddle")
    if dtype not in _DTYPES or len(shape) > _MOST_AXES:
        raise CannotMakeError(f"Paddle has no {dtype} with {len(shape)} axes")

    import paddle

    return paddle.empty(shape, dtype)


def take(x: Any) -> Any:
    """Import by DLPack."""
    import paddle

    return paddle.from_dlpack(x)


def take_with(x: Any, copy: bool | None) -> Any:
    """Import by DLPack, with the standard's ``copy``."""
    import paddle

    return paddle.from_dlpack(x, copy=copy)


def read(y: Any) -> list[Any]:
    """Return the elements."""
    flat = y.flatten()
    wide = str(y.dtype).rpartition(".")[2] in _WITHOUT_NUMBERS
    return list(flat.astype("float32").tolist() if wide else flat.tolist())


def write(y: Any) -> None:
    """Set the first element."""
    y[(0,) * y.ndim] = 1


subject: Subject = Subject(
    "Paddle",
    make=make,
    take=take,
    take_with=take_with,
    read=read,
    write=write,
    take_capsule=take,
    distribution="paddlepaddle",
    preload=("paddle", "numpy"),
)
