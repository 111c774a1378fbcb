"""The attributes of protocols that an object has, found on its type where that has them all.

Source: CPython, Customizing attribute access; the Arrow PyCapsule interface.  A class with
``__getattr__`` runs it for each attribute that is missing, which takes Polars microseconds.  A
proxy answers so for what it stands for; a class that has methods of Arrow itself is a column or a
table.
"""

from __future__ import annotations

from collections import UserString
from collections.abc import Sequence
from types import GetSetDescriptorType
from typing import Any, Final

from interchange._types.type_table import TypeTable
from interchange.abi import PyCapsule

ARROW_METHODS: Final = (
    "__arrow_c_device_array__",
    "__arrow_c_array__",
    "__arrow_c_device_stream__",
    "__arrow_c_stream__",
)
"""The methods of Arrow that give memory; the first that is there is asked."""
ARRAY_WORDS: Final = ("__dlpack__", "__array_interface__", "__array__")
"""Attributes of what gives its elements as an array."""
_TAKEN: Final = "__interchange_taken__"  # of what was taken of Arrow's memory, and refused

_MOST_TYPES: Final = 512
_answers_for_all: Final[TypeTable[bool]] = TypeTable(_MOST_TYPES)


def attribute(x: Any, name: str) -> Any:
    """Return an attribute of an object, None where it has none.

    Parameters
    ----------
    x : object
        No class.
    name : str
        Of the attribute.

    Examples
    --------
    >>> attribute([], "__array__") is None, attribute(1.5, "real")
    (True, 1.5)
    """
    cls = type(x)
    is_known = _answers_for_all.get(cls)
    if is_known is None:
        is_known = _answers_for_all[cls] = _is_column(cls)
    if is_known and not has_on_type(cls, name):
        return x.__dict__.get(name)
    return getattr(x, name, None)


def _is_column(cls: type) -> bool:
    """Whether a type with ``__getattr__`` has methods of Arrow itself."""
    is_plain: bool = getattr(cls, "__getattribute__", None) is object.__getattribute__
    if not has_on_type(cls, "__getattr__") or not is_plain:
        return False  # a look at the object takes no longer, or is its own business
    has_dict = bool(cls.__dictoffset__) and not _replaces_dict(cls)
    return has_dict and any(has_on_type(cls, word) for word in ARROW_METHODS)


def _replaces_dict(cls: type) -> bool:
    """Whether a type gives something else for ``__dict__``, as proxies do."""
    found = (base.__dict__["__dict__"] for base in cls.__mro__ if "__dict__" in base.__dict__)
    return any(type(one) is not GetSetDescriptorType for one in found)


def has_on_type(cls: type, name: str) -> bool:
    """Whether a type or a base of it has an attribute, not counting those of its metaclass."""
    for base in cls.__mro__:  # noqa: SIM110 - a generator takes three times as long
        if name in base.__dict__:
            return True
    return False


def supports_arrow(x: Any) -> bool:
    """Whether an object, which is no class, has a method of Arrow, or was taken by one."""
    return (
        attribute(x, "__arrow_c_array__") is not None
        or attribute(x, "__arrow_c_stream__") is not None
        or attribute(x, "__arrow_c_device_array__") is not None
        or attribute(x, "__arrow_c_device_stream__") is not None
        or has_on_type(type(x), _TAKEN)
    )


def method_of(x: Any) -> str | None:
    """Return which of `ARROW_METHODS` is asked of an object, which is no class."""
    return next((word for word in ARROW_METHODS if attribute(x, word) is not None), None)


def is_read_once(x: Any) -> bool:
    """Whether what was taken of `x` cannot be had again, as far as is known.

    A stream has no length; what has one is a column or a table, which gives as many streams as are
    asked for.
    """
    if isinstance(x, type):
        return False
    if isinstance(x, (PyCapsule, tuple)) or has_on_type(type(x), _TAKEN):
        return True
    method = method_of(x)
    return (
        method is not None and method.endswith("stream__") and not has_on_type(type(x), "__len__")
    )


def has_buffer(x: Any) -> bool:
    """Whether `x` gives a buffer."""
    try:
        memoryview(x).release()
    except (TypeError, BufferError, ValueError):
        return False
    return True


def has_memory(x: Any) -> bool:
    """Whether `x` gives its elements as an array or as a buffer does."""
    return any(hasattr(x, word) for word in ARRAY_WORDS) or has_buffer(x)


def is_sequence(x: Any) -> bool:
    """Whether `x` holds elements in a row, such as a list or a range; no text, and no memory."""
    if isinstance(x, (list, tuple)):
        return True
    if not all(hasattr(type(x), word) for word in ("__len__", "__getitem__")):
        return False
    try:
        if not isinstance(x, Sequence) or isinstance(x, (str, UserString)):
            return False
    except TypeError:  # a metaclass may take the hash away
        return False
    return not has_memory(x)
