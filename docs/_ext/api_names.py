"""Entries for the public names of a module that no page of the API documents.

Source: the module's ``__all__``.  Needs no Sphinx, as `tables`.
"""

from __future__ import annotations

import importlib
import inspect
import re

from tables import DOCS

ENTRY = re.compile(r"^\.\. (py:\w+|autoclass):: ([\w.]+)((?:\n {13}\w+)*)", re.MULTILINE)
LISTED = re.compile(r"^   ~([\w.]+)$", re.MULTILINE)  # by autosummary, with a page of its own


def listed() -> set[str]:
    """Return the full names that the overviews list, each of which has a page of its own."""
    overviews = sorted((DOCS / "api").glob("*.md"))
    return {name for one in overviews for name in LISTED.findall(one.read_text(encoding="utf-8"))}


def described() -> set[str]:
    """Return the full names of all objects in the API reference: listed, or with an entry."""
    found = listed()
    for path in sorted((DOCS / "api").glob("*.md")):
        module = ""
        for kind, name, more in ENTRY.findall(path.read_text(encoding="utf-8")):
            is_module = kind in {"py:module", "py:currentmodule"}
            module = name if is_module else module
            full = name if is_module or kind == "autoclass" else f"{module}.{name}"
            found |= {full, *(f"{module}.{one}" for one in more.split())}
    return found


def others(module: str) -> str:
    """Return entries for names without one; data with the same docstring share an entry."""
    known, found = described(), importlib.import_module(module)
    entries: dict[str, list[str]] = {}
    for name in found.__all__:
        if f"{module}.{name}" not in known:
            value, full = getattr(found, name), f"{module}.{name}"
            kind = "autoclass" if inspect.isclass(value) else "autofunction"
            is_data = not (inspect.isclass(value) or inspect.isroutine(value))
            text = (
                (inspect.getdoc(value) or "").partition("\n")[0] if is_data else f"{kind}:: {full}"
            )
            entries.setdefault(text, []).append(name)
    blocks = [
        f".. {text}" if "::" in text else _data(names, text) for text, names in entries.items()
    ]
    return "\n".join(f"```{{eval-rst}}\n{block}\n```\n" for block in blocks)


def _data(names: list[str], text: str) -> str:
    """Return one entry for several objects."""
    return f".. py:data:: {f'{chr(10)}             '.join(names)}\n\n   {text}"
