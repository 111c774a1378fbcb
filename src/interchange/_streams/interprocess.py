"""Device memory and events of a driver for other processes.

Source: CUDA driver API, ``cuIpcGetMemHandle`` and its like; HIP runtime API, the same functions.
Events that other processes wait for are created with a flag of their own.
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import ExchangeError, StreamError, UnsupportedDeviceError
from interchange.abi._records import NamedTuple

from .shareable import (
    BY_IPC,
    Exported,
    Opened,
    close_by_descriptor,
    export_by_descriptor,
    import_by_descriptor,
)

if TYPE_CHECKING:
    from .device_driver import Driver

HANDLE_BYTES: Final = 64  # CU_IPC_HANDLE_SIZE, HIP_IPC_HANDLE_SIZE
_FOR_OTHERS: Final = 6  # of events: CU_EVENT_DISABLE_TIMING and CU_EVENT_INTERPROCESS
_REACHED_BY_PEERS: Final = 1  # CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS


class Names(NamedTuple):
    """Names of the functions of one API."""

    get_memory: str
    open_memory: str
    close_memory: str
    get_event: str
    open_event: str
    event_create: str
    event_record: str
    event_destroy: str
    uuid: str
    # memory_handle, event_handle: types of the handles
    memory_handle: str
    event_handle: str


_CUDA: Final = Names(
    "cuIpcGetMemHandle",
    "cuIpcOpenMemHandle",
    "cuIpcCloseMemHandle",
    "cuIpcGetEventHandle",
    "cuIpcOpenEventHandle",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventDestroy",
    "cuDeviceGetUuid",
    "CUipcMemHandle",
    "CUipcEventHandle",
)
_HIP: Final = Names(
    "hipIpcGetMemHandle",
    "hipIpcOpenMemHandle",
    "hipIpcCloseMemHandle",
    "hipIpcGetEventHandle",
    "hipIpcOpenEventHandle",
    "hipEventCreateWithFlags",
    "hipEventRecord",
    "hipEventDestroy",
    "hipDeviceGetUuid",
    "IpcHandle",
    "IpcHandle",
)
_NAMES: Final = {"CUDA": _CUDA, "ROCm": _HIP}


class Interprocess:
    """The functions of a driver that concern other processes.

    `driver`: the driver.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._names = _NAMES[driver.name]

    def _call(self, function: str, call: str, *arguments: Any) -> Any:
        """Call a function of the driver, and return its result."""
        error, *answer = self._function(function, call)(*arguments)
        self._driver.check(error, function, call)
        return answer[0] if answer else None

    def _function(self, name: str, call: str) -> Any:
        """Return a function of the driver.

        Raises UnsupportedDeviceError: this release of the driver has none (IX-SHARE-7).
        """
        found = getattr(self._driver.api, name, None)
        if found is None:
            what = f"the driver has no function {name}"
            raise UnsupportedDeviceError(call, what, "IX-SHARE-7")
        return found

    def export_memory(self, start: int, ordinal: int, call: str) -> Exported:
        """Return what another process needs to open an allocation.

        Raises UnsupportedDeviceError: the driver has none for this kind of memory (IX-SHARE-7).
        """
        driver = self._driver
        with driver.on_device(ordinal, call), driver.unnoticed():
            error, handle = self._function(self._names.get_memory, call)(start)
            by_descriptor = error and driver.name == "CUDA"
            found = export_by_descriptor(driver.api, start) if by_descriptor else None
        if found is not None:
            return found
        if error:
            what = f"{self._names.get_memory} failed with {error.name} for {start:#x}"
            raise UnsupportedDeviceError(call, what, "IX-SHARE-7")
        return Exported(BY_IPC, ctypes.string_at(handle.getPtr(), HANDLE_BYTES))

    def number_of(self, start: int) -> int:
        """Return a number of an allocation that is never used again."""
        return self._driver.number_of_allocation(start)

    def import_memory(
        self, exported: Exported, size: int, home: int, ordinal: int, call: str
    ) -> Opened:
        """Open another process's allocation of `size` bytes."""
        driver = self._driver
        with driver._in_home(home, call), driver.unnoticed():
            if exported.kind != BY_IPC:

                def run(function: str, *arguments: Any) -> Any:
                    return self._call(function, call, *arguments)

                return import_by_descriptor(driver.api, run, exported, size, ordinal)
            made = self._handle(self._names.memory_handle, exported.data)
            ptr = self._call(self._names.open_memory, call, made, _REACHED_BY_PEERS)
            return Opened(BY_IPC, int(ptr), size)

    def close_memory(self, opened: Opened, home: int, call: str) -> None:
        """Give back another process's allocation, after the work on its device."""
        with self._driver._in_home(home, call), self._driver.unnoticed():
            self._call(self._driver._names.device_synchronize, call)
            if opened.kind == BY_IPC:
                self._call(self._names.close_memory, call, opened.ptr)
            else:
                close_by_descriptor(self._driver.api, opened)

    def home_of(self, stream: int, ordinal: int, call: str) -> int:
        """Return the home of a stream."""
        with self._driver.on_stream(stream, ordinal, call) as home:
            return home

    def destroy(self, event: int, home: int) -> None:
        """Destroy an event.  Never raises: a finaliser calls it."""
        with contextlib.suppress(Exception), self._driver.unnoticed():
            self._driver.destroy_event(event, home)

    def record(self, event: int | None, stream: int, ordinal: int, call: str) -> int:
        """Record an event for other processes on a stream, and return it.

        `event`: one that was created in the home of the stream; None for a new one.
        """
        driver = self._driver
        with driver.on_stream(stream, ordinal, call):
            if driver._capture_of(stream, call) is not None:
                what = f"stream={stream} captures: other processes cannot wait for it"
                raise StreamError(call, what, "DLP-STREAM-8")
            if event is None:
                event = int(self._call(self._names.event_create, call, _FOR_OTHERS))
            self._call(self._names.event_record, call, event, stream)
        return event

    def export_event(self, event: int, home: int, call: str) -> bytes:
        """Return the handle of an event."""
        with self._driver._in_home(home, call):
            handle = self._call(self._names.get_event, call, event)
            return ctypes.string_at(handle.getPtr(), HANDLE_BYTES)

    def wait_for(self, handle: bytes, stream: int, ordinal: int, call: str) -> None:
        """Make a stream wait for an event of another process.

        Raises ExchangeError: the event does not exist any more (IX-SHARE-4).
        """
        driver = self._driver
        with driver.on_stream(stream, ordinal, call):
            made = self._handle(self._names.event_handle, handle)
            error, event = self._function(self._names.open_event, call)(made)
            if error:
                what = f"{self._names.open_event} failed with {error.name}"
                raise ExchangeError(call, what, "IX-SHARE-4")
            try:
                driver.wait_for_event(int(event), stream, ordinal, call)
            finally:
                getattr(driver.api, self._names.event_destroy)(int(event))

    def _handle(self, kind: str, content: bytes) -> Any:
        """Return a handle as the functions of the API take it."""
        made = getattr(self._driver.api, kind)()
        ctypes.memmove(made.getPtr(), content, HANDLE_BYTES)
        return made

    def device_uuid(self, ordinal: int, call: str) -> bytes:
        """Return the identity of a device, whose number may differ in other processes."""
        return bytes(self._call(self._names.uuid, call, ordinal).bytes)

    def ordinal_of(self, uuid: bytes, call: str) -> int:
        """Return the number of a device in this process.

        Raises UnsupportedDeviceError: it is not visible here (IX-SHARE-7).
        """
        for ordinal in range(self._driver.count_devices(call)):
            if self.device_uuid(ordinal, call) == uuid:
                return ordinal
        what = "the device of the memory is not visible to this process"
        hint = "let both processes see it, such as by CUDA_VISIBLE_DEVICES"
        raise UnsupportedDeviceError(call, what, "IX-SHARE-7", hint)
