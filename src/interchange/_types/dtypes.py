"""Element types: code, bits and lanes, with the names that each protocol has for them.

Source: dlpack.h, ``DLDataTypeCode``; NumPy array interface (typestr); PEP 3118 (format).
One table, `_FAMILIES`, says which codes and sizes exist; everything else is derived from it.
"""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Any, Final

from interchange.abi._patterns import compiled
from interchange.abi._records import NamedTuple
from interchange.abi.cai import TypeStr, parse_typestr
from interchange.abi.dlpack import DLDataTypeCode as Code
from interchange.abi.rules import BrokenRule

from .devices import is_index
from .errors import ArgumentError, UnsupportedDTypeError, refuse_record, show
from .interning import find, intern
from .numpy_dtypes import numpy_dtype
from .type_table import TypeSet

if TYPE_CHECKING:
    from .interning import Known

NATIVE: Final = "<" if sys.byteorder == "little" else ">"


class _Family(NamedTuple):
    """What the members of one code have in common."""

    name: str  # with {} for the bits where several sizes exist
    bits: tuple[int, ...]  # legal sizes [bits]
    kind: str  # the standard's word for the category
    typestr: str = ""  # letter of the array interface, empty: none
    no_typestr: frozenset[int] = frozenset()  # sizes that the letter does not cover [bits]
    ml_dtypes: bool = False  # the NumPy dtype comes from ml_dtypes, under the same name


_F8: Final = (8,)
_FAMILIES: Final = {
    Code.kDLInt: _Family("int{}", (2, 4, 8, 16, 32, 64), "signed integer", "i", frozenset({2, 4})),
    Code.kDLUInt: _Family(
        "uint{}", (1, 2, 4, 8, 16, 32, 64), "unsigned integer", "u", frozenset({1, 2, 4})
    ),
    Code.kDLFloat: _Family("float{}", (16, 32, 64), "real floating-point", "f"),
    Code.kDLOpaqueHandle: _Family("opaque{}", (8, 16, 32, 64), "opaque handle"),
    Code.kDLBfloat: _Family("bfloat{}", (16,), "real floating-point", ml_dtypes=True),
    Code.kDLComplex: _Family(
        "complex{}", (32, 64, 128), "complex floating-point", "c", frozenset({32})
    ),
    Code.kDLBool: _Family("bool", (8,), "bool", "b"),
    Code.kDLFloat8_e3m4: _Family("float8_e3m4", _F8, "real floating-point", ml_dtypes=True),
    Code.kDLFloat8_e4m3: _Family("float8_e4m3", _F8, "real floating-point", ml_dtypes=True),
    Code.kDLFloat8_e4m3b11fnuz: _Family(
        "float8_e4m3b11fnuz", _F8, "real floating-point", ml_dtypes=True
    ),
    Code.kDLFloat8_e4m3fn: _Family("float8_e4m3fn", _F8, "real floating-point", ml_dtypes=True),
    Code.kDLFloat8_e4m3fnuz: _Family("float8_e4m3fnuz", _F8, "real floating-point", ml_dtypes=True),
    Code.kDLFloat8_e5m2: _Family("float8_e5m2", _F8, "real floating-point", ml_dtypes=True),
    Code.kDLFloat8_e5m2fnuz: _Family("float8_e5m2fnuz", _F8, "real floating-point", ml_dtypes=True),
    Code.kDLFloat8_e8m0fnu: _Family("float8_e8m0fnu", _F8, "real floating-point", ml_dtypes=True),
    Code.kDLFloat6_e2m3fn: _Family("float6_e2m3fn", (6,), "real floating-point", ml_dtypes=True),
    Code.kDLFloat6_e3m2fn: _Family("float6_e3m2fn", (6,), "real floating-point", ml_dtypes=True),
    Code.kDLFloat4_e2m1fn: _Family("float4_e2m1fn", (4,), "real floating-point", ml_dtypes=True),
    Code.kDLBcomplex: _Family("bcomplex{}", (32,), "complex floating-point", ml_dtypes=True),
}

