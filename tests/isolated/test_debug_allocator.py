"""Blocks are freed by the allocator that made them: CPython's debug allocator watches."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated

SCRIPT = """
import ctypes, gc, sys
import numpy as np
import interchange as ix
from interchange.testing import producers

block = (ctypes.c_float * 6)(*range(6))
def own(dtype="float32"):
    return ix.from_pointer(ctypes.addressof(block), (2, 3), dtype, owner=block)

for round in range(50):
    for array in (own(), own("bfloat16"), own()[:0], ix.from_dlpack(np.ones((2, 3)))):
        for version in (None, (1, 3)):
            array.__dlpack__(max_version=version)  # not consumed
            ix.from_dlpack(array.__dlpack__(max_version=version))  # consumed by us
            producers.Claim(array.__dlpack__(max_version=version)).release()
        if array.dtype.typestr is not None:
            np.from_dlpack(array)
            np.asarray(array)
        try:
            np.from_dlpack(own("bfloat16"))
        except (BufferError, RuntimeError):
            pass
        array.__dlpack__(copy=True, max_version=(1, 3))
    for case in producers.legal().values():
        source = case.make()
        try:
            ix.from_dlpack(source)
        except ix.ExchangeError:
            pass
gc.collect()
print(sys.getrefcount(block) - 2 - 0)
"""


@pytest.mark.exhaustive(but=["debug"])
@pytest.mark.parametrize("allocator", ["debug", "malloc_debug", "pymalloc_debug"])
def test_memory_goes_back_to_where_it_came_from(run_isolated, allocator):
    """Structs with borrowed deleters belong to PyMem, also if a consumer releases them."""
    references = run_isolated(SCRIPT, env={"PYTHONMALLOC": allocator}).strip()

    assert references == "0"
