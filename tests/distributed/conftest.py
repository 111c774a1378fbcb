"""Arrays of every kind that travels, and a cluster of two processes.

Source: distributed, ``LocalCluster``.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import interchange as ix


def packed(name: str, count: int) -> ix.Array:
    """Return an Array whose elements share bytes."""
    block = bytearray(range(64))
    return ix.from_pointer(ix.from_buffer(block).ptr, (count,), name, owner=block)


def grid() -> np.ndarray:
    """Return 12 numbers in rows of 4."""
    return np.arange(12.0).reshape(3, 4)


TRAVELLERS: dict[str, Any] = {
    "in C order": lambda: ix.asarray(grid()),
    "in F order": lambda: ix.asarray(np.asfortranarray(grid())),
    "without axes": lambda: ix.asarray(np.float32(7).reshape(())),
    "without elements": lambda: ix.asarray(np.ones((3, 0, 2))),
    "read-only": lambda: ix.from_buffer(b"abcdef"),
    "of a legacy capsule": lambda: ix.from_dlpack(grid().__dlpack__()),
    "bool": lambda: ix.asarray(np.array([True, False, True])),
    "complex128": lambda: ix.asarray(np.array([1j, 2.0])),
    "bfloat16": lambda: ix.asarray(np.array([1, 2, 1], ml_dtypes.bfloat16)),
    "packed int4": lambda: packed("int4", 5),
    "packed float6": lambda: packed("float6_e3m2fn", 5),
    "rows of a large base": lambda: ix.asarray(np.arange(100_000.0).reshape(1000, 100))[5:7],
    "columns of a large base": lambda: ix.asarray(np.arange(100_000.0).reshape(1000, 100))[:9, 3:7],
    "reversed": lambda: ix.asarray(grid())[::-1, ::-1],
    "transposed": lambda: ix.asarray(np.arange(24.0).reshape(2, 3, 4)).permute_dims((1, 2, 0)),
    "computed": lambda: ix.asarray(grid()) * 2,
    "computed, without axes": lambda: ix.asarray(grid())[0, 0] + 1,
    "broadcast": lambda: ix.asarray(grid())[:1].broadcast_to((9, 4)),
}
"""The arrays that are pickled and sent, by their special property."""


@pytest.fixture(params=TRAVELLERS)
def traveller(request: pytest.FixtureRequest) -> ix.Array:
    """Return each of the Arrays that travel."""
    return TRAVELLERS[request.param]()


@pytest.fixture(scope="session")
def same() -> Any:
    """Return a function that checks that a received array equals the sent one."""

    def is_same(one: ix.Array, other: ix.Array) -> bool:
        facts = [(x.dtype, x.shape, x.readonly, str(x.device)) for x in (one, other)]
        return facts[0] == facts[1] and octets(one) == octets(other)

    return is_same


def octets(array: ix.Array) -> bytes:
    """Return the elements, in C order, as bytes."""
    dense = array.to_device("cpu").contiguous()
    view = ix.from_pointer(dense.ptr, (dense.nbytes,), "uint8", owner=dense)
    return bytes(view.tolist())


@contextlib.contextmanager
def _importable_tests() -> Any:
    """Let processes that are spawned find the functions of tests, which tasks name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[2])
        yield


@pytest.fixture(scope="module")
def client() -> Any:
    """Return a client of two worker processes, which end with the tests of the module."""
    distributed = pytest.importorskip("distributed")
    with (
        _importable_tests(),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found