_FORMATS: Final = {
    (Code.kDLBool, 8): "?",
    (Code.kDLInt, 8): "b",
    (Code.kDLInt, 16): "h",
    (Code.kDLInt, 32): "i",
    (Code.kDLInt, 64): "q",
    (Code.kDLUInt, 8): "B",
    (Code.kDLUInt, 16): "H",
    (Code.kDLUInt, 32): "I",
    (Code.kDLUInt, 64): "Q",
    (Code.kDLFloat, 16): "e",
    (Code.kDLFloat, 32): "f",
    (Code.kDLFloat, 64): "d",
    (Code.kDLComplex, 64): "Zf",  # NumPy's extension of the struct formats
    (Code.kDLComplex, 128): "Zd",
}
"""(code, bits) -> PEP 3118 format with standard sizes."""

_LONG: Final = 8 * ctypes.sizeof(ctypes.c_long)
_SSIZE: Final = 8 * ctypes.sizeof(ctypes.c_ssize_t)
_READ_FORMATS: Final = {
    **{text: key for key, text in _FORMATS.items()},
    "c": (Code.kDLUInt, 8),
    "F": (Code.kDLComplex, 64),  # of the complex numbers that ctypes has from CPython 3.14 on,
    "D": (Code.kDLComplex, 128),  # which 3.15 calls Zf and Zd
}
_NATIVE_FORMATS: Final = {
    **_READ_FORMATS,
    "l": (Code.kDLInt, _LONG),
    "L": (Code.kDLUInt, _LONG),
    "n": (Code.kDLInt, _SSIZE),
    "N": (Code.kDLUInt, _SSIZE),
}
_STANDARD_FORMATS: Final = {
    **_READ_FORMATS,
    "l": (Code.kDLInt, 32),
    "L": (Code.kDLUInt, 32),
}


class DType:
    """What the bits of one element mean.  Equal types are the same object.

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
        No such type exists (DLP-DTYPE-1, DLP-DTYPE-2).

    Examples
    --------
    >>> DType(2, 32)
    DType('float32')
    >>> DType(17, 4, 2).itemsize
    1
    """

    __slots__ = ("__weakref__", "bits", "code", "is_packed", "itemsize", "lanes", "name", "padded")

    _known: Final[dict[Any, Known[DType]]] = {}
    code: Code
    """What the bits mean, as dlpack.h says it."""
    bits: int
    """Size of one lane [bits]."""
    lanes: int
    """Length of the short vector that makes one element."""
    padded: bool
    """Whether elements below 8 bits occupy a whole byte each."""
    name: str
    """The name here, such as ``"float32"``; pickles travel by it."""
    itemsize: int
    """Size of one element [bytes], rounded up for packed types."""
    is_packed: bool
    """Whether elements share bytes, so that they have no address of their own."""

    def __new__(cls, code: int, bits: int, lanes: int = 1, *, padded: bool = False) -> DType:
        if not all(map(is_index, (code, bits, lanes))):
            what = f"dtype ({show(code)}, {show(bits)}, {show(lanes)}) is no triple of ints"
            raise ArgumentError("DType()", what, "IX-ARGUMENT-1")
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
        self.name = _FAMILIES[self.code].name.format(bits)
        self.name += f"x{lanes}" if lanes > 1 else ""
        self.name += "_padded" if padded else ""
        return intern(cls._known, (int(code), self.bits, self.lanes, padded), self)

    @staticmethod
    def _check(code: int, bits: int, lanes: int) -> None:
        """Refuse what no row of the table allows."""
        call = "DType()"
        what = f"dtype code {show(code)} with {show(bits)} bits and {show(lanes)} lanes"
        if bits < 1 or not 1 <= lanes < 2**16:
            raise UnsupportedDTypeError(call, f"{what} has no size", "DLP-DTYPE-2")
        if code not in _FAMILIES or bits not in _FAMILIES[Code(code)].bits:
            raise UnsupportedDTypeError(call, f"{what} is unknown", "DLP-DTYPE-1")

    @classmethod
    def of(cls, value: object, call: str = "DType.of()") -> DType:
        """Return the type that `value` names.

        Parameters
        ----------
        value : DType, str, tuple or object
            A DType; a name such as ``"bfloat16"``; a typestr such as ``"<f4"``; a
            (code, bits, lanes) tuple; a NumPy, ml_dtypes or array-API dtype; a NumPy scalar type;
            the built-in ``bool``, ``int``, ``float`` and ``complex``; anything with
            ``__dlpack_data_type__``.
        call : str, optional
            Named in the error.

        Raises
        ------
        UnsupportedDTypeError
            The type has no counterpart in DLPack (DLP-DTYPE-1, DLP-DTYPE-3).
        ArgumentError
            `value` names no type at all (IX-ARGUMENT-1).

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
        raise ArgumentError(
            call,
            f"dtype={show(value)} is no element type",
            "IX-ARGUMENT-1",
            "pass a name such as 'float32', a DType or a NumPy dtype",
        )

    @property
    def kind(self) -> str:
        """The array API standard's word for the category, or ``"opaque handle"``."""
        return _FAMILIES[self.code].kind

    @property
    def typestr(self) -> TypeStr | None:
        """The name in the array interface, native byte order, or None where it has none."""
        family = _FAMILIES[self.code]
        if not family.typestr or self.lanes > 1 or self.bits in family.no_typestr:
            return None
        size = self.bits // 8
        return TypeStr("|" if size == 1 else NATIVE, family.typestr, size)

    @property
    def format(self) -> str | None:
        """The format in the buffer protocol, native byte order, or None where it has none."""
        return _FORMATS.get((self.code, self.bits)) if self.lanes == 1 else None

    @property
    def ml_dtypes_name(self) -> str | None:
        """The name of the scalar type in ml_dtypes that stores elements alike, or None."""
        if self.lanes > 1 or (self.bits < 8 and not self.padded):
            return None
        family = _FAMILIES[self.code]
        known = family.ml_dtypes or self.bits in family.no_typestr
        return self.name.removesuffix("_padded") if known else None

    @property
    def dtype(self) -> Any:
        """The NumPy dtype, so that ``numpy.dtype(x.dtype)`` works; no attribute where none is."""
        found = numpy_dtype(self)
        if found is None:
            raise AttributeError(f"NumPy has no dtype for {self}")
        return found

    __numpy_dtype__ = dtype

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


