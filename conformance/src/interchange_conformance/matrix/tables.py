"""Rows and columns of the tables of arrays, in their order: on the host, and on CUDA devices."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from interchange_conformance.subject import Kind

_SUBJECTS: Final = "interchange_conformance.subjects"
_ORDER: Final = {
    "cpu": (
        "numpy", "array_api_strict", "torch", "jax", "pyarrow_array", "pyarrow", "tvm_ffi",
        "cuda_core", "warp", "mlx", "_stdlib", "interchange",
    ),
    "cuda": (
        "_cuda_bindings", "cuda_core_buffer", "cuda_core", "numba_cuda", "cupy", "torch", "jax",
        "tvm_ffi", "interchange", "numpy",
    ),
}  # fmt: skip
"""Device -> the modules of ``subjects`` with kinds of arrays for it."""


@cache
def kinds_of(device: str) -> tuple[Kind, ...]:
    """Return every kind of array on a device, in the order of the table.

    Parameters
    ----------
    device : {"cpu", "cuda"}
        Device of the arrays.

    Examples
    --------
    >>> kinds_of("cpu")[0].name
    'NumPy'
    """
    attribute = "kinds" if device == "cpu" else "kinds_on_devices"
    modules = [importlib.import_module(f"{_SUBJECTS}.{name}") for name in _ORDER[device]]
    return tuple(kind for module in modules for kind in getattr(module, attribute))
