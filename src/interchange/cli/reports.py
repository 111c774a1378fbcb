"""What the matrix found, as JSON and as Markdown, and the numbered reasons that all reports share.

Markdown is written by hand: it is a table and a list, whose cells refer to
the numbers, and the base install brings no library for it.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange._reports.texts import one_line

from . import forms
from .columns import EVERY, NESTED, START, WIDTH
from .cuda_driver import open_cuda
from .matrix import COPIED, FAILED, REFUSED, SHARED, VERDICTS
from .subjects import COUNT, find_version
from .versions import environment

if TYPE_CHECKING:
    from .matrix import Cell, Matrix

SYMBOLS: Final = {SHARED: "●", COPIED: "○", REFUSED: "✗", FAILED: "!"}
"""What stands for a verdict where there is little room."""
ASCII_SYMBOLS: Final = {SHARED: "=", COPIED: "+", REFUSED: "x", FAILED: "!"}
"""The same, where an encoding has no others."""
_MEANINGS: Final = {
    SHARED: "the same memory, at the same address",
    COPIED: "the memory cannot be shared with it; a copy was asked for, and came",
    REFUSED: "not even a copy can be handed over",
    FAILED: "wrong: interchange or one of the two libraries has a mistake",
}
"""What the verdicts mean."""
_ALIGNED: Final = (
    "; these arrays start at a multiple of 64 bytes, and a note tells what becomes of others where"
    " that differs"
)


class Reason(NamedTuple):
    """Why a hand-over was more than sharing.

    Attributes
    ----------
    rule : str or None
        Id of the rule.
    text : str
        In words.
    """

    rule: str | None
    text: str

    def __str__(self) -> str:
        return self.text if self.rule is None else f"{self.text} [{self.rule}]"


def reason_of(cell: Cell) -> Reason | None:
    """Return the reason of a cell, or None where there is nothing to say."""
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
    """Return what a verdict means in a matrix."""
    is_of_host = matrix.device == "cpu" and matrix.columns is None
    return _MEANINGS[verdict] + (_ALIGNED if verdict == SHARED and is_of_host else "")


def summary(matrix: Matrix) -> str:
    """Return how often each verdict was given, in one line."""
    counts = ", ".join(f"{matrix.count(verdict)} {verdict}" for verdict in VERDICTS)
    return f"{len(matrix.cells)} hand-overs: {counts}."


def command(matrix: Matrix) -> str:
    """Return the command that finds the same."""
    words = "" if matrix.device == "cpu" else " --device cuda"
    words += "" if matrix.columns is None else f" --columns {matrix.columns}"
    return f"python -m interchange matrix{words}"


def place(matrix: Matrix) -> str:
    """Return the driver that the arrays were handed over on, in words; nothing on the host."""
    if matrix.device == "cpu":
        return ""
    facts = open_cuda().facts
    streams = "arrays were filled on one stream, and read on another."
    if facts.is_emulated:
        return f"Run on the emulated CUDA driver, {facts.devices[0]}: {streams}"
    return f"Run on {facts.devices[0]}, with a driver of CUDA {facts.version}: {streams}"


def remarks(matrix: Matrix) -> list[str]:
    """Return what a reader of the table should know about its rows."""
    if matrix.columns is not None:
        return [_about_columns(matrix)]
    lines = [f"Arrays have one axis of {COUNT} elements of {matrix.dtype}."]
    odd = [f"{s.subject.name} {s.dtype}" for s in matrix.samples if s.dtype != matrix.dtype]
    if odd:
        lines.append(f"Other elements: {', '.join(odd)}.")
    readonly = [sample.subject.name for sample in matrix.samples if sample.readonly]
    if readonly:
        lines.append(f"Read-only: {', '.join(readonly)}.")
    return lines


def _about_columns(matrix: Matrix) -> str:
    """Return what a reader should know about columns of Arrow, and arrays that become some."""
    height, width = NESTED
    return (
        f"There are {COUNT} elements of {matrix.dtype} or bool. Rows and lists have {WIDTH}; rows"
        f" of rows, lists of lists and tensors {height} of {width}. Slices begin at element"
        f" {START}, and of {EVERY} elements one is null."
    )


def ran(matrix: Matrix) -> list[str]:
    """Return the distributions that were run, each with its release."""
    found: dict[str, str] = {}
    subjects = [*matrix.consumers, *(sample.subject for sample in matrix.samples)]
    for subject in subjects:
        if subject.distribution is not None:
            found[subject.distribution] = find_version(subject) or "unknown"
    return [f"{name} {version}" for name, version in found.items()]


def releases(matrix: Matrix) -> str:
    """Return which releases were run, and what on, in one line."""
    facts = environment()
    return f"{', '.join(ran(matrix))}; Python {facts['python']} on {facts['platform']}."


# ---------------------------------------------------------------- JSON


def as_dict(matrix: Matrix) -> dict[str, Any]:
    """Return everything that was found, as JSON has it."""
    return {
        **environment(),
        "device": matrix.device,
        "cuda_driver": None if matrix.device == "cpu" else open_cuda().facts._asdict(),
        "columns": matrix.columns,
        "dtype": matrix.dtype,
        "elements": COUNT,
        "producers": [
            {
                "name": sample.subject.name,
                "library": sample.subject.library,
                "version": sample.version,
                "dtype": sample.dtype,
                "readonly": sample.readonly,
            }
            for sample in matrix.samples
        ],
        "consumers": [
            {"name": subject.name, "library": subject.library, "version": find_version(subject)}
            for subject in matrix.consumers
        ],
        "absent": matrix.absent,
        "cells": [asdict(cell) for cell in matrix.cells.values()],
        "counts": {verdict: matrix.count(verdict) for verdict in VERDICTS},
        "ok": matrix.ok,
    }


def as_json(matrix: Matrix) -> str:
    """Return everything that was found, as JSON."""
    return forms.as_text("matrix", as_dict(matrix))


# ---------------------------------------------------------------- Markdown


def as_markdown(matrix: Matrix) -> str:
    """Return the table and its reasons, as a piece of Markdown."""
    numbers = number_reasons(matrix)
    head = ["from ↓ to →", *(subject.name for subject in matrix.consumers)]
    rows = [_row(head), _row(["---"] * len(head))]
    for sample in matrix.samples:
        name = sample.subject.name
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
    """Return text of a library that Markdown shows as it stands."""
    for mark in "\\`*_{}[]<>|":
        text = text.replace(mark, f"\\{mark}")
    return one_line(text)
