"""Element types: how they promote, what they can be cast to, their kinds and limits, all of them.

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
    """With every other type, in either order; across kinds it is the implementation's."""
    for other in DTYPES:
        check("result_type", None, Named(one), Named(other))
        check("result_type", None, Arr(np.ones((2,), one)), Named(other))
        check("result_type", None, Named(other), Arr(np.ones((), one)))


@pytest.mark.parametrize("one", DTYPES)
def test_three_types_promote_in_any_order(one):
    """To the same one."""
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
    """In `result_type`, on either side of it."""
    for dtype in DTYPES:
        check("result_type", None, Named(dtype), scalar)
        check("result_type", None, scalar, Named(dtype), scalar)


@pytest.mark.parametrize(
    "given", [(), (1,), (1, 2.0), (True,)], ids=lambda x: repr(x).partition(" at 0x")[0]
)
def test_scalars_alone_have_no_type(given):
    """At least one array or type is needed."""
    check("result_type", None, *given)


@pytest.mark.parametrize("path", BINARY)
def test_a_function_of_two_arrays_gives_the_promoted_type(path):
    """For every pair of types that it takes."""
    for one, other in PAIRS:
        if {one, other} <= {*KINDS[BINARY[path].kind]}:
            check(path, None, Arr(np.ones((2,), one)), Arr(np.ones((), other)))


@pytest.mark.parametrize("one", DTYPES)
def test_a_type_can_be_cast_to_another_as_in_the_oracle(one):
    """Within its kind by the table of promotions, whatever stands for it."""
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
    """By words, by types, by tuples of both."""
    kinds = (*KIND_WORDS, *map(Named, DTYPES))
    for kind in (*kinds, *itertools.combinations(kinds, 2), ()):
        check("isdtype", None, Named(dtype), kind)


@pytest.mark.parametrize(
    "kind",
    ["float", "", 7, None, ("bool", ("numeric",)), ("bool", 7)],
    ids=lambda x: repr(x).partition(" at 0x")[0],
)
def test_what_is_no_kind_is_refused(kind):
    """With the errors of the oracle, and a TypeError for what is of another type."""
    if kind != ("bool", 7):  # the oracle has stopped at the first
        check("isdtype", None, Named("bool"), kind, refusable=True)
    check("isdtype", None, Named("int8"), kind, refusable=True)


@pytest.mark.parametrize("function", ["finfo", "iinfo"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_limits_of_a_type_are_those_of_the_oracle(function, dtype):
    """By type and by array; plain Python numbers; of any other type an error."""
    check(function, None, Named(dtype))
    check(function, None, Arr(np.ones((2,), dtype)))


@pytest.mark.parametrize("function", ["finfo", "iinfo"])
@pytest.mark.parametrize(
    "thing", [None, 1.0, [1.0], "no type", Foreign()], ids=lambda x: repr(x).partition(" at 0x")[0]
)
def test_what_has_no_limits_is_refused(function, thing):
    """What is neither type nor array is a TypeError, as it is in the oracle."""
    check(function, None, thing, refusable=True)


@pytest.mark.parametrize("one", DTYPES)
def test_a_cast_gives_the_values_of_the_oracle(one):
    """From every type to every other, complex to real refused or as NumPy has it."""
    for other in DTYPES:
        x = Arr(np.asarray([0, 1, 3, 100, 1], one))
        if not (one.startswith("complex") and not other.startswith("complex")):
            check("astype", None, x, Named(other))


@pytest.mark.parametrize("one", KINDS["complex floating"])
def test_a_complex_array_is_not_cast_to_a_real_one(one):
    """The standard says that it should not be permitted."""
    for other in (*KINDS["real numeric"],):
        outcome = OURS.call("astype", Arr(np.asarray([1 + 2j], one)), Named(other))

        assert isinstance(outcome.error, TypeError)


@pytest.mark.parametrize("one", KINDS["complex floating"])
def test_a_complex_array_is_cast_to_truths(one):
    """As NumPy does it: what is not 0 is true."""
    check("astype", None, Arr(np.asarray([0, 1j, 2, np.nan], one)), Named("bool"))


def test_types_are_equal_to_themselves_alone():
    """And can be keys."""
    own = [getattr(OURS.xp, name) for name in DTYPES]

    assert len({*own}) == len(DTYPES)
    assert all((one == other) is (one is other) for one in own for other in own)
