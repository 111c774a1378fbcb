"""Directives that show the verdicts of the kit's last run: a heat map, and a table per library.

Source: ``_generated/conformance.json``, which ``verdicts`` writes.  In a MyST page::

    ```{verdicts-of} numpy
    ```
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from heat_maps import NOTHING, Cell, Column, Row, heat_map, legend
from tables import DOCS, address, sentence, table

from interchange import abi
from interchange_conformance.registry import AREAS, SEVERITIES
from interchange_conformance.reports import texts
from interchange_conformance.reports.states import BY_KEY, GROUPS, in_words, worst
from interchange_conformance.reports.tabulating import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from docutils import nodes
    from sphinx.application import Sphinx

VERDICTS: Final = DOCS / "_generated" / "conformance.json"
_PAGES: Final[Mapping[str, str]] = {"cuda-core-buffer": "cuda-core"}
"""Name of a library on the command line -> its page, if that has another name."""
_APART: Final[Mapping[str, tuple[str, str]]] = {"interchange": ("ARROW-", "interchange-arrow")}
"""Name of a library with two pages -> rule prefixes of the second page, and its name."""
_ROLES: Final[Mapping[str, str]] = {
    "producer": "As a producer",
    "consumer": "As a consumer",
    "arrow_producer": "As a producer of Arrow",
    "arrow_consumer": "As a consumer of Arrow",
}
_PASS: Final = Cell("pass", "✓", "pass")
_NONE: Final = Cell("not-applicable", "—", "not applicable")
_KNOWN: Final[Mapping[str, Cell]] = {
    severity: Cell(severity.lower(), severity[0], f"a known failure of a {severity}")
    for severity in SEVERITIES
}


@cache
def run() -> dict[str, Any]:
    """Return the results of the run."""
    found: dict[str, Any] = json.loads(VERDICTS.read_text(encoding="utf-8"))
    return found


def page_of(spec: str, rule: str = "") -> str:
    """Return the address of a library's page from the overview; or of a rule's row in it."""
    page = _APART[spec][1] if _is_apart(spec, rule) else _PAGES.get(spec, spec)
    return f"conformance/{page}.html"


def _is_apart(spec: str, rule: str) -> bool:
    """Whether the row of a rule is on the second page of a library."""
    return spec in _APART and rule.startswith(_APART[spec][0])


def anchor(spec: str, rule: str) -> str:
    """Return the name of a rule's row on a library's page."""
    return f"{spec}-{rule.lower()}"


# ---------------------------------------------------------------- rules by libraries


def rows_by_rule() -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the rows of the run by area and rule; a rule is in the first of its areas alone."""
    areas: dict[str, str] = {}
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for row in run()["rows"]:
        area = areas.setdefault(row["rule"], row["area"])
        found.setdefault(area, {}).setdefault(row["rule"], []).append(row)
    return found


def cell_of(rows: Iterable[Mapping[str, Any]], spec: str) -> Cell:
    """Return how a library conforms to a rule, in all roles together.

    Parameters
    ----------
    rows : iterable
        The rows of the rule.
    spec : str
        The library's name on the command line.
    """
    found = [(BY_KEY[row["states"][spec]], row) for row in rows if spec in row["states"]]
    state = worst(state for state, _ in found)
    if state is None:
        return NOTHING
    if state.group == "pass":
        return _PASS
    if state.group == "not-applicable":
        return _NONE
    if state.group == "unexpected":
        return Cell("unexpected", state.symbol, state.word)
    broken = [row["severity"] for one, row in found if one.group in {"known", "quirk"}]
    return _KNOWN[min(broken, key=SEVERITIES.index)]


def rules_by_libraries() -> str:
    """Return the heat map of all rules and all libraries."""
    specs = [one["spec"] for one in run()["libraries"]]
    columns = [Column(one["name"], page_of(one["spec"])) for one in run()["libraries"]]
    rows = []
    for area, rules in rows_by_rule().items():
        rows.append(Row(AREAS[area], "", ()))
        for rule, found in rules.items():
            cells = [_leading(cell_of(found, spec), spec, rule) for spec in specs]
            link = address(rule) if rule in abi.RULES else ""
            rows.append(Row(rule, link, cells))
    signs = [
        *((cell, f"{cell.words}, and told on the library's page") for cell in _KNOWN.values()),
        (_PASS, "the rule is kept"),
        (_NONE, "the library has nothing that the rule applies to"),
    ]
    return legend(signs) + heat_map("Rules by libraries", "Rule", columns, rows)


def _leading(cell: Cell, spec: str, rule: str) -> Cell:
    """Return a cell that leads to its row on the library's page, where it has one."""
    if not cell.sign or cell == _NONE:
        return cell
    return cell._replace(link=f"{page_of(spec, rule)}#{anchor(spec, rule)}")


