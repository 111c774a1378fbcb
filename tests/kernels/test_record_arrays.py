"""Arrays of records on the device: `to_device`, `device_array`, and the way back.

Source: Numba, "Memory management"; CUDA Array Interface, version 3 (``typestr``, ``descr``).
"""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange import cuda

pytestmark = pytest.mark.interop

POINT = np.dtype([("x", "f4"), ("n", "i2"), ("inner", [("y", "f8")])], align=True)
GIVEN = np.zeros((4, 6), POINT)
GIVEN["x"], GIVEN["n"] = np.arange(24).reshape(4, 6), 7
GIVEN["inner"]["y"] = 0.5


@cuda.jit
def moved(points, out):
    i, j = cuda.grid(2)
    out[i, j].x = points[i, j].x + points[i, j].inner.y
    out[i, j].n = -points[i, j]["n"]
    out[i, j]["inner"]["y"] = i


@pytest.mark.usefixtures("where")
@pytest.mark.parametrize("key", [(), np.s_[::-2, 1:4]], ids=["whole", "a part"])
def test_records_go_to_the_device_and_back(key):
    """A kernel reads and stores their fields; an array with gaps is copied without them."""
    given = GIVEN[key]
    there = cuda.to_device(given)
    out = cuda.device_array_like(given)
    moved[given.shape, (1, 1)](there, out)

    expected = given.copy()
    expected["x"] += np.float32(0.5)
    expected["n"] *= -1
    expected["inner"]["y"] = np.arange(len(given))[:, None]
    found = out.copy_to_host()
    assert (found.dtype, out.dtype, out.shape) == (POINT, POINT, given.shape)
    assert (out.ndim, out.size, len(out)) == (2, given.size, len(given))
    assert (found == expected).all()
    assert (there.copy_to_host() == given).all()


@pytest.mark.usefixtures("where")
def test_records_are_copied_into_arrays_that_exist():
    """In both directions, with the names of numba-cuda."""
    there = cuda.device_array((4, 6), POINT)
    assert cuda.to_device(GIVEN, to=there) is there
    back = np.zeros((4, 6), POINT)
    assert there.copy_to_host(back) is back
    assert (back == GIVEN).all()

    there.copy_to_device(np.zeros((4, 6), POINT))
    assert (there.copy_to_host(back)["x"] == 0).all()
    assert cuda.to_device(GIVEN, copy=False).shape == (4, 6)
    assert cuda.to_device(GIVEN[0, 1]).copy_to_host()["x"] == 1
    assert cuda.device_array(0, [("a", "i4")]).copy_to_host().shape == (0,)


@pytest.mark.emulated
@pytest.mark.gpu
@pytest.mark.usefixtures("cuda_driver")
def test_other_libraries_take_records_of_the_device():
    """The interface has the records as elements, and their fields."""
    there = cuda.to_device(GIVEN)
    interface = there.__cuda_array_interface__

    assert interface["typestr"] == f"|V{POINT.itemsize}"
    assert np.dtype(interface["descr"])["x"] == np.float32
    assert (interface["shape"], interface["data"][1]) == ((4, 6), False)
    assert interface["strides"] in {None, GIVEN.strides}


@pytest.mark.usefixtures("where")
@pytest.mark.parametrize(
    ("act", "rule"),
    [
        (lambda: cuda.to_device(np.zeros(2, [("a", "O")])), "CPY-NPM-1"),
        (lambda: cuda.device_array(2, np.dtype([("a", "O")])), "CPY-NPM-1"),
        (lambda: cuda.device_array(2, POINT, order="F"), "IX-ARGUMENT-1"),
        (lambda: cuda.to_device(GIVEN).copy_to_host(np.zeros((4, 6))), "IX-ARGUMENT-1"),
        (lambda: cuda.to_device(GIVEN).copy_to_device(GIVEN["inner"]), "IX-ARGUMENT-1"),
        (lambda: cuda.to_device(GIVEN).copy_to_device(GIVEN[0]), "IX-ARGUMENT-1"),
    ],
)
def test_what_is_no_array_of_the_same_records_is_refused(act, rule):
    """Objects of Python, other dtypes and other shapes."""
    with pytest.raises(ix.InterchangeError, match=rf"\[{rule}\]"):
        act()
