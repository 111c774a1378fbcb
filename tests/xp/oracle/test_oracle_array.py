"""The array object: its attributes, Python conversions, devices and exports.

Source: array API standard 2025.12, "Array object".
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from xp_oracle import values as v
from xp_oracle.comparing import check
from xp_oracle.effort import effort
from xp_oracle.names import ATTRIBUTES, DTYPES
from xp_oracle.worlds import OURS, STRICT, Arr, Named


@pytest.mark.parametrize("name", ATTRIBUTES)
@effort
@given(st.data())
def test_an_attribute_agrees(name, data):
    """Every attribute agrees, or is refused if the array has too few axes for it."""
    x = data.draw(v.arrays(data.draw(v.dtypes("all")), data.draw(v.shapes(0, 4))))

    check(f"Array.{name}", lambda array: getattr(array, name), x)


@pytest.mark.parametrize(
    "convert", [bool, int, float, complex, range], ids=lambda one: one.__name__
)
@effort
@given(st.data())
def test_python_makes_the_same_of_an_array(convert, data):
    """Conversions of a 0-dimensional array agree; of any other they are a TypeError.

    `range` calls ``__index__``.
    """
    dtype = data.draw(v.dtypes("integer" if convert is range else "all"))
    shape = data.draw(st.sampled_from(((), (), (), (1,), (2,), (1, 1), (0,))))
    x = data.draw(v.arrays(dtype, shape))

    def made(array):
        return range(array) if convert is range else convert(array)

    check(f"__{convert.__name__}__", made, x)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if "int" not in d])
def test_only_integers_are_indices(dtype):
    """`__index__` of any other type is a TypeError."""
    for world in (STRICT, OURS):
        with pytest.raises(TypeError):
            range(3)[world.take(Arr(np.ones((), dtype)))]


# ---------------------------------------------------------------- memory


def writes(made, source):
    """Write into the result, and return both arrays: they share memory or do not."""
    made[...] = made + made
    return made, source


@pytest.mark.parametrize("copy", [None, True, False])
@pytest.mark.parametrize("function", ["asarray", "from_dlpack", "reshape", "astype"])
@effort
@given(st.data())
def test_a_copy_is_made_where_it_is_asked_for(function, copy, data):
    """Memory is shared if and only if it is in the oracle, as a write into the one array shows."""
    x = data.draw(v.arrays(data.draw(v.dtypes("numeric")), data.draw(v.shapes(1)), "tame"))
    if function == "reshape" and not x.values.size:
        return  # empty arrays share nothing, see the table
    if function == "astype" and copy is None:
        return  # True or False there

    def action(source):
        more = {"reshape": ((-1,),), "astype": (source.dtype,)}.get(function, ())
        make = getattr(source.__array_namespace__(), function)
        return writes(make(source, *more, copy=copy), source)

    check(function, action, x)


def test_what_has_the_type_already_is_given_back():
    """`astype` with ``copy=False`` returns the array itself, and by default a new one."""
    x = OURS.xp.asarray([1.0, 2.0])

    assert OURS.xp.astype(x, x.dtype, copy=False) is x
    assert OURS.xp.astype(x, x.dtype) is not x
    assert OURS.xp.astype(x, OURS.xp.float32, copy=False) is not x


@pytest.mark.parametrize(
    "obj", [1, 1.5, [1, 2], [[1.0], [2.0]]], ids=lambda x: repr(x).partition(" at 0x")[0]
)
def test_python_numbers_cannot_be_taken_without_a_copy(obj):
    """``asarray(..., copy=False)`` of them is a ValueError."""
    for world in (STRICT, OURS):
        with pytest.raises(ValueError):
            world.xp.asarray(obj, copy=False)


# ---------------------------------------------------------------- devices


def test_an_array_goes_to_the_device_that_it_is_on():
    """Moving an array to its own device leaves it unchanged."""
    x = OURS.xp.asarray([1.0, 2.0])

    moved = x.to_device(x.device)
    assert moved.device == x.device == OURS.device
    assert np.asarray(moved).tolist() == [1.0, 2.0]
    assert x.to_device(x.device, stream=None).dtype is x.dtype


@pytest.mark.parametrize("device", ["nowhere", ..., 7.5, "cpu:one"], ids=str)
def test_no_array_goes_to_what_is_no_device(device):
    """A target that is no device is a ValueError, TypeError or BufferError for every method."""
    x = OURS.xp.asarray([1.0])
    asks = (
        x.to_device,
        lambda one: OURS.xp.asarray(x, device=one),
        lambda one: OURS.xp.from_dlpack(x, device=one),
        lambda one: OURS.xp.zeros((2,), device=one),
        lambda one: OURS.xp.astype(x, x.dtype, device=one),
    )

    for ask in asks:
        with pytest.raises((ValueError, TypeError, BufferError)):
            ask(device)


# ---------------------------------------------------------------- DLPack

VERSIONS = [None, (0, 0), (0, 8), (1, 0), (1, 2), (2, 0)]


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize("copy", [None, True, False])
@pytest.mark.parametrize("place", [None, (1, 0)], ids=str)
def test_the_capsule_is_of_the_generation_that_is_asked_for(version, copy, place):
    """The capsule's name is that of the requested generation, whatever the other arguments are."""

    def name(world):
        array = world.take(Arr(np.ones((2, 3))))
        capsule = array.__dlpack__(max_version=version, copy=copy, dl_device=place)
        return repr(capsule).split('"')[1]

    assert name(OURS) == name(STRICT)


