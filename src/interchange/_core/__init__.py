"""Floor 3: addresses become memory.  The choice of the core, made once, here and nowhere else.

``INTERCHANGE_CORE=ctypes`` or ``native`` forces one and fails loudly.  A twin that is absent is
fine; one that is broken is not, and raises.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from .abc import Core

TWINS: Final = ("native", "ctypes")  # best first

refused: Final[dict[str, str]] = {}
"""Twins that are absent, and why (``python -m interchange`` prints it)."""


def _choose(wanted: str) -> Core:
    """Import the wanted twin, or the best that is there."""
    if wanted and wanted not in TWINS:
        raise ImportError(f"INTERCHANGE_CORE={wanted!r} is not a core; choose one of {TWINS}")
    for twin in (wanted,) if wanted else TWINS:
        module = f"{__name__}._{twin}"
        try:
            return cast("Core", importlib.import_module(module))
        except ModuleNotFoundError as error:
            if error.name != module:  # absent is fine, broken is not
                raise
            if wanted:
                raise ImportError(f"INTERCHANGE_CORE={wanted!r} is not built here") from error
            refused[twin] = str(error)
    raise ImportError(f"no core could be imported: {refused}")


chosen: Final = _choose(os.environ.get("INTERCHANGE_CORE", ""))
"""The core in use."""
core_name: Final = chosen.name

if TYPE_CHECKING:  # what checkers see is the readable twin
    from ._ctypes import (
        ALONE,
        Tensor,
        consume_capsule,
        consume_fresh_capsule,
        consume_managed_tensor,
        describe,
        device_in_capsule,
        exporter,
        fast_import,
        redescribe,
        release,
    )
else:
    ALONE = chosen.ALONE
    Tensor = chosen.Tensor
    redescribe = chosen.redescribe
    describe = chosen.describe
    device_in_capsule = chosen.device_in_capsule
    release = chosen.release
    exporter = chosen.exporter
    fast_import = chosen.fast_import
    consume_capsule = chosen.consume_capsule
    consume_fresh_capsule = chosen.consume_fresh_capsule
    consume_managed_tensor = chosen.consume_managed_tensor

__all__ = [
    "ALONE",
    "TWINS",
    "Tensor",
    "chosen",
    "consume_capsule",
    "consume_fresh_capsule",
    "consume_managed_tensor",
    "core_name",
    "describe",
    "device_in_capsule",
    "exporter",
    "fast_import",
    "redescribe",
    "refused",
    "release",
]
