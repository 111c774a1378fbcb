"""Rows and columns of the tables of arrays, in their order: on the host, and on CUDA devices."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Final

from interchange_conformance.running.loading import shipped

if TYPE_CHECKING:
    from interchange_conformance.subject import Kind

_ROWS_ONLY: Final = tuple(
    f"interchange_conformance.subjects.{name}" for name in ("_cuda_bindings", "_stdlib")
)
"""Modules with kinds of arrays that are not subjects."""


@cache
def kinds_of(device: str) -> tuple[Kind, ...]:
    """Return every kind of array on a device, in the order of the table.

    Examples
    --------
    >>> kinds_of("cpu")[0].name
    'NumPy'
    """
    attribute = "kinds" if device == "cpu" else "kinds_on_devices"
    modules = [importlib.import_module(name) for name in (*_ROWS_ONLY, *shipped().values())]
    found: list[Kind] = [kind for module in modules for kind in getattr(module, attribute, ())]
    return tuple(sorted(found, key=lambda kind: kind.order))
