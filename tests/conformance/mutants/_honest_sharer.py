"""An honest producer whose capsules share one struct with a reference count.

Source: dlpack.h 1.3; `zoo/shared_struct.c`; nanobind and pydlpack do so.  The documents do not
require a struct per capsule: it is sufficient that each capsule can be released independently.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange.abi.dlpack import DLManagedTensor, DLManagedTensorVersioned
from interchange_conformance.emucuda.building import CannotBuildError
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.probes.opened_capsule import OpenedCapsule
from interchange_conformance.zoo import compiled

from ._honest_producer import Honest, asks_version, producer_of

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject

_SOURCE: Final = "shared_struct.c"


@cache
def _function(name: str, result: Any, *arguments: Any) -> Any:
    """Return a function of the C source that is called with the GIL held."""
    return capsules.Prototype(result, *arguments)(compiled.function_address(_SOURCE, name))


class Kept:
    """The reference that an array holds to the struct in an unused capsule."""

    def __init__(self, capsule: Any) -> None:
        opened = OpenedCapsule(capsule)
        struct = DLManagedTensorVersioned if opened.versioned else DLManagedTensor
        share = _function("share", ctypes.c_void_p, *[ctypes.c_size_t] * 4)
        release = compiled.function_address(_SOURCE, "release")
        self._release = _function("release", None, ctypes.c_void_p)
        self.name = capsules.VERSIONED if opened.versioned else capsules.LEGACY  # static
        self.address = share(
            opened.consume().address, ctypes.sizeof(struct), struct.deleter.offset, release
        )

    def __del__(self) -> None:
        self._release(self.address)

    def capsule(self) -> Any:
        """Return a capsule of the struct, with a new reference."""
        _function("count", None, ctypes.c_void_p)(self.address)
        forget = compiled.function_address(_SOURCE, "forget")
        return capsules.new_capsule(self.address, self.name, forget)


class Sharing(Honest):
    """An array with one struct of each generation for all its capsules."""

    def __dlpack__(self, **keywords: Any) -> Any:
        capsule = super().__dlpack__(**keywords)
        if keywords.get("copy"):
            return capsule
        kept = vars(self).setdefault("kept", {})
        versioned = asks_version(keywords)
        if versioned not in kept:
            kept.setdefault(versioned, Kept(capsule))
        return kept[versioned].capsule()


def honest_sharer() -> Subject:
    """Return the producer whose capsules share a reference-counted struct."""
    subject = producer_of(Sharing)

    def make(*asked: Any) -> Any:
        try:
            compiled.load(_SOURCE)
        except CannotBuildError as error:
            raise CannotMakeError(str(error)) from error
        return subject.make(*asked) if subject.make else None

    return replace(subject, make=make)
