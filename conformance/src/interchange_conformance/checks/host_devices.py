"""Devices without a driver: what a producer reports, and the effect of ``dl_device``.

Source: dlpack.h 1.3, DLDeviceType; array API standard 2025.12, ``array.__dlpack__`` and
``array.__dlpack_device__``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange.abi.dlpack import DLDeviceType
from interchange_conformance.findings import NotApplicable, expect
from interchange_conformance.registry import area
from interchange_conformance.subject import KINDS

from ._exports import (
    GENERATIONS,
    HOST,
    HOST_KINDS,
    answer,
    asking,
    export_keywords,
    in_each,
    opened,
    reported_device,
    require_generation,
    require_host,
    some_array,
    told,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("devices")


def _reported_device(x: Any) -> Any:
    """Return the result of ``__dlpack_device__()``."""
    if not hasattr(x, "__dlpack_device__"):
        raise NotApplicable(f"{type(x).__name__} has no __dlpack_device__")
    return reported_device(x)


# ------------------------------------------------------------------ reported devices


@check("DLP-DEV-2", source="array API standard 2025.12, array.__dlpack_device__, Returns")
def devices_are_tuples_of_two_ints(producer: ProducerUnderTest) -> None:
    """__dlpack_device__() returns a tuple of two ints; the first may be an enum.

    Return (device type, device id), and 0 for the id of a device that is the only one of its kind:
    not None, and not the type alone.
    """
    said = _reported_device(some_array(producer))

    expect(
        isinstance(said, tuple)
        and len(said) == 2
        and all(isinstance(part, int) and not isinstance(part, bool) for part in said),
        f"__dlpack_device__() returned {said!r:.200}",
    )


@check("DLP-DEV-1", source="dlpack.h 1.3, DLDeviceType", cases=GENERATIONS)
def device_types_are_known_numbers(producer: ProducerUnderTest, case: str) -> None:
    """The device type in __dlpack_device__() and in the struct is a value of DLDeviceType.

    Write kDLCPU, 1, for host memory. 0 is not a value, and neither are those of your library's own
    enum.
    """
    x = some_array(producer)
    said = _reported_device(x)
    found = opened(producer, x, case)

    known = {int(kind) for kind in DLDeviceType}
    kinds = {"the struct": found.device[0]}
    if isinstance(said, tuple) and said:
        kinds["__dlpack_device__()"] = said[0]
    for where, kind in kinds.items():
        expect(kind in known, f"{where} says device type {kind!r:.60}")


@check(
    "DLP-DEV-3",
    source="array API standard 2025.12, array.__dlpack_device__; array.__dlpack__, dl_device: "
    "the same device as self",
    cases={**GENERATIONS, **{name: name for name in KINDS}},
)
def capsules_are_on_the_device_that_was_said(producer: ProducerUnderTest, case: str) -> None:
    """The struct is on the device that __dlpack_device__() returns, whatever kind of device it is.

    Fill both from one place: the consumer chooses its importer, its device and the stream by what
    __dlpack_device__() returns, before it has the capsule.
    """
    x = producer.make(device=case) if case in KINDS else some_array(producer)
    said = _reported_device(x)
    if not isinstance(said, tuple) or len(said) != 2:
        raise NotApplicable(f"__dlpack_device__() returned {said!r:.200}")

    found = producer.open_newest(x) if case in KINDS else opened(producer, x, case)

    akin = {found.device[0], said[0]} <= HOST_KINDS
    expect(
        found.device == tuple(said) or akin,
        f"__dlpack_device__() returned {said!r:.100}, and the struct says {found.device}",
    )


@check(
    "DLP-DEV-1",
    source="dlpack.h 1.3, DLDevice.device_id: 0 for vanilla CPU memory",
    severity="SHOULD",
    cases=GENERATIONS,
)
def host_memory_has_device_id_0(producer: ProducerUnderTest, case: str) -> None:
    """Host memory has device id 0.

    Write 0, whatever your library uses to number its own host devices.
    """
    found = opened(producer, some_array(producer), case)

    if found.device[0] not in HOST_KINDS:
        raise NotApplicable(f"the memory is on device {found.device}")
    expect(found.device[1] == 0, f"the struct says device {found.device}")


# ------------------------------------------------------------------ dl_device


_OWN: Final[dict[str, Callable[[Any], Any]]] = {
    "as-it-was-said": _reported_device,
    "as-ints": lambda _: HOST,
    "as-an-enum": lambda _: (DLDeviceType.kDLCPU, 0),
}


@check(
    "DLP-DEV-5",
    source="array API standard 2025.12, array.__dlpack__, dl_device: kDLCPU",
    severity="SHOULD",
    cases=in_each(_OWN),
)
def host_memory_is_handed_to_the_host(
    producer: ProducerUnderTest, case: tuple[str, Callable[[Any], Any]]
) -> None:
    """Host memory is exported when dl_device names the host.

    Compare dl_device, whose first part may be an enum, with your own device, and proceed as for
    None. from_dlpack(x, device='cpu') sends it for every array.
    """
    generation, ask = case
    x = some_array(producer)
    device = ask(x)
    require_host(opened(producer, x, generation))
    if not isinstance(device, tuple):
        raise NotApplicable(f"__dlpack_device__() returned {device!r:.200}")
    keywords = asking(generation, dl_device=device)

    found = answer(producer, x, **keywords)

    there = not isinstance(found, Exception) and found.device[0] in HOST_KINDS
    expect(there, told(keywords, found))


_ELSEWHERE: Final = {
    "cuda": (2, 0),
    "opencl": (4, 0),
    "metal": (8, 0),
    "rocm": (10, 0),
    "unknown": (99, 0),
}
"""Devices to which host memory cannot be exported without a copy."""


@check(
    "DLP-DEV-5",
    source="array API standard 2025.12, array.__dlpack__, dl_device: must raise BufferError",
    cases=in_each(_ELSEWHERE),
)
def devices_out_of_reach_raise_buffer_error(
    producer: ProducerUnderTest, case: tuple[str, tuple[int, int]]
) -> None:
    """dl_device is used or refused with BufferError, and never ignored.

    Raise BufferError for devices that you cannot export to: consumers assume that the result is on
    the requested device, and try another way on BufferError.
    """
    generation, device = case
    require_generation(producer, generation)
    keywords = asking(generation, dl_device=device)
    x = some_array(producer)

    found = answer(producer, x, **keywords)

    obeyed = not isinstance(found, Exception) and found.device == device
    expect(obeyed or isinstance(found, BufferError), told(keywords, found))


_MALFORMED: Final[dict[str, Any]] = {
    "number": 1,
    "text": "cpu",
    "one": (1,),
    "three": (1, 0, 0),
    "name": ("cpu", 0),
    "without-type": (None, 0),
    "without-id": (1, None),
}


@check(
    "DLP-DEV-4",
    source="array API standard 2025.12, array.__dlpack__, dl_device: must be a 2-tuple",
    severity="SHOULD",
    cases=_MALFORMED,
)
def malformed_devices_are_refused(producer: ProducerUnderTest, case: Any) -> None:
    """A dl_device that is not a tuple of two ints is refused.

    Check the argument before you use it, and raise TypeError; the standard names no class, and any
    other is accepted.
    """
    x = some_array(producer)

    for way in export_keywords(producer, x):
        keywords = {**way, "dl_device": case}
        found = answer(producer, x, **keywords)
        expect(isinstance(found, Exception), told(keywords, found))


@check(
    "DLP-DEV-4",
    source="array API standard 2025.12, array.__dlpack__, dl_device: must be a 2-tuple",
    severity="QUIRK",
)
def devices_in_a_list_are_refused(producer: ProducerUnderTest) -> None:
    """A dl_device that is a list of two ints is refused.

    Raise TypeError: other libraries refuse lists, too.
    """
    x = some_array(producer)

    for way in export_keywords(producer, x):
        keywords = {**way, "dl_device": [1, 0]}
        found = answer(producer, x, **keywords)
        expect(isinstance(found, Exception), told(keywords, found))
