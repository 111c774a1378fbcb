"""Consumers and device memory: how they import it, and side effects of an import.

Source: dlpack.h 1.3 (DLDeviceType); array API standard 2025.12, ``from_dlpack``; CUDA driver API,
Context Management.  The emulated driver protects device memory from the host: a consumer that reads
it crashes as on a real one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import driver
from interchange_conformance.findings import NotApplicable, expect, note
from interchange_conformance.probes.opened_capsule import OpenedCapsule
from interchange_conformance.probes.pending_work import PendingWork
from interchange_conformance.registry import area
from interchange_conformance.zoo.on_device import OnDevice, place

from ._exports import reported_device, words
from ._on_devices import CUDA, KINDS, taken

if TYPE_CHECKING:
    from interchange_conformance.driver.cuda import Cuda
    from interchange_conformance.probes.under_test import ConsumerUnderTest
    from interchange_conformance.registry import Decorator
    from interchange_conformance.zoo.on_device import Block

check: Decorator = area("devices")

_SHAPE: Final = (2, 3)
_EACH_KIND: Final = {name.replace(":", "-"): name for name in KINDS}
_FAMILY: Final = {1, 2, 3, 13}
_HOST_TOO: Final = {1, 3, 13}
_NO_CODE: Final = 200


class _Particular(OnDevice):
    """A producer that exports memory only while its own device is current, as PyTorch does."""

    def answer(self, **keywords: Any) -> Any:
        """Return a capsule, or refuse."""
        if self.cuda is not None and self.cuda.current_device != self.ordinal:
            raise BufferError(
                f"the memory is on device {self.ordinal}, and device {self.cuda.current_device} "
                "is current"
            )
        return super().answer(**keywords)


class _OfTheCurrentDevice(OnDevice):
    """A producer that orders the current stream of the current device, as CuPy does."""

    def order(self, consumer: int) -> None:
        """Make the consumer's stream wait if the pending work is on the current device."""
        if self.cuda is not None and self.cuda.current_device == self.ordinal:
            super().order(consumer)


def _producer(
    cuda: Cuda, device: str, kind_of: type[OnDevice] = OnDevice
) -> tuple[OnDevice, list[Any]]:
    """Return idle memory of a kind, and its elements."""
    kind, number = KINDS[device]
    if number:
        cuda.need_second_device()
    block, numbers = place(cuda, kind, _SHAPE, "float32", device=number)
    return kind_of(block, _SHAPE, "float32", cuda=cuda), numbers


def _refusal(consumer: ConsumerUnderTest, x: OnDevice) -> str:
    """Return the error with which memory was refused, or an empty text."""
    try:
        consumer.take(x)
    except NotApplicable:
        raise
    except Exception as error:  # noqa: BLE001 - any exception is a refusal
        return words(error)
    return ""


@check(
    "DLP-DEV-6",
    source="dlpack.h 1.3, DLDeviceType",
    cases=_EACH_KIND,
    on="cuda",
)
def memory_that_a_device_reaches_is_read_right(consumer: ConsumerUnderTest, case: str) -> None:
    """Elements of imported device, managed and page-locked memory are read correctly.

    Read device memory through the driver: the host must not dereference the address.
    """
    cuda = driver()
    x, numbers = _producer(cuda, case)

    note(f"taking {case} memory")
    y = taken(lambda: consumer.take(x))
    note(f"reading {case} memory")
    found = consumer.values(y)

    expect(found == numbers, f"{case} memory with {numbers} was read as {found}")


@check(
    "DLP-DEV-6",
    source="dlpack.h 1.3, kDLCUDAHost and kDLCUDAManaged: the host reaches both",
    severity="QUIRK",
    cases={"managed": "managed", "pinned": "pinned"},
    on="cuda",
)
def memory_that_the_host_reaches_is_taken(consumer: ConsumerUnderTest, case: str) -> None:
    """Consumers of host or CUDA memory import managed and page-locked memory, too.

    Route device types 3 and 13 to either importer: both sides can access such memory.
    """
    cuda = driver()
    x, _ = _producer(cuda, case)

    reason = _refusal(consumer, x)

    expect(not reason, f"device type {x.block.device[0]} was refused: {reason}")


@check(
    "DLP-DEV-3",
    source="array API standard 2025.12, from_dlpack",
    cases=_EACH_KIND,
    on="cuda",
)
def what_is_taken_is_on_the_producers_device(consumer: ConsumerUnderTest, case: str) -> None:
    """An imported array is on the producer's device, or on equivalent memory.

    Use the device of the capsule, not the current device.
    """
    cuda = driver()
    x, _ = _producer(cuda, case)

    y = taken(lambda: consumer.take(x))
    if not hasattr(y, "__dlpack_device__"):
        raise NotApplicable(f"{type(y).__name__} has no __dlpack_device__")
    found, due = reported_device(y), x.block.device

    moved = found[0] == 1 and due[0] not in _HOST_TOO
    if moved:
        raise NotApplicable("it is copied to the host")
    same = found == due if due[0] == CUDA else found[0] in _FAMILY
    expect(same, f"an array on {due} was taken, and says that it is on {found}")


