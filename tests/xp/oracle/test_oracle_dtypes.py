"""Element types: promotion, casts, kinds and limits, for all of them.

Source: array API standard 2025.12, "Type promotion rules", "Data type functions".
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from xp_oracle.comparing import check
from xp_oracle.names import BINARY, DTYPES, KINDS
from xp_oracle.values import promotable
from xp_oracle.worlds import OURS, STRICT, Arr, Foreign, Named

PAIRS = [(one, other) for one in DTYPES for other in promotable(one, "all")]
SCALARS = (True, 1, -1, 1.5, 1j)


@pytest.mark.parametrize("one", DTYPES)
def test_two_types_promote_as_in_the_oracle(one):
    """Promotion agrees for all pairs, in either order.

    Across kinds it is implementation-defined.
    """
    for other in DTYPES:
        check("result_type", None, Named(one), Named(other))
        check("result_type", None, Arr(np.ones((2,), one)), Named(other))
        check("result_type", None, Named(other), Arr(np.ones((), one)))


@pytest.mark.parametrize("one", DTYPES)
def test_three_types_promote_in_any_order(one):
    """Three types promote to the same type in any order."""
    for two, three in itertools.product(promotable(one, "all"), repeat=2):
        if three in promotable(two, "all"):
            found = {
                OURS.call("result_type", *map(Named, order)).value
                for order in itertools.permutations((one, two, three))
            }
            assert len(found) == 1
            check("result_type", None, Named(one), Named(two), Named(three))


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda x: repr(x).partition(" at 0x")[0])
def test_a_python_scalar_bends_to_a_type(scalar):
    """A Python scalar is promoted to the type in `result_type`, in either position."""
    for dtype in DTYPES:
        check("result_type", None, Named(dtype), scalar)
        check("result_type", None, scalar, Named(dtype), scalar)


@pytest.mark.parametrize(
    "given", [(), (1,), (1, 2.0), (True,)], ids=lambda x: repr(x).partition(" at 0x")[0]
)
def test_scalars_alone_have_no_type(given):
    """`result_type` needs at least one array or type."""
    check("result_type", None, *given)


@pytest.mark.parametrize("path", BINARY)
def test_a_function_of_two_arrays_gives_the_promoted_type(path):
    """Promotion agrees for every pair of types that the oracle accepts."""
    for one, other in PAIRS:
        if {one, other} <= {*KINDS[BINARY[path].kind]}:
            check(path, None, Arr(np.ones((2,), one)), Arr(np.ones((), other)))


@pytest.mark.parametrize("one", DTYPES)
def test_a_type_can_be_cast_to_another_as_in_the_oracle(one):
    """A cast within a kind agrees with the promotion table, for dtypes and arrays."""
    for other in DTYPES:
        ours = OURS.call("can_cast", Named(one), Named(other))
        theirs = STRICT.call("can_cast", Named(one), Named(other))
        array = OURS.call("can_cast", Arr(np.ones(2, one)), Named(other))

        assert ours.value is array.value
        if other in promotable(one, "all"):
            assert ours.value is theirs.value
        check("can_cast", None, Named(one), Named(other))


KIND_WORDS = (
    *("bool", "signed integer", "unsigned integer", "integral", "real floating"),
    *("complex floating", "numeric"),
)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_type_is_of_the_kinds_of_the_oracle(dtype):
    """`isdtype` agrees for names, types, and tuples of both."""
    kinds = (*KIND_WORDS, *map(Named, DTYPES))
    for kind in (*kinds, *itertools.combinations(kinds, 2), ()):
        check("isdtype", None, Named(dtype), kind)


@pytest.mark.parametrize(
    "kind",
    ["float", "", 7, None, ("bool", ("numeric",)), ("bool", 7)],
    ids=lambda x: repr(x).partition(" at 0x")[0],
)
def test_what_is_no_kind_is_refused(kind):
    """Errors agree, and a value of another type is a TypeError."""
    if kind != ("bool", 7):  # the oracle has stopped at the first
        check("isdtype", None, Named("bool"), kind, refusable=True)
    check("isdtype", None, Named("int8"), kind, refusable=True)


@pytest.mark.parametrize("function", ["finfo", "iinfo"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_limits_of_a_type_are_those_of_the_oracle(function, dtype):
    """Limits agree by type and by array, are Python numbers, and are an error for other types."""
    check(function, None, Named(dtype))
    check(function, None, Arr(np.ones((2,), dtype)))


@pytest.mark.parametrize("function", ["finfo", "iinfo"])
@pytest.mark.parametrize(
    "thing", [None, 1.0, [1.0], "no type", Foreign()], ids=lambda x: repr(x).partition(" at 0x")[0]
)
def test_what_has_no_limits_is_refused(function, thing):
    """A value that is neither type nor array is a TypeError, as in the oracle."""
    check(function, None, thing, refusable=True)


@pytest.mark.parametrize("one", DTYPES)
def test_a_cast_gives_the_values_of_the_oracle(one):
    """Casts agree for every pair; complex to real is refused or as in NumPy."""
    for other in DTYPES:
        x = Arr(np.asarray([0, 1, 3, 100, 1], one))
        if not (one.startswith("complex") and not other.startswith("complex")):
            check("astype", None, x, Named(other))


@pytest.mark.parametrize("one", KINDS["complex floating"])
def test_a_complex_array_is_not_cast_to_a_real_one(one):
    """A cast from complex to real is refused: the standard says that it should not be permitted."""
    for other in (*KINDS["real numeric"],):
        outcome = OURS.call("astype", Arr(np.asarray([1 + 2j], one)), Named(other))

        assert isinstance(outcome.error, TypeError)


@pytest.mark.parametrize("one", KINDS["complex floating"])
def test_a_complex_array_is_cast_to_truths(one):
    """A cast from complex to bool gives True for every value except 0, as in NumPy."""
    check("astype", None, Arr(np.asarray([0, 1j, 2, np.nan], one)), Named("bool"))


def test_types_are_equal_to_themselves_alone():
    """Types are equal only to themselves, and are hashable."""
    own = [getattr(OURS.xp, name) for name in DTYPES]

    assert len({*own}) == len(DTYPES)
    assert all((one == other) is (one is other) for one in own for other in own)
