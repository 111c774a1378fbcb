"""Which calls work when NumPy is not installed, and that the others say so.

Run it with a Python without NumPy.  ``--markdown FILE`` writes the table of the docs.
"""

from __future__ import annotations

import array
import pickle
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import interchange as ix
from interchange import cuda

RULE = "IX-NUMPY-1"
FIX = "pip install 'numpy>="


class Record:
    """A CUDA record without elements, which needs no driver."""

    @property
    def __cuda_array_interface__(self):
        data = {"shape": (0, 3), "typestr": "<f4", "data": (0, False)}
        return {**data, "version": 3, "stream": None}


def make(dtype=None):
    """Return an Array of memory of the standard library, 2 by 3 elements of float64."""
    return ix.from_buffer(array.array("d", range(6)), dtype=dtype, shape=(2, 3))


@ix.accepts_arrays("x")
def shape_of(x: ix.Array):
    """Return the shape of an argument."""
    return x.shape


x = make()
memory = array.array("d", range(6))
WORK = {
    "`import interchange`, `interchange.xp`, `interchange.compat`, `interchange.cuda`":
        lambda: (ix.xp, ix.compat, cuda),
    "`ix.asarray(b'abc')`, of any buffer": lambda: ix.asarray(b"abc"),
    "`ix.from_buffer(memory, dtype=, shape=)`": lambda: ix.from_buffer(memory, shape=(3, 2)),
    "`ix.from_pointer(address, shape, dtype)`":
        lambda: ix.from_pointer(x.ptr, (2, 3), "bfloat16", owner=x),
    "`ix.from_dlpack(producer)`": lambda: ix.from_dlpack(x),
    "`ix.from_dlpack(capsule)`, of both generations": lambda: (
        ix.from_dlpack(x.__dlpack__(max_version=(1, 0))), ix.from_dlpack(x.__dlpack__())),
    "`ix.from_array_interface(record)`": lambda: ix.from_array_interface(x),
    "`ix.from_cai(record)`": lambda: ix.from_cai(Record()),
    "`ix.to_cai(x)`": lambda: ix.to_cai(ix.from_cai(Record())),
    "`ix.to_capsule(x)`, `x.__dlpack__()`": lambda: ix.to_capsule(x),
    "`x.__array_interface__`": lambda: x.__array_interface__,
    "`x[1]`, `x[:, ::-1]`, iteration": lambda: (x[1], x[:, ::-1], list(x)),
    "`x.T`, `x.mT`, `x.reshape()`, `x.view()`":
        lambda: (x.T, x.mT, x.reshape((3, 2)), x.view("int64")),
    "`x.require()`": lambda: x.require(ndim=2, dtype="float64"),
    "`ix.accepts_arrays()`": lambda: shape_of(x),
    "`ix.borrow(x, stream=)`": lambda: ix.borrow(x, stream=None).__enter__(),
    "`ix.copyto(x, y)`": lambda: ix.copyto(make(), x),
    "`ix.inspect(x)`, `repr(x)`, without the elements": lambda: (str(ix.inspect(x)), repr(x)),
    "`ix.DType.of()`, `ix.Device.of()`, and their hashes":
        lambda: hash((ix.DType.of("float32"), ix.DType.of("bfloat16"), ix.Device.of("cuda:0"))),
    "`ix.to_arrow(x)`, `ix.from_arrow(column)`": lambda: ix.from_arrow(ix.to_arrow(x)),
    "`ix.to_arrow_stream(x)`": lambda: ix.to_arrow_stream(x),
    "`ix.share(x)`, `ix.open_shared(handle)`": lambda: ix.open_shared(ix.share(x, copy=True)),
    "the C API": lambda: ix._C_API,
    "`ix.get_include()`": ix.get_include,
}  # fmt: skip
"""Calls that work with the native core."""
REFUSED = {
    "`x.copy()`, `ix.asarray(x, copy=True)`": (x.copy, lambda: ix.asarray(x, copy=True)),
    "`x.__dlpack__(copy=True)`": (lambda: x.__dlpack__(max_version=(1, 0), copy=True),),
    "`ix.empty()`": (lambda: ix.empty((2, 3), "float32"),),
    "`x.tolist()`, `x.tobytes()`": (x.tolist, x.tobytes),
    "`float(x[0, 1])`, and other scalars": (lambda: float(x[0, 1]), lambda: bool(x[0, 1])),
    "`x[0, 1] = 1.0`": (lambda: make().__setitem__((0, 1), 1.0),),
    "`x[[0, 1]]`, and other indices of elements": (lambda: x[[0, 1]], lambda: x[make("int64")]),
    "`x + 1`, `x == y`": (lambda: x + 1, lambda: x == make()),
    "functions of `ix.xp`, on the host": (lambda: ix.xp.zeros(3), lambda: ix.xp.sum(x)),
    "`np.asarray(x)`, `x.__array__()`": (x.__array__,),
    "`pickle.dumps(x)`": (lambda: pickle.dumps(x),),
    "`cuda.float32(1.0)`, and other scalars of kernels": (lambda: cuda.float32(1.0),),
}  # fmt: skip
"""Calls that need NumPy."""
OF_CTYPES = ("`ix.to_capsule(x)`, `x.__dlpack__()`",)
"""Calls that need NumPy with the ctypes core, whose capsules have NumPy's deleters."""


def said(call):
    """Return the error of a call, or None."""
    try:
        call()
    except ix.BackendUnavailableError as error:
        return f"[{error.rule}] {error}"
    except Exception as error:  # noqa: BLE001 - any exception is shown
        return f"{type(error).__name__}: {error}"
    return None


def table():
    """Return the table as Markdown."""
    rows = [*((name, "works") for name in WORK), *((name, RULE) for name in REFUSED)]
    lines = ["| Call | Without NumPy, with the native core |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {name} | {what} |" for name, what in rows), ""])


for name, call in WORK.items() if ix.core_name == "native" else ():
    if what := said(call):
        sys.exit(f"{name} does not work: {what}")
refused = REFUSED if ix.core_name == "native" else {name: (WORK[name],) for name in OF_CTYPES}
for name, call in ((name, call) for name, calls in refused.items() for call in calls):
    what = said(call) or "nothing"
    if RULE not in what or FIX not in what or "NumPy is not installed" not in what:
        sys.exit(f"{name} says something else: {what}")
if find_spec("torch") is not None:
    with warnings.catch_warnings():  # torch misses NumPy, too
        warnings.simplefilter("ignore")
        import torch

        tensor = torch.arange(6.0)
    assert ix.asarray(tensor).ptr == ix.from_dlpack(tensor).ptr == tensor.data_ptr()
    if ix.core_name == "native":
        assert torch.from_dlpack(ix.from_dlpack(tensor)[1:]).tolist() == [1, 2, 3, 4, 5]
    assert "numpy" not in sys.modules
    print("torch")
if "--markdown" in sys.argv:
    Path(sys.argv[-1]).write_text(table(), encoding="utf-8")
print(f"{ix.core_name}: {len(WORK)} calls, {len(refused)} refused")
