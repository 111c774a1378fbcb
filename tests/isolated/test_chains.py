"""Memory that is re-exported a thousand times is released, however long the chain of owners is."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated


@pytest.mark.exhaustive(but=["versioned-main", "legacy-thread"])
@pytest.mark.parametrize("where", ["main", "thread"])
@pytest.mark.parametrize("link", ["versioned", "legacy", "described", "owner"])
def test_a_long_chain_of_imports_is_freed(run_isolated, link, where):
    """A chain of 20,000 imports of capsules of imports is released without a recursion limit."""
    assert run_isolated("chains.py", where, link, 20_000) == "freed True\n"


@pytest.mark.usefixtures("cores")
@pytest.mark.parametrize("link", ["arrow", "arrow capsule", "arrow stream", "arrow array"])
def test_a_long_chain_of_structs_of_arrow_is_freed(run_isolated, core_env, link):
    """Exports of what owns an export, whichever core owns it."""
    assert run_isolated("chains.py", "thread", link, 20_000, env=core_env) == "freed True\n"
