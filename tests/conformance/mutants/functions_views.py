"""Variants of interchange that make views which they should refuse, or views of something else.

Source: the rule book; `checks.functions_views`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._proxies import array_method, arrays_of, citing, honest_functions, original
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


def _indexing(change: Any) -> Subject:
    """Return a subject whose Arrays are indexed by ``change(array, key)``."""

    def getitem(array: Any, key: Any) -> Any:
        return array_method("__getitem__")(array, change(array, key))

    return arrays_of(__getitem__=getitem)


@mutant("indices_that_make_no_view_are_refused", twin=honest_functions)
def takes_a_list_of_indices() -> Subject:
    """Takes a list of indices for the first of them."""
    return _indexing(lambda _, key: key[0] if isinstance(key, list) else key)


@mutant("indices_that_make_no_view_are_refused", twin=honest_functions)
def wraps_indices() -> Subject:
    """Counts indices beyond the end from the beginning."""
    return _indexing(lambda array, key: key % len(array) if type(key) is int else key)


@mutant("basic_indices_select_views", twin=honest_functions)
def forgets_the_last_element() -> Subject:
    """Counts negative indices from one element too early."""
    return _indexing(lambda _, key: -2 if key == -1 and type(key) is int else key)


@mutant("basic_indices_select_views", twin=honest_functions)
def copies_what_is_indexed() -> Subject:
    """Copies what an index selects."""

    def getitem(array: Any, key: Any) -> Any:
        return array_method("__getitem__")(array, key).copy()

    return arrays_of(__getitem__=getitem)


@mutant("views_that_cannot_be_are_refused", twin=honest_functions)
def repeats_elements_to_reshape() -> Subject:
    """Gives as many of the first elements as there is room for in another shape."""

    def reshape(array: Any, shape: Any, **keywords: Any) -> Any:
        try:
            return array_method("reshape")(array, shape, **keywords)
        except original().ViewError:
            return array[:1]

    return arrays_of(reshape=reshape)


@mutant("views_that_cannot_be_are_refused", twin=honest_functions)
def cites_axes_for_shapes() -> Subject:
    """Refuses a shape that cannot be with the rule of axes."""

    def reshape(array: Any, shape: Any, **keywords: Any) -> Any:
        try:
            return array_method("reshape")(array, shape, **keywords)
        except original().ViewError as error:
            raise citing(error, "IX-AXES-1") from None

    return arrays_of(reshape=reshape)


@mutant("views_share_the_memory", twin=honest_functions)
def copies_what_is_permuted() -> Subject:
    """Copies an array to give its axes another order."""

    def permute_dims(array: Any, axes: Any) -> Any:
        return array_method("permute_dims")(array, axes).copy()

    return arrays_of(permute_dims=permute_dims)


@mutant("views_share_the_memory", twin=honest_functions)
def leaves_the_axes_as_they_are() -> Subject:
    """Gives the array itself for its transpose."""

    def permute_dims(array: Any, axes: Any) -> Any:
        array_method("permute_dims")(array, axes)  # which refuses what is no permutation
        return array

    return arrays_of(permute_dims=permute_dims)


@mutant("views_share_the_memory", twin=honest_functions)
def reshapes_backwards() -> Subject:
    """Gives a reshaped array its axes in the other order."""

    def reshape(array: Any, shape: Any, **keywords: Any) -> Any:
        found = array_method("reshape")(array, shape, **keywords)
        return found.permute_dims((1, 0)) if found.ndim > 1 else found

    return arrays_of(reshape=reshape)


@mutant("axes_that_are_no_permutation_are_refused", twin=honest_functions)
def takes_an_axis_twice() -> Subject:
    """Takes axes that are named twice for those in order."""

    def permute_dims(array: Any, axes: Any) -> Any:
        twice = len(set(axes)) < len(axes) == array.ndim
        return array_method("permute_dims")(array, range(array.ndim) if twice else axes)

    return arrays_of(permute_dims=permute_dims)
