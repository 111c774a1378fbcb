"""An honest producer of the CUDA Array Interface: device memory with the stream of its work.

Source: CUDA Array Interface, version 3; `interchange_conformance.zoo.on_device`, on which it is
based.  Its host arrays are those of the honest producer of DLPack, which have no interface.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from interchange.abi.dlpack import DLPACK_FLAG_BITMASK_READ_ONLY
from interchange_conformance.checks._records import TYPESTRS
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.probes.opened_capsule import OpenedCapsule
from interchange_conformance.subject import Subject
from interchange_conformance.zoo import ELEMENTS
from interchange_conformance.zoo.on_device import OnDevice, place

from ._honest_device_producer import device_driver
from ._honest_producer import Honest, producer_of
from .model import mutant, replacing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interchange_conformance.zoo.on_device import Block

    Shape = tuple[int, ...]


class Recorded(OnDevice):
    """An array of device memory that keeps every rule of both protocols."""

    readonly = False

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.record()

    def record(self) -> Any:
        """Return the record."""
        return {
            "shape": self.shape,
            "typestr": self.typestr(),
            "data": (self.address(), self.readonly),
            "strides": None,
            "version": 3,
            "stream": self.published(),
        }

    def typestr(self) -> str:
        """Return the type string of the elements."""
        if self.dtype not in TYPESTRS:
            raise AttributeError(f"{self.dtype} has no type string")
        return TYPESTRS[self.dtype]

    def address(self) -> int:
        """Return the address of the first element."""
        return 0 if 0 in self.shape else self.block.address

    def published(self) -> int | None:
        """Return the stream on which work may be pending."""
        return self.stream

    def capsule(self, block: Block, copied: bool, max_version: tuple[int, int] | None) -> Any:
        """Return a new capsule, with the read-only flag."""
        capsule = super().capsule(block, copied, max_version)
        if self.readonly and not copied:
            opened = OpenedCapsule(capsule)
            if not opened.versioned:
                raise BufferError("legacy capsules cannot say that memory is read-only")
            opened.managed.flags |= DLPACK_FLAG_BITMASK_READ_ONLY
        return capsule


def recorder_of(*, host: Mapping[str, Any] | None = None, **methods: Any) -> Subject:
    """Return a subject whose arrays on devices, and on the host, have other methods."""
    kind = type("Recorded", (Recorded,), methods)
    on_host = producer_of(type("Honest", (Honest,), dict(host or {}))).make

    def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
        if device == "cpu" and on_host is not None:
            return on_host(shape, dtype, device, readonly)
        if device != "cuda" or dtype not in ELEMENTS:
            raise CannotMakeError("its arrays are on the first device, and of the zoo's types")
        found = _placed(kind, shape, dtype, None)
        found.readonly = readonly
        return found

    def make_on(stream: int, shape: Shape, dtype: str) -> Any:
        return _placed(kind, shape, dtype, stream)

    return Subject(kind.__name__, make=make, make_on=make_on, preload=("numpy",))


def _placed(kind: type[Recorded], shape: Shape, dtype: str, stream: int | None) -> Recorded:
    """Return an array in new memory."""
    cuda = device_driver()
    block, _ = place(cuda, "cuda", shape, dtype)
    return kind(block, shape, dtype, stream=stream, cuda=cuda)


def honest_recorder() -> Subject:
    """Return the honest counterpart: its arrays keep every rule."""
    return recorder_of()


recorder_mutant = partial(mutant, counterpart=honest_recorder, build=replacing(recorder_of))
