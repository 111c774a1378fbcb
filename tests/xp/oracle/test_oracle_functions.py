"""Every function of the standard agrees with array-api-strict for random arguments.

Source: array API standard 2025.12.
"""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from xp_oracle.calls import calls
from xp_oracle.comparing import check
from xp_oracle.effort import effort
from xp_oracle.names import FUNCTIONS


@pytest.mark.parametrize("path", FUNCTIONS)
@effort
@given(st.data())
def test_a_function_agrees_with_the_oracle(path, data):
    """Values, element type, shape and container agree for all inputs that the standard defines."""
    args, kwargs = data.draw(calls(path), path)

    check(path, None, *args, **kwargs)
