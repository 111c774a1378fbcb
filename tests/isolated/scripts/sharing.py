"""Rounds of sharing between two processes, which end in every order: prints what was found.

Arguments: the memory, how the processes start, the orders of their ends, the number of rounds, and
the number of the first.  The output is JSON: rounds, crashes, leaks, and what the failures said.
"""

import contextlib
import gc
import importlib
import json
import os
import pickle
import random
import signal
import sys
import time
from importlib.util import find_spec
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection

import sharing_processes
from sharing_memory import DEVICE, LEAKED, STRIDES, Resources, descriptors, in_shared_memory, values
from sharing_processes import LIVING

import interchange as ix

ENDS = (
    "exporter",
    "opener",
    "both",
    "exporter_killed",
    "opener_killed",
    "both_killed",
    "any_killed",
)
"""Who ends first, and whether by SIGKILL; "any_killed": one or both at any time."""
REFUSED, ALONE = 41, 42
"""Exit codes of an opener whose handle was refused with IX-SHARE-4, or that received none."""
DRIVER_MODULES = (
    "cuda.bindings.driver",
    "interchange_conformance.emucuda",
    "interchange._array.device_copies",
    "interchange._array.memcpy_plan",
    "interchange._streams.cuda",
    "interchange._streams.interprocess",
    "interchange._protocols.sharing.device_memory",
)
KILLED = -signal.SIGKILL


# ---------------------------------------------------------------- the two processes


def export(receiver, sender, memory, seed):
    """Share an array, and do what the other end says."""
    held = Resources(memory)
    x, free = held.make(seed)
    handle = held.share(x)
    sender.send_bytes(pickle.dumps(handle))
    owner = x if memory not in ("managed", "pinned") else handle
    while (said := receiver.recv_bytes()) == b"read":
        seen = ix.open_shared(handle)
        sender.send_bytes(pickle.dumps(seen.to_device("cpu").tolist()))
        del seen
    if said == b"release":
        del x, handle, owner
        gc.collect()
        wait_for_openers()
        if free is not None:
            free()
        held.check_released()


def wait_for_openers():
    """Wait until no device memory is kept for others."""
    from interchange._protocols.sharing import device_memory

    deadline = time.monotonic() + 10
    while device_memory._exported and time.monotonic() < deadline:
        time.sleep(0.001)
    if device_memory._exported:
        print("memory is kept for an opener that has gone", file=sys.stderr)
        sys.exit(LEAKED)


def use(receiver, sender, memory):
    """Open a handle twice, write an element, and do what the other end says."""
    held = Resources(memory)
    sent = receiver.recv_bytes()
    if sent == b"exit":
        sys.exit(ALONE)
    handle = pickle.loads(sent)
    try:
        x, again = ix.open_shared(handle), ix.open_shared(handle)
    except ix.ExchangeError as error:
        sys.exit(REFUSED if error.rule == "IX-SHARE-4" else str(error))
    assert x.ptr == again.ptr
    assert x.strides == STRIDES or memory in ("managed", "pinned")
    before = x.to_device("cpu").tolist()
    ix.copyto(again[:1, :1], b"\xfc")
    again.to_device("cpu")  # also waits for the copy
    sender.send_bytes(pickle.dumps(before))
    while receiver.recv_bytes() == b"read":
        sender.send_bytes(pickle.dumps(x.to_device("cpu").tolist()))
    del x, again
    held.check_released()


ROLES = {"export": export, "use": use}


# ---------------------------------------------------------------- rounds


def end(child, how, said=b"exit"):
    """Let a process end, or kill it."""
    if how == "killed":
        child.kill()
    else:
        child.send(said)


def expect_end(child, how):
    code = child.wait()
    if code == LEAKED:
        raise LeakError("a process holds more than before")
    assert code == (KILLED if how == "killed" else 0), f"ended with {code}"


class LeakError(Exception):
    """A process has not released all that it held."""