def exchanges() -> str:
    """Return the heat map of producers by consumers."""
    grid = run()["grid"]
    producers = dict.fromkeys(one for one, _, _ in grid)
    consumers = dict.fromkeys(one for _, one, _ in grid)
    found = {(producer, consumer): status for producer, consumer, status in grid}
    rows = [
        Row(producer, "", [_exchange(found.get((producer, one))) for one in consumers])
        for producer in producers
    ]
    used = {status for _, _, status in grid}
    signs = [
        (_exchange(status), f"{status}: {outcome.meaning}")
        for status, outcome in OUTCOMES.items()
        if status in used
    ]
    columns = [Column(one) for one in consumers]
    return legend(signs) + heat_map("Producers by consumers", "from ↓ to →", columns, rows)


def _exchange(status: str | None) -> Cell:
    """Return the cell of an exchange."""
    if status is None:
        return NOTHING
    kind = status if status in {"shared", "copied", "refused"} else "unexpected"
    return Cell(kind, OUTCOMES[status].symbol, status)


# ---------------------------------------------------------------- tables


def summary() -> str:
    """Return how many items of each library ended how, as Markdown."""
    rows = [
        (
            f"[{sentence(one['name'])}](conformance/{_PAGES.get(one['spec'], one['spec'])}.md)",
            sentence(one["release"]),
            *(str(number) for number in one["counts"].values()),
        )
        for one in run()["libraries"]
    ]
    heads = [name.capitalize() for name in GROUPS.values()]
    return f"{table(('Library', 'Release', *heads), rows)}\n\n{place()}"


def place() -> str:
    """Return the subjects of the run."""
    found = run()
    where = f"Python {found['python']} on {sentence(found['platform'])}"
    return f"interchange {found['kit']}; {where}; CUDA driver: {found['driver']}."


def verdicts_of(spec: str) -> str:
    """Return the verdicts on one library, as Markdown.

    Parameters
    ----------
    spec : str
        The library's name on the command line; or the name of its second page.

    Raises
    ------
    ValueError
        The run did not include this library.
    """
    page = spec
    spec = next((one for one, (_, second) in _APART.items() if second == page), page)
    about = next((one for one in run()["libraries"] if one["spec"] == spec), None)
    if about is None:
        raise ValueError(f"{VERDICTS.name} is not about {spec!r}")
    kept = {
        rule: found
        for rules in rows_by_rule().values()
        for rule, found in rules.items()
        if _is_apart(spec, rule) is (page != spec)
    }
    about_it = [row for row in _rows_of(spec) if row["rule"] in kept]
    roles = [role for role in _ROLES if any(role == row["role"] for row in about_it)]
    rows = []
    for rule, found in kept.items():
        cells = [cell_of([one for one in found if one["role"] == role], spec) for role in roles]
        if any(cell.sign and cell != _NONE for cell in cells):
            name = f"[{rule}]{{#{anchor(spec, rule)}}}"
            rows.append((name, sentence(texts.sentence(abi.RULES[rule].text)), *map(_words, cells)))
    counts = ", ".join(in_words(about["counts"]))
    head = table(("Rule", "Says", *(_ROLES[role] for role in roles)), rows)
    return f"Release {sentence(about['release'])}: {counts}.\n\n{head}\n\n{place()}"


def _rows_of(spec: str) -> list[dict[str, Any]]:
    """Return the rows that a library is in."""
    return [row for row in run()["rows"] if spec in row["states"]]


def _words(cell: Cell) -> str:
    """Return a cell of a table."""
    if not cell.sign or cell == _NONE:
        return ""
    known = next((severity for severity, one in _KNOWN.items() if one == cell), "")
    return f"◆ known {known}" if known else f"{cell.sign} {cell.words}"


# ---------------------------------------------------------------- directives

AS_HTML: Final[Mapping[str, Callable[..., str]]] = {
    "exchange-heat-map": exchanges,
    "rule-heat-map": rules_by_libraries,
}
AS_MARKDOWN: Final[Mapping[str, Callable[..., str]]] = {
    "verdict-summary": summary,
    "verdicts-of": verdicts_of,
}


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    from docutils import nodes
    from sphinx.util.docutils import SphinxDirective

    class Shown(SphinxDirective):
        optional_arguments = 1

        def run(self) -> list[nodes.Node]:
            self.env.note_dependency(str(VERDICTS))
            if make := AS_HTML.get(self.name):
                return [nodes.raw("", make(*self.arguments), format="html")]
            return list(self.parse_text_to_nodes(AS_MARKDOWN[self.name](*self.arguments)))

    for name in (*AS_HTML, *AS_MARKDOWN):
        app.add_directive(name, Shown)
    return {"parallel_read_safe": True}
