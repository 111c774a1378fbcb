"""Deleters of ours are called without the GIL, in a way that the argument names.

Prints the number of owners that were collected, and whether this was in another thread.  On a
free-threaded Python an object that another thread drops last is collected when its own thread gets
to it: the script waits for that, and it is in this thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
import time
import warnings
from typing import ClassVar

import arrow_given
import numpy as np
from common import consumed

import interchange as ix

COUNT = 64
PATIENCE = 10.0  # [seconds]
MAIN = threading.get_ident()


class Owner:
    """Owns memory, and records in which thread it is collected."""

    died_in: ClassVar[list[int]] = []

    def __init__(self) -> None:
        self.block = (ctypes.c_float * 6)(*range(6))

    def __del__(self) -> None:
        self.died_in.append(threading.get_ident())


def pointer(dtype="float32"):
    owner = Owner()
    return ix.from_pointer(ctypes.addressof(owner.block), (2, 3), dtype, owner=owner)


def make(n):
    """Return an array of one kind after the other: NumPy's deleter, and the borrowed one."""
    return pointer(("float32", "bfloat16")[n % 2])


def consumed_arrow(n):
    """Return the address and the callback of a struct of Arrow of ours, of each kind in turn."""
    owner = Owner()
    make = (arrow_given.array, arrow_given.stream)[n % 2]
    device = (None, arrow_given.CUDA)[n // 2 % 2]
    return arrow_given.taken_by_c(make(owner.block, owner, device))


def report():
    """Print what died where."""
    end = time.monotonic() + PATIENCE
    while len(Owner.died_in) < COUNT and time.monotonic() < end:
        time.sleep(0.001)
    elsewhere = sum(ident != MAIN for ident in Owner.died_in)
    print(len(Owner.died_in), "died,", elsewhere, "elsewhere")


def dlpack(n):
    """Return the address and the deleter of a struct of each generation in turn."""
    return consumed(make(n), (None, (1, 3))[n // 2 % 2])


def native_threads(lend=dlpack):
    """Threads that Python does not know of call the deleter, while this one waits without GIL."""
    libc = ctypes.CDLL(None)  # its calls release the GIL
    libc.pthread_create.argtypes = [ctypes.c_void_p] * 4
    libc.pthread_join.argtypes = [ctypes.c_ulong, ctypes.c_void_p]
    threads = []
    for n in range(COUNT):
        address, deleter = lend(n)
        thread = ctypes.c_ulong()
        assert libc.pthread_create(ctypes.addressof(thread), None, deleter, address) == 0
        threads.append(thread)
    for thread in threads:
        libc.pthread_join(thread.value, None)


def this_thread(lend=dlpack):
    """This thread calls the deleter after releasing the GIL."""
    release = ctypes.CDLL(None)._FuncPtr  # the kind that releases it
    for n in range(COUNT):
        address, deleter = lend(n)
        release(deleter)(ctypes.c_void_p(address))


def arrow_native_threads():
    """Likewise, with the callback of an Arrow struct."""
    native_threads(consumed_arrow)


def arrow_this_thread():
    """Likewise."""
    this_thread(consumed_arrow)


def python_threads():
    """Arrays, capsules and consumers are collected in threads while this one imports."""
    held = [
        (array, array.__dlpack__(max_version=(1, 0)), np.from_dlpack(array))
        for array in (pointer() for _ in range(COUNT))
    ]

    def drop():
        with contextlib.suppress(IndexError):
            while True:
                held.pop()

    threads = [threading.Thread(target=drop) for _ in range(4)]
    sys.setswitchinterval(1e-6)
    for thread in threads:
        thread.start()
    source = np.ones(3)
    while any(thread.is_alive() for thread in threads):
        ix.from_dlpack(source.__dlpack__(max_version=(1, 0)))
        ix.from_dlpack(source)
    for thread in threads:
        thread.join()


def torch_pool():
    """A thread of torch's own pool, which holds no GIL, drops the last reference to our memory."""
    import torch

    warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit is deprecated

    class Holder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.held = [torch.ones(1)]  # the compiled code gets the list's element type from it

        def _drop(self) -> int:
            while len(self.held) > 0:
                self.held.pop()
            return 0

        def forward(self) -> int:
            return torch.jit.wait(torch.jit.fork(self._drop))

    holder = torch.jit.script(Holder())
    for _ in range(8):
        holder.held = [torch.from_dlpack(make(n)) for n in range(COUNT // 8)]
        holder()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    report()
