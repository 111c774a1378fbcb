"""Attributes of other libraries' arrays that an Array lacks: their errors name the equivalent.

Source: Python's data model, "Implementing Descriptors".  An Array has no ``__getattr__``, which
would make all lookups slower, and ``hasattr`` and ``dir`` do not report these names.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

_FUNCTIONS: Final = (
    "all any argmax argmin argsort clip diff max mean min nonzero prod round sort std sum unstack"
    " var"
)
_XP: Final = "`{}`, with `from interchange import xp`"
_CAST: Final = "`x.astype(dtype)`, or `xp.astype(x, dtype)` with `from interchange import xp`"
_NUMPY: Final = "`np.from_dlpack(x)`, or `np.asarray(x)`"
_HOST: Final = '`x.to_device("cpu")`'

HINTS: Final = {
    **{name: _XP.format(f"xp.{name}(x)") for name in _FUNCTIONS.split()},
    "clone": "`x.copy()`",
    "cpu": _HOST,
    "cuda": '`x.to_device("cuda:0")`',
    "cumprod": _XP.format("xp.cumulative_prod(x, axis=axis)"),
    "cumsum": _XP.format("xp.cumulative_sum(x, axis=axis)"),
    "data_ptr": "`x.ptr`",
    "detach": "`x` itself, which records no gradients",
    "dim": "`x.ndim`",
    "dot": "`x @ y`",
    "element_size": "`x.itemsize`",
    "expand": "`x.broadcast_to(shape)`",
    "fill": "`x[...] = value`",
    "flatten": "`x.reshape(-1, copy=None)`",
    "get": _HOST,
    "is_cuda": "`x.device`",
    "matmul": "`x @ y`",
    "numel": "`x.size`",
    "numpy": _NUMPY,
    "permute": "`x.permute_dims(axes)`",
    "ravel": "`x.reshape(-1, copy=None)`",
    "repeat": _XP.format("xp.repeat(x, repeats)"),
    "squeeze": _XP.format("xp.squeeze(x, axis=axis)"),
    "stride": "`x.strides`",
    "swapaxes": "`x.permute_dims(axes)`",
    "t": "`x.T`",
    "take": _XP.format("xp.take(x, indices, axis=axis)"),
    "to": f"{_HOST} for another device, and {_CAST} for another element type",
    "to_numpy": _NUMPY,
    "transpose": "`x.T`, or `x.permute_dims(axes)`",
    "type": _CAST,
    "unsqueeze": _XP.format("xp.expand_dims(x, axis=axis)"),
}
"""Attribute that an Array lacks -> what to use instead; `x` is the Array."""


class MissingAttribute:
    """A descriptor whose access raises the AttributeError of a missing attribute, with a hint."""

    __slots__ = ("_text",)

    def __init__(self, name: str, hint: str) -> None:
        self._text = f"'interchange.Array' object has no attribute {name!r}; use {hint}"

    def __get__(self, instance: Any, owner: Any = None) -> NoReturn:
        raise AttributeError(self._text)


def add_hints(cls: type) -> None:
    """Let the errors of missing attributes of a class name the equivalent."""
    for name, hint in HINTS.items():
        setattr(cls, name, MissingAttribute(name, hint))
