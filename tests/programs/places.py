"""The ten programs, and where they are."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "docs" / "examples"
SHOWN = ("arrow_column", "launcher", "mapped_file", "shared_memory", "validated")
"""The programs in the docs."""
OTHERS = ("bfloat16_weights", "fill_any", "frame_ring", "network_frame", "standardize")
PATHS = {name: EXAMPLES / f"{name}.py" for name in SHOWN}
PATHS |= {name: HERE / f"{name}.py" for name in OTHERS}
