"""Runs one item in an interpreter of its own, whose end is part of the check.

Source: interchange.  What the check leaves behind is freed by the end of the interpreter.
"""

from __future__ import annotations

import json
import sys

from ..registry import load_checks
from .loading import load_subject
from .nursery import run_here


def main(arguments: list[str]) -> None:
    """Run an item, say how it ended, and end.

    Parameters
    ----------
    arguments : list of str
        Where the verdict goes to (a file descriptor), the subject's spec, the item, and
        ``sys.path`` as JSON.
    """
    writing, spec, item, path = arguments
    sys.path[:] = json.loads(path)
    load_checks()
    run_here(item, load_subject(spec), int(writing), 1)


if __name__ == "__main__":
    main(sys.argv[1:])
