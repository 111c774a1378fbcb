"""Layer 5: `Array`, the one array type: a description of memory with an owner."""

from .array import Array

__all__ = ["Array"]
