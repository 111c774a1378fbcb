"""Mutants of capsule form: wrong wrappers, names, structs, versions and flags.

Source: the checks of the same name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules

from ._honest_producer import Honest, asks_version, honest_producer, patched, producer_of
from ._honest_sharer import honest_sharer
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.subject import Subject

_WRONG_NAME: Final = b"tensor"
_FEW: Final = 64  # elements of arrays whose double release few checks trigger


@mutant("exports_are_capsules", twin=honest_producer)
def capsules_in_a_tuple() -> Subject:
    """__dlpack__() returns a tuple with a capsule."""
    return patched(lambda opened, _: (opened.capsule,))


@mutant("capsules_have_one_of_the_two_names", twin=honest_producer)
def capsules_of_another_name() -> Subject:
    """Capsules are named 'tensor'."""
    return patched(lambda opened, _: capsules.rename_capsule(opened.capsule, _WRONG_NAME) or None)


@mutant("names_tell_which_struct_follows", twin=honest_producer)
def versioned_structs_under_the_old_name() -> Subject:
    """Arrays of 3 axes are exported as a versioned struct under the name 'dltensor'."""

    def rename(_: OpenedCapsule, x: Honest) -> Any:
        if len(x.shape) != 3:
            return None
        capsule = x.capsule(versioned=True, copy=False)
        capsules.rename_capsule(capsule, capsules.LEGACY)
        return capsule

    return patched(rename, when=lambda keywords: not asks_version(keywords))


@mutant("names_of_capsules_stay", twin=honest_producer)
def names_that_die_with_the_array() -> Subject:
    """The name of a capsule is a string that is freed with the array."""

    class NameOwner(Honest):
        """An array that owns the names of its capsules."""

        def __dlpack__(self, **keywords: Any) -> Any:
            capsule = super().__dlpack__(**keywords)
            name = capsules.capsule_name(capsule)
            vars(self).setdefault("names", []).append(name)
            capsules.rename_capsule(capsule, name)
            return capsule

    return producer_of(NameOwner)


class Repeating(Honest):
    """An array that creates one capsule of each generation and returns it repeatedly."""

    def __dlpack__(self, **keywords: Any) -> Any:
        capsule = super().__dlpack__(**keywords)
        kept = vars(self).setdefault("kept", {})
        return kept.setdefault(asks_version(keywords), capsule)


@mutant(
    "every_export_is_a_capsule_of_its_own",
    "consumed_capsules_are_not_handed_out_again",
    twin=honest_producer,
)
def capsules_that_are_kept() -> Subject:
    """Every call returns the capsule of the first call."""
    return producer_of(Repeating)


@mutant("arrays_are_exported_again", twin=honest_producer)
def arrays_that_are_exported_once() -> Subject:
    """An array whose capsule was freed cannot be exported again, like an object of pydlpack."""

    class Once(Honest):
        """An array that records whether one of its capsules was released."""

        def __dlpack__(self, **keywords: Any) -> Any:
            if vars(self).get("spent"):
                raise KeyError(id(self))
            capsule = super().__dlpack__(**keywords)
            self.spent = True
            return capsule

    return producer_of(Once)


@mutant("arrays_are_exported_again", twin=honest_producer)
def arrays_that_are_moved_away() -> Subject:
    """An array whose capsule was consumed cannot be exported again; unconsumed capsules can."""

    class Moved(Honest):
        """An array that checks the capsules that it has returned."""

        def __dlpack__(self, **keywords: Any) -> Any:
            given = vars(self).setdefault("given", [])
            if any(capsules.capsule_name(one) in capsules.USED_NAME.values() for one in given):
                raise RuntimeError("the array was moved away")
            given.append(super().__dlpack__(**keywords))
            return given[-1]

    return producer_of(Moved)


@mutant("every_export_is_a_capsule_of_its_own", twin=honest_sharer)
def structs_that_are_shared() -> Subject:
    """Every call returns a new capsule of the same, uncounted struct, for small arrays."""

    class Sharing(Repeating):
        """An array that wraps one struct repeatedly."""

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

    return producer_of(Sharing)


@mutant("versioned_structs_are_of_major_version_1", twin=honest_producer)
def structs_of_major_version_2() -> Subject:
    """Versioned structs have version 2.0."""

    def patch(opened: OpenedCapsule, _: Honest) -> None:
        opened.managed.version.major = 2

    return patched(patch, when=asks_version)


@mutant("flags_have_no_unknown_bits", twin=honest_producer)
def flags_of_their_own() -> Subject:
    """A flag bit is set that DLPack does not define."""

    def patch(opened: OpenedCapsule, _: Honest) -> None:
        opened.managed.flags |= 1 << 40

    return patched(patch, when=asks_version)
