"""Operators of an Array: computed by the library that computes on the device of the memory.

Source: array API standard 2025.12, Array object, Operators.  Results are new arrays; in-place
operators keep element type and shape.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, ClassVar

from interchange._core import computed, fast_function, fast_operator
from interchange._libraries.standard_names import OPERATORS
from interchange._protocols.dlpack import READ_ONLY
from interchange._types.errors import ArgumentError, CopyNeededError, ReadOnlyError

from .native_arrays import computing_with, finish, library_array_of, native_of, sharing_with, wrap
from .operands import SCALARS, as_scalar, computes_itself, is_foreign, operand

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from interchange._types.typing import Scalar


_REPEATING = frozenset({"__mul__", "__rmul__", "__imul__"})


def _other(array: Any, other: Any, backend: Any, dunder: str) -> Any:
    """Return the other operand for the library, or NotImplemented if Python is to ask it."""
    kind = type(other)  # by identity: a metaclass may make its classes equal to these
    if kind is float or kind is int or kind is complex or kind is bool:
        return other
    cls = type(array)
    if dunder in _REPEATING and array.shape and isinstance(other, (list, tuple, str)):
        return operand(other, backend, cls, f"Array.{dunder}()")  # else Python asks for an index
    is_known = type(other) is cls or isinstance(as_scalar(other), SCALARS)
    if not is_known and (not is_foreign(other) or computes_itself(other)):
        return NotImplemented
    return operand(other, backend, cls, f"Array.{dunder}()")


def _named(method: Callable[..., Any], dunder: str) -> Callable[..., Any]:
    """Return a method with the name that Python looks up."""
    method.__name__ = dunder
    method.__qualname__ = f"Array.{dunder}"
    return method


def _binary(name: str, dunder: str) -> Callable[[Any, Any], Any]:
    """Return the operator for function `name` of the standard."""

    def method(self: Any, other: Any, /) -> Any:  # one body: each call within costs a tenth
        cls, native = type(self), None
        try:
            library_array: Any = self._library  # one assignment: other threads make it, too
        except AttributeError:
            library_array = None
        backend, own, again = library_array or library_array_of(self)
        if own is None:
            own = native_of(self) if again is None else again()
        if type(other) is cls:
            try:
                theirs, native, _ = other._library
            except AttributeError:
                theirs = None
            native = native if theirs is backend else None
        if native is None:
            native = _other(self, other, backend, dunder)
            if native is NotImplemented:
                return NotImplemented
        result = backend._guarded_operators[name](own, native)
        if backend._uses_streams:
            backend._note_used()
        if type(result) is not backend.plain_type:
            result = backend.as_native(result)
        flags = 0 if backend.is_mutable else READ_ONLY
        return computed(result, (backend, result, None), flags, cls)

    return _fast(name, _named(method, dunder))


def _fast(
    name: str, method: Callable[[Any, Any], Any], *, is_reflected: bool = False
) -> Callable[[Any, Any], Any]:
    """Return a method that the core makes faster if it can."""
    return fast_operator(name, getattr(operator, OPERATORS[name]), method, is_reflected)


def _reflected(name: str, dunder: str) -> Callable[[Any, Any], Any]:
    """Return the operator for an Array on the right."""

    def method(self: Any, other: Any, /) -> Any:
        backend, own = computing_with(self)
        native = _other(self, other, backend, dunder)
        if native is NotImplemented:
            return NotImplemented
        return wrap(backend._guarded_operators[name](native, own), backend, type(self))

    return _fast(name, _named(method, dunder), is_reflected=True)


def _in_place(name: str, dunder: str) -> Callable[[Any, Any], Any]:
    """Return the in-place operator, which writes its result into the Array on the left."""

    def method(self: Any, other: Any, /) -> Any:
        backend, own = sharing_with(self)
        if not backend.is_mutable:
            return NotImplemented  # Python then computes a new array, as the standard allows
        call = f"Array.{dunder}()"
        native = _other(self, other, backend, dunder)
        if native is NotImplemented:
            return NotImplemented
        check_writable(self, call)
        check_shared(self, own, backend, call)
        if type(other) is type(self) and native.dtype != own.dtype:
            _check_dtype(own, native, backend, call)
        updated = backend.update(name, own, native)
        if updated is not own:
            self._library = (backend, updated, None)
        backend.note_written(self)
        return self

    return _named(method, dunder)


def check_shared(array: Any, native: Any, backend: Any, call: str) -> None:
    """Refuse to write if the library has no array over the memory itself.

    Raises CopyNeededError: the library does not support the layout, and would write to a copy
        (DLP-COPY-1).
    """
    if native is None:
        what = f"{backend.name} cannot write to strides {array.strides}"
        raise CopyNeededError(call, what, "DLP-COPY-1", "write to a copy, `x.contiguous()`")


def _check_dtype(own: Any, other: Any, backend: Any, call: str) -> None:
    """Refuse an operand with which the result would have another element type."""
    if backend.function("result_type")(own, other) != own.dtype:
        what = f"elements of {backend.dtype_of(own.dtype)} and {backend.dtype_of(other.dtype)}"
        raise ArgumentError(call, what, "IX-XP-4")


def check_writable(array: Any, call: str) -> None:
    """Refuse to write memory that is read-only, or not known to be writable.

    Raises ReadOnlyError: it is read-only (DLP-RO-3).
    """
    readonly = array.readonly
    if readonly is False:
        return
    kind = "read-only" if readonly else "not known to be writable"
    raise ReadOnlyError(call, f"the memory is {kind}", "DLP-RO-3", "write to a copy, `x.copy()`")


def _unary(name: str, dunder: str) -> Callable[[Any], Any]:
    """Return the unary operator for function `name` of the standard."""

    def method(self: Any, /) -> Any:
        backend, own = computing_with(self)
        return finish(name, backend.function(name)(own), backend, self)

    return fast_function(name, _named(method, dunder), 1)


if TYPE_CHECKING:  # declarations for type checkers of the methods made below

    class Operators:
        """The special methods of arithmetic and comparison."""

        __hash__: ClassVar[None]  # type: ignore[assignment]

        def __abs__(self) -> Self: ...
        def __invert__(self) -> Self: ...
        def __neg__(self) -> Self: ...
        def __pos__(self) -> Self: ...
        def __eq__(self, other: Self | Scalar, /) -> Self: ...  # type: ignore[override]
        def __ge__(self, other: Self | Scalar, /) -> Self: ...
        def __gt__(self, other: Self | Scalar, /) -> Self: ...
        def __le__(self, other: Self | Scalar, /) -> Self: ...
        def __lt__(self, other: Self | Scalar, /) -> Self: ...
        def __ne__(self, other: Self | Scalar, /) -> Self: ...  # type: ignore[override]
        def __add__(self, other: Self | Scalar, /) -> Self: ...
        def __and__(self, other: Self | Scalar, /) -> Self: ...
        def __floordiv__(self, other: Self | Scalar, /) -> Self: ...
        def __lshift__(self, other: Self | Scalar, /) -> Self: ...
        def __matmul__(self, other: Self | Scalar, /) -> Self: ...
        def __mod__(self, other: Self | Scalar, /) -> Self: ...
        def __mul__(self, other: Self | Scalar, /) -> Self: ...
        def __or__(self, other: Self | Scalar, /) -> Self: ...
        def __pow__(self, other: Self | Scalar, /) -> Self: ...
        def __rshift__(self, other: Self | Scalar, /) -> Self: ...
        def __sub__(self, other: Self | Scalar, /) -> Self: ...
        def __truediv__(self, other: Self | Scalar, /) -> Self: ...
        def __xor__(self, other: Self | Scalar, /) -> Self: ...
        def __radd__(self, other: Self | Scalar, /) -> Self: ...
        def __rand__(self, other: Self | Scalar, /) -> Self: ...
        def __rfloordiv__(self, other: Self | Scalar, /) -> Self: ...
        def __rlshift__(self, other: Self | Scalar, /) -> Self: ...
        def __rmatmul__(self, other: Self | Scalar, /) -> Self: ...
        def __rmod__(self, other: Self | Scalar, /) -> Self: ...
        def __rmul__(self, other: Self | Scalar, /) -> Self: ...
        def __ror__(self, other: Self | Scalar, /) -> Self: ...
        def __rpow__(self, other: Self | Scalar, /) -> Self: ...
        def __rrshift__(self, other: Self | Scalar, /) -> Self: ...
        def __rsub__(self, other: Self | Scalar, /) -> Self: ...
        def __rtruediv__(self, other: Self | Scalar, /) -> Self: ...
        def __rxor__(self, other: Self | Scalar, /) -> Self: ...
        def __iadd__(self, other: Self | Scalar, /) -> Self: ...
        def __iand__(self, other: Self | Scalar, /) -> Self: ...
        def __ifloordiv__(self, other: Self | Scalar, /) -> Self: ...
        def __ilshift__(self, other: Self | Scalar, /) -> Self: ...
        def __imatmul__(self, other: Self | Scalar, /) -> Self: ...
        def __imod__(self, other: Self | Scalar, /) -> Self: ...
        def __imul__(self, other: Self | Scalar, /) -> Self: ...
        def __ior__(self, other: Self | Scalar, /) -> Self: ...
        def __ipow__(self, other: Self | Scalar, /) -> Self: ...
        def __irshift__(self, other: Self | Scalar, /) -> Self: ...
        def __isub__(self, other: Self | Scalar, /) -> Self: ...
        def __itruediv__(self, other: Self | Scalar, /) -> Self: ...
        def __ixor__(self, other: Self | Scalar, /) -> Self: ...

else:

    class Operators:
        """The special methods of arithmetic and comparison."""

        __slots__ = ()

        __abs__ = _unary("abs", "__abs__")
        __invert__ = _unary("bitwise_invert", "__invert__")
        __neg__ = _unary("negative", "__neg__")
        __pos__ = _unary("positive", "__pos__")

        __eq__ = _binary("equal", "__eq__")
        __ge__ = _binary("greater_equal", "__ge__")
        __gt__ = _binary("greater", "__gt__")
        __le__ = _binary("less_equal", "__le__")
        __lt__ = _binary("less", "__lt__")
        __ne__ = _binary("not_equal", "__ne__")
        # Arrays compare by elements and cannot be hashed.
        __hash__ = None

        __add__ = _binary("add", "__add__")
        __and__ = _binary("bitwise_and", "__and__")
        __floordiv__ = _binary("floor_divide", "__floordiv__")
        __lshift__ = _binary("bitwise_left_shift", "__lshift__")
        __matmul__ = _binary("matmul", "__matmul__")
        __mod__ = _binary("remainder", "__mod__")
        __mul__ = _binary("multiply", "__mul__")
        __or__ = _binary("bitwise_or", "__or__")
        __pow__ = _binary("pow", "__pow__")
        __rshift__ = _binary("bitwise_right_shift", "__rshift__")
        __sub__ = _binary("subtract", "__sub__")
        __truediv__ = _binary("divide", "__truediv__")
        __xor__ = _binary("bitwise_xor", "__xor__")

        __radd__ = _reflected("add", "__radd__")
        __rand__ = _reflected("bitwise_and", "__rand__")
        __rfloordiv__ = _reflected("floor_divide", "__rfloordiv__")
        __rlshift__ = _reflected("bitwise_left_shift", "__rlshift__")
        __rmatmul__ = _reflected("matmul", "__rmatmul__")
        __rmod__ = _reflected("remainder", "__rmod__")
        __rmul__ = _reflected("multiply", "__rmul__")
        __ror__ = _reflected("bitwise_or", "__ror__")
        __rpow__ = _reflected("pow", "__rpow__")
        __rrshift__ = _reflected("bitwise_right_shift", "__rrshift__")
        __rsub__ = _reflected("subtract", "__rsub__")
        __rtruediv__ = _reflected("divide", "__rtruediv__")
        __rxor__ = _reflected("bitwise_xor", "__rxor__")

        __iadd__ = _in_place("add", "__iadd__")
        __iand__ = _in_place("bitwise_and", "__iand__")
        __ifloordiv__ = _in_place("floor_divide", "__ifloordiv__")
        __ilshift__ = _in_place("bitwise_left_shift", "__ilshift__")
        __imatmul__ = _in_place("matmul", "__imatmul__")
        __imod__ = _in_place("remainder", "__imod__")
        __imul__ = _in_place("multiply", "__imul__")
        __ior__ = _in_place("bitwise_or", "__ior__")
        __ipow__ = _in_place("pow", "__ipow__")
        __irshift__ = _in_place("bitwise_right_shift", "__irshift__")
        __isub__ = _in_place("subtract", "__isub__")
        __itruediv__ = _in_place("divide", "__itruediv__")
        __ixor__ = _in_place("bitwise_xor", "__ixor__")
