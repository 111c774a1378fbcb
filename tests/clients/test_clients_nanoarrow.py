"""nanoarrow passes device columns on with their event, exported and imported again."""

from __future__ import annotations

import pytest

import interchange as ix

pytestmark = [
    pytest.mark.clients,
    pytest.mark.emulated,
    pytest.mark.skipif(ix.core_name != "native", reason="exports are the native core's"),
]


@pytest.fixture
def carry(need):
    """Return a function that creates nanoarrow's device array of an export."""
    need("nanoarrow")
    from nanoarrow.device import c_device_array

    return c_device_array


def test_it_reads_where_memory_is(bindings, carry):
    """Device, type and shape are kept; nothing is copied."""
    memory = bindings.memory()
    array = ix.from_pointer(memory, (16, 4), "float32", device="cuda:0")
    found = carry(ix.to_arrow(array))

    assert (found.device_type_id, found.device_id) == (2, 0)
    assert (found.schema.format, found.array.length) == ("+w:4", 16)
    assert found.array.child(0).buffers[1] == memory


def test_what_it_hands_back_is_waited_for(bindings, emulator, carry):
    """The event is passed on, and is destroyed when the last Array is freed."""
    producer, stream = bindings.stream(), bindings.stream()
    memory = bindings.memory()
    before = emulator.live().events
    emulator.fill(producer, memory, bindings.size, 7)
    array = ix.from_pointer(
        memory, (bindings.size,), "uint8", device="cuda:0", stream=int(producer)
    )
    back = ix.from_arrow(carry(ix.to_arrow(array)), stream=stream)
    emulator.annotate(stream, back.ptr, bindings.size, write=False)
    during = emulator.live().events
    taken = back.ptr
    del back

    assert (taken, emulator.reports()) == (memory, [])
    assert (during - before, emulator.live().events - before) == (1, 0)


def test_nothing_but_the_event_keeps_the_order(bindings, emulator, carry):
    """The same program has a race if waits of streams have no effect."""
    producer, stream, memory = bindings.stream(), bindings.stream(), bindings.memory()
    with emulator.without_waits():
        emulator.fill(producer, memory, bindings.size, 7)
        array = ix.from_pointer(
            memory, (bindings.size,), "uint8", device="cuda:0", stream=int(producer)
        )
        back = ix.from_arrow(carry(ix.to_arrow(array)), stream=stream)
        emulator.annotate(stream, back.ptr, bindings.size, write=False)

    emulator.expect_reports(match="RAW")
