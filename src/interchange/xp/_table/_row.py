"""`Row`: a function of the namespace, in words."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """A function of the namespace.

    Attributes
    ----------
    summary : str
        What it does.
    example : str
        A call, after ``from interchange import xp``.
    result : str
        What that prints.
    """

    summary: str
    example: str
    result: str
