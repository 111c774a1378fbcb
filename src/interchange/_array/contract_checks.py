"""`Array.require`: the contract of a call, parsed once for all calls with the same words.

Rule: IX-REQUIRE-1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import ArgumentError, show

from .contract import WORDS, CheckedArgument, Contract
from .contract_errors import contract_error

if TYPE_CHECKING:
    from interchange._types.errors import ContractError

    from .array_base import ArrayBase

UNNAMED: Final = "array"
"""The name of an argument in errors if the caller gives none."""
_CALL: Final = "Array.require()"
_MOST_KEPT: Final = 256
_LASTING: Final = frozenset({str, tuple, int, bool, type, type(None)})
_kept: Final[dict[tuple[int, ...], Contract]] = {}
"""Contracts of `Array.require` by the objects that were passed, which are kept alive."""


def _contract_of(values: tuple[Any, ...]) -> Contract:
    """Return the contract for the words of a call; a call in a loop passes the same objects."""
    key = (*map(id, values),)
    found = _kept.get(key)
    if found is None:
        given = dict(zip(WORDS, values, strict=True))
        found = Contract._of(
            {word: value for word, value in given.items() if value is not None}, _CALL
        )
        words = given.items()
        if all(type(one) in _LASTING and found._given.get(word) is one for word, one in words):
            if len(_kept) >= _MOST_KEPT:
                _kept.clear()
            _kept[key] = found
    return found


def check_contract(array: ArrayBase, values: tuple[Any, ...], name: str) -> None:
    """Raise ContractError with all differences, or return None.

    `values`: the requirements, in the order of `WORDS`; None for none.
    """
    contract = _contract_of(values)
    if contract._is_met(array, {}):
        return
    raise _refusal(array, contract, name)


def _refusal(array: ArrayBase, contract: Contract, name: str) -> ContractError:
    """Return the error; a local variable of the raising frame would form a cycle with it."""
    if not isinstance(name, str):
        what = f"name={show(name)} is not a name"
        raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", "pass a str")
    held = CheckedArgument(name, array, contract, is_ours=True)
    error = contract_error([held], _CALL)
    if name == UNNAMED:
        error._checked = held
    return error
