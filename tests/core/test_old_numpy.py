"""A NumPy that is too old: one error, which says what to install."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interchange._types.numpy_dtypes import LEAST

ROOT = Path(__file__).parents[2]


@pytest.mark.isolated
@pytest.mark.parametrize("release", ["1.26.4", "2.0.2", "2.1.0", "2.10.0.dev0+git"])
def test_every_function_refuses_what_is_too_old(run_child, core_env, release):
    """Every call raises IX-NUMPY-1; functions that need no NumPy work."""
    done = run_child("old_numpy.py", release, env=core_env)

    if release.startswith(("1.", "2.0.")):
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.count("pip install 'numpy>=2.1' [IX-NUMPY-1]") > 10
    else:
        assert done.stderr.strip() == "from_dlpack says something else"
        assert done.stdout.strip() == "from_dlpack: nothing"


def test_the_least_release_is_the_one_that_is_installed_with_interchange():
    """The minimum release equals the one in the metadata."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")

    assert re.findall(r'^dependencies = \["numpy>=(\d+)\.(\d+)"\]$', text, re.MULTILINE) == [
        tuple(map(str, LEAST))
    ]
