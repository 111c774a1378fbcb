"""Imports, exports, round trips and refusals of arrays, for ``growth.py``."""

from __future__ import annotations

import ctypes

import arrow_given
import numpy as np
from common import NEWEST
from growth import MANY, SOME, address, block, refused, source, text

import interchange as ix
from interchange import _core
from interchange.abi import BrokenRule, capsules
from interchange.abi.arrow import ARROW_ARRAY, ARROW_ARRAY_STREAM, ARROW_SCHEMA


class Unknown:
    """Produces legacy capsules of an array, and accepts no keyword."""

    def __init__(self, x) -> None:
        self.x = x

    def __dlpack__(self):
        return self.x.__dlpack__()

    def __dlpack_device__(self):
        return 1, 0


class Newest(Unknown):
    """Produces versioned capsules of an array."""

    def __dlpack__(self, *, max_version=None, **_):
        return self.x.__dlpack__(max_version=max_version)


def own(dtype="float32", **more):
    return ix.from_pointer(address, (2, 3), dtype, owner=block, **more)


def torch_tensor():
    import torch

    tensor = torch.ones(2, 3)
    return lambda: ix.from_dlpack(tensor)


def far_strides():
    return np.lib.stride_tricks.as_strided(source, (3,), (2**62,))


def refused_capsule():
    """A struct with an invalid device type, in a capsule with a native destructor."""
    array = own("float32", device=(12, 0))

    def act():
        capsule = array.__dlpack__(**NEWEST)
        struct = capsules.capsule_pointer(capsule, capsules.VERSIONED)
        ctypes.c_int32.from_address(struct + 40).value = 99  # the device type
        ix.from_dlpack(capsule)

    return act


def consumed_capsule():
    capsule = source.__dlpack__()
    kept = ix.from_dlpack(capsule)
    return lambda: (kept, ix.from_dlpack(capsule))


def old_export(array):
    array.__dlpack__()
    return array.__dlpack__


def new_export(array):
    array.__dlpack__(**NEWEST)
    return lambda: array.__dlpack__(**NEWEST)


def taken_array():
    return _core.take_arrow(arrow_given.array(block, block), ARROW_ARRAY)


def taken_stream():
    stream = _core.take_arrow(arrow_given.stream(block, block), ARROW_ARRAY_STREAM)
    schema, chunk = _core.new_arrow(ARROW_SCHEMA), _core.new_arrow(ARROW_ARRAY)
    _core.call_stream(stream, "schema", schema)
    _core.call_stream(stream, "next", chunk)
    _core.call_stream(stream, "next", chunk)


def taken_twice():
    capsule = arrow_given.array(block, block)
    kept = _core.take_arrow(capsule, ARROW_ARRAY)
    return kept, _core.take_arrow(capsule, ARROW_ARRAY)


def refused_column():
    from interchange._core import _native

    _native.make_arrow(
        arrow_given.FIELD, arrow_given.column(block)._replace(length=2**63), block, None
    )


OWN, OWN_BFLOAT16 = own(), own("bfloat16")
IMPORTED = ix.from_dlpack(source)
READ_ONLY = ix.from_buffer(bytes(text))
UNKNOWN = ix.from_dlpack(source.__dlpack__())
OLD, NEW = Unknown(source), Newest(source)
FAR = far_strides()

