"""`array_api_extra.at` writes into Arrays, and into copies of read-only ones.

``array_api_compat.is_writeable_array`` knows the classes of some libraries; for any other it checks
for ``__array_namespace__`` only, and returns True, as its documentation says.
"""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange import xp

pytestmark = pytest.mark.interop

UPDATES = ["set", "add", "subtract", "multiply", "divide", "power", "min", "max"]


@pytest.fixture(name="extra")
def _extra():
    return pytest.importorskip("array_api_extra")


def values():
    """Return elements that can be written."""
    return np.asarray([1.0, 4.0, 2.0, 8.0])


@pytest.mark.parametrize("key", [1, slice(1, None), "mask"])
@pytest.mark.parametrize("name", UPDATES)
def test_an_update_of_read_only_memory_is_that_of_a_copy(extra, name, key):
    """Copies are written if requested; read-only memory is unchanged."""
    memory, number = values(), 3.0
    array = ix.from_buffer(memory.tobytes(), dtype="float64")
    ours = array > 3 if key == "mask" else key
    theirs = memory > 3 if key == "mask" else key
    found = getattr(extra.at(array, ours), name)(number, copy=True)

    assert found.tolist() == getattr(extra.at(memory, theirs), name)(number, copy=True).tolist()
    assert (array.readonly, array.tolist()) == (True, memory.tolist())


@pytest.mark.parametrize("copy", [None, False])
@pytest.mark.parametrize("name", UPDATES)
def test_an_update_in_place_is_refused_where_memory_is_read_only(extra, name, copy):
    """An in-place update of read-only memory is refused before a write, and names the copy."""
    array = ix.from_buffer(values().tobytes(), dtype="float64")
    with pytest.raises(ix.ReadOnlyError, match=r"write to a copy, `x\.copy\(\)`"):
        getattr(extra.at(array, 1), name)(3.0, copy=copy)

    assert array.tolist() == values().tolist()
    assert getattr(extra.at(array.copy(), 1), name)(3.0).tolist()[0] == 1.0


@pytest.mark.parametrize("name", UPDATES)
def test_an_update_of_writable_memory_is_seen_in_it(extra, name):
    """An in-place update is visible in writable memory, as for an ndarray."""
    memory, other, number = values(), values(), 3.0
    getattr(extra.at(xp.asarray(memory), 1), name)(number)
    getattr(extra.at(other, 1), name)(number)

    assert memory.tolist() == other.tolist()


def test_whether_an_array_may_be_written_is_asked_of_its_class():
    """array-api-compat decides by the class, and regards every unknown class as writable."""
    compat = pytest.importorskip("array_api_compat")
    asked = []

    class Unknown:
        def __getattr__(self, name):
            asked.append(name)
            return lambda **_: xp

    assert compat.is_writeable_array(Unknown())
    assert asked == ["__array_namespace__"]
    assert compat.is_writeable_array(ix.asarray(b"abc"))
