"""Consumers and devices: host memory that claims to be on other devices.

Source: dlpack.h 1.3, DLDevice; array API standard 2025.12, ``from_dlpack`` and
``array.__dlpack_device__``.  No driver is needed: the memory is the host's, and the checks test
whether a consumer respects the exported device.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from interchange.abi.dlpack import DLDeviceType
from interchange_conformance.findings import NotApplicable, expect, note
from interchange_conformance.probes.importing import (
    Attempt,
    attempts,
    expect_released,
    expect_right_if_read,
    object_way,
    of_rule,
    paired,
    show,
    ways,
)
from interchange_conformance.registry import area
from interchange_conformance.zoo import claiming, host, zoo

from ._exports import reported_device

if TYPE_CHECKING:
    from interchange_conformance.probes.importing import Pair, Way
    from interchange_conformance.probes.under_test import ConsumerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("devices")

_ZOO: Final = paired(zoo())
_TYPES: Final = "dlpack.h 1.3, DLDeviceType"
_HOST: Final = frozenset({
    DLDeviceType.kDLCPU, DLDeviceType.kDLCUDAHost, DLDeviceType.kDLROCMHost,
    DLDeviceType.kDLCUDAManaged,
})  # fmt: skip
"""Device types that the host can access."""
_NAMED: Final = frozenset(map(int, DLDeviceType))
_ELSEWHERE: Final = {
    kind.name.removeprefix("kDL").lower(): (int(kind), 0)
    for kind in DLDeviceType
    if kind not in _HOST and not kind.name.endswith("Host")
}
_ELSEWHERE["second-cuda"] = (2, 1)
_DRIVERS: Final = {DLDeviceType.kDLCUDA: "libcuda.", DLDeviceType.kDLROCM: "libamdhip64."}
"""Device type -> library that can read such memory, also at host addresses."""
_UNKNOWN: Final = {"0": (0, 0), "5": (5, 0), "99": (99, 0), "negative": (-1, 0)}


def _expect_elsewhere(consumer: ConsumerUnderTest, way: Way, device: tuple[int, int]) -> None:
    """Raise an error if an array on a device is imported as host memory."""
    source = host(way.shape).but(generation=way.generation, device=device)
    attempt = Attempt(way.take, source)
    if not attempt.taken:
        return
    _expect_device(consumer, attempt, device, f"{way}: {show(source)} {attempt}")


def _expect_device(
    consumer: ConsumerUnderTest, attempt: Attempt, device: tuple[int, int], words: str
) -> None:
    """Raise an error if an imported array reports another device, or is read as host memory."""
    if any(loan.said.device[0] in _HOST for loan in attempt.source.loans):
        return  # it requested host memory from the producer, and received a copy
    said = _device_of(attempt.array)
    whole = device[0] in _DRIVERS
    same = said is None or (said == device if whole else said[:1] == device[:1])
    expect(same, f"{words}, and says that it is on device {said}")
    if not _has_driver(device[0]):
        found = _values(consumer, attempt)
        expect(found is None, f"{words}, and read as {found!s:.100}")


def _device_of(y: Any) -> tuple[int, ...] | None:
    """Return the device that an array reports; None if it reports none."""
    try:
        return tuple(map(int, reported_device(y)))
    except Exception:  # noqa: BLE001 - it refuses to report a device, which is correct
        return None


def _values(consumer: ConsumerUnderTest, attempt: Attempt) -> list[Any] | None:
    """Return the elements; None if they are refused, or cannot be read."""
    try:
        return attempt.values(consumer)
    except NotApplicable:
        return None


def _has_driver(device_type: int) -> bool:
    """Return whether this process has a driver that may read memory of such a device."""
    library = _DRIVERS.get(DLDeviceType(device_type)) if device_type in _NAMED else None
    if library is None:
        return False
    try:
        return library in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux: there may be one
        return True


@check("DLP-DEV-6", source=_TYPES, cases=_ELSEWHERE)
def memory_of_a_device_is_not_taken_for_host_memory(
    consumer: ConsumerUnderTest, case: tuple[int, int]
) -> None:
    """Device memory is refused, or stays on its device.

    Check the device type of the struct, and keep it with the device id. A device address is invalid
    on the host: refuse to read it there.
    """
    for way in ways(consumer):
        _expect_elsewhere(consumer, way, case)


@check("DLP-DEV-1", source=_TYPES, cases=_UNKNOWN)
def memory_of_unknown_devices_is_not_taken_for_host_memory(
    consumer: ConsumerUnderTest, case: tuple[int, int]
) -> None:
    """Memory of an unknown device type is refused, or keeps its type.

    Refuse unknown types: they are future devices, or mistakes.
    """
    for way in ways(consumer):
        _expect_elsewhere(consumer, way, case)


_LIES: Final = {
    "says-host-ships-cuda": (2, 0),
    "says-host-ships-opencl": (4, 0),
    "says-host-ships-unknown": (99, 0),
}


@check(
    "DLP-DEV-3",
    source="DLPack Python specification, Semantics; dlpack.h 1.3, DLTensor.device",
    severity="SHOULD",
    cases=_LIES,
)
def the_device_in_the_capsule_counts(consumer: ConsumerUnderTest, case: tuple[int, int]) -> None:
    """The device in the struct is used, whatever __dlpack_device__() returned.

    Compare the two once you have the capsule. Some producers contradict themselves, and the host
    crashes on a device address.
    """
    for way in ways(consumer):
        source = host(way.shape).but(
            generation=way.generation, device=case, advertises=(1, 0), deaf=True
        )
        attempt = Attempt(way.take, source)
        if attempt.taken:
            words = f"{way}: an array that said device (1, 0) and came as {case} {attempt}"
            _expect_device(consumer, attempt, case, words)


@check(
    "DLP-DEV-3",
    source="practice: PyTorch says 3 of page-locked tensors, and ships 1",
    severity="QUIRK",
)
def page_locked_memory_may_come_as_host_memory(consumer: ConsumerUnderTest) -> None:
    """An array whose __dlpack_device__() says page-locked, and its struct host memory, is imported.

    Accept both device types: the host can access both.
    """
    objects = [way for way in ways(consumer) if way.name == "take"]
    if not objects:
        raise NotApplicable("take() takes no plain array")
    for way in objects:
        source = host(way.shape).but(generation=way.generation, advertises=(3, 0), deaf=True)
        attempt = Attempt(way.take, source)

        expect_right_if_read(consumer, way, attempt)
        expect(attempt.taken, f"{way}: an array that said device (3, 0), came as (1, 0), {attempt}")


_NEAR: Final = {"page-locked": (3, 0), "rocm-page-locked": (11, 0), "managed": (13, 0)}


@check("DLP-DEV-6", source=_TYPES, cases=_NEAR)
def memory_that_the_host_reaches_too_is_read_right(
    consumer: ConsumerUnderTest, case: tuple[int, int]
) -> None:
    """Page-locked and managed memory is read correctly, or refused, and is released once.

    Treat types 3, 11 and 13 as host memory, or refuse them before you have the capsule.
    """
    for way in ways(consumer):
        attempt = Attempt(way.take, host(way.shape).but(generation=way.generation, device=case))

        expect_right_if_read(consumer, way, attempt)
        expect_released(consumer, way, attempt)


@check("DLP-DEV-1", source="dlpack.h 1.3, DLDevice.device_id", severity="QUIRK")
def negative_device_ids_are_refused(consumer: ConsumerUnderTest) -> None:
    """A device with a negative id is refused.

    Device ids begin at 0: the struct was not filled.
    """
    for way, attempt in attempts(consumer, _ZOO["device-id-negative"]):
        moved = bool(attempt.source.loans) and attempt.source.loans[-1].said.device[1] >= 0
        expect(moved or not attempt.taken, f"{way}: {show(attempt.source)} {attempt}")


# ------------------------------------------------------------------ device=

_DEVICE: Final = "array API standard 2025.12, from_dlpack, device"


def _to_host(consumer: ConsumerUnderTest) -> Any:
    """Return the function that imports producers to the host."""
    take_with = consumer.subject.take_with
    if take_with is None:
        raise NotApplicable("the subject describes no take_with()")
    if not _takes_device(take_with):
        raise NotApplicable("the subject's take_with() has no parameter device")
    return lambda source: take_with(source, device="cpu")


def _takes_device(function: Any) -> bool:
    """Return whether a function has a parameter ``device``, or accepts any keyword."""
    parameters = inspect.signature(function).parameters.values()
    return any(one.name == "device" or one.kind is one.VAR_KEYWORD for one in parameters)


@check("DLP-DEV-5", source=f"{_DEVICE}: must offer a way for kDLCPU", severity="SHOULD")
def the_host_can_be_asked_for(consumer: ConsumerUnderTest) -> None:
    """With device="cpu" a host array is imported, and shares its memory as without the argument.

    Accept the keyword, and send no dl_device if the array is already there.
    """
    way = object_way(consumer)
    attempt = Attempt(_to_host(consumer), host(way.shape))

    expect(attempt.taken, f'device="cpu": an array of the host {attempt}')
    expect_right_if_read(consumer, way, attempt)


@check("DLP-DEV-5", source=f"{_DEVICE}: on which to place the created array")
def what_is_taken_onto_the_host_is_there(consumer: ConsumerUnderTest) -> None:
    """With device="cpu" a device array is copied to the host, or refused.

    Send dl_device=(1, 0) to the producer, or copy yourself, and raise if neither is possible: do
    not return an array that is still on its device.
    """
    way = object_way(consumer)
    take = _to_host(consumer)
    if not Attempt(take, host(way.shape)).taken:
        raise NotApplicable('device="cpu": an array of the host is refused')
    source = claiming((7, 0), way.shape)  # the producer copies to the host on request
    note("taking memory of a device onto the host")
    attempt = Attempt(take, source)
    if not attempt.taken:
        return

    said = _device_of(attempt.array)
    words = f'device="cpu": an array that is on device (7, 0) {attempt}'
    expect(said is None or said[0] in _HOST, f"{words}, and says that it is on {said}")
    moved = [loan.said.device for loan in source.loans]
    expect((1, 0) in moved, f"{words}; what the producer handed out is on {moved}")
    expect_right_if_read(consumer, way, attempt)


@check(
    "DLP-DEV-2",
    source="array API standard 2025.12, array.__dlpack_device__, Returns",
    cases=of_rule(_ZOO, "DLP-DEV-2"),
)
def odd_answers_about_the_device_do_no_harm(consumer: ConsumerUnderTest, case: Pair) -> None:
    """If __dlpack_device__() returns no tuple of two ints, the array is refused or read correctly.

    Call it before you request the capsule, and check the result before you use it. Once there is a
    capsule, its tensor must be released on every path.
    """
    way = object_way(consumer)
    source = way.fit(case.versions["versioned"].make())
    if source is None:
        raise NotApplicable("the case has two axes")
    attempt = Attempt(way.take, source)

    expect_right_if_read(consumer, way, attempt)
    expect_released(consumer, way, attempt)
