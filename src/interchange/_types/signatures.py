"""Signatures of foreign functions, read without evaluating their annotations.

Source: Python, "inspect.signature"; PEP 649.  From CPython 3.14 on annotations are evaluated on
access, and names in them may exist for type checkers only.  Up to CPython 3.11 threads that parse
at the same time, as for signatures of C functions, may raise "AST constructor recursion depth
mismatch" (CPython issue 106905).
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import inspect
    from collections.abc import Collection


_TRIES: Final = 20  # as many threads may interfere, and some more


def signature_of(function: Any, *, follow_wrapped: bool = True) -> inspect.Signature:
    """Return the signature of a function, with annotations as text if they were not evaluated.

    `follow_wrapped`: whether to read the function that a decorator wraps, rather than the
        decorator's own.

    Raises TypeError, ValueError: the function has no signature that can be read.
    """
    for _ in range(_TRIES):
        with contextlib.suppress(SystemError):
            return _read_signature(function, follow_wrapped=follow_wrapped)
    return _read_signature(function, follow_wrapped=follow_wrapped)


def _read_signature(function: Any, *, follow_wrapped: bool) -> inspect.Signature:
    """Return the signature of a function, unless another thread interferes."""
    import inspect  # slow to import

    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(
            function, follow_wrapped=follow_wrapped, annotation_format=Format.STRING
        )
    return inspect.signature(function, follow_wrapped=follow_wrapped)


def demanded_of(function: Any, names: Collection[str]) -> inspect.Signature:
    """Return a signature with some parameters that requires no more than the function itself.

    A decorator that passes on all arguments may add some, as ``unittest.mock.patch`` does: only the
    function knows which of those after the named ones a caller omits.

    `function`: the function, read as by `signature_of`.
    `names`: the parameters that must be present.
    """
    signature = signature_of(function)
    parameters = [*signature.parameters.values()]
    star, stars = _stars_of(signature)
    is_open = hasattr(function, "__wrapped__") and _takes_anything(function)
    if not is_open or {star.name, stars.name} & {*names}:
        return signature
    alone = [one for one in parameters if one.kind is one.KEYWORD_ONLY and one.name in names]
    ordered = [one for one in parameters if one.kind < one.VAR_POSITIONAL]
    while ordered and ordered[-1].name not in names:
        ordered.pop()
    return signature.replace(parameters=[*ordered, star, *alone, stars])


def _takes_anything(function: Any) -> bool:
    """Whether the function's own parameters are ``*args, **keywords`` only."""
    try:
        own = signature_of(function, follow_wrapped=False)
    except (TypeError, ValueError):
        return False
    kinds = [one.kind for one in own.parameters.values()]
    return kinds == [one.kind for one in _stars_of(own)]


def _stars_of(signature: inspect.Signature) -> tuple[inspect.Parameter, inspect.Parameter]:
    """Return the parameters with stars; a missing one gets an unused name."""
    from inspect import Parameter

    found = {one.kind: one for one in signature.parameters.values()}
    free = "_" * (1 + max(map(len, signature.parameters), default=0))
    star = found.get(Parameter.VAR_POSITIONAL, Parameter(free, Parameter.VAR_POSITIONAL))
    stars = found.get(Parameter.VAR_KEYWORD, Parameter(free + "_", Parameter.VAR_KEYWORD))
    return star, stars
