"""Parsing of structs: independent of structs parsed before, and cached within bounds."""

from __future__ import annotations

import sys

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import interchange as ix
from interchange._core import _parsing
from interchange.abi.memory import ADDRESS_END
from interchange.testing import producers

GOOD = producers.host()
EXTENTS = st.one_of(st.integers(0, 4), st.sampled_from([-1, 2**31, 2**62, 2**63 - 1, -(2**63)]))
STEPS = st.one_of(st.integers(-4, 4), st.sampled_from([2**62, -(2**62), 2**63 - 1, -(2**63)]))


@st.composite
def lies(draw):
    """Draw the contents of a struct, often invalid; its pointers are valid or NULL."""
    shape = tuple(draw(st.lists(EXTENTS, max_size=3)))
    strides = draw(st.one_of(st.none(), st.tuples(*[STEPS] * len(shape))))
    return {
        "shape": shape,
        "strides": strides,
        "device": draw(st.sampled_from([(1, 0), (1, 0), (12, 0), (99, 0), (8, 1), (1, -1)])),
        "dtype": draw(st.sampled_from([(2, 32, 1), (2, 32, 1), (1, 4, 1), (2, 17, 1), (4, 16, 3)])),
        "data": draw(
            st.sampled_from([None, GOOD.said.data, 64, ADDRESS_END - 64, ADDRESS_END // 2])
        ),
        "byte_offset": draw(st.sampled_from([0, 0, 4, 2**62, 2**63, 2**64 - 4])),
        "flags": draw(st.sampled_from([0, 0, 1, 2, 4, 2**40, 2**64 - 1])),
        "version": draw(st.sampled_from([(1, 3), (1, 0), (2, 0), (0, 8)])),
        "generation": draw(st.sampled_from(["legacy", "versioned"])),
    }


def forget():
    """Clear the cache of structs."""
    _parsing.kinds.clear()
    _parsing._padded_kinds.clear()


def outcome(said):
    """Return everything that an import reports, of an array or an error, and releases."""
    source = GOOD.but(**said)
    try:
        array = ix.from_dlpack(source.__dlpack__())
        told = (array.ptr, array.shape, array.strides, array.dtype, array.device, array.readonly)
    except ix.ExchangeError as error:
        told = (type(error), error.rule, str(error))
    else:
        del array
    return told, source.deleter_calls


@given(st.lists(lies(), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_history_changes_nothing(structs, chance):
    """A struct is parsed in the same way with an empty and with a filled cache."""
    cold = []
    for said in structs:
        forget()
        cold.append(outcome(said))
    order = [*range(len(structs))] * 3
    chance.shuffle(order)
    warm = [(number, outcome(structs[number])) for number in order]

    assert warm == [(number, cold[number]) for number in order]


@given(lies())
def test_everything_is_released_once(said):
    """The deleter of each struct runs once, whether it is accepted or refused."""
    assert outcome(said)[1] == 1


@given(lies())
def test_legacy_and_versioned_structs_are_read_alike(said):
    """Both generations describe an array in the same way, if the versioned struct adds nothing."""
    plain = {**said, "flags": 0, "version": (1, 3)}
    legacy, _ = outcome({**plain, "generation": "legacy"})
    versioned, _ = outcome({**plain, "generation": "versioned"})

    assert legacy[:5] == versioned[:5]


@given(st.lists(st.integers(1, 3), max_size=3).map(tuple))
def test_strides_apart_from_the_shape_are_read_alike(shape):
    """The result does not depend on where in memory the strides are."""
    source = producers.host(shape)
    by_zoo = ix.from_dlpack(source.but(generation="versioned"))  # two blocks
    by_numpy = ix.from_dlpack(np.zeros(shape, np.float32))  # one block

    assert (by_zoo.shape, by_zoo.strides) == (by_numpy.shape, by_numpy.strides)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_numpy_is_checked_before_use(times):
    """NumPy's own strides are held against the address range, at the latest at their first use."""
    far = np.lib.stride_tricks.as_strided(np.zeros(4), (3,), (min(2**62, sys.maxsize & ~7),))
    for _ in range(times - 1):
        ix.from_dlpack(np.zeros(4)).shape  # noqa: B018 - the cached entry must not matter
        with pytest.raises(ix.ExchangeError):
            ix.from_dlpack(far).shape  # noqa: B018 - as above

    with pytest.raises(ix.ExchangeError, match="DLP-STRIDES-2"):
        ix.from_dlpack(far).ptr  # noqa: B018 - the first use


def test_kinds_are_bounded():
    """A stream of odd element types and devices does not fill the memory."""
    for lanes in range(1, 2 * _parsing._MOST_KINDS):
        ix.from_dlpack(GOOD.but(dtype=(1, 8, lanes), shape=(), strides=(), generation="versioned"))

    assert len(_parsing.kinds) <= _parsing._MOST_KINDS


def test_layouts_are_bounded():
    """A stream of odd shapes does not fill the memory."""
    for extent in range(1, 2 * _parsing._MOST_SPECS):
        ix.from_dlpack(np.zeros(extent, np.int8)).shape  # noqa: B018 - the cache is read here
    most = max(len(part) for kind in _parsing.kinds.values() for part in kind if type(part) is dict)

    assert most <= _parsing._MOST_SPECS
