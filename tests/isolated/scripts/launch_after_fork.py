"""Launches a kernel before a fork, and tries to in the child, on the emulated driver.

Source: interchange.cuda.  Prints whether the core launched it without Python code, the error in the
child, and the element that was added to.
"""

import os

import numpy as np

import interchange as ix
from interchange import cuda
from interchange_conformance.emucuda import load

load()


@cuda.jit
def add(x, out):
    out[0] += x[0]


x, out = cuda.to_device(np.ones(1)), cuda.to_device(np.ones(1))
launch = add[1, 1]


def repeat():
    """Return whether the core launches it without Python code."""
    repeated = add._repeater.launch
    return repeated is not None and repeated(launch._configuration, (x, out)) == 1


launch(x, out)
launch(x, out)
print(repeat(), flush=True)
child = os.fork()
if child == 0:
    print(repeat(), flush=True)
    try:
        launch(x, out)
    except ix.ExchangeError as error:
        print(error.rule, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(np.asarray(out.to_device("cpu")).tolist())
