"""Memory of devices for the descriptions of libraries, and what is current left as it is.

Source: CUDA driver API.  The names of the devices are those of `interchange_conformance.subject`.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from interchange_conformance.driver.cuda import chosen, opened
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import HOST, KINDS
from interchange_conformance.zoo import host
from interchange_conformance.zoo.on_device import OnDevice, place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Shape = tuple[int, ...]

NUMBERS: Final = {"cuda": 0, "cuda:1": 1}
"""Name of a device -> its number."""


def need_device(device: str, known: tuple[str, ...], library: str) -> None:
    """Refuse devices that a library has not, and those that are not here."""
    if device not in known:
        raise CannotMakeError(f"{library} has no memory of the kind {device!r}")
    if device == HOST or device in KINDS:
        return
    if chosen() == "none":
        raise CannotMakeError("there is no CUDA driver")
    if NUMBERS.get(device, 0) >= opened().devices:
        raise CannotMakeError("there is one CUDA device only")


def need_gpu(device: str, library: str) -> None:
    """Refuse what needs the kernels of a library, where there is no GPU to run them."""
    if device != "cpu" and chosen() != "real":
        raise CannotMakeError(f"{library} finds no GPU: its kernels run on no emulated driver")


@contextlib.contextmanager
def on(device: str) -> Iterator[None]:
    """Keep a device current while the block runs, and what was current after it."""
    with opened().on_device(NUMBERS.get(device, 0)):
        yield


def load(address: int, nbytes: int) -> bytes:
    """Return the bytes at an address of a device, when all work is done."""
    with on("cuda"):
        return opened().read(address, nbytes)


def store(address: int, data: bytes) -> None:
    """Set bytes at an address of a device."""
    with on("cuda"):
        opened().write(address, data)


def memory_on(shape: Shape, dtype: str, device: str) -> Any:
    """Return a producer of fresh memory on a device, for libraries that allocate none there."""
    if device in KINDS:
        return host(shape, dtype).but(device=(int(KINDS[device]), 0))
    kind = "cuda" if device in NUMBERS else device
    block, _ = place(opened(), kind, shape, dtype, device=NUMBERS.get(device, 0))
    return OnDevice(block, shape, dtype, cuda=opened())
