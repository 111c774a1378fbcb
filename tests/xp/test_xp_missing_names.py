"""Names of NumPy and PyTorch that the namespace lacks: the error names the standard's."""

from __future__ import annotations

import re

import pytest

import interchange as ix
from interchange import xp
from interchange.xp._missing_names import OTHERS


@pytest.mark.parametrize("name", OTHERS)
def test_the_error_of_a_missing_name_has_the_name_of_the_standard(name):
    """The name that it has exists, and the missing one is still missing."""
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'; use `") as caught:
        getattr(xp, name)

    owner, found = re.findall(r"`(xp|Array)[.](\w+)", str(caught.value))[-1]
    assert hasattr(xp if owner == "xp" else ix.Array, found)
    assert not hasattr(xp, name)
    assert name not in dir(xp)


def test_other_names_have_no_hint():
    """The error is that of any module."""
    with pytest.raises(AttributeError, match=r"^module 'interchange.xp' has no attribute 'no'$"):
        xp.no  # noqa: B018 - the error
