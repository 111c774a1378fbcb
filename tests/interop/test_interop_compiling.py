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
CALLS = [
    "asarray(t)",
    "from_dlpack(t)",
    "asarray(ix.convert(t, 'numpy'))",
    "asarray(t).copy()",
    "xp.sqrt(ix.asarray(t) * 2)",
    "asarray(torch.from_dlpack(ix.asarray(t)[::1]) + 1)",
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("order", [("interchange", "torch"), ("torch._dynamo", "interchange")])
def test_a_compiled_function_may_call_ours(run_isolated, need, order, call):
    """Whichever was imported first."""
    need("torch")
    program = PROGRAM.format(first=order[0], second=order[1], call=call)

    assert run_isolated(program, warnings="ignore") == "[5.0, 5.0, 5.0] True\n"


ON_ARRAYS = """
import warnings
warnings.simplefilter("ignore")
import torch, interchange as ix
from interchange import xp

def of_arrays(x):
    return xp.sum(x * 2 + x[0])

x = xp.asarray([1.0, 2.0])
found = torch.compile(of_arrays, backend="eager")(x)
print(type(found).__name__, float(found))
torch._dynamo.reset()
try:
    torch.compile(of_arrays, backend="eager", fullgraph=True)(x)
except torch._dynamo.exc.Unsupported as error:
    print("Array" in str(error))
"""


def test_a_compiled_function_takes_arrays(run_isolated, need):
    """A graph break where Arrays are used; ``fullgraph=True`` gives the compiler's own error."""
    need("torch")

    assert run_isolated(ON_ARRAYS, warnings="ignore") == "Array 8.0\nTrue\n"
