"""An owner of memory that keeps its own Array, and results computed from it, is collected."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated

KINDS = ["pointer", "tuple", "record", "producer", "asked", "buffer", "ctypes", "strided"]
NONE_LEFT = "0 []\nTrue True"


@pytest.mark.exhaustive(but=["pointer", "strided"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_owner_that_keeps_its_array_is_collected(run_isolated, kind):
    """The owner is collected after each operator and function of xp, whose results it keeps."""
    assert run_isolated("owners.py", kind, "numpy").strip() == NONE_LEFT


@pytest.mark.interop
@pytest.mark.slow
@pytest.mark.parametrize(
    ("library", "kind"), [("torch", "pointer"), ("torch", "strided"), ("jax", "pointer")]
)
def test_an_owner_is_collected_whichever_library_computes(run_isolated, need, library, kind):
    """Tensors made from a capsule hide its owner as ndarrays do."""
    need(library)

    assert run_isolated("owners.py", kind, library, warnings="ignore").strip() == NONE_LEFT
