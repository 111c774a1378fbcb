"""From `Array` to other libraries, where ``library.from_dlpack(array)`` is not enough.

Source: array API standard 2025.12; the libraries' own import functions.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange._protocols import dlpack
from interchange._terms.errors import (
    ArgumentError,
    BackendUnavailableError,
    ExchangeError,
    Explained,
    ReadOnlyError,
    show,
)

from .imports import asarray

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange._array import Array


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
    return asarray(x).__dlpack__(stream=stream, max_version=max_version)


class Target(NamedTuple):
    """A library that arrays can be handed to.

    Attributes
    ----------
    module : str
        What to import.
    take : callable
        ``take(module, array)`` -> the library's own array.
    keeps_readonly : bool
        Whether its arrays can say, or ensure, that memory is not written.
    """

    module: str
    take: Callable[[Any, Array], Any]
    keeps_readonly: bool


def _as_writable(array: Array) -> Array:
    """Return an alias that says it may be written, for consumers that are known not to."""
    alias = array.__copy__()
    alias._flags = 0
    return alias


def _to_numpy(_: Any, array: Array) -> Any:
    return array.__array__()


def _by_from_dlpack(module: Any, array: Array) -> Any:
    return module.from_dlpack(array)


def _to_jax(module: Any, array: Array) -> Any:
    # JAX asks for legacy capsules only, which cannot say read-only; its arrays are never written.
    return module.dlpack.from_dlpack(_as_writable(array) if array.readonly else array)


def _to_pyarrow(module: Any, array: Array) -> Any:
    return module.Tensor.from_numpy(array.__array__())


def _to_strided_view(module: Any, array: Array) -> Any:
    return module.StridedMemoryView.from_dlpack(array, stream_ptr=-1)


def _to_memoryview(_: Any, array: Array) -> memoryview:
    return array.as_memoryview()


TARGETS: Final = {
    "array_api_strict": Target("array_api_strict", _by_from_dlpack, keeps_readonly=True),
    "cuda.core": Target("cuda.core.utils", _to_strided_view, keeps_readonly=True),
    "jax": Target("jax", _to_jax, keeps_readonly=True),
    "memoryview": Target("builtins", _to_memoryview, keeps_readonly=True),
    "mlx": Target("mlx.core", _by_from_dlpack, keeps_readonly=False),
    "numpy": Target("numpy", _to_numpy, keeps_readonly=True),
    "pyarrow": Target("pyarrow", _to_pyarrow, keeps_readonly=True),
    "torch": Target("torch", _by_from_dlpack, keeps_readonly=False),
    "tvm_ffi": Target("tvm_ffi", _by_from_dlpack, keeps_readonly=False),
    "warp": Target("warp", _by_from_dlpack, keeps_readonly=False),
}
"""Name of a library -> how it takes arrays."""


def convert(
    x: Any, library: str, /, *, copy: bool | None = None, assume_writable: bool = False
) -> Any:
    """Return `x` as an array of a named library, by the best way in that it has.

    Parameters
    ----------
    x : object
        Anything that `asarray` takes.
    library : str
        One of `interchange.TARGETS`, such as ``"torch"``.
    copy : bool, optional
        None: share the memory or raise.  True: hand over a copy.  False: as None, and also refuse
        copies on the way in.
    assume_writable : bool, default False
        Take memory to be writable whose producer cannot say (a legacy capsule).

    Returns
    -------
    object
        The library's own array.

    Raises
    ------
    BackendUnavailableError
        The library is not known or not installed (IX-CONVERT-1).
    ReadOnlyError
        The memory is read-only, or not known to be writable, and the library's arrays would forget
        it (DLP-RO-3).
    ExchangeError
        The library cannot describe the array (IX-CONVERT-2).

    Examples
    --------
    >>> import interchange as ix
    >>> ix.convert(bytearray(b"abc"), "numpy")
    array([97, 98, 99], dtype=uint8)
    """
    call = "convert()"
    dlpack.check_copy(copy, call)
    target = _find_target(library, call)
    array = asarray(x, copy=copy, assume_writable=assume_writable)
    if array.readonly is not False and not target.keeps_readonly:
        kind = "read-only memory" if array.readonly else "memory not known to be writable"
        way_out = "pass copy=True" + ("" if array.readonly else " or assume_writable=True")
        what = f"{kind}, of which {library} would not know"
        raise ReadOnlyError(call, what, "DLP-RO-3", way_out)
    module = _import_target(library, target, call)
    try:
        return target.take(module, array)
    except Explained:
        raise
    except Exception as error:
        what = f"{library} refused {array.dtype} of shape {array.shape} ({error})"
        raise ExchangeError(call, what, "IX-CONVERT-2") from error


def _find_target(library: object, call: str) -> Target:
    """Return the row of a library."""
    if not isinstance(library, str):
        raise ArgumentError(call, f"library={show(library)}", "IX-ARGUMENT-1", "pass its name")
    if library not in TARGETS:
        what = f"library={library!r} is not known"
        way_out = f"choose one of {', '.join(TARGETS)}, or call its own from_dlpack()"
        raise BackendUnavailableError(call, what, "IX-CONVERT-1", way_out)
    return TARGETS[library]


def _import_target(library: str, target: Target, call: str) -> Any:
    """Return the module of a library."""
    try:
        return importlib.import_module(target.module)
    except ModuleNotFoundError as error:
        what = f"{library} cannot be imported ({error})"
        raise BackendUnavailableError(call, what, "IX-CONVERT-1", f"install {library}") from error
