"""10,000 round trips from numba-cuda through interchange to cuda.core and back, with counts.

Run by `test_clients_growth` in a separate process; prints its counts as JSON: the resident
memory [bytes], and the live resources of the emulated driver.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
from pathlib import Path

SOME, MANY = 1_000, 10_000
_PAGE = resource.getpagesize()


def resident():
    """Return the resident memory of this process [bytes]."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE


def main(kind):
    """Make the round trips, and print the counts before and after."""
    from interchange_conformance.emucuda.control import load

    emulator = load()
    from cuda.core import Device
    from cuda.core.utils import StridedMemoryView
    from numba import cuda

    import interchange as ix

    device = Device(0)
    device.set_current()
    lane = device.create_stream()
    first, handle = cuda.stream(), int(lane.handle)

    def fresh():
        """Return the start of a trip: an array, and the stream that it publishes."""
        stream = cuda.stream() if kind == "fresh streams" else first
        return cuda.device_array(64, "f4", stream=stream)

    kept = fresh()

    def trip():
        x = kept if kind == "one array" else fresh()
        array = ix.from_cai(x)
        view = StridedMemoryView.from_dlpack(array[::2], stream_ptr=handle)
        record = StridedMemoryView.from_cuda_array_interface(
            ix.to_cai(array, stream=lane), stream_ptr=handle
        )
        back, again = ix.from_dlpack(view, stream=lane), ix.from_dlpack(record, stream=lane)
        if not back.ptr == again.ptr == x.__cuda_array_interface__["data"][0]:
            raise AssertionError("the memory moved")

    def settle():
        """Free what is deferred: garbage, Numba's deallocations, and the detector's history."""
        gc.collect()
        cuda.synchronize()
        context = cuda.current_context()
        context.deallocations.clear()
        context.memory_manager.deallocations.clear()
        emulator.reset()

    def run(count):
        for i in range(count):
            trip()
            if i % SOME == 0:
                settle()
        settle()
        return {"resident": resident(), "live": emulator.live(), "reports": emulator.reports()}

    run(SOME)
    before = run(SOME)
    after = run(MANY)
    print(json.dumps({"trips": MANY, "before": before, "after": after}))


if __name__ == "__main__":
    main(sys.argv[1])
