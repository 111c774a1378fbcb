"""Capsule form: the capsule, its name, its struct, the version and the flags.

Source: dlpack.h 1.3; DLPack Python specification; array API standard 2025.12.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange.abi.dlpack import (
    DLPACK_FLAG_BITMASK_IS_COPIED,
    DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED,
    DLPACK_FLAG_BITMASK_READ_ONLY,
    DLManagedTensor,
    DLManagedTensorVersioned,
)
from interchange_conformance.findings import Found, NotApplicable, expect, note
from interchange_conformance.probes.forms import DTYPES, forms_of
from interchange_conformance.probes.under_test import collect
from interchange_conformance.registry import area
from interchange_conformance.zoo import ELEMENTS

from ._exports import GENERATIONS, NEWEST, asking, call, in_each, opened, some_array, words

if TYPE_CHECKING:
    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("capsule")

_NAMES: Final = {"legacy": capsules.LEGACY, "versioned": capsules.VERSIONED}
_ASKED: Final[dict[str, dict[str, Any]]] = {
    "without-version": {},
    "with-version": {"max_version": NEWEST},
    "with-a-copy": {"max_version": NEWEST, "copy": True},
}
_KNOWN_FLAGS: Final = (
    DLPACK_FLAG_BITMASK_READ_ONLY
    | DLPACK_FLAG_BITMASK_IS_COPIED
    | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
)
_CHURN: Final = 4096  # allocations that reuse the memory of a name, if it was freed
_FILLING: Final = (0xA5,)  # contents of allocations that reuse a freed struct


def _asked(producer: ProducerUnderTest, x: Any, keywords: dict[str, Any]) -> Any:
    """Return the result of ``__dlpack__``; other checks test refusals and unknown keywords."""
    try:
        return producer.export(x, **keywords)
    except Exception as error:
        raise NotApplicable(f"{call(keywords)} raised {error!r:.200}") from error


@check("DLP-CAP-3", source="array API standard 2025.12, array.__dlpack__, Returns", cases=_ASKED)
def exports_are_capsules(producer: ProducerUnderTest, case: dict[str, Any]) -> None:
    """__dlpack__() returns a PyCapsule.

    Return the result of PyCapsule_New without a wrapper: consumers pass it to the PyCapsule
    functions of the C API.
    """
    found = _asked(producer, some_array(producer), case)

    kind = type(found)
    expect(
        kind is capsules.PyCapsule,
        f"{call(case)} returned {found!r:.200} of type {kind.__module__}.{kind.__qualname__}",
    )


@check("DLP-CAP-1", source="DLPack Python specification, Implementation: names", cases=_ASKED)
def capsules_have_one_of_the_two_names(producer: ProducerUnderTest, case: dict[str, Any]) -> None:
    """A capsule is named 'dltensor' or 'dltensor_versioned'.

    Pass one of the two names to PyCapsule_New: consumers compare them to identify the struct, and
    refuse all others.
    """
    found = _asked(producer, some_array(producer), case)
    if type(found) is not capsules.PyCapsule:
        raise NotApplicable(f"{found!r:.200} is no capsule")

    name = capsules.capsule_name(found)
    expect(name in capsules.USED_NAME, f"{call(case)} returned a capsule named {name!r}")


@check(
    "DLP-CAP-1",
    source="DLPack Python specification, Implementation: the _versioned suffix",
    cases=GENERATIONS,
)
def names_tell_which_struct_follows(producer: ProducerUnderTest, case: str) -> None:
    """A 'dltensor' holds a DLManagedTensor, the other name a DLManagedTensorVersioned.

    Name the capsule after its struct. The two structs begin differently, so that a wrong name makes
    the consumer dereference invalid pointers.
    """
    forms = [*forms_of([(1, 2, 3)], DTYPES), producer.plain]
    x, form = producer.first_of(forms)
    found = opened(producer, x, case)

    def says(struct: Any) -> tuple[int, tuple[int, int, int], int]:
        tensor = struct.from_address(found.address).dl_tensor
        dtype = tensor.dtype
        return tensor.ndim, (dtype.code, dtype.bits, dtype.lanes), tensor.device.device_type

    note(f"reading the struct of a capsule named {found.name!r}")
    due = (len(form.shape), ELEMENTS[form.dtype])
    other = DLManagedTensor if found.versioned else DLManagedTensorVersioned
    named = DLManagedTensorVersioned if found.versioned else DLManagedTensor
    expect(
        says(named)[:2] == due or says(other)[:2] != due,
        f"read as {named.__name__}, as the name {found.name!r} asks for, the struct of a "
        f"{form.dtype} array of {len(form.shape)} axes says (ndim, dtype, device type) = "
        f"{says(named)}; read as {other.__name__} it says {says(other)}",
    )


@check(
    "DLP-CAP-4",
    source="DLPack Python specification, Implementation: names are statically allocated",
    cases=GENERATIONS,
)
def names_of_capsules_stay(producer: ProducerUnderTest, case: str) -> None:
    """The name of a capsule stays valid after the array is destroyed.

    Pass a string literal, or a string that is never freed: a capsule keeps the pointer, not the
    text.
    """
    found = opened(producer, some_array(producer), case)
    gc.collect()

    note("reading the name of a capsule whose array is gone")
    churn = [b"x" * (size % 32 + 1) for size in range(_CHURN)]
    name = found.name_now
    del churn
    expect(name == found.name, f"the name was {found.name!r}, and then became {name!r:.60}")


@check(
    "DLP-CAP-6",
    source="DLPack Python specification, Implementation: a capsule is consumed exactly once",
    cases=GENERATIONS,
)
def every_export_is_a_capsule_of_its_own(producer: ProducerUnderTest, case: str) -> None:
    """Each call of __dlpack__() returns a new capsule, which stays valid when others are released.

    Allocate a managed tensor for every call, or count the capsules that share one: each of them is
    released once. A capsule that is returned twice may already be consumed.
    """
    x = some_array(producer)

    found = [opened(producer, x, case) for _ in range(4)]

    own = {id(one.capsule) for one in found}
    expect(len(own) == len(found), f"{len(found)} calls gave {len(own)} different capsules")
    last = found.pop()
    said = _fields(last)  # its own: a library may copy for every call
    for count, one in enumerate(found, 1):
        one.consume().release()
        collect()
        others = [bytes(_FILLING) * (size * 8) for size in range(1, 17) for _ in range(64)]
        note(f"reading the last of 4 capsules after {count} others were released")
        expect(_fields(last) == said, f"after {count} of 4 capsules were released, the last says "
               f"{_fields(last)}; before, it said {said}")  # fmt: skip
        del others
    note("releasing the last of 4 capsules")
    last.consume().release()


def _fields(found: OpenedCapsule) -> tuple[Any, ...]:
    """Return the fields of a struct."""
    return (
        found.version, found.flags, found.device, found.dtype, found.ndim, found.shape,
        found.strides, found.data, found.deleter,
    )  # fmt: skip


@check(
    "DLP-CAP-6",
    source="DLPack Python specification, Semantics: x may continue to be used like other arrays",
    severity="SHOULD",
    cases=in_each({name: name for name in ("dropped", "held", "consumed")}),
)
def arrays_are_exported_again(producer: ProducerUnderTest, case: tuple[str, str]) -> None:
    """An exported array can be exported again, whatever happened to its capsule.

    Keep everything that an export needs as long as the array exists: consumers retry after an
    error, and two consumers import the same array.
    """
    generation, fate = case
    x = some_array(producer)
    first: OpenedCapsule | None = opened(producer, x, generation)
    if fate == "dropped":
        first = None
        collect()
    elif fate == "consumed" and first is not None:
        first.consume().release()

    try:
        x.__dlpack__(**asking(generation))
    except Exception as error:
        said = f"{call(asking(generation))} raised {words(error)}"
        raise Found(f"the second time, with the first capsule {fate}, {said}") from error
    finally:
        del first


@check(
    "DLP-CAP-2",
    source="DLPack Python specification, Implementation: consumed exactly once",
    cases=GENERATIONS,
)
def consumed_capsules_are_not_handed_out_again(producer: ProducerUnderTest, case: str) -> None:
    """After a capsule was consumed, the next call of __dlpack__() returns an unconsumed one.

    Make a capsule for every call, and cache none: the last one has a used name, and its struct
    belongs to its consumer.
    """
    x = some_array(producer)
    found = opened(producer, x, case)
    capsules.rename_capsule(found.capsule, capsules.USED_NAME[found.name])

    again = _asked(producer, x, asking(case))

    name = capsules.capsule_name(again) if type(again) is capsules.PyCapsule else b"?"
    capsules.rename_capsule(found.capsule, found.name)  # unreferenced, it frees its struct
    used = name in capsules.USED_NAME.values()
    expect(not used, f"{call(asking(case))} returned a capsule named {name!r} the second time")


@check(
    "DLP-VER-1",
    source="array API standard 2025.12, array.__dlpack__, Notes: the recommended logic",
    severity="SHOULD",
)
def versioned_structs_are_of_major_version_1(producer: ProducerUnderTest) -> None:
    """A versioned struct requested with max_version=(1, 3) has major version 1.

    Write the version of the header that you implement into the struct, major first. With another
    major version consumers may only call the deleter.
    """
    found = opened(producer, some_array(producer), "versioned")

    expect(
        found.version is not None and found.version[0] == NEWEST[0],
        f"{call({'max_version': NEWEST})} returned a struct of version {found.version}",
    )


@check(
    "DLP-VER-1",
    source="dlpack.h 1.3, DLManagedTensorVersioned.flags: by default 0",
    severity="SHOULD",
)
def flags_have_no_unknown_bits(producer: ProducerUnderTest) -> None:
    """Only flag bits that DLPack defines are set.

    Start with flags = 0 and set those that apply. Later versions may define other bits.
    """
    found = opened(producer, some_array(producer), "versioned")

    unknown = found.flags & ~_KNOWN_FLAGS
    expect(not unknown, f"the flags are {found.flags:#x}; the bits {unknown:#x} are not defined")
