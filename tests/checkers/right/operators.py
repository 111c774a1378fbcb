"""Results of operators and comparisons of an Array."""

from typing import Any, Literal

import numpy as np
from typing_extensions import assert_type

import interchange as ix

x = ix.asarray(bytearray(b"abc"))

assert_type(x == 0, ix.Array)
assert_type(x != x.copy(), ix.Array)
assert_type(x < 2.5, ix.Array)
assert_type(x + 1, ix.Array)
assert_type(1 + x, ix.Array)
assert_type(2**x, ix.Array)
assert_type(x @ x, ix.Array)
assert_type(-x, ix.Array)
assert_type(abs(x), ix.Array)
assert_type(x * np.float32(2), ix.Array)
assert_type((x > 0) & (x < 3), ix.Array)
assert_type(x[1:, None], ix.Array)

assert_type(x[0].item(), Any)  # as one element may be a bool, an int, a float or a complex
assert_type(x.tolist(), Any)
assert_type(float(x[0]), float)
assert_type(x[None].T, ix.Array)

assert_type(sum([x, x]), ix.Array | Literal[0])
assert_type(x == "text", bool)  # Python asks the string, which is no number

x += 1
assert_type(x, ix.Array)
