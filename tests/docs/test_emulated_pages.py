"""The examples in the group ``emulated`` run on the emulated driver, and cause no race."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from interchange_conformance import emucuda

_BLOCK = re.compile(r"^```\{(\w+)\}( emulated)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_RUN = """
import doctest
import sys

sys.path.insert(0, {folder!r})
flags = doctest.ELLIPSIS | doctest.DONT_ACCEPT_TRUE_FOR_1
names = {{}}
exec({setup!r}, names)
example = doctest.DocTestParser().get_doctest({examples!r}, names, {page!r}, {page!r}, 0)
failed, tried = doctest.DocTestRunner(optionflags=flags).run(example, clear_globs=False)
exec({cleanup!r}, names)
print("tried", tried)
sys.exit(failed > 0)
"""


def _pages():
    docs = Path(__file__).resolve().parents[2] / "docs"
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(docs.rglob("*.md"))}
    return [path for path, text in texts.items() if "```{doctest} emulated\n" in text]


def _text(page, kind):
    """Return the contents of the blocks of a kind, concatenated."""
    found = _BLOCK.findall(page.read_text(encoding="utf-8"))
    return "".join(body for name, group, body in found if name == kind and group)


def test_there_are_such_pages():
    """The guides that need a device have examples."""
    names = {page.name for page in _pages()}

    assert {"gpu-arrays.md", "cai-only-libraries.md", "testing-without-a-gpu.md"} <= names


@pytest.mark.parametrize("name", emucuda.__all__)
def test_every_public_name_of_the_emulated_driver_is_documented(documented, name):
    """Every name that the package exports has an entry under the name that users import."""
    assert f"interchange_conformance.emucuda.{name}" in documented


@pytest.mark.emulated
@pytest.mark.parametrize("guide", _pages(), ids=lambda guide: guide.name)
def test_examples_on_the_emulated_driver_run(guide, run_child, root):
    """Every example has the output shown below it, and the detector reports nothing else."""
    script = _RUN.format(
        folder=str(root / "docs" / "_ext"),
        setup=_text(guide, "testsetup"),
        examples=_text(guide, "doctest"),
        cleanup=_text(guide, "testcleanup"),
        page=guide.name,
    )

    done = run_child(script)

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert re.search(r"^tried [1-9]", done.stdout, re.MULTILINE)


@pytest.mark.emulated
@pytest.mark.parametrize("waits", [True, False])
def test_the_test_in_the_guide_runs_as_printed(root, tmp_path, waits):
    """Both files work in an empty folder; the test fails for code that does not wait."""
    guide = (root / "docs/guides/testing-without-a-gpu.md").read_text(encoding="utf-8")
    conftest, test = re.findall(r"^```python\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE)
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    decorator = '@ix.accepts_arrays("x", stream="stream")\n'
    assert decorator in test
    shown = test if waits else test.replace(decorator, "")
    (tmp_path / "test_total.py").write_text(shown, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir=.", "-p", "no:cacheprovider"]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert ("1 passed" if waits else "read after write (RAW)") in done.stdout, done.stdout


@pytest.mark.parametrize("guide", _pages(), ids=lambda guide: guide.name)
def test_the_detector_is_asked_at_the_end(guide):
    """Every page checks the race detector after its examples."""
    assert _text(guide, "testsetup").startswith("from emulated import *\n")
    assert _text(guide, "testcleanup") == "finish()\n"


@pytest.mark.parametrize("guide", _pages(), ids=lambda guide: guide.name)
def test_variables_of_the_emulated_driver_are_read(guide):
    """The driver reads every ``EMUCUDA_NAME`` that a page mentions."""
    source = (Path(emucuda.__file__).parent / "driver.c").read_text(encoding="utf-8")
    named = set(re.findall(r"EMUCUDA_[A-Z_]+", guide.read_text(encoding="utf-8")))

    assert named <= set(re.findall(r'"(EMUCUDA_[A-Z_]+)"', source))
