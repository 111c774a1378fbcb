"""What each module is for, in one line: its own first one, layer by layer.

Source: the modules of `interchange` and of the conformance kit.  Needs no Sphinx, as `tables`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from tables import ROOT, code, sentence, table

if TYPE_CHECKING:
    from pathlib import Path

PACKAGES: Final = {
    "interchange": ROOT / "src" / "interchange",
    "interchange_conformance": ROOT / "conformance" / "src" / "interchange_conformance",
}
"""Name of a package -> its folder."""


def first_line(path: Path) -> str:
    """Return what a module says of itself in the first line of its docstring."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]


def folders(package: str) -> list[Path]:
    """Return the folders of a package that hold modules, the package's own first."""
    return sorted({path.parent for path in PACKAGES[package].rglob("*.py")})


def words(package: str) -> str:
    """Return a section for each folder of a package: its own line, and a row for each module."""
    sections = []
    for folder in folders(package):
        name = f"{folder.relative_to(ROOT)}/"
        paths = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
        rows = [(code(path.stem), sentence(first_line(path))) for path in paths]
        own = sentence(first_line(folder / "__init__.py"))
        found = table(("Module", "What it is for"), rows) if rows else ""
        sections.append(f"## {code(name)}\n\n{own}\n\n{found}")
    return "\n".join(sections)
