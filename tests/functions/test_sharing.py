"""Handles of host memory: which memory they name, what they keep, and what is refused."""

from __future__ import annotations

import copy
import gc
import mmap
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import interchange as ix
from interchange._protocols.sharing import handles, host_memory, mappings, processes
from interchange._protocols.sharing.registry import registry

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="handles are for Linux"
)
SIZE = 2 * mmap.PAGESIZE


def sent(handle):
    """Return a handle as another process receives it."""
    return pickle.loads(pickle.dumps(handle))


def refusal(function, *args, **keywords):
    """Return the rule of the error that a call raises."""
    with pytest.raises(ix.InterchangeError) as caught:
        function(*args, **keywords)
    return caught.value.rule


@pytest.fixture
def block():
    """Return the mapping of a memfd."""
    return mapped_memfd()


def mapped_memfd():
    """Return the mapping of a new memfd, which alone has a descriptor of it."""
    descriptor = os.memfd_create("test")
    try:
        os.ftruncate(descriptor, SIZE)
        return mmap.mmap(descriptor, SIZE)
    finally:
        os.close(descriptor)


def test_both_arrays_have_one_memory(block):
    """Writes of either side are seen by the other one."""
    x = ix.from_buffer(block, dtype="int32", shape=(4, 3))
    y = ix.open_shared(sent(ix.share(x)))
    assert (y.shape, y.strides, y.dtype, y.readonly) == (x.shape, x.strides, x.dtype, False)

    x[1, 2] = 5
    y[3, 0] = 7
    assert x.tolist() == y.tolist() == [[0, 0, 0], [0, 0, 5], [0, 0, 0], [7, 0, 0]]


@pytest.mark.parametrize(
    "key", [np.s_[1:3], np.s_[::-1, ::2], np.s_[2], np.s_[:, None, 1], np.s_[3:4, 2:3], np.s_[:0]]
)
def test_views_travel(block, key):
    """Shape, strides, offset and element type of a view are those of the memory shared."""
    whole = np.frombuffer(block, ">u2" if sys.byteorder == "big" else "<u2", 40).reshape(5, 8)
    whole[...] = np.arange(40).reshape(5, 8)
    x = whole[key]
    y = ix.open_shared(sent(ix.share(x)))
    assert y.tolist() == x.tolist()
    assert str(y.dtype) == "uint16"
    whole[...] += 1
    assert y.tolist() == x.tolist()


@pytest.mark.interop
def test_a_tensor_in_shared_memory_is_shared_as_it_is(need):
    """PyTorch's own shared memory, without torch.multiprocessing; other tensors are copied once."""
    need("torch")
    import torch

    x = torch.arange(6.0).share_memory_().reshape(2, 3)[:, 1:]
    y = torch.from_dlpack(ix.open_shared(sent(ix.share(x))))
    x[0, 0] = 7.0
    assert y.tolist() == [[7.0, 2.0], [4.0, 5.0]]
    assert refusal(ix.share, torch.ones(3)) == "IX-SHARE-2"
    handle = ix.share(torch.ones(3), copy=True)
    assert torch.from_dlpack(ix.open_shared(sent(handle))).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("readonly", [True, False, None])
def test_the_read_only_flag_travels(block, readonly):
    """Also when it is unknown; a read-only array is mapped read-only."""
    x = ix.from_buffer(block)
    x._flags = None if readonly is None else int(readonly)
    y = ix.open_shared(sent(ix.share(x)))
    assert y.readonly is readonly
    mapped = mappings.mapping_of(y.ptr, y.ptr + 1)
    assert mapped.is_writable is not readonly


def test_memory_mapped_for_reading_is_read_only(tmp_path):
    """A file that is mapped for reading is shared as read-only memory."""
    np.arange(6, dtype="int16").tofile(tmp_path / "data")
    x = np.memmap(tmp_path / "data", "int16", mode="r")
    y = ix.open_shared(sent(ix.share(x)))
    assert (y.readonly, y.tolist()) == (True, [0, 1, 2, 3, 4, 5])


