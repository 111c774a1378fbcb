"""Names of NumPy and PyTorch that the namespace lacks: their errors name the standard's function.

Source: NumPy, "Main namespace"; array API standard 2025.12.
"""

from __future__ import annotations

from typing import Any, Final

_TRIGONOMETRIC: Final = "sin cos tan sinh cosh tanh tan2"
OTHERS: Final = {
    **{f"arc{name}": f"xp.a{name}" for name in _TRIGONOMETRIC.split()},
    "absolute": "xp.abs",
    "amax": "xp.max",
    "amin": "xp.min",
    "array": "xp.asarray",
    "as_tensor": "xp.asarray",
    "ascontiguousarray": "Array.contiguous",
    "bitwise_not": "xp.bitwise_invert",
    "cat": "xp.concat",
    "concatenate": "xp.concat",
    "conjugate": "xp.conj",
    "cumprod": "xp.cumulative_prod",
    "cumsum": "xp.cumulative_sum",
    "dot": "xp.matmul",
    "float": "xp.float64",
    "hstack": "xp.concat",
    "identity": "xp.eye",
    "int": "xp.int64",
    "invert": "xp.bitwise_invert",
    "left_shift": "xp.bitwise_left_shift",
    "mod": "xp.remainder",
    "mul": "xp.multiply",
    "permute": "xp.permute_dims",
    "power": "xp.pow",
    "ravel": "xp.reshape(x, (-1,))",
    "right_shift": "xp.bitwise_right_shift",
    "swapaxes": "xp.permute_dims",
    "tensor": "xp.asarray",
    "transpose": "xp.permute_dims",
    "true_divide": "xp.divide",
    "unique": "xp.unique_values",
    "unsqueeze": "xp.expand_dims",
    "vstack": "xp.concat",
}
"""Name -> what the standard has instead."""


def __getattr__(name: str) -> Any:
    """Raise the AttributeError of a missing name, with the standard's name for it."""
    instead = OTHERS.get(name)
    hint = "" if instead is None else f"; use `{instead}`"
    raise AttributeError(f"module 'interchange.xp' has no attribute {name!r}{hint}")
