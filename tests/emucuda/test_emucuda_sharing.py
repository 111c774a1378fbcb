"""Device memory shared by two processes with ``ix.share`` and ``ix.open_shared``."""

from __future__ import annotations

import gc
import os
import pickle
import time
import weakref
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest

import interchange as ix
from interchange._protocols.sharing import device_memory, exporter, handles
from interchange._types.layout import Layout

from .peers import descriptors
from .test_emucuda_virtual import GRAIN, mapped, new_pool, properties, unmap

pytestmark = pytest.mark.emulated

SIZE = 4096  # [bytes]
OPEN = "import pickle, gc, interchange as ix; y = ix.open_shared(pickle.loads(h), stream=stream)"


def on_device(values):
    """Return an Array in device memory of its own, without pending work."""
    array = ix.asarray(values).to_device("cuda:0")
    array.to_device("cpu")
    return array


def borrowed(cuda, owner=None):
    """Return an Array over memory of the test."""
    return ix.from_pointer(cuda.memory(SIZE), SIZE, "uint8", device="cuda:0", owner=owner)


def soon(check):
    """Wait until a condition holds: the exporter answers in a thread of its own."""
    deadline = time.monotonic() + 10
    while not check() and time.monotonic() < deadline:
        time.sleep(0.002)
    return check()


def opened(peer, handle):
    """Open a handle in the other process, as `y`."""
    peer(OPEN, h=pickle.dumps(handle))


def rule_of(call):
    """Return the rule of the error that a call raises."""
    with pytest.raises(ix.InterchangeError) as caught:
        call()
    return caught.value.rule


@pytest.fixture(autouse=True)
def _all_is_released():
    """After each test nothing is shared, and nothing is kept for the other process."""
    yield
    gc.collect()
    assert soon(lambda: not device_memory._exported)


def test_views_are_the_same_memory(peer):
    """Shape, strides, element type and offset travel; either process sees the other's writes."""
    x = on_device(np.arange(24, dtype="float32").reshape(4, 6))
    view = x[::2, 1:4]
    handle = ix.share(view)
    opened(peer, handle)
    found = peer("y.shape, y.strides, str(y.dtype), y.readonly, y.to_device('cpu').tolist()")
    assert found == (view.shape, view.strides, "float32", False, view.to_device("cpu").tolist())

    peer("cu.cuMemsetD8Async(y.ptr, 0, 4, stream); cu.cuStreamSynchronize(stream)")
    assert x.to_device("cpu")[0, 1].item() == 0.0
    again = ix.open_shared(handle)
    assert (again.ptr, again.strides) == (view.ptr, view.strides)
    peer("del y; gc.collect()")


def test_two_openings_are_one_mapping(cuda, peer):
    """Also of two handles; it is closed with the last array."""
    x = borrowed(cuda)
    h, i = pickle.dumps(ix.share(x)), pickle.dumps(ix.share(x[100:]))
    peer(OPEN, h=h)
    peer("z = ix.open_shared(pickle.loads(i))", i=i)
    assert peer("z.ptr - y.ptr") == 100

    peer("from interchange._protocols.sharing import device_memory; del y; gc.collect()")
    assert peer("len(device_memory._imported)") == 1
    peer("del z; gc.collect()")
    assert peer("len(device_memory._imported)") == 0


@pytest.mark.parametrize("waits", [True, False], ids=["waits", "without waits"])
def test_pending_work_is_waited_for_in_the_other_process(cuda, peer, streams, waits):
    """The opener's stream waits for what was pending; without the wait there is a race."""
    x = borrowed(cuda)
    cuda.emulator.annotate(streams[0], x.ptr, SIZE, write=True, what="producer")
    busy = ix.from_pointer(x.ptr, SIZE, "uint8", device="cuda:0", owner=x, stream=streams[0])
    handle = ix.share(busy)
    if not waits:
        peer("breaking = emulator.without_waits(); breaking.__enter__()")
    opened(peer, handle)
    if not waits:
        peer("breaking.__exit__(None, None, None)")
    peer("emulator.annotate(stream, y.ptr, 4096, write=False, what='consumer')")
    found = peer("[emulator.reports(), emulator.reset()][0]")
    assert len(found) == (not waits)
    peer("cu.cuStreamSynchronize(stream); del y; gc.collect()")
    cuda.cuCtxSynchronize()


