"""Rounds of sharing between two processes, which end in every order: prints the rounds that passed.

Arguments: the memory, how the processes start, the order of their ends, and the number of rounds.
"""

import mmap
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory

import interchange as ix

SIZE = 3 * mmap.PAGESIZE
FIRST = 100  # where the array starts [bytes]
SHAPE, STRIDES = (40, 3), (-200, 5)
ENDS = ("exporter", "opener", "exporter_killed", "opener_killed", "both_killed")


def mapped_file():
    with tempfile.TemporaryFile() as file:
        file.truncate(SIZE)
        return mmap.mmap(file.fileno(), SIZE)


def shared_memory():
    block = SharedMemory(create=True, size=SIZE)
    block.unlink()
    BLOCKS.append(block)
    return block.buf


def memfd():
    descriptor = os.memfd_create("test")
    os.ftruncate(descriptor, SIZE)
    block = mmap.mmap(descriptor, SIZE)
    os.close(descriptor)
    return block


BLOCKS = []
MEMORY = {"mmap": mapped_file, "shm": shared_memory, "memfd": memfd}


def values(seed):
    return [[(seed + 7 * i + j) % 251 for j in range(SHAPE[1])] for i in range(SHAPE[0])]


def export(receiver, sender, memory, seed):
    """Share an array, and do what the other end says."""
    view = memoryview(MEMORY[memory]())
    whole = ix.from_buffer(view)
    start = whole.ptr + FIRST + 39 * 200
    x = ix.from_pointer(start, SHAPE, "uint8", strides=STRIDES, owner=whole)
    for i, row in enumerate(values(seed)):
        for j, value in enumerate(row):
            view[FIRST + 39 * 200 - 200 * i + 5 * j] = value
    handle = ix.share(x)
    sender.send_bytes(pickle.dumps(handle))
    del handle, view, whole
    while receiver.recv_bytes() == b"read":
        sender.send_bytes(pickle.dumps(x.tolist()))


def use(receiver, sender):
    """Open a handle twice, write an element, and do what the other end says."""
    handle = pickle.loads(receiver.recv_bytes())
    x, again = ix.open_shared(handle), ix.open_shared(handle)
    assert x.ptr == again.ptr
    assert x.strides == STRIDES
    before = x.tolist()
    again[0, 0] = 252
    sender.send_bytes(pickle.dumps(before))
    while receiver.recv_bytes() == b"read":
        sender.send_bytes(pickle.dumps(x.tolist()))


ROLES = {"export": export, "use": use}


def start(how, role, *args):
    """Start a process: return functions that send, receive, kill, and wait."""
    if how == "unrelated":
        command = [sys.executable, __file__, role, *map(str, args)]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        to = Connection(os.dup(child.stdin.fileno()), readable=False)
        back = Connection(os.dup(child.stdout.fileno()), writable=False)
        child.stdin.close()
        child.stdout.close()
        return to, back, child.pid, child.wait
    context = get_context(how)
    (receiver, to), (back, sender) = context.Pipe(duplex=False), context.Pipe(duplex=False)
    child = context.Process(target=ROLES[role], args=(receiver, sender, *args), daemon=True)
    child.start()
    receiver.close()
    sender.close()
    return to, back, child.pid, lambda: (child.join(), child.exitcode, child.close())[1]


def expect(to, back, wanted):
    to.send_bytes(b"read")
    assert pickle.loads(back.recv_bytes()) == wanted


def end(one, how):
    to, back, pid, wait = one
    if how == "killed":
        os.kill(pid, signal.SIGKILL)
    else:
        to.send_bytes(b"exit")
    code = wait()
    assert code == (-signal.SIGKILL if how == "killed" else 0), code
    to.close()
    back.close()


def one_round(memory, how, order, seed):
    exporter = start(how, "export", memory, seed)
    opener = start(how, "use")
    handle = exporter[1].recv_bytes()
    opener[0].send_bytes(handle)
    assert pickle.loads(opener[1].recv_bytes()) == values(seed)
    written = values(seed)
    written[0][0] = 252
    first, way = (exporter, opener), order.partition("_")[2] or "exits"
    if order.startswith("opener"):
        first = (opener, exporter)
    end(first[0], way)
    if order != "both_killed":
        expect(*first[1][:2], written)
    if order.startswith("exporter"):
        refuse_dead(handle)
    end(first[1], way if order == "both_killed" else "exits")


def refuse_dead(handle):
    try:
        ix.open_shared(pickle.loads(handle))
    except ix.ExchangeError as error:
        rule = error.rule
    else:
        rule = "none"
    assert rule == "IX-SHARE-4"


def descriptors():
    return sorted(os.listdir("/proc/self/fd"))


def main(memory, how, orders, rounds):
    if how == "spawn":
        resource_tracker.ensure_running()
    passed = 0
    for order in ENDS if orders == "all" else orders.split(","):
        one_round(memory, how, order, 0)  # opens what is opened once
        before = descriptors()
        for seed in range(int(rounds)):
            one_round(memory, how, order, seed)
            passed += 1
        assert descriptors() == before, (before, descriptors())
    print(passed)


if __name__ == "__main__":
    if sys.argv[1] in ROLES:
        given = [int(each) if each.isdigit() else each for each in sys.argv[2:]]
        ROLES[sys.argv[1]](
            Connection(os.dup(0), writable=False), Connection(1, readable=False), *given
        )
    else:
        main(*sys.argv[1:])