class _Elsewhere(OnDevice):
    """A producer that claims to be on the first device, while its struct has the actual one."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, 0


@check("DLP-DEV-3", source="array API standard 2025.12, from_dlpack", on="cuda")
def the_number_of_the_capsules_device_counts(consumer: ConsumerUnderTest) -> None:
    """If __dlpack_device__() returns device 0 and the struct says 1, the memory is read on 1.

    Refuse it, since the stream was chosen for another device, or use the device in the struct.
    """
    cuda = driver()
    x, numbers = _producer(cuda, "cuda:1", _Elsewhere)

    note("taking memory of device 1 that was said to be of device 0")
    y = taken(lambda: consumer.take(x))
    found = reported_device(y) if hasattr(y, "__dlpack_device__") else None

    if found is not None and found[0] == CUDA:
        expect(found == (CUDA, 1), f"the capsule is on {(CUDA, 1)}, the taken array on {found}")
    note("reading memory of device 1 that was said to be of device 0")
    values = consumer.values(y)
    expect(values == numbers, f"memory with {numbers} was read as {values}")


@check(
    "DLP-DEV-7",
    source="CUDA driver API, Context Management",
    cases={"own-device": "cuda", "other-device": "cuda:1"},
    on="cuda",
)
def an_import_leaves_the_current_device_alone(consumer: ConsumerUnderTest, case: str) -> None:
    """An import leaves the current device and context unchanged.

    Push the producer's context and pop it again, on every path.
    """
    cuda = driver()
    x, _ = _producer(cuda, case)
    before = cuda.current_context

    y = taken(lambda: consumer.take(x))

    after = cuda.current_context
    where = cuda.current_device if after else None
    expect(
        before == after,
        f"device 0 was current, an array of {case} was taken, and then device {where}, context "
        f"{after:#x}, was current",
    )
    del y


class _Refusing(OnDevice):
    """A producer that refuses every export."""

    def answer(self, **_: Any) -> Any:
        """Refuse."""
        raise BufferError("this memory is not handed out")


class _Unknown(OnDevice):
    """A producer of elements of an unknown type."""

    def capsule(self, block: Block, copied: bool, max_version: tuple[int, int] | None) -> Any:
        """Return a capsule whose struct has an undefined type code."""
        capsule = super().capsule(block, copied, max_version)
        OpenedCapsule(capsule).tensor.dtype.code = _NO_CODE
        return capsule


@check(
    "DLP-DEV-7",
    source="CUDA driver API, Context Management",
    cases={"by-the-producer": _Refusing, "for-its-element-type": _Unknown},
    on="cuda",
)
def a_refused_import_leaves_the_current_device_alone(
    consumer: ConsumerUnderTest, case: type[OnDevice]
) -> None:
    """A failed import leaves the current device and context unchanged.

    Pop the producer's context in a finally clause, or in the destructor of a guard.
    """
    cuda = driver()
    x, _ = _producer(cuda, "cuda:1", case)
    before = cuda.current_context

    reason = _refusal(consumer, x)

    after = cuda.current_context
    where = f"device {cuda.current_device}" if after else "no device"
    expect(
        before == after,
        f"device 0 was current, an array of device 1 was {'refused: ' if reason else 'taken'}"
        f"{reason}, and then {where} was current, with context {after:#x}",
    )


@check(
    "DLP-DEV-7",
    source="convention of CuPy; torch refuses to export otherwise",
    severity="QUIRK",
    on="cuda",
)
def a_producer_that_needs_its_device_to_be_current_is_taken(consumer: ConsumerUnderTest) -> None:
    """Memory of a producer that requires its device to be current is imported.

    Make the producer's device current around __dlpack__(), at the latest when it refuses.
    """
    cuda = driver()
    x, _ = _producer(cuda, "cuda:1")
    taken(lambda: consumer.take(x))
    particular, _ = _producer(cuda, "cuda:1", _Particular)

    reason = _refusal(consumer, particular)

    expect(not reason, f"device 0 was current, and an array of device 1 was refused: {reason}")


@check(
    "DLP-DEV-8",
    source="convention of CuPy, whose consumers make its device current; the standard is silent",
    severity="QUIRK",
    on="cuda",
)
def a_producer_that_orders_the_current_device_is_waited_for(consumer: ConsumerUnderTest) -> None:
    """Memory of another device is imported in order if its producer orders the current device.

    Make the producer's device current around __dlpack__(): a library may keep one current stream
    per device, and order that of the current device.
    """
    cuda = driver()
    x, _ = _producer(cuda, "cuda:1", _OfTheCurrentDevice)
    with cuda.on_device(1):
        own, stream = cuda.stream(), cuda.stream()
        taken(lambda: consumer.take_on(stream, x))
        x.stream = own
        pending = PendingWork(cuda, x.block.address, x.nbytes, own)

    note("taking an array of device 1 with work held, while device 0 is current")
    y = taken(lambda: consumer.take_on(stream, x))

    with cuda.on_device(1):
        seen = pending.seen_on(stream)
    words = f"while device 0 was current, an array of device 1 was taken for stream {stream:#x}"
    expect(seen.is_ordered(), seen.evidence(words))
    del y
