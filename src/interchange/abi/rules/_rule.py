"""The type of a rule: one row of the rule book."""

from __future__ import annotations

from typing import Literal

from interchange.abi._records import NamedTuple

Severity = Literal["MUST", "SHOULD", "QUIRK"]


class Rule(NamedTuple):
    """One row of the rule book.

    Attributes
    ----------
    id : str
        The id that errors, checks and docs cite.
    text : str
        The rule, in one sentence without a full stop.
    hint : str
        What the user can do about it, in the imperative.
    source : str
        The document and the place in it.
    severity : {"MUST", "SHOULD", "QUIRK"}
        MUST: breaking it loses data or crashes; SHOULD: breaking it surprises; QUIRK: allowed, but
        peers differ.
    """

    id: str
    text: str
    hint: str
    source: str
    severity: Severity = "MUST"

    @property
    def way_out(self) -> str:
        """The former name of `hint`, kept for one release."""
        return self.hint


Rule.__module__ = "interchange.abi"
