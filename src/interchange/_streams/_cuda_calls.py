"""Direct calls of CUDA driver functions that run for every array, without result objects.

Source: CUDA driver API; ctypes.  The bindings make an object of every result, which takes longer
than the rest of an import.  The library that they loaded is called directly; the bindings are used
if it is not found under its usual name.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any, Final

LIBRARY: Final = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_UINT64: Final = 2**64 - 1


def find_quick_calls(api: Any) -> tuple[Callable[..., int], ...]:
    """Return whether a stream captures, the recording of an event, and the wait for it.

    `api`: ``cuda.bindings.driver``, initialised.

    Returns ``capturing(stream, answer)``, ``record(event, stream)`` and ``wait(stream, event,
        flags)`` of ``c_void_p``, each returning the driver's code; 0 is success.
    """
    library = _find_library()
    if library is not None:
        return library.cuStreamIsCapturing, library.cuEventRecord, library.cuStreamWaitEvent

    def capturing(stream: Any, answer: Any) -> int:
        error, status = api.cuStreamIsCapturing(stream.value)
        ctypes.c_int.from_address(answer.value).value = int(status or 0)
        return int(error)

    def record(event: Any, stream: Any) -> int:
        return int(api.cuEventRecord(api.CUevent(event.value), stream.value)[0])

    def wait(stream: Any, event: Any, flags: int) -> int:
        return int(api.cuStreamWaitEvent(stream.value, api.CUevent(event.value), flags)[0])

    return capturing, record, wait


def find_ask(api: Any, asked: tuple[int, ...]) -> Callable[..., int]:
    """Return a function that queries several attributes of an address in one call.

    `api`: ``cuda.bindings.driver``, initialised.
    `asked`: the attributes.

    Returns ``ask(count, attributes, places, address)``, which writes the results to the places and
        returns the driver's code.
    """
    library = _find_library()
    if library is not None:
        found: Callable[..., int] = library.cuPointerGetAttributes
        return found
    kinds = [api.CUpointer_attribute(kind) for kind in asked]

    def ask(count: int, _: Any, places: Any, address: Any) -> int:
        error, answers = api.cuPointerGetAttributes(count, kinds, address.value)
        for place, answer in zip(places, answers, strict=True):
            ctypes.c_uint64.from_address(place).value = int(answer) & _UINT64
        return int(error)

    return ask


# ---------------------------------------------------------------- the same, by a compiled core

Order = Callable[[int, int, int], bool]
"""``f(producer, consumer, event)`` -> whether it failed."""
Where = Callable[[int], tuple[int, ...]]
"""``f(address)`` -> error, is managed, memory type, ordinal, start, size [bytes]."""
_COMPILED: Final = (
    "cuStreamIsCapturing",
    "cuEventRecord",
    "cuStreamWaitEvent",
    "cuPointerGetAttributes",
    "cuCtxGetDevice",
)
_compilers: Final[list[Callable[..., tuple[Order, Where]]]] = []


def use_compiled(make: Callable[..., tuple[Order, Where]]) -> None:
    """Let a compiled core make calls in one step: `make` takes addresses of the functions."""
    _compilers[:] = [make]


def find_compiled_calls() -> tuple[Order, Where] | tuple[None, None]:
    """Return functions that order two streams, and that query an address, in one step each."""
    library = _find_library()
    if library is None or not _compilers:
        return None, None
    functions = (getattr(library, name) for name in _COMPILED)
    return _compilers[0](*(ctypes.cast(each, ctypes.c_void_p).value for each in functions))


def _find_library() -> ctypes.CDLL | None:
    """Return the driver's library, which the bindings have loaded: calls release the GIL."""
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError:
        return None
