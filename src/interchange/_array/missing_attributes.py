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
    "add_": "`x += other`",
    "clone": "`x.copy()`",
    "copy_": "`x[...] = other`",
    "cpu": _HOST,
    "cuda": '`x.to_device("cuda:0")`',
    "cumprod": _XP.format("xp.cumulative_prod(x, axis=axis)"),
    "cumsum": _XP.format("xp.cumulative_sum(x, axis=axis)"),
    "data_ptr": "`x.ptr`",
    "detach": "`x` itself, which records no gradients",
    "dim": "`x.ndim`",
    "double": "`x.astype('float64')`",
    "dot": "`x @ y`",
    "element_size": "`x.itemsize`",
    "expand": "`x.broadcast_to(shape)`",
    "fill": "`x[...] = value`",
    "fill_": "`x[...] = value`",
    "flatten": "`x.reshape(-1, copy=None)`",
    "float": "`x.astype('float32')`",
    "get": _HOST,
    "half": "`x.astype('float16')`",
    "int": "`x.astype('int32')`",
    "is_cuda": "`x.device`",
    "long": "`x.astype('int64')`",
    "matmul": "`x @ y`",
    "mul_": "`x *= other`",
    "new": _XP.format("xp.empty_like(x)"),
    "numel": "`x.size`",
    "numpy": _NUMPY,
    "permute": "`x.permute_dims(axes)`",
    "ravel": "`x.reshape(-1, copy=None)`",
    "repeat": _XP.format("xp.repeat(x, repeats)"),
    "squeeze": _XP.format("xp.squeeze(x, axis=axis)"),
    "stride": "`x.strides`",
    "sub_": "`x -= other`",
    "swapaxes": "`x.permute_dims(axes)`",
    "t": "`x.T`",
    "take": _XP.format("xp.take(x, indices, axis=axis)"),
    "to": f"{_HOST} for another device, and {_CAST} for another element type",
    "to_numpy": _NUMPY,
    "transpose": "`x.T`, or `x.permute_dims(axes)`",
    "type": _CAST,
    "unsqueeze": _XP.format("xp.expand_dims(x, axis=axis)"),
    "zero_": "`x[...] = 0`",
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
