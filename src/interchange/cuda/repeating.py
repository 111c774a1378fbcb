"""Repeated launches: the compiled core repeats earlier launches with similar arguments.

Source: CUDA driver API, ``cuLaunchKernel``.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._streams._cuda_modules import find_addresses
from interchange._streams.ordering import has_several
from interchange._types.devices import Device
from interchange.abi._show import module_of
from interchange.abi.dlpack import DLDeviceType

from .consumer import WORK
from .device_launch import streams
from .types import ScalarType, int64

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from interchange._core.core_protocol import Launcher

    from .arguments import Passed

_KNOWN: Final = frozenset({"builtins", "numpy"})
"""Modules whose numbers convert without any code of users."""


class Repeater:
    """Repeats launches of one kernel.

    ``launch(configuration, arguments)`` returns whether it was launched; if not, nothing was done.
    It is None before the first launch, and if launches are made in Python.
    """

    __slots__ = ("_launcher", "_lock", "launch")

    def __init__(self) -> None:
        self.launch: Callable[..., bool] | None = None
        self._launcher: Launcher | None = None
        self._lock = threading.Lock()

    def learn(
        self,
        loaded: dict[int, Any],
        ordinal: int,
        arguments: Iterable[tuple[Any, Passed]],
        *,
        is_typed: bool,
    ) -> None:
        """Repeat launches like one that was made.

        `loaded` has, by the ordinal of a GPU, the handles of the function and of its context first;
        `arguments` are pairs, as the caller passed them and as the kernel received them.  If the
        kernel `is_typed`, its signature sets the types of numbers.
        """
        described = []
        for value, passed in arguments:
            if passed.array is None and not _type_decides(value, passed, is_typed=is_typed):
                return
            described.append(_describe(value, passed))
        with self._lock:
            launcher = self._launcher = self._launcher or _make(ordinal)
            if launcher is not None and launcher.learn(loaded, ordinal, tuple(described)):
                self.launch = launcher.launch


def _make(ordinal: int) -> Launcher | None:
    """Return a launcher of the core, None if it has none, or the driver's library is hidden."""
    addresses = find_addresses("cuLaunchKernel", "cuStreamIsCapturing", "cuCtxGetCurrent")
    if addresses is None:
        return None
    launch, capturing, current = addresses
    several = has_several(Device.of((DLDeviceType.kDLCUDA, ordinal), "cuda.jit()"), "cuda.jit()")
    return _core.make_launcher((launch, capturing, current if several else 0), streams, *WORK)


def _type_decides(value: Any, passed: Passed, *, is_typed: bool) -> bool:
    """Whether the type of a number determines its argument type; an int is usually int64."""
    is_plain = module_of(type(value)) in _KNOWN
    return is_plain and (is_typed or type(value) is not int or passed.type is int64)


def _describe(value: Any, passed: Passed) -> Any:
    """Return an argument as `interchange._core.core_protocol.Launcher.learn` takes it."""
    if isinstance(passed.type, ScalarType):
        return type(value), passed.type.kind, passed.type.itemsize
    return passed.array
