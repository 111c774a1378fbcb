"""Signatures of the functions of subjects, read without evaluating their annotations.

Source: Python, "inspect.signature"; PEP 649.  From CPython 3.14 on annotations are evaluated when
they are accessed, and names in them may exist for type checkers only.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any


def signature_of(function: Any) -> inspect.Signature:
    """Return the signature of a function; annotations that were not evaluated are text.

    Raises `TypeError, ValueError`: the function has no readable signature.
    """
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(function, annotation_format=Format.STRING)
    return inspect.signature(function)