def test_memory_that_comes_back_needs_no_wait(cuda, peer, streams):
    """The opener waits for its device before it lets the exporter use the memory again."""
    x = borrowed(cuda)
    opened(peer, ix.share(x))
    peer("emulator.annotate(stream, y.ptr, 4096, write=True, what='opener'); del y; gc.collect()")
    assert soon(lambda: all(not kept for kept in exporter.exporter()._kept.values()))
    cuda.emulator.annotate(streams[0], x.ptr, SIZE, write=True, what="exporter")
    cuda.cuCtxSynchronize()
    assert peer("[emulator.reports(), emulator.reset()][0]") == []


class Owner:
    """An owner of memory."""


@pytest.mark.parametrize("end", ["released", "ended", "killed"])
def test_memory_is_kept_for_its_openers(cuda, victim, end):
    """The exporter may drop it; the owner dies when the last opener has released it, or died."""
    alive = []
    owner = Owner()
    weakref.finalize(owner, alive.append, "gone")
    x = borrowed(cuda, owner)
    handle = ix.share(x)
    sent = pickle.dumps(handle)
    opened(victim, handle)
    del owner, x, handle
    gc.collect()
    assert alive == []
    victim("z = ix.open_shared(pickle.loads(h)); assert z.ptr == y.ptr; del z")
    if end == "killed":
        victim.kill()
    elif end == "ended":
        assert victim.close() == 0
    else:
        victim("del y; gc.collect()")
    assert soon(lambda: alive == ["gone"])
    assert rule_of(lambda: ix.open_shared(pickle.loads(sent))) == "IX-SHARE-4"


def test_memory_that_was_not_opened_is_released_at_once(cuda, peer):
    """A handle that was sent does not keep it; the handle object does."""
    x = on_device(np.arange(4))
    handle = ix.share(x)
    sent = pickle.dumps(handle)
    del x
    assert ix.open_shared(pickle.loads(sent)).to_device("cpu").tolist() == [0, 1, 2, 3]
    before = cuda.emulator.live()
    del handle
    gc.collect()
    assert cuda.emulator.live() != before
    peer.send(f"import pickle, interchange as ix; ix.open_shared(pickle.loads({sent!r}))")
    assert "[IX-SHARE-4]" in peer.process.stdout.readline()


def test_an_exporter_that_was_killed_is_reported(victim):
    """Its handle is refused, and what was open is closed without a crash."""
    victim(
        "import pickle, numpy as np, interchange as ix;"
        "x = ix.asarray(np.arange(5.0)).to_device('cuda:0'); x.to_device('cpu');"
        "h = ix.share(x)"
    )
    sent = victim("pickle.dumps(h)")
    y = ix.open_shared(pickle.loads(sent))
    assert y.to_device("cpu").tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    victim.kill()
    assert rule_of(lambda: ix.open_shared(pickle.loads(sent))) == "IX-SHARE-4"
    del y
    gc.collect()


def test_multiprocessing_sends_device_memory_without_a_copy(peer):
    """The memory is kept until the other process has opened it, and then by that process."""
    x = on_device(np.arange(4))
    pickled = bytes(ForkingPickler.dumps(x))
    del x
    gc.collect()
    peer("import pickle, gc, interchange as ix; y = pickle.loads(h)", h=pickled)
    assert exporter.exporter().wait_until_opened(10)
    assert peer("y.owner.__class__.__name__, y.to_device('cpu').tolist()")[1] == [0, 1, 2, 3]
    assert len(device_memory._exported) == 1
    peer("del y; gc.collect()")


def virtual_memory(cuda):
    """Return an address of virtual memory that other processes may open, and what frees it."""
    handle = cuda.cuMemCreate(GRAIN, properties(cuda), 0)
    address = mapped(cuda, handle)
    cuda.cuMemRelease(handle)
    return address, lambda: unmap(cuda, address)


def pooled_memory(cuda):
    """Return an address of memory of a pool that other processes may open, and what frees it."""
    pool = new_pool(cuda)
    stream = cuda.stream()
    address = int(cuda.cuMemAllocFromPoolAsync(GRAIN, pool, stream))

    def free():
        cuda.cuMemFreeAsync(address, stream)
        cuda.cuStreamSynchronize(stream)
        cuda.cuMemPoolDestroy(pool)

    return address, free


