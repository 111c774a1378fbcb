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

from .arguments import check_ints, check_order

if TYPE_CHECKING:
    from typing_extensions import Self

    from interchange._types.layout import Layout
else:
    Self = Any  # so that type hints can be asked for

_TWO_AXES = 2
_OF_ONE_AXIS = "leave it out: what has one axis or none is its own transpose"


def _transposed(array: ArrayBase) -> str:
    """Return what transposes an array that has not two axes."""
    if array.ndim < _TWO_AXES:
        return _OF_ONE_AXIS
    reverse = tuple(reversed(range(array.ndim)))
    return f"use `x.mT` for the last two axes, or `x.permute_dims({reverse})` for all"


class ArrayBase(_core.Tensor):
    """What an Array says of its memory, and the views that need no elements."""

    __slots__ = ()

    # ------------------------------------------------------------ what it is

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
        """Where elements start after a handle [bytes]; 0 where addresses are addresses."""
        return self._spec.byte_offset

    @property
    def owner(self) -> Any:
        """Who gave the memory, and is kept alive with it."""
        return self._owner

    @property
    def readonly(self) -> bool | None:
        """Whether the memory must not be written; None when its producer could not say."""
        flags = self._flags
        return None if flags is None else bool(flags & dlpack.READ_ONLY)

    def is_contiguous(self, order: str = "C") -> bool:
        """Return whether elements lie side by side.

        Parameters
        ----------
        order : {"C", "F"}
            Which axis runs fastest: the last or the first.
        """
        layout = self._spec.layout
        return layout.is_c_contiguous if check_order(order) == "C" else layout.is_f_contiguous

    # ------------------------------------------------------------ views

    def _view(self, layout: Layout, offset: int, call: str) -> Self:
        """Return an array on the same memory, its first element `offset` further on [elements]."""
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
        """Return an array that says something else of the same memory, kept alive alike."""
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
        """Return the same bytes as elements of another type; none is touched, wherever they are.

        Parameters
        ----------
        dtype : dtype-like
            The element type.  One of another size makes the last axis longer or shorter.

        Returns
        -------
        Array
            Sharing the memory, as read-only as the array, ordered after the same work.

        Raises
        ------
        ViewError
            Sizes differ, and there is no last axis, its elements do not lie side by side, or it has
            no whole number of the new ones (IX-VIEW-1); the new type asks for another alignment
            (IX-VIEW-2).
        ExchangeError
            Another axis steps by no whole number of them (DLP-STRIDES-3).
        UnsupportedDTypeError
            There is no such type; one of them is packed, and the array is not contiguous
            (DLP-DTYPE-5).

        Notes
        -----
        The rules are those of ``numpy.ndarray.view``.  Complex numbers are two real ones, the real
        part first.  Bytes other than 0 and 1 are not bools (not checked).  Packed elements are
        viewed as bytes, and bytes as packed elements, where the array is contiguous and its last
        axis has whole ones of both.

        Examples
        --------
        >>> import interchange as ix
        >>> ix.from_buffer(bytearray(8)).view("float32").tolist()
        [0.0, 0.0]
        """
        from .dtype_views import alignment_of, check_aligned, reinterpret  # which few need

        call = "Array.view()"
        spec, wanted, ptr = self._spec, DType.of(dtype, call), self.ptr
        layout = reinterpret(spec.layout, spec.dtype, wanted, call)
        if layout.size and alignment_of(wanted) > alignment_of(spec.dtype):
            check_aligned(spec.byte_offset if spec.device.has_handles else ptr, wanted, call)
        return self._share(Spec(wanted, spec.device, layout, spec.byte_offset), ptr, call)

    @property
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
    def mT(self) -> Self:  # noqa: N802 - the standard's name
        """The transpose of each matrix in the last two axes.

        Raises
        ------
        AxesError
            The array has fewer than two axes (IX-AXES-1).
        """
        if self.ndim < _TWO_AXES:
            what = f"an array of {self.ndim} axes"
            raise AxesError("Array.mT", what, "IX-AXES-1", _OF_ONE_AXIS)
        axes = range(self.ndim)
        return self.permute_dims((*axes[:-2], axes[-1], axes[-2]))

    def permute_dims(self, axes: tuple[int, ...], /) -> Self:
        """Return a view with the axes in another order.

        Parameters
        ----------
        axes : tuple[int, ...]
            Which axis comes where; negative ones count from the end.

        Raises
        ------
        ViewError
            `axes` is no permutation (IX-AXES-1).
        """
        call = "Array.permute_dims()"
        order = check_ints(axes, "axes", call)
        return self._view(self._spec.layout.permute(order, call), 0, call)

    def broadcast_to(self, shape: tuple[int, ...], /) -> Self:
        """Return a view spread to `shape` [elements], read-only unless nothing is repeated.

        Raises
        ------
        ViewError
            An axis longer than 1 would change (IX-VIEW-1).
        """
        call = "Array.broadcast_to()"
        layout = self._spec.layout.broadcast(check_ints(shape, "shape", call), call)
        found = self._view(layout, 0, call)
        if layout.may_overlap:
            found._flags = (found._flags or 0) | dlpack.READ_ONLY
        return found

    def __copy__(self) -> Self:
        return self._view(self._spec.layout, 0, "copy.copy()")
