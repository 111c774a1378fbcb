"""Operands of a computation: which library computes, and the arrays it is given.

Source: array API standard 2025.12, Type Promotion Rules (scalars) and Device Support.  Foreign
arrays are refused, since their streams are unknown; so are arrays on two devices.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from interchange._types.devices import CPU
from interchange._types.errors import ArgumentError, MixedDevicesError, show
from interchange._types.library import libraries_of
from interchange.abi._show import name_of

from .native_arrays import backend_of_array, computing_with, view_by

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType

    from interchange._libraries.backend import Backend

SCALARS: Final = (int, float, complex)
"""Types of Python's numbers, which promote weakly; some of NumPy's scalars are among them."""
_ARRAY_WORDS: Final = (
    "__array_namespace__",
    "__dlpack__",
    "__cuda_array_interface__",
    "__array_interface__",
    "__array__",
)


def is_foreign(x: object) -> bool:
    """Whether `x` is an array of another library."""
    return any(hasattr(type(x), word) for word in _ARRAY_WORDS)


def computes_itself(x: object) -> bool:
    """Whether `x` has its own operators and is not a library's array: it may wrap an Array."""
    cls = type(x)
    return hasattr(cls, "__radd__") and not any(
        library.is_array_library for library in libraries_of(cls)
    )


def as_scalar(x: Any) -> Any:
    """Return a NumPy scalar as a Python number, and any other object unchanged."""
    kind = type(x)
    if kind is int or kind is float:
        return x
    numpy = sys.modules.get("numpy")
    generic = getattr(numpy, "generic", None)
    return x.item() if generic is not None and isinstance(x, generic) else x


def operand(x: Any, backend: Backend, cls: type[Any], call: str) -> Any:
    """Return the operand for a library: its own array, or a Python scalar.

    Raises MixedDevicesError: `x` is an Array on another device (IX-XP-2).
    Raises ArgumentError: `x` is neither an Array nor a scalar (IX-XP-1).
    """
    if type(x) is cls:
        known = getattr(x, "_library", None)
        if known is None or known[0] is not backend:  # the device decides who computes
            there = CPU if x.device.is_host_accessible else x.device  # a device without a library
            if there is not backend.device:
                raise mixed(call, backend.device, x.device)
        if backend_of_array(x) is backend:
            found, native = computing_with(x)
            if found is backend:  # and not another one that a thread named meanwhile
                return native
        return view_by(x, backend)
    for kind in SCALARS:
        if isinstance(x, kind):
            return x if type(x) is kind or type(x) is bool else kind(x)  # type: ignore[arg-type]
    if isinstance(as_scalar(x), SCALARS):
        return backend.strong_scalar(x)
    raise foreign(call, x)


def mixed(call: str, one: object, other: object) -> MixedDevicesError:
    """Return the error for arrays on two devices."""
    return MixedDevicesError(call, f"one array is on {one}, another on {other}", "IX-XP-2")


def foreign(call: str, x: object) -> ArgumentError:
    """Return the error for an object that is not an Array."""
    name = _parameter_of(x)
    said = name or "an operand"
    if is_foreign(x):
        from interchange._protocols.conversion_hints import library_hint  # for an error only

        first = library_hint(x) or (
            f"first `{name} = interchange.asarray({name})`" if name else None
        )
        return ArgumentError(call, f"{said} is a {name_of(type(x))}", "IX-XP-1", first)
    from interchange._protocols.conversion_hints import conversion_hint  # for an error only

    hint = (not isinstance(x, str) and conversion_hint(x)) or "pass an Array or a number"
    if name and isinstance(x, (bytes, bytearray, memoryview)):
        hint = f"first `{name} = interchange.asarray({name})`"
    return ArgumentError(call, f"{said} is {show(x)}", "IX-XP-1", hint)


def _parameter_of(x: object) -> str | None:
    """Return the parameter of the user's call whose argument is `x`; None for an element of one.

    The call is the outermost one within interchange.
    """
    frame: FrameType | None = sys._getframe(1)
    found = None
    while frame is not None and frame.f_globals.get("__name__", "").startswith("interchange."):
        found, frame = frame, frame.f_back
    if found is None:
        return None
    code = found.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return next((name for name in names if found.f_locals.get(name) is x), None)


def array_of(x: Any, cls: type[Any], call: str) -> Any:
    """Return an Array unchanged, and refuse any other object.

    Raises ArgumentError: `x` is not an Array (IX-XP-1).
    """
    if type(x) is not cls:
        raise foreign(call, x)
    return x


def backend_for(xs: Iterable[Any], cls: type[Any], call: str) -> Backend:
    """Return the library that computes with these operands: that of the first Array.

    Raises ArgumentError: no operand is an Array (IX-XP-1).
    """
    others = []
    for x in xs:
        if type(x) is cls:
            return backend_of_array(x)
        others.append(x)
    if not others:
        raise ArgumentError(call, "no array was passed", "IX-XP-1", "pass at least one Array")
    raise foreign(call, next(filter(is_foreign, others), others[0]))
