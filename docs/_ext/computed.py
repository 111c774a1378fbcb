"""Records which names of `interchange.xp` each library computes, with the installed releases.

``python docs/_ext/computed.py`` checks every library with a backend, and keeps the records of those
that are not installed.
"""

from __future__ import annotations

import importlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from interchange._libraries.array_api_gaps import fill_gaps
from interchange.xp._table import TABLE

FOUND: Final = Path(__file__).parents[1] / "_generated" / "backends.json"
OURS: Final = frozenset(
    {"broadcast_shapes", "finfo", "from_dlpack", "iinfo", "isdtype"}
    | {f"{name}_like" for name in ("empty", "full", "ones", "zeros")}
)
"""Names that interchange implements without the library, or by another name of the library."""
NAMESPACES: Final = {
    "numpy": ("numpy", "numpy"),
    "cupy": ("array_api_compat.cupy", "cupy-cuda13x"),
    "torch": ("array_api_compat.torch", "torch"),
    "jax": ("jax.numpy", "jax"),
}
"""Library -> where its backend finds the standard's names, and its distribution."""


def lacking(library: str) -> dict[str, Any] | None:
    """Return a library's release and the names that it lacks, or None if it is not installed."""
    module, distribution = NAMESPACES[library]
    try:
        namespace = importlib.import_module(module)
    except ImportError:
        return None
    if library == "numpy":
        namespace = fill_gaps(namespace)
    missing = [name for name in TABLE if name not in OURS and not _has(namespace, name)]
    return {"release": version(distribution), "lacks": missing}


def _has(namespace: Any, name: str) -> bool:
    """Whether a namespace has a name, perhaps of an extension."""
    for part in name.split("."):
        namespace = getattr(namespace, part, None)
    return namespace is not None


def main() -> None:
    """Write the records."""
    known = json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() else {}
    for library in NAMESPACES:
        found = lacking(library)
        if found is not None:
            known[library] = found
    FOUND.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
