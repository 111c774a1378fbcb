"""Kernels in the form of CuPy: ``from interchange.cuda.cupyx import jit``."""

from __future__ import annotations

from . import jit

__all__ = ["jit"]
