"""The first texts for new users are correct: addresses, the workflow of CI, support."""

from __future__ import annotations

import re
import subprocess
from urllib.parse import urlsplit

import pytest

_URL = re.compile(r"https?://[^\s)>\"'`\]]+")
_HOSTS = frozenset(  # existing addresses, whose pages were checked
    {
        "arrow.apache.org",
        "data-apis.org",
        "dmlc.github.io",
        "docs.nvidia.com",
        "github.com",
        "img.shields.io",
        "nanobind.readthedocs.io",
        "numpy.org",
        "nvidia.github.io",
        "peps.python.org",
        "semver.org",
        "shields.io",
        "www.w3.org",  # the namespace of SVG
    }
)
_RESERVED = re.compile(r"(?:[\w-]+\.)*(?:example(?:\.(?:org|com|net))?|invalid|localhost)")
_DEAD = (
    "array-interchange.readthedocs.io",
    "github.com/array-interchange",
    "pypi.org/project/array-",
)
"""Addresses at which nothing of ours is published yet."""


def _texts(root):
    """Return what new users read, by path: prose, metadata and workflows."""
    found = [
        *root.glob("*.md"),
        *root.glob("*.toml"),
        *(root / "conformance").glob("*.toml"),
        *(root / "conformance").glob("*.md"),
        *(root / ".github").rglob("*.yml"),
        *(
            path
            for path in (root / "docs").rglob("*")
            if path.suffix in {".md", ".py"} and "_build" not in path.parts
        ),
    ]
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in found}


def test_every_address_is_one_that_exists(root):
    """Every address is on a listed host, or on one reserved for examples."""
    urls = {url for text in _texts(root).values() for url in _URL.findall(text)}
    hosts = {urlsplit(url).hostname or "" for url in urls}

    assert "semver.org" in hosts
    assert sorted(h for h in hosts - _HOSTS if not _RESERVED.fullmatch(h)) == []


def test_no_address_is_one_where_nothing_is(root):
    """The address is used neither in the pages, the metadata nor the output of programs."""
    sources = [*(root / "src").rglob("*.py"), *(root / "conformance").rglob("*.py")]
    sources += (root / "conformance").rglob("*.json")
    texts = {**_texts(root), **{str(p): p.read_text(encoding="utf-8") for p in sources}}

    assert [(path, dead) for path, text in texts.items() for dead in _DEAD if dead in text] == []


def test_no_text_names_an_index_that_has_neither_distribution(root):
    """Distributions of ours are installed from a folder: ``".[docs]"``, ``./conformance``."""
    told = re.compile(r"\binstall[\s`\"']+(?:-\S+[\s`\"']+)*array-interchange")
    sources = [*(root / "src").rglob("*.py"), *(root / "conformance/src").rglob("*.py")]
    texts = {**_texts(root), **{str(p): p.read_text(encoding="utf-8") for p in sources}}
    joined = {path: re.sub(r'"\s*\n\s*f?"', "", text) for path, text in texts.items()}

    assert told.search('pip install -q "array-interchange[cuda]"')
    assert [path for path, text in joined.items() if told.search(text)] == []


def test_no_page_has_an_address_of_mail(root):
    """No page has a mail address, since none was set up."""
    pattern = re.compile(r"(?<![\w/@.-])[\w.+-]+@[\w-]+\.[a-z]{2,}(?![\w/])")
    texts = _texts(root)

    assert [
        (path, pattern.findall(text)) for path, text in texts.items() if pattern.search(text)
    ] == []


