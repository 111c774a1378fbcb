"""Source locations for Sphinx of public objects of ``interchange``, whose module is the package.

Source: Sphinx, "autodoc" and `sphinx.pycode`.  The order of members and the texts of attributes
come from the source of the module that an object names; each of ours names the package.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from sphinx.pycode import ModuleAnalyzer

import interchange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx


def _definitions() -> Iterator[ModuleAnalyzer]:
    """Yield the sources in which public objects are written."""
    public = {name: getattr(interchange, name) for name in interchange.__all__}
    for name, module in sorted(sys.modules.items()):
        names = vars(module) if name.startswith("interchange._") else {}
        here = [one for one, value in public.items() if names.get(one) is value]
        if here:
            source = ModuleAnalyzer.for_module(name)
            source.analyze()
            if not source.tags.keys().isdisjoint(here):
                yield source


def setup(_: Sphinx) -> dict[str, Any]:
    """Add the data of these sources to those of the package."""
    package = ModuleAnalyzer.for_module("interchange")
    package.analyze()
    for source in _definitions():
        after = len(package.tagorder)
        package.tagorder.update({name: after + rank for name, rank in source.tagorder.items()})
        for kind in ("annotations", "attr_docs", "overloads", "tags"):
            getattr(package, kind).update(getattr(source, kind))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
