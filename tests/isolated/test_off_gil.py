"""Deleters of ours run wherever C code calls them (DLP-LIFE-3)."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated


@pytest.mark.parametrize(
    ("how", "elsewhere"),
    [
        ("native_threads", 64),
        ("this_thread", 0),
        ("python_threads", 64),
        ("arrow_native_threads", 64),
        ("arrow_this_thread", 0),
    ],
)
def test_deleters_take_the_gil(run_isolated, request, has_gil, how, elsewhere):
    """A deleter that is called without the GIL, or in a foreign thread, frees the owner.

    So do callbacks of Arrow, on the host and on a device.  A free-threaded Python chooses the
    thread.
    """
    if how.startswith("arrow"):
        request.getfixturevalue("cores")
    said = run_isolated("off_gil.py", how).strip()

    assert said == f"64 died, {elsewhere} elsewhere" or (
        not has_gil and said.startswith("64 died, ")
    )


@pytest.mark.interop
def test_torch_frees_without_the_gil(run_isolated, need):
    """A thread of torch's pool frees our memory without the GIL; the owner is collected there."""
    need("torch")

    assert run_isolated("off_gil.py", "torch_pool").splitlines() == ["64 died, 64 elsewhere"]
