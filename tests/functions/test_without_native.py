"""Functions that the ctypes core lacks are refused at the call, before any argument is used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import interchange as ix
from interchange.abi import capsules

ROOT = Path(__file__).parents[2]
ALONE = """
import sys
sys.modules["interchange._core._native"] = None
import interchange as ix
from interchange._functions import headers
headers.PathFinder = type("Nowhere", (), {"find_spec": lambda name, path: None})
try:
    print(ix.get_include())
except ix.BackendUnavailableError as error:
    print(error.call, error.rule)
"""


@pytest.mark.readable
@pytest.mark.parametrize("table", [False, True])
def test_nothing_goes_out_as_arrow(table):
    """Exports to Arrow need native callbacks (ARROW-CORE-1); a refused capsule is unused."""
    capsule = np.ones(3).__dlpack__(max_version=(1, 0))

    with pytest.raises(ix.BackendUnavailableError) as caught:
        ix.to_arrow({"x": capsule} if table else capsule)

    assert caught.value.rule == "ARROW-CORE-1"
    assert "INTERCHANGE_CORE=native" in caught.value.hint
    assert capsules.capsule_name(capsule) == capsules.VERSIONED


@pytest.mark.isolated
def test_the_header_of_what_is_not_built_is_refused(run_isolated):
    """Without a built native core the header is refused: no C API would exist (IX-CAPI-2)."""
    assert run_isolated(ALONE).split() == ["get_include()", "IX-CAPI-2"]


@pytest.mark.isolated
def test_the_header_is_there_where_another_process_uses_the_native_core(run_isolated):
    """The header is available if another process can use the native core."""
    if ix.core_name != "native":
        pytest.skip("whether the native core is built is not known here")
    script = "import interchange as ix\nprint(ix.core_name, ix.get_include())"

    core, folder = run_isolated(script, env={"INTERCHANGE_CORE": "ctypes"}).split()

    assert core == "ctypes"
    assert Path(folder, "interchange/interchange.h").is_file()


@pytest.mark.parametrize(
    "page", ["README.md", "docs/support.md", "setup.py", "src/interchange/_core/__init__.py"]
)
def test_no_page_says_that_all_works(page):
    """Every page that lists features names those that need the native core."""
    text = " ".join((ROOT / page).read_text(encoding="utf-8").replace('"', "").split())

    assert "all works without it" not in text
    assert "exports to Arrow" in text
