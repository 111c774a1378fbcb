"""Text of other libraries, made printable and of limited length for reports.

Source: XML 1.0 section 2.2 (characters of a JUnit report), RFC 8259 section 8.2 (lone surrogates).
"""

from __future__ import annotations

from typing import Final

_MOST: Final = 2000  # limit of evidence [characters]


def cleaned(text: str) -> str:
    r"""Return text with non-printable characters escaped; line breaks and tabs are kept.

    Examples
    --------
    >>> cleaned("bell\a, lone surrogate \udc80, \u00e9, zero\0")
    'bell\\x07, lone surrogate \\udc80, é, zero\\x00'
    """
    return "".join(
        one if one.isprintable() or one in "\n\t" else one.encode("unicode_escape").decode()
        for one in text
    )


def shortened(text: str) -> str:
    """Return clean text; the middle of a long text is omitted.

    Examples
    --------
    >>> len(shortened("x" * 5000)) < 2100
    True
    """
    text = cleaned(text)
    if len(text) <= _MOST:
        return text
    half = _MOST // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"


def words_of(thing: object) -> str:
    """Return an object as text, even if its ``__str__`` raises an error.

    Examples
    --------
    >>> words_of(3)
    '3'
    """
    try:
        return str(thing)
    except Exception as error:  # noqa: BLE001 - an error of another library
        return f"a {type(thing).__name__} whose __str__ raises {type(error).__name__}"
