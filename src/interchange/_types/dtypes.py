"""Element types: code, bits and lanes, with the names that each protocol has for them.

Source: dlpack.h, ``DLDataTypeCode``; NumPy array interface (typestr); PEP 3118 (format). The codes
and sizes that exist are listed in `dtype_table`.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, Final

from interchange.abi._patterns import compiled
from interchange.abi._show import module_of
from interchange.abi.cai import TypeStr, parse_typestr
from interchange.abi.dlpack import DLDataTypeCode as Code
from interchange.abi.rules import BrokenRule

from .devices import is_index
from .dtype_table import (
    BY_NAME,
    FAMILIES,
    FORMATS,
    NATIVE,
    NATIVE_FORMATS,
    STANDARD_FORMATS,
)
from .errors import ArgumentError, UnsupportedDTypeError, refuse_record, show
from .interning import find, intern, is_name_of
from .numpy_dtypes import numpy_dtype, numpy_hash
from .type_table import TypeSet

if TYPE_CHECKING:
    from .interning import Known


class DType:
    """Element type: code, bits and lanes.  Equal types are the same object.

    A type equals every value that `DType.of` accepts for it.  It hashes as the NumPy dtype that it
    equals: sets and dicts find it by DTypes and NumPy dtypes, not by names.

    Parameters
    ----------
    code : int
        A member of `interchange.abi.DLDataTypeCode`, or its number.
    bits : int
        Size of one lane [bits]; for complex types that of the pair.
    lanes : int, default 1
        Length of the short vector that makes one element.
    padded : bool, default False
        Whether elements below 8 bits occupy a whole byte each.

    Raises
    ------
    UnsupportedDTypeError
        The type does not exist (DLP-DTYPE-1, DLP-DTYPE-2).

    Examples
    --------
    >>> DType(2, 32)
    DType('float32')
    >>> DType(17, 4, 2).itemsize
    1
    """

    __slots__ = (
        *("__weakref__", "_hash", "bits", "code", "is_packed", "itemsize", "lanes", "name"),
        "padded",
    )

    _known: Final[dict[Any, Known[DType]]] = {}
    code: Code
    """Meaning of the bits, as in dlpack.h."""
    bits: int
    """Size of one lane [bits]."""
    lanes: int
    """Length of the short vector that makes one element."""
    padded: bool
    """Whether elements below 8 bits occupy a whole byte each."""
    name: str
    """The name here, such as ``"float32"``; pickles contain it."""
    itemsize: int
    """Size of one element [bytes], rounded up for packed types."""
    is_packed: bool
    """Whether elements share bytes, so that they have no addresses of their own."""
    _hash: int

    def __new__(cls, code: int, bits: int, lanes: int = 1, *, padded: bool = False) -> DType:
        if not all(map(is_index, (code, bits, lanes))):
            what = f"dtype ({show(code)}, {show(bits)}, {show(lanes)}) is not a triple of ints"
            hint = "pass code, bits and lanes as ints, or use a name, as in `DType.of('float32')`"
            raise ArgumentError("DType()", what, "IX-ARGUMENT-1", hint)
        padded = padded and bits % 8 != 0
        found = find(cls._known, (code, bits, lanes, padded))
        if found is not None:
            return found
        cls._check(code, bits, lanes)
        self = object.__new__(cls)
        self.code, self.bits, self.lanes, self.padded = Code(code), int(bits), int(lanes), padded
        width = (-(-bits // 8) * 8 if padded else bits) * lanes
        self.itemsize = -(-width // 8)
        self.is_packed = width % 8 != 0
        self.name = FAMILIES[self.code].name.format(bits)
        self.name += f"x{lanes}" if lanes > 1 else ""
        self.name += "_padded" if padded else ""
        return intern(cls._known, (int(code), self.bits, self.lanes, padded), self)

    @staticmethod
    def _check(code: int, bits: int, lanes: int) -> None:
        """Refuse a type that is not in the table."""
        call = "DType()"
        what = f"dtype code {show(code)} with {show(bits)} bits and {show(lanes)} lanes"
        if bits < 1 or not 1 <= lanes < _MOST_LANES:
            raise UnsupportedDTypeError(call, f"{what} has no size", "DLP-DTYPE-2")
        if code not in FAMILIES or bits not in FAMILIES[Code(code)].bits:
            raise UnsupportedDTypeError(call, f"{what} is unknown", "DLP-DTYPE-1")

    @classmethod
    def of(cls, value: object, call: str = "DType.of()") -> DType:
        """Return the type that `value` names.

        Parameters
        ----------
        value : DType, str, tuple or object
            A DType; a name such as ``"bfloat16"``; a typestr such as ``"<f4"``, in native byte
            order also ``"f4"``; a (code, bits, lanes) tuple; a dtype of NumPy, ml_dtypes, PyTorch,
            JAX or an array-API library; a NumPy scalar type; the built-in ``bool``, ``int``,
            ``float`` and ``complex``; anything with ``__dlpack_data_type__``.
        call : str, optional
            Named in the error.

        Raises
        ------
        UnsupportedDTypeError
            The type has no counterpart in DLPack (DLP-DTYPE-1, DLP-DTYPE-3), or `value` is
            ambiguous, such as ``"float"`` (DLP-DTYPE-1).
        ArgumentError
            `value` does not name a type (IX-ARGUMENT-1).

        Examples
        --------
        >>> DType.of("<f4") is DType.of("float32")
        True
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            return _from_text(value, call)
        if isinstance(value, tuple) and len(value) in {2, 3}:
            return _make(value, call)
        if isinstance(value, type) and value in _BUILTIN_TYPES:
            return cls(*_BUILTINS[value])
        describe = getattr(value, "__dlpack_data_type__", None)
        if describe is not None and not isinstance(value, type):
            answer = describe()
            if isinstance(answer, tuple) and len(answer) == 3:
                return _make(answer, call)
        found = _from_foreign(value, call)
        if found is not None:
            return found
        what, hint = f"dtype={show(value)} is not an element type", _NO_TYPE
        if call == "Array.view()" and isinstance(value, (tuple, int)):  # PyTorch's view
            hint = f"use `x.reshape({show(value)}, copy=None)` for another shape"
        raise ArgumentError(call, what, "IX-ARGUMENT-1", hint)

    @property
    def category(self) -> str | None:
        """The kind that the standard's ``isdtype`` takes for the lanes; None for handles."""
        return FAMILIES[self.code].category

    @property
    def kind(self) -> str:
        """NumPy's letter for the kind, ``"V"`` without a NumPy dtype.

        It is that of the `dtype`: most dtypes of ml_dtypes have ``"V"``, so that code for NumPy
        does not treat them as numbers that NumPy computes with.  `category` gives the meaning of
        the bits.
        """
        family = FAMILIES[self.code]
        if self.typestr is not None:
            return family.typestr
        return family.ml_kind if self.ml_dtypes_name is not None else "V"

    @property
    def typestr(self) -> TypeStr | None:
        """The name in the array interface, native byte order, or None if it has none."""
        return _typestr_of(self.code, self.bits) if self.lanes == 1 else None

    @property
    def format(self) -> str | None:
        """The format in the buffer protocol, native byte order, or None if it has none."""
        return FORMATS.get((self.code, self.bits)) if self.lanes == 1 else None

    @property
    def ml_dtypes_name(self) -> str | None:
        """The name of the scalar type in ml_dtypes with the same representation, or None."""
        if self.lanes > 1 or (self.bits < 8 and not self.padded):
            return None
        family = FAMILIES[self.code]
        known = family.ml_dtypes or self.bits in family.no_typestr
        return self.name.removesuffix("_padded") if known else None

    @property
    def dtype(self) -> Any:
        """The NumPy dtype, so that ``numpy.dtype(x.dtype)`` works; missing if there is none."""
        found = numpy_dtype(self)
        if found is None:
            raise AttributeError(f"NumPy has no dtype for {self}")
        return found

    __numpy_dtype__ = dtype

    @property
    def type(self) -> Any:
        """The class of NumPy's scalars, as `numpy.dtype.type`; AttributeError if there is none."""
        return self.dtype.type

    def nbytes(self, count: int) -> int:
        """Return the size of `count` elements in a row [bytes].

        Examples
        --------
        >>> DType.of("int4").nbytes(3)
        2
        """
        if self.is_packed:
            return -(-count * self.bits * self.lanes // 8)
        return count * self.itemsize

    def __dlpack_data_type__(self) -> tuple[int, int, int]:
        return (int(self.code), self.bits, self.lanes)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self is other
        if other is getattr(sys.modules.get("numpy"), "generic", self):
            # numpy.isdtype() asks this before it looks for the hash among those of scalar types
            what = f"DType {self} is compared with numpy.generic, the base of all scalar types"
            hint = "pass `np.dtype(x)` to NumPy's function, or use `xp.isdtype`"
            raise ArgumentError("DType.__eq__()", what, "IX-ARGUMENT-1", hint)
        return is_name_of(other, self, DType.of)

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            found = numpy_hash(self)
            self._hash = object.__hash__(self) if found is None else found
            return self._hash

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return dtype_named, (self.name,)

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: object) -> DType:
        return self

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"DType({self.name!r})"


