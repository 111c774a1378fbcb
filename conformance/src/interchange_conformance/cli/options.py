"""The options of ``check`` and ``matrix``, which ``interchange`` adds to its parser.

Parsing a command line imports neither the checks nor an array library.
"""

from __future__ import annotations

import argparse
from typing import Final

from interchange_conformance.registry import ROLES
from interchange_conformance.reports import files

REPORTS: Final = {
    "json": ("as_json", "JSON, everything that was found"),
    "markdown": ("markdown", "Markdown, tables for a page or a comment"),
    "junit": ("junit", "JUnit's XML, for the test view of a CI service"),
    "html": ("html", "a page of HTML, to look things up in"),
    "badge": ("badge", "JSON of two words, which shields.io draws"),
}
"""Option -> module of ``reports`` with ``as_<option>()``, and the purpose of the report."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``check`` to a parser."""
    parser.add_argument(
        "subjects",
        nargs="*",
        metavar=_SUBJECT,
        help="a library that the kit knows, such as 'numpy'; 'module:name', a Subject or a function"
        " that makes arrays; 'all', every library that the kit knows and that is installed",
    )
    what = parser.add_argument_group("what is run")
    what.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="WORD,WORD",
        help="a severity, an area, a rule ('DLP-LIFE-*') or a check ('*_copies*'); words of one"
        " kind add up, kinds narrow each other",
    )
    what.add_argument("--role", action="append", default=[], choices=ROLES, help="judge as this")
    what.add_argument("--fail-fast", action="store_true", help="end at the first that is not as"
                      " expected")  # fmt: skip
    what.add_argument(
        "--fail-on-quirks", action="store_true", help="what the standards allow decides, too"
    )
    what.add_argument("--grid", action="store_true", help="hand arrays from each subject to each")
    what.add_argument(
        "--list",
        action="store_true",
        help="list the items, and run none; of the reports, --json goes with it",
    )
    how = parser.add_argument_group("how it is run")
    how.add_argument("-j", "--jobs", type=_positive, metavar="N", help="at a time (one per core)")
    how.add_argument(
        "--cuda",
        choices=("none", "emulated", "real"),
        default="none",
        help="the CUDA driver: none, the emulated one, or this machine's (none)",
    )
    how.add_argument(
        "--patience", type=_factor, default=1.0, metavar="X", help="multiply time limits by X (1)"
    )
    how.add_argument(
        "--python",
        metavar="PROGRAM",
        default="",
        help="the interpreter to judge in: one whose environment has the library; it need not have"
        " the kit",
    )
    about_known = parser.add_argument_group("known failures")
    about_known.add_argument(
        "--write-known",
        metavar="FILE",
        help="write those of the run; add the reasons by hand ('-': to stdout)",
    )
    known = about_known.add_mutually_exclusive_group()
    known.add_argument("--expected", metavar="FILE", help="known failures of the subject (TOML)")
    known.add_argument("--no-expected", action="store_true", help="know of none")
    reports = parser.add_argument_group("reports")
    for name, (_, purpose) in REPORTS.items():
        files.add_option(reports, name, purpose)


# ---------------------------------------------------------------- matrix

MATRIX_REPORTS: Final = ("json", "markdown", "html")
"""Options of ``matrix`` that write reports."""
DTYPES: Final = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float8_e4m3fn", "float8_e5m2", "bfloat16", "float16", "float32", "float64", "complex64",
    "complex128",
)  # fmt: skip
"""The valid element types for ``--dtype``."""
_ONLY: Final = "LIB,LIB"
_SUBJECT: Final = "SUBJECT"


def add_matrix_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``matrix`` to a parser."""
    for name, what in zip(MATRIX_REPORTS, ("JSON", "Markdown", "a page of HTML"), strict=True):
        files.add_option(parser, name, what)
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="where the arrays are (cpu)"
    )
    parser.add_argument(
        "--columns",
        choices=("in", "out"),
        help="of columns of Arrow: in, columns that become arrays; out, arrays that become columns",
    )
    parser.add_argument(
        "--only", metavar=_ONLY, help="these libraries only, such as 'numpy'; '?' lists the names"
    )
    parser.add_argument("--dtype", choices=DTYPES, default="float32", help="element type (float32)")


def names() -> dict[str, list[str]]:
    """Return the values of words in capitals in the help texts, for completion."""
    from interchange_conformance.matrix.columns import HANDS, kinds_of_columns
    from interchange_conformance.matrix.tables import kinds_of
    from interchange_conformance.running.loading import shipped

    tables = (*map(kinds_of, ("cpu", "cuda")), *map(kinds_of_columns, HANDS))
    libraries = dict.fromkeys(kind.library for kinds in tables for kind in kinds)
    return {_ONLY: list(libraries), _SUBJECT: ["all", *shipped()]}


# ---------------------------------------------------------------- values


def _positive(text: str) -> int:
    """Return a number of jobs."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("it is at least 1")
    return number


def _factor(text: str) -> float:
    """Return a factor of time limits."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError("it is more than 0")
    return number
