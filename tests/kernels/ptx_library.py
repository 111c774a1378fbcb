"""Replaces libdevice for kernels that are not linked with it: ``__nv_sin`` by NumPy, and so on.

Source: CUDA, "libdevice User's Guide".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .reference_numbers import ONE_ARGUMENT, TWO_ARGUMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NUMPYS = {
    "acos": np.arccos, "asin": np.arcsin, "atan": np.arctan, "acosh": np.arccosh,
    "asinh": np.arcsinh, "atanh": np.arctanh, "cos": np.cos, "sin": np.sin, "tan": np.tan,
    "cosh": np.cosh, "sinh": np.sinh, "tanh": np.tanh, "exp": np.exp, "expm1": np.expm1,
    "fabs": np.abs, "log": np.log, "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt,
    "ceil": np.ceil, "floor": np.floor, "atan2": np.arctan2, "pow": np.power,
    "copysign": np.copysign, "fmod": np.fmod, "exp2": np.exp2, "log2": np.log2, "cbrt": np.cbrt,
    "hypot": np.hypot, "nextafter": np.nextafter, "remainder": TWO_ARGUMENTS["remainder"],
    **{name: ONE_ARGUMENT[name] for name in ("erf", "erfc", "lgamma")},
    "ldexp": np.ldexp, "tgamma": ONE_ARGUMENT["gamma"],
}  # fmt: skip
FUNCTIONS = {
    **{f"__nv_{name}": (np.float64, act) for name, act in _NUMPYS.items()},
    **{f"__nv_{name}f": (np.float32, act) for name, act in _NUMPYS.items()},
    **{f"__nv_fast_{name}f": (np.float32, act) for name, act in _NUMPYS.items()},
}
"""Name -> the type of the computation, and its function."""


def library_function(name: str) -> Callable[[Sequence[bytes]], bytes]:
    """Return a function from the bytes of arguments to the bytes of the result.

    Raises
    ------
    KeyError
        It is not known.
    """
    type_, act = FUNCTIONS[name]
    is_scaled = name.startswith("__nv_ldexp")

    def call(arguments: Sequence[bytes]) -> bytes:
        if is_scaled:
            number, exponent = arguments
            found = np.frombuffer(bytes(number), type_)[0]
            return act(found, np.frombuffer(bytes(exponent), np.int32)[0]).tobytes()
        numbers = [np.frombuffer(bytes(data), type_)[0] for data in arguments]
        return type_(act(*map(np.float64, numbers))).tobytes()

    return call
