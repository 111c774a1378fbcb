"""Array-API libraries: which one an array or a namespace is of, and how each says where it is.

Source: array-api-compat, ``common/_helpers.py`` (which types count as whose); each library's own
documentation of its devices.  Libraries are found among what is imported, and are never imported
to find out.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final, NoReturn

from interchange._streams.handles import stream_handle
from interchange._streams.rules import check_stream
from interchange._types.device_words import gpu, read_jax
from interchange._types.devices import CPU, Device
from interchange._types.errors import UnsupportedDeviceError, show
from interchange._types.type_table import TypeTable
from interchange.abi._records import NamedTuple
from interchange.abi.dlpack import DLDeviceType

if TYPE_CHECKING:
    from collections.abc import Callable

_GPUS: Final = frozenset({DLDeviceType.kDLCUDA, DLDeviceType.kDLROCM})


# ---------------------------------------------------------------- devices in a library's own words


def _read_host_word(device: Any) -> Device | None:
    """Read the devices of NumPy and Dask: one, by the name that it has here, too."""
    return CPU if device == "cpu" else None


def _write_host_word(device: Device) -> Any:
    """Return ``"cpu"``."""
    return "cpu" if device is CPU else None


def _read_torch(device: Any) -> Device | None:
    """Read a ``torch.device``, or what torch makes one of."""
    torch = sys.modules["torch"]
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        refuse_device("torch", device, "device")
    if found.type == "cpu":
        return CPU
    if found.type != "cuda":
        return None
    if found.index is None and not torch.cuda.is_available():
        return None
    ordinal = torch.cuda.current_device() if found.index is None else found.index
    return Device(*gpu(ordinal, is_rocm=torch.version.hip is not None))


def _write_torch(device: Device) -> Any:
    """Return a ``torch.device``."""
    torch = sys.modules["torch"]
    if device is CPU:
        return torch.device("cpu")
    is_here = device.type in _GPUS and device.id < torch.cuda.device_count()
    return torch.device("cuda", device.id) if is_here else None


def _read_cupy(device: Any) -> Device | None:
    """Read a ``cupy.cuda.Device``; ``"cpu"`` is array-api-compat's word for NumPy arrays."""
    ordinal = getattr(device, "id", device)
    if not isinstance(ordinal, int):
        return CPU if device == "cpu" else None
    return Device(*gpu(ordinal, is_rocm=bool(sys.modules["cupy"].cuda.runtime.is_hip)))


def _write_cupy(device: Device) -> Any:
    """Return a ``cupy.cuda.Device``."""
    return sys.modules["cupy"].cuda.Device(device.id) if device.type in _GPUS else None


def _read_jax(device: Any) -> Device | None:
    """Read a ``jax.Device``; a sharding is no one device."""
    platform = getattr(device, "platform", None)
    found = None if platform is None or (platform == "cpu" and device.id) else read_jax(device)
    return None if found is None else Device(*found)


def _write_jax(device: Device) -> Any:
    """Return a ``jax.Device``."""
    if device is not CPU and device.type not in _GPUS:
        return None
    try:
        found = sys.modules["jax"].local_devices(backend="cpu" if device is CPU else "gpu")
    except RuntimeError:  # it has no such devices here
        return None
    return next((one for one in found if _read_jax(one) is device), None)


def _read_strict(device: Any) -> Device | None:
    """Read a device of array-api-strict, of which all but one are labels of its own."""
    return CPU if str(device).endswith("Device('CPU_DEVICE')") else None


def _write_strict(device: Device) -> Any:
    """Return array-api-strict's name for the host."""
    return sys.modules["array_api_strict"].Device("CPU_DEVICE") if device is CPU else None


def _read_stranger(_: Any) -> None:
    """Say that nothing is known of a device of a library that is not known."""


# ---------------------------------------------------------------- moving a library's own arrays


def _stay(x: Any, device: Any, stream: Any, call: str) -> Any:
    """Return an array of a library that has one device."""
    if stream is not None:
        check_stream(stream_handle(stream, call), CPU, call)
    if device != "cpu":
        refuse_device("a library of the host", device, call)
    return x


def _move_torch(x: Any, device: Any, stream: Any, call: str) -> Any:
    """Move a tensor, on a stream of CUDA where one is named."""
    if stream is None:
        return x.to(device)
    torch = sys.modules["torch"]
    where = _read_torch(x.device)
    found = check_stream(stream_handle(stream, call), CPU if where is None else where, call)
    with torch.cuda.stream(torch.cuda.ExternalStream(0 if found in {None, 1} else found)):
        return x.to(device)


def _move_cupy(x: Any, device: Any, stream: Any, _: str) -> Any:
    """Move an array of CuPy; to the host as an ndarray, as array-api-compat does."""
    cupy = sys.modules["cupy"]
    if isinstance(stream, int):
        stream = cupy.cuda.ExternalStream(stream)
    if device == "cpu":
        return x.get(stream=stream)
    if x.device == cupy.cuda.Device(device):
        return x
    with cupy.cuda.Device(device), nullcontext() if stream is None else stream:
        return cupy.array(x)


def _move_jax(x: Any, device: Any, stream: Any, call: str) -> Any:
    """Move an array of JAX, which has no streams to be named."""
    if stream is not None:
        check_stream(stream_handle(stream, call), CPU, call)
    return sys.modules["jax"].device_put(x, device)


def _move_by_method(x: Any, device: Any, stream: Any, _: str) -> Any:
    """Move an array by the standard's method."""
    return x.to_device(device) if stream is None else x.to_device(device, stream=stream)


