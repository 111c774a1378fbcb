"""MLX: arrays on the host or on the GPU that it was built for.

Source: https://ml-explore.github.io/mlx/build/html/usage/numpy.html

It computes lazily, so that arrays are evaluated immediately after they are made.  On Linux its
extra ``cpu`` installs the library for the CPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange.abi import buffer_address
from interchange_conformance.subject import Kind, Subject

from ._common import PLAIN, need_dtype, need_writable
from ._devices import need_device

if TYPE_CHECKING:
    Shape = tuple[int, ...]

_DTYPES: Final = (*(name for name in PLAIN if name != "complex128"), "bfloat16")


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return an array."""
    need_device(device, ("cpu",), "MLX, as it is described here,")
    need_writable(readonly, "MLX")
    need_dtype(dtype, _DTYPES, "MLX")

    import mlx.core as mx

    x = mx.zeros(shape, getattr(mx, "bool_" if dtype == "bool" else dtype), stream=mx.cpu)
    mx.eval(x)
    return x


def take(x: Any) -> Any:
    """Import by DLPack."""
    import mlx.core as mx

    y = mx.from_dlpack(x)
    mx.eval(y)
    return y


def read(y: Any) -> list[Any]:
    """Return the elements."""
    return list(y.reshape(-1).tolist())


def write(y: Any) -> None:
    """Set the first element."""
    import mlx.core as mx

    y[(0,) * y.ndim] = 1
    mx.eval(y)


subject: Subject = Subject(
    "MLX",
    make=make,
    take=take,
    read=read,
    write=write,
    distribution="mlx",
    preload=("mlx.core",),
)

kinds: tuple[Kind, ...] = (
    Kind(
        "MLX",
        subject,
        lambda x: buffer_address(memoryview(x)),
        library="mlx",
        module="mlx.core",
        target="mlx",
        head="MLX",
        readonly=lambda x: memoryview(x).readonly,
        order=10,
    ),
)
