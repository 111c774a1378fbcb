"""Known failures of a library: read from a file, and compared with the verdicts of a run.

Source: TOML 1.0; PEP 440 (specifiers).  A known failure is as expected.  One that no longer happens
is an unexpected pass and fails the run, so that a fix upstream is noticed.  A file is a list of
tables::

    [[failure]]
    check = "newest_versions_are_negotiated[major-2]"
    status = ["fail", "raised"]           # one or several; any bad one when left out
    releases = ">=1.0,<1.4"               # of the library
    python = ">=3.12"
    driver = "emulated"
    reason = "takes a capsule of a major version that it does not know"
    link = "https://..."

``check`` is the name of a check, which includes all of its cases, or of one case, or a list of
these, which fail for the same reason; ``*`` matches any text and ``?`` any one character.
``sometimes = true`` marks an intermittent failure: a pass is as expected, too.
"""

from __future__ import annotations

import importlib
import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange_conformance.findings import BAD
from interchange_conformance.registry import load_checks
from interchange_conformance.reports.model import Judged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from interchange_conformance.findings import Status, Verdict
    from interchange_conformance.reports.model import Standing

_KEYS: Final = {
    "check", "status", "releases", "python", "driver", "sometimes", "reason", "link"
}  # fmt: skip
_NEEDED: Final = ("check", "reason")
DRIVERS: Final = ("none", "emulated", "real")


class ExpectationsError(Exception):
    """A file of known failures is invalid; the message contains the place and the reason."""


class Expectation(NamedTuple):
    """One known failure.

    Attributes
    ----------
    check : str
        Pattern of the items, with wildcards.
    statuses : frozenset of str
        Statuses with which they may end.
    releases : str
        Specifier of the library's releases; empty for all.
    python : str
        Specifier of the Python releases; empty for all.
    drivers : frozenset of str
        The CUDA drivers with which it happens.
    reason, link : str
        The reason, and where it is discussed; a link may be missing.
    where : str
        File and number of the entry, for errors.
    sometimes : bool
        Whether the failure is intermittent.
    """

    check: str
    statuses: frozenset[str]
    releases: str
    python: str
    drivers: frozenset[str]
    reason: str
    link: str
    where: str
    sometimes: bool = False

    def is_of(self, item: str) -> bool:
        """Return whether it applies to an item."""
        return matches(self.check, item)

    def applies(self, release: str, driver: str, python: str = "") -> bool:
        """Return whether it applies to a run.

        Parameters
        ----------
        release : str
            Release of the library; if that is not a valid version, every entry applies.
        driver : {"none", "emulated", "real"}
            The CUDA driver.
        python : str, optional
            Release of Python; by default that of this process.
        """
        python = python or ".".join(map(str, sys.version_info[:3]))
        return (
            driver in self.drivers
            and _contains(self.python, python)
            and _contains(self.releases, release)
        )


def matches(pattern: str, item: str) -> bool:
    """Return whether a pattern matches an item, or its check.

    Parameters
    ----------
    pattern : str
        Characters match themselves, including brackets; ``*`` matches any text, ``?`` any
        character.
    item : str
        As `Check.items` gives it.

    Examples
    --------
    >>> matches("reads_nothing", "reads_nothing[legacy]")
    True
    >>> matches("reads_*[legacy]", "reads_nothing[versioned]")
    False
    """
    wanted = _expression(pattern)
    return any(wanted.fullmatch(name) for name in (item, item.partition("[")[0]))


@lru_cache(maxsize=1024)
def _expression(pattern: str) -> re.Pattern[str]:
    """Return a pattern as a regular expression."""
    letters = {"*": ".*", "?": "."}
    return re.compile("".join(letters.get(one) or re.escape(one) for one in pattern))


# ---------------------------------------------------------------- reading


def shipped_file(module: str) -> Path | None:
    """Return the file of known failures that ships with the kit for a subject, if there is one.

    Parameters
    ----------
    module : str
        Name of the subject's module, such as ``"array_api_strict"``.
    """
    path = Path(__file__).parents[1] / "expected" / f"{module}.toml"
    return path if path.is_file() else None


def read(path: Path | str) -> list[Expectation]:
    """Return the known failures in a TOML file.

    Raises `ExpectationsError`: the file cannot be read, or an entry is invalid.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        toml = "tomllib" if sys.version_info >= (3, 11) else "tomli"
        told = _need(toml, "reading known failures").loads(text)
    except (OSError, ValueError) as error:  # errors of TOML and of UTF-8 are ValueErrors
        raise ExpectationsError(f"{path}: {error}") from error
    if unknown := told.keys() - {"failure"}:
        raise ExpectationsError(f"{path}: it has {min(unknown)!r}; write [[failure]] tables only")
    entries = told.get("failure", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ExpectationsError(f"{path}: write [[failure]], with two brackets")
    return [
        _read_entry({**entry, "check": check}, f"{path}, failure {number}")
        for number, entry in enumerate(entries, 1)
        for check in _checks_of(entry)
    ]


def _checks_of(entry: dict[str, Any]) -> list[Any]:
    """Return the checks of an entry, not yet validated."""
    told = entry.get("check", "")
    return told if isinstance(told, list) and told else [told]


def _need(name: str, what: str) -> Any:
    """Return a module that is an optional dependency."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        distribution = name.partition(".")[0]
        words = f"{what} takes {distribution}; install it with: pip install {distribution}"
        raise ExpectationsError(words) from error


