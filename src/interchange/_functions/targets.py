"""How each library takes an Array: the one table of what `convert` knows.

Source: the libraries' own import functions, as they were seen to be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._core._numpy import require_numpy_dtype
from interchange._streams.rules import NO_SYNC, check_stream
from interchange._types.devices import CPU
from interchange._types.errors import CopyNeededError
from interchange.abi._records import NamedTuple

from .cai import to_cai

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange._array import Array

_CALL: Final = "convert()"


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
    reason = first_line(error).partition(". ")[0].rstrip(".")
    what = f"{library} would copy ({reason})"
    return CopyNeededError(_CALL, what, "IX-CONVERT-3")


def first_line(error: Exception) -> str:
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