DType.__module__ = "interchange"


_NO_TYPE: Final = "pass a name such as 'float32', a DType or a NumPy dtype"
_BUILTINS: Final = {
    bool: (Code.kDLBool, 8),
    int: (Code.kDLInt, 64),
    float: (Code.kDLFloat, 64),
    complex: (Code.kDLComplex, 128),
}

_BUILTIN_TYPES: Final = TypeSet(_BUILTINS)

_MOST_LANES: Final = 2**16  # the others are fewer
_SUFFIXES: Final = r"(.*?)(?:x([0-9]{1,5}))?(_padded)?"


def all_dtypes() -> list[DType]:
    """Return every type of one lane, in the order of dlpack.h; sub-byte ones packed, then padded.

    Examples
    --------
    >>> [str(dtype) for dtype in all_dtypes()[:4]]
    ['int2', 'int2_padded', 'int4', 'int4_padded']
    """
    return [
        DType(code, bits, padded=padded)
        for code, bits in BY_NAME.values()
        for padded in ((False, True) if bits % 8 else (False,))
    ]


@functools.cache
def _typestr_of(code: Code, bits: int) -> TypeStr | None:
    """Return the name in the array interface of a type of one lane."""
    family = FAMILIES[code]
    if not family.typestr or bits in family.no_typestr:
        return None
    size = bits // 8
    return TypeStr("|" if size == 1 else NATIVE, family.typestr, size)


