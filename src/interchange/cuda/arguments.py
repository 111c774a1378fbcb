"""Arguments of a launch: their types, and the memory that passes them to a kernel.

Source: CUDA Python Specification 0.2, "No-Python Mode"; CUDA driver API, ``cuLaunchKernel``.
"""

from __future__ import annotations

import ctypes
import math
import struct
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange._types.errors import ArgumentError, ReadOnlyError, UnsupportedDTypeError, show
from interchange._types.numpy_dtypes import load_numpy
from interchange.abi._show import module_of

from . import records
from .operators import literal_type
from .records import RecordType
from .types import BY_NAME, PART_OF, ArrayType, ScalarType, TupleType, bfloat16, float16, int64

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from interchange import Array
    from interchange._types.dtypes import DType

_SINGLE: Final = 32  # [bits]
_TOO_LARGE: Final = (2 - 2**-24) * 2.0**127  # rounds up to a number beyond float32
_TOO_LARGE_FOR_HALF: Final = 65520.0
_SLOT: Final = 8  # alignment of a parameter [bytes]
_FORMATS: Final = {
    "bool": "B7x", "int8": "b7x", "int16": "h6x", "int32": "i4x", "int64": "q", "uint8": "B7x",
    "uint16": "H6x", "uint32": "I4x", "uint64": "Q", "float16": "e6x", "bfloat16": "H6x",
    "float32": "f4x", "float64": "d", "complex64": "2f", "complex128": "2d",
}  # fmt: skip
"""Name of a type -> its `struct` format as an argument."""


class Passed(NamedTuple):
    """An argument: its type, the numbers that are passed for it, and the array, if it is one."""

    type: Any  # of a number, an array, a tuple, a record or None
    numbers: tuple[Any, ...]
    array: Array | None = None
    # items of a tuple, fields of a record; None for numbers and arrays
    parts: tuple[Passed, ...] | None = None


def pass_any(value: Any, wanted: Any, call: str, take: Callable[[Any, Any], Array]) -> Passed:
    """Return any argument; `take` imports an array, of a wanted type if there is one."""
    number = pass_number(value, wanted, call)
    if number is not None:
        return number
    if value is None or isinstance(value, tuple):
        return _pass_tuple(value, wanted, call, take)
    dtype = records.dtype_of(value)
    if dtype is None:
        return pass_array(take(value, wanted), wanted, call)
    type_ = records.record_type(dtype)
    if type_ is None:
        what = f"records of {show(dtype)}, with a field that is no number"
        raise UnsupportedDTypeError(call, what, "CPY-NPM-1")
    if wanted is not None:
        raise ArgumentError(call, f"records where {wanted} is wanted", "CPY-ARG-1")
    np = load_numpy()
    if isinstance(value, np.void):
        return _pass_record(value, type_, call)
    return _pass_records(take(records.as_bytes(value, dtype), None), type_, call)


def _pass_tuple(value: Any, wanted: Any, call: str, take: Callable[[Any, Any], Array]) -> Passed:
    """Return a tuple, or None."""
    if wanted is not None:
        what = f"{'None' if value is None else 'a tuple'} where {wanted} is wanted"
        raise ArgumentError(call, what, "CPY-ARG-1")
    if value is None:
        return Passed(TupleType((), is_none=True), (), None, ())
    parts = tuple(pass_any(each, None, call, take) for each in value)
    return _joined(TupleType(tuple(part.type for part in parts)), parts)


def _pass_record(value: Any, type_: RecordType, call: str) -> Passed:
    """Return a record as the numbers of its fields."""
    parts = []
    for name, field in type_.fields.items():
        if field.shape:
            what = f"a record with an array in it, {name!r}"
            raise ArgumentError(call, what, "CPY-ARG-1", "pass an array of one record")
        if isinstance(field.type, RecordType):
            parts.append(_pass_record(value[name], field.type, call))
        else:
            parts.append(_pass_scalar(value[name], field.type, call))
    return _joined(type_, tuple(parts))


def _joined(type_: Any, parts: tuple[Passed, ...]) -> Passed:
    """Return several arguments as one."""
    return Passed(type_, tuple(n for part in parts for n in part.numbers), None, parts)


def _pass_records(array: Array, type_: RecordType, call: str) -> Passed:
    """Return an array of records, given as one of their bytes."""
    shape, strides = array.shape[:-1], array.strides[:-1]
    if any(number % type_.alignment for number in (array.ptr, *strides)):
        what = f"an array of records at {array.ptr:#x}, which are not aligned"
        raise ArgumentError(call, what, "CPY-ARG-1", "pass .copy()")
    dense = array.is_contiguous()
    return Passed(ArrayType(type_, len(shape), dense), (array.ptr, *shape, *strides), array)


