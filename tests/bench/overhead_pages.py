"""Makes the tables and the plots of the page "Overhead" from the results of `overhead`.

Source: ``docs/_generated/overhead.json``.  Nothing is measured here, so that the page can be
generated again, and compared with the file, at any time.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))

import plots

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DATA = "overhead.json"
OURS = "interchange"
NATIVE, READABLE = f"{OURS}, native", f"{OURS}, ctypes"
_TIMES = "times np.from_dlpack(x)"


def conditions(data: Mapping[str, Any]) -> str:
    """Return the date, the machine and the releases of the measurement."""
    said = data["conditions"]
    libraries = ", ".join(f"{name} {one}" for name, one in said["libraries"].items() if one)
    missing = [name for name, one in said["libraries"].items() if not one]
    without = f"; not installed: {', '.join(missing)}" if missing else ""
    return (
        f"Measured on {said['day']} at commit {said['commit']}, on {said['machine']},"
        f" CPython {said['python']}, {libraries}{without}; medians of {said['processes']} processes"
        f" and {said['rounds']} rounds; {said['load']:.1f} processes wanted to run meanwhile.\n"
    )


def imports_of(data: Mapping[str, Any], source: str) -> dict[str, list[float]]:
    """Return the importers of a library's array: multiples of the yardstick, and ns."""
    of_core = {core: data["figures"][core]["imports"].get(source, {}) for core in data["figures"]}
    found = {NATIVE: of_core["native"].get(OURS), READABLE: of_core["ctypes"].get(OURS)}
    found |= {name: figure for name, figure in of_core["native"].items() if name != OURS}
    return _sorted({name: figure for name, figure in found.items() if figure})


def _sorted(found: dict[str, list[float]]) -> dict[str, list[float]]:
    """Return the results, the fastest first."""
    return dict(sorted(found.items(), key=lambda item: item[1]))


def imports_table(data: Mapping[str, Any]) -> str:
    """Return the imports of all arrays by all libraries."""
    sources = list(data["figures"]["native"]["imports"])
    columns = [imports_of(data, source) for source in sources]
    return _table("Who imports", [f"{source} array" for source in sources], columns)


def exports_table(data: Mapping[str, Any]) -> str:
    """Return the exports of all libraries."""
    figures = {core: data["figures"][core]["exports"]["all"] for core in data["figures"]}
    found = {NATIVE: figures["native"][OURS], READABLE: figures["ctypes"][OURS]}
    found |= {name: figure for name, figure in figures["native"].items() if name != OURS}
    return _table("Who exports", ["`__dlpack__(max_version=)` and drop"], [_sorted(found)])


def _table(head: str, names: list[str], columns: list[dict[str, list[float]]]) -> str:
    """Return ratios, and times in brackets, as a Markdown table."""
    rows = list(dict.fromkeys(row for column in columns for row in column))
    lines = [f"| {head} | " + " | ".join(names) + " |", "|---|" + "--:|" * len(names)]
    for row in rows:
        cells = [_cell(column.get(row)) for column in columns]
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(figure: list[float] | None) -> str:
    """Return a ratio, and the time in nanoseconds."""
    return f"{plots.shown(figure[0])} ({figure[1]:.0f} ns)" if figure else "refused"


def budgets_table(data: Mapping[str, Any]) -> str:
    """Return the limits of the native core, and its results."""
    lines = ["| What, and what it is compared with | Ratio | Target | |", "|---|--:|--:|---|"]
    for one in data["budgets"]:
        ratios = sorted(one["ratios"])
        ratio = ratios[len(ratios) // 2] if ratios else None
        verdict = one["why"] if ratio is None else "met" if ratio <= one["bar"] else "**missed**"
        shown = "" if ratio is None else f"{ratio:.3f}"
        lines.append(f"| {one['measure']} | {shown} | {one['bar']:g} | {verdict} |")
    return "\n".join(lines) + "\n"


def ctypes_table(data: Mapping[str, Any]) -> str:
    """Return the results of the ctypes core; times are in microseconds."""
    lines = [
        "| What, and what it is compared with | Ratio | Time [microseconds] | Baseline |",
        "|---|--:|--:|--:|",
    ]
    for one in data["ctypes"]:
        shown = [one["why"], "", ""]
        if one["ratios"]:
            ratio = sorted(one["ratios"])[len(one["ratios"]) // 2]
            shown = [f"{ratio:.2f}", *(f"{one[key] / 1e3:.2f}" for key in ("subject", "yardstick"))]
        lines.append(f"| {one['measure']} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def imports_plot(source: str) -> Callable[[Mapping[str, Any]], str]:
    """Return the plot of the importers of a library's array."""

    def draw(data: Mapping[str, Any]) -> str:
        rows = [
            plots.Dot(name, figure[0], (NATIVE, READABLE).index(name) if OURS in name else 2)
            for name, figure in imports_of(data, source).items()
        ]
        return plots.dots(f"Import of an array of {source}", rows, _TIMES)

    return draw


def growth_plot(group: str, title: str, across: str) -> Callable[[Mapping[str, Any]], str]:
    """Return the plot of the growth of an import's cost."""

    def draw(data: Mapping[str, Any]) -> str:
        figures = {core: data["figures"][core][group] for core in data["figures"]}
        numbers = list(figures["native"]["NumPy"])
        numbers.sort(key=int)
        rows = {
            NATIVE: figures["native"][OURS],
            READABLE: figures["ctypes"][OURS],
            "NumPy": figures["native"]["NumPy"],
        }
        series = [
            plots.Line(name, [row[number][0] if number in row else None for number in numbers])
            for name, row in rows.items()
        ]
        ticks = [_short(int(number)) for number in numbers]
        return plots.lines(title, ticks, series, (across, _TIMES))

    return draw


def _short(number: int) -> str:
    """Return a number with a binary prefix."""
    for prefix in ("", "Ki", "Mi"):
        if number < 1024:
            return f"{number}{prefix}"
        number //= 1024
    return f"{number}Gi"


PAGES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "overhead-conditions.md": conditions,
    "overhead-imports.md": imports_table,
    "overhead-exports.md": exports_table,
    "overhead-budgets.md": budgets_table,
    "overhead-ctypes.md": ctypes_table,
    "overhead-numpy.svg": imports_plot("NumPy"),
    "overhead-torch.svg": imports_plot("PyTorch"),
    "overhead-axes.svg": growth_plot("axes", "Import of an ndarray of more axes", "axes"),
    "overhead-bytes.svg": growth_plot("bytes", "Import of a larger ndarray", "size [bytes]"),
    "overhead-threads.svg": growth_plot("threads", "Imports by several threads", "threads"),
}


def pages(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the text of every file that the page includes."""
    return {name: make(data) for name, make in PAGES.items()}
