"""Argument parsers of the commands, for the extension that prints their options into these pages.

Source: sphinx-argparse, which reads a help text as markup, so that marks in it are escaped here.
In a MyST page::

    ```{argparse}
    :module: commands
    :func: interchange
    :path: matrix
    ```
"""

from __future__ import annotations

import argparse
import re
from functools import partial
from typing import Final

from interchange import cli
from interchange_conformance.emucuda import __main__ as launching

_WIDTH: Final = 80  # of a usage line [characters]
_MARKS: Final = re.compile(r"([\\`*_|])")


def interchange() -> argparse.ArgumentParser:
    """Return the grammar of ``interchange`` and its commands."""
    return _printable(cli.parser())


def launcher() -> argparse.ArgumentParser:
    """Return the parser of the emulated driver's launcher."""
    return _printable(launching.parser())


def _printable(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Return a parser whose texts are printed verbatim, independent of the terminal."""
    parser.formatter_class = partial(argparse.HelpFormatter, width=_WIDTH)
    parser.epilog = escaped(parser.epilog or "")
    for action in parser._actions:
        action.help = escaped(action.help or "")
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _printable(below)
    return parser


def escaped(text: str) -> str:
    """Return text with the markup escaped."""
    return _MARKS.sub(r"\\\1", text)
