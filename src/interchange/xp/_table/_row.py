"""`Row`: a function of the namespace, in words."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Row(NamedTuple):
    """A function of the namespace.

    Attributes
    ----------
    summary : str
        What it does.
    example : str
        A call, after ``from interchange import xp``.
    result : str
        What that prints.
    parameters : mapping, optional
        Parameter -> what it is; `parameters.COMMON` has what many functions share.
    operands : tuple[str, ...], optional
        Of an element-wise function: the kind of its elements, a key of `parameters.ELEMENT_KINDS`,
        and what its operands are, if the summary is not enough.
    """

    summary: str
    example: str
    result: str
    parameters: Mapping[str, str] = MappingProxyType({})
    operands: tuple[str, ...] = ()
