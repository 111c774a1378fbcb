"""What the names in the statements of `budgets` are, by group: a group is measured in one process.

Libraries that are not installed have no names here, and rows that name them are not measured.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import interchange as ix

sys.path.insert(0, str(Path(__file__).parent))

from budgets import LOOPS
from c_build import CannotBuildError, c_loops, nanobind_argument
from cases import RecordProducer
from cuda_cases import make_cuda_names

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPE = (2, 3, 4)
AOTI_GETTERS = (
    "aoti_torch_get_data_ptr",
    "aoti_torch_get_dim",
    "aoti_torch_get_sizes",
    "aoti_torch_get_strides",
    "aoti_torch_get_device_type",
    "aoti_torch_get_device_index",
    "aoti_torch_get_dtype",
)


class Subclass(np.ndarray):
    """Inherits all that it does."""


def host() -> dict[str, Any]:
    """Return what needs NumPy alone."""
    x = np.zeros(SHAPE, np.float32)
    few = np.ones(3)
    return {
        "np": np,
        "x": x,
        "sub": x.view(Subclass),
        "version": (1, 3),
        "asarray": ix.asarray,
        "from_dlpack": ix.from_dlpack,
        "ours": ix.from_dlpack(x),
        "few": few,
        "small": ix.from_dlpack(few),
    }


def asked() -> dict[str, Any]:
    """Return the same, where ndarrays are asked for capsules and not read where they are."""
    names = host()
    if core() == "native":
        from interchange._core._native import _extension
        from interchange._protocols.capabilities import Route, Sharing

        _extension.read_directly(None, 1)
        how = (Route.ASK, 0, False, Sharing.CAREFULLY)
        _extension.remember_type(np.ndarray, *how)
    return names


def peers() -> dict[str, Any]:
    """Return arrays of other libraries, and how those import them."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    names = host()
    torch, jax, dlpack = (installed(name) for name in ("torch", "jax.numpy", "jax.dlpack"))
    if torch:
        torch.set_num_threads(1)
        names["torch"] = torch
        names["tensor"] = torch.zeros(SHAPE)
    if jax:
        names["jax_array"] = jax.zeros(SHAPE)
        names["jax_from_dlpack"] = dlpack.from_dlpack
    if tvm_ffi := installed("tvm_ffi"):
        names["tvm_ffi"] = tvm_ffi
        names["tvm_tensor"] = tvm_ffi.from_dlpack(names["x"])
    if cuda := installed("cuda.core.utils"):
        names["StridedMemoryView"] = cuda.StridedMemoryView
    return names


def strangers() -> dict[str, Any]:
    """Return the same, and a function of nanobind that converts its argument."""
    names = peers()
    try:
        names["nanobind_take"] = nanobind_argument().take
    except CannotBuildError as error:
        print(error, file=sys.stderr)
    return names


def in_c() -> dict[str, Any]:
    """Return what loops in C, and what they loop over."""
    names = {**host(), "LOOPS": LOOPS}
    try:
        names["loops"] = c_loops()
    except CannotBuildError as error:
        print(error, file=sys.stderr)
    torch = installed("torch")
    if torch:
        torch.set_num_threads(1)
        tensor = names["tensor"] = torch.zeros(SHAPE)
        names["aoti_getters"], names["aoti_handle"] = aoti(torch, tensor)
    return names


def aoti(torch: Any, tensor: Any) -> tuple[tuple[int, ...], int]:
    """Return the addresses of torch's C getters, and the handle of a tensor.

    The handle is the address of the ``at::Tensor`` in the Python object, which is how cuda.core
    finds it; torch has no function that tells it.
    """
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    addresses = tuple(
        ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in AOTI_GETTERS
    )
    handle = id(tensor) + object.__basicsize__
    found = ctypes.c_void_p()
    get = library[AOTI_GETTERS[0]]
    if get(ctypes.c_void_p(handle), ctypes.byref(found)) or found.value != tensor.data_ptr():
        raise RuntimeError("this torch keeps its tensors elsewhere")
    return addresses, handle


class Ready:
    """Has its interface record as an attribute."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.__cuda_array_interface__ = record


class Fresh(RecordProducer):
    """Builds its interface record afresh at every access, as libraries do."""

    __cuda_array_interface__ = RecordProducer.record


def cuda(which: str = "emulated") -> dict[str, Any]:
    """Return what needs a CUDA driver."""
    names = make_cuda_names(which)
    record = {**RecordProducer().record, "data": (names["ptr"], False)}
    return {**names, "ready": Ready(record), "fresh": Fresh()}


GROUPS: dict[str, Callable[..., dict[str, Any]]] = {
    "host": host,
    "asked": asked,
    "peers": peers,
    "c": in_c,
    "cuda": cuda,
    "strangers": strangers,
}


def core() -> str:
    """Return the name of the core that is in use."""
    from interchange._core import core_name

    return core_name


def installed(name: str) -> Any:
    """Return a module, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None
