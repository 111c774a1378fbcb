"""`Row`: the description of a function of the namespace."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Row(NamedTuple):
    """The description of a function of the namespace."""

    summary: str  # summary
    example: str  # A call, after ``from interchange import xp``
    result: str  # the output of that call
    # parameter -> its description; `parameters.COMMON` has those of many functions
    parameters: Mapping[str, str] = MappingProxyType({})
    # for an element-wise function: the kind of its elements, a key of `parameters.ELEMENT_KINDS`,
    # and a description of its operands, if the summary is not enough
    operands: tuple[str, ...] = ()
