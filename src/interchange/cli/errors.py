"""What a command ends with that cannot do what was asked."""

from __future__ import annotations


class UsageError(Exception):
    """What was asked cannot be done: the command ends with code 2, and the text."""
