"""The error for arguments that do not meet their contracts: one error with all differences.

Rule: IX-REQUIRE-1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interchange._types.errors import ContractError, explain
from interchange._types.library import package_of
from interchange.abi._show import module_of

from .contract import CheckedArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .array_base import ArrayBase
    from .shape_pattern import Bound


def contract_error(held: Sequence[CheckedArgument], call: str) -> ContractError:
    """Return the error that names the arguments, the differences, and the fix."""
    from .contract_suggestions import are_bytes, hint_for  # slow to import

    bound: dict[str, Bound] = {}
    extents: dict[str, int] = {}
    for one in held:
        pattern, shape = one.contract._pattern, one.array.shape
        if are_bytes(one) and "dtype" in one.contract._violations(one.array, {}, one.name):
            continue  # as elements of another type they have other extents
        if pattern is not None and pattern.fits(shape):  # extents that names are bound to
            pattern.violations(shape, bound, one.name)
            pattern.agrees(shape, extents)
    wrong, found = [], []
    for one in held:
        violations = one.contract._violations(one.array, bound, one.name)
        if violations:
            came = "; ".join(violations.values())
            wrong.append(f"argument {one.name!r} {_origin(one.array)} has {came}")
            found.append((one, violations))
    hint = hint_for(found, extents)
    return ContractError(call, "; ".join(wrong), "IX-REQUIRE-1", hint)


def _origin(array: ArrayBase) -> str:
    """Return where the memory came from, as text for an error."""
    if array.owner is None:
        return "of memory without an owner"
    owner = type(array.owner)
    if package_of(owner) == "interchange":
        return "of interchange"
    return f"from {'.'.join(filter(None, (module_of(owner), owner.__qualname__)))}"


def name_argument(error: ContractError, name: str) -> None:
    """Put the name of the argument into an error of `Array.require`, which did not know it."""
    held = error._checked
    if not isinstance(held, CheckedArgument):
        return
    named = contract_error([held._replace(name=name, is_ours=False)], error.call)
    error.what, error.hint = named.what, named.hint
    error.args = (explain(error.call, error.what, error.rule, error.hint),)
    error._checked = None
