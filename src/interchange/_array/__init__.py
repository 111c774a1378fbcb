"""Layer 5: `Array`, one type, a description of memory with an owner."""

from .array import Array

__all__ = ["Array"]
