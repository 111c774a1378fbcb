"""Devices of every kind that dlpack.h names, also those that the kit has no driver for.

Source: dlpack.h 1.3 (DLDeviceType); array API standard 2025.12, ``array.__dlpack_device__``.  Only
what is said of the memory is looked at: nobody here reaches it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interchange_conformance.findings import expect
from interchange_conformance.registry import area
from interchange_conformance.subject import KINDS

if TYPE_CHECKING:
    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("devices")

_OF_THE_HOST: Final = frozenset({1, 3, 11})  # may be said of one and the same memory


@check(
    "DLP-DEV-3",
    source="array API standard 2025.12, array.__dlpack_device__",
    cases={name: name for name in KINDS},
)
def the_capsule_is_of_the_kind_that_was_said(producer: ProducerUnderTest, case: str) -> None:
    """The capsule is on the device that __dlpack_device__() says, whatever kind that is.

    Take type and id from one place, the table of dlpack.h: consumers choose their importer by the
    one, and read the other.
    """
    x = producer.make(device=case)

    kind, number = (int(one) for one in x.__dlpack_device__())
    shipped = producer.open_newest(x).device

    akin = {kind, shipped[0]} <= _OF_THE_HOST
    expect(
        akin or (kind, number) == shipped,
        f"__dlpack_device__() said {(kind, number)}, and the capsule is on {shipped}",
    )
