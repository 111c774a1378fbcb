"""Imports, exports and refusals of columns of Arrow, for ``growth.py``."""

from __future__ import annotations

import ctypes

import arrow_given
import numpy as np
from growth import MANY, SOME, address, block, refused, source

import interchange as ix
from interchange.abi.arrow import ArrowColumn, ArrowField
from interchange.abi.arrow_formats import encode_metadata
from interchange_conformance.zoo import arrow

if arrow_given.IS_BUILT:
    from interchange._core import _native

bits = (ctypes.c_uint8 * 8)(*[0b101101] * 8)
EVEN = ctypes.addressof(bits)
HOST = (1, -1, 0)
TENSOR = encode_metadata(
    [
        (b"ARROW:extension:name", b"arrow.fixed_shape_tensor"),
        (b"ARROW:extension:metadata", b'{"shape": [3, 1], "permutation": [1, 0]}'),
    ]
)


def lent(form="f", **said):
    """Return what makes the capsules of a column of six numbers."""
    field = ArrowField(form, **{key: said.pop(key) for key in ("metadata",) if key in said})
    column = ArrowColumn(**{"length": 6, "buffers": (0, address), **said})
    return lambda device=None: _native.make_arrow(field, column, block, device)


def lists(**said):
    """Return what makes the capsules of a column of two lists of three numbers."""
    field = arrow_given.FIELD._replace(**said)
    return lambda: _native.make_arrow(field, arrow_given.column(block), block, None)


def table():
    """Return the capsules of a table of two columns."""
    fields = tuple(ArrowField("f", name) for name in "xy")
    column = ArrowColumn(6, buffers=(0, address))
    whole = ArrowColumn(6, buffers=(0,), children=(column, column))
    return _native.make_arrow(ArrowField("+s", children=fields), whole, block, None)


def batches(size=None, count=3, **keywords):
    """Return an operation that reads batches of several tables."""

    def act():
        for batch in ix.batches((table() for _ in range(count)), size=size, **keywords):
            batch["x"][:2]

    return act


def stopped():
    """Stop in the middle, with the first batch."""
    with ix.batches((table() for _ in range(3)), size=8) as found:
        next(found)


def taken(make, **keywords):
    """Return an operation that imports a producer created each time."""
    return lambda: ix.from_arrow(make(), **keywords)


def refusal(make, error=ix.ExchangeError, **keywords):
    """Return an act that is refused."""
    return refused(taken(make, **keywords), error)


def of_zoo(make, error=None, **keywords):
    """Return an act with a producer of the zoo, whose structs are released each time."""

    def act():
        given = make()
        try:
            ix.from_arrow(given, **keywords)
        except ix.ExchangeError:
            if error is None:
                raise
        if given.counts != given.due:
            raise AssertionError("something was not released")
        given.forget()

    return act


def two_chunks():
    return arrow.chunked(arrow.numbers(), arrow.numbers()).as_stream()


def failing():
    return two_chunks().but(next_error=5, fails_at=1)


def out(kind, x=source):
    """Return an act that makes capsules of an array, which have no consumer."""

    def act():
        getattr(ix.to_arrow(x), f"__arrow_c_{kind}__")()

    return act


TABLE = {"rows": source, "bools": np.ones(2, bool)}

IN = {
    "in-array": taken(lent()),
    "in-device-array": taken(lambda: lent()(HOST)),
    "in-stream": taken(lambda: arrow_given.stream(block, block)),
    "in-lists": taken(lists()),
    "in-tensors": taken(lists(metadata=TENSOR)),
    "in-bits": taken(lent("b", buffers=(0, EVEN))),
    "in-copy": taken(lists(), copy=True),
    "in-nulls": taken(lent(buffers=(EVEN, address), null_count=2), nulls="separate"),
    "in-storage": taken(lent("tdD"), storage=True),
    "in-chunks": of_zoo(two_chunks, copy=True),
    "in-table": taken(table, columns=["y", "x"]),
    "in-axis": taken(table, columns=["y", "x"], axis=1),
    "in-batches": batches(),
    "in-batches-cut": batches(4),
    "in-batches-copied": batches(4, copy=True, count=2),
    "in-batches-stopped": stopped,
    "in-asarray": of_zoo(lambda: arrow.numbers().as_stream()),
}


def refused_by(error):
    """Return what `to_arrow` raises where the native core raises `error`."""
    return error if ix.core_name == "native" else ix.BackendUnavailableError


OUT = {
    "out-array": out("array"),
    "out-stream": out("stream"),
    "out-device-array": out("device_array"),
    "out-device-stream": out("device_stream"),
    "out-schema": out("schema"),
    "out-table": out("array", TABLE),
    "out-and-in": lambda: ix.from_arrow(ix.to_arrow(source)),
    "out-and-in-tensor": lambda: ix.from_arrow(ix.to_arrow(source.T[:, :, None].T, kind="tensor")),
}
REFUSALS = {
    "refuse-nulls": refusal(lent(buffers=(EVEN, address), null_count=2)),
    "refuse-count": refusal(lent(buffers=(EVEN, address), null_count=1)),
    "refuse-type": refusal(lent("u", buffers=(0, address, address))),
    "refuse-storage": refusal(lent("tdD")),
    "refuse-buffer": refusal(lent(buffers=(0, 0))),
    "refuse-field": refusal(table, columns=["z"]),
    "refuse-batch": refused(batches(8, copy=False), ix.CopyNeededError),
    "refuse-chunks": of_zoo(two_chunks, ix.CopyNeededError),
    "refuse-stream": of_zoo(failing, ix.ExchangeError, copy=True),
    "refuse-device": refusal(lambda: lent()((99, 0, 0))),
    "refuse-order": refused(lambda: ix.to_arrow(source.T), refused_by(ix.CopyNeededError)),
    "refuse-elements": refused(
        lambda: ix.to_arrow(np.ones(3, "c8")), refused_by(ix.UnsupportedDTypeError)
    ),
}  # fmt: skip
ACTS = {**IN, **OUT, **REFUSALS}
OFTEN = {"in-array", "in-stream", "in-lists", "out-array", "out-stream", "refuse-nulls"}
"""Operations that are repeated 100 000 times."""
RARELY = {
    *(name for name in ACTS if "batch" in name),
    *("in-chunks", "in-asarray", "refuse-chunks", "refuse-stream"),
}
"""Operations that create their producers each time, which is slow."""
FEW = 2_000


def times_of(name):
    """Return how often something is done."""
    return FEW if name in RARELY else MANY if name in OFTEN else SOME


act_of = ACTS.__getitem__