_BUILTINS: Final = {
    bool: (Code.kDLBool, 8),
    int: (Code.kDLInt, 64),
    float: (Code.kDLFloat, 64),
    complex: (Code.kDLComplex, 128),
}

_BUILTIN_TYPES: Final = TypeSet(_BUILTINS)

_BY_NAME: Final = {
    family.name.format(bits): (code, bits)
    for code, family in _FAMILIES.items()
    for bits in family.bits
}
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
        for code, bits in _BY_NAME.values()
        for padded in ((False, True) if bits % 8 else (False,))
    ]


def _make(numbers: tuple[Any, ...], call: str, *, padded: bool = False) -> DType:
    """Return the type of these numbers; errors name `call`."""
    try:
        return DType(*numbers, padded=padded)
    except (ArgumentError, UnsupportedDTypeError) as error:
        raise error._said_by(call) from None


def dtype_named(name: str) -> DType:
    """Return the type that a pickle names."""
    return _from_text(name)


dtype_named.__module__, dtype_named.__qualname__ = "interchange", "_dtype_named"


def _from_text(text: str, call: str = "DType.of()") -> DType:
    """Return the type that a name or a typestr says."""
    if text in _BY_NAME:  # before suffixes: complex64 is no vector of 64
        return DType(*_BY_NAME[text])
    match = compiled(_SUFFIXES).fullmatch(text)
    if match is not None and match[1] in _BY_NAME:
        numbers = (*_BY_NAME[match[1]], int(match[2] or 1))
        return _make(numbers, call, padded=match[3] is not None)
    if text[:1] in {"<", ">", "|"}:
        try:
            parsed = parse_typestr(text)
        except BrokenRule as broken:
            refuse_record(call, broken)
        return from_typestr(parsed, call)
    if text[:1] == "=":
        return _from_text(NATIVE + text[1:], call)
    raise UnsupportedDTypeError(call, f"dtype={show(text)} is unknown", "DLP-DTYPE-1")


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
        if value.__module__ == "numpy":
            return _from_scalar_type(value, call)
        name = value.__name__ if value.__module__ != "builtins" else None
    elif isinstance(name, str) and isinstance(text, str):
        return _from_numpy(name, text, call)
    elif name is None:
        name = show(value, 1000).rpartition(".")[2]
    if isinstance(name, str) and name in _BY_NAME:
        code, bits = _BY_NAME[name]
        return DType(code, bits, padded=bits < 8)
    return None


