"""The namespaces, by attribute and by import."""

import numpy as np
from typing_extensions import assert_type

import interchange as ix
from interchange import xp
from interchange.compat import UpgradedNamespace, upgrade

x = xp.asarray([1.0, 2.0])

assert_type(x, ix.Array)
assert_type(xp.abs(x), ix.Array)
assert_type(xp.add(x, 2), ix.Array)
assert_type(xp.sum(x, axis=0, keepdims=True), ix.Array)
assert_type(xp.zeros((2, 3), dtype=xp.float32, device="cpu"), ix.Array)
assert_type(xp.fft.fft(x, n=4), ix.Array)
assert_type(xp.linalg.matmul(x, x), ix.Array)
assert_type(xp.clip(x, 0, 1), ix.Array)
assert_type(xp.pi, float)
assert_type(xp.float32, ix.DType)
assert_type(xp.astype(x, xp.int64), ix.Array)
assert_type(xp.unique_counts(x).counts, ix.Array)
assert_type(xp.broadcast_arrays(x, x)[0], ix.Array)
assert_type(ix.xp.asarray([1.0]), ix.Array)

assert_type(upgrade(np), UpgradedNamespace)
assert_type(ix.compat.upgrade(np), UpgradedNamespace)
upgrade(np).linspace(0, 1, 5)
ix.array_namespace(np.ones(3)).sum(np.ones(3))
