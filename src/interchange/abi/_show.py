"""A stranger's value in a message: short, and never the cause of another error.

Source: interchange.
"""

from __future__ import annotations

from typing import Any


def show(value: Any, most: int = 60) -> str:
    """Return a short repr of a stranger's value; its type when even that fails."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a stranger's repr may raise anything, a long int's too
        return f"a {type(value).__name__}"
    return text if len(text) <= most else f"{text[: most - 3]}..."
