"""The page of programs shows their output, their refusals, and the fixes."""

from __future__ import annotations

import re

import pytest

from .conftest import ROOT

PAGE = ROOT / "docs" / "guides" / "programs.md"
BLOCKS = re.findall(
    r"^```\{example-(program|mistake|remedy)\} (\w+) *([^\n]*)\n(.*?)^```$",
    PAGE.read_text(encoding="utf-8"),
    re.DOTALL | re.MULTILINE,
)
MARKS = {"arrow_column": pytest.mark.interop, "launcher": pytest.mark.emulated}
NEEDED = {"arrow_column": "pyarrow", "launcher": "cuda.bindings.driver"}


def _cases(*kinds):
    """Return the blocks of some kinds, each with the mark of its program."""
    return [
        pytest.param(kind, name, words, body, id=f"{kind}-{name}", marks=MARKS.get(name, ()))
        for kind, name, words, body in BLOCKS
        if kind in kinds
    ]


@pytest.fixture
def ready(name, need, request):
    """Return the name of a program whose libraries are here."""
    if name in NEEDED:
        need(NEEDED[name])
    if name == "launcher":
        request.getfixturevalue("emulator")  # which tells whether it can be built
    return name


def test_the_page_shows_every_program_of_the_folder():
    """The page shows every program, each followed by a mistake and a remedy."""
    there = {path.stem for path in (ROOT / "docs" / "examples").glob("*.py")} - {"host_kernel"}
    shown = [name for kind, name, *_ in BLOCKS if kind == "program"]

    assert sorted(shown) == sorted(there)
    assert [(kind, name) for kind, name, *_ in BLOCKS] == [
        (kind, name) for name in shown for kind in ("program", "mistake", "remedy")
    ]


@pytest.mark.isolated
@pytest.mark.parametrize(("kind", "name", "words", "body"), _cases("program"))
def test_a_program_is_shown_whole_with_what_it_prints(programs, ready, kind, words, body):
    """The program is shown verbatim, and the command above its output is the one that was run."""
    shown = programs.program(ready, *words.split())
    source = (ROOT / "docs" / "examples" / f"{ready}.py").read_text(encoding="utf-8")

    assert (kind, body) == ("program", "")
    assert shown.startswith(f"```python\n{source}```\n")
    assert f"python {ready}.py" in shown.partition("```console\n$ ")[2]


@pytest.mark.isolated
@pytest.mark.parametrize(("kind", "name", "words", "body"), _cases("mistake", "remedy"))
def test_a_mistake_is_refused_and_a_remedy_is_not(programs, ready, kind, words, body):
    """A mistake is shown with an error that has a rule id."""
    shown = programs.DIRECTIVES[f"example-{kind}"](ready, body)

    assert words == ""
    assert shown.startswith(f"```python\n{body}```\n")
    assert bool(
        re.search(r"^interchange\.\w+: .* \[[A-Z]+-[A-Z]+-\d+\]$", shown, re.MULTILINE)
    ) is (kind == "mistake")


@pytest.mark.isolated
def test_a_mistake_that_is_none_ends_the_build(programs):
    """A mistake that another library refuses ends the build."""
    for code in ("print(1)\n", "raise ValueError\n"):
        with pytest.raises(RuntimeError, match="not refused by interchange"):
            programs.mistake("validated", code)


@pytest.mark.isolated
def test_a_program_or_a_remedy_that_fails_ends_the_build(programs):
    """A program that prints to standard error ends the build, too."""
    with pytest.raises(RuntimeError, match="IndexError"):
        programs.program("mapped_file")
    for code in ("raise ValueError\n", "import sys; sys.stderr.write('careful')\n"):
        with pytest.raises(RuntimeError, match="no remedy"):
            programs.remedy("validated", code)


@pytest.mark.interop
def test_no_directive_has_the_name_of_one_of_sphinx(programs, need):
    """No directive has a name of Sphinx's, which would run nothing silently."""
    need("sphinx")
    from sphinx.domains.std import StandardDomain

    assert set(StandardDomain.directives).isdisjoint({"example-program", *programs.DIRECTIVES})
