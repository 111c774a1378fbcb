"""`ArrayAPI`: how a library supports the array API, and how it names and uses devices.

Source: array-api-compat, ``common/_helpers.py`` (which types are arrays of which library).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

from interchange._streams.handles import stream_handle
from interchange._streams.rules import check_stream
from interchange._types.devices import CPU, Device
from interchange._types.errors import UnsupportedDeviceError, show
from interchange.abi._records import NamedTuple
from interchange.abi.dlpack import DLDeviceType

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange._types.library import Pair

GPUS: Final = frozenset({DLDeviceType.kDLCUDA, DLDeviceType.kDLROCM})


def gpu(ordinal: int, *, is_rocm: bool) -> Pair:
    """Return a GPU of CUDA or of ROCm."""
    return DLDeviceType.kDLROCM if is_rocm else DLDeviceType.kDLCUDA, ordinal


def refuse_device(library: str, device: Any, call: str) -> NoReturn:
    """Raise: `library` has no arrays on that device."""
    what = f"{library} has no arrays on {device if isinstance(device, Device) else show(device)}"
    raise UnsupportedDeviceError(call, what, "DLP-DEV-6", "name a device that it computes on")


# ---------------------------------------------------------------- libraries with host arrays only


def _read_host_word(device: Any) -> Device | None:
    """Read ``"cpu"``, the only device."""
    return CPU if device == "cpu" else None


def _write_host_word(device: Device) -> Any:
    """Return ``"cpu"``."""
    return "cpu" if device is CPU else None


def _stay(x: Any, device: Any, stream: Any, call: str) -> Any:
    """Return an array of a library that has one device."""
    if stream is not None:
        check_stream(stream_handle(stream, call), CPU, call)
    if device != "cpu":
        refuse_device("a library of the host", device, call)
    return x


# ---------------------------------------------------------------- unknown libraries


def _read_unknown(_: Any) -> None:
    """Return None: the devices of an unknown library cannot be read."""


def move_by_method(x: Any, device: Any, stream: Any, _: str) -> Any:
    """Move an array by ``to_device``, the standard's method."""
    return x.to_device(device) if stream is None else x.to_device(device, stream=stream)


class ArrayAPI(NamedTuple):
    """How a library supports the array API."""

    name: str
    module: str  # module name of the namespace
    arrays: tuple[tuple[str, str], ...] = ()  # module and name of the classes of its arrays
    # The namespace of array-api-compat that has the standard's names instead.
    wrapped: str | None = None
    # The library's own device -> `Device`, or None if interchange has no such device.
    read_device: Callable[[Any], Device | None] = _read_host_word
    # `Device` -> the library's own device, or None if it has no arrays there.
    write_device: Callable[[Device], Any] = _write_host_word
    # ``move(x, device, stream, call)``: `x` on one of the library's own devices.
    move: Callable[[Any, Any, Any, str], Any] = _stay
    # ``on_device(function, device)``: a function that runs with a device current, for a library
    # whose functions use the current device.
    on_device: Callable[[Callable[..., Any], Any], Callable[..., Any]] | None = None
    memory: str = "host"  # devices of its arrays: ``"host"``, ``"device"`` or ``"any"``
    # Strings that name devices for this library only; None if any string may.
    words: frozenset[str] | None = frozenset()
    # Whether its ``asarray`` accepts ndarrays, and objects that NumPy converts to ndarrays, without
    # losing anything.
    takes_host: bool = True
    keeps_masks: bool = False  # whether its arrays may have masked elements

    def find_device(self, device: Any, call: str) -> tuple[Device | None, Any]:
        """Return a device that a caller named: as a `Device` if there is one, and as the library's.

        Raises UnsupportedDeviceError: the library has no arrays there (DLP-DEV-6).
        """
        is_text = isinstance(device, str) and self.words is not None and device not in self.words
        if is_text or isinstance(device, (Device, tuple)):
            where = Device.of(device, call)
            own = self.write_device(where)
            if own is None:
                refuse_device(self.name, where, call)
            return where, own
        return self.read_device(device), device


def unknown_api(name: str) -> ArrayAPI:
    """Return the defaults for the namespace of an unknown library."""
    return ArrayAPI(
        name,
        name,
        read_device=_read_unknown,
        write_device=_read_unknown,
        move=move_by_method,
        memory="any",
        words=None,
        takes_host=False,
    )