def test_two_openings_are_one_mapping(block):
    """Also those of two handles, and of several threads; it is unmapped with the last array."""
    x = ix.from_buffer(block)
    shared = [sent(ix.share(x)), sent(ix.share(x[5:]))]
    found = []
    threads = [
        threading.Thread(target=lambda i=i: found.append(ix.open_shared(shared[i % 2])))
        for i in range(8)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    starts = {y.ptr - 5 * (len(y) != SIZE) for y in found}
    assert len(starts) == 1
    (start,) = starts
    found.clear()
    gone = mappings.mapping_of(start, start + 1)
    assert gone is None or gone.inode != mappings.mapping_of(x.ptr, x.ptr + 1).inode


def test_other_memory_is_refused_or_copied_once():
    """Memory of the process alone, private and anonymous mappings are refused without a copy."""
    with open(__file__, "rb") as file:
        private = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE)
    for x in (np.arange(4), b"bytes", private, mmap.mmap(-1, 8), ix.from_buffer(bytearray(3))):
        assert refusal(ix.share, x) == "IX-SHARE-2"
        assert refusal(ix.share, x, copy=False) == "IX-SHARE-2"
        handle = ix.share(x, copy=True)
        y = ix.open_shared(sent(handle))
        assert (y.tolist(), y.readonly) == (ix.asarray(x).tolist(), ix.asarray(x).readonly)


def test_a_copy_keeps_order_and_length():
    """A copy is in the order of its source, of mode 0600, and cannot be cut."""
    handle = ix.share(np.arange(6.0).reshape(2, 3).T, copy=True)
    assert (handle.shape, handle.strides) == ((3, 2), (1, 3))
    file = f"/proc/self/fd/{handle._place.descriptor}"
    assert os.stat(file).st_mode & 0o777 == 0o600
    with open(file, "r+b") as opened, pytest.raises(PermissionError):
        opened.truncate(0)


def test_memory_that_can_be_shared_is_not_copied(block):
    """`copy=True` allows a copy; it does not ask for one."""
    x = ix.from_buffer(block)
    assert ix.share(x, copy=True) == ix.share(x)


@pytest.mark.parametrize("kept", ["array", "view", "block", "handle"])
def test_a_handle_opens_as_long_as_its_memory_lives(kept):
    """The array, its owner or the handle is enough, and nothing else."""
    block = mapped_memfd()
    view = ix.from_buffer(block)[3:8]
    handle = ix.share(view)
    other = sent(handle)
    keep = {"array": view, "view": np.asarray(view), "block": block, "handle": handle}[kept]
    del block, view, handle
    gc.collect()
    assert ix.open_shared(other).size == 5
    del keep


def test_memory_that_was_let_go_is_refused():
    """When the array, its owners and the handle are gone, the descriptor is closed."""
    x = ix.from_buffer(mapped_memfd())
    handle = ix.share(x)
    other = sent(handle)
    y = ix.open_shared(other)
    del x, handle
    gc.collect()
    assert refusal(ix.open_shared, other) == "IX-SHARE-4"
    y[0] = 3
    assert y[0].item() == 3


def test_handles_are_values():
    """They compare, hash, print and copy; what they state can be read."""
    handle = ix.share(np.ones((2, 2)), copy=True)
    assert sent(handle) == handle == copy.copy(handle)
    assert len({handle, sent(handle)}) == 1
    assert handle != ix.share(np.ones((2, 2)), copy=True)
    assert (handle != 3, handle.nbytes, handle.pid) == (True, 32, os.getpid())
    assert repr(handle).startswith("SharedHandle((2, 2), float64, device='cpu', readonly=False")
    assert len(pickle.dumps(handle)) < 400
    with pytest.raises(TypeError, match="share"):
        ix.SharedHandle()


def test_a_child_of_the_exporter_opens():
    """A forked child opens, closes the descriptors of the registry, and shares on its own."""
    program = """
import os, pickle
import interchange as ix
handle = ix.share(b"abc", copy=True)
there, here = os.pipe()
if not os.fork():
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    links = [os.readlink(link) for link in links if os.path.lexists(link)]
    assert not any("interchange" in link for link in links), links
    y = ix.open_shared(handle)
    mine = ix.share(y)
    assert mine.pid == os.getpid() != handle.pid
    print(ix.open_shared(pickle.loads(pickle.dumps(mine))).tolist())
    del handle
    raise SystemExit
os.wait()
print(ix.open_shared(handle).tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.stdout.split(b"\n"), done.stderr) == ([b"[97, 98, 99]"] * 2 + [b""], b"")


def test_a_child_that_was_forked_while_a_thread_opens_memory_opens_it():
    """It does not wait for the thread, which only the parent has."""
    program = """
