"""Numbers in kernels: folded literals, powers, parts of complex numbers, and built-in functions.

Source: the Python Language Reference, "Built-in Functions"; CUDA Python Specification 0.2, "Basic
Arithmetic Operations"; NumPy, "Universal functions".  Functions of `math` are in `mathematics`.
"""

from __future__ import annotations

import ast
import operator
import sys
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Final

from . import ir, tuples
from .context import Values, is_literal
from .types import (
    BY_NAME,
    HALVES,
    PART_OF,
    bool_,
    complex128,
    float32,
    float64,
    int32,
    int64,
    uint64,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .context import Context
    from .types import ScalarType

    Converter = Callable[[Any, ast.Call], Any]

_FOLDED: Final[dict[str, Callable[[int, int], int]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv,
    "%": operator.mod, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift, "**": pow,
}  # fmt: skip
SIGNS: Final[dict[Any, Callable[[int], int]]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}  # fmt: skip
_MOST: Final = 64  # of the exponent, or of the distance of a shift, of folded literals
_MULTIPLIED: Final = 4  # the largest exponent of floats that is multiplied out


def folded(name: str, left: Any, right: Any) -> int | None:
    """Return the int that an operation of two int literals stands for, None if there is none."""
    a, b = left.value, right.value
    if name not in _FOLDED or (name in {"//", "%"} and b == 0):
        return None
    if name in {"<<", ">>", "**"} and not 0 <= b < _MOST:
        return None
    found = _FOLDED[name](a, b)
    return found if -(1 << 63) <= found < 1 << 64 else None


# ---------------------------------------------------------------- complex numbers


def _part(which: int, _: Context, value: ir.Expression) -> ir.Expression:
    """Return the real or the imaginary part of a number."""
    if value.type in PART_OF:
        return ir.Part(PART_OF[value.type], value, which)
    if which:
        return ir.Cast(value.type, ir.Constant(value.type, 0))
    return value


class Conjugate:
    """The method ``conjugate`` of a number, to be called."""

    def __init__(self, _: Context, value: ir.Expression) -> None:
        self.value = value

    def called(self, reader: Context, node: ast.Call) -> ir.Expression:
        """Return the result of a call."""
        if node.args or node.keywords:
            reader.refuse(node, "conjugate() takes nothing", "CPY-CALL-1")
        return _conjugate(reader, self.value)


ATTRIBUTES: Final[dict[str, Callable[[Context, ir.Expression], Any]]] = {
    "real": partial(_part, 0), "imag": partial(_part, 1),
    "conjugate": Conjugate, "conj": Conjugate,
}  # fmt: skip
"""Attribute of a number -> its value."""


def _conjugate(reader: Context, value: ir.Expression) -> ir.Expression:
    """Return the complex conjugate of a number."""
    if value.type not in PART_OF:
        return value
    kept = reader.put(value)
    part = PART_OF[value.type]
    negative = ir.Unary(part, "-", ir.Part(part, kept, 1))
    return ir.Complex(value.type, ir.Part(part, kept, 0), negative)


# ---------------------------------------------------------------- powers


def exponent(right: ir.Expression) -> int | None:
    """Return the value of an exponent that is a literal, None for others."""
    return right.value if isinstance(right, ir.Constant) and is_literal(right) else None


def power(
    reader: Context,
    node: ast.AST,
    left: ir.Expression,
    right: ir.Expression,
    type_: ScalarType,
    exponent: int | None,
) -> ir.Expression:
    """Return ``left ** right`` in a type: of ints and small literal exponents by multiplication."""
    if exponent is not None and exponent < 0 and type_.is_integer:
        what = f"an int to the power of {exponent}"
        reader.refuse(node, what, "CPY-TYPE-5", "write 1.0 / x, or a float as the exponent")
    base = reader.cast(left, type_)
    if exponent is not None and 1 <= exponent <= _MULTIPLIED:
        return _multiplied(reader, base, exponent)
    if type_.is_integer:
        return ir.Binary(type_, "**", base, reader.cast(right, type_))
    if type_.kind == "complex":
        return ir.Binary(type_, "**", base, reader.cast(right, type_))
    wide = float32 if type_ in HALVES else type_
    values = (reader.cast(base, wide), reader.cast(reader.cast(right, type_), wide))
    return reader.cast(ir.Math(wide, "pow", values), type_)


def _multiplied(reader: Context, base: ir.Expression, exponent: int) -> ir.Expression:
    """Return a power by one or two multiplications."""
    base = base if isinstance(base, ir.Constant) else reader.put(base)
    if exponent == 1:
        return base
    square: ir.Expression = ir.Binary(base.type, "*", base, base)
    if exponent > 2:
        square = reader.put(square)
        square = ir.Binary(base.type, "*", square, base if exponent == 3 else square)
    return square


# ---------------------------------------------------------------- arguments of built-in functions


def given(reader: Context, node: ast.Call, name: str, *counts: int) -> list[ir.Expression]:
    """Return the numbers of a call, each of which has no effects when it is used twice."""
    numbers = reader.numbers(node.args)
    if len(numbers) not in counts:
        words = " or ".join(map(str, counts))
        reader.refuse(node, f"{name}() takes {words}", "CPY-CALL-1")
    return [n if isinstance(n, ir.Constant) else reader.put(n) for n in numbers]


def _listed(reader: Context, node: ast.Call, name: str) -> list[ir.Expression]:
    """Return several numbers, or the items of one tuple."""
    if len(node.args) == 1:
        found = tuples.opened(reader.value(node.args[0]))
        if isinstance(found, Values):
            return [reader.as_number(node, each) for each in found.items]
    if not node.args:
        reader.refuse(node, f"{name}() of nothing", "CPY-CALL-1")
    return given(reader, node, name, len(node.args))


def _common(reader: Context, node: ast.AST, values: Sequence[ir.Expression]) -> list[ir.Expression]:
    """Return numbers cast to their most generic type."""
    values = reader.agreed(values)
    type_ = reduce(partial(reader.joined, node), [value.type for value in values])
    return [reader.cast(value, type_) for value in values]


# ---------------------------------------------------------------- built-in functions


def _chosen(
    reader: Context, node: ast.AST, test: ir.Expression, yes: ir.Expression, no: ir.Expression
) -> ir.Expression:
    """Return one of two numbers, in their most generic type."""
    yes, no = _common(reader, node, [yes, no])
    return ir.Choice(yes.type, test, yes, no)


def _extreme(operator: ast.cmpop, name: str, reader: Context, node: ast.Call) -> ir.Expression:
    """Return the least or the greatest as Python does: a later number must be beyond it."""
    values = _common(reader, node, _listed(reader, node, name))
    best = values[0]
    for value in values[1:]:
        test = reader.compared(node, operator, value, best)
        best = reader.put(ir.Choice(value.type, test, value, best))
    return best


def _of_numpy(
    operator: ast.cmpop, name: str, if_nan: int, reader: Context, node: ast.Call
) -> ir.Expression:
    """Return the extreme of two as NumPy does; which of them is taken if it is NaN."""
    a, b = _common(reader, node, given(reader, node, name, 2))
    test = reader.compared(node, operator, a, b)
    if a.type.kind in {"float", "complex"}:
        nan = (a, b)[if_nan]
        test = ir.Binary(bool_, "|", test, ir.Binary(bool_, "!=", nan, nan))
    return ir.Choice(a.type, test, a, b)


def absolute(reader: Context, node: ast.Call) -> ir.Expression:
    """Return the absolute value; of a complex number a real one."""
    (value,) = reader.agreed(given(reader, node, "abs", 1))
    type_ = value.type
    if type_ in PART_OF:
        parts = (ir.Part(PART_OF[type_], value, 0), ir.Part(PART_OF[type_], value, 1))
        return ir.Math(PART_OF[type_], "hypot", parts)
    if type_.kind == "float":
        return ir.Math(type_, "fabs", (value,))
    if type_.kind != "int":
        return reader.cast(value, int32) if type_ is bool_ else value
    test = ir.Binary(bool_, "<", value, ir.Constant(type_, 0))
    return ir.Choice(type_, test, ir.Unary(type_, "-", value), value)


def _int(reader: Context, node: ast.Call) -> ir.Expression:
    """Return a number cast to int64; an unsigned one of 64 bits stays as it is."""
    (value,) = given(reader, node, "int", 1)
    return _cast(reader, node, value, uint64 if value.type is uint64 else int64)


def _cast(reader: Context, node: ast.AST, value: ir.Expression, type_: ScalarType) -> ir.Expression:
    """Return a number cast to a type."""
    found = reader.stored(node, value, type_)
    return ir.Cast(type_, found) if isinstance(found, ir.Constant) else found


def _float(reader: Context, node: ast.Call) -> ir.Expression:
    """Return a number cast to float64."""
    return _cast(reader, node, given(reader, node, "float", 1)[0], float64)


def _bool(reader: Context, node: ast.Call) -> ir.Expression:
    """Return whether a number is not 0."""
    return ir.Cast(bool_, given(reader, node, "bool", 1)[0])


def _complex(reader: Context, node: ast.Call) -> ir.Expression:
    """Return a complex128 of one number, or of two parts."""
    values = given(reader, node, "complex", 1, 2)
    if len(values) == 1:
        return _cast(reader, node, values[0], complex128)
    return ir.Complex(complex128, *(reader.stored(node, value, float64) for value in values))


def _round(reader: Context, node: ast.Call) -> ir.Expression:
    """Return the nearest int, the even one of two."""
    if len(node.args) > 1:
        what = "round() to a number of digits"
        reader.refuse(node, what, "CPY-CALL-1", "write round(x * 100) / 100")
    (value,) = given(reader, node, "round", 1)
    if value.type.kind in {"float", "complex"}:
        return reader.cast(_rounded_to(reader, node, "rint", value), int64)
    return reader.cast(value, int32) if value.type is bool_ else value


def _rounded_to(reader: Context, node: ast.AST, name: str, value: ir.Expression) -> ir.Expression:
    """Return a float rounded to an integer by a function of math."""
    if value.type.kind != "float":
        reader.refuse(node, f"{name} of {value.type}", "CPY-TYPE-3")
    return ir.Math(value.type, name, (value,))


def _divmod(reader: Context, node: ast.Call) -> Values:
    """Return quotient and remainder, as // and %."""
    a, b = given(reader, node, "divmod", 2)
    found = (reader.binary(node, ast.FloorDiv(), a, b), reader.binary(node, ast.Mod(), a, b))
    return Values(tuple(reader.put(reader.settled(each)) for each in found))


def _operation(sign: ast.operator, name: str, reader: Context, node: ast.Call) -> ir.Expression:
    """Return an operator that is written as a function of two numbers."""
    a, b = given(reader, node, name, 2)
    return reader.binary(node, sign, a, b)


def _comparison(sign: ast.cmpop, name: str, reader: Context, node: ast.Call) -> ir.Expression:
    """Return a comparison that is written as a function."""
    a, b = given(reader, node, name, 2)
    return reader.compared(node, sign, a, b)


def _sum(reader: Context, node: ast.Call) -> ir.Expression:
    """Return the sum of a tuple's items, and of where to start."""
    found = tuples.opened(reader.value(node.args[0])) if node.args else None
    if not isinstance(found, Values) or len(node.args) > 2:
        reader.refuse(node, "sum() takes a tuple", "CPY-CALL-1", "write the loop")
    items = [reader.as_number(node, each) for each in (*found.items,)]
    first = reader.number(node.args[1]) if len(node.args) > 1 else reader.constant(node, 0)
    return reduce(partial(reader.binary, node, ast.Add()), items, first)


# ---------------------------------------------------------------- NumPy's functions


def _sign(reader: Context, node: ast.Call) -> ir.Expression:
    """Return -1, 0 or 1, or NaN."""
    (value,) = reader.agreed(given(reader, node, "sign", 1))
    if value.type is bool_ or value.type in PART_OF:
        reader.refuse(node, f"the sign of {value.type}", "CPY-TYPE-3")
    one, zero = (ir.Constant(value.type, number) for number in (1, 0))
    is_zero = ir.Binary(bool_, "==", value, zero)
    is_above = ir.Binary(bool_, ">", value, zero)
    if value.type.kind == "uint":
        return ir.Choice(value.type, is_zero, zero, one)
    is_below = ir.Binary(bool_, "<", value, zero)
    rest = ir.Choice(value.type, is_zero, zero, value)
    negative = ir.Choice(value.type, is_below, ir.Constant(value.type, -1), rest)
    return ir.Choice(value.type, is_above, one, negative)


def _clip(reader: Context, node: ast.Call) -> ir.Expression:
    """Return a number within two bounds, as ``minimum(maximum(x, low), high)``; NaN stays."""
    x, low, high = _common(reader, node, given(reader, node, "clip", 3))
    test = reader.compared(node, ast.Lt(), x, low)
    x = reader.put(ir.Choice(x.type, test, low, x))
    return ir.Choice(x.type, reader.compared(node, ast.Gt(), x, high), high, x)


def _where(reader: Context, node: ast.Call) -> ir.Expression:
    """Return one of two numbers, both of which are computed."""
    test, yes, no = given(reader, node, "where", 3)
    return _chosen(reader, node, reader.cast(test, bool_), yes, no)


def _logical(name: str, reader: Context, node: ast.Call) -> ir.Expression:
    """Return a logical operation of two numbers, both of which are computed."""
    a, b = (reader.cast(each, bool_) for each in given(reader, node, f"logical_{name}", 2))
    return ir.Binary(bool_, {"and": "&", "or": "|", "xor": "^"}[name], a, b)


def _not(reader: Context, node: ast.Call) -> ir.Expression:
    """Return whether a number is 0."""
    (value,) = given(reader, node, "logical_not", 1)
    return ir.Unary(bool_, "not", reader.cast(value, bool_))


def _negative(reader: Context, node: ast.Call) -> ir.Expression:
    """Return a number with the other sign."""
    (value,) = reader.agreed(given(reader, node, "negative", 1))
    value = reader.cast(value, int32) if value.type is bool_ else value
    return ir.Unary(value.type, "-", value)


def _square(reader: Context, node: ast.Call) -> ir.Expression:
    """Return a number multiplied by itself."""
    (value,) = reader.agreed(given(reader, node, "square", 1))
    return reader.binary(node, ast.Mult(), value, value)


def _parted(which: int, name: str, reader: Context, node: ast.Call) -> ir.Expression:
    """Return a part of a number."""
    return _part(which, reader, given(reader, node, name, 1)[0])


def _conjugated(reader: Context, node: ast.Call) -> ir.Expression:
    """Return the conjugate of a number."""
    return _conjugate(reader, given(reader, node, "conjugate", 1)[0])


FUNCTIONS: Final[dict[Any, Converter]] = {
    min: partial(_extreme, ast.Lt(), "min"), max: partial(_extreme, ast.Gt(), "max"),
    abs: absolute, int: _int, float: _float, bool: _bool, complex: _complex, round: _round,
    divmod: _divmod, sum: _sum, pow: partial(_operation, ast.Pow(), "pow"),
}  # fmt: skip
"""Built-in function -> what converts a call of it."""
_OPERATIONS: Final = {
    "add": ast.Add(), "subtract": ast.Sub(), "multiply": ast.Mult(), "divide": ast.Div(),
    "true_divide": ast.Div(), "floor_divide": ast.FloorDiv(), "remainder": ast.Mod(),
    "mod": ast.Mod(), "power": ast.Pow(), "float_power": ast.Pow(), "bitwise_and": ast.BitAnd(),
    "bitwise_or": ast.BitOr(), "bitwise_xor": ast.BitXor(), "left_shift": ast.LShift(),
    "right_shift": ast.RShift(),
}  # fmt: skip
_COMPARISONS: Final = {
    "less": ast.Lt(), "less_equal": ast.LtE(), "greater": ast.Gt(), "greater_equal": ast.GtE(),
    "equal": ast.Eq(), "not_equal": ast.NotEq(),
}  # fmt: skip
NUMPY: Final[dict[str, Converter]] = {
    **{name: partial(_operation, sign, name) for name, sign in _OPERATIONS.items()},
    **{name: partial(_comparison, sign, name) for name, sign in _COMPARISONS.items()},
    **{f"logical_{name}": partial(_logical, name) for name in ("and", "or", "xor")},
    "maximum": partial(_of_numpy, ast.GtE(), "maximum", 0),
    "minimum": partial(_of_numpy, ast.LtE(), "minimum", 0),
    "fmax": partial(_of_numpy, ast.GtE(), "fmax", 1),
    "fmin": partial(_of_numpy, ast.LtE(), "fmin", 1),
    "absolute": absolute, "sign": _sign, "clip": _clip, "where": _where, "logical_not": _not,
    "negative": _negative, "square": _square, "divmod": _divmod, "conjugate": _conjugated,
    "real": partial(_parted, 0, "real"), "imag": partial(_parted, 1, "imag"),
}  # fmt: skip
"""Name of a function of NumPy -> what converts a call of it."""


def numpy_name(function: Any) -> str:
    """Return the name of a function of NumPy, empty for any other object."""
    name = getattr(function, "__name__", "")
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(name, str):
        return ""
    return name if getattr(numpy, name, None) is function else ""


def numpy_type(function: Any) -> ScalarType | None:
    """Return the type of a class of NumPy's scalars, such as ``np.float32``."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(function, type) or not issubclass(function, numpy.generic):
        return None
    try:
        return BY_NAME.get(str(numpy.dtype(function)))
    except TypeError:
        return None
