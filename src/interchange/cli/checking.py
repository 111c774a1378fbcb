"""``interchange check``: hands over to the conformance kit, which judges interchange, too.

Source: interchange.  Only its options are read at once: what judges is imported when it shall.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interchange_conformance.options import add_arguments

if TYPE_CHECKING:
    import argparse
    from typing import Any


def add_parser(commands: Any) -> None:
    """Add the command to those of ``interchange``."""
    words = "judge array libraries by the rule book"
    add_arguments(commands.add_parser("check", help=words, description=f"{words}."))


def run(options: argparse.Namespace) -> int:
    """Run it, and return the exit code."""
    from interchange_conformance import command

    code: int = command.run(options)
    return code