def refuse_device(library: str, device: Any, call: str) -> NoReturn:
    """Raise: arrays of `library` are never there."""
    what = f"{library} has no arrays on {device if isinstance(device, Device) else show(device)}"
    raise UnsupportedDeviceError(call, what, "DLP-DEV-6", "name a device that it computes on")


# ---------------------------------------------------------------- the libraries


class Library(NamedTuple):
    """An array-API library.

    Attributes
    ----------
    name : str
        What it is called; a key of `TARGETS`, unless its arrays are made by its own functions.
    arrays : tuple[tuple[str, str], ...]
        Module and name of the classes of its arrays.
    module : str
        The namespace.
    wrapped : str or None
        The namespace of array-api-compat that has the standard's names instead.
    read_device : callable
        The library's own word for a device -> `Device`, or None for what is none of ours.
    write_device : callable
        `Device` -> the library's own word, or None where it has no arrays.
    move : callable
        ``move(x, device, stream, call)``, the device in the library's own words.
    memory : str
        Where its arrays are: ``"host"``, ``"device"`` or ``"any"``.
    words : frozenset[str] or None
        Text that names devices in a way of its own; None where any may.
    takes_host : bool
        Whether its ``asarray`` takes ndarrays, and what NumPy makes one of, by rules of its own,
        and forgets nothing.
    """

    name: str
    arrays: tuple[tuple[str, str], ...]
    module: str
    wrapped: str | None = None
    read_device: Callable[[Any], Device | None] = _read_host_word
    write_device: Callable[[Device], Any] = _write_host_word
    move: Callable[[Any, Any, Any, str], Any] = _stay
    memory: str = "host"
    words: frozenset[str] | None = frozenset()
    takes_host: bool = True

    def find_device(self, device: Any, call: str) -> tuple[Device | None, Any]:
        """Return a device that a caller named, in our words if we have one, and in its own."""
        is_text = isinstance(device, str) and self.words is not None and device not in self.words
        if is_text or isinstance(device, (Device, tuple)):
            where = Device.of(device, call)
            own = self.write_device(where)
            if own is None:
                refuse_device(self.name, where, call)
            return where, own
        return self.read_device(device), device


LIBRARIES: Final = (
    Library(
        "numpy", (("numpy", "ndarray"), ("numpy", "generic")), "numpy", "array_api_compat.numpy"
    ),
    Library(
        "cupy",
        (("cupy", "ndarray"),),
        "cupy",
        "array_api_compat.cupy",
        read_device=_read_cupy,
        write_device=_write_cupy,
        move=_move_cupy,
        memory="device",
        words=frozenset({"cpu"}),
        takes_host=False,
    ),
    Library(
        "torch",
        (("torch", "Tensor"),),
        "torch",
        "array_api_compat.torch",
        read_device=_read_torch,
        write_device=_write_torch,
        move=_move_torch,
        memory="any",
        words=None,
        takes_host=False,
    ),
    Library(
        "jax",
        (("jax", "Array"), ("jax.core", "Tracer")),
        "jax.numpy",
        read_device=_read_jax,
        write_device=_write_jax,
        move=_move_jax,
        memory="any",
    ),
    Library("dask", (("dask.array", "Array"),), "dask.array", "array_api_compat.dask.array"),
    Library(
        "array_api_strict",
        (("array_api_strict._array_object", "Array"),),
        "array_api_strict",
        read_device=_read_strict,
        write_device=_write_strict,
        move=_move_by_method,
    ),
)
"""Libraries that are known, the order being of no matter: no array is of two."""


def library_of(x: object) -> Library | None:
    """Return the library that an array is of, or None for what is no array of one."""
    cls: type = type(x)
    known = _libraries.get(cls)
    if known is None:
        known = _libraries[cls] = (_library_of_class(cls),)
    return known[0]


_libraries: Final[TypeTable[tuple[Library | None]]] = TypeTable(256)


def _library_of_class(cls: type) -> Library | None:
    """Return the library that a class of arrays, or a subclass of one, is of."""
    for library in LIBRARIES:
        for module, name in library.arrays:
            known = getattr(sys.modules.get(module), name, None)
            if isinstance(known, type) and issubclass(cls, known):
                return library
    return None


def library_of_namespace(xp: Any) -> Library:
    """Return the library whose namespace `xp` is; one that is not known has a row of its own.

    Copies of array-api-compat within other packages count as that.
    """
    name: str = xp.__name__
    for library in LIBRARIES:
        if name == library.module:
            return library
        if library.wrapped is not None and f".{name}".endswith(f".{library.wrapped}"):
            return library
    return Library(
        name,
        (),
        name,
        read_device=_read_stranger,
        write_device=_read_stranger,
        move=_move_by_method,
        memory="any",
        words=None,
        takes_host=False,
    )


def array_classes(library: Library, xp: Any) -> tuple[type, ...]:
    """Return the classes of the arrays of a namespace, which is imported, and so are they."""
    found = (getattr(sys.modules.get(module), name, None) for module, name in library.arrays)
    return tuple(one for one in found if isinstance(one, type)) or (type(xp.asarray(0)),)


def on_current_device(function: Callable[..., Any], device: Any) -> Callable[..., Any]:
    """Return a function of CuPy that works on a device, which it takes from its surroundings."""

    def call(*args: Any, **keywords: Any) -> Any:
        with sys.modules["cupy"].cuda.Device(device):
            return function(*args, **keywords)

    return call if device is not None else function
