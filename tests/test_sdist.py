"""The source distribution is whole: what is in the repository is in it, and its own tests pass."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILD = "import sys, setuptools.build_meta as b; b.build_sdist(sys.argv[1])"
MADE = {"__pycache__", "_build", "build", "dist"}
JUNK = (
    ".venv/lib/left.py",
    "conformance/build/lib/left.py",
    "docs/_build/html/left.html",
    "src/interchange/_core/_native/_extension.abi3.so",
    "tests/__pycache__/left.pyc",
    "tests/.coverage.left",
)
"""Files that a checkout in use has, and a source distribution has not."""
TESTS = ("tests/types/test_errors.py", "tests/docs/test_readme.py", "tests/abi/test_rules.py")
"""What is run from the unpacked distribution; ``.ci/run`` runs more."""

FIVE_MINUTES = 300  # [seconds], for a newcomer who types what the first page says
TYPED = re.compile(r"^```(console|\{doctest\})\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PROMPT = """
import doctest, sys
example = doctest.DocTestParser().get_doctest(sys.stdin.read(), {}, "start.md", "start.md", 0)
failed, tried = doctest.DocTestRunner().run(example)
sys.exit(failed or not tried)
"""


def files_of_the_repository():
    """Return what is tracked by git; in an unpacked distribution, what is there."""
    if (ROOT / ".git").exists():
        done = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files"],  # noqa: S607 - that of the path
            capture_output=True,
            text=True,
            check=True,
        )
        return {name for name in done.stdout.splitlines() if (ROOT / name).is_file()}
    paths = {path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()}
    return {str(path) for path in paths if not _is_made(path)}


def _is_made(path):
    """Return whether a file is made by a tool, and not by people."""
    hidden = {part for part in path.parts[:-1] if part.startswith(".")} - {".ci", ".github"}
    tools = {"PKG-INFO", "setup.cfg"} & {path.name} or path.suffix == ".so"
    return bool(hidden or tools or MADE & set(path.parts)) or ".egg-info" in str(path)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Return a copy of the repository, with what else lies about in one."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in files_of_the_repository():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    for name in JUNK:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("left\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def unpacked(checkout, tmp_path_factory):
    """Return the folder of the source distribution of that copy, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)], cwd=checkout, capture_output=True, check=True
    )
    (archive,) = folder.glob("array_interchange-*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def test_every_file_of_the_repository_is_in_it(unpacked):
    """Tests, docs and what they read; nothing is forgotten when a file is added."""
    found = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}

    assert sorted(files_of_the_repository() - found) == []


def test_nothing_else_is_in_it(unpacked):
    """Neither what was built in the checkout nor its environments."""
    found = {path.relative_to(unpacked) for path in unpacked.rglob("*") if path.is_file()}
    written = {str(path) for path in found if not _is_made(path)}
    made = {path.name for path in found if _is_made(path)}

    assert sorted(written - files_of_the_repository()) == []
    assert "left.pyc" not in made
    assert [path for path in JUNK if (unpacked / path).exists()] == []


@pytest.mark.slow
@pytest.mark.isolated
def test_its_own_tests_pass(unpacked):
    """A part of them, from its folder, over its own sources."""
    text = "import interchange; print(interchange.__file__)"
    environment = {"PYTHONPATH": str(unpacked / "src"), "PATH": "/usr/bin:/bin"}
    said = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS],
        cwd=unpacked,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert said.stdout.startswith(str(unpacked))
    assert done.returncode == 0, done.stdout


def typed_in(folder, program, lines):
    """Run a program in a folder on what a newcomer types, who has set no variables for Python."""
    ours = "PYTHON", "INTERCHANGE", "VIRTUAL_ENV"
    environment = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    return subprocess.run(
        program,
        input=lines,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=FIVE_MINUTES,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.isolated
def test_a_newcomer_gets_from_its_first_page_to_a_function_in_five_minutes(unpacked, tmp_path):
    """Each command and each line of start.md works in a new environment, as it is typed."""
    folder = Path(shutil.copytree(unpacked, tmp_path / "clone"))
    page = (folder / "docs" / "start.md").read_text(encoding="utf-8")
    blocks = TYPED.findall(page)
    commands = [line[2:] for kind, body in blocks if kind == "console" for line in body.split("\n")]
    lines = "".join(body for kind, body in blocks if kind != "console")
    begin = time.monotonic()

    told = typed_in(folder, ["/bin/bash", "-e"], "\n".join(commands))
    typed = typed_in(tmp_path, [folder / ".venv/bin/python", "-W", "error", "-c", PROMPT], lines)

    assert told.returncode == 0, told.stderr
    assert all(word in told.stdout for word in ("core", "__array_interface__", "array_api_strict"))
    assert (typed.returncode, typed.stderr) == (0, ""), typed.stdout
    assert time.monotonic() - begin < FIVE_MINUTES
