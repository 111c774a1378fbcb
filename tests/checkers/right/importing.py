"""Memory of every kind is imported: by protocol, by buffer, as a capsule."""

import array
import ctypes
import mmap
from collections.abc import Mapping
from typing import Any

import numpy as np
from typing_extensions import assert_type

import interchange as ix
from interchange.typing import AnyArray


class Ours(ix.Producer):
    """A class that describes its memory as an Array."""

    def __interchange__(self) -> ix.Array:
        return ix.asarray(bytearray(4))


class OnDevice:
    """A class with the CUDA Array Interface alone."""

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        return {"shape": (0,), "typestr": "<f4", "data": (0, False), "version": 3}


class Older:
    """A DLPack producer from before version 1."""

    def __dlpack__(self, stream: int | None = None) -> object:
        return ix.to_capsule(bytearray(4), stream=stream)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def size_of(x: AnyArray) -> int:
    """Return the elements of any array: the type of the parameter is public."""
    return ix.asarray(x).size


assert_type(ix.asarray(b"abc"), ix.Array)
given: list[AnyArray] = [
    np.ones(3),
    np.float32(3),
    b"abc",
    memoryview(b"abc"),
    array.array("d"),
    (ctypes.c_int * 3)(),
    mmap.mmap(-1, 1),
    ix.to_capsule(bytearray(3)),
    Ours(),
    Older(),
]
assert_type([size_of(x) for x in given], list[int])

assert_type(ix.from_dlpack(np.ones(3)), ix.Array)
assert_type(ix.from_dlpack(ix.to_capsule(bytearray(3)), device="cpu"), ix.Array)
assert_type(ix.from_dlpack(Older(), copy=True), ix.Array)
assert_type(ix.from_buffer(bytearray(3)), ix.Array)
assert_type(ix.from_buffer(bytearray(8), dtype="f4", shape=(-1, 1)), ix.Array)
assert_type(ix.from_buffer(bytearray(8)).view("f4"), ix.Array)
assert_type(ix.from_buffer(bytearray(8)).tobytes(), bytes)
assert_type(ix.asarray(Older(), stream=None, device=ix.Device("cpu")), ix.Array)
assert_type(ix.asarray(b"abc").device == "cpu", bool)
assert_type(ix.asarray(b"abc").dtype == np.uint8, bool)
assert_type(ix.from_array_interface(np.ones(3)), ix.Array)

record: Mapping[str, Any] = OnDevice().__cuda_array_interface__
assert_type(ix.from_cai(OnDevice()), ix.Array)
assert_type(ix.from_cai(record, mask="refuse"), ix.Array)
assert_type(ix.from_cai(record, mask="separate"), tuple[ix.Array, ix.Array | None])
