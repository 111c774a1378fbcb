"""Exchange arrays with the installed wheel and its native core: what cibuildwheel runs."""

from __future__ import annotations

import numpy as np

import interchange as ix
from interchange._core._native import _extension

assert ix.core_name == "native", ix.core_name
grid = np.arange(6.0).reshape(2, 3)
x = ix.from_dlpack(grid)
back = np.from_dlpack(x)
assert (x.shape, x.strides, back.ctypes.data) == ((2, 3), (3, 1), grid.ctypes.data)
assert ix.asarray(b"abc").shape == (3,)
del x, grid
assert back.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
print(ix.core_name, _extension.__file__)
