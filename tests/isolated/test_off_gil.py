"""Deleters of ours run wherever C code calls them (DLP-LIFE-3)."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated


@pytest.mark.parametrize(
    ("how", "report"),
    [
        ("native_threads", "64 died, 64 elsewhere"),
        ("this_thread", "64 died, 0 elsewhere"),
        ("python_threads", "64 died, 64 elsewhere"),
    ],
)
def test_deleters_take_the_gil(run_isolated, has_gil, how, report):
    """A deleter that is called without the GIL, or in a foreign thread, frees the owner.

    A free-threaded Python chooses the thread.
    """
    said = run_isolated("off_gil.py", how).strip()

    assert said == report or (not has_gil and said.startswith("64 died, "))


@pytest.mark.usefixtures("cores")
@pytest.mark.parametrize(
    ("how", "report"),
    [
        ("arrow_native_threads", "64 died, 64 elsewhere"),
        ("arrow_this_thread", "64 died, 0 elsewhere"),
    ],
)
def test_callbacks_of_arrow_take_the_gil(run_isolated, has_gil, how, report):
    """Callbacks of Arrow arrays and streams take the GIL, on the host and on a device."""
    said = run_isolated("off_gil.py", how).strip()

    assert said == report or (not has_gil and said.startswith("64 died, "))


@pytest.mark.interop
def test_torch_frees_without_the_gil(run_isolated, need):
    """A thread of torch's pool frees our memory without the GIL; the owner is collected there."""
    need("torch")

    assert run_isolated("off_gil.py", "torch_pool").splitlines() == ["64 died, 64 elsewhere"]
