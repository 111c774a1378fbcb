"""Tuples with named fields, for modules that every import of interchange loads.

Source: Python, ``typing.NamedTuple``, which type checkers see, and ``collections.namedtuple``,
which makes them here.  ``typing`` turns each annotation into an object that is never used here: it
takes twice as long, and imports ``ast`` from CPython 3.14 on.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414 - exported
else:

    class _Made(type):
        """Makes a named tuple from a class body."""

        def __new__(cls, name: str, _: tuple[type, ...], body: dict[str, Any]) -> type:
            """Return the class: fields as annotated, and all other members of the body."""
            fields = body.get("__annotations__", {})
            given = [field for field in fields if field in body]
            if given != list(fields)[len(fields) - len(given) :]:
                raise TypeError(f"{name}: a field without a default follows {given[0]!r}")
            defaults, module = map(body.pop, given), body.pop("__module__")
            made = namedtuple(name, fields, defaults=defaults, module=module)  # noqa: PYI024
            made.__new__.__annotations__ = dict(fields)
            for key, value in body.items():
                setattr(made, key, value)
            return made

    NamedTuple = type.__new__(_Made, "NamedTuple", (), {})
