"""Type promotion: the type of an operation's operands, and of its result.

Source: CUDA Python Specification 0.2, "Type Inference" and "Basic Arithmetic Operations".  Cases
that it does not define are decided here; docs/guides/kernel-language.md gives the reasons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from .types import (
    PART_OF,
    bool_,
    complex64,
    complex128,
    float32,
    float64,
    int32,
    int64,
    uint64,
)

if TYPE_CHECKING:
    from .types import ScalarType

FLOATS: Final = {32: float32, 64: float64}
INTS: Final = {32: int32, 64: int64}
BASIC: Final = ("+", "-", "*")
OF_COMPLEX: Final = (*BASIC, "/", "**")
BITWISE: Final = ("&", "|", "^", "<<", ">>")
LOGICAL: Final = ("&", "|", "^")
"""The result of two bools is a bool, as in Python and NumPy."""
COMPARISONS: Final = ("<", "<=", ">", ">=", "==", "!=")
EQUALITY: Final = ("==", "!=")
NARROWEST: Final = 32
"""Minimum width of results of / and // [bits]."""


class Typed(NamedTuple):
    """The types of an operation: its operands are cast to one, its result has the other."""

    operands: ScalarType
    result: ScalarType


class RefusedTypesError(TypeError):
    """An operation is not defined for these types; with the finding and the rule."""

    what: str
    rule: str

    def __init__(self, what: str, rule: str) -> None:
        super().__init__(what)
        self.what, self.rule = what, rule


def most_generic(a: ScalarType, b: ScalarType) -> ScalarType:
    """Return the most general of two types, to which operands are coerced.

    Floats before integers, the wider before the narrower, unsigned before signed of one width, as
    in CUDA C; two bools count as int32.

    Examples
    --------
    >>> from interchange.cuda.types import int16, int32, float32, int64, uint32
    >>> most_generic(int16, int32), most_generic(int64, float32), most_generic(int32, uint32)
    (int32, float32, uint32)
    """
    if "complex" in {a.kind, b.kind}:
        is_wide = any(PART_OF.get(t, t) is float64 for t in (a, b))
        return complex128 if is_wide else complex64
    if "float" in {a.kind, b.kind}:
        return _widest(a, b)
    if a.kind == b.kind == "bool":
        return int32
    if "bool" in {a.kind, b.kind}:
        return b if a.kind == "bool" else a
    if a.bits != b.bits:
        return max(a, b, key=lambda t: t.bits)
    return a if a.kind == "uint" else b


def _widest(a: ScalarType, b: ScalarType) -> ScalarType:
    """Return the wider float of two types; float32 for float16 and bfloat16."""
    if a is b or b.kind != "float":
        return a
    if a.kind != "float":
        return b
    return FLOATS[max(NARROWEST, a.bits, b.bits)]


def typed_binary(operator: str, a: ScalarType, b: ScalarType) -> Typed:
    """Return the types of ``a operator b``.

    Raises
    ------
    RefusedTypesError
        It is not defined for these types.

    Examples
    --------
    >>> from interchange.cuda.types import int8, int16, int32, float32, int64
    >>> typed_binary("//", int8, int8).result, typed_binary("/", int32, int32).result
    (int32, float32)
    >>> typed_binary("/", int64, float32).result, typed_binary("&", int8, int16).result
    (float64, int16)
    """
    generic = most_generic(a, b)
    if generic.kind == "complex" and operator not in OF_COMPLEX:
        raise RefusedTypesError(f"{a} {operator} {b}", "CPY-TYPE-3")
    if operator in {*BASIC, "%", "**"} or generic.kind == "complex":
        return Typed(generic, generic)
    if operator == "/":
        wide = FLOATS[max(NARROWEST, a.bits, b.bits)]
        return Typed(wide, wide)
    if operator == "//":
        return Typed(generic, _integer_like(generic))
    if operator in BITWISE:
        if a.kind == b.kind == "bool" and operator in LOGICAL:
            return Typed(bool_, bool_)
        if generic.kind == "float":
            raise RefusedTypesError(f"{a} {operator} {b}", "CPY-TYPE-2")
        return Typed(generic, generic)
    raise RefusedTypesError(f"{a} {operator} {b}", "CPY-NPM-2")


def _integer_like(generic: ScalarType) -> ScalarType:
    """Return the integer type of a floor division: as wide, and at least `NARROWEST`."""
    if generic.is_integer and generic.bits >= NARROWEST:
        return generic
    return INTS[max(NARROWEST, generic.bits)]


def typed_comparison(operator: str, a: ScalarType, b: ScalarType) -> ScalarType:
    """Return the type in which two numbers are compared."""
    generic = most_generic(a, b)
    if generic.kind == "complex" and operator not in EQUALITY:
        raise RefusedTypesError(f"{a} {operator} {b}", "CPY-TYPE-3")
    return generic


def typed_math(arguments: list[ScalarType]) -> ScalarType:
    """Return the type in which a function of `math` is computed: as ``/`` would promote."""
    if any(t.kind == "complex" for t in arguments):
        raise RefusedTypesError("a function of math, of a complex number", "CPY-TYPE-3")
    return FLOATS[max(NARROWEST, *(t.bits for t in arguments))]


def is_lossy(source: ScalarType, target: ScalarType) -> bool:
    """Whether a coercion loses more than a rounding: a fraction, high bits, or the number."""
    if target.kind == "bool":
        return source.kind != "bool"
    if not target.is_integer:
        return False
    return source.kind in {"float", "complex"} or source.bits > max(target.bits, 8)


def can_store(source: ScalarType, target: ScalarType) -> bool:
    """Whether a number may be coerced to the type of its target: always, except complex to real."""
    return source.kind != "complex" or target.kind == "complex"


def literal_type(value: object) -> ScalarType | None:
    """Return the type of a literal in a kernel, None for other objects."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return _integer_type(value)
    if isinstance(value, float):
        return float64
    return complex128 if isinstance(value, complex) else None


def _integer_type(value: int) -> ScalarType | None:
    """Return the narrowest of int32, int64 and uint64 that holds a number."""
    if -(1 << 31) <= value < 1 << 31:
        return int32
    if -(1 << 63) <= value < 1 << 63:
        return int64
    return uint64 if 0 <= value < 1 << 64 else None
