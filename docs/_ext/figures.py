"""The figures of the docs: imports and exports, the properties and the layers, columns.

Source: `interchange` itself, the matrices of ``_generated``, and the table of how-it-works.md, so
that no figure can go stale.  In a MyST page::

    ```{exchange-figure}
    ```

    ```{column-figure} lists
    ```

``python docs/_ext/figures.py`` writes the first one for the README, to ``docs/_static``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import column_figures
import matrix_pages
from drawing import WIDTH, arrow, box, chips, drawing, words
from tables import DOCS

import interchange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from docutils import nodes
    from sphinx.application import Sphinx

_PROTOCOLS: Final = {
    "__dlpack__": "DLPack",
    "__cuda_array_interface__": "CUDA Array Interface",
    "__array_interface__": "array interface",
    "__arrow_c_array__": "Arrow",
    "__buffer__": "buffer protocol",
    "__array__": "__array__",
}
"""Attribute of an object -> the protocol that it belongs to."""
_PARTS: Final = {
    "__interchange__", "__dlpack_device__", "__dlpack_c_exchange_api__",
    "__c_dlpack_exchange_api__", "__array_namespace__", "__array_priority__",
    "__arrow_c_schema__", "__arrow_c_stream__", "__arrow_c_device_array__",
    "__arrow_c_device_stream__", "__jax_array__",
}  # fmt: skip
"""Attributes that are part of a protocol, or no protocol of exchange."""
_OF_MEMORY: Final = re.compile(r"__\w*(?:dlpack|array|buffer|arrow)\w*__")


class UnknownProtocolError(ValueError):
    """The library supports a protocol that the figure does not know."""


# ---------------------------------------------------------------- in and out


def protocols_out() -> list[str]:
    """Return the protocols that an Array supports, and its export as a column."""
    names = [*dir(interchange.Array), *dir(interchange.ArrowExport)]
    return _named(name for name in names if _OF_MEMORY.fullmatch(name))


def protocols_in() -> list[str]:
    """Return the protocols that ``asarray`` tries, in its own order."""
    text, _, _ = (interchange.asarray.__doc__ or "").partition("Parameters")
    said = " ".join(re.split(r"^ *\d\. ", text, flags=re.MULTILINE)[1:])
    said = said.replace("the buffer protocol", "__buffer__")
    said = said.replace("Arrow's PyCapsule interface", "__arrow_c_array__")
    return _named(re.findall(r"__\w+__", said.replace("DLPack, or", "__dlpack__, or")))


def _named(attributes: Iterable[str]) -> list[str]:
    """Return the names of protocols, in the order of the table of them."""
    found = set(attributes) - _PARTS
    if unknown := found - set(_PROTOCOLS):
        raise UnknownProtocolError(f"the figure has no name for {sorted(unknown)}")
    return [name for attribute, name in _PROTOCOLS.items() if attribute in found]


def kinds_in() -> list[str]:
    """Return the kinds of arrays that were imported: the rows of the matrices."""
    rows = [row for name in ("matrix", "matrix-gpu") for row in matrix_pages.read(name).rows]
    kinds = [match[0] for row in rows if (match := re.match(r"pyarrow|[\w.-]+", row))]
    return [kind for kind in dict.fromkeys(kinds) if kind != "interchange"]


def kinds_out() -> list[str]:
    """Return the libraries that `convert` exports to."""
    return [name for name in interchange.TARGETS if name != "interchange"]


def exchange_figure() -> str:
    """Return the figure of imports and exports."""
    middle = WIDTH / 2
    parts, y = chips(kinds_in(), 26, "chip")
    parts.insert(0, words(middle, 16, "any array in", "head", "middle"))
    parts.append(arrow(middle, y + 2, 22))
    more, y = chips(protocols_in(), y + 30, "protocol")
    parts += [*more, arrow(middle, y + 2, 22)]
    y += 30
    parts += [
        box(60, y, WIDTH - 120, 74, "core"),
        words(middle, y + 26, "ix.Array", "head", "middle"),
        words(middle, y + 47, "the same memory: address, device, shape,", "", "middle"),
        words(middle, y + 65, "strides, element type, owner, stream", "", "middle"),
        arrow(middle, y + 78, 22),
    ]
    more, y = chips(protocols_out(), y + 106, "protocol")
    parts += [*more, arrow(middle, y + 2, 22)]
    parts.append(words(middle, y + 44, "any library out", "head", "middle"))
    more, y = chips(kinds_out(), y + 54, "chip")
    described = (
        f"Imports of {', '.join(kinds_in())}, through {', '.join(protocols_in())}. An Array shares "
        f"the memory. Exports through {', '.join(protocols_out())}, to {', '.join(kinds_out())}."
    )
    return drawing("Imports and exports", described, y + 4, [*parts, *more])


FOR_README: Final = DOCS / "_static" / "exchange.svg"
_STYLE: Final = """
svg { color: #24292f; font: 15px sans-serif; fill: currentColor; }
.head { font-weight: 700; }
.chip { fill: #f6f8fa; stroke: #d0d7de; }
.protocol { fill: #dbe4f5; }
.core { fill: #d9efe0; stroke: #14532d; }
.arrow { fill: none; stroke: currentColor; stroke-width: 1.5; }
@media (prefers-color-scheme: dark) {
  svg { color: #e6edf3; }
  .chip { fill: #161b22; stroke: #30363d; }
  .protocol { fill: #23314f; }
  .core { fill: #173a26; stroke: #9be0b6; }
}
"""
"""Colours of a figure that stands alone: in pages they are those of heat-maps.css."""


def standalone(figure: str) -> str:
    """Return a figure as a file of its own."""
    size = re.sub(
        r'^<svg class="figure"(.*?viewBox="0 0 (\S+) (\S+)")',
        r'<svg xmlns="http://www.w3.org/2000/svg"\1 width="\2" height="\3"',
        figure,
    )
    return size.replace("</desc>\n", f"</desc>\n<style>{_STYLE}</style>\n", 1)


# ---------------------------------------------------------------- properties and layers

PROPERTIES: Final = ("location", "owner", "synchronisation")
"""The three properties of an exchange: the columns of the figure."""


class Layer(NamedTuple):
    """One layer: its number, its packages, and the properties that it handles."""

    number: str
    packages: tuple[str, ...]
    properties: frozenset[str]


def layers() -> list[Layer]:
    """Return the layers of the table in how-it-works.md, the highest first.

    Raises
    ------
    ValueError
        The table names an unknown property.
    """
    text = (DOCS / "how-it-works.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d) \| (.*?) \| (.*?) \|", text, re.MULTILINE)
    found = []
    for number, packages, cell in rows:
        properties = frozenset(filter(None, cell.split(", ")))
        if not properties <= set(PROPERTIES):
            raise ValueError(f"layer {number} has an unknown property: {cell!r}")
        found.append(Layer(number, tuple(re.findall(r"`(\w+)`", packages)), properties))
    return found


def layers_figure() -> str:
    """Return the figure of the layers and their properties."""
    left, step, top = 245, 95, 42
    middles = [left + step * place + step / 2 for place in range(len(PROPERTIES))]
    parts = [
        words(x, 18, name, "small head", "middle")
        for x, name in zip(middles, PROPERTIES, strict=True)
    ]
    parts.append(words(4, 18, "imports only go down", "small"))
    for place, layer in enumerate(layers()):
        y = top + 34 * place - 12
        parts += [
            box(1, y, WIDTH - 2, 30, "core" if layer.properties else "chip"),
            words(10, y + 20, layer.number, "head"),
            words(32, y + 20, ", ".join(layer.packages)),
        ]
        parts += [
            f'<circle class="mark" cx="{x:g}" cy="{y + 15:g}" r="7"/>'
            for x, name in zip(middles, PROPERTIES, strict=True)
            if name in layer.properties
        ]
    described = "; ".join(
        f"layer {one.number}, {', '.join(one.packages)}, handles "
        + (", ".join(name for name in PROPERTIES if name in one.properties) or "none of them")
        for one in layers()
    )
    height = top + 34 * len(layers()) - 12
    return drawing("The layers, and the properties that they handle", described, height, parts)


# ---------------------------------------------------------------- directives

FIGURES: Final = {"exchange-figure": exchange_figure, "layers-figure": layers_figure}
"""Name of a directive -> the function that draws it."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    from docutils import nodes
    from sphinx.util.docutils import SphinxDirective

    class Figure(SphinxDirective):
        def run(self) -> list[nodes.Node]:
            self.env.note_dependency(__file__)
            return [nodes.raw("", FIGURES[self.name](), format="html")]

    class ColumnFigure(SphinxDirective):
        required_arguments = 1

        def run(self) -> list[nodes.Node]:
            self.env.note_dependency(column_figures.__file__)
            drawn = column_figures.FIGURES[self.arguments[0]]()
            return [nodes.raw("", drawn, format="html")]

    for name in FIGURES:
        app.add_directive(name, Figure)
    app.add_directive("column-figure", ColumnFigure)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    FOR_README.write_text(standalone(exchange_figure()), encoding="utf-8")
