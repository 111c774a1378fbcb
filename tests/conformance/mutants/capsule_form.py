"""Mutants of capsule form: wrong wrappers, names, structs, versions and flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules

from ._honest_producer import (
    Honest,
    asks_version,
    capsule_mutant,
    producer_mutant,
)
from ._honest_sharer import honest_sharer

if TYPE_CHECKING:
    from interchange_conformance.probes.opened_capsule import OpenedCapsule

_WRONG_NAME: Final = b"tensor"
_FEW: Final = 64  # elements of arrays whose double release few checks trigger


@capsule_mutant("exports_are_capsules")
def capsules_in_a_tuple(opened: Any, _: Any) -> Any:
    """__dlpack__() returns a tuple with a capsule."""
    return (opened.capsule,)


@capsule_mutant("capsules_have_one_of_the_two_names")
def capsules_of_another_name(opened: Any, _: Any) -> Any:
    """Capsules are named 'tensor'."""
    return capsules.rename_capsule(opened.capsule, _WRONG_NAME) or None


@capsule_mutant("names_tell_which_struct_follows", when=lambda keywords: not asks_version(keywords))
def versioned_structs_under_the_old_name(_: OpenedCapsule, x: Honest) -> Any:
    """Arrays of 3 axes are exported as a versioned struct under the name 'dltensor'."""
    if len(x.shape) != 3:
        return None
    capsule = x.capsule(versioned=True, copy=False)
    capsules.rename_capsule(capsule, capsules.LEGACY)
    return capsule


@producer_mutant("names_of_capsules_stay", step="__dlpack__")
def names_that_die_with_the_array(self: Honest, **keywords: Any) -> Any:
    """The name of a capsule is a string that is freed with the array."""
    capsule = Honest.__dlpack__(self, **keywords)
    name = capsules.capsule_name(capsule)
    vars(self).setdefault("names", []).append(name)
    capsules.rename_capsule(capsule, name)
    return capsule


@producer_mutant(
    "every_export_is_a_capsule_of_its_own", "consumed_capsules_are_not_handed_out_again"
)
class capsules_that_are_kept(Honest):
    """Every call returns the capsule of the first call."""

    def __dlpack__(self, **keywords: Any) -> Any:
        capsule = super().__dlpack__(**keywords)
        kept = vars(self).setdefault("kept", {})
        return kept.setdefault(asks_version(keywords), capsule)


@producer_mutant("arrays_are_exported_again", step="__dlpack__")
def arrays_that_are_exported_once(self: Any, **keywords: Any) -> Any:
    """An array whose capsule was freed cannot be exported again, like an object of pydlpack."""
    if vars(self).get("spent"):
        raise KeyError(id(self))
    capsule = Honest.__dlpack__(self, **keywords)
    self.spent = True
    return capsule


@producer_mutant("arrays_are_exported_again", step="__dlpack__")
def arrays_that_are_moved_away(self: Honest, **keywords: Any) -> Any:
    """An array whose capsule was consumed cannot be exported again; unconsumed capsules can."""
    given = vars(self).setdefault("given", [])
    if any(capsules.capsule_name(one) in capsules.USED_NAME.values() for one in given):
        raise RuntimeError("the array was moved away")
    given.append(Honest.__dlpack__(self, **keywords))
    return given[-1]


@producer_mutant("every_export_is_a_capsule_of_its_own", counterpart=honest_sharer)
class structs_that_are_shared(capsules_that_are_kept):
    """Every call returns a new capsule of the same, uncounted struct, for small arrays."""

    def __dlpack__(self, **keywords: Any) -> Any:
        if self.array.size > _FEW:
            return Honest(self.array, self.element).__dlpack__(**keywords)
        first = super().__dlpack__(**keywords)
        name = capsules.capsule_name(first)
        return capsules.new_capsule(
            capsules.capsule_pointer(first, name),
            capsules.VERSIONED if asks_version(keywords) else capsules.LEGACY,
            None,
        )


@capsule_mutant("versioned_structs_are_of_major_version_1", when=asks_version)
def structs_of_major_version_2(opened: OpenedCapsule, _: Honest) -> None:
    """Versioned structs have version 2.0."""
    opened.managed.version.major = 2


@capsule_mutant("flags_have_no_unknown_bits", when=asks_version)
def flags_of_their_own(opened: OpenedCapsule, _: Honest) -> None:
    """A flag bit is set that DLPack does not define."""
    opened.managed.flags |= 1 << 40