def leaves(passed: Iterable[Passed]) -> list[Passed]:
    """Return the numbers and arrays among arguments, in the order of the code's arguments."""
    found: list[Passed] = []
    for each in passed:
        found += [each] if each.parts is None else leaves(each.parts)
    return found


def is_plain(passed: Iterable[Passed]) -> bool:
    """Whether all arguments are numbers and arrays of numbers."""
    return not any(
        each.parts is not None or (each.array is not None and each.type.element.kind == "record")
        for each in passed
    )


def pass_number(value: Any, wanted: ScalarType | ArrayType | None, call: str) -> Passed | None:
    """Return a number as a kernel argument, None for any other object.

    `wanted` is its type in a signature.
    """
    scalar = _scalar_type(value)
    if scalar is None:
        return None
    if isinstance(wanted, ArrayType):
        raise ArgumentError(call, f"a number where {wanted} is wanted", "CPY-ARG-1")
    return _pass_scalar(value, wanted or scalar, call)


def pass_array(array: Array, wanted: ScalarType | ArrayType | None, call: str) -> Passed:
    """Return an array as a kernel argument; `wanted` is its type in a signature."""
    found, extents = form_of(array, call)
    itemsize = found.element.itemsize
    part = itemsize // 2 if found.element.kind == "complex" else itemsize
    if array.ptr % part:
        what = f"an array of {found.element} at {array.ptr:#x}, which is not aligned"
        raise ArgumentError(call, what, "CPY-ARG-1", "pass .copy()")
    if wanted is not None:
        if isinstance(wanted, ScalarType):
            raise ArgumentError(call, f"an array where {wanted} is wanted", "CPY-ARG-1")
        fits = (found.element, found.ndim) == (wanted.element, wanted.ndim)
        if not fits or (wanted.in_c_order and not found.in_c_order):
            raise ArgumentError(call, f"an array {found} where {wanted} is wanted", "CPY-ARG-1")
        found = wanted
    return Passed(found, (array.ptr, *extents), array)


Form = tuple[ArrayType, tuple[int, ...]]
"""The type of an array; its lengths [elements] followed by its strides [bytes]."""
_forms: Final[dict[tuple[DType, tuple[int, ...], tuple[int, ...]], Form]] = {}
_MOST_FORMS: Final = 4096  # size of the cache


def form_of(array: Array, call: str) -> Form:
    """Return the type of an array, and the arguments after its pointer."""
    key = array.dtype, array.shape, array.strides
    found = _forms.get(key)
    if found is not None:
        return found
    element = BY_NAME.get(str(array.dtype))
    if element is None:
        raise UnsupportedDTypeError(call, f"an array of {array.dtype}", "CPY-NPM-1")
    type_ = ArrayType(element, array.ndim, in_c_order=array.is_contiguous())
    if len(_forms) >= _MOST_FORMS:
        _forms.clear()
    steps = (step * element.itemsize for step in array.strides)
    return _forms.setdefault(key, (type_, (*array.shape, *steps)))


def _scalar_type(value: Any) -> ScalarType | None:
    """Return the type of a number of Python or NumPy, None for any other object."""
    if type(value) is int:
        return int64 if -(1 << 63) <= value < 1 << 63 else literal_type(value)
    if isinstance(value, (bool, float, complex)) and module_of(type(value)) == "builtins":
        return literal_type(value)
    numpy = sys.modules.get("numpy")
    is_numpys = numpy is not None and isinstance(value, numpy.generic)
    return BY_NAME.get(str(value.dtype)) if is_numpys else None


def _pass_scalar(value: Any, type_: ScalarType, call: str) -> Passed:
    """Return a number converted to a type."""
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, complex) and type_.kind != "complex":
        raise ArgumentError(call, f"{show(value)} where {type_} is wanted", "CPY-TYPE-1")
    if type_.kind == "complex":
        parts = complex(number)
        part = PART_OF[type_]
        return Passed(type_, (_rounded(parts.real, part), _rounded(parts.imag, part)))
    if type_.kind == "float":
        if type_ is bfloat16:
            return Passed(type_, (_bits_of_bfloat16(float(number)),))
        return Passed(type_, (_rounded(float(number), type_),))
    return Passed(type_, (_checked_integer(number, type_, call),))


def _rounded(number: float, type_: ScalarType) -> float:
    """Return a float in the range of a type: a larger number becomes infinite, as in a cast."""
    limit = _TOO_LARGE_FOR_HALF if type_ is float16 else _TOO_LARGE
    is_finite = type_.bits > _SINGLE or not abs(number) >= limit
    return number if is_finite else math.copysign(math.inf, number)


