"""Every function of the standard gives what array-api-strict gives, for arguments drawn for it.

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
    """In values, element type, shape and container, for whatever the standard defines it for."""
    args, kwargs = data.draw(calls(path), path)

    check(path, None, *args, **kwargs)
