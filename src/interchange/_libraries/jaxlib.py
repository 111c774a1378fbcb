"""The module of JAX's compiled types, such as ``jaxlib._jax.ArrayImpl``."""

from __future__ import annotations

from .jax import LIBRARY as LIBRARY  # noqa: PLC0414 - exported
