"""Arrays sent by multiprocessing and Dask to processes of the same host."""

from __future__ import annotations

import gc
import mmap
import os
import pickle
import socket
import sys
import time
from multiprocessing import get_context
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest

import interchange as ix
from interchange._functions import dask, sent_arrays
from interchange._protocols.sharing import exporter
from interchange._protocols.sharing.registry import registry

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="handles are for Linux"
)
LARGE = 1 << 20  # [bytes]


@pytest.fixture(autouse=True)
def _all_is_released():
    """After each test nothing is kept for openers, and the default holds."""
    yield
    ix.shared_by_default(True)
    gc.collect()
    assert exporter.exporter().wait_until_opened(5)


def shared_array():
    """Return an Array in shared memory."""
    descriptor = os.memfd_create("test")
    os.ftruncate(descriptor, 64)
    array = ix.from_buffer(mmap.mmap(descriptor, 64))
    os.close(descriptor)
    return array


def sent(array):
    """Return an Array as another process of multiprocessing receives it."""
    return ForkingPickler.loads(ForkingPickler.dumps(array))


def test_shared_memory_is_sent_without_a_copy():
    """Whatever its size, both arrays have one memory."""
    x = shared_array()
    y = sent(x[3:9])
    y[0] = 7
    assert (x[3].item(), y.shape, y.readonly) == (7, (6,), False)


@pytest.mark.parametrize("order", ["C", "F"])
def test_large_memory_is_copied_once(order):
    """Ordinary memory of 1 MiB or more is copied into a file, smaller one is pickled."""
    large = np.asarray(np.arange(LARGE // 4).reshape(2, 2, -1), "float32", order=order)
    found = sent(ix.asarray(large))
    assert isinstance(found.owner, mmap.mmap)
    assert np.array_equal(np.asarray(found), large)
    assert not isinstance(sent(ix.asarray(np.arange(9.0))).owner, mmap.mmap)
    read_only = ix.from_buffer(bytes(LARGE))
    assert (sent(read_only).readonly, len(ForkingPickler.dumps(ix.asarray(b"")))) < (True, 400)


def test_it_can_be_switched_off():
    """Then the elements are sent, and the memory is another one."""
    ix.shared_by_default(False)
    x = shared_array()
    y = sent(x)
    y[0] = 7
    assert x[0].item() == 0
    with pytest.raises(ix.ArgumentError, match="IX-ARGUMENT-1"):
        ix.shared_by_default("off")


def test_ordinary_pickles_have_the_elements():
    """A file of pickles can be loaded when the process has ended."""
    assert len(pickle.dumps(ix.from_buffer(bytes(LARGE)))) > LARGE


def test_memory_that_was_sent_is_kept_until_it_was_opened():
    """The sender may drop the array, and nothing is kept afterwards."""
    pickled = ForkingPickler.dumps(shared_array())
    gc.collect()
    known = len(registry()._shared)
    assert not exporter.exporter().wait_until_opened(0)
    y = ForkingPickler.loads(pickled)
    assert exporter.exporter().wait_until_opened(5)
    deadline = time.monotonic() + 5
    while len(registry()._shared) == known and time.monotonic() < deadline:
        time.sleep(0.001)
    assert len(registry()._shared) == known - 1
    assert y.shape == (64,)
    with pytest.raises(ix.ExchangeError, match="IX-SHARE-4"):
        ForkingPickler.loads(pickled)


def put_and_exit(queue):
    """Send an array, and end at once."""
    queue.put(ix.asarray(np.arange(LARGE, dtype="u1")))


def take_and_answer(queue, answers):
    """Change what is received, and send it back."""
    received = queue.get()
    received[1] = 9
    answers.put(received)


@pytest.mark.isolated
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # from CPython 3.12 on
def test_queues_of_forked_processes():
    """An array crosses two queues as one memory, and outlives the process that sent it."""
    context = get_context("fork")
    there, back = context.Queue(), context.Queue()
    for target, args in ((take_and_answer, (there, back)), (put_and_exit, (back,))):
        process = context.Process(target=target, args=args, daemon=True)
        process.start()
        if target is take_and_answer:
            x = shared_array()
            there.put(x)
        found = back.get(timeout=60)
        process.join(60)
        assert process.exitcode == 0
        if target is take_and_answer:
            assert (x[1].item(), found[1].item()) == (9, 9)
            x[2] = 8
            assert found[2].item() == 8
    assert (found.shape, found[200].item()) == ((LARGE,), 200)
    for queue in (there, back):
        queue.close()
        queue.join_thread()


def test_malformed_requests_are_not_answered():
    """Wrong letters, tokens and lengths close the connection; the exporter goes on."""
    end = exporter.exporter()
    for request in (b"?", b"T", b"O", b"T" + bytes(16), b"O" + bytes(16), bytes(200)):
        with exporter.connect(end.name, os.getpid()) as peer:
            peer.send(request)
            assert peer.recv(9) in {b"", b"0"}
    assert sent(shared_array()).shape == (64,)


def test_a_socket_of_another_process_is_refused():
    """The kernel says which process answers."""
    with pytest.raises(ConnectionRefusedError):
        exporter.connect(exporter.exporter().name, os.getpid() + 1)
    with pytest.raises(OSError, match="refused"):
        exporter.connect("interchange-nothing", os.getpid())


def test_another_user_is_not_answered(monkeypatch):
    """A connection of another user is closed."""
    end = exporter.exporter()
    real = exporter.credentials_of
    monkeypatch.setattr(exporter, "credentials_of", lambda peer: (real(peer)[0], 4711))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.settimeout(10)
        peer.connect(f"\0{end.name}")
        assert peer.recv(9) == b""


# ---------------------------------------------------------------- Dask


def ends(sender, recipient):
    """Return the context that distributed passes to serializers."""
    return {"sender": {"address": sender}, "recipient": {"address": recipient}}


HERE = ends("tcp://127.0.0.1:40001", "tcp://127.0.0.1:40002")


def test_dask_sends_handles_within_a_host():
    """Between addresses of the loopback interface the frames are empty."""
    pytest.importorskip("distributed")
    x = shared_array()
    header, frames = dask.to_frames(x, HERE)
    assert frames == []
    y = dask.from_frames(pickle.loads(pickle.dumps(header)), frames)
    y[0] = 7
    assert x[0].item() == 7


@pytest.mark.parametrize(
    "context",
    [
        None,
        {},
        ends("tcp://10.0.0.1:1", "tcp://10.0.0.1:2"),
        ends("tcp://127.0.0.1:1", "tcp://10.0.0.1:2"),
        ends("tcp://127.0.0.1:1", "tcp://127.0.0.1:8786"),
        ends("inproc://1", "inproc://2"),
    ],
)
def test_dask_sends_elements_elsewhere(context, monkeypatch):
    """To other hosts, to the scheduler, and where the addresses are not known."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(dask, "_schedulers", lambda: {"tcp://127.0.0.1:8786"})
    _, frames = dask.to_frames(shared_array(), context)
    assert [frame.nbytes for frame in frames] == [64]


def test_memory_without_a_file_is_not_sent_as_a_handle():
    """Neither empty arrays, nor small ones in ordinary memory."""
    assert sent_arrays.send(ix.asarray(np.ones(0))) is None
    assert sent_arrays.send(ix.asarray(np.ones(3))) is None
