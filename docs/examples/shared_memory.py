"""Shared memory: processes fill parts of one array, and no element is copied."""

from multiprocessing import get_context
from multiprocessing.shared_memory import SharedMemory

import numpy as np

import interchange as ix

ROWS, COLUMNS = 4, 3


def table_in(block):
    """Return a block of shared memory as an Array of numbers."""
    return ix.from_buffer(block.buf, dtype="float64", shape=(ROWS, COLUMNS))


def fill(name, first, last):
    """Fill some rows of the table in a block; runs in a separate process."""
    block = SharedMemory(name)
    rows = np.from_dlpack(table_in(block)[first:last])
    rows[:] = np.arange(first, last)[:, None]
    del rows  # a block can be closed when no view of it is left
    block.close()


def main():
    """Fill a table by two processes."""
    block = SharedMemory(create=True, size=8 * ROWS * COLUMNS)
    try:
        start = get_context("spawn").Process
        workers = [start(target=fill, args=(block.name, row, row + 2)) for row in (0, 2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        print(table_in(block).tolist())
    finally:
        block.close()
        block.unlink()


if __name__ == "__main__":
    main()