import os, threading
import interchange as ix
from interchange._protocols.sharing import host_memory
handle = ix.share(b"abc", copy=True)
held, done = threading.Event(), threading.Event()
def hold():
    with host_memory._opening.lock:
        held.set()
        done.wait()
threading.Thread(target=hold).start()
held.wait()
if not os.fork():
    print(ix.open_shared(handle).tolist(), flush=True)
    os._exit(0)
os.wait()
done.set()
"""
    command = [sys.executable, "-W", "ignore", "-c", program]  # CPython warns of forks with threads
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == (b"[97, 98, 99]\n", b"")


# ---------------------------------------------------------------- bad handles


def forged(handle, **changes):
    """Return a handle with other contents and a right checksum."""
    layout = ix._types.layout.Layout(
        changes.pop("shape", handle.shape), changes.pop("strides", handle.strides)
    )
    place = handle._place._replace(**changes)
    made = handles.make_handle(handle.dtype, handle.device, layout, place, readonly=handle.readonly)
    return sent(made)


def test_damaged_bytes_are_refused():
    """No byte of a handle may change, and none may be missing."""
    payload = ix.share(b"abc", copy=True)._payload
    for i in range(len(payload)):
        damaged = payload[:i] + bytes([payload[i] ^ 1 << i % 8]) + payload[i + 1 :]
        assert refusal(handles.rebuild_handle, damaged) == "IX-SHARE-3"
        assert refusal(handles.rebuild_handle, payload[:i]) == "IX-SHARE-3"
    assert refusal(handles.rebuild_handle, payload + b"0") == "IX-SHARE-3"
    assert refusal(handles.rebuild_handle, "text") == "IX-SHARE-3"
    assert handles.rebuild_handle(payload)._payload == payload


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"token": bytes(16)}, "IX-SHARE-4"),
        ({"slot": 10**6}, "IX-SHARE-4"),
        ({"descriptor": 2}, "IX-SHARE-4"),
        ({"descriptor": 10**6}, "IX-SHARE-4"),
        ({"inode": 1}, "IX-SHARE-4"),
        ({"registry": 0}, "IX-SHARE-4"),
        ({"pid": 2**22 + 1}, "IX-SHARE-4"),
        ({"host": bytes(16)}, "IX-SHARE-5"),
        ({"uid": 12345}, "IX-SHARE-5"),
        ({"start": 1}, "IX-SHARE-6"),
        ({"start": 2**63}, "IX-SHARE-6"),
        ({"shape": (2**40,)}, "IX-SHARE-6"),
        ({"strides": (2**50,)}, "IX-SHARE-6"),
        ({"strides": (-1,)}, "IX-SHARE-3"),
        ({"kind": handles.NO_MEMORY}, "IX-SHARE-3"),
    ],
)
def test_forged_handles_are_refused(change, rule):
    """The checksum is right, and what the handle states is not what the exporter shares."""
    handle = ix.share(bytes(64), copy=True)
    assert refusal(ix.open_shared, forged(handle, **change)) == rule


def test_the_id_of_a_process_that_was_used_again(block):
    """A live process with the exporter's id is not taken for the exporter."""
    handle = ix.share(ix.from_buffer(block))
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert refusal(ix.open_shared, forged(handle, pid=other.pid)) == "IX-SHARE-4"
    finally:
        other.communicate(b"\n")


def test_a_descriptor_that_was_used_again():
    """A descriptor of the same number with another file behind it is not opened."""
    handle = sent(ix.share(b"abc", copy=True))
    descriptor = os.memfd_create("other")
    if descriptor != handle._place.descriptor:
        os.dup2(descriptor, handle._place.descriptor)
        os.close(descriptor)
    try:
        assert refusal(ix.open_shared, handle) == "IX-SHARE-4"
    finally:
        os.close(handle._place.descriptor)
    assert registry().find(handle._place.device, handle._place.inode) is None