def test_the_workflow_runs_the_script_of_the_repository(root):
    """The workflow has one step of its own, ``.ci/run``; the others get the code and Pythons."""
    text = (root / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")

    assert re.findall(r"^ *- run: (.*)$", text, re.MULTILINE) == [".ci/run"]
    assert re.findall(r"^ *- uses: ([\w/-]+)@", text, re.MULTILINE) == [
        "actions/checkout",
        "actions/setup-python",
    ]
    assert "permissions:\n  contents: read\n" in text
    assert (root / ".ci" / "run").stat().st_mode & 0o111


def _shell(root, *names):
    """Return functions of ``.ci/run``, and the rest of it."""
    script = (root / ".ci" / "run").read_text(encoding="utf-8")
    found = [
        re.search(rf"^{name}\(\) \{{.*?(?: }}|^}})\n", script, re.MULTILINE | re.DOTALL)
        for name in names
    ]
    functions = [one[0] for one in found if one]
    assert len(functions) == len(names)
    for text in functions:
        script = script.replace(text, "")
    return "".join(functions), script


def _of_bash(code, folder):
    """Return the result of a bash program, run as ``.ci/run`` is, and its output."""
    command = ["bash", "-euo", "pipefail", "-c", code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_ci_runs_the_commands_of_the_readme_and_of_contributors(root, pages):
    """ci runs all of the commands, verbatim and once: the script has no other text of them."""
    functions, script = _shell(root, "in_readme", "in_contributing")
    readme = re.findall(
        r"^```sh\n(.*?)^```$", (root / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    (block,) = re.findall(
        r"^## In short\n\n```console\n(.*?)^```$",
        pages["docs/contributing.md"],
        re.MULTILINE | re.DOTALL,
    )
    lines = [line.removeprefix("$ ") for line in block.splitlines()]
    both = ("in_readme", "".join(readme).splitlines()), ("in_contributing", lines)

    for name, commands in both:
        assert _of_bash(f"{functions}{name}", root) == (0, "".join(f"{c}\n" for c in commands))
        assert [c for c in commands if c.endswith("pytest")]
    assert [c for c in lines if c.endswith("pytest")] == [".venv/bin/pytest"]
    assert re.findall(r"^ *(in_.*)$", script, re.MULTILINE) == [
        "in_readme | grep 'pytest$' | as_written",
        "in_readme | grep -v 'pytest$' | while IFS= read -r line; do",
        "in_contributing | grep -v 'pytest$' | as_written",
    ]
    tools = {word for c in lines for word in re.findall(r"\.venv/bin/(\S+)", c)}
    elsewhere = {"pip", "python", "pytest", "sphinx-build"}
    assert [name for name in tools - elsewhere if re.search(rf"\b{name}\b", script)] == []


def test_ci_ends_where_a_command_of_a_page_fails(root):
    """CI stops at the first command of a page that fails."""
    functions, _ = _shell(root, "as_written")

    code, out = _of_bash(f"{functions}printf 'echo 1\nfalse && a\necho 2\n' | as_written", root)

    assert (code, out) == (1, "\n$ echo 1\n1\n\n$ false && a\n")


def test_the_workflow_brings_the_pythons_that_are_looked_for(root):
    """The default one last, as setup-python wants it."""
    workflow = (root / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    brought = re.findall(r"^ +(3\.\d+)$", workflow, re.MULTILINE)
    versions = re.search(r'^versions="(.*)"$', (root / ".ci" / "run").read_text(), re.MULTILINE)

    assert versions is not None
    assert set(brought) - {brought[-1]} == set(versions[1].split())


@pytest.mark.parametrize("word", ["pointer", "pickle", "Report privately", "python -m interchange"])
def test_the_page_on_security_says(root, word):
    """The page states the trust assumptions and the contents of a report."""
    assert word in (root / "SECURITY.md").read_text(encoding="utf-8")


def test_the_page_on_support_names_the_pythons_of_the_metadata(pages, project, tables):
    """The page on support has each Python with a classifier, from the oldest on."""
    facts = tables.facts()
    versions = facts["pythons"].split(", ")

    assert versions[0] == facts["python"]
    assert all(f'"Programming Language :: Python :: {version}"' in project for version in versions)
    assert "| CPython | {{ pythons }} |" in pages["docs/support.md"]


def test_the_page_on_support_lists_what_is_public(pages):
    """The page on support lists every module of the API reference."""
    modules = re.findall(r"^`(interchange[.\w]*)`$", pages["docs/api/index.md"], re.MULTILINE)

    assert modules
    assert [name for name in modules if f"`{name}`" not in pages["docs/support.md"]] == []
