"""Calls on capsules: names, renaming, destructors and refused arguments."""

from __future__ import annotations

import ctypes
import gc
import sys

import pytest

from interchange.abi import capsules

NOT_CAPSULES = [None, 7, "dltensor", b"dltensor", print, [], type]


@pytest.fixture
def block():
    """A little memory for capsules to point at."""
    return ctypes.create_string_buffer(16)


def make(block, name=capsules.VERSIONED, destructor=None):
    """Return a capsule of `block`."""
    return capsules.new_capsule(ctypes.addressof(block), name, destructor)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (capsules.LEGACY, b"dltensor"),
        (capsules.VERSIONED, b"dltensor_versioned"),
        (capsules.USED_NAME[capsules.LEGACY], b"used_dltensor"),
        (capsules.USED_LEGACY, b"used_dltensor"),
        (capsules.USED_NAME[capsules.VERSIONED], b"used_dltensor_versioned"),
        (capsules.USED_VERSIONED, b"used_dltensor_versioned"),
        (capsules.EXCHANGE_API, b"dlpack_exchange_api"),
    ],
)
def test_names_are_those_of_the_specification(name, text):
    """The names are the specification's; consuming puts used_ before them."""
    assert name == text


@pytest.mark.parametrize("name", [capsules.LEGACY, capsules.VERSIONED, None])
def test_a_capsule_gives_back_its_name(block, name):
    """`name` returns the name that the capsule was created with, None for NULL."""
    assert capsules.capsule_name(make(block, name)) == name


def test_a_capsule_gives_back_its_address(block):
    """`pointer` returns the pointer of the capsule; names are compared by content."""
    copy = bytes(bytearray(capsules.VERSIONED))

    assert copy is not capsules.VERSIONED
    for name in (capsules.VERSIONED, copy):
        assert capsules.capsule_pointer(make(block), name) == ctypes.addressof(block)


@pytest.mark.parametrize("name", [capsules.LEGACY, capsules.USED_VERSIONED, b"", None])
def test_another_name_does_not_open_a_capsule(block, name):
    """Reading a pointer with another name is a ValueError."""
    with pytest.raises(ValueError, match="PyCapsule_GetPointer"):
        capsules.capsule_pointer(make(block), name)


def test_a_capsule_cannot_hold_null():
    """CPython refuses the address 0."""
    with pytest.raises(ValueError, match="null pointer"):
        capsules.new_capsule(None, capsules.VERSIONED, None)


def test_renaming_closes_the_capsule_under_its_old_name(block):
    """After renaming, the pointer is readable with the new name only."""
    capsule = make(block)

    result = capsules.rename_capsule(capsule, capsules.USED_VERSIONED)

    assert result == 0
    assert capsules.capsule_name(capsule) == capsules.USED_VERSIONED
    assert capsules.capsule_pointer(capsule, capsules.USED_VERSIONED) == ctypes.addressof(block)
    with pytest.raises(ValueError, match="PyCapsule_GetPointer"):
        capsules.capsule_pointer(capsule, capsules.VERSIONED)


def test_a_destructor_can_be_set_and_cleared(block):
    """A destructor that was set is read back, and None removes it; NULL is None."""
    capsule = make(block)
    anything = ctypes.addressof(block)
    before = capsules.capsule_destructor(capsule)

    capsules.set_capsule_destructor(capsule, anything)
    found = capsules.capsule_destructor(capsule)
    capsules.set_capsule_destructor(capsule, None)

    assert (before, found) == (None, anything)
    assert capsules.capsule_destructor(capsule) is None


@pytest.mark.parametrize("value", NOT_CAPSULES, ids=repr)
@pytest.mark.parametrize(
    "call",
    [
        capsules.capsule_name,
        lambda x: capsules.capsule_pointer(x, capsules.VERSIONED),
        lambda x: capsules.rename_capsule(x, capsules.USED_VERSIONED),
        capsules.capsule_destructor,
        lambda x: capsules.set_capsule_destructor(x, None),
    ],
    ids=["name", "pointer", "rename", "destructor", "set_destructor"],
)
def test_what_is_no_capsule_is_a_value_error(call, value):
    """Every capsule call refuses other objects with ValueError."""
    with pytest.raises(ValueError, match="PyCapsule"):
        call(value)


def test_the_type_of_capsules(block):
    """PyCapsule is the type of every capsule, and of no other object here."""
    assert type(make(block)) is capsules.PyCapsule
    assert not any(isinstance(value, capsules.PyCapsule) for value in NOT_CAPSULES)


def test_a_name_outlives_everybody_who_knows_it(block):
    """The module keeps a permanent reference to the name (DLP-CAP-4)."""
    name = capsules.VERSIONED
    capsule = make(block, name)
    before = sys.getrefcount(name)

    del name
    gc.collect()

    assert capsules.capsule_name(capsule) == b"dltensor_versioned"
    assert before > 2


def test_references_go_up_and_down():
    """increase_reference and decrease_reference change the count by 1."""
    value = object()
    before = sys.getrefcount(value)

    capsules.increase_reference(value)
    between = sys.getrefcount(value)
    capsules.decrease_reference(value)

    assert between == before + 1
    assert sys.getrefcount(value) == before


def test_the_shared_handle_of_ctypes_is_left_alone():
    """No prototype is set where other libraries would see it (HOST-CTYPES-1)."""
    shared = ctypes.PyDLL(None)

    for name in ("PyCapsule_New", "PyCapsule_GetPointer", "PyCapsule_SetName", "Py_IncRef"):
        assert shared[name].argtypes is None
        assert vars(ctypes)["pythonapi"].__dict__.get(name) is None


def test_a_deleter_is_called_with_the_address_it_is_given(block):
    """`deleter_at` makes a native address callable; here, one that increments a number."""
    address = ctypes.cast(ctypes.CDLL(None).jrand48, ctypes.c_void_p).value

    capsules.deleter_at(address)(ctypes.addressof(block))

    assert block.raw[:3] == b"\x0b\0\0"  # of POSIX: X becomes 0x5DEECE66D X + 0xB


def test_a_deleter_is_made_callable_once():
    """`deleter_at` returns the same callable for the same address, so that calls stay cheap."""
    increase = capsules.python_function("Py_IncRef", None, ctypes.c_void_p)
    address = ctypes.cast(increase, ctypes.c_void_p).value

    assert capsules.deleter_at(address) is capsules.deleter_at(address)


def test_the_fast_pointer_gives_the_address(block):
    """The pointer of the capsule as an int, or a ValueError for another name."""
    cell = ctypes.py_object(make(block))

    assert capsules.fast_pointer(cell, capsules.VERSIONED) == ctypes.addressof(block)
    with pytest.raises(ValueError, match="PyCapsule_GetPointer"):
        capsules.fast_pointer(cell, capsules.LEGACY)


def test_the_fast_calls_do_what_the_slow_ones_do(block):
    """fast_new, fast_rename and fast_set_destructor make, rename and clear."""
    address = capsules.Address(ctypes.addressof(block))
    name = capsules.Address(ctypes.cast(ctypes.c_char_p(capsules.LEGACY), ctypes.c_void_p).value)

    capsule = capsules.fast_new(address, name, capsules.Address(ctypes.addressof(block)))
    cell = ctypes.py_object(capsule)
    capsules.fast_rename(cell, capsules.USED_LEGACY)
    capsules.fast_set_destructor(cell, None)

    assert capsules.capsule_name(capsule) == capsules.USED_LEGACY
    assert capsules.capsule_pointer(capsule, capsules.USED_LEGACY) == address.value
    assert capsules.capsule_destructor(capsule) is None
