"""The cause of a verdict: the error of the library, and the line where it was raised.

One error of a library can fail many checks; verdicts with the same cause are one finding.  A cause
is text, so that it can be sent through pipes and stored in reports: ``ValueError: no such
stream (mylib/arrays.py, line 12, in __dlpack__)``.
"""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .printable import cleaned, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_KIT: Final = Path(__file__).parents[1]
_SUBJECTS: Final = _KIT / "subjects"
"""The folder of the kit's subjects, which count as libraries."""
_LONGEST: Final = 300  # of an error message [characters]
_FRAME: Final = re.compile(r'^\s*File "(.+)", line (\d+) in (.+)$', re.MULTILINE)
_VARYING: Final = re.compile(r"0x[0-9a-fA-F]+|\d+")
_ERROR: Final = re.compile(r"\w+: .{6}")  # a text that is long enough to be recognised


def cause_of(error: BaseException | None) -> str:
    """Return the cause of an exception; empty without one."""
    if error is None:
        return ""
    told = _text_of(error)
    return f"{told}{_behind(_places(error)) or _seen.get(told, '')}"


_seen: Final[dict[str, str]] = {}  # of errors whose frames are dropped: these keep arrays alive


def see(error: BaseException) -> None:
    """Record the origin of an error, before its frames are dropped."""
    _seen[_text_of(error)] = _behind(_places(error))


def seen_in(evidence: str) -> str:
    """Return the cause that evidence quotes, among those recorded; the longest if several match."""
    quoted = [told for told in _seen if is_quoted_in(told, evidence)]
    return max((f"{told}{_seen[told]}" for told in quoted), key=len, default="")


def _text_of(error: BaseException) -> str:
    """Return an error's class, and the first line of its message."""
    words = words_of(error).strip().partition("\n")[0][:_LONGEST]
    return f"{type(error).__name__}: {cleaned(words)}" if words else type(error).__name__


def _places(error: BaseException) -> list[str]:
    """Return the lines of libraries in the traceback of an error."""
    frames = traceback.extract_tb(error.__traceback__)
    return [_place(one.filename, one.lineno or 0, one.name) for one in frames]


def cause_of_end(how: str, output: str) -> str:
    """Return the cause for a process that died: the innermost line that Python was executing.

    Parameters
    ----------
    how : str
        The reason of its end, such as ``"SIGSEGV"``.
    output : str
        Its printed output, including that of faulthandler.
    """
    found = _FRAME.findall(output)
    innermost = [_place(file, int(line), name, anywhere=True) for file, line, name in found[:1]]
    return f"{how}{_behind(innermost)}" if innermost else ""


def _place(file: str, line: int, name: str, *, anywhere: bool = False) -> str:
    """Return a line of a library as text; empty for a line of the kit itself, unless requested."""
    path = Path(file)
    ours = _KIT in path.parents and _SUBJECTS not in path.parents
    if (ours or not path.suffix) and not anywhere:
        return ""
    return f"{path.parent.name}/{path.name}, line {line}, in {name}"


def _behind(places: Iterable[str]) -> str:
    """Return the innermost of some places, in brackets; empty if there is none."""
    known = [place for place in places if place]
    return f" ({known[-1]})" if known else ""


def key_of(cause: str) -> str:
    """Return the part of a cause that does not depend on addresses and numbers.

    Examples
    --------
    >>> key_of("ValueError: no stream 4096 (lib/a.py, line 12, in f)")
    'ValueError: no stream # (lib/a.py, line 12, in f)'
    """
    words, place = _parts(cause)
    return _VARYING.sub("#", words) + place


def _parts(cause: str) -> tuple[str, str]:
    """Return the error, and the place in brackets, if there is one."""
    words, _, place = cause.rpartition(" (")
    return (words, f" ({place}") if words and ", line " in place else (cause, "")


def is_quoted_in(cause: str, evidence: str) -> bool:
    """Return whether evidence that a check wrote quotes the error of a cause.

    Examples
    --------
    >>> is_quoted_in("ValueError: no stream 1 (a/b.py, line 2)", "ValueError: no stream 2 came")
    True
    """
    words = _VARYING.sub("#", _parts(cause)[0])
    return bool(_ERROR.match(words)) and words in _VARYING.sub("#", evidence)


def keys_of(causes: Iterable[str]) -> dict[str, str]:
    """Return the key of each cause; a cause without a place has the key of the only similar one.

    Examples
    --------
    >>> set(keys_of(["ValueError: no (a/b.py, line 2, in f)", "ValueError: no"]).values())
    {'ValueError: no (a/b.py, line 2, in f)'}
    """
    keys = {cause: key_of(cause) for cause in causes}
    placed: dict[str, set[str]] = {}
    for key in keys.values():
        words, place = _parts(key)
        if place:
            placed.setdefault(words, set()).add(key)
    alone = {words: min(found) for words, found in placed.items() if len(found) == 1}
    return {cause: alone.get(key, key) for cause, key in keys.items()}


# ---------------------------------------------------------------- the running item

_last = ""


def remember(cause: str) -> None:
    """Store the cause of the item that has just ended in this process."""
    global _last  # noqa: PLW0603 - a process runs one item
    _last = cause


def last() -> str:
    """Return the stored cause."""
    return _last