def test_the_device_of_dlpack_is_that_of_the_oracle():
    """A pair of whole numbers."""
    ours = OURS.xp.asarray([1]).__dlpack_device__()
    theirs = STRICT.xp.asarray([1]).__dlpack_device__()

    assert tuple(map(int, ours)) == tuple(map(int, theirs))
    assert type(ours) is tuple


@pytest.mark.parametrize(
    "wrong", [{"stream": 1}, {"stream": "s"}, {"dl_device": (2, 0)}, {"nonsense": 1}], ids=str
)
def test_what_a_host_array_cannot_export_is_refused(wrong):
    """A stream, another device, or an unknown keyword is refused."""
    for world in (STRICT, OURS):
        array = world.take(Arr(np.ones(3)))
        with pytest.raises((BufferError, ValueError, RuntimeError, TypeError)):
            array.__dlpack__(**wrong)


@effort
@given(st.data())
def test_arrays_go_there_and_back(data):
    """Ours to the oracle and NumPy, theirs to us: the same values, the same memory."""
    x = data.draw(v.arrays(data.draw(v.dtypes("all")), data.draw(v.shapes())))

    there = OURS.tell(OURS.xp.from_dlpack(STRICT.take(x)))
    back = STRICT.tell(STRICT.xp.from_dlpack(OURS.take(x)))
    seen = np.from_dlpack(OURS.take(x))
    assert there.dtype == back.dtype == seen.dtype.name == x.dtype
    np.testing.assert_array_equal(there.values, x.values)
    np.testing.assert_array_equal(back.values, x.values)
    np.testing.assert_array_equal(seen, x.values)


@pytest.mark.parametrize(
    "thing", [[1.0], 1.0, None, "text", ...], ids=lambda x: repr(x).partition(" at 0x")[0]
)
def test_what_speaks_no_dlpack_is_an_attribute_error(thing):
    """An object without DLPack is an AttributeError, as other libraries expect."""
    for world in (STRICT, OURS):
        with pytest.raises(AttributeError):
            world.xp.from_dlpack(thing)


@pytest.mark.parametrize("name", ["ones", "zeros", "empty"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_array_is_made_on_the_device_and_of_the_type_that_are_asked_for(name, dtype):
    """The created array has the requested device and dtype as attributes."""
    wanted = OURS.take(Named(dtype))

    made = getattr(OURS.xp, name)((2,), dtype=wanted, device=OURS.device)
    assert (made.dtype is wanted, made.device) == (True, OURS.device)
