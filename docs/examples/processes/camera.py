"""A ring of camera frames: one process writes them, another one reads the newest ones."""

from multiprocessing import get_context

import numpy as np

import interchange as ix

FRAMES, ROWS, COLUMNS = 4, 480, 640


def watch(pipe):
    """Read frames of the ring, which is opened once; runs in a process of its own."""
    ring = np.from_dlpack(ix.open_shared(pipe.recv()))
    while (number := pipe.recv()) is not None:
        pipe.send(int(ring[number % FRAMES].mean()))  # no frame crosses the pipe


def main():
    """Write ten frames, each of which the other process looks at."""
    handle = ix.share(np.zeros((FRAMES, ROWS, COLUMNS), "uint8"), copy=True)
    ring = np.from_dlpack(ix.open_shared(handle))
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    reader = context.Process(target=watch, args=(theirs,))
    reader.start()
    theirs.close()
    ours.send(handle)
    seen = []
    for number in range(10):
        ring[number % FRAMES] = 10 * number  # where a camera would write
        ours.send(number)
        seen.append(ours.recv())
    ours.send(None)
    reader.join()
    print(seen)


if __name__ == "__main__":
    main()