def _from_scalar_type(value: type, call: str) -> DType | None:
    """Return the type of a scalar class of NumPy; abstract classes have none."""
    numpy = sys.modules.get("numpy")  # perhaps half imported by another thread
    if numpy is None or value not in TypeSet(getattr(numpy, "sctypeDict", {}).values()):
        return None
    return _from_foreign(numpy.dtype(value), call)


def _from_numpy(name: str, text: str, call: str) -> DType:
    """Return the type of a NumPy dtype, by its name where ml_dtypes made it, else its typestr."""
    if text[:1] == ">" and NATIVE == "<" and text[2:] != "1":
        raise UnsupportedDTypeError(call, f"dtype {show(text)} is big-endian", "DLP-DTYPE-3")
    if name in _BY_NAME:
        code, bits = _BY_NAME[name]
        return DType(code, bits, padded=bits < 8)
    try:
        return from_typestr(parse_typestr(text), call)
    except BrokenRule as broken:  # NumPy's variable-width text calls itself "StringDType()"
        what = f"dtype={show(text)} is no plain number"
        raise UnsupportedDTypeError(call, what, "DLP-DTYPE-3") from broken


_PLAIN_KINDS: Final = frozenset("biufc")


def from_typestr(parsed: TypeStr, call: str = "from_array_interface()") -> DType:
    """Return the type that a typestr names.

    Parameters
    ----------
    parsed : TypeStr
        A parsed type string.
    call : str, optional
        Named in the error.

    Raises
    ------
    UnsupportedDTypeError
        Foreign byte order, or no plain element (DLP-DTYPE-3); a size that does not exist
        (DLP-DTYPE-1); a type string that several types share (CAI-TYPESTR-2).

    Examples
    --------
    >>> from_typestr(parse_typestr("<c8"))
    DType('complex64')
    """
    what = f"typestr {str(parsed)!r}"
    foreign = parsed.byteorder not in {NATIVE, "|"} and parsed.itemsize > 1
    if foreign or parsed.kind not in _PLAIN_KINDS | {"V"}:
        reason = "is not in native byte order" if foreign else "is no plain number"
        raise UnsupportedDTypeError(call, f"{what} {reason}", "DLP-DTYPE-3")
    if parsed.kind == "V" or (parsed.kind == "f" and parsed.size == 1):
        raise UnsupportedDTypeError(call, f"{what} may be several types", "CAI-TYPESTR-2")
    for code, family in _FAMILIES.items():
        bits = 8 * parsed.size
        legal = bits in family.bits and bits not in family.no_typestr
        if family.typestr == parsed.kind and legal:
            return DType(code, bits)
    raise UnsupportedDTypeError(call, f"{what} has no counterpart", "DLP-DTYPE-1")


def from_format(text: str, itemsize: int, call: str = "from_buffer()") -> DType:
    """Return the type that a PEP 3118 format names.

    Parameters
    ----------
    text : str
        The format of one element.
    itemsize : int
        Its size as the exporter says [bytes].
    call : str, optional
        Named in the error.

    Raises
    ------
    UnsupportedDTypeError
        The format is a struct, has a foreign byte order, or no counterpart (BUF-FORMAT-1).

    Examples
    --------
    >>> from_format("<i", 4)
    DType('int32')
    """
    order, letters = (text[0], text[1:]) if text[:1] in set("@=<>!") else ("@", text)
    table = _NATIVE_FORMATS if order == "@" else _STANDARD_FORMATS
    foreign = order in ({">", "!"} if NATIVE == "<" else {"<"}) and itemsize > 1
    found = table.get(letters)
    if found is None or foreign or found[1] != 8 * itemsize:
        what = f"the buffer has format {text!r} of {itemsize} bytes"
        raise UnsupportedDTypeError(call, what, "BUF-FORMAT-1")
    return DType(*found)
