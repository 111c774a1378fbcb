"""Memory that would crash another library is refused before it is passed on."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.isolated, pytest.mark.interop]


def test_negative_strides_do_not_reach_torch(run_isolated, need):
    """torch crashes on negative strides (P34), so that convert() refuses them."""
    need("torch")
    script = """
import numpy as np
import interchange as ix
array = ix.from_dlpack(np.arange(6.0).reshape(2, 3))
for view in (array[::-1], array[:, ::-1], array[::-1, ::-2]):
    try:
        ix.convert(view, "torch")
    except ix.ExchangeError as error:
        print("refused", ix.convert(view, "torch", copy=True).tolist() == view.tolist())
"""
    assert run_isolated(script).split() == ["refused", "True"] * 3
