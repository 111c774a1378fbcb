"""A record that changes while the driver is called: the values read before are used.

Python functions replace those of the driver.
"""

from __future__ import annotations

import ctypes
import gc

import interchange as ix
from interchange._core._native import _extension
from interchange._streams.driver import drivers

POINTERS = ctypes.POINTER(ctypes.c_void_p)
Attributes = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_uint, ctypes.c_void_p, POINTERS, ctypes.c_uint64
)
Current = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int))
others = []


@Attributes
def attributes(_, __, places, address):
    for place, value in enumerate((0, 2, 0, address, 1 << 20)):
        ctypes.cast(places[place], ctypes.POINTER(ctypes.c_uint64))[0] = value
    record["shape"] = None  # as another thread may: there is no other reference to the shape now
    others.extend(("another",) * 5 for _ in range(100))
    return 0


@Current
def current(ordinal):
    ordinal[0] = 0
    return 0


class Driver:
    """Stand-in for the driver in use."""


def address_of(function):
    """Return the address of a function of C."""
    return ctypes.cast(function, ctypes.c_void_p).value


_ = ix.from_cai
_extension.learn_typestr("<f4", ix.DType.of("float32"))
order, _ = _extension.cuda_calls(1, 1, 1, address_of(attributes), address_of(current))
drivers["cuda"] = driver = Driver()
_extension.use_driver(driver, order.__self__, 1)
record = {
    "shape": tuple(map(int, "12112")),  # not a constant: there must be no other reference
    "typestr": "<f4",
    "data": (4096, False),
    "strides": None,
    "version": 3,
    "stream": None,
}
x = ix.from_cai(record)
(kept,) = [one for one in gc.get_referents(x) if type(one) is tuple]
print(x.shape, kept[0], len(others))

_extension.use_driver(Driver(), order.__self__, 1)  # the previous one is released
print(ix.Array.__name__)
