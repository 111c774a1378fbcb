"""Inputs of the fuzzer: bytes become a struct in a capsule, or a record; both cores must agree.

Source: dlpack.h 1.3; the CUDA Array Interface, version 3.  The bytes
are the fields of a struct except its pointers, which are NULL, out of range, or point to numbers
before a page that cannot be read: reading past the end crashes.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from typing import TYPE_CHECKING, Any, Final

import interchange as ix
from interchange._core import _ctypes
from interchange.abi import BrokenRule, capsules
from interchange.abi.cai import parse_record
from interchange.abi.dlpack import DLManagedTensor, DLManagedTensorVersioned, DLTensor
from interchange_conformance.zoo.counting import COUNTING_DELETER, calls_between, number_at

if TYPE_CHECKING:
    from types import ModuleType

CALL: Final = "fuzz()"
AXES: Final = 64
_PAGE: Final = mmap.PAGESIZE
NOWHERE: Final = 2**63 + 8
_HEAD: Final = 4  # bytes that select generation and deleter, shape, strides, data


def cores() -> list[ModuleType]:
    """Return the available cores, the ctypes core first."""
    try:
        from interchange._core import _native
    except ModuleNotFoundError:
        return [_ctypes]
    return [_ctypes, _native]


CORES: Final = cores()


class Guarded:
    """Memory followed by a page that cannot be read."""

    def __init__(self, size: int) -> None:
        pages = -(-size // _PAGE) + 1
        self._map = mmap.mmap(-1, pages * _PAGE)
        self.end = ctypes.addressof(ctypes.c_char.from_buffer(self._map)) + (pages - 1) * _PAGE
        protect = ctypes.CDLL(None).mprotect
        if protect(ctypes.c_void_p(self.end), ctypes.c_size_t(_PAGE), 0):
            raise OSError("mprotect failed")

    def put(self, data: bytes) -> int:
        """Write bytes at the end, and return their address, which must be a multiple of 8."""
        start = self.end - len(data)
        ctypes.memmove(start, data, len(data))
        return start


SHAPE, STRIDES, STRUCT, DATA = Guarded(8 * AXES), Guarded(8 * AXES), Guarded(96), Guarded(4096)


def padded(data: bytes, size: int) -> bytes:
    """Return the bytes padded or cut to a length."""
    return data[:size].ljust(size, b"\0")


class Input:
    """A struct that is decoded from bytes."""

    def __init__(self, data: bytes) -> None:
        choices, rest = padded(data, _HEAD), data[_HEAD:]
        self.versioned = bool(choices[0] & 1)
        self.kind = DLManagedTensorVersioned if self.versioned else DLManagedTensor
        self.deleter = not choices[0] & 2
        size = ctypes.sizeof(self.kind)
        self.struct = bytearray(padded(rest, size))
        self.numbers = rest[size:]
        offset = self.kind.dl_tensor.offset
        if choices[0] & 4 and self.versioned:
            self.struct[:8] = struct.pack("=II", 1, 3)
        if choices[0] & 8:  # few axes, on the host
            self.struct[offset + 8 : offset + 16] = struct.pack("=ii", 1, 0)
            ndim = self.struct[offset + 16] % 5
            self.struct[offset + 16 : offset + 20] = struct.pack("=i", ndim)
        if choices[0] & 16:  # no offset
            place = offset + DLTensor.byte_offset.offset
            self.struct[place : place + 8] = bytes(8)
        (ndim,) = struct.unpack_from("=i", self.struct, offset + 16)
        self.axes = ndim if 0 <= ndim <= AXES else 0
        self._point(offset, choices)

    def _point(self, offset: int, choices: bytes) -> None:
        """Set the pointers."""
        width = 8 * self.axes
        numbers = padded(self._numbers(choices), 2 * width)
        raw = struct.unpack_from("=Q", self.struct, offset)[0]
        shape = (SHAPE.put(numbers[:width]), 0, NOWHERE, SHAPE.end - width)[choices[1] % 4]
        strides = (STRIDES.put(numbers[width:]), 0, NOWHERE, shape + width)[choices[2] % 4]
        if choices[2] % 4 == 3:  # right after the shape, as in many libraries
            shape = STRIDES.put(numbers)
            strides = shape + width
        data = (DATA.put(bytes(256)), 0, raw, DATA.end - 8)[choices[3] % 4]
        for place, value in (
            (offset, data),
            (offset + DLTensor.shape.offset, shape),
            (offset + DLTensor.strides.offset, strides),
            (self.kind.deleter.offset, COUNTING_DELETER if self.deleter else 0),
        ):
            self.struct[place : place + 8] = struct.pack("=Q", value % 2**64)

    def _numbers(self, choices: bytes) -> bytes:
        """Return extents and strides: decoded from the bytes, or one byte for each."""
        if choices[1] & 4:
            return self.numbers
        signed = (byte - 256 if byte > 250 else byte for byte in self.numbers[: 2 * self.axes])
        return struct.pack(f"={len(self.numbers[: 2 * self.axes])}q", *signed)

    def capsule(self) -> tuple[Any, int]:
        """Return a capsule of the struct, and the address of the struct."""
        address = STRUCT.put(bytes(self.struct))
        name = capsules.VERSIONED if self.versioned else capsules.LEGACY
        return capsules.new_capsule(address, name, None), address


def outcome(core: ModuleType, data: bytes) -> list[Any]:
    """Return the result of a core for a struct, and how often it was released."""
    capsule, address = Input(data).capsule()
    before = number_at(address)
    said: list[Any]
    try:
        x = core.consume_capsule(capsule, None, core.Tensor, CALL)
    except ix.InterchangeError as error:
        said = [type(error).__name__, error.rule, str(error)]
    else:
        spec = x._spec
        said = [x.ptr, x.shape, x.strides, x.dtype, x.device, x._flags, spec.byte_offset]
        if calls_between(before, number_at(address)):
            raise AssertionError("released too early")
        for versioned in (True, False):
            again = core.make_capsule(x, x._flags or 0 if versioned else 0, versioned=versioned)
            del again
        del x
    return [*said, calls_between(before, number_at(address))]


def try_struct(data: bytes) -> None:
    """Import the struct with all cores, and compare the results."""
    first, *others = (outcome(core, data) for core in CORES)
    deleter = not padded(data, 1)[0] & 2
    if first[-1] != int(deleter) or any(other != first for other in others):
        raise AssertionError(f"{data.hex()}\n{first}\n{others}")


# ---------------------------------------------------------------- records


class Bytes:
    """Values that are decoded from bytes."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def byte(self) -> int:
        """Return the next byte, 0 after the last."""
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self) -> int:
        """Return a number, small or at a limit."""
        kind = self.byte()
        if kind < 200:
            return kind % 16 - 1
        return (-1) ** kind * 2 ** (self.byte() % 130) + self.byte() % 5 - 2

    def value(self, depth: int = 0) -> Any:
        """Return an object of any type."""
        kind = self.byte() % 11
        if kind < 3:
            return self.number()
        if kind in {3, 4} and depth < 3:
            made = [self.value(depth + 1) for _ in range(self.byte() % 6)]
            return tuple(made) if kind == 3 else made
        if kind == 5:
            return self.take(self.byte() % 9).decode("latin-1")
        if kind == 6:
            return "<>|="[self.byte() % 4] + "tbiufcmMOSUV"[self.byte() % 12] + str(self.number())
        return (None, True, False, 1.5, b"<f4", {}, 2**70, [])[self.byte() % 8]


