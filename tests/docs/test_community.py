"""The files that code hosts show to contributors, and to authors who cite, are valid and true."""

from __future__ import annotations

import re

import pytest

REQUIRED = {"cff-version", "title", "message", "authors"}
ALLOWED = REQUIRED | {"abstract", "keywords", "license", "type", "version"}
"""Keys of CFF 1.2.0: those that must be there, and those that are true of this project."""


def test_the_citation_is_valid(root, project):
    """The citation has the keys of CFF 1.2.0, with the facts of pyproject.toml, and no address."""
    yaml = pytest.importorskip("yaml")
    text = (root / "CITATION.cff").read_text(encoding="utf-8")
    cited = yaml.safe_load(text)

    assert set(cited) >= REQUIRED
    assert set(cited) <= ALLOWED
    assert (cited["cff-version"], cited["type"]) == ("1.2.0", "software")
    assert cited["authors"] == [{"name": "the interchange developers"}]
    for key in ("version", "license"):
        assert f'\n{key} = "{cited[key]}"\n' in project
    assert str(cited["keywords"]).replace("'", '"') in project
    assert "http" not in text


def test_contributors_find_the_rules(root, pages):
    """The page at the root leads to the full one, and states no commands of its own."""
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")

    assert "](docs/contributing.md)" in text
    assert "](SECURITY.md)" in text
    assert "pip install" not in text
    for recipe in re.findall(r"^## Add an? (.+)$", pages["docs/contributing.md"], re.MULTILINE):
        assert recipe in text


def test_reports_of_conduct_go_where_vulnerabilities_go(root):
    """Both pages name the same two ways, and no address that does not exist."""
    conduct, security = (
        (root / name).read_text(encoding="utf-8") for name in ("CODE_OF_CONDUCT.md", "SECURITY.md")
    )

    assert "SECURITY.md" in conduct
    assert "says only that you have a report to make" in conduct
    assert "says only that you have a report to make" in security
    assert "@" not in conduct