@pytest.mark.parametrize("make", [virtual_memory, pooled_memory])
def test_virtual_memory_and_pools_are_shared_by_descriptors(cuda, peer, make):
    """The descriptor is sent to each opener, and none is left on either side."""
    ix.share(b"first", copy=True)
    exporter.exporter()
    before = descriptors()
    address, free = make(cuda)
    cuda.cuCtxSynchronize()
    cuda.cuMemsetD8(address, 7, SIZE)
    cuda.cuCtxSynchronize()
    x = ix.from_pointer(address + 100, 50, "uint8", device="cuda:0", owner=Owner())
    handle = ix.share(x)
    assert ix.share(x[3:])._place.token == handle._place.token
    opened(peer, handle)
    assert peer("z = ix.open_shared(pickle.loads(h)); assert z.ptr == y.ptr; del z") is None
    assert peer("y.to_device('cpu').tolist()") == [7] * 50
    peer("cu.cuMemsetD8(y.ptr, 9, 1); cu.cuCtxSynchronize(); del y; gc.collect()")
    assert cuda.emulator.read(address + 99, 3) == b"\7\x09\7"
    del x, handle
    gc.collect()
    assert soon(lambda: not device_memory._exported)
    free()
    assert soon(lambda: descriptors() == before)


def test_other_kinds_of_memory_are_refused_or_copied(cuda):
    """Managed and page-locked memory, and memory of the default pool, have no handle."""
    managed = ix.from_pointer(int(cuda.cuMemAllocManaged(64, 1)), 64, "uint8", device=(13, 0))
    pinned = ix.from_pointer(cuda.host_buffer(64), 64, "uint8", device=(3, 0))
    for x in (managed, pinned):
        assert rule_of(lambda x=x: ix.share(x)) == "IX-SHARE-7"
        assert ix.open_shared(ix.share(x, copy=True)).device.type == 1
    cuda.cuMemFree(managed.ptr)
    cuda.cuMemFreeHost(pinned.ptr)
    stream = cuda.stream()
    pooled = ix.from_pointer(int(cuda.cuMemAllocAsync(64, stream)), 64, "uint8", device="cuda:0")
    unknown = ix.from_pointer(4096, 8, "uint8", device="cuda:0")
    for x in (pooled, unknown):
        assert rule_of(lambda x=x: ix.share(x)) == "IX-SHARE-7"
        assert rule_of(lambda x=x: ix.share(x, copy=True)) == "IX-SHARE-7"
    cuda.cuMemFreeAsync(pooled.ptr, stream)
    cuda.cuStreamSynchronize(stream)


def forged(handle, **changes):
    """Return a handle with other contents and a right checksum."""
    layout = Layout(changes.pop("shape", handle.shape), handle.strides)
    place = handle._place._replace(**changes)
    made = handles.make_handle(handle.dtype, handle.device, layout, place, readonly=False)
    return pickle.loads(pickle.dumps(made))


def test_forged_handles_are_refused(cuda):
    """Bounds, tokens and devices are compared before the driver is called."""
    x = borrowed(cuda)
    handle = ix.share(x)
    more = handle._place.more
    for change, rule in (
        ({"shape": (SIZE + 1,)}, "IX-SHARE-3"),
        ({"start": 1}, "IX-SHARE-3"),
        ({"more": more[:-1]}, "IX-SHARE-3"),
        ({"more": more[:44] + bytes(16) + more[60:]}, "IX-SHARE-7"),
        ({"token": bytes(16)}, "IX-SHARE-4"),
        ({"pid": os.getppid()}, "IX-SHARE-4"),
        ({"uid": 4711}, "IX-SHARE-5"),
    ):
        assert rule_of(lambda c=change: ix.open_shared(forged(handle, **c))) == rule, change


def test_sharing_often_keeps_nothing(cuda, peer):
    """One record and one event for an allocation, whatever the number of handles."""
    x = borrowed(cuda)
    opened(peer, ix.share(x))
    for _ in range(20):
        h = pickle.dumps(ix.share(x[3:]))
        peer("del z" if _ else "None")
        peer("z = ix.open_shared(pickle.loads(h), stream=stream)", h=h)
    (record,) = device_memory._exported.values()
    assert (len(record.events) <= 1, len(record.references) < 5) == (True, True)
    assert soon(lambda: len(exporter.exporter()._kept) == 1)
    peer("del y, z; gc.collect()")
