"""The configuration of a launch: sizes of grid and block, the stream, dynamic shared memory.

Source: CUDA C++ Programming Guide, "Execution Configuration" and "Compute Capabilities" (limits).
"""

from __future__ import annotations

from math import prod
from operator import index as as_index
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange._streams.rules import LEGACY_DEFAULT_STREAM
from interchange._types.errors import ArgumentError, show
from interchange._types.indices import is_bool

from .streams import DeviceStream, check_stream

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_THREADS: Final = 1024
"""Per block."""
MOST_BLOCK: Final = (1024, 1024, 64)
MOST_GRID: Final = (2**31 - 1, 65535, 65535)
MOST_SHARED: Final = 48 * 1024
"""Shared memory of a block in arrays of the kernel [bytes]: supported by every GPU."""
MOST_DYNAMIC: Final = 227 * 1024
"""The same with dynamic shared memory, of GPUs of compute capability 9.0 and later."""
_MOST_PARTS: Final = 4


class Configuration(NamedTuple):
    """The launch configuration: grid, block, stream and shared memory."""

    # grid, block: the number of blocks, and of threads per block, along x, y and z
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    # handle of the stream; by default 1, the legacy default stream
    stream: int = LEGACY_DEFAULT_STREAM
    given: Any = None  # the object that named the stream, and keeps it alive; None without one
    shared_bytes: int = 0  # size of dynamic shared memory [bytes]


_USUAL_BLOCK: Final = 256
"""Number of threads of a block, where none is given: it fits with up to 255 registers a thread."""
_WARP: Final = 32
_MOST_LINES: Final = 1024  # size of the cache
_lines: Final[dict[tuple[int, int], Configuration]] = {}
"""One-dimensional configurations, by the numbers of blocks and of threads, exactly ints."""


def read_line(given: Any) -> Configuration | None:
    """Return the cached configuration of two ints, perhaps on a stream of interchange.

    None for anything else.
    """
    if type(given) is not tuple or len(given) < 2 or not type(given[0]) is type(given[1]) is int:
        return None
    if len(given) == 2:
        return _lines.get(given)
    stream = given[2]
    if len(given) > 3 or type(stream) is not DeviceStream:
        return None
    found = _lines.get(given[:2])
    return found and Configuration(found[0], found[1], stream.handle, stream)


def read_configuration(given: Any, call: str) -> Configuration:
    """Return the configuration in ``kernel[grid, block, stream, shared_bytes]``."""
    parts = given if isinstance(given, tuple) else (given,)
    if not 2 <= len(parts) <= _MOST_PARTS:
        raise ArgumentError(call, f"{show(given)} of {len(parts)} parts", "CPY-LAUNCH-1")
    grid = _read_axes(parts[0], "grid", MOST_GRID, call)
    block = _read_axes(parts[1], "block", MOST_BLOCK, call)
    if prod(block) > MOST_THREADS:
        what = f"a block of {prod(block)} threads"
        raise ArgumentError(call, what, "CPY-LAUNCH-1", f"take at most {MOST_THREADS}")
    if type(parts[0]) is type(parts[1]) is int:
        if len(_lines) >= _MOST_LINES:
            _lines.clear()
        _lines[parts[0], parts[1]] = Configuration(grid, block)
    if len(parts) == 2:
        return Configuration(grid, block)
    stream = check_stream(parts[2], call)
    shared_bytes = parts[3] if len(parts) == _MOST_PARTS else 0
    if not is_index(shared_bytes) or not 0 <= as_index(shared_bytes) <= MOST_DYNAMIC:
        what = f"shared_bytes={show(shared_bytes)}, where 0 to {MOST_DYNAMIC} is possible"
        raise ArgumentError(call, what, "CPY-LAUNCH-1")
    return Configuration(grid, block, stream, parts[2], as_index(shared_bytes))


def check_shared(size: int, call: str) -> None:
    """Refuse more shared memory than a block has on any GPU [bytes]."""
    if size > MOST_DYNAMIC:
        what = f"{size} bytes of shared memory, where a block has {MOST_DYNAMIC}"
        raise ArgumentError(call, what, "CPY-LAUNCH-2", "name less of it")


def read_line_of(count: Any, block: Any, stream: Any, shared_bytes: Any, call: str) -> Any:
    """Return the configuration with at least `count` threads, None for 0.

    A block of 0 threads is chosen: 256, or fewer for fewer threads.
    """
    if not is_index(count) or as_index(count) < 0:
        raise ArgumentError(call, f"ntasks={show(count)}", "CPY-LAUNCH-1", "pass 0 or more")
    count = as_index(count)
    if not count:
        return None
    if type(block) is int and block == 0:
        block = min(_USUAL_BLOCK, -(-count // _WARP) * _WARP)
    if not is_index(block) or as_index(block) < 1:
        raise ArgumentError(call, f"tpb={show(block)}", "CPY-LAUNCH-1", "pass 0 or more")
    grid = -(-count // as_index(block))
    if type(stream) is int and stream == 0 and type(shared_bytes) is int and shared_bytes == 0:
        return read_line((grid, block)) or read_configuration((grid, block), call)
    return read_configuration((grid, block, stream, shared_bytes), call)


def is_index(given: Any) -> bool:
    """Whether an object is an int, and not a bool; an array of one may have the method, too."""
    try:
        if is_bool(given):
            return False
        as_index(given)
    except Exception:  # noqa: BLE001 - `__index__` of any object may raise anything
        return False
    return True


def _read_axes(given: Any, name: str, most: Sequence[int], call: str) -> tuple[int, int, int]:
    """Return three sizes, 1 by default."""
    if type(given) is int and 1 <= given <= most[0]:
        return given, 1, 1
    axes = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if not 1 <= len(axes) <= len(most) or not all(map(is_index, axes)):
        raise ArgumentError(call, f"{name}={show(given)}", "CPY-LAUNCH-1")
    x, y, z = [*map(as_index, axes), 1, 1][:3]
    for size, limit in zip((x, y, z), most, strict=True):
        if not 1 <= size <= limit:
            what = f"{name}={show(given)}, where 1 to {limit} is possible"
            raise ArgumentError(call, what, "CPY-LAUNCH-1")
    return x, y, z
