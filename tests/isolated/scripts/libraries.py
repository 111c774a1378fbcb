"""Other libraries as producers and as consumers: one row each, imported on demand.

Source: the libraries themselves.  Every producer returns host memory that holds ones, so that it is
really allocated.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Library(NamedTuple):
    """How a library creates an array of ones, and one that shares memory, if it imports any."""

    module: str
    make: Callable[[Any, tuple[int, ...]], Any]
    take: Callable[[Any, Any], Any] | None


def _make_pyarrow(pa, shape):
    import numpy as np

    return pa.array(np.ones(math.prod(shape), np.float32))


def _make_tvm(ffi, shape):
    import numpy as np

    return ffi.from_dlpack(np.ones(shape, np.float32))


def _make_view(utils, shape):
    import numpy as np

    return utils.StridedMemoryView.from_any_interface(np.ones(shape, np.float32), stream_ptr=-1)


LIBRARIES = {
    "numpy": Library(
        "numpy", lambda np, s: np.ones(s, np.float32), lambda np, x: np.from_dlpack(x)
    ),
    "torch": Library("torch", lambda t, s: t.ones(s), lambda t, x: t.from_dlpack(x)),
    "jax": Library("jax", lambda j, s: j.numpy.ones(s), lambda j, x: j.dlpack.from_dlpack(x)),
    "pyarrow": Library("pyarrow", _make_pyarrow, None),
    "tvm_ffi": Library("tvm_ffi", _make_tvm, lambda f, x: f.from_dlpack(x)),
    "array_api_strict": Library(
        "array_api_strict",
        lambda xp, s: xp.ones(s, dtype=xp.float32),
        lambda xp, x: xp.from_dlpack(x),
    ),
    "cuda.core": Library(
        "cuda.core.utils",
        _make_view,
        lambda u, x: u.StridedMemoryView.from_dlpack(x, stream_ptr=-1),
    ),
    "warp": Library("warp", lambda w, s: w.ones(s, device="cpu"), lambda w, x: w.from_dlpack(x)),
}


@contextlib.contextmanager
def _silence():
    """Send what C code writes to nowhere: how a library greets is its own affair."""
    sys.stdout.flush()
    kept = [(fd, os.dup(fd)) for fd in (1, 2)]
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a device, not a path
        for fd, _ in kept:
            os.dup2(nowhere.fileno(), fd)
    try:
        yield
    finally:
        sys.stdout.flush()
        for fd, copy in kept:
            os.dup2(copy, fd)
            os.close(copy)


class Ready:
    """A library that was imported."""

    def __init__(self, name: str) -> None:
        row = LIBRARIES[name]
        with _silence(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = importlib.import_module(row.module)
            if name == "warp":
                module.init()
            row.make(module, (2, 3))
        self.name, self.module, self._row = name, module, row

    def make(self, shape: tuple[int, ...] = (2, 3)) -> Any:
        """Return a fresh array."""
        return self._row.make(self.module, shape)

    @property
    def takes(self) -> bool:
        """Whether the library consumes DLPack."""
        return self._row.take is not None

    def take(self, x: Any) -> Any:
        """Return the library's array over the memory of `x`."""
        return self._row.take(self.module, x)
