"""Memory of cuda-python's driver bindings, described by interchange: a row of the matrix.

Source: https://nvidia.github.io/cuda-python/cuda-bindings/latest/
"""

from __future__ import annotations

import importlib
import math
from typing import Any

from interchange_conformance.subject import Kind, Subject

from ._common import numpy_dtype
from ._devices import Block, lacks_driver


def make_on(stream: int, shape: tuple[int, ...], dtype: str) -> Any:
    """Return a description of raw memory on which work is pending on a raw stream."""
    block = Block(math.prod(shape) * numpy_dtype(dtype).itemsize)
    ix = importlib.import_module("interchange")
    return ix.from_pointer(block.ptr, shape, dtype, device="cuda:0", owner=block, stream=stream)


kinds_on_devices: tuple[Kind, ...] = (
    Kind(
        "cuda.bindings pointer",
        Subject("cuda.bindings", make_on=make_on, distribution="cuda-bindings"),
        lambda x: x.owner.ptr,
        library="cuda.bindings",
        module="cuda.bindings.driver",
        dtype=lambda x: x.dtype.name,
        readonly=lambda x: x.readonly is not False,
        lacks=lacks_driver,
        order=1,
    ),
)
