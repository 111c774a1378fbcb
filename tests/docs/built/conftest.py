"""The built pages of the docs, and the browser that loads them.

Needs the extra ``docs``, besides the requirements of the mark ``browser``.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chromium import browser  # noqa: F401 - a fixture

DOCS = Path(__file__).parents[3] / "docs"
BUILT = DOCS / "_build" / "html"
MADE_BY_SPHINX = ("genindex", "py-modindex", "search")
OBJECTS = tuple(
    f"api/generated/interchange{name}"
    for name in (
        ".Array",
        ".NoProtocolError",
        ".abi.DLDeviceType",
        ".abi.DLTensor",
        ".asarray",
        ".cuda.Kernel",
        ".cuda.jit",
        ".xp.linalg.svd",
        "_conformance.emucuda.Emulator",
    )
)
"""Pages of objects, one of each kind: the templates are the same for all others."""
PAGES = sorted(
    path.relative_to(DOCS).with_suffix("").as_posix()
    for path in DOCS.rglob("*.md")
    if not path.relative_to(DOCS).parts[0].startswith("_") and "changes" not in path.parts
)


@pytest.fixture(scope="module", params=[*PAGES, *OBJECTS, *MADE_BY_SPHINX])
def name(request):
    """Each page in turn, by its Sphinx name."""
    return request.param


def _is_fresh():
    """Whether the sources of the pages are unchanged since the build."""
    made = BUILT / "searchindex.js"  # what Sphinx writes last
    if not made.exists():
        return False
    sources = [path for path in DOCS.rglob("*") if "_build" not in path.parts]
    for folder in ("src", "conformance/src", "tests/conformance/mutants"):
        sources += (DOCS.parent / folder).rglob("*.*")
    of_ours = [path for path in sources if path.is_file() and "__pycache__" not in path.parts]
    return made.stat().st_mtime > max(path.stat().st_mtime for path in of_ours)


@pytest.fixture(scope="session")
def built():
    """The folder of the HTML; one process builds it, and the others wait."""
    if importlib.util.find_spec("sphinx") is None:
        if "browser" in os.environ.get("INTERCHANGE_TEST_REQUIRE", "").split(","):
            pytest.fail("the docs are required here, and there is no Sphinx")
        pytest.skip("there is no Sphinx: see the extra named docs")
    BUILT.mkdir(parents=True, exist_ok=True)
    with (BUILT.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_fresh():
            shutil.rmtree(BUILT)  # with pages whose sources are gone
            command = [sys.executable, "-m", "sphinx", "-qEa", "-b", "html", DOCS, BUILT]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
            assert done.returncode == 0, done.stderr
    return BUILT
