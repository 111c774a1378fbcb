"""An exception in flight survives the release of Arrow columns.  Prints one line per case.

The argument names the other party: a library, or interchange alone.
"""

from __future__ import annotations

import importlib
import sys

import arrow_given
from common import NEWEST
from in_flight import Owner, inside_delete, inside_generator, report, unwind

import interchange as ix
from interchange._core import _native
from interchange_conformance.zoo import arrow


def pair(device=None):
    """Capsules of a schema and of memory of ours."""
    owner = Owner()
    column = arrow_given.column(owner.block)
    return _native.make_arrow(arrow_given.FIELD, column, owner, device)


def stream(device=None):
    """The capsule of a stream of memory of ours."""
    owner = Owner()
    return arrow_given.stream(owner.block, owner, device)


HOST = (1, -1, 0)
IMPORTS = {
    "array": lambda: ix.from_arrow(pair()),
    "stream": lambda: ix.from_arrow(stream()),
    "device array": lambda: ix.from_arrow(pair(HOST)),
    "device stream": lambda: ix.from_arrow(stream(HOST)),
    "view": lambda: ix.from_arrow(pair())[1:],
    "DLPack": lambda: ix.from_arrow(pair()).__dlpack__(**NEWEST),
    "memoryview": lambda: ix.from_arrow(pair()).as_memoryview(),
    "copy": lambda: ix.from_arrow(pair(), copy=True),
    "data and mask": lambda: ix.from_arrow(stream(), nulls="separate"),
}
CAPSULES = {
    "array": pair,
    "stream": stream,
    "device array": lambda: pair(arrow_given.CUDA),
    "device stream": lambda: stream(arrow_given.CUDA),
}


def refused_meanwhile():
    """A column that is refused while another exception is handled, and then collected with it."""

    class Holder:
        def __del__(self) -> None:
            try:
                ix.from_arrow(stream(arrow_given.CUDA), device="cpu")
            except ix.ExchangeError:
                pass
            else:
                raise AssertionError("nothing was refused")

    unwind(Holder)


def seen_in_flight():
    """C callbacks that check that no exception is set when we call them."""
    sources = []

    def make():
        sources.append(arrow.lists())
        return ix.from_arrow(sources[-1])

    unwind(make)
    seen = sum(loan.in_flight for source in sources for loan in source.given)
    once = all(source.counts == source.due for source in sources)
    return None if (seen, once) == (0, True) else f"{seen} seen in flight, once is {once}"


def ourselves():
    """Imports, and capsules that are not consumed."""
    for name, make in IMPORTS.items():
        report(f"import of {name}", lambda m=make: unwind(m))
        report(f"in __del__ {name}", lambda m=make: inside_delete(m, id))
    report("in a generator", lambda: inside_generator(IMPORTS["array"]))
    for name, make in CAPSULES.items():
        report(f"capsules of {name}", lambda m=make: unwind(m))
    report("refused meanwhile", refused_meanwhile)
    report("seen in flight", seen_in_flight)


# ---------------------------------------------------------------- others


class Exported:
    """Exports memory of ours."""

    def __arrow_c_array__(self, requested_schema=None):
        return pair()

    def __arrow_c_stream__(self, requested_schema=None):
        return stream()

    def __arrow_c_schema__(self):
        return _native.make_arrow_schema(arrow_given.FIELD)


MAKES = {
    "pyarrow": lambda pa: pa.array([[1.0, 2.0, 3.0]] * 2, pa.list_(pa.float32(), 3)),
    "polars": lambda pl: pl.Series([[1.0, 2.0, 3.0]] * 2, dtype=pl.Array(pl.Float32, 3)),
    "nanoarrow": lambda na: na.c_array([1.0, 2.0, 3.0], na.float32()),
}
TAKES = {
    "pyarrow": lambda pa: pa.array(Exported()),
    "polars": lambda pl: pl.Series(Exported()),
    "nanoarrow": lambda na: na.c_array(Exported()),
}


def others(name):
    """Exports of a library, and its imports of ours, dropped as the exception unwinds."""
    library = importlib.import_module(name)
    report("its column", lambda: unwind(lambda: ix.from_arrow(MAKES[name](library))))
    report("takes ours", lambda: unwind(lambda: TAKES[name](library)))
    report(
        "takes ours and hands it back",
        lambda: unwind(lambda: ix.from_arrow(TAKES[name](library))),
    )


if __name__ == "__main__":
    if sys.argv[1] == "interchange":
        ourselves()
    else:
        others(sys.argv[1])
