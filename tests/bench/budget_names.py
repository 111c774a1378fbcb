"""The names in the statements of `budgets`, by group: a group is measured in one process.

Libraries that are not installed have no names here, and rows that use them are not measured.
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
from interchange.abi import parse_record

sys.path.insert(0, str(Path(__file__).parent))

from budgets import LOOPS
from c_build import CannotBuildError, c_loops, nanobind_argument

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPE = (2, 3, 4)
AOTI_GETTERS = tuple(
    f"aoti_torch_get_{name}"
    for name in ("data_ptr", "dim", "sizes", "strides", "device_type", "device_index", "dtype")
)


class Subclass(np.ndarray):
    """Inherits all that it does."""


class Exporter:
    """Builds its interface record at every access, as libraries do."""

    def __init__(self, ptr: int, stream: int | None = None) -> None:
        self.ptr = ptr
        self.stream = stream

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": SHAPE,
            "typestr": "<f4",
            "data": (self.ptr, False),
            "strides": None,
            "version": 3,
            "stream": self.stream,
        }


def host() -> dict[str, Any]:
    """Return what needs NumPy alone."""
    x = np.zeros(SHAPE, np.float32)
    few, many = np.ones(3), np.ones(10**6)
    producer = Exporter(4096)
    return {
        "np": np,
        "xp": ix.xp,
        "many": many,
        "large": ix.from_dlpack(many),
        "own": ix.from_pointer(x.ctypes.data, SHAPE, "bfloat16", owner=x),
        "plain": ix.from_pointer(x.ctypes.data, SHAPE, "float32", owner=x),
        "parse_record": parse_record,
        "producer": producer,
        "record": producer.__cuda_array_interface__,
        "x": x,
        "sub": x.view(Subclass),
        "version": (1, 3),
        "asarray": ix.asarray,
        "from_dlpack": ix.from_dlpack,
        "from_arrow": ix.from_arrow,
        "to_arrow": ix.to_arrow,
        "ours": ix.from_dlpack(x),
        "few": few,
        "small": ix.from_dlpack(few),
    }


def asked() -> dict[str, Any]:
    """Return the same, with ndarrays imported by capsules instead of direct reads."""
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


def nanobind() -> dict[str, Any]:
    """Return the same, and a function of nanobind that converts its argument."""
    names = peers()
    try:
        names["nanobind_take"] = nanobind_argument().take
    except CannotBuildError as error:
        print(error, file=sys.stderr)
    return names


def in_c() -> dict[str, Any]:
    """Return the functions that loop in C, and their arguments."""
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


def columns() -> dict[str, Any]:
    """Return the same, and a column, whose library changes what else runs in the process."""
    names = in_c()
    if pyarrow := installed("pyarrow"):
        names["column"] = pyarrow.array([1.0, None, 3.0])
        names["export_column"] = pyarrow.Array.__arrow_c_device_array__  # which is preferred
    return names


def aoti(torch: Any, tensor: Any) -> tuple[tuple[int, ...], int]:
    """Return the addresses of torch's C getters, and the handle of a tensor.

    The handle is the address of the ``at::Tensor`` in the Python object, as in cuda.core; torch has
    no
    function that returns it.
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


def cuda(which: str = "emulated") -> dict[str, Any]:
    """Return the names that need a CUDA driver: the emulated one or the ``"real"`` one.

    Calls of the emulated driver are cheap, so that the overhead of both sides is compared.
    """
    if which == "emulated":
        from interchange_conformance.emucuda.control import load

        load()
    from cuda.bindings import driver
    from cuda.core import Device
    from cuda.core.utils import StridedMemoryView

    from interchange._streams.driver import driver_of

    Device(0).set_current()
    producer, consumer = (int(driver.cuStreamCreate(1)[1]) for _ in range(2))
    ptr = int(driver.cuMemAlloc(4096)[1])
    ours, busy = driver_of(ix.Device(2), "bench"), Exporter(ptr, producer)
    return {
        "producer": producer,
        "consumer": consumer,
        "ptr": ptr,
        "order": ours.order,
        "pointer_attributes": ours.pointer_attributes,
        "record": driver.cuEventRecord,
        "wait": driver.cuStreamWaitEvent,
        "event": driver.cuEventCreate(2)[1],
        "ask": driver.cuPointerGetAttribute,
        "ordinal": driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        "from_cai": ix.from_cai,
        "view": StridedMemoryView.from_cuda_array_interface,
        "busy": busy,
        "idle": Exporter(ptr),
        "ready": Ready(Exporter(ptr).__cuda_array_interface__),
    }


def contracts() -> dict[str, Any]:
    """Return functions whose arguments are imported, and those whose arguments are checked."""
    asarray = ix.asarray

    def function(x: Any, y: Any) -> None:
        """Return without using two arrays."""

    def plain(x: Any, y: Any) -> None:
        """Import both, and return."""
        return function(asarray(x), asarray(y))

    all_words: Any = {"ndim": (1, 2), "device": "cpu", "writable": True, "align": 4}
    points = {"dtype": "real floating", "shape": ("n", 3), "order": "C"}
    weights = {"dtype": "float32", "shape": ("n",), "order": "C"}
    pair = ix.Contract(**points), ix.Contract(**weights)
    strict = ix.Contract(**points, **all_words), ix.Contract(**weights, **all_words)
    return {
        "asarray": asarray,
        "x": np.zeros((4, 3), "f4"),
        "y": np.zeros(4, "f4"),
        "plain": plain,
        "imported": ix.accepts_arrays("x", "y")(function),
        "checked": ix.accepts_arrays(x=pair[0], y=pair[1])(function),
        "strict": ix.accepts_arrays(x=strict[0], y=strict[1])(function),
    }


GROUPS: dict[str, Callable[..., dict[str, Any]]] = {
    "host": host,
    "asked": asked,
    "peers": peers,
    "c": in_c,
    "columns": columns,
    "cuda": cuda,
    "contracts": contracts,
    "nanobind": nanobind,
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