def _make(numbers: tuple[Any, ...], call: str, *, padded: bool = False) -> DType:
    """Return the type with these numbers; errors name `call`."""
    try:
        return DType(*numbers, padded=padded)
    except (ArgumentError, UnsupportedDTypeError) as error:
        raise error._for_call(call) from None


def dtype_named(name: str) -> DType:
    """Return the type that a pickle names."""
    return _from_text(name)


dtype_named.__module__, dtype_named.__qualname__ = "interchange", "_dtype_named"


def _from_text(text: str, call: str = "DType.of()") -> DType:
    """Return the type with a name or a typestr."""
    if text in BY_NAME:  # before suffixes: complex64 is not a vector of 64
        return DType(*BY_NAME[text])
    match = compiled(_SUFFIXES).fullmatch(text)
    if match is not None and match[1] in BY_NAME:
        numbers = (*BY_NAME[match[1]], int(match[2] or 1))
        if not 1 <= numbers[2] < _MOST_LANES:
            what = f"dtype={show(text)} has {numbers[2]} lanes"
            scalar = f"pass `'{match[1]}'`, or a vector of 1 to {_MOST_LANES - 1} lanes"
            raise UnsupportedDTypeError(call, what, "DLP-DTYPE-2", scalar)
        return _make(numbers, call, padded=match[3] is not None)
    if text[:1] in {"<", ">", "|"}:
        try:
            parsed = parse_typestr(text)
        except BrokenRule as broken:
            refuse_record(call, broken)
        return from_typestr(parsed, call)
    if text[:1] == "=":
        return _from_text(NATIVE + text[1:], call)
    from .dtype_words import NUMPY_CODES, READINGS  # rarely needed

    if text in NUMPY_CODES:
        return DType(*NUMPY_CODES[text])
    if text in READINGS:
        one, other = READINGS[text]
        what = f"dtype={show(text)} may be {one}, or {other}"
        hint = " or ".join(f"`'{reading.partition(',')[0]}'`" for reading in (one, other))
        raise UnsupportedDTypeError(call, what, "DLP-DTYPE-1", f"pass {hint}")
    from .unknown_names import dtype_instead  # for an error only

    hint = dtype_instead(text, BY_NAME)
    raise UnsupportedDTypeError(call, f"dtype={show(text)} is unknown", "DLP-DTYPE-1", hint)


