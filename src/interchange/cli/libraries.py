"""The array libraries that ``interchange`` looks for, and how each makes an array to test.

The release of a library is found without importing it; an array shows which protocols the library
supports.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import warnings
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class AbsentError(Exception):
    """A library is not installed, or does not work here; the text says why."""


class Library(NamedTuple):
    """One kind of array."""

    name: str  # the name of its row
    module: str  # what to import
    distribution: str | None  # the distribution that has its version; None for the standard library
    make: Callable[[Any], Any]  # ``make(module)`` -> an array in host memory
    # Where the module has its function that takes DLPack; looked up, not called.
    from_dlpack: str | None = None
    library: str = ""  # the name in JSON, if it differs from `module`


def _view(module: Any) -> Any:
    """Make a view of cuda.core over memory of NumPy's."""
    import numpy as np

    return module.StridedMemoryView.from_dlpack(np.zeros(3, "f4"), stream_ptr=-1)


def _of_numpy(take: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Return a function that makes an array over memory of NumPy's."""

    def make(module: Any) -> Any:
        import numpy as np

        return take(module, np.zeros(3, "f4"))

    return make


def _bfloat16(module: Any) -> Any:
    """Make an array of NumPy of a type that ml_dtypes adds."""
    import numpy as np

    return np.zeros(3, module.bfloat16)


def _mlx(module: Any) -> Any:
    """Make an array of MLX, which is lazy."""
    x = module.zeros(3)
    module.eval(x)
    return x


def _warp(module: Any) -> Any:
    """Make an array of Warp on the host, without its banner."""
    module.config.quiet = True
    if hasattr(module, "LOG_ERROR"):
        module.config.log_level = module.LOG_ERROR
    with _native_stderr_dropped():  # native code prints that there is no driver
        module.init()
    return module.zeros(3, dtype=module.float32, device="cpu")


def _jax(module: Any) -> Any:
    """Make an array of JAX on the host."""
    return module.numpy.zeros(3, "float32", device=module.devices("cpu")[0])


LIBRARIES: Final = (
    Library("NumPy", "numpy", "numpy", lambda m: m.zeros(3, "f4"), "from_dlpack"),
    Library("NumPy ml_dtypes", "ml_dtypes", "ml_dtypes", _bfloat16),
    Library(
        "array-api-strict", "array_api_strict", "array-api-strict", lambda m: m.zeros(3),
        "from_dlpack",
    ),
    Library("PyTorch", "torch", "torch", lambda m: m.zeros(3, device="cpu"), "from_dlpack"),
    Library("JAX", "jax", "jax", _jax, "dlpack.from_dlpack"),
    Library(
        "pyarrow.Array", "pyarrow", "pyarrow", lambda m: m.array([0.0], m.float32()),
        "Array.from_dlpack",
    ),
    Library(
        "pyarrow.Tensor", "pyarrow", "pyarrow", _of_numpy(lambda m, x: m.Tensor.from_numpy(x)),
        "Tensor.from_dlpack",
    ),
    Library(
        "tvm-ffi", "tvm_ffi", "apache-tvm-ffi", _of_numpy(lambda m, x: m.from_dlpack(x)),
        "from_dlpack",
    ),
    Library(
        "cuda.core", "cuda.core.utils", "cuda-core", _view, "StridedMemoryView.from_dlpack",
        "cuda.core",
    ),
    Library("Warp", "warp", "warp-lang", _warp, "from_dlpack"),
    Library("MLX", "mlx.core", "mlx", _mlx, "from_dlpack", "mlx"),
    Library(
        "memoryview", "builtins", None, lambda _: memoryview(bytearray(12)).cast("f"), None,
        "stdlib",
    ),
    Library("bytes", "builtins", None, lambda _: bytes(3), None, "stdlib"),
    Library("bytearray", "builtins", None, lambda _: bytearray(3), None, "stdlib"),
    Library("array.array", "array", None, lambda m: m.array("f", [0.0]), None, "stdlib"),
    Library("ctypes array", "ctypes", None, lambda m: (m.c_float * 3)(), None, "stdlib"),
    Library(
        "interchange", "interchange", "array-interchange", lambda m: m.asarray(bytearray(3)),
        "from_dlpack",
    ),
)  # fmt: skip
"""Every kind of array, in the order of the table."""
_ENVIRONMENT: Final = {"jax": {"JAX_PLATFORMS": "cpu"}}
"""Module -> variables to set before it is imported, unless they are set."""


def release_of(library: Library) -> str | None:
    """Return the release that is installed, or None; the library is not imported."""
    if library.distribution is None:
        return "{}.{}.{}".format(*sys.version_info)
    top = library.module.partition(".")[0]
    if top not in sys.modules and find_spec(top) is None:
        return None
    try:
        return metadata.version(library.distribution)
    except metadata.PackageNotFoundError:
        found = getattr(sys.modules.get(top), "__version__", None)
        return str(found) if found else "unknown"


def array_of(library: Library) -> tuple[Any, Any]:
    """Import a library, and return its module and an array of it.

    Raises AbsentError: it is not installed, does not import, or makes no array.
    """
    if release_of(library) is None:
        raise AbsentError("not installed")
    for name, value in _ENVIRONMENT.get(library.module, {}).items():
        os.environ.setdefault(name, value)
    with silenced():
        try:
            module = importlib.import_module(library.module)
        except Exception as error:
            raise AbsentError(f"does not import: {first_line(error)}") from error
        try:
            return module, library.make(module)
        except Exception as error:
            raise AbsentError(f"makes no array: {first_line(error)}") from error


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Drop the warnings of libraries and what they print; errors go through."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _native_stderr_dropped() -> Iterator[None]:
    """Drop what native code writes to standard error."""
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, or the name of its type."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
