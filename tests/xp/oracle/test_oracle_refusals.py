"""A call that array-api-strict refuses is refused with an equivalent error class.

Source: array API standard 2025.12; accepted differences are in `xp_oracle.differences`.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from xp_oracle.calls import arranged, example, signature
from xp_oracle.comparing import check
from xp_oracle.effort import effort
from xp_oracle.names import FUNCTIONS
from xp_oracle.spoiling import spoilt_calls
from xp_oracle.worlds import OURS, Arr, Foreign

COUNTED = [
    path
    for path in FUNCTIONS
    if all(p.kind is not p.VAR_POSITIONAL for p in signature(path).parameters.values())
]
TAKE_ANYTHING = {"asarray", "from_dlpack"}
ARRAY_PARAMETERS = [
    (path, name)
    for path in FUNCTIONS
    for name in signature(path).parameters
    if path not in TAKE_ANYTHING
    for value in [example(path).get(name)]
    if isinstance(value, Arr)
    or (isinstance(value, (tuple, list)) and value and isinstance(value[0], Arr))
]


@pytest.mark.parametrize("path", FUNCTIONS)
@effort
@given(st.data())
def test_a_wrong_argument_ends_as_in_the_oracle(path, data):
    """Types, shapes, axes and names that a function does not accept are refused."""
    (args, kwargs), by_type = data.draw(spoilt_calls(path), path)

    check(path, None, *args, **kwargs, refusable=by_type)


def refused(path, *args, **kwargs):
    """Call a function of ours, which must raise a TypeError, and return the message."""
    with pytest.raises(TypeError) as caught:
        OURS.get(path)(*map(OURS.take, args), **{k: OURS.take(v) for k, v in kwargs.items()})
    return str(caught.value)


@pytest.mark.parametrize("path", FUNCTIONS)
def test_an_unknown_keyword_is_a_type_error(path):
    """An unknown keyword with otherwise valid arguments is a TypeError."""
    args, kwargs = arranged(path, example(path))

    refused(path, *args, **kwargs, nonsense=1)


@pytest.mark.parametrize("path", COUNTED)
def test_an_argument_too_many_is_a_type_error(path):
    """A surplus positional argument is a TypeError, also for keyword-only parameters."""
    given = example(path)
    args = [
        given.get(p.name) for p in signature(path).parameters.values() if p.kind < p.KEYWORD_ONLY
    ]

    refused(path, *args, None)


@pytest.mark.parametrize("path", FUNCTIONS)
def test_a_positional_argument_by_keyword_is_a_type_error(path):
    """A positional-only parameter passed by keyword is a TypeError."""
    given = example(path)
    for name, parameter in signature(path).parameters.items():
        if parameter.kind is parameter.POSITIONAL_ONLY and name in given:
            rest = {key: one for key, one in given.items() if key != name}
            args, kwargs = arranged(path, rest)

            refused(path, *args, **kwargs, **{name: given[name]})


@pytest.mark.parametrize("path", COUNTED)
def test_a_missing_argument_is_a_type_error(path):
    """A call without arguments is a TypeError, except for functions of any number of arrays."""
    refused(path)


@pytest.mark.parametrize(("path", "name"), ARRAY_PARAMETERS)
def test_a_foreign_array_is_a_type_error_that_names_asarray(path, name):
    """An array of another library is refused for every array parameter: nothing is converted."""
    given = example(path)
    own = given[name]
    foreign = Foreign() if isinstance(own, Arr) else (Foreign(), *own[1:])
    args, kwargs = arranged(path, {**given, name: foreign})

    assert "asarray" in refused(path, *args, **kwargs)


@pytest.mark.parametrize("path", ["concat", "stack"])
@pytest.mark.parametrize("nothing", [[], ()], ids=lambda x: repr(x).partition(" at 0x")[0])
def test_nothing_cannot_be_joined(path, nothing):
    """Joining no arrays is refused, since the result has no type and no shape."""
    check(path, None, nothing)


@pytest.mark.parametrize("path", sorted(TAKE_ANYTHING))
def test_a_foreign_array_is_taken_where_it_is_asked_for(path):
    """`asarray` and `from_dlpack` import a foreign array with its values."""
    foreign = np.arange(6.0).reshape(2, 3)

    assert np.asarray(OURS.get(path)(foreign)).tolist() == foreign.tolist()
