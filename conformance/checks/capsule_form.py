"""Capsule form: names, versions, flags, strides, offsets, element types, empty and 0-d arrays.

Source: dlpack.h 1.3; DLPack Python specification; array API standard 2025.12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..findings import expect
from ..registry import area

if TYPE_CHECKING:
    from ..doors import ProducerDoor

check = area("capsule")


@check("DLP-CAP-1", source="DLPack Python specification, Syntax for data interchange")
def capsules_have_the_name_of_their_struct(producer: ProducerDoor) -> None:
    """A capsule is named 'dltensor' or 'dltensor_versioned'.

    Give PyCapsule_New one of the two names: consumers compare them to know which struct follows.
    """
    x = producer.make()

    found = [producer.open(x)]

    expect(found, "no capsule")