_GOOD: Final = {"shape": (2, 3), "typestr": "<f4", "data": (4096, False), "version": 3}
_KEYS: Final = ("shape", "typestr", "data", "version", "strides", "descr", "mask", "stream", "x")


def record(data: bytes) -> Any:
    """Return a record decoded from bytes: a valid one with some values replaced."""
    source = Bytes(data)
    made: dict[Any, Any] = dict(_GOOD)
    for _ in range(source.byte() % 5):
        key = _KEYS[source.byte() % len(_KEYS)]
        if source.byte() % 7 == 0:
            made.pop(key, None)
        else:
            made[key] = source.value()
    return source.value() if source.byte() % 29 == 28 else made


class Device:
    """An object with a record."""

    def __init__(self, made: Any) -> None:
        self.__cuda_array_interface__ = made


class Host:
    """An object with a record of host memory."""

    def __init__(self, made: Any) -> None:
        self.__array_interface__ = made


def try_record(data: bytes) -> None:
    """Import the decoded record: it is described, or refused with a rule."""
    made = record(data)
    ways = (
        lambda: parse_record(made),
        lambda: ix.from_cai(Device(made)),
        lambda: ix.from_array_interface(Host(made)),
    )
    for way in ways:
        try:
            way()
        except (BrokenRule, ix.InterchangeError) as error:  # noqa: PERF203 - each is tried
            if not getattr(error, "rule", None):
                raise


def try_one(data: bytes) -> None:
    """Try the kind of input that the first byte selects."""
    (try_struct if padded(data, 1)[0] & 1 else try_record)(data[1:])
