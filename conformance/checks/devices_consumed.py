"""What consumers make of memory that is not the host's own, and what an import leaves behind.

Source: dlpack.h 1.3 (DLDeviceType); array API standard 2025.12, ``from_dlpack``; CUDA driver API,
Context Management.  The emulated driver keeps the host out of device memory: a consumer that reads
it crashes there as it does on a real one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..cuda import driver
from ..findings import NotApplicable, expect, note
from ..registry import area
from ..zoo.on_device import OnDevice, place
from ._exports import words
from ._on_devices import CUDA, KINDS, taken

if TYPE_CHECKING:
    from ..cuda import Cuda
    from ..doors import ConsumerDoor

check = area("devices")

_SHAPE: Final = (2, 3)
_EACH_KIND: Final = {name.replace(":", "-"): name for name in KINDS}
_FAMILY: Final = {1, 2, 3, 13}
_HOST_TOO: Final = {1, 3, 13}


class _Particular(OnDevice):
    """A producer that hands memory out only while its own device is current, as torch does."""

    def answer(self, **keywords: Any) -> Any:
        """Return a capsule, or refuse."""
        if self.cuda is not None and self.cuda.current_device != self.ordinal:
            raise BufferError(
                f"the memory is on device {self.ordinal}, and device {self.cuda.current_device} "
                "is current"
            )
        return super().answer(**keywords)


def _producer(
    cuda: Cuda, device: str, kind_of: type[OnDevice] = OnDevice
) -> tuple[OnDevice, list[Any]]:
    """Return idle memory of a kind, and its elements."""
    kind, number = KINDS[device]
    if number:
        cuda.need_second_device()
    block, numbers = place(cuda, kind, _SHAPE, "float32", device=number)
    return kind_of(block, _SHAPE, "float32", cuda=cuda), numbers


def _refusal(consumer: ConsumerDoor, x: OnDevice) -> str:
    """Return the error with which memory was refused, or nothing."""
    try:
        consumer.take(x)
    except NotApplicable:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a refusal
        return words(error)
    return ""


@check(
    "DLP-DEV-6",
    source="dlpack.h 1.3, DLDeviceType",
    cases=_EACH_KIND,
    on="cuda",
)
def memory_that_a_device_reaches_is_read_right(consumer: ConsumerDoor, case: str) -> None:
    """The elements of device, managed and page-locked memory that was taken are read right.

    Read memory of a device through its driver: the host must not follow such an address.
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
def memory_that_the_host_reaches_is_taken(consumer: ConsumerDoor, case: str) -> None:
    """Who takes memory of the host or of a CUDA device takes managed and page-locked memory too.

    Route device types 3 and 13 to the importer of either: both sides reach such memory.
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
def what_is_taken_is_on_the_producers_device(consumer: ConsumerDoor, case: str) -> None:
    """What was taken says that it is on the producer's device, or on memory akin to it.

    Go by the capsule's device, not by the one that is current.
    """
    cuda = driver()
    x, _ = _producer(cuda, case)

    y = taken(lambda: consumer.take(x))
    if not hasattr(y, "__dlpack_device__"):
        raise NotApplicable(f"{type(y).__name__} has no __dlpack_device__")
    found, due = tuple(y.__dlpack_device__()), x.block.device

    moved = found[0] == 1 and due[0] not in _HOST_TOO
    if moved:
        raise NotApplicable("it is copied to the host")
    same = found == due if due[0] == CUDA else found[0] in _FAMILY
    expect(same, f"an array on {due} was taken, and says that it is on {found}")


@check(
    "DLP-DEV-7",
    source="CUDA driver API, Context Management",
    cases={"own-device": "cuda", "other-device": "cuda:1"},
    on="cuda",
)
def an_import_leaves_the_current_device_alone(consumer: ConsumerDoor, case: str) -> None:
    """After an import the device and context are current that were before.

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


@check(
    "DLP-DEV-7",
    source="convention of CuPy; torch refuses to export otherwise",
    severity="QUIRK",
    on="cuda",
)
def a_producer_that_needs_its_device_to_be_current_is_taken(consumer: ConsumerDoor) -> None:
    """Memory of another device is taken from a producer that exports on its own device only.

    Make the producer's device current around __dlpack__(), at the latest when it refuses.
    """
    cuda = driver()
    x, _ = _producer(cuda, "cuda:1")
    taken(lambda: consumer.take(x))
    particular, _ = _producer(cuda, "cuda:1", _Particular)

    reason = _refusal(consumer, particular)

    expect(not reason, f"device 0 was current, and an array of device 1 was refused: {reason}")
