"""The operators of arrays: plain, reflected and in place, with arrays and with Python scalars.

Source: array API standard 2025.12, "Array object", "Operators".
"""

from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import given, strategies as st
from xp_oracle import values as v
from xp_oracle.comparing import check
from xp_oracle.effort import effort
from xp_oracle.names import COMPARISONS, KINDS, OPERATORS, SIGNS
from xp_oracle.worlds import OURS, Arr

PYTHON = {
    name: getattr(operator, name if name not in {"and", "or"} else f"{name}_") for name in OPERATORS
}
IN_PLACE = {name: getattr(operator, f"i{name}") for name in OPERATORS}
SHIFTS = {"lshift", "rshift"}


@st.composite
def operands(draw, kind, *, in_place=False, shifts=False):
    """Draw two arrays that promote and broadcast; in place, to the first one's type and shape."""
    one = draw(v.dtypes(kind))
    fits = v.promotable(one, kind)
    if in_place:
        fits = [d for d in fits if np.result_type(one, d) == np.dtype(one)]
    shape = draw(v.shapes())
    first = draw(v.arrays(one, shape if in_place else draw(v.below(shape))))
    second = draw(v.arrays(draw(st.sampled_from((one, *fits))), draw(v.below(shape))))
    return first, within(second) if shifts else second


def within(array):
    """Make amounts to shift by of what may be any integers."""
    return Arr(np.asarray(array.values % 64, array.dtype), array.layout)


def scalar_beside(draw, kind, *, shifts=False):
    """Draw an array, and a Python scalar that is allowed as its operand."""
    dtype = draw(v.dtypes(kind))
    array = draw(v.arrays(dtype, draw(v.shapes())))
    scalar = draw(v.scalars(dtype))
    return array, abs(scalar) % 64 if shifts else scalar


@pytest.mark.parametrize("name", OPERATORS)
@effort
@given(st.data())
def test_an_operator_of_two_arrays_agrees(name, data):
    """An operator agrees with the oracle's function of the same meaning."""
    x1, x2 = data.draw(operands(OPERATORS[name], shifts=name in SHIFTS))

    check(f"__{name}__", PYTHON[name], x1, x2)


@pytest.mark.parametrize("name", OPERATORS)
@effort
@given(st.data())
def test_an_operator_takes_a_python_scalar_on_either_side(name, data):
    """An operator accepts a Python scalar on either side, with the type of the array."""
    array, scalar = scalar_beside(data.draw, OPERATORS[name], shifts=name in SHIFTS)
    if name in SHIFTS:
        array = within(array)
    pair = (array, scalar) if data.draw(st.booleans()) else (scalar, array)

    check(f"__{name}__", PYTHON[name], *pair)


def in_place(name):
    """Return the operation: the operator, then its result and the value of the name."""

    def action(one, other):
        given, result = one, one
        result = IN_PLACE[name](result, other)
        return result, given, result is given

    return action


@pytest.mark.parametrize("name", OPERATORS)
@effort
@given(st.data())
def test_an_operator_in_place_changes_the_array_itself(name, data):
    """An in-place operator modifies and returns the array, with the same type and shape."""
    x1, x2 = data.draw(operands(OPERATORS[name], in_place=True, shifts=name in SHIFTS))

    check(f"__i{name}__", in_place(name), x1, x2)


@pytest.mark.parametrize("name", OPERATORS)
@effort
@given(st.data())
def test_an_operator_in_place_takes_a_python_scalar(name, data):
    """An in-place operator accepts a Python scalar, unless the type would change."""
    array, scalar = scalar_beside(data.draw, OPERATORS[name], shifts=name in SHIFTS)

    check(f"__i{name}__", in_place(name), array, scalar)


@pytest.mark.parametrize("name", OPERATORS)
@effort
@given(st.data())
def test_an_operator_in_place_refuses_what_would_change_the_array(name, data):
    """A result of another shape, or of a type that cannot be kept, is refused."""
    x2, x1 = data.draw(operands(OPERATORS[name], shifts=False))
    if name in SHIFTS:
        x2 = within(x2)

    check(f"__i{name}__", in_place(name), x1, x2)


