"""Repeated launches: the compiled core repeats earlier launches with similar arguments.

Source: CUDA driver API, ``cuLaunchKernel``.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from typing import TYPE_CHECKING, Any, Final

from interchange import _core, from_arrow, from_cai
from interchange._array import Array
from interchange._protocols.protocol_attributes import column_method_of, is_read_once
from interchange._protocols.published_work import ATTRIBUTE
from interchange._streams._cuda_modules import find_addresses
from interchange._streams.driver import driver_of
from interchange._types.devices import CPU, Device
from interchange._types.errors import InterchangeError
from interchange._types.library import library_of
from interchange.abi._show import module_of
from interchange.abi.dlpack import DLDeviceType

from .consumer import WORK
from .device_launch import streams
from .host_launch import pieces_of
from .streams import Stream
from .types import ScalarType, int64

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from interchange._core.core_protocol import Launcher

    from .arguments import Passed
    from .llvm.compiled import HostKernel

_KNOWN: Final = frozenset({"builtins", "numpy"})
"""Modules whose numbers convert without any code of users."""
_NUMBERS: Final = frozenset(
    {
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float32", "float64", "complex64", "complex128"),
    }
)
"""Types of numbers that the core converts."""
_MOST_PIECES: Final = 16
"""Of the memory of a block, in the core."""
_CALL: Final = "cuda.jit()"
_CALLS: Final = (
    *("cuLaunchKernel", "cuCtxGetCurrent", "cuStreamIsCapturing", "cuEventRecord"),
    *("cuStreamWaitEvent", "cuStreamSynchronize"),
)


class Repeater:
    """Repeats launches of one kernel.

    ``launch(configuration, arguments)`` returns 1 if it was launched, and 0 if nothing was done; 2
    if it was launched, and streams of its arrays do not wait for it yet.  It is None before the
    first launch, and if launches are made in Python.
    """

    __slots__ = ("_has_driver", "_launcher", "_lock", "launch")

    def __init__(self) -> None:
        self.launch: Callable[..., int] | None = None
        self._launcher: Launcher | None = None
        self._has_driver = False
        self._lock = threading.Lock()

    def learn(
        self,
        loaded: dict[int, Any],
        ordinal: int,
        arguments: Iterable[tuple[Any, Passed]],
        *,
        is_typed: bool,
    ) -> None:
        """Repeat launches on a GPU like one that was made.

        `loaded` has, by the ordinal of a GPU, the handles of the function and of its context first;
        `arguments` are pairs, as the caller passed them and as the kernel received them.  If the
        kernel `is_typed`, its signature sets the types of numbers.
        """
        described = _describe_all(arguments, is_typed=is_typed)
        if described is None:
            return
        with self._lock:
            launcher = self._made()
            if launcher is None or not self._connect(launcher, ordinal):
                return
            if launcher.learn((loaded, ordinal, None), described):
                self.launch = launcher.launch

    def learn_host(
        self,
        kernel: HostKernel,
        fail: Callable[[int], None],
        arguments: Iterable[tuple[Any, Passed]],
        *,
        is_typed: bool,
    ) -> None:
        """Repeat launches on the CPU like one that was made; `fail` raises the error of one.

        Kernels with memory that the launch has to provide, or much memory, are launched in Python.
        """
        pieces = tuple(pieces_of(kernel))
        if any(piece.name for piece in kernel.pieces) or len(pieces) > _MOST_PIECES:
            return
        described = _describe_all(arguments, is_typed=is_typed)
        if described is None:
            return
        code = ctypes.cast(kernel.run, ctypes.c_void_p).value, pieces
        with self._lock:
            launcher = self._made()
            if launcher is not None and launcher.learn((fail, kernel._engine, code), described):
                self.launch = launcher.launch

    def _made(self) -> Launcher | None:
        """Return the launcher of the core, None if it has none."""
        if self._launcher is None:
            self._launcher = _core.make_launcher(streams, *WORK, Stream)
        return self._launcher

    def _connect(self, launcher: Launcher, ordinal: int) -> bool:
        """Connect the launcher to the driver, unless the driver's library is hidden."""
        if self._has_driver:
            return True
        addresses = find_addresses(*_CALLS)
        if addresses is None:
            return False
        driver: Any = driver_of(Device.of((DLDeviceType.kDLCUDA, ordinal), _CALL), _CALL)
        several = driver.count_devices(_CALL) > 1
        found: Any = tuple(addresses)
        launcher.connect(found, several, driver._events, driver._ready)
        self._has_driver = True
        return True


def _describe_all(
    arguments: Iterable[tuple[Any, Passed]], *, is_typed: bool
) -> tuple[tuple[Any, ...], ...] | None:
    """Return pairs for the core; None if the types of objects do not determine the launch."""
    described: list[tuple[Any, ...]] = []
    for value, passed in arguments:
        if passed.array is not None:
            if is_read_once(value):
                return None
            is_column = False
            if passed.array.device is not CPU:
                _learn_record(value)
            elif passed.array is not value:
                is_column = _is_same_column(value, passed.array)
            described.append((value, passed.array, is_column))
        elif _type_decides(value, passed, is_typed=is_typed):
            type_: Any = passed.type
            described.append((value, (type(value), type_.kind, type_.itemsize)))
        else:
            return None
    return tuple(described)


def _learn_record(value: Any) -> None:
    """Let the core read CUDA records of this class: it learns the class, then the element type."""
    if type(value) is not Array and hasattr(value, ATTRIBUTE):
        with contextlib.suppress(BufferError):
            from_cai(value)
            from_cai(value)


def _is_same_column(value: Any, array: Array) -> bool:
    """Whether Arrow, which the core takes columns by, gives what DLPack gave: as of PyArrow."""
    cls = type(value)
    if array.device is not CPU or not library_of(cls).immutable_types or not column_method_of(cls):
        return False
    try:
        column = from_arrow(value)
    except InterchangeError:
        return False
    return type(column) is Array and _memory(column) == _memory(array)


def _memory(array: Array) -> tuple[Any, ...]:
    """Return what a launch uses of an array."""
    return array.ptr, array.shape, array.strides, array.dtype, array.device, array.readonly


def _type_decides(value: Any, passed: Passed, *, is_typed: bool) -> bool:
    """Whether the type of a number determines its argument type; an int is usually int64."""
    if not isinstance(passed.type, ScalarType) or passed.type.name not in _NUMBERS:
        return False
    is_plain = module_of(type(value)) in _KNOWN
    return is_plain and (is_typed or type(value) is not int or passed.type is int64)
