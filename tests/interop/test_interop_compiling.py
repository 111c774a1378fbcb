"""`torch.compile` of functions that call ours: the graph breaks there, and Python runs them."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.interop, pytest.mark.isolated]

PROGRAM = """
import warnings
warnings.simplefilter("ignore")
import {first}
import {second}
import interchange as ix, torch
from interchange import xp

def shared(t):
    x = ix.{call}
    return t * 2 + x.shape[0]

t = torch.ones(3)
found = torch.compile(shared, backend="eager")(t)
print(found.tolist(), found.tolist() == shared(t).tolist())
"""
CALLS = ["asarray(t)", "from_dlpack(t)", "asarray(ix.convert(t, 'numpy'))", "asarray(t).copy()"]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("order", [("interchange", "torch"), ("torch._dynamo", "interchange")])
def test_a_compiled_function_may_call_ours(run_isolated, need, order, call):
    """Whichever was imported first."""
    need("torch")
    program = PROGRAM.format(first=order[0], second=order[1], call=call)

    assert run_isolated(program, warnings="ignore") == "[5.0, 5.0, 5.0] True\n"
