"""The description of each page for search engines: its first sentence.

Source: HTML, "Standard metadata names"; Sphinx, "html-page-context".
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def _describe(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], page: nodes.document | None
) -> None:
    """Add the first sentence outside of tables, unless the page has a description."""
    paragraphs = page.findall(nodes.paragraph) if page is not None else ()
    texts = (one.astext() for one in paragraphs if not isinstance(one.parent, nodes.entry))
    sentence = " ".join(next(texts, "").split()).partition(". ")[0]
    if sentence and 'name="description"' not in context["metatags"]:
        context["metatags"] += f'<meta name="description" content="{escape(sentence)}">'


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hook."""
    app.connect("html-page-context", _describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
