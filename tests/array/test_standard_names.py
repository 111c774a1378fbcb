"""The names and parameters of the array API standard, in `interchange` and in `Array`.

Source: array API standard 2025.12, Creation functions and Array object.
"""

from __future__ import annotations

import inspect

import pytest

import interchange as ix

SIGNATURES = {
    "from_dlpack": (ix.from_dlpack, 1, ("device", "copy")),
    "asarray": (ix.asarray, 1, ("dtype", "device", "copy")),
    "Array.__dlpack__": (
        ix.Array.__dlpack__, 1, ("stream", "max_version", "dl_device", "copy"),
    ),
    "Array.__dlpack_device__": (ix.Array.__dlpack_device__, 1, ()),
    "Array.to_device": (ix.Array.to_device, 2, ("stream",)),
    "Array.__getitem__": (ix.Array.__getitem__, 2, ()),
    "Array.__bool__": (ix.Array.__bool__, 1, ()),
}  # fmt: skip
"""Function -> how many arguments are positional, and which keywords default to None."""


@pytest.mark.parametrize("name", SIGNATURES)
def test_functions_have_the_parameters_of_the_standard(name):
    """Functions have the standard's parameters in order (IX-API-1).

    Further keywords have defaults.
    """
    function, positional, keywords = SIGNATURES[name]
    parameters = inspect.signature(function).parameters.values()
    needed = [one for one in parameters if one.default is one.empty]
    defaults = {one.name: one.default for one in parameters if one.default is not one.empty}

    assert len(needed) == positional
    assert all(one.kind is one.POSITIONAL_ONLY or one.name == "self" for one in needed)
    assert {keyword: defaults.get(keyword, "missing") for keyword in keywords} == dict.fromkeys(
        keywords
    )


def test_arrays_have_the_attributes_of_the_standard():
    """Arrays have the standard's attributes as attributes, not as methods (IX-API-1)."""
    array = ix.asarray(bytearray(6)).reshape((2, 3))

    assert (array.shape, array.ndim, array.size) == ((2, 3), 2, 6)
    assert (array.dtype.name, str(array.device)) == ("uint8", "cpu")
    assert array.T.shape == array.mT.shape == (3, 2)
