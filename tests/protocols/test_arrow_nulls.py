"""Masks of Arrow columns: shape, and null bits at any level."""

from __future__ import annotations

import pytest

import interchange as ix
from interchange_conformance.emucuda.building import CannotBuildError
from interchange_conformance.zoo import arrow


@pytest.fixture(scope="module", autouse=True)
def built():
    """Skip if there is no compiler."""
    try:
        arrow.numbers().__arrow_c_array__()
    except CannotBuildError as error:
        pytest.skip(str(error))


def with_null(shape):
    """Return a column of lists of which the second is null, with no other nulls."""
    return arrow.lists(shape=shape, nulls=[1])


@pytest.mark.parametrize("shape", [(3, 0), (3, 0, 2), (3, 2, 0)])
def test_a_mask_of_lists_without_numbers_has_no_elements(shape):
    """Nulls of empty lists have no elements to mask; they are refused unless requested."""
    data, mask = ix.from_arrow(with_null(shape), nulls="separate")

    assert data.shape == mask.shape == shape
    assert mask.tolist() == data.tolist()
    with pytest.raises(ix.ExchangeError, match="1 in 3") as caught:
        ix.from_arrow(with_null(shape))
    assert caught.value.rule == "ARROW-NULL-2"
