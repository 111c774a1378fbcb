"""The matrix as JSON and as Markdown, and the numbered reasons that all reports share."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange_conformance.driver.cuda import opened
from interchange_conformance.reports.texts import one_line

from .columns import EVERY, NESTED, START, WIDTH
from .exchanging import COPIED, FAILED, REFUSED, SHARED, VERDICTS
from .samples import COUNT, distribution_of, version_of

if TYPE_CHECKING:
    from .exchanging import Cell, Matrix

_FORM: Final = 1
"""Version of the JSON document, which grows with an incompatible change."""

SYMBOLS: Final = {SHARED: "●", COPIED: "○", REFUSED: "✗", FAILED: "!"}
"""Verdict -> its symbol."""
ASCII_SYMBOLS: Final = {SHARED: "=", COPIED: "+", REFUSED: "x", FAILED: "!"}
"""The same, for encodings that lack these characters."""
_MEANINGS: Final = {
    SHARED: "the same memory, at the same address",
    COPIED: "the memory cannot be shared; copied, as requested",
    REFUSED: "not even a copy can be handed over",
    FAILED: "wrong: interchange or one of the two libraries has a bug",
}
"""Verdict -> its meaning."""
_ALIGNED: Final = (
    "; these arrays start at a multiple of 64 bytes, and a note says where the result for others"
    " differs"
)


class Reason(NamedTuple):
    """The reason why memory was not shared, or what was needed to share it."""

    rule: str | None
    text: str

    def __str__(self) -> str:
        return self.text if self.rule is None else f"{self.text} [{self.rule}]"


def reason_of(cell: Cell) -> Reason | None:
    """Return the reason of a cell, or None."""
    return None if cell.reason is None else Reason(cell.rule, cell.reason)


def number_reasons(matrix: Matrix) -> dict[Reason, int]:
    """Return the reasons in the order of the table, and the number of each, from 1."""
    numbers: dict[Reason, int] = {}
    for cell in matrix.cells.values():
        reason = reason_of(cell)
        if reason is not None:
            numbers.setdefault(reason, len(numbers) + 1)
    return numbers


def meaning_of(verdict: str, matrix: Matrix) -> str:
    """Return the meaning of a verdict in a matrix."""
    is_of_host = matrix.device == "cpu" and matrix.columns is None
    return _MEANINGS[verdict] + (_ALIGNED if verdict == SHARED and is_of_host else "")


def summary(matrix: Matrix) -> str:
    """Return how often each verdict occurs, in one line."""
    counts = ", ".join(f"{matrix.count(verdict)} {verdict}" for verdict in VERDICTS)
    return f"{len(matrix.cells)} hand-overs: {counts}."


def command(matrix: Matrix) -> str:
    """Return the command that makes the same matrix."""
    words = "" if matrix.device == "cpu" else " --device cuda"
    words += "" if matrix.columns is None else f" --columns {matrix.columns}"
    return f"python -m interchange matrix{words}"


def place(matrix: Matrix) -> str:
    """Return the CUDA driver of the exchanges, as text; empty on the host."""
    if matrix.device == "cpu":
        return ""
    cuda, streams = opened(), "arrays were filled on one stream, and read on another."
    if cuda.is_emulated:
        return f"Run on the emulated CUDA driver, {cuda.names[0]}: {streams}"
    return f"Run on {cuda.names[0]}, with a driver of CUDA {cuda.version}: {streams}"


def remarks(matrix: Matrix) -> list[str]:
    """Return remarks about the rows of the table."""
    if matrix.columns is not None:
        return [_about_columns(matrix)]
    lines = [f"Arrays have one axis of {COUNT} elements of {matrix.dtype}."]
    odd = [f"{s.kind.name} {s.dtype}" for s in matrix.samples if s.dtype != matrix.dtype]
    if odd:
        lines.append(f"Other elements: {', '.join(odd)}.")
    readonly = [sample.kind.name for sample in matrix.samples if sample.readonly]
    if readonly:
        lines.append(f"Read-only: {', '.join(readonly)}.")
    return lines


def _about_columns(matrix: Matrix) -> str:
    """Return remarks about Arrow columns, and arrays that are exported as columns."""
    height, width = NESTED
    return (
        f"There are {COUNT} elements of {matrix.dtype} or bool. Rows and lists have {WIDTH}; rows"
        f" of rows, lists of lists and tensors {height} of {width}. Slices begin at element"
        f" {START}, and of {EVERY} elements one is null."
    )


def ran(matrix: Matrix) -> list[str]:
    """Return the distributions that were run, each with its release."""
    kinds = [*matrix.consumers, *(sample.kind for sample in matrix.samples)]
    found = {distribution_of(kind): version_of(kind) or "unknown" for kind in kinds}
    return [f"{name} {version}" for name, version in found.items() if name]


def releases(matrix: Matrix) -> str:
    """Return the releases that were run, and the platform, in one line."""
    return f"{', '.join(ran(matrix))}; {' on '.join(platform_of())}."


def platform_of() -> tuple[str, str]:
    """Return the release of Python, and the platform."""
    return f"Python {platform.python_version()}", f"{platform.system()} {platform.machine()}"


# ---------------------------------------------------------------- JSON


def as_json(matrix: Matrix) -> str:
    """Return a matrix as JSON, in the form that ``matrix.schema.json`` describes."""
    document = {
        "schema": _FORM,
        **matrix.facts,
        "device": matrix.device,
        "cuda_driver": _driver(matrix),
        "columns": matrix.columns,
        "dtype": matrix.dtype,
        "elements": COUNT,
        "producers": [
            {
                "name": sample.kind.name,
                "library": sample.kind.library,
                "version": sample.version,
                "dtype": sample.dtype,
                "readonly": sample.readonly,
            }
            for sample in matrix.samples
        ],
        "consumers": [
            {"name": kind.name, "library": kind.library, "version": version_of(kind)}
            for kind in matrix.consumers
        ],
        "absent": matrix.absent,
        "cells": [asdict(cell) for cell in matrix.cells.values()],
        "counts": {verdict: matrix.count(verdict) for verdict in VERDICTS},
        "ok": matrix.ok,
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _driver(matrix: Matrix) -> dict[str, Any] | None:
    """Return the CUDA driver's information about itself; None on the host."""
    if matrix.device == "cpu":
        return None
    cuda = opened()
    return {"version": cuda.version, "devices": cuda.names, "is_emulated": cuda.is_emulated}


