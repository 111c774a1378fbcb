"""What each package and each module is for, in one line: the first one of its docstring.

``python docs/_ext/modules.py`` writes the tables into the pages of `PAGES`, between the comments
``<!-- packages interchange -->`` and ``<!-- end -->``.  Needs no Sphinx, as `tables`.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from tables import ROOT, code, sentence, table

if TYPE_CHECKING:
    from pathlib import Path

PACKAGES: Final = {
    "interchange": ROOT / "src" / "interchange",
    "interchange.cuda": ROOT / "src" / "interchange" / "cuda",
    "interchange_conformance": ROOT / "conformance" / "src" / "interchange_conformance",
}
"""Name of a package -> its folder."""
PAGES: Final = tuple(
    ROOT / "docs" / f"{name}.md"
    for name in ("contributing", "words", "words-cuda", "words-conformance")
)
"""Pages that have such tables."""
_TABLE: Final = re.compile(
    r"(?P<start><!-- (?P<what>packages|modules) (?P<package>[\w.]+) -->)\n.*?(?P<end><!-- end -->)",
    re.DOTALL,
)


def first_line(path: Path) -> str:
    """Return the first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]


def folders(package: str) -> list[Path]:
    """Return the folders of a package with modules, the package's own first."""
    return sorted({path.parent for path in PACKAGES[package].rglob("*.py")})


def packages(package: str) -> str:
    """Return a table of the folders of a package."""
    rows = [
        (code(f"{folder.relative_to(ROOT)}/"), sentence(first_line(folder / "__init__.py")))
        for folder in folders(package)
    ]
    return table(("Path", "What"), rows)


def filled(page: str) -> str:
    """Return the text of a page with updated tables."""

    def fill(match: re.Match[str]) -> str:
        render = {"packages": packages, "modules": words}[match["what"]]
        return f"{match['start']}\n\n{render(match['package'])}\n\n{match['end']}"

    return _TABLE.sub(fill, page)


def words(package: str) -> str:
    """Return a section for each folder of a package: its own line, and a row for each module.

    Packages within it that have a page of their own are left out.
    """
    sections = []
    inner = [path for path in PACKAGES.values() if PACKAGES[package] in path.parents]
    for folder in folders(package):
        if any(folder.is_relative_to(path) for path in inner):
            continue
        name = f"{folder.relative_to(ROOT)}/"
        paths = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
        rows = [(code(path.stem), sentence(first_line(path))) for path in paths]
        own = sentence(first_line(folder / "__init__.py"))
        found = table(("Module", "What it is for"), rows) if rows else ""
        sections.append(f"## {code(name)}\n\n{own}\n\n{found}".rstrip())
    return "\n\n".join(sections)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
