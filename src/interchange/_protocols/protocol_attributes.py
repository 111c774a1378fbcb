"""The protocol attributes of an object, found on its type where possible.

Source: CPython, Customizing attribute access; the Arrow PyCapsule interface.  A class with
``__getattr__`` runs it for each missing attribute, which takes Polars microseconds.  A proxy
answers there for the object that it wraps; a class that has methods of Arrow itself is a column or
a table.
"""

from __future__ import annotations

from collections import UserString
from collections.abc import Mapping, Sequence
from types import GetSetDescriptorType
from typing import TYPE_CHECKING, Any, Final

from interchange._types.type_table import TypeTable
from interchange.abi import PyCapsule

if TYPE_CHECKING:
    from typing_extensions import TypeIs

ARROW_METHODS: Final = (
    "__arrow_c_device_array__",
    "__arrow_c_array__",
    "__arrow_c_device_stream__",
    "__arrow_c_stream__",
)
"""The methods of Arrow that export memory, in the order of preference."""
ARRAY_WORDS: Final = ("__dlpack__", "__array_interface__", "__array__")
"""Attributes of objects that export their elements as an array."""
_TAKEN: Final = "__interchange_taken__"  # of data taken by Arrow, and refused

_MOST_TYPES: Final = 512
_answers_for_all: Final[TypeTable[bool]] = TypeTable(_MOST_TYPES)


def attribute(x: Any, name: str) -> Any:
    """Return an attribute of an object, None if it has none.

    `x`: an object, not a class.
    `name`: name of the attribute.

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
        return False  # an attribute lookup is as fast, or runs the type's own code
    has_dict = bool(cls.__dictoffset__) and not _replaces_dict(cls)
    return has_dict and any(has_on_type(cls, word) for word in ARROW_METHODS)


def _replaces_dict(cls: type) -> bool:
    """Whether a type overrides ``__dict__``, as proxies do."""
    found = (base.__dict__["__dict__"] for base in cls.__mro__ if "__dict__" in base.__dict__)
    return any(type(one) is not GetSetDescriptorType for one in found)


def has_on_type(cls: type, name: str) -> bool:
    """Whether a type or a base of it has an attribute, not counting those of its metaclass."""
    for base in cls.__mro__:  # noqa: SIM110 - a generator takes three times as long
        if name in base.__dict__:
            return True
    return False


def supports_arrow(x: Any) -> bool:
    """Whether an object, not a class, has a method of Arrow, or holds data taken by one."""
    return (
        attribute(x, "__arrow_c_array__") is not None
        or attribute(x, "__arrow_c_stream__") is not None
        or attribute(x, "__arrow_c_device_array__") is not None
        or attribute(x, "__arrow_c_device_stream__") is not None
        or has_on_type(type(x), _TAKEN)
    )


def method_of(x: Any) -> str | None:
    """Return which of `ARROW_METHODS` to call on an object, not a class."""
    return next((word for word in ARROW_METHODS if attribute(x, word) is not None), None)


_HAS_DICT: Final = 8
"""Flag of a type whose objects may have attributes of their own."""


def column_method_of(cls: type) -> int:
    """Return how all objects of a type export a column.

    That is the place of a method in `ARROW_METHODS` and 1, and perhaps a flag; 0 if objects may
    differ, or export streams of device memory.
    """
    place = next((i for i, word in enumerate(ARROW_METHODS) if has_on_type(cls, word)), None)
    if place is None or ARROW_METHODS[place] == "__arrow_c_device_stream__":
        return 0
    method = getattr(cls, ARROW_METHODS[place])
    looked_up: Any = cls.__getattribute__
    is_plain = callable(method) and looked_up is object.__getattribute__
    is_open = has_on_type(cls, "__getattr__") and not _is_column(cls)
    if not is_plain or is_open or issubclass(cls, type) or has_on_type(cls, _TAKEN):
        return 0
    return place + 1 + (_HAS_DICT if cls.__dictoffset__ else 0)


def is_read_once(x: Any) -> bool:
    """Whether the data taken from `x` cannot be exported again, as far as is known.

    A stream has no length; an object with a length is a column or a table, which exports any number
    of streams.
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
    """Whether `x` exports a buffer."""
    try:
        memoryview(x).release()
    except (TypeError, BufferError, ValueError):
        return False
    return True


def has_memory(x: Any) -> bool:
    """Whether `x` exports its elements as an array or a buffer."""
    return any(hasattr(x, word) for word in ARRAY_WORDS) or has_buffer(x)


def is_mapping(x: Any) -> TypeIs[Mapping[Any, Any]]:
    """Whether `x` is a mapping, such as a dict."""
    return is_instance(x, Mapping)


def is_instance(x: Any, kind: type) -> bool:
    """Whether `x` is of an abstract class; False for a class that has no hash."""
    try:
        return isinstance(x, kind)
    except TypeError:  # a metaclass may make its classes unhashable
        return False


def is_sequence(x: Any) -> bool:
    """Whether `x` is a sequence, such as a list or a range; not text, and not memory."""
    if isinstance(x, (list, tuple)):
        return True
    if not all(hasattr(type(x), word) for word in ("__len__", "__getitem__")):
        return False
    try:
        if not isinstance(x, Sequence) or isinstance(x, (str, UserString)):
            return False
    except TypeError:  # a metaclass may make its classes unhashable
        return False
    return not has_memory(x)
