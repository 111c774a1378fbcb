"""Flags in the structs of device memory: copies, and read-only memory.

Source: array API standard 2025.12, ``array.__dlpack__`` (copy, dl_device); dlpack.h 1.3, flags.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import Found, NotApplicable, expect
from interchange_conformance.registry import area

from ._exports import HOST, NEWEST, answer, call, opened, told
from ._on_devices import CUDA, make_there

if TYPE_CHECKING:
    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

copies: Decorator = area("copies")
readonly: Decorator = area("readonly")

_COPY: Final = "array API standard 2025.12, array.__dlpack__, copy"
_COPIES: Final[dict[str, dict[str, Any]]] = {
    "to-the-host": {"dl_device": HOST},
    "on-the-device": {"stream": 1, "copy": True},
}


@copies("DLP-COPY-2", source=f"{_COPY}: IS_COPIED must be set", cases=_COPIES, on="cuda")
def copies_of_device_memory_are_flagged(producer: ProducerUnderTest, case: dict[str, Any]) -> None:
    """The struct of a copy of device memory has the flag IS_COPIED, on the host and on the device.

    Set DLPACK_FLAG_BITMASK_IS_COPIED in the versioned struct if you copied: it tells the consumer
    that writes have no other effect.
    """
    _, x, address = make_there(producer, "cuda")

    asked = {**case, "max_version": NEWEST}
    found = answer(producer, x, **asked)
    if isinstance(found, Exception):
        raise NotApplicable(told(asked, found))
    if found.first == address:
        raise NotApplicable(f"{call(asked)} returned the array's own memory")
    if not found.versioned:
        raise NotApplicable("the legacy struct has no flags")

    expect(
        found.copied,
        f"the array is at {address:#x}, {call(asked)} returned memory at {found.first:#x}, and its "
        f"flags are {found.flags:#x}",
    )


@copies("DLP-COPY-1", source=f"{_COPY}: False must never copy", on="cuda")
def copy_false_makes_no_copy_for_the_host(producer: ProducerUnderTest) -> None:
    """With dl_device=(1, 0) and copy=False device memory is not copied.

    Raise BufferError: the host cannot access the memory.
    """
    _, x, address = make_there(producer, "cuda")

    asked = {"dl_device": HOST, "copy": False, "max_version": NEWEST}
    found = answer(producer, x, **asked)

    if isinstance(found, Exception):
        return
    expect(
        found.first == address,
        f"the array is at {address:#x} on a device, and {call(asked)} returned memory at "
        f"{found.first:#x} on {found.device}: a copy, where a BufferError is due",
    )


@readonly("DLP-RO-1", source="dlpack.h 1.3, DLPACK_FLAG_BITMASK_READ_ONLY", on="cuda")
def readonly_arrays_on_devices_are_flagged(producer: ProducerUnderTest) -> None:
    """The struct of a read-only device array has the read-only flag.

    Set DLPACK_FLAG_BITMASK_READ_ONLY as for host memory: without it the consumer's kernels may
    write.
    """
    x = producer.make(device="cuda", readonly=not producer.subject.immutable)

    found = opened(producer, x, "versioned")

    if found.device[0] != CUDA:
        raise NotApplicable(f"the array is on device {found.device}")
    if found.copied:
        raise NotApplicable("it is exported as a copy, which may be written")
    if not found.readonly:
        raise Found(f"the flags of memory that must not be written are {found.flags:#x}")
