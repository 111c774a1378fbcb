"""An honest producer of device memory, and subjects that omit one of its duties.

Source: `interchange_conformance.zoo.on_device`, which uses the driver through ctypes.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import opened
from interchange_conformance.findings import CannotMakeError, NotApplicable
from interchange_conformance.subject import KINDS, Subject
from interchange_conformance.zoo import ELEMENTS, Memory
from interchange_conformance.zoo.on_device import Block, OnDevice, place

from .model import mutant, replacing

if TYPE_CHECKING:
    from interchange_conformance.driver.cuda import Cuda

    Shape = tuple[int, ...]

_PLACES: Final = {"cuda": ("cuda", 0), "cuda:1": ("cuda", 1), "managed": ("managed", 0)} | {
    "pinned": ("pinned", 0)
}


def device_driver() -> Cuda:
    """Return the driver."""
    try:
        return opened()
    except NotApplicable as none:
        raise CannotMakeError(str(none)) from none


def subject_of(kind: type[OnDevice]) -> Subject:
    """Return a subject whose arrays are of a kind."""

    def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
        if readonly or dtype not in ELEMENTS:
            raise CannotMakeError("its arrays are writable, and of the types of the zoo")
        if device in KINDS:
            memory = Memory(max(1, math.prod(shape)), ELEMENTS[dtype])
            return kind(Block((int(KINDS[device]), 0), memory.address, memory), shape, dtype)
        if device not in _PLACES:
            raise CannotMakeError("its arrays are on devices")
        cuda = device_driver()
        where, number = _PLACES[device]
        if number >= cuda.devices:
            raise CannotMakeError("there is one device only")
        block, _ = place(cuda, where, shape, dtype, device=number)
        return kind(block, shape, dtype, cuda=cuda)

    def make_on(stream: int, shape: Shape, dtype: str, device: str = "cuda") -> Any:
        cuda = device_driver()
        block, _ = place(cuda, device, shape, dtype)
        return kind(block, shape, dtype, stream=stream, cuda=cuda)

    return Subject(kind.__name__, make=make, make_on=make_on)


def producer_with(**methods: Any) -> Subject:
    """Return a subject whose arrays have some methods replaced, each by ``f(array, ...)``."""
    return subject_of(type("Changed", (OnDevice,), methods))


def honest_device_producer() -> Subject:
    """Return the honest counterpart: its arrays keep every rule."""
    return subject_of(OnDevice)


device_producer_mutant = partial(
    mutant, counterpart=honest_device_producer, build=replacing(producer_with)
)
