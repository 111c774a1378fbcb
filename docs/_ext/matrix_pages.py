"""The matrices that ``interchange matrix --markdown`` wrote, as heat maps, with their notes.

In a MyST page::

    ```{exchange-matrix} matrix
    ```
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from heat_maps import NOTHING, Cell, Column, Row, heat_map, legend

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

GENERATED: Final = Path(__file__).parents[1] / "_generated"
_CELL: Final = re.compile(r"(\S) ([\w-]+)(?: \((\d+)\))?")
_MEANING: Final = re.compile(r"^- (\S) ([\w-]+): (.+)$", re.MULTILINE)
_TABLE: Final = re.compile(r"^\|.*\|$", re.MULTILINE)


class Matrix(NamedTuple):
    """A matrix.

    Attributes
    ----------
    columns : list of str
        Heads of the columns.
    rows : dict
        Head of a row -> its cells.
    meanings : dict
        Verdict -> its sign, and its meaning.
    notes : str
        The text below, as Markdown.
    """

    columns: list[str]
    rows: dict[str, list[Cell]]
    meanings: dict[str, tuple[str, str]]
    notes: str


def read(name: str) -> Matrix:
    """Return a matrix that the command wrote.

    Parameters
    ----------
    name : str
        Its file, without the suffix.
    """
    text = (GENERATED / f"{name}.md").read_text(encoding="utf-8")
    head, _, *rows = [_cells(line) for line in _TABLE.findall(text)]
    notes = _MEANING.sub("", text[text.rindex("|\n") + 2 :])
    return Matrix(
        head[1:],
        {first.strip("*"): [_cell(one, name) for one in rest] for first, *rest in rows},
        {word: (sign, says) for sign, word, says in _MEANING.findall(text)},
        re.sub(r"\n{3,}", "\n\n", notes).strip(),
    )


def _cells(line: str) -> list[str]:
    """Return the cells of a row of a table."""
    return [cell.strip() for cell in line.strip("|").split("|")]


def _cell(text: str, name: str) -> Cell:
    """Return one cell; one with a note leads to it."""
    if not text:
        return NOTHING
    found = _CELL.fullmatch(text)
    if found is None:
        raise ValueError(f"{name}.md has a cell that says {text!r}")
    sign, word, note = found.groups()
    if note is None:
        return Cell(word, sign, word)
    return Cell(word, sign, f"{word}, see note {note}", f"#{name}-note-{note}")


def as_html(name: str) -> str:
    """Return the heat map and its legend.

    Parameters
    ----------
    name : str
        The matrix's file, without the suffix.
    """
    matrix = read(name)
    signs = [
        (Cell(word, sign, word), f"{word}: {says}")
        for word, (sign, says) in matrix.meanings.items()
    ]
    rows = [Row(head, "", cells) for head, cells in matrix.rows.items()]
    return legend(signs) + heat_map(
        "Who exchanges with whom", "from ↓ to →", [Column(one) for one in matrix.columns], rows
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    from docutils import nodes
    from sphinx.util.docutils import SphinxDirective

    class ExchangeMatrix(SphinxDirective):
        required_arguments = 1

        def run(self) -> list[nodes.Node]:
            (name,) = self.arguments
            self.env.note_dependency(str(GENERATED / f"{name}.md"))
            below = self.parse_text_to_nodes(read(name).notes)
            notes = [one for part in below for one in part.findall(nodes.enumerated_list)]
            for place, note in enumerate(notes[0].children if notes else (), start=1):
                note["ids"].append(f"{name}-note-{place}")
            return [nodes.raw("", as_html(name), format="html"), *below]

    app.add_directive("exchange-matrix", ExchangeMatrix)
    return {"parallel_read_safe": True}
