"""Two threads use an Array for the first time, in the ways that the arguments name.

``switched``: they switch at each bytecode.  ``many``: eight threads, which switch as the
interpreter does.  Prints whether there were switches, and what was wrong.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from pathlib import Path

import numpy as np
import switching
from common import in_threads

import interchange as ix
from interchange import xp
from interchange._libraries.numpy import NumPyBackend

FILES = tuple(
    f"interchange/{name}.py"
    for name in (
        *("_array/native_arrays", "_array/operators", "_array/dlpack_export", "_array/protocols"),
        *("_libraries/selection", "_core/_ctypes", "_core/_export", "_core/_tensor"),
    )
)
"""The modules in which an Array computes attributes on first use."""
ROOT = Path(ix.__file__).parents[1]
if not all((ROOT / name).is_file() for name in FILES):
    raise FileNotFoundError(FILES)  # otherwise nothing there would be interrupted


class Owner:
    """Owns memory that may refer back to it."""

    def __init__(self):
        self.block = (ctypes.c_double * 3)(1, 1, 1)


class Forgetful(NumPyBackend):
    """A library whose arrays are writable, and which cannot represent read-only memory."""

    keeps_readonly = False

    def describe(self, native, cls):
        """Return an Array that is writable according to the library."""
        found = super().describe(native, cls)
        found._flags = 0
        return found


def pointer(**more):
    """Return an Array over memory whose owner may refer back."""
    owner = Owner()
    address = ctypes.addressof(owner.block)
    return ix.from_pointer(address, (3,), "float64", owner=owner, **more)


def forgotten():
    """Return a view that a library made, which does not know that it must not be written."""
    ix.set_backend("cpu", Forgetful)
    memory = np.ones(3)
    memory.flags.writeable = False
    return xp.reshape(ix.from_dlpack(memory), (3, 1))


ARRAYS = {
    "import": lambda: ix.from_dlpack(np.ones(3)),
    "capsule": lambda: ix.from_dlpack(np.ones(3).__dlpack__(), assume_writable=True),
    "buffer": lambda: ix.from_buffer(memoryview(bytearray(np.ones(3))).cast("d")),
    "pointer": pointer,
    "result": lambda: ix.from_dlpack(np.ones(3)) * 1,
    "view": lambda: xp.reshape(pointer(), (3, 1)),
    "read-only": forgotten,
}


def capsule_of(x):
    """Return a consumer's view of two exports."""
    version = (1, 3)
    seen = [ix.from_dlpack(x.__dlpack__(max_version=version)) for _ in range(2)]
    return [(y.shape, y.readonly, y.ptr == x.ptr) for y in seen]


def facts_of(x):
    """Return the description of the memory, whichever attribute is read first."""
    known = x._flags
    return x.size, x.dtype.name, x.readonly, x.ptr == x.ptr, known, str(x.device), x.ndim


USES = {
    "add": lambda x: (x + x).tolist(),
    "reflected": lambda x: (1 + x).tolist(),
    "compare": lambda x: (x == x).tolist(),  # noqa: PLR0124
    "negate": lambda x: (-x).tolist(),
    "sum": lambda x: xp.sum(x).item(),
    "reshape": lambda x: xp.reshape(x, (1, 3)).tolist(),
    "mask": lambda x: x[x > 0].tolist(),
    "index": lambda x: x[0:2].tolist(),
    "write": lambda x: x.__setitem__(slice(None), 1.0),
    "update": lambda x: x.__imul__(1.0).tolist(),
    "facts": facts_of,
    "export": capsule_of,
    "ndarray": lambda x: np.asarray(x).tolist(),
    "interface": lambda x: x.__array_interface__["shape"],
    "chosen anew": lambda _: ix.set_backend("cpu", None),
}


def outcome(use, x):
    """Return the result of a use, or its error."""
    try:
        return USES[use](x)
    except ix.InterchangeError as error:
        return error.rule  # read-only memory is not written
    except BaseException as error:  # noqa: BLE001 - the caller compares it
        return repr(error)


def run(array, first, second):
    """Return a test of two uses of one Array."""

    def make():
        ix.set_backend("cpu", None)
        return ARRAYS[array]()

    # What each returns alone, one after the other.
    x = make()
    expected = [outcome(first, x), outcome(second, x)]

    def judge(x, *found):
        after = outcome(first, x)
        if list(found) != expected or after != expected[0]:
            return [*found, after, "expected", *expected]
        return None

    uses = (functools.partial(outcome, use) for use in (first, second))
    return switching.try_all(make, *uses, judge, FILES)


def switched(array):
    """Print the errors of each pair of uses."""
    alike = ("add", "compare", "sum", "reshape", "mask", "write", "update", "facts", "export")
    pairs = [(use, use) for use in alike]
    pairs += [("facts", "add"), ("facts", "export"), ("add", "chosen anew"), ("sum", "index")]
    wrong, least = {}, 10**6
    for first, second in pairs:
        count, found = run(array, first, second)
        least = min(least, count)
        if found:
            wrong[first, second] = found
    print(least > 0, wrong)


def many(array):
    """Print the errors of many threads."""
    sys.setswitchinterval(1e-6)
    threads, rounds = 8, 150
    made = [ARRAYS[array]() for _ in range(rounds)]
    names = [name for name in USES if name != "chosen anew"]
    expected = {name: outcome(name, ARRAYS[array]()) for name in names}
    barrier = threading.Barrier(threads)
    wrong = []

    def work(which):
        for number, x in enumerate(made):
            name = names[(number // 10 + which * (number % 2)) % len(names)]
            if number % 10 == 0:
                barrier.wait()
            found = outcome(name, x)
            if found != expected[name]:
                wrong.append((name, found))

    in_threads(work, threads)
    print(len(made) == rounds, wrong[:3] or {})


{"switched": switched, "many": many}[sys.argv[1]](sys.argv[2])
