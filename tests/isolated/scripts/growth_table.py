"""Calls of the exchange table, arrays in cycles and subclasses, for ``growth.py``."""

from __future__ import annotations

import ctypes
import weakref

import numpy as np
from growth import MANY, address, block, refused, source

import interchange as ix
from interchange.abi import capsules
from interchange.abi.dlpack import DLManagedTensorVersioned, DLPackExchangeAPI, DLTensor
from interchange.testing import producers

Pointer = ctypes.c_void_p
FROM = ctypes.PYFUNCTYPE(ctypes.c_int, Pointer, ctypes.POINTER(Pointer))
LEND = ctypes.PYFUNCTYPE(ctypes.c_int, Pointer, ctypes.POINTER(DLTensor))
STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(Pointer))
ALLOCATE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(DLTensor), ctypes.POINTER(Pointer), Pointer, Pointer
)
FREE = ctypes.CFUNCTYPE(None, Pointer)  # without the GIL

capsule = ix.Array.__dlpack_c_exchange_api__
table = DLPackExchangeAPI.from_address(capsules.capsule_pointer(capsule, capsules.EXCHANGE_API))
out, lent = Pointer(), DLTensor()
export = FROM(table.managed_tensor_from_py_object_no_sync)
take = FROM(table.managed_tensor_to_py_object_no_sync)
lend = LEND(table.dltensor_from_py_object_no_sync)
allocate = ALLOCATE(table.managed_tensor_allocator)
stream = STREAM(table.current_work_stream)
x = ix.from_dlpack(source)
bits = ix.from_pointer(address, (1, 2), "float32", owner=block)
wrong = producers.host().but(generation="versioned", dtype=(2, 32, 1))


class Sub(ix.Array):
    """A subclass in Python, with a dictionary."""


def struct():
    export(id(x), ctypes.byref(out))
    return out.value


def free(address):
    FREE(DLManagedTensorVersioned.from_address(address).deleter)(address)


def take_and_drop(address):
    take(address, ctypes.byref(out))
    capsules.decrease_reference(ctypes.cast(out, ctypes.py_object).value)


def take_what_is_wrong():
    address = struct()
    ctypes.c_int32.from_address(address + DLManagedTensorVersioned.dl_tensor.offset + 8).value = 99
    try:
        take(address, ctypes.byref(out))
    except ix.UnsupportedDeviceError:
        return
    raise AssertionError("nothing was refused")


shape = (ctypes.c_int64 * 2)(3, 5)
wanted = DLTensor(ndim=2, shape=ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)))
wanted.device.device_type, wanted.dtype.bits, wanted.dtype.lanes = 1, 64, 1


def make_memory():
    allocate(ctypes.byref(wanted), ctypes.byref(out), None, None)
    free(out.value)


def in_a_cycle():
    made = ix.from_dlpack(source)
    made._owner = [made]


def subclassed():
    made = ix._core.describe(x.ptr, x._spec, 0, source, source, Sub)
    made.word = made
    del made


def seven_axes():
    return np.ones((1,) * 7)


SEVEN = seven_axes()


def watched():
    made = ix.from_dlpack(source)
    weakref.ref(made, gone.append)
    watch = weakref.ref(made, gone.append)
    del made
    gone.clear()
    return watch


gone: list = []
ACTS = {
    "export": lambda: free(struct()),
    "export-and-take": lambda: take_and_drop(struct()),
    "take-what-is-wrong": take_what_is_wrong,
    "lend": lambda: lend(id(x), ctypes.byref(lent)),
    "stream": lambda: stream(1, 0, ctypes.byref(out)),
    "allocate": make_memory,
    "cycle": in_a_cycle,
    "subclass": subclassed,
    "seven-axes": lambda: ix.from_dlpack(SEVEN).__dlpack__(max_version=(1, 3)),
    "views": lambda: x[::-1][:1].T,
    "views-of-capsules": lambda: ix.from_dlpack(source.__dlpack__())[::-1],
    "weak": watched,
    "array": lambda: ix.from_dlpack(x),
    "refused": refused(lambda: ix.from_dlpack(3), ix.NoProtocolError),
}
act_of = ACTS.__getitem__


def times_of(_):
    """Return how often each is done."""
    return MANY
