"""An exporter of device memory that is killed between its answer and the import of the memory.

Prints the rule of the refusal.
"""

import os
import pickle
import signal
import sys

from sharing_memory import Resources

import interchange as ix
from interchange._streams.interprocess import Interprocess


def export(sender):
    """Share memory of a device, and wait for the signal."""
    held = Resources("cuMalloc")
    array, _ = held.make(5)
    with os.fdopen(sender, "wb") as pipe:
        pickle.dump(held.share(array), pipe)
    signal.pause()


def main():
    """Open the memory of a forked exporter, which dies before it is imported."""
    receiver, sender = os.pipe()
    exporter = os.fork()
    if not exporter:
        os.close(receiver)
        export(sender)
    os.close(sender)
    with os.fdopen(receiver, "rb") as pipe:
        handle = pickle.load(pipe)
    Resources("cuMalloc")  # loads the driver
    original = Interprocess.import_memory

    def import_memory(*arguments):
        os.kill(exporter, signal.SIGKILL)
        os.waitpid(exporter, 0)
        return original(*arguments)

    Interprocess.import_memory = import_memory
    try:
        ix.open_shared(handle)
    except ix.ExchangeError as error:
        print(error.rule)
    else:
        sys.exit("the memory was opened")


main()