# ---------------------------------------------------------------- Markdown


def as_markdown(matrix: Matrix) -> str:
    """Return the table and its reasons as Markdown."""
    numbers = number_reasons(matrix)
    head = ["from ↓ to →", *(subject.name for subject in matrix.consumers)]
    rows = [_row(head), _row(["---"] * len(head))]
    for sample in matrix.samples:
        name = sample.kind.name
        cells = (matrix.cells[name, consumer.name] for consumer in matrix.consumers)
        rows.append(_row([f"**{name}**", *(_markdown_cell(cell, numbers) for cell in cells)]))
    used = [verdict for verdict in VERDICTS if matrix.count(verdict)]
    parts = [
        f"<!-- Written by: {command(matrix)} --markdown FILE -->",
        "\n".join(rows),
        place(matrix),
        " ".join([summary(matrix), *remarks(matrix)]),
        "\n".join(f"- {SYMBOLS[one]} {one}: {meaning_of(one, matrix)}" for one in used),
        "\n".join(f"{number}. {_markdown_reason(reason)}" for reason, number in numbers.items()),
        "\n".join(f"- Left out: {name} ({_plain(why)})" for name, why in matrix.absent.items()),
        f"Releases: {releases(matrix)}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: Cell, numbers: dict[Reason, int]) -> str:
    """Return a verdict, with the number of its reason."""
    reason = reason_of(cell)
    text = f"{SYMBOLS[cell.verdict]} {cell.verdict}"
    return text if reason is None else f"{text} ({numbers[reason]})"


def _markdown_reason(reason: Reason) -> str:
    """Return a reason with its rule, for Markdown."""
    rule = "" if reason.rule is None else f" `{reason.rule}`"
    return f"{_plain(reason.text)}{rule}"


def _plain(text: str) -> str:
    """Return text with its marks escaped, so that Markdown shows it unchanged."""
    for mark in "\\`*_{}[]<>|":
        text = text.replace(mark, f"\\{mark}")
    return one_line(text)
