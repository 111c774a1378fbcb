"""Objects of all protocols, shared repeatedly: prints the results, one line each.

The first object of a type is shared with all checks; the native core may import later ones
directly.
"""

from __future__ import annotations

import array
import ctypes
import decimal
import json
import mmap
from functools import partial

import numpy as np

import interchange as ix
from interchange.testing import producers

TIMES = 4
block = np.arange(24, dtype="f4").reshape(2, 3, 4)


class Sub(np.ndarray):
    """A subclass without changes."""


class Recorded(np.ndarray):
    """An array of managed memory is an ndarray with a record, as numba-cuda's are."""

    @property
    def __cuda_array_interface__(self):
        return {"shape": (1,), "typestr": "<f4", "data": "no address", "version": 3}


class Answers(np.ndarray):
    """A subclass that returns a value for any attribute, also for that of records."""

    def __getattr__(self, name):
        if name == "__cuda_array_interface__":
            return {"shape": (1,), "typestr": "<f4", "data": "no address", "version": 3}
        raise AttributeError(name)


class Described(np.ndarray):
    """A subclass that describes itself."""

    def __interchange__(self):
        return ix.asarray(np.arange(5))


class Own(bytes):
    """A subclass of bytes with another protocol."""

    __array_interface__ = block.__array_interface__


class Struct(ctypes.Structure):
    """A buffer with a structured format."""

    _fields_ = (("a", ctypes.c_int),)


def with_record():
    x = block.view(Sub)
    x.__cuda_array_interface__ = {"shape": (1,), "typestr": "<f4", "data": "none", "version": 3}
    return x


def with_other_attribute():
    x = block.view(Sub)
    x.unit = "m"
    return x


def released():
    view = memoryview(bytes(3))
    view.release()
    return view


def closed():
    mapped = mmap.mmap(-1, 16)
    mapped.close()
    return mapped


def used():
    capsule = block.__dlpack__()
    ix.from_dlpack(capsule)
    return capsule


def of_ctypes(kind, count=3):
    return memoryview((kind * count)())


KINDS = {
    "bytes": lambda: b"abcdef",
    "empty bytes": lambda: b"",
    "bytearray": lambda: bytearray(6),
    "empty bytearray": bytearray,
    "subclass of bytes": lambda: type("B", (bytes,), {})(b"abc"),
    "subclass with a protocol": lambda: Own(b"abc"),
    **{f"array.array {code}": partial(array.array, code, [0, 1, 2]) for code in "bBhHiIlLqQfd"},
    "mmap": lambda: mmap.mmap(-1, 16),
    "mmap, read-only": lambda: mmap.mmap(-1, 16, prot=mmap.PROT_READ),
    "mmap, closed": closed,
    "memoryview": lambda: memoryview(bytearray(8)),
    "memoryview, read-only": lambda: memoryview(bytearray(8)).toreadonly(),
    "memoryview, released": released,
    "memoryview, reversed": lambda: memoryview(bytearray(8))[::-2],
    "memoryview, empty": lambda: memoryview(b""),
    "memoryview, no axes": lambda: memoryview(b"abcd").cast("i", shape=[]),
    "memoryview, two axes": lambda: memoryview(bytes(24)).cast("i", shape=[2, 3]),
    "memoryview, not aligned": lambda: memoryview(bytes(17))[1:].cast("d"),
    **{
        f"memoryview {code}": partial(memoryview(bytes(16)).cast, code)
        for code in "cbBhHiIlLqQnNfd?P"
    },
    **{
        f"memoryview of ctypes {kind.__name__}": partial(of_ctypes, kind)
        for kind in (
            ctypes.c_int,
            ctypes.c_double,
            ctypes.c_char,
            ctypes.c_bool,
            ctypes.c_void_p,
            ctypes.c_longdouble,
            ctypes.c_int.__ctype_be__,
            ctypes.py_object,
        )
    },
    **{
        f"memoryview of NumPy {code}": partial(lambda code: memoryview(np.zeros(3, code)), code)
        for code in ("?", "e", "f4", "g", "F", "D", ">f4", "S3", "U2", "O", "i4,f4")
    },
    "ctypes array": ctypes.c_float * 3,
    "ctypes struct": Struct,
    "NumPy scalar": lambda: np.float32(3),
    "subclass": lambda: block.view(Sub),
    "subclass with a record": lambda: block.view(Recorded),
    "subclass that answers": lambda: block.view(Answers),
    "subclass that describes itself": lambda: block.view(Described),
    "instance with a record": with_record,
    "instance with an attribute": with_other_attribute,
    "record array": lambda: np.rec.array([1.0, 2.0]),
    "masked": lambda: np.ma.array([1.0, 2.0], mask=[0, 1]),
    "Array": lambda: ix.asarray(block),
    "Array, read-only": lambda: ix.asarray(b"abc"),
    "Array without a known mutability": lambda: ix.from_dlpack(block.__dlpack__()),
    "Array, a copy": lambda: ix.from_dlpack(block, copy=True),
    "Array, computed": lambda: ix.asarray(block) + 1,
    "Array of a legacy producer": lambda: ix.asarray(producers.host().but(generation="legacy")),
    "producer": producers.host,
    "producer, read-only": lambda: producers.host().but(flags=1),
    "producer, legacy": lambda: producers.host().but(generation="legacy"),
    "producer of handles": lambda: producers.host((1,)).but(dtype=(3, 64, 1)),
    "producer without a struct": lambda: producers.host().but(ndim=-1),
    "capsule": lambda: block.__dlpack__(max_version=(1, 3)),
    "capsule, legacy": block.__dlpack__,
    "capsule, used": used,
    "capsule of nothing": lambda: producers.host().but(ndim=-1).__dlpack__(),
    "capsule of handles": lambda: producers.host((1,)).but(dtype=(3, 64, 1)).__dlpack__(),
    "capsule of another kind": lambda: producers.host().but(name=b"other").__dlpack__(),
    "number": lambda: 3,
    "list": lambda: [1, 2],
    "text": lambda: "abc",
    "decimal": lambda: decimal.Decimal(3),
    "None": lambda: None,
    "class": lambda: np.ndarray,
    "class of ours": lambda: ix.Array,
    "module": lambda: np,
}


def told(x, take):
    """Return all fields of an import except addresses; of its owner, whether it is a view."""
    try:
        y = take(x)
    except Exception as error:  # noqa: BLE001 - it is compared
        return [type(error).__name__, getattr(error, "rule", None), str(error)]
    said = [y.shape, y.strides, str(y.dtype), str(y.device), y._flags, y._owner is x, y is x]
    return [*said, y.readonly, bool(y.ptr), y.ptr == at(x), type(y._keepalive) is memoryview]


def at(x):
    """Return the address of a buffer, if it is one."""
    try:
        return np.frombuffer(x, "u1").ctypes.data
    except (BufferError, TypeError, ValueError):
        return None


if __name__ == "__main__":
    for name, make in KINDS.items():
        for _ in range(TIMES):
            print(json.dumps([name, told(make(), ix.asarray), told(make(), ix.from_dlpack)]))
