"""The ``interchange`` command: what is installed here, ``inspect``, ``doctor``; and the kit's.

Nothing of the package is imported until its files are known to be those of this distribution.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from interchange._installation import refusal

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

__all__ = ["main", "parser"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    `arguments`: the arguments; those of this process by default.

    Returns the exit code.
    """
    import interchange  # noqa: F401 - it may be the module of another distribution

    if why := refusal():
        print(f"interchange: {why}", file=sys.stderr)
        return 2
    from . import commands, output

    return output.run(lambda: commands.run(arguments))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, which the docs and completion read, too."""
    from . import commands

    return commands.parser()
