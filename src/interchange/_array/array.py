"""`Array`: memory of any library, with an owner and with every exchange protocol.

Source: array API standard 2025.12 (array object); dlpack.h 1.3; PEP 688.  Exchange moves no
elements unless a method's name says so.  Operators are computed by the library that computes on the
device of the memory, and return new arrays.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

from interchange import _core
from interchange._protocols import dlpack
from interchange._streams.driver import device_named
from interchange._types.errors import (
    ArgumentError,
    CopyNeededError,
    InterchangeError,
    ViewError,
    show,
)

from . import transfers
from .arguments import check_order, resolve_shape
from .array_base import ArrayBase
from .indexing import assign, select
from .missing_attributes import HINTS, add_hints
from .namespace import namespace_of
from .native_arrays import describe
from .operators import Operators
from .pickling import reduce_array
from .protocols import Protocols
from .scalars import ScalarMethods

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import EllipsisType

    from interchange._types.spec import Spec
    from interchange._types.typing import AnyDevice


_TWO_AXES = 2


@_core.array_type
class Array(ScalarMethods, Operators, Protocols):
    """A block of memory with a shape, a device, an owner and a read-only flag.

    Arrays are made by `from_dlpack`, `from_cai`, `asarray`, `from_buffer`, `from_array_interface`,
    `from_pointer` and the functions of `interchange.xp`, not by calling the class.  Exchange needs
    no other library; computations use NumPy on the host, and the library of `set_backend` on a
    device.

    Attributes
    ----------
    shape : tuple[int, ...]
        Extent of each axis [elements].
    strides : tuple[int, ...]
        Step along each axis [elements]; may be negative or zero.
    dtype : DType
        Element type.
    device : Device
        Device of the memory.
    ptr : int
        Address of the first element; 0 for an array without elements.

    Examples
    --------
    >>> import interchange as ix
    >>> ix.from_buffer(bytearray(b"abc"))[::-1].tolist()
    [99, 98, 97]
    """

    __slots__ = ()

    __array_priority__ = 1000  # NumPy's arrays leave operators with an Array to the Array

    def __new__(cls, *_: object, **__: object) -> Array:
        raise ArgumentError(
            "Array()",
            "arrays describe memory that exists",
            "IX-ARGUMENT-1",
            "use `asarray`, `from_dlpack`, `from_buffer` or `from_pointer`",
        )

    def _describe(self) -> Spec:
        return describe(self)

    def __iter__(self) -> Iterator[Array]:
        # Not a generator function, whose body (and errors) would run at the first step only.
        return map(self.__getitem__, range(_count(self, "iter()")))

    # ------------------------------------------------------------ elements and views

    def __getitem__(self, key: Any, /) -> Array:
        """Return the elements that an index selects.

        Parameters
        ----------
        key : int, slice, None, Ellipsis, Array of integers or bools, or a tuple of these
            Host memory can also be indexed by ndarrays, and by lists of ints or bools, with NumPy's
            rules. An index without arrays and lists gives a view, any other a copy.

        Raises
        ------
        OutOfBoundsError
            The index is out of bounds, or of another kind (IX-INDEX-1, IX-INDEX-2).
        ArgumentError
            The index is an array of a library other than NumPy (IX-XP-1).
        MixedDevicesError
            The index is on the host, and the array is not (IX-XP-2).
        """
        return select(self, key)

    __getitem__ = _core.fast_function("__getitem__", __getitem__, 2)

    def __setitem__(self, key: Any, value: Any, /) -> None:
        """Write a number, or the elements of an Array, to the elements that an index selects.

        The elements of an ndarray can be written to host memory, too: they are copied.

        Raises
        ------
        ReadOnlyError
            The memory is read-only, or not known to be writable (DLP-RO-3).
        ArgumentError
            Arrays of the library that computes there cannot be written (IX-XP-5).
        """
        assign(self, key, value)

    def __len__(self) -> int:
        return _count(self, "len()")

    def reshape(self, shape: tuple[int, ...] | int, /, *, copy: bool | None = False) -> Array:
        """Return the elements, in C order, under another shape.

        Parameters
        ----------
        shape : tuple[int, ...] or int
            The extents [elements]; one of them may be -1.
        copy : bool or None, default False
            False: a view or an error.  None: copy only if no view is possible.  True: always copy.

        Raises
        ------
        CopyNeededError
            No view has that shape, and `copy` is False (DLP-COPY-1).
        ViewError
            The product of the extents differs (IX-VIEW-1).
        """
        call = "Array.reshape()"
        dlpack.check_copy(copy, call)
        wanted = resolve_shape(shape, self.size, call)
        source = self.copy() if copy else self
        layout = source._spec.layout.reshape(wanted)
        if layout is None and copy is False:
            what = f"shape {self.shape} with strides {self.strides} as {show(wanted)}"
            what = f"{what}, which needs a copy, and copy is False unless it is passed"
            raise CopyNeededError(call, what, "DLP-COPY-1")
        if layout is None:
            source = self.copy()
            layout = source._spec.layout.reshape(wanted)
        if layout is None:
            raise ViewError(call, f"shape {self.shape} as {show(wanted)}", "IX-VIEW-1")
        return source._view(layout, 0, call)

    # ------------------------------------------------------------ copies

    def copy(self, *, order: str = "C", stream: Any = None, out: Array | None = None) -> Array:
        """Return a copy: on the host if the host can access the memory, else on the same device.

        Parameters
        ----------
        order : {"C", "F"}
            Which axis runs fastest: the last or the first.
        stream : None, int or stream object, optional
            The stream that device memory is copied on, after the work that is pending on it; by
            default the stream of that work.  The host does not wait.
        out : Array, optional
            Filled and returned, instead of a new Array: on any device, of any strides; `order` is
            not used.  The copy is made as by `interchange.copyto`.

        Raises
        ------
        UnsupportedDeviceError
            The host cannot access the memory (DLP-DEV-6).
        DriverUnavailableError
            The driver of the device is not installed (IX-DRIVER-1).
        ArgumentError
            `out` has another shape or element type, or elements that overlap (IX-OUT-1).
        ReadOnlyError
            `out` is read-only (DLP-RO-3).

        Notes
        -----
        On the host the copy is aligned to 64 bytes, and the host waits for all work on the memory.
        On a device the copy waits for the work that is known to be pending on the memory; the
        stream of that work, and those on which the memory was used before that, wait for the copy
        in turn.  If no stream is known (the producer published none, or memory was taken with
        ``stream=-1``), no stream waits: before the memory is written again, let the writer's stream
        wait for the copy, or name the writer's stream as `stream`.
        """
        call = "Array.copy()"
        if out is not None:
            check_order(order, call)
            from .copyto import fill_out  # rarely needed

            fill_out(self, out, None, stream, call)
            return out
        return transfers.copy(self, check_order(order, call), call, stream)

    def astype(self, dtype: Any, /, *, copy: bool = True) -> Array:
        """Return the array with elements cast to `dtype`, as ``interchange.xp.astype`` does.

        Parameters
        ----------
        dtype : dtype-like
            The element type.
        copy : bool, default True
            False: return the array itself if its elements are of that type already.

        Raises
        ------
        BackendUnavailableError
            No library computes on the device of the memory (IX-XP-3).
        """
        try:
            cast: Array = namespace_of(None).astype(self, dtype, copy=copy)
        except InterchangeError as error:
            raise error._for_call("Array.astype()") from error.__cause__
        return cast

    def contiguous(self, order: str = "C") -> Array:
        """Return the array itself if it is contiguous in `order`, else a copy.

        Parameters
        ----------
        order : {"C", "F"}
            Which axis runs fastest: the last or the first.
        """
        return self if self.is_contiguous(order) else self.copy(order=order)

    def to_device(
        self, device: AnyDevice, /, *, stream: Any = None, out: Array | None = None
    ) -> Array:
        """Return the array on `device`: the array itself if already there, else mostly a copy.

        Parameters
        ----------
        device : Device, str, tuple[int, int] or a library's device
            The device; ``"cuda"`` and ``"rocm"`` are the current one.  Page-locked and managed
            memory counts as CPU memory, too, and is shared.
        stream : None, int or stream object, optional
            The stream that the copy is made on, after the work that is pending; by default the
            stream of that work.  The host waits if the copy is on the host, or is made from
            page-locked or managed memory.
        out : Array, optional
            Memory on `device` that is filled and returned, also if the array is there already.  The
            copy is made as by `interchange.copyto`.

        Raises
        ------
        ArgumentError
            `out` is on another device, has another shape or element type, or elements that overlap
            (IX-OUT-1).
        ReadOnlyError
            `out` is read-only (DLP-RO-3).
        UnsupportedDeviceError
            No driver copies between these devices (DLP-DEV-6).
        DriverUnavailableError
            The driver of the device is not installed (IX-DRIVER-1).
        OutOfDeviceMemoryError
            The device has too little free memory (IX-DRIVER-4).

        Notes
        -----
        The copy waits for the work that is known to be pending on the memory; the stream of that
        work, and those on which the memory was used before that, wait for the copy in turn.  If no
        stream is known (the producer published none, or memory was taken with ``stream=-1``), no
        stream waits: before the memory is written again, let the writer's stream wait for the copy,
        or name the writer's stream as `stream`.
        """
        call = "Array.to_device()"
        if out is not None:
            from .copyto import fill_out  # rarely needed

            fill_out(self, out, device_named(device, call), stream, call)
            return out
        return transfers.move(self, device, stream, call)

    def copy_to_host(self, ary: Any = None, stream: Any = None) -> Any:
        """Return the elements in an ndarray, as arrays of Numba do; the copy is complete.

        Parameters
        ----------
        ary : ndarray, optional
            Filled and returned, instead of a new one.
        stream : None, int or stream object
            The stream of the copy; by default, and for 0, one that the Array is ready on.

        Raises
        ------
        ArgumentError
            `ary` has another shape or element type (IX-ARGUMENT-1).
        ReadOnlyError
            `ary` is read-only (DLP-RO-3).
        """
        from .host_transfers import copy_to_host  # rarely needed

        return copy_to_host(self, ary, stream, "Array.copy_to_host()")

    def copy_to_device(self, ary: Any, stream: Any = None) -> None:
        """Copy the elements of another array into this one, as arrays of Numba do.

        Parameters
        ----------
        ary : ndarray, Array or object with ``__dlpack__``
            Of the same shape and element type.
        stream : None, int or stream object
            The stream of the copy; by default, and for 0, one that the Array is ready on.

        Raises
        ------
        ArgumentError
            `ary` has another shape or element type (IX-ARGUMENT-1).
        ReadOnlyError
            The Array is read-only (DLP-RO-3).
        """
        from .host_transfers import copy_to_device  # rarely needed

        copy_to_device(self, ary, stream, "Array.copy_to_device()")

    # ------------------------------------------------------------ contracts and values

    def require(
        self,
        *,
        dtype: Any = None,
        ndim: int | Sequence[int] | None = None,
        shape: Sequence[int | str | EllipsisType | None] | None = None,
        order: str | None = None,
        device: Any = None,
        writable: bool | None = None,
        align: int | None = None,
        name: str = "array",
    ) -> Array:
        """Return the array if it meets a contract; raise an error with all differences if not.

        Parameters
        ----------
        dtype, ndim, shape, order, device, writable, align
            As `Contract` takes them.
        name : str, default "array"
            The name of the argument in errors.

        Raises
        ------
        ContractError
            The array does not meet it; the error names all differences and the calls that fix them
            (IX-REQUIRE-1).
        ArgumentError, UnsupportedDTypeError, UnsupportedDeviceError
            As `Contract` does.

        Examples
        --------
        >>> import interchange as ix
        >>> ix.from_buffer(b"abc").require(dtype="uint8", shape=("n",)).shape
        (3,)
        """
        from .contract_checks import check_contract  # rarely needed

        check_contract(self, (dtype, ndim, shape, order, device, writable, align), name)
        return self

    def __repr__(self) -> str:
        from .printing import describe_array  # rarely needed

        return describe_array(self)

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show."""
        from .printing import describe_array_in_html  # rarely needed

        return describe_array_in_html(self)

    def __rich_repr__(self) -> Iterator[tuple[str, Any]]:
        from .printing import rich_fields  # rarely needed

        return rich_fields(self)

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if name not in HINTS]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduce_array(self, protocol)

    def __deepcopy__(self, memo: object) -> Array:
        return self.copy()


Array.__module__ = "interchange"
add_hints(Array)
for _base in (ScalarMethods, Operators, Protocols, ArrayBase):
    for _method in vars(_base).values():
        if isinstance(_method, FunctionType):
            _method.__qualname__ = f"Array.{_method.__name__}"  # in TypeErrors of Python


def _count(array: Array, call: str) -> int:
    """Return the extent of the first axis [elements]."""
    if not array.shape:
        raise ArgumentError(call, "an array without axes has no first axis", "IX-AXES-2")
    return array.shape[0]