def one_round(start, memory, order, seed):
    """Let two processes share memory; the first one ends, or both."""
    exporter = start(ROLES, "export", memory, seed)
    opener = start(ROLES, "use", memory)
    if order == "any_killed":
        kill_at_any_time(exporter, opener, seed)
        return
    handle = exporter.receive()
    opener.send(handle)
    assert pickle.loads(opener.receive()) == values(seed), "other data"
    who, _, how = order.partition("_")
    if who == "both":
        for each in (exporter, opener):
            end(each, how)
        for each in (exporter, opener):
            expect_end(each, how)
        return
    first, second = (exporter, opener) if who == "exporter" else (opener, exporter)
    end(first, how)
    expect_end(first, how)
    written = values(seed)
    written[0][0] = 252
    second.send(b"read")
    assert pickle.loads(second.receive()) == written, "other data"
    if who == "exporter" and memory not in DEVICE:
        refuse_dead(handle)
    end(second, "", b"exit" if second is opener else b"release")
    expect_end(second, "")


def refuse_dead(handle):
    """Fail unless a handle is refused, because its exporter has ended."""
    try:
        ix.open_shared(pickle.loads(handle))
    except ix.ExchangeError as error:
        rule = error.rule
    else:
        rule = "none"
    assert rule == "IX-SHARE-4", f"refused with {rule}"


def kill_at_any_time(exporter, opener, seed):
    """Kill one or both processes, wherever they are."""
    chance = random.Random(seed)  # noqa: S311 - the same every time
    victims = chance.choice([(exporter,), (opener,), (exporter, opener)])
    if chance.random() < 0.75:
        opener.send(exporter.receive())
    time.sleep(chance.random() * 0.01)
    for each in victims:
        each.kill()
    if exporter not in victims:
        end(exporter, "")
    expected = {0, KILLED, REFUSED, ALONE}
    code = exporter.wait()
    assert code in {0, KILLED}, f"the exporter ended with {code}"
    if opener not in victims:
        with contextlib.suppress(BrokenPipeError):
            opener.to.send_bytes(b"exit")
    code = opener.wait()
    assert code in expected, f"the opener ended with {code}"


def clear():
    """Kill what a failed round left."""
    for each in list(LIVING):
        with contextlib.suppress(OSError):
            each.kill()
        each.wait()


def run_cell(memory, start, order, seeds):
    """Return what was found in the rounds of one cell."""
    found = {"rounds": 0, "crashes": 0, "leaks": 0, "said": []}
    one_round(start, memory, order, 0)  # opens what is opened once
    before = descriptors(), in_shared_memory()
    for seed in seeds:
        try:
            one_round(start, memory, order, seed)
        except (AssertionError, LeakError, OSError, EOFError) as error:
            found["leaks" if isinstance(error, LeakError) else "crashes"] += 1
            found["said"].append(f"seed {seed}: {error!r}")
            clear()
        found["rounds"] += 1
    after = descriptors(), in_shared_memory()
    if after != before:
        found["leaks"] += 1
        found["said"].append(f"{before} before, {after} after")
    return found


def preload(memory):
    """Import what the processes need, so that those that are forked do not have to."""
    if memory in DEVICE:
        for name in DRIVER_MODULES:
            importlib.import_module(name)
        from interchange_conformance.emucuda import build

        build()
    held = Resources("memfd")
    x, _ = held.make(0)
    ix.open_shared(pickle.loads(pickle.dumps(ix.share(x)))).to_device("cpu").tolist()
    del x
    held.check_released()
    gc.collect()
    gc.freeze()


def main(memory, way, orders, rounds, first="0"):
    preload(memory)
    if way == "spawn":
        resource_tracker.ensure_running()
    seeds = range(int(first), int(first) + int(rounds))
    start = sharing_processes.WAYS[way]()
    cells = {
        order: run_cell(memory, start, order, seeds)
        for order in (ENDS if orders == "all" else orders.split(","))
    }
    if hasattr(start, "close"):
        start.close()
    print(json.dumps(cells))


if __name__ == "__main__":
    if sys.argv[1] == "template":
        preload("cuMalloc" if find_spec("cuda") else "memfd")
        sharing_processes.serve(ROLES, int(sys.argv[2]))
    elif sys.argv[1] in ROLES:
        given = [int(each) if each.isdigit() else each for each in sys.argv[2:]]
        pipes = Connection(os.dup(0), writable=False), Connection(1, readable=False)
        ROLES[sys.argv[1]](*pipes, *given)
    else:
        main(*sys.argv[1:])