ACTS = {
    "control-leak": lambda: lambda: capsules.fast_allocate(ctypes.c_size_t(80)),
    "import-ndarray": lambda: lambda: ix.from_dlpack(source),
    "import-ndarray-looked-at": lambda: lambda: ix.from_dlpack(source).shape,
    "import-on-cpu": lambda: lambda: ix.from_dlpack(source, device="cpu"),
    "import-legacy-capsule": lambda: lambda: ix.from_dlpack(source.__dlpack__()),
    "import-versioned-capsule": lambda: lambda: ix.from_dlpack(source.__dlpack__(**NEWEST)),
    "import-bare-producer": lambda: lambda: ix.from_dlpack(OLD),
    "import-modern-producer": lambda: lambda: ix.from_dlpack(NEW),
    "torch-exchange-table": torch_tensor,
    "import-buffer": lambda: lambda: ix.from_buffer(text),
    "import-pointer": lambda: own,
    "import-view": lambda: lambda: IMPORTED[::-1, 1:],
    "import-copy": lambda: lambda: ix.from_dlpack(source, copy=True),
    "export-struct-legacy": lambda: old_export(own("bfloat16")),
    "export-struct-versioned": lambda: new_export(own("bfloat16")),
    "export-first": lambda: lambda: own("bfloat16").__dlpack__(**NEWEST),
    "export-first-float32": lambda: lambda: own().__dlpack__(**NEWEST),
    "export-numpy-legacy": lambda: old_export(ix.from_dlpack(source)),
    "export-numpy-versioned": lambda: new_export(ix.from_dlpack(source)),
    "export-read-only": lambda: lambda: READ_ONLY.__dlpack__(**NEWEST),
    "export-unknown-legacy": lambda: UNKNOWN.__dlpack__,
    "export-unknown-versioned": lambda: lambda: UNKNOWN.__dlpack__(**NEWEST),
    "export-copy": lambda: lambda: OWN.__dlpack__(copy=True, **NEWEST),
    "round-struct": lambda: lambda: np.from_dlpack(OWN),
    "round-read-only": lambda: lambda: np.from_dlpack(READ_ONLY),
    "round-bfloat16": lambda: (
        lambda: ix.from_dlpack(OWN_BFLOAT16.__dlpack__(**NEWEST)).__dlpack__()
    ),
    "round-import": lambda: lambda: np.from_dlpack(ix.from_dlpack(source)),
    "round-legacy": lambda: lambda: ix.from_dlpack(OWN_BFLOAT16.__dlpack__()),
    "refuse-struct": lambda: refused(refused_capsule(), ix.UnsupportedDeviceError),
    "refuse-strides": lambda: refused(lambda: ix.from_dlpack(FAR).shape, ix.ExchangeError),
    "refuse-consumed": lambda: refused(consumed_capsule(), ix.ConsumedCapsuleError),
    "refuse-read-only": lambda: refused(READ_ONLY.__dlpack__, ix.ReadOnlyError),
    "refuse-max-version": lambda: refused(
        lambda: OWN.__dlpack__(max_version="1.0"), ix.ArgumentError
    ),
    "refuse-stream": lambda: refused(lambda: OWN.__dlpack__(stream=1), ix.StreamError),
    "refuse-assumption": lambda: refused(
        lambda: ix.from_dlpack(READ_ONLY, assume_writable=True), ix.ReadOnlyError
    ),
    "refuse-by-numpy": lambda: refused(
        lambda: np.from_dlpack(OWN_BFLOAT16), (BufferError, RuntimeError)
    ),
    "arrow-capsule": lambda: lambda: arrow_given.all_kinds(block, lambda: block),
    "arrow-array": lambda: taken_array,
    "arrow-stream": lambda: taken_stream,
    "arrow-taken": lambda: refused(taken_twice, BrokenRule),
    "arrow-refused": lambda: refused(refused_column, OverflowError),
}


OFTEN = {
    "control-leak",
    "import-ndarray",
    "import-ndarray-looked-at",
    "import-legacy-capsule",
    "import-versioned-capsule",
    "torch-exchange-table",
    "export-struct-legacy",
    "export-struct-versioned",
    "export-numpy-legacy",
    "export-numpy-versioned",
    "round-struct",
    "round-legacy",
    "refuse-struct",
    "refuse-consumed",
    "arrow-array",
}
"""Operations that are repeated 100 000 times: the parts of all others."""


def act_of(name):
    """Return an operation together with its arguments."""
    return ACTS[name]()


def times_of(name):
    """Return how often an operation is done."""
    return MANY if name in OFTEN else SOME
