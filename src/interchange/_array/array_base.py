"""The base class of `Array`: attributes of its memory, and views of it.

Source: array API standard 2025.12 (array object); dlpack.h 1.3.  Views are computed from integers;
no element is accessed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange import _core
from interchange._protocols import dlpack
from interchange._streams.pending import pending_work_of
from interchange._types.dtypes import DType
from interchange._types.errors import AxesError, UnsupportedDTypeError, error_for
from interchange._types.layout import problem
from interchange._types.spec import Spec

from .arguments import check_extents, check_ints, check_order

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from typing_extensions import Self

    from interchange._types.layout import Layout

    from .memory_flags import MemoryFlags

    F = TypeVar("F", bound=Callable[..., Any])
else:
    Self = Any  # so that type hints can be evaluated

_TWO_AXES = 2
_OF_ONE_AXIS = "leave it out, or make a column first, `x[:, None]`"


def _transposed(array: ArrayBase) -> str:
    """Return how to transpose an array that does not have two axes."""
    if array.ndim < _TWO_AXES:
        return _OF_ONE_AXIS if array.ndim else "leave it out: one element has no transpose"
    reverse = tuple(reversed(range(array.ndim)))
    return f"use `x.mT` for the last two axes, or `x.permute_dims({reverse})` for all"


def _fast(method: F) -> F:
    """Return a method without arguments that the core makes faster if it can."""
    return _core.fast_function(method.__name__, method, 1)


class ArrayBase(_core.Tensor):
    """The attributes of an Array, and the views that need no access to elements."""

    __slots__ = ()

    # ------------------------------------------------------------ attributes

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._spec.layout.size

    @property
    def itemsize(self) -> int:
        """Size of one element [bytes], rounded up for packed types."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Size of the elements, without gaps between them [bytes]."""
        return self._spec.nbytes

    @property
    def strides_in_bytes(self) -> tuple[int, ...]:
        """Step along each axis [bytes]."""
        if self.dtype.is_packed:
            what = f"elements are {self.dtype}"
            raise UnsupportedDTypeError("Array.strides_in_bytes", what, "DLP-DTYPE-5")
        return self._spec.layout.strides_in_bytes(self.itemsize)

    @property
    def byte_offset(self) -> int:
        """Where elements start after a handle [bytes]; 0 on devices with real addresses."""
        return self._spec.byte_offset

    @property
    def owner(self) -> Any:
        """The producer of the memory, which is kept alive with it."""
        return self._owner

    @property
    def readonly(self) -> bool | None:
        """Whether the memory is read-only; None if its producer could not say."""
        flags = self._flags
        return None if flags is None else bool(flags & dlpack.READ_ONLY)

    @property
    def flags(self) -> MemoryFlags:
        """Flags of the memory, with the names of ``numpy.ndarray.flags``.

        They are ``c_contiguous``, ``f_contiguous``, ``writeable``, ``aligned`` and ``owndata``;
        NumPy's names, such as ``flags["C_CONTIGUOUS"]`` and ``flags["W"]``, are items.
        ``writeable`` is True if the memory is known to be writable, and ``owndata`` is False: the
        memory belongs to `owner`.
        """
        from .memory_flags import flags_of  # rarely needed

        return flags_of(self)

    def is_contiguous(self, order: str = "C") -> bool:
        """Return whether the array is contiguous in `order`.

        Parameters
        ----------
        order : {"C", "F"}
            Which axis runs fastest: the last or the first.
        """
        layout = self._spec.layout
        return layout.is_c_contiguous if check_order(order) == "C" else layout.is_f_contiguous

    # ------------------------------------------------------------ views

    def _view(self, layout: Layout, offset: int, call: str) -> Self:
        """Return an array on the same memory, starting `offset` further on [elements]."""
        spec, ptr = self._spec, self.ptr
        if spec.dtype.is_packed and layout != spec.layout:
            raise UnsupportedDTypeError(call, f"elements are {spec.dtype}", "DLP-DTYPE-5")
        step = offset * spec.dtype.itemsize
        if spec.device.has_handles:
            fresh = Spec(spec.dtype, spec.device, layout, spec.byte_offset + step)
        else:
            fresh, ptr = spec.with_layout(layout), ptr + step if layout.size else 0
        return self._share(fresh, ptr, call)

    def _share(self, spec: Spec, ptr: int, call: str) -> Self:
        """Return an array that describes the same memory differently, and keeps it alive."""
        found = problem(spec.shape, spec.strides, spec.dtype.itemsize)
        if found is not None:
            raise error_for(call, *found)
        flags = None if self._flags is None else self._flags & dlpack.READ_ONLY
        view = _core.describe(ptr, spec, flags, self._owner, self._keepalive, type(self))
        work = pending_work_of(self)
        if work is not None:
            view._pending_work = work
        return view

    def view(self, dtype: Any, /) -> Self:
        """Return the same bytes as elements of another type; no element is accessed.

        Parameters
        ----------
        dtype : dtype-like
            The element type.  One of another size makes the last axis longer or shorter.

        Returns
        -------
        Array
            An Array on the same memory, with the same read-only flag, ordered after the same work.

        Raises
        ------
        ViewError
            Sizes differ, and the array has no last axis, its last axis is not contiguous, or its
            length is not a multiple of the new size (IX-VIEW-1); the memory is not aligned for the
            new type (IX-VIEW-2).
        ExchangeError
            The stride of another axis is not a multiple of the new size (DLP-STRIDES-3).
        UnsupportedDTypeError
            The type is unknown; or one of the types is packed, and the array is not contiguous
            (DLP-DTYPE-5).

        Notes
        -----
        The rules are those of ``numpy.ndarray.view``.  A complex number is two real ones, the real
        part first.  Bytes viewed as bools should be 0 or 1 (not checked).  Packed elements can be
        viewed as bytes, and bytes as packed elements, if the array is contiguous and its last axis
        holds a whole number of both.

        Examples
        --------
        >>> import interchange as ix
        >>> ix.from_buffer(bytearray(8)).view("float32").tolist()
        [0.0, 0.0]
        """
        from .dtype_views import alignment_of, check_aligned, reinterpret  # rarely needed

        call = "Array.view()"
        spec, wanted, ptr = self._spec, DType.of(dtype, call), self.ptr
        layout = reinterpret(spec.layout, spec.dtype, wanted, call)
        if layout.size and alignment_of(wanted) > alignment_of(spec.dtype):
            check_aligned(spec.byte_offset if spec.device.has_handles else ptr, wanted, call)
        return self._share(Spec(wanted, spec.device, layout, spec.byte_offset), ptr, call)

    @property
    @_fast
    def T(self) -> Self:  # noqa: N802 - the standard's name
        """The transpose of a matrix.

        Raises
        ------
        AxesError
            The array has not exactly two axes (IX-AXES-1).
        """
        if self.ndim != _TWO_AXES:
            what = f"an array of {self.ndim} axes"
            raise AxesError("Array.T", what, "IX-AXES-1", _transposed(self))
        return self.permute_dims((1, 0))

    @property
    @_fast
    def mT(self) -> Self:  # noqa: N802 - the standard's name
        """The transpose of each matrix in the last two axes.

        Raises
        ------
        AxesError
            The array has fewer than two axes (IX-AXES-1).
        """
        if self.ndim < _TWO_AXES:
            what = f"an array of {self.ndim} axes"
            raise AxesError("Array.mT", what, "IX-AXES-1", _transposed(self))
        axes = range(self.ndim)
        return self.permute_dims((*axes[:-2], axes[-1], axes[-2]))

    def permute_dims(self, axes: tuple[int, ...], /) -> Self:
        """Return a view with the axes in another order.

        Parameters
        ----------
        axes : tuple[int, ...]
            The new order of the axes; negative numbers count from the end.

        Raises
        ------
        ViewError
            `axes` is not a permutation (IX-AXES-1).
        """
        call = "Array.permute_dims()"
        order = check_ints(axes, "axes", call)
        return self._view(self._spec.layout.permute(order, call), 0, call)

    def broadcast_to(self, shape: tuple[int, ...] | int, /) -> Self:
        """Return a view broadcast to `shape` [elements], read-only if elements are repeated.

        Raises
        ------
        ViewError
            An axis longer than 1 would change its length (IX-VIEW-1).
        """
        call = "Array.broadcast_to()"
        layout = self._spec.layout.broadcast(check_extents(shape, "shape", call), call)
        found = self._view(layout, 0, call)
        if layout.may_overlap:
            found._flags = (found._flags or 0) | dlpack.READ_ONLY
        return found

    def __copy__(self) -> Self:
        return self._view(self._spec.layout, 0, "copy.copy()")
