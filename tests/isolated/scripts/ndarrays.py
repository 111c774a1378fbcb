"""ndarrays of every kind, imported repeatedly: prints the results, one line each.

The argument is the function that imports them.

The first import of a dtype is negotiated; the native core reads the following ones directly.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from functools import partial

import numpy as np

import interchange as ix

warnings.simplefilter("ignore")
strided = np.lib.stride_tricks.as_strided
TIMES = 4
LONG, FAR = min(2**40, sys.maxsize // 8), min(2**62, sys.maxsize & ~7)
take = getattr(ix, sys.argv[1])


class Sub(np.ndarray):
    """A subclass without changes."""


class Proud(np.ndarray):
    """A subclass with its own export."""

    def __dlpack__(self, **keywords):
        return self.view(np.ndarray).ravel()[7:2:-1].__dlpack__(**keywords)


def block():
    return np.arange(24, dtype="f4").reshape(2, 3, 4)


def frozen():
    x = block()
    x.flags.writeable = False
    return x


def field(kinds, name, count=4):
    return np.zeros(count, kinds)[name]


def mapped(mode):
    with tempfile.TemporaryFile() as file:
        file.write(bytes(64))
        file.flush()
        return np.memmap(file, "f4", mode, shape=(3,))


def warning_on_write():
    x = np.broadcast_arrays(np.ones(3), np.ones((2, 1)))[0]
    assert x.flags.num & 1 << 31
    return x


UNEVEN = [("a", "i1"), ("b", "f4")]
KINDS = {
    **{f"dtype {code}": partial(np.ones, (2, 3), code) for code in "?bBhHiIlLqQefdgFDG"},
    **{
        f"dtype {code}": partial(np.zeros, (2, 3), code)
        for code in ("O", "S3", "U3", "M8[s]", "m8[ns]", "V8", ">f8", ">i2", ">U2", "V0", "S0")
    },
    "structured": lambda: np.zeros(3, UNEVEN),
    "string": lambda: np.array(["a"], np.dtypes.StringDType()),
    "metadata": lambda: np.ones(3, np.dtype("f8", metadata={"a": 1})),
    "view of metadata": lambda: np.ones(3).view(np.dtype("i8", metadata={"a": 1})),
    "copied dtype": lambda: np.ones(3, np.dtype("f8", copy=True)),
    "swapped twice": lambda: np.ones(3, np.dtype("f8").newbyteorder().newbyteorder()),
    "read-only": frozen,
    "from bytes": lambda: np.frombuffer(bytes(8), "u2"),
    "Fortran order": lambda: np.asfortranarray(block()),
    "transposed": lambda: block().T,
    "negative strides": lambda: block()[::-1, :, ::-2],
    "empty": lambda: block()[:0],
    "empty with steps": lambda: block()[:, :0, ::2],
    "empty and huge": lambda: np.broadcast_to(np.zeros((1, 0)), (LONG, 0)),
    "no axes": lambda: np.array(3.0),
    "no axes, a view": lambda: block()[1, 1, 1, ...],
    "new axes": lambda: block()[:, None, :, None],
    "broadcast": lambda: np.broadcast_to(block(), (5, 2, 3, 4)),
    "broadcast and huge": lambda: np.broadcast_to(
        np.float64(1), (LONG, 2**15) if LONG == 2**40 else (2**27,)
    ),
    "warns on write": warning_on_write,
    "writable steps of 0": lambda: strided(block(), (4, 4), (0, 4)),
    "overlapping": lambda: strided(block(), (5, 4), (4, 4)),
    "not aligned": lambda: np.ndarray((5,), "f8", bytearray(41), 1),
    "not aligned, complex": lambda: np.ndarray((2,), "c16", bytearray(41), 4),
    "a field": lambda: field([("a", "i4"), ("b", "f4")], "b"),
    "an uneven field": lambda: field(UNEVEN, "b"),
    "an uneven field of one": lambda: field(UNEVEN, "b", 1),
    "uneven steps": lambda: strided(np.zeros(10, "i4"), (3,), (6,)),
    "uneven steps of one": lambda: strided(np.zeros(10, "i4"), (1, 3), (6, 4)),
    "a far step of one": lambda: strided(block(), (1, 3), (FAR, 4)),
    "one with a far step": lambda: strided(block(), (1,), (FAR // 4,)),
    "one, reversed": lambda: block()[0, 0, :1][::-1],
    "too far": lambda: strided(np.zeros(4), (3,), (FAR,)),
    "too far back": lambda: strided(np.zeros(4), (3,), (-FAR,)),
    "uneven complex": lambda: strided(np.zeros(8, "c16"), (2,), (24,)),
    "bool of bytes": lambda: np.array([1, 2], "u1").view("?"),
    "real part": lambda: np.ones(3, "c8").real,
    "imaginary part": lambda: np.ones(3, "c16").imag,
    "six axes": lambda: np.ones((2,) * 6),
    "seven axes": lambda: np.ones((2,) * 7)[..., ::-1],
    "64 axes": lambda: np.ones((1,) * 64),
    "subclass": lambda: block().view(Sub),
    "subclass with an export": lambda: block().view(Proud),
    "matrix": lambda: np.matrix([[1.0, 2]]),
    "records": lambda: np.rec.array([1.0, 2.0]),
    "masked array, no mask": lambda: np.ma.array([1.0, 2.0]),
    "masked": lambda: np.ma.array([1.0, 2.0], mask=[0, 1]),
    "memmap": lambda: mapped("w+"),
    "memmap, read-only": lambda: mapped("r"),
    "memmap, copy on write": lambda: mapped("c"),
    "scalar": lambda: np.float32(3),
}


def offset(y, x):
    """Return the offset of an import from the array's own address; a scalar has one per access."""
    if not isinstance(x, np.ndarray):
        return bool(y.ptr)
    return y.ptr - (x.__array_interface__["data"][0] if x.size else 0)


def told(x):
    """Return all fields of an import; addresses relative to the array's own."""
    try:
        y = take(x)
        own = y._owner is x
        said = [offset(y, x), y.shape, y.strides, str(y.dtype), str(y.device), y._flags, own]
        return [*said, y.readonly, y.__dlpack_device__(), type(y).__name__]
    except Exception as error:  # noqa: BLE001 - it is compared
        return [type(error).__name__, getattr(error, "rule", None), str(error)]


def exported(x):
    """Return what NumPy makes of it again."""
    try:
        y = np.from_dlpack(take(x))
    except Exception as error:  # noqa: BLE001 - it is compared
        return [type(error).__name__, str(error)]
    return [y.shape, y.strides, str(y.dtype), bool(y.flags.writeable), bool(np.shares_memory(x, y))]


if __name__ == "__main__":
    for name, make in KINDS.items():
        for _ in range(TIMES):
            x = make()
            far = name.endswith("huge") or "far" in name or name == "64 axes"
            said = [told(x), [] if far else exported(x)]
            print(json.dumps([name, *said], default=str), flush=True)
