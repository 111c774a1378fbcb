"""Threads and memory that scripts of this folder share."""

from __future__ import annotations

import os
import threading

from interchange.abi.dlpack import DLManagedTensor, DLManagedTensorVersioned
from interchange.testing import producers

NEWEST = {"max_version": (1, 3)}


def resident():
    """Return the resident memory of this process [bytes]."""
    with open("/proc/self/statm") as file:  # noqa: PTH123 - quick
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def in_threads(work, count):
    """Call ``work(number)`` in so many threads at once, and wait until all of them end."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def consumed(array, max_version):
    """Return the address and the deleter of a struct of an array, which is ours to release."""
    claim = producers.Claim(array.__dlpack__(max_version=max_version))
    struct = DLManagedTensor if max_version is None else DLManagedTensorVersioned
    return claim.address, struct.from_address(claim.address).deleter