def _from_foreign(value: object, call: str) -> DType | None:
    """Return the type of a NumPy-like or array-API dtype, or None for anything else.

    No library is imported: a NumPy dtype has ``str`` and ``name``, a scalar type of ml_dtypes or
    JAX has the name of its dtype, a dtype of torch prints as ``torch.float32``.
    """
    text = getattr(value, "str", None)
    name = getattr(value, "name", None)
    fields = getattr(value, "fields", None)
    if fields or getattr(value, "subdtype", None):
        what = f"dtype={show(value)} is structured"
        raise UnsupportedDTypeError(call, what, "DLP-DTYPE-3")
    if isinstance(value, type):
        if module_of(value) == "numpy":
            return _from_scalar_type(value, call)
        name = value.__name__ if module_of(value) != "builtins" else None
    elif isinstance(name, str) and isinstance(text, str):
        return _from_numpy(name, text, call)
    elif name is None and type(value).__name__.lower().endswith("type"):
        name = show(value, 1000).rpartition(".")[2]
    if not isinstance(name, str):
        return None
    if name in BY_NAME:
        code, bits = BY_NAME[name]
        return DType(code, bits, padded=bits < 8)
    from .dtype_words import LIBRARY_NAMES  # rarely needed

    return _from_text(LIBRARY_NAMES[name], call) if name in LIBRARY_NAMES else None


def _from_scalar_type(value: type, call: str) -> DType | None:
    """Return the type of a scalar class of NumPy; abstract classes have none."""
    numpy = sys.modules.get("numpy")  # another thread may still be importing it
    if numpy is None or value not in TypeSet(getattr(numpy, "sctypeDict", {}).values()):
        return None
    return _from_foreign(numpy.dtype(value), call)


def _from_numpy(name: str, text: str, call: str) -> DType:
    """Return the type of a NumPy dtype, by its name if ml_dtypes made it, else by its typestr."""
    if text[:1] == ">" and NATIVE == "<" and text[2:] != "1":
        raise UnsupportedDTypeError(call, f"dtype {show(text)} is big-endian", "DLP-DTYPE-3")
    if name in BY_NAME:
        code, bits = BY_NAME[name]
        return DType(code, bits, padded=bits < 8)
    try:
        return from_typestr(parse_typestr(text), call)
    except BrokenRule as broken:  # NumPy's variable-width text calls itself "StringDType()"
        what = f"dtype={show(text)} is not a plain number"
        raise UnsupportedDTypeError(call, what, "DLP-DTYPE-3") from broken


_PLAIN_KINDS: Final = frozenset("biufc")


def from_typestr(parsed: TypeStr, call: str = "from_array_interface()") -> DType:
    """Return the type that a typestr names.

    `parsed`: a parsed type string.

    Raises UnsupportedDTypeError: foreign byte order, or not a plain element (DLP-DTYPE-3); a size
        that does not exist (DLP-DTYPE-1); a type string that several types share (CAI-TYPESTR-2).

    Examples
    --------
    >>> from_typestr(parse_typestr("<c8"))
    DType('complex64')
    """
    what = f"typestr {str(parsed)!r}"
    foreign = parsed.byteorder not in {NATIVE, "|"} and parsed.itemsize > 1
    if foreign or parsed.kind not in _PLAIN_KINDS | {"V"}:
        reason = "is not in native byte order" if foreign else "is not a plain number"
        raise UnsupportedDTypeError(call, f"{what} {reason}", "DLP-DTYPE-3")
    if parsed.kind == "V" or (parsed.kind == "f" and parsed.size == 1):
        raise UnsupportedDTypeError(call, f"{what} may be several types", "CAI-TYPESTR-2")
    for code, family in FAMILIES.items():
        bits = 8 * parsed.size
        legal = bits in family.bits and bits not in family.no_typestr
        if family.typestr == parsed.kind and legal:
            return DType(code, bits)
    raise UnsupportedDTypeError(call, f"{what} has no counterpart", "DLP-DTYPE-1")


def from_format(text: str, itemsize: int, call: str = "from_buffer()") -> DType:
    """Return the type that a PEP 3118 format names.

    `text`: the format of one element.
    `itemsize`: its size according to the exporter [bytes].

    Raises UnsupportedDTypeError: the format is a struct, has a foreign byte order, or has no
        counterpart (BUF-FORMAT-1).

    Examples
    --------
    >>> from_format("<i", 4)
    DType('int32')
    """
    order, letters = (text[0], text[1:]) if text[:1] in set("@=<>!") else ("@", text)
    table = NATIVE_FORMATS if order == "@" else STANDARD_FORMATS
    foreign = order in ({">", "!"} if NATIVE == "<" else {"<"}) and itemsize > 1
    found = table.get(letters)
    if found is None or foreign or found[1] != 8 * itemsize:
        what = f"the buffer has format {text!r} of {itemsize} bytes"
        raise UnsupportedDTypeError(call, what, "BUF-FORMAT-1")
    return DType(*found)
