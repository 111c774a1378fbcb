"""Directives that print the tables of `tables`, one per table, and the summaries of `runs`.

Source: Sphinx, "Developing extensions".  In a MyST page::

    ```{rulebook} DLP-CAP DLP-LIFE
    ```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import api_names
import command_tables
import error_tables
import kernel_tables
import runs
import tables
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from collections.abc import Callable

    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment


def _directive(render: Callable[..., str]) -> type[SphinxDirective]:
    """Return a directive whose arguments go to `render`, and whose text is parsed as the page's."""

    class Table(SphinxDirective):
        optional_arguments = 20

        def run(self) -> list[nodes.Node]:
            self.env.note_dependency(tables.__file__)
            self.env.note_dependency(str(error_tables.CASES))
            for log in runs.GENERATED.glob("*.json"):
                self.env.note_dependency(str(log))
            return list(self.parse_text_to_nodes(render(*self.arguments)))

    return Table


class Rulebook(_directive(tables.rules)):  # type: ignore[misc]
    """The rules of some areas, each in the index, so that a search for an id finds its row."""

    def run(self) -> list[nodes.Node]:
        """Return the table, and before it its entries in the index."""
        entries = [
            ("single", rule.id, rule.id.lower(), "main", None)
            for rule in tables.rules_of(*self.arguments)
        ]
        return [addnodes.index(entries=entries), *super().run()]


DIRECTIVES = {
    "command-code-table": command_tables.exit_codes_by_command,
    "device-table": tables.devices,
    "deviation-table": tables.deviations,
    "dtype-table": tables.dtypes,
    "duty-tables": tables.duties,
    "error-causes": error_tables.causes,
    "error-table": tables.errors,
    "exit-code-table": command_tables.exit_codes,
    "json-table": command_tables.forms_of_json,
    "kernel-functions": kernel_tables.functions,
    "kernel-intrinsics": kernel_tables.intrinsic_rows,
    "kernel-operators": kernel_tables.operators,
    "kernel-refusals": kernel_tables.refused,
    "other-names": api_names.others,
    "namespace-table": tables.namespace,
    "protocol-order": tables.protocols,
    "next-release": tables.fragments,
    "run-log": runs.run_log,
    "stream-object-table": tables.stream_objects,
    "struct-table": tables.struct,
    "target-table": tables.targets,
    "variable-table": command_tables.environment,
}
"""Name of a directive -> the function that writes it."""


def hide_private_defaults(*event: Any) -> tuple[str, str | None] | None:
    """Remove parameters that begin with an underscore, which a hot path binds at definition."""
    signature, returns = event[-2:]
    public, private, _ = (signature or "").partition(", _")
    return (f"{public})", returns) if private else None


def _all_pages(_: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write all pages whenever one changed: the search forgets the index entries of the others."""
    return sorted(env.found_docs)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    for name, render in DIRECTIVES.items():
        app.add_directive(name, _directive(render))
    app.add_directive("rulebook", Rulebook)
    app.connect("env-updated", _all_pages)
    app.connect("autodoc-process-signature", hide_private_defaults)
    return {"parallel_read_safe": True}
