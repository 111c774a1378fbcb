"""The public interface with the core in use: prints it as JSON, aspect of a name -> its value.

For every public object: its type, its parameters, whether they are annotated, its docstring; and
for every case of the docs' page on errors, the message.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "docs" / "_ext"))

import error_tables

MODULES = (
    "interchange",
    *(f"interchange.{name}" for name in ("abi", "compat", "cuda", "testing", "typing", "xp")),
    "interchange.xp.fft",
    "interchange.xp.linalg",
)


class Plain:
    """What every class has, one of Python or one of C."""

    __slots__ = ("__dict__", "__weakref__")
    field: int


OF_EVERY_CLASS = {*dir(Plain), "__annotate_func__", "__annotations_cache__"}


def aspects_of(value):
    """Yield the public properties of an object."""
    yield "type", type(value).__name__
    yield "words", inspect.getdoc(value)
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return
    shown = [one for one in signature.parameters.values() if one.name != "self"]
    bare = [f"{one.kind.name} {one.replace(annotation=one.empty)}" for one in shown]
    yield "parameters", [re.sub(r"0x[0-9a-f]+|\d{10,}", "ADDRESS", text) for text in bare]
    yield "annotations", any(one.annotation is not one.empty for one in shown) or not shown


def surface():
    """Yield every aspect of everything public."""
    for place in MODULES:
        module = importlib.import_module(place)
        for name in getattr(module, "__all__", None) or vars(module):
            value = getattr(module, name)
            if name.startswith("_") or inspect.ismodule(value):
                continue
            members = [] if not inspect.isclass(value) else dir(value)
            found = {name: value} | {
                f"{name}.{member}": inspect.getattr_static(value, member)
                for member in members
                if member not in OF_EVERY_CLASS and not re.match("_[^_]", member)
            }
            for full, each in found.items():
                yield from ((f"{place}.{full} {aspect}", seen) for aspect, seen in aspects_of(each))


def refusals():
    """Yield the messages of all cases whose libraries are installed."""
    for title, group in error_tables.load().GROUPS.items():
        for case in filter(lambda one: not error_tables.missing(one), group):
            error = error_tables.meet(case)
            said = f"{type(error).__name__}: {error}"
            yield f"{title}: {case.cause}", re.sub(r"\b(0x[0-9a-f]+|\d{10,})\b", "ADDRESS", said)


warnings.simplefilter("ignore")
print(json.dumps(dict([*surface(), *refusals()])))
