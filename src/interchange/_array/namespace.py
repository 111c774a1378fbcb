"""`Array.__array_namespace__`: gives array-agnostic code `interchange.xp`.

Source: array API standard 2025.12, ``array.__array_namespace__``.
"""

from __future__ import annotations

import importlib
from typing import Any, Final

from interchange._types.errors import ViewError, show

VERSIONS: Final = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""Versions of the standard that the namespace implements; the last is its own."""

_NAMESPACE: Final = f"{__name__.partition('.')[0]}.xp"  # a layer above, imported on demand


def namespace_of(api_version: object) -> Any:
    """Return the namespace, if it implements a version of the standard."""
    if api_version is not None and api_version not in VERSIONS:
        what = f"api_version={show(api_version)}"
        raise ViewError("Array.__array_namespace__()", what, "IX-XP-6")
    return importlib.import_module(_NAMESPACE)
