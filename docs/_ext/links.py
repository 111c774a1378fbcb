"""Adds links while pages are built: rule ids in sentences, public names in code spans.

Source: Sphinx, "Developing extensions".  ``DLP-RO-1`` in a sentence leads to its row on the rules
page, ``ix.asarray()`` in a code span to the API reference; what begins with ``ix.``,
``interchange.`` or ``interchange_conformance.emucuda`` must be documented there, or the build
fails.  Between single backticks of a docstring public names need no package.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

import interchange
from interchange import abi

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_RULE: Final = re.compile(rf"\b({'|'.join(sorted(abi.RULES, key=len, reverse=True))})\b")
_FAMILY: Final = re.compile(r"(?<=[A-Z])-\*(?=[,)])")
_NAME: Final = re.compile(r"(?:(ix|interchange)\.)?([A-Za-z_][\w.]*)(?:\(.*\))?")
_EMULATED: Final = "interchange_conformance.emucuda"
_DOCSTRING: Final = "docstring"  # class of the nodes
_CLOSED: Final = (
    addnodes.desc_signature,
    addnodes.pending_xref,
    nodes.literal_block,
    nodes.doctest_block,
    nodes.reference,
    nodes.target,
    nodes.title,
)
"""Nodes that links are not put into."""


@lru_cache(maxsize=1)
def _public() -> frozenset[str]:
    """Return the names that docstrings may use without their package."""
    names = {name for name in interchange.__all__ if not name.startswith("_")}
    members = {f"Array.{name}" for name in dir(interchange.Array) if not name.startswith("_")}
    return frozenset(names | members)


def _target(span: nodes.literal) -> str | None:
    """Return the full name that a code span refers to, or None if it is not one of ours."""
    match = _NAME.fullmatch(span.astext())
    if match is None or "._" in span.astext().replace(".__", ""):  # private names have no entry
        return None
    prefix, name = match[1], match[2]
    if f"{name}.".startswith(f"{_EMULATED}."):
        return name
    ours = prefix or (_DOCSTRING in span["classes"] and name in _public())
    return f"interchange.{name}" if ours else None


def _inside(node: nodes.Node, kinds: tuple[type, ...]) -> bool:
    """Whether `node` is below one of some kinds of nodes."""
    parent = node.parent
    while parent is not None:
        if isinstance(parent, kinds):
            return True
        parent = parent.parent
    return False


class Links(SphinxTransform):
    """Puts the links in, once a page is read."""

    default_priority = 700

    def apply(self, **_: Any) -> None:
        """Go through the texts and the code spans of the page."""
        for span in list(self.document.findall(nodes.literal)):
            text = span.astext()
            target = None if _inside(span, _CLOSED) else _target(span)
            if target is not None:
                self._wrap(span, "py", "obj", target)
            elif text in abi.RULES and not _inside(span, _CLOSED):
                self._wrap(span, "std", "ref", text.lower())
        for text in list(self.document.findall(nodes.Text)):
            if not _inside(text, (*_CLOSED, nodes.literal)):
                self._link_rules(text)

    def _wrap(self, node: nodes.Node, domain: str, kind: str, target: str) -> None:
        """Put a reference around a node."""
        node.parent.replace(node, self._reference(node.deepcopy(), domain, kind, target))

    def _reference(self, node: nodes.Node, domain: str, kind: str, target: str) -> nodes.Node:
        """Return a reference that Sphinx resolves when all pages are read."""
        reference = addnodes.pending_xref(
            "",
            node,
            refdoc=self.env.docname,
            refdomain=domain,
            reftype=kind,
            reftarget=target,
            refexplicit=True,
            refwarn=True,
        )
        reference.source, reference.line = self.document.get("source"), None
        return reference

    def _link_rules(self, text: nodes.Text) -> None:
        """Replace the rule ids in a text by references."""
        parts = _RULE.split(text.astext())
        own = {one for node in (text.parent, text.parent.parent) for one in node.get("ids", ())}
        if len(parts) == 1 or any(part.lower() in own for part in parts[1::2]):
            return
        fresh = [
            self._reference(nodes.inline("", part, classes=["rule"]), "std", "ref", part.lower())
            if place % 2
            else nodes.Text(part)
            for place, part in enumerate(parts)
            if part
        ]
        text.parent.replace(text, fresh)


def _plain(
    _name: str, rawtext: str, text: str, *_: Any, **__: Any
) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """Return a code span, marked as one of a docstring: the role of single backticks there."""
    return [nodes.literal(rawtext, text, classes=[_DOCSTRING])], []


def _escape_families(*event: Any) -> None:
    """Escape the star of ``DLP-SHAPE-*``, all rules of an area, which would open an emphasis."""
    lines: list[str] = event[-1]
    lines[:] = [_FAMILY.sub(r"-\\*", line) for line in lines]


def _hide_constructor(_app: Sphinx, _what: str, _name: str, obj: object, *_: Any) -> Any:
    """Show no signature for a class that is not to be called."""
    return ("", "") if obj is interchange.Array else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform and the role."""
    app.add_role("plain", _plain)
    app.add_transform(Links)
    app.connect("autodoc-process-docstring", _escape_families)
    app.connect("autodoc-process-signature", _hide_constructor)
    return {"parallel_read_safe": True}
