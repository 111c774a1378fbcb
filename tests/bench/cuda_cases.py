"""What is timed of device memory, on a CUDA driver: data, one row each.

Source of the budgets: the project's performance targets for the ctypes core.  The emulated driver's
calls are cheap, so that what is compared is what both sides add to them.
"""

from __future__ import annotations

from typing import Any

CUDA_ROWS = (
    (
        "order of two streams",
        "order(producer, consumer, 0, 'bench')",
        "record(event, producer); wait(consumer, event, 0)",
        1.3,
    ),
    (
        "from_cai, ordered when taken",
        "from_cai(busy)",
        "view(busy, stream_ptr=consumer)",
        0.5,
    ),
    (
        "from_cai, ordered at once",
        "from_cai(busy, stream=consumer)",
        "view(busy, stream_ptr=consumer)",
        0.5,
    ),
    (
        "from_cai, nothing pending",
        "from_cai(idle)",
        "view(idle, stream_ptr=consumer)",
        0.5,
    ),
    (
        "an address is asked about",
        "pointer_attributes(ptr, 'bench')",
        "ask(ordinal, ptr)",
        2.0,
    ),
)
"""What is done, subject, yardstick and budget, as in `cases.Case`."""


class Exporter:
    """Builds its record afresh at every access, as libraries do."""

    def __init__(self, ptr: int, stream: int | None) -> None:
        self.ptr = ptr
        self.stream = stream

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": (2, 3, 4),
            "typestr": "<f4",
            "data": (self.ptr, False),
            "strides": None,
            "version": 3,
            "stream": self.stream,
        }


def make_cuda_names(which: str = "emulated") -> dict[str, Any]:
    """Return the names that the statements use, on the emulated driver or the ``"real"`` one."""
    if which == "emulated":
        from interchange_conformance.emucuda.control import load

        load()
    from cuda.bindings import driver
    from cuda.core import Device
    from cuda.core.utils import StridedMemoryView

    import interchange as ix
    from interchange._streams.driver import driver_of

    Device(0).set_current()
    producer, consumer = (int(driver.cuStreamCreate(1)[1]) for _ in range(2))
    ptr = int(driver.cuMemAlloc(4096)[1])
    ours = driver_of(ix.Device(2), "bench")
    return {
        "producer": producer,
        "consumer": consumer,
        "ptr": ptr,
        "order": ours.order,
        "pointer_attributes": ours.pointer_attributes,
        "record": driver.cuEventRecord,
        "wait": driver.cuStreamWaitEvent,
        "event": driver.cuEventCreate(2)[1],
        "ask": driver.cuPointerGetAttribute,
        "ordinal": driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        "from_cai": ix.from_cai,
        "view": StridedMemoryView.from_cuda_array_interface,
        "busy": Exporter(ptr, producer),
        "idle": Exporter(ptr, None),
    }