def _read_entry(entry: dict[str, Any], where: str) -> Expectation:
    """Return an entry after validation."""
    if unknown := entry.keys() - _KEYS:
        known = ", ".join(sorted(_KEYS))
        raise ExpectationsError(f"{where}: it has {min(unknown)!r}; there are {known}")
    if missing := [key for key in _NEEDED if not str(entry.get(key) or "").strip()]:
        if "reason" in missing and "reason" in entry:
            words = "its reason is empty; write why it may fail, or fix it and remove the entry"
            raise ExpectationsError(f"{where}: {entry['check']}: {words}")
        raise ExpectationsError(f"{where}: it has no {missing[0]}")
    texts = {key: entry.get(key, "") for key in ("check", "releases", "python", "reason", "link")}
    for key, value in texts.items():
        if not isinstance(value, str):
            raise ExpectationsError(f"{where}: {key} is {value!r}, and no text")
    if texts["link"] and not texts["link"].startswith("https://"):
        raise ExpectationsError(f"{where}: link is {texts['link']!r}, and no https:// address")
    for key in ("releases", "python"):
        _check_specifier(texts[key], f"{where}: {key}")
    sometimes = entry.get("sometimes", False)
    if not isinstance(sometimes, bool):
        raise ExpectationsError(f"{where}: sometimes is {sometimes!r}, and neither true nor false")
    return Expectation(
        statuses=_some(entry, "status", BAD, where),
        drivers=_some(entry, "driver", DRIVERS, where),
        where=where,
        sometimes=sometimes,
        **texts,
    )


def _some(entry: dict[str, Any], key: str, known: Iterable[str], where: str) -> frozenset[str]:
    """Return the words of an entry for a key, one or a list; all if it has none."""
    told = entry.get(key, list(known))
    words = [told] if isinstance(told, str) else told
    if not isinstance(words, list) or not words or set(map(str, words)) - set(known):
        names = ", ".join(sorted(known))
        raise ExpectationsError(f"{where}: {key} is {told!r}, and none or a list of {names}")
    return frozenset(words)


def _check_specifier(text: str, what: str) -> None:
    """Refuse an invalid version specifier."""
    if not text:
        return
    specifiers = _need("packaging.specifiers", "reading ranges of releases")
    try:
        specifiers.SpecifierSet(text)
    except specifiers.InvalidSpecifier as error:
        raise ExpectationsError(f"{what} is {text!r}, and no specifier such as '>=2,<3'") from error


def _contains(specifier: str, release: str) -> bool:
    """Return whether a release is within a range; True for an invalid release."""
    if not specifier:
        return True
    specifiers = _need("packaging.specifiers", "reading ranges of releases")
    versions = _need("packaging.version", "reading ranges of releases")
    try:
        version = versions.Version(release)
    except versions.InvalidVersion:
        return True
    return bool(specifiers.SpecifierSet(specifier).contains(version, prereleases=True))


def refuse_unknown(expectations: Sequence[Expectation], items: Sequence[str]) -> None:
    """Raise an error for an entry that matches no existing check, whatever run it applies to.

    Raises `ExpectationsError`: an entry matches none: its check was renamed or removed.
    """
    _refuse(expectations, items, "that there is")


def _refuse(expectations: Iterable[Expectation], items: Sequence[str], which: str) -> None:
    """Raise an error for an entry that matches none of some items."""
    for one in expectations:
        if not any(one.is_of(item) for item in items):
            words = f"{one.check!r} is no check or case {which}"
            raise ExpectationsError(f"{one.where}: {words}; remove the entry, or rename it")


# ---------------------------------------------------------------- judging


class Expected:
    """The known failures that apply to one run of one subject."""

    def __init__(
        self,
        expectations: Sequence[Expectation],
        release: str,
        driver: str,
        *,
        quirks: bool = False,
        python: str = "",
    ) -> None:
        self._all = [one for one in expectations if one.applies(release, driver, python)]
        self._quirks = quirks

    def of(self, item: str) -> Expectation | None:
        """Return the known failure of an item, or None; of several, the first in the file."""
        return next((one for one in self._all if one.is_of(item)), None)

    def refuse_stale(self, items: Sequence[str]) -> None:
        """Raise an error for an entry that matches none of the items of a whole run.

        Raises `ExpectationsError`: an entry matches none: its check no longer applies to the
        subject.
        """
        _refuse(self._all, items, "by which the subject is judged")

    def decides(self, item: str) -> bool:
        """Return whether the status of an item can affect the result, if no process dies."""
        return self._quirks or not _is_quirk(item)

    def judge(self, verdict: Verdict) -> Judged:
        """Return a verdict with its standing."""
        known = self.of(verdict.item)
        is_bad = verdict.status in BAD
        allowed = not self._quirks and is_allowed(verdict)
        failed: Standing = "allowed" if allowed else "unexpected-failure"
        if known is None or verdict.status == "not-applicable":
            return Judged(verdict, failed if is_bad else "as-expected")
        about = known.reason, known.link, known.releases
        if not is_bad:
            if known.sometimes:
                return Judged(verdict, "as-expected")
            return Judged(verdict, "allowed" if allowed else "unexpected-pass", *about)
        if verdict.status in known.statuses:
            return Judged(verdict, "as-expected", *about)
        return Judged(verdict, failed)


_OF_THE_PROCESS: Final[frozenset[Status]] = frozenset({"crash", "hang", "exit", "broken-subject"})
"""Statuses that no standard permits, for any check."""


def is_allowed(verdict: Verdict) -> bool:
    """Return whether a verdict is permitted by the standards: a QUIRK, and no process died."""
    return _is_quirk(verdict.item) and verdict.status not in _OF_THE_PROCESS


def _is_quirk(item: str) -> bool:
    """Return whether the check of an item is a QUIRK."""
    check = load_checks().get(item.partition("[")[0])
    return check is not None and check.severity == "QUIRK"
