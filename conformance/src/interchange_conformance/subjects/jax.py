"""JAX: immutable arrays on the host or on a GPU.

Source: https://docs.jax.dev/en/latest/jax.dlpack.html;
https://docs.jax.dev/en/latest/gpu_memory_allocation.html

64-bit element types are enabled, because JAX makes float32 of float64 otherwise.  It has no streams
that a caller could name, and no longer accepts capsules.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import chosen
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Kind, Subject

from ._common import PLAIN, need_dtype
from ._devices import NUMBERS, need_device, need_gpu

if TYPE_CHECKING:
    Shape = tuple[int, ...]

_DTYPES: Final = (
    *PLAIN,
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float4_e2m1fn",
    "int2",
    "int4",
    "uint2",
    "uint4",
)
_MOST_AXES: Final = 64
_HAS_GPU: Final = chosen() == "real"
_ENVIRONMENT: Final = {
    "JAX_ENABLE_X64": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    **({} if _HAS_GPU else {"JAX_PLATFORMS": "cpu"}),
}


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:  # noqa: ARG001 - all are
    """Return an array after its computation, without compiling anything."""
    need_device(device, ("cpu", "cuda", "cuda:1", "pinned"), "JAX")
    need_gpu(device, "JAX")
    need_dtype(dtype, _DTYPES, "JAX")

    import jax
    import numpy as np

    if len(shape) > _MOST_AXES:
        raise CannotMakeError("JAX reads its elements as NumPy's, which have 64 axes at most")
    elements = np.zeros(shape, jax.numpy.dtype(dtype))
    return jax.device_put(elements, _place(device), may_alias=False).block_until_ready()


def make_from(numbers: list[Any], shape: Shape, dtype: str) -> Any:
    """Return a host array with given numbers."""
    need_dtype(dtype, PLAIN, "JAX")

    import jax
    import numpy as np

    elements = np.array(numbers, dtype).reshape(shape)
    return jax.device_put(elements, _place("cpu"), may_alias=False).block_until_ready()


def _place(device: str) -> Any:
    """Return a device, or a kind of memory on a device."""
    import jax

    try:
        if device == "cpu":
            return jax.devices("cpu")[0]
        found = jax.devices("gpu")[NUMBERS.get(device, 0)]
    except (RuntimeError, IndexError) as error:
        raise CannotMakeError(f"JAX finds no {device}: {error}") from error
    if device == "pinned":
        return jax.sharding.SingleDeviceSharding(found, memory_kind="pinned_host")
    return found


def take(x: Any) -> Any:
    """Import by DLPack."""
    import jax

    return jax.dlpack.from_dlpack(x)


def take_interface(x: Any) -> Any:
    """Import by the other protocols of JAX: the CUDA Array Interface, or a copy of a buffer."""
    import jax

    return jax.numpy.asarray(x)


def read(y: Any) -> list[Any]:
    """Return the elements."""
    import numpy as np

    return list(np.asarray(y).ravel().tolist())


def write(y: Any) -> None:
    """Try to set the first element, which every JAX array refuses."""
    y[(0,) * y.ndim] = 1


def _lacks(module: Any) -> str | None:
    """Return why no array can be on a device, or None."""
    try:
        module.devices("gpu")
    except RuntimeError:
        return "finds no GPU"
    return None


subject: Subject = Subject(
    "JAX",
    make=make,
    make_from=make_from,
    take=take,
    read=read,
    write=write,
    take_cai=take_interface if _HAS_GPU else None,
    distribution="jax",
    immutable=True,
    preload=("jax", "jax.dlpack"),
    environment=_ENVIRONMENT,
)

kinds: tuple[Kind, ...] = (
    Kind(
        "JAX",
        subject,
        lambda x: x.unsafe_buffer_pointer(),
        library="jax",
        module="jax",
        target="jax",
        head="JAX",
        readonly=lambda _: True,
        environment={"JAX_PLATFORMS": "cpu"},
        order=4,
    ),
)
kinds_on_devices: tuple[Kind, ...] = (
    replace(kinds[0], environment={}, lacks=_lacks, order=7, is_ordered=False),
)