@pytest.mark.parametrize("name", COMPARISONS)
@effort
@given(st.data())
def test_a_comparison_agrees(name, data):
    """Comparisons agree, between arrays and with a Python scalar on either side."""
    kind = COMPARISONS[name]
    if data.draw(st.booleans()):
        pair = data.draw(operands(kind))
    else:
        pair = scalar_beside(data.draw, kind)
        pair = pair if data.draw(st.booleans()) else pair[::-1]

    check(f"__{name}__", getattr(operator, name), *pair)


@pytest.mark.parametrize("name", SIGNS)
@effort
@given(st.data())
def test_an_operator_of_one_array_agrees(name, data):
    """Signs, absolute values and inverted bits."""
    x = data.draw(v.arrays(data.draw(v.dtypes(SIGNS[name])), data.draw(v.shapes())))

    check(f"__{name}__", getattr(operator, name), x)


@effort
@given(st.data())
def test_matmul_agrees(data):
    """`matmul` agrees for matrices, stacks and vectors, plain and in place."""
    one, other = data.draw(st.sampled_from([("float64", "float32"), ("int8", "int8")]))
    rows, inner, columns = (data.draw(st.integers(0, 3)) for _ in range(3))
    lead = data.draw(v.shapes(0, 1))
    x1 = data.draw(v.arrays(one, (*data.draw(v.below(lead)), rows, inner), "tame"))
    x2 = data.draw(v.arrays(other, (*lead, inner, columns), "tame"))

    check("matmul", operator.matmul, x1, x2)


@effort
@given(st.data())
def test_matmul_in_place_agrees(data):
    """In-place `matmul` agrees if the product has the shape of the first factor."""
    rows, inner = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    x1 = data.draw(v.arrays("float64", (rows, inner), "tame"))
    x2 = data.draw(v.arrays("float64", (inner, inner), "tame"))

    def action(a, b):
        a @= b
        return a

    check("matmul", action, x1, x2)


@pytest.mark.parametrize("name", [*OPERATORS, *COMPARISONS, *SIGNS])
@effort
@given(st.data())
def test_an_operator_for_which_a_type_is_not_meant(name, data):
    """The operator is refused, or agrees with NumPy."""
    kind = {**OPERATORS, **COMPARISONS, **SIGNS}[name]
    others = [d for d in KINDS["all"] if d not in KINDS[kind]]
    if not others:
        return
    x = data.draw(v.arrays(data.draw(st.sampled_from(others)), (2,), "tame"))
    act = PYTHON.get(name) or getattr(operator, name)
    many = (x,) if name in SIGNS else (x, x)

    check(f"__{name}__", act, *many)


# ---------------------------------------------------------------- invalid operands

ANY_OPERATOR = [
    *PYTHON.items(),
    *((name, getattr(operator, name)) for name in (*COMPARISONS, "matmul")),
    *((f"i{name}", act) for name, act in IN_PLACE.items()),
]


@pytest.mark.parametrize(("name", "act"), ANY_OPERATOR, ids=[name for name, _ in ANY_OPERATOR])
def test_an_array_of_another_library_is_refused_on_either_side(name, act):
    """Arrays of other libraries are a TypeError that names `asarray`, on either side."""
    ours, theirs = OURS.xp.asarray([1, 2]), np.asarray([1, 2])

    with pytest.raises(TypeError, match=r"= interchange\.asarray\(\w+\)` \[IX-XP-1\]"):
        act(ours, theirs)
    if not name.startswith("i") or name == "invert":
        with pytest.raises(TypeError, match=r"= interchange\.asarray\(\w+\)` \[IX-XP-1\]"):
            act(theirs, ours)


@pytest.mark.parametrize(
    "other", ["text", None, [1, 2], (1, 2), {}, ...], ids=lambda x: repr(x).partition(" at 0x")[0]
)
@pytest.mark.parametrize("name", OPERATORS)
def test_what_is_neither_array_nor_number_is_a_type_error(name, other):
    """An operand that is neither array nor number is a TypeError on either side."""
    ours = OURS.xp.asarray([1, 2])

    for pair in ((ours, other), (other, ours)):
        if isinstance(pair[0], str) and name == "mod":
            continue  # Python formats a string with any object that has keys
        with pytest.raises(TypeError):
            PYTHON[name](*pair)


def test_an_array_has_no_hash():
    """An array has no hash, since its comparisons return arrays."""
    with pytest.raises(TypeError):
        hash(OURS.xp.asarray([1.0]))
