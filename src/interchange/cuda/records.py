"""Records: the types of NumPy's structured dtypes, and arrays of them as arguments.

Source: NumPy, "Structured arrays" (offsets, padding); CUDA Array Interface, version 3 (``descr``).
"""

from __future__ import annotations

from math import gcd, prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange._types.errors import ArgumentError, UnsupportedDTypeError, show
from interchange._types.numpy_dtypes import load_numpy

from .types import BY_NAME, ScalarType

if TYPE_CHECKING:
    from interchange._array import Array


class Field(NamedTuple):
    """A field of a record."""

    type: ScalarType  # of a number, or of a record
    offset: int  # [bytes]
    shape: tuple[int, ...]  # of an array in the record
    alignment: int  # of its address [bytes]


class RecordType(ScalarType):
    """The type of a record, as an element of an array; equal dtypes have the same object."""

    __slots__ = ("alignment_", "dtype", "fields")

    dtype: Any
    fields: dict[str, Field]

    def __init__(self, dtype: Any, fields: dict[str, Field]) -> None:
        super().__init__(str(dtype), "record", 8 * dtype.itemsize)
        self.dtype, self.fields = dtype, fields
        self.alignment_: int = max((field.alignment for field in fields.values()), default=1)

    @property
    def alignment(self) -> int:
        """Alignment of its address, with which that of every field is known [bytes]."""
        return self.alignment_


_known: Final[dict[Any, RecordType | None]] = {}


def record_type(dtype: Any) -> RecordType | None:
    """Return the type of a structured dtype of NumPy, None if a field is not of numbers."""
    if dtype not in _known:
        _known[dtype] = _made(dtype)
    return _known[dtype]


def _made(dtype: Any) -> RecordType | None:
    """Return a new type."""
    fields: dict[str, Field] = {}
    for name in dtype.names:
        given, offset, *_ = dtype.fields[name]
        base, shape = given.subdtype or (given, ())
        type_ = record_type(base) if base.names else BY_NAME.get(base.name)
        if type_ is None or not base.isnative or 0 in shape:
            return None
        alignment = gcd(type_.alignment, offset, dtype.itemsize)
        fields[name] = Field(type_, offset, shape, alignment)
    return RecordType(dtype, fields) if fields else None


def dtype_of(value: Any) -> Any:
    """Return the structured dtype of an array or a record, None for any other object."""
    if hasattr(type(value), "settled"):  # an `UntypedArray`, whose dtype its first use determines
        return None
    dtype = getattr(value, "dtype", None)
    return dtype if getattr(dtype, "names", None) else None


class Bytes:
    """The memory of an array of records, as one of bytes with one axis more."""

    def __init__(self, array: Any, itemsize: int) -> None:
        self._array, self._itemsize = array, itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The array's own, with other elements."""
        given = dict(self._array.__cuda_array_interface__)
        shape, size = tuple(given["shape"]), self._itemsize
        strides = given.get("strides")
        if strides is None:
            strides = [prod(shape[axis + 1 :]) * size for axis in range(len(shape))]
        return given | {
            "typestr": "|u1", "descr": [("", "|u1")], "shape": (*shape, size),
            "strides": (*strides, 1),
        }  # fmt: skip


class RecordArray:
    """An array of records in memory of a device, with names of the device arrays of Numba.

    Attributes
    ----------
    bytes : Array
        Its memory, as an array of bytes with one axis more.
    dtype : numpy.dtype
        The structured dtype.
    shape : tuple[int, ...]
        Extent of each axis [records].
    """

    bytes: Array
    dtype: Any
    shape: tuple[int, ...]

    def __init__(self, array: Array, dtype: Any) -> None:
        self.bytes, self.dtype, self.shape = array, dtype, array.shape[:-1]

    def __repr__(self) -> str:
        return f"<{self.shape} records of {self.dtype} on {self.bytes.device}>"

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of records."""
        return prod(self.shape)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The interface of its memory, with the records as elements."""
        given = dict(self.bytes.__cuda_array_interface__)
        strides, typestr = given.get("strides"), f"|V{self.dtype.itemsize}"
        try:
            descr = self.dtype.descr
        except ValueError:  # of fields that overlap
            descr = [("", typestr)]
        return given | {
            "typestr": typestr, "descr": descr, "shape": self.shape,
            "strides": strides and strides[:-1],
        }  # fmt: skip

    def copy_to_host(self, ary: Any = None, stream: Any = None) -> Any:
        """Return the records in an ndarray, a new one or `ary`; the copy is complete.

        Raises
        ------
        ArgumentError
            `ary` has another shape or dtype (IX-ARGUMENT-1).
        """
        np = load_numpy()
        if ary is not None:
            given = self._taken(ary, "copy_to_host()")
            self.bytes.copy_to_host(given, stream)
            return ary
        found = np.ascontiguousarray(self.bytes.copy_to_host(stream=stream))
        return found.view(self.dtype).reshape(self.shape)

    def copy_to_device(self, ary: Any, stream: Any = None) -> None:
        """Copy the records of another array into this one.

        Raises
        ------
        ArgumentError
            `ary` has another shape or dtype (IX-ARGUMENT-1).
        """
        self.bytes.copy_to_device(self._taken(ary, "copy_to_device()"), stream)

    def _taken(self, ary: Any, call: str) -> Any:
        """Return another array of such records as one of bytes."""
        if dtype_of(ary) != self.dtype:
            what = f"{show(ary)} has no records of {self.dtype}"
            raise ArgumentError(call, what, "IX-ARGUMENT-1", "pass an array of the same dtype")
        return as_bytes(ary, self.dtype)


def check_copied(dtype: Any, call: str) -> None:
    """Refuse records with references to objects of Python, which no device can hold."""
    if dtype.hasobject:
        what = f"records of {show(dtype)}, with an object of Python"
        raise UnsupportedDTypeError(call, what, "CPY-NPM-1", "pass the fields of numbers")


def as_bytes(value: Any, dtype: Any) -> Any:
    """Return an array of records as one of bytes, for the protocols, which know no records."""
    np = load_numpy()
    if isinstance(value, RecordArray):
        return value.bytes
    if isinstance(value, (np.ndarray, np.void)):
        return np.asarray(value).view(np.dtype((np.uint8, (dtype.itemsize,))))
    return Bytes(value, dtype.itemsize)
