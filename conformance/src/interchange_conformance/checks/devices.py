"""Devices of memory: the device that producers report, and side effects of exports.

Source: dlpack.h 1.3 (DLDevice, DLDeviceType); array API standard 2025.12, ``array.__dlpack__`` and
``array.__dlpack_device__``; CUDA driver API, Unified Addressing and Context Management.  The driver
determines the actual device of an address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import LEGACY, driver
from interchange_conformance.findings import Found, expect, note
from interchange_conformance.probes.pending_work import PendingWork
from interchange_conformance.registry import area

from ._exports import HOST, NEWEST, answer, call, reported_device, words
from ._on_devices import (
    CUDA,
    KINDS,
    MANAGED,
    NBYTES,
    PINNED,
    WITH_STREAMS,
    exported,
    make_busy,
    make_there,
    need_order,
)

if TYPE_CHECKING:
    from interchange_conformance.driver.cuda import Cuda
    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("devices")

_EACH_KIND: Final = {name.replace(":", "-"): name for name in KINDS}
_ORDINALS: Final = {"first": "cuda", "second": "cuda:1"}
_HOST_TYPES: Final = {1, PINNED, 11, MANAGED}
_CUDA_TYPES: Final = {CUDA, PINNED, MANAGED}
_NOWHERE: Final = {"metal": (8, 0), "vulkan": (7, 0)}
_NO_DEVICE: Final = (CUDA, 99)


def _open(producer: ProducerUnderTest, x: Any) -> OpenedCapsule:
    """Return the opened capsule of an array without pending work."""
    with_streams = reported_device(x)[0] in WITH_STREAMS
    return exported(producer, x, **({"stream": LEGACY} if with_streams else {}))


def _may_be_the_same(said: tuple[int, int], shipped: tuple[int, int]) -> bool:
    """Return whether two devices may describe the same memory."""
    if said == shipped:
        return True
    kinds = {said[0], shipped[0]}
    return kinds <= _HOST_TYPES or (kinds <= _CUDA_TYPES and MANAGED in kinds)


# ---------------------------------------------------------------- reported devices


@check(
    "DLP-DEV-3",
    source="array API standard 2025.12, array.__dlpack_device__",
    cases=_EACH_KIND,
    on="cuda",
)
def the_capsule_is_on_the_device_that_was_said(producer: ProducerUnderTest, case: str) -> None:
    """The struct is on the device that __dlpack_device__() returns, or on equivalent memory.

    Fill both from one place: consumers choose stream and importer by the one, and read the other.
    Page-locked and managed memory may be reported as host memory.
    """
    _, x, _ = make_there(producer, case)

    said, shipped = reported_device(x), _open(producer, x).device

    expect(
        _may_be_the_same((int(said[0]), int(said[1])), shipped),
        f"__dlpack_device__() said {said}, and the capsule is on {shipped}",
    )


@check(
    "DLP-DEV-3",
    source="dlpack.h 1.3, DLDevice; CUDA driver API, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL",
    cases=_ORDINALS,
    on="cuda",
)
def device_memory_has_the_number_of_its_device(producer: ProducerUnderTest, case: str) -> None:
    """CUDA device memory has type 2 and the device id that the driver reports.

    Query the ordinal of the pointer, not the current device.
    """
    cuda, x, address = make_there(producer, case)
    due = (CUDA, cuda.kind(address)[1])

    said = reported_device(x)

    expect(said == due, f"the memory is on {due}, and __dlpack_device__() said {said}")


@check("DLP-DEV-9", source="dlpack.h 1.3, DLDevice.device_id", cases=_ORDINALS, on="cuda")
def capsules_have_the_number_of_their_device(producer: ProducerUnderTest, case: str) -> None:
    """The struct of CUDA device memory has the device id that the driver reports.

    Write the ordinal of the pointer into the struct: consumers make that device current.
    """
    cuda, x, address = make_there(producer, case)
    due = (CUDA, cuda.kind(address)[1])

    shipped = _open(producer, x).device

    expect(shipped == due, f"the memory is on {due}, and the capsule says {shipped}")


@check(
    "DLP-DEV-3",
    source="dlpack.h 1.3, kDLCUDAManaged",
    severity="SHOULD",
    on="cuda",
)
def managed_memory_is_said_to_be_managed(producer: ProducerUnderTest) -> None:
    """Managed memory has type 13.

    Query CU_POINTER_ATTRIBUTE_IS_MANAGED: the memory type alone does not distinguish it from device
    memory.
    """
    _, x, _ = make_there(producer, "managed")

    said = reported_device(x)

    expect(
        said[0] == MANAGED,
        f"the memory is managed, and __dlpack_device__() said {said}; type 13 is due",
    )


@check("DLP-DEV-3", source="dlpack.h 1.3, kDLCUDAHost", severity="SHOULD", on="cuda")
def page_locked_memory_is_said_to_be_the_hosts(producer: ProducerUnderTest) -> None:
    """Page-locked memory has type 3 or type 1, and device id 0.

    It is host memory that devices can access.
    """
    _, x, _ = make_there(producer, "pinned")

    said = reported_device(x)

    expect(
        said in {(1, 0), (PINNED, 0)},
        f"the memory is page-locked, and __dlpack_device__() said {said}; (3, 0) or (1, 0) is due",
    )


# ---------------------------------------------------------------- requested devices


@check(
    "DLP-DEV-5",
    source="array API standard 2025.12, array.__dlpack__, dl_device: must raise BufferError",
    cases=_NOWHERE,
    on="cuda",
)
def a_device_that_cannot_be_reached_is_a_buffer_error(
    producer: ProducerUnderTest, case: tuple[int, int]
) -> None:
    """A dl_device that the memory cannot be exported to is refused with BufferError.

    Raise it before the capsule is made: consumers assume that the result is on that device.
    """
    _, x, _ = make_there(producer, "cuda")

    asked = {"dl_device": case, "max_version": NEWEST}
    found = answer(producer, x, **asked)

    if not isinstance(found, Exception):
        raise Found(f"{call(asked)} returned a capsule on {found.device}")
    expect(isinstance(found, BufferError), f"{call(asked)} raised {words(found)}")


@check(
    "DLP-DEV-5",
    source="array API standard 2025.12, array.__dlpack__, dl_device",
    severity="SHOULD",
    on="cuda",
)
def a_device_number_that_is_not_there_is_refused(producer: ProducerUnderTest) -> None:
    """A dl_device with an id that no device has is refused.

    Raise BufferError as for any device that you cannot export to, or ValueError as for an invalid
    argument; the standard names a class for device types only.
    """
    _, x, _ = make_there(producer, "cuda")

    asked = {"dl_device": _NO_DEVICE, "max_version": NEWEST}
    found = answer(producer, x, **asked)

    if not isinstance(found, Exception):
        raise Found(f"{call(asked)} returned a capsule on {found.device}")


@check(
    "DLP-DEV-5",
    source="array API standard 2025.12, array.__dlpack__, dl_device",
    severity="SHOULD",
    on="cuda",
)
def the_arrays_own_device_is_no_other(producer: ProducerUnderTest) -> None:
    """dl_device may name the array's own device, and then has no effect.

    Compare it with the result of __dlpack_device__(): consumers pass on what their user wrote.
    """
    _, x, address = make_there(producer, "cuda")
    own = reported_device(x)

    asked = {"dl_device": own, "max_version": NEWEST}
    found = answer(producer, x, **asked)

    if isinstance(found, Exception):
        raise Found(f"the array is on {own}: {call(asked)} raised {words(found)}")
    expect(
        (found.device, found.first) == (own, address),
        f"the array is at {address:#x} on {own}, and {call(asked)} returned {found.first:#x} on "
        f"{found.device}",
    )


@check(
    "DLP-DEV-6",
    source="array API standard 2025.12, array.__dlpack__, dl_device: kDLCPU",
    severity="SHOULD",
    cases={"cuda": "cuda", "managed": "managed", "pinned": "pinned"},
    on="cuda",
)
def the_host_is_handed_what_is_in_memory(producer: ProducerUnderTest, case: str) -> None:
    """With dl_device=(1, 0) the array is exported in memory that the host can access.

    Copy device memory, and flag the copy; export managed and page-locked memory as it is.
    """
    cuda, x, address = make_there(producer, case)
    due = bytes(i % 251 for i in range(NBYTES))
    cuda.write(address, due)

    asked = {"dl_device": HOST, "max_version": NEWEST}
    found = answer(producer, x, **asked)

    if isinstance(found, Exception):
        raise Found(f"{call(asked)} raised {words(found)}; every array can be copied to the host")
    kind, _ = cuda.kind(found.first)
    expect(
        kind != "cuda" and found.device[0] in _HOST_TYPES,
        f"{call(asked)} returned {kind} memory that is said to be on {found.device}",
    )
    note("reading on the host what was handed out for it")
    expect(b"".join(found.read()) == due, f"{call(asked)} returned other elements")


# ---------------------------------------------------------------- side effects


def _export_with_current(x: Any, cuda: Cuda, current: int) -> str:
    """Export while a device is current, and return the result."""
    cuda.make_current(current)
    try:
        x.__dlpack__()  # called directly: a refusal after an earlier success is the finding
    except Exception as error:  # noqa: BLE001 - any exception of a library
        return f"raised {words(error)}"
    return "returned a capsule"


@check(
    "DLP-DEV-7",
    source="CUDA driver API, Context Management",
    cases={"own-device": 0, "other-device": 1},
    on="cuda",
)
def an_export_leaves_the_current_device_alone(producer: ProducerUnderTest, case: int) -> None:
    """__dlpack__() leaves the current device and context unchanged.

    Push the array's context and pop it again, on every path: the next allocation of the caller goes
    to the current device.
    """
    cuda, x, _ = make_there(producer, "cuda")
    if case:
        cuda.need_second_device()
    before = cuda.context(case)

    said = _export_with_current(x, cuda, case)

    after = cuda.current_context
    where = f"device {cuda.current_device}" if after else "no device"
    expect(
        before == after,
        f"with device {case} current, __dlpack__() {said}, and then {where} was current, with "
        f"context {after:#x} in the place of {before:#x}",
    )


@check(
    "DLP-DEV-7",
    source="convention of CuPy; torch refuses; the standard is silent",
    severity="QUIRK",
    cases={"of-the-first": ("cuda", 1), "of-the-second": ("cuda:1", 0)},
    on="cuda",
)
def arrays_are_exported_whatever_device_is_current(
    producer: ProducerUnderTest, case: tuple[str, int]
) -> None:
    """An array can be exported while another device is current.

    Make the array's device current around the calls that need it: consumers do not know that it
    matters.
    """
    device, current = case
    cuda, x, _ = make_there(producer, device)
    cuda.need_second_device()

    said = _export_with_current(x, cuda, current)

    expect(
        said == "returned a capsule",
        f"with device {current} current, exporting from {device} {said}",
    )


@check(
    "DLP-DEV-8",
    source="convention of CuPy, whose consumers make its device current; the standard is silent",
    severity="QUIRK",
    on="cuda",
)
def work_is_ordered_while_another_device_is_current(producer: ProducerUnderTest) -> None:
    """Pending work runs before the consumer's, also while another device is current.

    Consumers should make the array's device current; support those that do not. Create and record
    the event in the context of the array's stream: an event of another context cannot be recorded
    there, and an ignored error is a missing order.
    """
    cuda = driver()
    cuda.need_second_device()
    need_order(producer)
    own, consumer = cuda.stream(), cuda.stream()
    x, address, own = make_busy(producer, own)
    pending = PendingWork(cuda, address, NBYTES, own)

    note("exporting with work held, while another device is current")
    with cuda.on_device(1):
        opened = exported(producer, x, stream=consumer)

    seen = pending.seen_on(consumer, opened.first)
    words = f"while device 1 was current, __dlpack__(stream={consumer}) of device 0 returned"
    expect(seen.is_ordered(), seen.evidence(words))


@check(
    "DLP-DEV-2",
    source="array API standard 2025.12, array.__dlpack_device__",
    severity="SHOULD",
    on="cuda",
)
def asking_for_the_device_waits_for_nothing(producer: ProducerUnderTest) -> None:
    """__dlpack_device__() does not wait for pending work.

    Return what is known: consumers call it before they name a stream.
    """
    cuda = driver()
    own = cuda.stream()
    x, address, own = make_busy(producer, own)
    pending = PendingWork(cuda, address, NBYTES, own)

    note("asking for the device, with work held")
    x.__dlpack_device__()

    if pending.release():
        raise Found("__dlpack_device__() did not return while work on the array was held")
