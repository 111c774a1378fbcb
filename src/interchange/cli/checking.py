"""``interchange check``: hands over to the conformance kit, which judges interchange, too.

Source: interchange.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interchange_conformance import command

if TYPE_CHECKING:
    import argparse
    from typing import Any


def add_parser(commands: Any) -> None:
    """Add the command to those of ``interchange``."""
    words = "judge array libraries by the rule book"
    command.add_arguments(commands.add_parser("check", help=words, description=f"{words}."))


def run(options: argparse.Namespace) -> int:
    """Run it, and return the exit code."""
    code: int = command.run(options)
    return code
