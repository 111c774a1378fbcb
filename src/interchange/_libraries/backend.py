"""`Backend`: a library that computes on one device.

Source: array API standard 2025.12.  A backend converts descriptions of memory to arrays of its
library and back, without copies; the functions are the library's own.
"""

from __future__ import annotations

import operator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Final

from interchange._types.dtypes import DType
from interchange._types.errors import (
    ArgumentError,
    BackendUnavailableError,
    UnsupportedDTypeError,
    ViewError,
)
from interchange._types.numpy_dtypes import load_numpy

from .standard_names import INPLACE, OPERATORS, STANDARD_DTYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from interchange._core import Tensor
    from interchange._types.devices import Device


_NO_CONTEXT: Final = nullcontext()


class Backend:
    """A library that computes on one device.  Subclass it to add a library.

    Parameters
    ----------
    device : Device
        The device of its arrays; there is one backend for each device.
    namespace : object
        A module with the standard's functions, and ``linalg`` and ``fft``.

    Attributes
    ----------
    name : str
        Name of the library.
    array_type : class
        The class of its arrays.
    plain_type : class or None
        The same, if all its results can be used unchanged; `as_native` converts all others.
    is_mutable : bool
        Whether its arrays can be written.
    keeps_readonly : bool
        Whether its arrays can be marked read-only, which they report by
        ``array.flags.writeable``.
    checks_indices : bool
        Whether its arrays are indexed as NumPy's are: by ndarrays, by integers of every type, and
        with an IndexError for an index out of bounds.
    uses_operators : bool
        Whether ``x + y`` of its arrays promotes as ``add(x, y)`` does by the standard.

    Notes
    -----
    Packages register backends by an entry point of the group "interchange.backends": its name is an
    argument of `interchange.set_backend`, its object is called with a `Device` and returns a
    Backend, or raises LookupError if it does not compute on that device.

    Examples
    --------
    >>> import interchange as ix
    >>> ix.Backend.is_mutable
    True
    """

    name: ClassVar[str] = "a library"
    is_mutable: ClassVar[bool] = True
    keeps_readonly: ClassVar[bool] = False
    checks_indices: ClassVar[bool] = False
    uses_operators: ClassVar[bool] = True
    _creates_anywhere: ClassVar[bool] = True  # whether `keywords` and `current` matter
    _uses_streams: ClassVar[bool] = False  # whether `_note_used` is called after each computation
    array_type: type[Any]
    plain_type: type[Any] | None = None

    def __init__(self, device: Device, namespace: Any) -> None:
        self.device = device
        self.namespace = namespace
        self.operators: dict[str, Callable[[Any, Any], Any]] = self._find_operators()
        self._guarded_operators = self.operators  # as methods in Python call them
        self._functions: dict[str, Callable[..., Any]] = {}
        self._native_dtypes: dict[DType, Any] = {}
        self._dtypes: dict[Any, DType] = {}
        self._promotions: dict[Any, DType] = {}

    def _find_operators(self) -> dict[str, Callable[[Any, Any], Any]]:
        """Return the function for each binary operator, by the standard's name."""
        if self.uses_operators:
            return {name: getattr(operator, dunder) for name, dunder in OPERATORS.items()}
        return {name: getattr(self.namespace, name) for name in OPERATORS}

    # ------------------------------------------------------------ implemented by each library

    def view(self, tensor: Tensor) -> Any:
        """Return an array of the library that shares described memory."""
        raise NotImplementedError

    def describe(self, native: Any, cls: type[Any]) -> Any:
        """Return an Array of class `cls` over an array of the library, which it keeps alive."""
        raise NotImplementedError

    def find_dtype(self, dtype: DType) -> Any:
        """Return the library's own object for an element type; raise LookupError if it has none."""
        found = getattr(self.namespace, dtype.name, None)
        if found is None:
            raise LookupError(dtype.name)
        return found

    def keywords(self) -> Mapping[str, Any]:
        """Return the keywords by which the library's functions create arrays on this device."""
        return {}

    def current(self) -> AbstractContextManager[Any]:
        """Return a context in which the library's functions work on this device."""
        return _NO_CONTEXT

    def note_written(self, array: Tensor) -> None:
        """Record where work is pending on memory that the library has just written to."""

    def may_share(self, one: Any, other: Any) -> bool:  # noqa: ARG002 - for subclasses
        """Whether two arrays of the library may share memory; if in doubt, True."""
        return True

    def copy(self, native: Any) -> Any:
        """Return a copy of an array of the library, on the same device."""
        return self.namespace.asarray(native, copy=True)

    def as_index(self, native: Any) -> Any:
        """Return an array of integers or bools as an index array of the library."""
        return native

    def from_host(self, elements: Any) -> Any:
        """Return a copy, on this device, of an ndarray."""
        return self.namespace.asarray(elements, **self.keywords())

    def to_host(self, native: Any) -> Any:
        """Return an array of the library as an ndarray, copied."""
        raise NotImplementedError

    # ------------------------------------------------------------ common to all

    def _maker(self, tensor: Tensor) -> Callable[[], Any] | None:  # noqa: ARG002 - NumPy's uses it
        """Return a function that makes new views, whose owner the garbage collector sees."""
        return None

    def _note_used(self) -> None:
        """Make streams that used the memory wait for the library's work on it."""

    def _put(self, native: Any, key: Any, elements: Any) -> None:
        """Write elements, or a number, to the elements that a key of the library selects."""
        native[key] = elements

    def as_native(self, result: Any) -> Any:
        """Return a result as an array of the library, also if it returned a scalar."""
        return result if isinstance(result, self.array_type) else self.namespace.asarray(result)

    def strong_scalar(self, x: Any) -> Any:
        """Return a scalar of NumPy, which has an element type, as an array of the library."""
        np = load_numpy()
        return self.from_host(np.asarray(x))

    def is_writable(self, native: Any) -> bool:
        """Whether an array of the library reports that it is writable."""
        return not self.keeps_readonly or bool(native.flags.writeable)

    def function(self, name: str) -> Callable[..., Any]:
        """Return the library's function of that name, ``"linalg.qr"`` for one of an extension.

        Raises
        ------
        BackendUnavailableError
            The library does not have it (IX-XP-3).
        """
        found = self._functions.get(name)
        if found is None:
            found = self._functions[name] = self._find_function(name)
        return found

    def _find_function(self, name: str) -> Callable[..., Any]:
        """Return the library's function of that name."""
        found = self.namespace
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is None:
            what = f"{self.name} has no {name}()"
            raise BackendUnavailableError(f"xp.{name}()", what, "IX-XP-3")
        function: Callable[..., Any] = found
        return function

    def _direct_function(self, name: str) -> Any:  # noqa: ARG002 - NumPy's uses it
        """Return a function that computes in C and returns a new array, called without frames.

        It computes what ``function(name)`` does; None if there is no such function.
        """
        return None

    def native_dtype(self, dtype: DType, call: str) -> Any:
        """Return the library's own object for an element type.

        Raises
        ------
        UnsupportedDTypeError
            The library does not have it (DLP-DTYPE-4).
        """
        found = self._native_dtypes.get(dtype)
        if found is None:
            try:
                found = self.find_dtype(dtype)
            except LookupError:
                what = f"{self.name} has no {dtype} on {self.device}"
                raise UnsupportedDTypeError(call, what, "DLP-DTYPE-4") from None
            self._native_dtypes[dtype] = found
        return found

    def dtype_of(self, native: Any) -> DType:
        """Return the element type for the library's own object."""
        return DType.of(native, "Backend.dtype_of()")

    def _dtype_of(self, native: Any) -> DType:
        """Return the same from a table, whose keys are few: the library's own objects."""
        found = self._dtypes.get(native)
        if found is None:
            found = self._dtypes[native] = self.dtype_of(native)
        return found

    def dtypes(self) -> tuple[str, ...]:
        """Return the names of the standard's element types that the library computes with."""
        return STANDARD_DTYPES

    def update(self, name: str, native: Any, other: Any) -> Any:
        """Compute an operator in place, and return the array with the result.

        Parameters
        ----------
        name : str
            The standard's name of the operator, such as ``"add"``.
        native, other : array of the library, or a Python scalar for `other`
            The operands.

        Raises
        ------
        ArgumentError
            The result is of another element type (IX-XP-4).
        ViewError
            The result has another shape (IX-XP-4).
        """
        if self.uses_operators:
            found = INPLACE[name](native, other)
            if found is not native:  # an Array over foreign memory keeps that memory
                native[...] = found
            return native
        result = self.operators[name](native, other)
        call = f"Array, {name} in place"
        if result.dtype != native.dtype:
            what = f"elements would be {self.dtype_of(result.dtype)}"
            raise ArgumentError(call, what, "IX-XP-4")
        if result.shape != native.shape:
            raise ViewError(call, f"the shape would be {tuple(result.shape)}", "IX-XP-4")
        native[...] = result
        return native


Backend.__module__ = "interchange"
