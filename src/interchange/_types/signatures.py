"""Parameters of functions of others, read without evaluating their annotations.

Source: Python, "inspect.signature"; PEP 649.  From CPython 3.14 on annotations are evaluated when
somebody asks for them, and names in them may exist for type checkers only.  Up to CPython 3.11
threads that parse at once, as is done for signatures of functions in C, disturb each other: one is
told "AST constructor recursion depth mismatch", for nothing that it did (CPython issue 106905).
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import inspect


_TRIES: Final = 20  # as many as threads may come between, and some


def signature_of(function: Any) -> inspect.Signature:
    """Return the signature of a function, its annotations as text where they were not evaluated.

    Raises
    ------
    TypeError, ValueError
        It has none that can be read.
    """
    for _ in range(_TRIES):
        with contextlib.suppress(SystemError):
            return _read_signature(function)
    return _read_signature(function)


def _read_signature(function: Any) -> inspect.Signature:
    """Return the signature of a function, unless another thread disturbs it."""
    import inspect  # takes long

    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(function, annotation_format=Format.STRING)
    return inspect.signature(function)
