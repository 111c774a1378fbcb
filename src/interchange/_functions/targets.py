"""`TARGETS`: the libraries that `convert` supports, each from its own file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interchange._types.library import all_libraries

if TYPE_CHECKING:
    from interchange._libraries.target import Target

_FOUND: Final = {name: one for found in all_libraries() for name, one in found.targets.items()}
TARGETS: Final[dict[str, Target]] = {name: _FOUND[name] for name in sorted(_FOUND)}
"""Name of a library -> how it imports arrays; ``"pyarrow"`` makes a ``pyarrow.Tensor``."""