def _bits_of_bfloat16(number: float) -> int:
    """Return a number rounded to bfloat16, as bits: through a float32 that is rounded to odd."""
    if math.isnan(number):
        return 0x7FC0
    near = _rounded(number, bfloat16)
    bits: int = struct.unpack("<I", struct.pack("<f", near))[0]
    (back,) = struct.unpack("<f", struct.pack("<I", bits))
    odd = bits - int(abs(back) > abs(number)) | int(back != number)
    return (odd + 0x7FFF + (odd >> 16 & 1)) >> 16


def _checked_integer(number: Any, type_: ScalarType, call: str) -> int:
    """Return an int that fits a type."""
    if type_.kind == "bool":
        return int(bool(number))
    low = -(1 << type_.bits - 1) if type_.kind == "int" else 0
    high = (1 << type_.bits - (type_.kind == "int")) - 1
    if not low <= number <= high or number != int(number):  # NaN is between no numbers
        raise ArgumentError(call, f"{show(number)} where {type_} is wanted", "CPY-ARG-1")
    return int(number)


def check_writable(
    passed: Sequence[Passed], writes: Iterable[int], names: Sequence[str], call: str
) -> None:
    """Raise `ReadOnlyError` if the kernel writes to an array that is not writable.

    `names`: the names of the parameters.
    """
    flat = [
        (leaf, name) for each, name in zip(passed, names, strict=True) for leaf in leaves([each])
    ]
    for place in sorted(writes):
        (_, _, array, _), name = flat[place]
        if array is not None and array.readonly is not False:
            unknown = array.readonly is None
            what = f"argument {name!r} is {'not known to be writable' if unknown else 'read-only'}"
            word = "assume_writable" if unknown else "copy"
            code = f"`interchange.asarray({name}, {word}=True)`"
            hint = f"pass {code} if it is writable" if unknown else f"pass a copy, {code}"
            raise ReadOnlyError(call, what, "CPY-ARG-2", hint)


# ---------------------------------------------------------------- memory


class Packed(NamedTuple):
    """Memory with all arguments of a launch."""

    memory: Any  # one slot per parameter
    addresses: Any  # addresses of the slots
    place: int  # address of `addresses`, as ``cuLaunchKernel`` takes it


class Packing:
    """The memory layout of arguments of some types: an array is a pointer, lengths and strides.

    Memory is reused by later launches; concurrent launches have separate memory.
    """

    def __init__(self, types: Iterable[ScalarType | ArrayType]) -> None:
        parts: list[str] = []
        self._arrays: list[tuple[int, int]] = []  # the offset of each, and its number of axes
        for type_ in types:
            if isinstance(type_, ArrayType):
                self._arrays.append((len(parts), type_.ndim))
                parts += ["Q", *["q"] * (2 * type_.ndim)]
            else:
                parts.append(_FORMATS[type_.name])
        format_ = struct.Struct("=" + "".join(parts))
        self._pack_into, self._size = format_.pack_into, format_.size
        sizes = [struct.calcsize("=" + part) for part in parts]
        self._offsets = [sum(sizes[:k]) for k in range(len(sizes))]
        self.count: int = len(sizes)
        self._at_rest: list[Packed] = []

    def pack(self, passed: Iterable[Passed]) -> Packed:
        """Return memory with the arguments; pass it to `release` after it was read."""
        return self.pack_numbers([n for each in passed for n in each.numbers])

    def pack_numbers(self, numbers: Iterable[Any]) -> Packed:
        """Return memory with the numbers of all arguments."""
        try:
            packed = self._at_rest.pop()
        except IndexError:
            packed = self._make()
        self._pack_into(packed.memory, 0, *numbers)
        return packed

    def pointers_in(self, numbers: Sequence[Any]) -> list[int]:
        """Return the addresses of the arrays that have elements."""
        return [
            numbers[first]
            for first, ndim in self._arrays
            if 0 not in numbers[first + 1 : first + 1 + ndim]
        ]

    def release(self, packed: Packed) -> None:
        """Let a later launch use the memory."""
        self._at_rest.append(packed)

    def _make(self) -> Packed:
        """Return new memory."""
        memory = (ctypes.c_char * max(self._size, _SLOT))()
        first = ctypes.addressof(memory)
        addresses = (ctypes.c_void_p * max(len(self._offsets), 1))(
            *(first + offset for offset in self._offsets)
        )
        return Packed(memory, addresses, ctypes.addressof(addresses))
