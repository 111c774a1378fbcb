"""A producer and a trainer on one GPU: batches stay in device memory, and no stream is waited for.

python -m interchange_conformance.emucuda -- python trainer.py    # without a GPU
"""

from multiprocessing import get_context

import numpy as np
from cuda.bindings import driver

import interchange as ix

ROWS, COLUMNS = 256, 128


def new_stream():
    """Return a stream of the first device."""
    driver.cuInit(0)
    driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])
    return int(driver.cuStreamCreate(1)[1])


def train(pipe):
    """Use each batch on a stream of its own; runs in a process of its own."""
    stream = new_stream()
    while (handle := pipe.recv()) is not None:
        batch = ix.open_shared(handle, stream=stream)  # the stream waits for the producer's work
        loss = np.from_dlpack(batch.to_device("cpu", stream=stream)).mean()
        del batch  # the producer may free the memory
        pipe.send(float(loss))


def main():
    """Fill four batches on a stream, and send their handles."""
    stream = new_stream()
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    trainer = context.Process(target=train, args=(theirs,))
    trainer.start()
    theirs.close()
    losses = []
    for number in range(4):
        made = np.full((ROWS, COLUMNS), number, "float32")
        batch = ix.asarray(made).to_device("cuda:0", stream=stream)  # pending on the stream
        handle = ix.share(batch)
        ours.send(handle)
        losses.append(ours.recv())
    ours.send(None)
    trainer.join()
    print(losses)


if __name__ == "__main__":
    main()