def test_a_file_that_was_cut_is_refused(tmp_path):
    """Before it is shared, and between sharing and opening."""
    path = tmp_path / "data"
    path.write_bytes(bytes(SIZE))
    x = np.memmap(path, "u1", mode="r+")
    handle = sent(ix.share(x))
    os.truncate(path, SIZE // 2)
    assert refusal(ix.open_shared, handle) == "IX-SHARE-6"
    assert refusal(ix.share, x) == "IX-SHARE-6"
    os.truncate(path, SIZE)
    assert ix.open_shared(handle).size == SIZE


def test_a_file_that_was_cut_after_it_was_opened_is_refused(tmp_path):
    """A mapping that exists already is not used without looking at the file."""
    path = tmp_path / "data"
    path.write_bytes(bytes(SIZE))
    x = np.memmap(path, "u1", mode="r+")
    handle = sent(ix.share(x))
    kept = ix.open_shared(handle)
    os.truncate(path, 10)
    assert refusal(ix.open_shared, handle) == "IX-SHARE-6"
    del kept


def test_a_file_that_was_replaced_is_told_apart(tmp_path):
    """The memory is that of the old file, whatever has its name now."""
    path = tmp_path / "data"
    path.write_bytes(b"old!")
    x = np.memmap(path, "u1", mode="r+")
    (tmp_path / "new").write_bytes(b"new!")
    os.replace(tmp_path / "new", path)
    assert bytes(ix.open_shared(sent(ix.share(x))).tolist()) == b"old!"


def test_a_mapping_without_a_descriptor_is_found_by_its_name_only_while_that_is_right(tmp_path):
    """A file of the same name that is another one is not taken for it."""
    import ctypes

    path = tmp_path / "data"
    path.write_bytes(b"old!")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    with open(path, "r+b") as file:
        at = libc.mmap(None, ctypes.c_size_t(4), 3, 1, file.fileno(), ctypes.c_long(0))
    try:
        x = ix.from_pointer(at, 4, "uint8")
        handle = ix.share(x)
        assert bytes(ix.open_shared(sent(handle)).tolist()) == b"old!"
        del handle
        path.unlink()
        path.write_bytes(b"new!")
        fresh = ix.from_pointer(at, 4, "uint8")
        del x
        assert refusal(ix.share, fresh) == "IX-SHARE-2"
    finally:
        libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(4))


def test_another_user_is_refused(monkeypatch):
    """The handle names the user; the kernel refuses the rest."""
    handle = sent(ix.share(b"abc", copy=True))
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert refusal(ix.open_shared, handle) == "IX-SHARE-5"
    monkeypatch.undo()

    def refuse(*_args, **_keywords):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(host_memory, "open_file", refuse)
    keep = ix.share(b"abc", copy=True)
    assert refusal(ix.open_shared, sent(keep)) == "IX-SHARE-5"


def test_another_platform_is_refused(monkeypatch):
    """Without /proc, nothing is shared."""
    handle = ix.share(b"abc", copy=True)
    monkeypatch.setattr(processes.sys, "platform", "darwin")
    assert refusal(ix.share, b"abc", copy=True) == "IX-SHARE-1"
    assert refusal(ix.open_shared, handle) == "IX-SHARE-1"


def test_what_is_no_handle_or_stream_is_refused():
    """Arguments are checked."""
    assert refusal(ix.open_shared, b"bytes") == "IX-ARGUMENT-1"
    handle = ix.share(b"abc", copy=True)
    assert refusal(ix.open_shared, handle, stream="none") == "DLP-STREAM-4"
    assert refusal(ix.share, np.ones(1), copy="yes") == "DLP-COPY-3"


def test_older_kernels_are_read_as_text(block, monkeypatch):
    """The text of the mappings says the same as the query."""
    asked = ix.from_buffer(block)
    first, last = asked.ptr, asked.ptr + asked.nbytes
    quick = mappings.mapping_of(first, last)

    def refuse(*_args):
        raise OSError(25, "Inappropriate ioctl for device")

    monkeypatch.setattr(mappings, "_query", refuse)
    assert mappings.mapping_of(first, last) == quick
    assert mappings.mapping_of(1, 2) is None


def test_sharing_often_keeps_nothing(block):
    """Neither descriptors nor references nor entries of the registry grow in number."""

    def share_often(times):
        for _ in range(times):
            ix.open_shared(sent(ix.share(x[3:])))
            ix.share(b"other", copy=True)
            handle = ix.share(ix.from_buffer(mapped_memfd()))
            ix.open_shared(sent(handle))

    x = ix.from_buffer(block)
    share_often(1)
    inode = mappings.mapping_of(x.ptr, x.ptr + 1).inode
    (shared,) = (one for one in registry()._shared.values() if one.inode == inode)

    def counts():
        gc.collect()
        known = registry()
        lists = len(known._shared), len(known._free), len(shared.references)
        return *lists, len(os.listdir("/proc/self/fd")), len(host_memory._mappings)

    before = counts()
    share_often(100)
    assert counts() == before
