"""The race detector compared with a model on random programs, and the state that it discards."""

from __future__ import annotations

import ctypes

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from .programs import ON_DRIVER

pytestmark = pytest.mark.emulated

SIZE = 4096  # [bytes]
LEGACY, PER_THREAD = 1, 2


# ---------------------------------------------------------------- random programs

STREAMS = ("non-blocking", "non-blocking", "blocking", "blocking", "legacy", "per-thread")
EVENTS = 3
STEPS = st.one_of(
    st.tuples(
        st.sampled_from(["read", "write"]),
        st.integers(0, len(STREAMS) - 1),
        st.integers(0, 3),  # first byte
        st.integers(1, 4),  # length [bytes]
    ),
    st.tuples(
        st.sampled_from(["record", "wait"]),
        st.integers(0, len(STREAMS) - 1),
        st.integers(0, EVENTS - 1),
    ),
    st.tuples(st.just("synchronise"), st.integers(0, len(STREAMS) - 1)),
    st.tuples(st.just("synchronise event"), st.integers(0, EVENTS - 1)),
    st.tuples(st.just("replace"), st.integers(0, 3)),
)


class Model:
    """The order of accesses as sets, following the rules of the documentation directly."""

    def __init__(self):
        self.streams = [set() for _ in STREAMS]
        self.events = [set() for _ in range(EVENTS)]
        self.host, self.departed = set(), set()
        self.accesses = []
        self.races = 0

    def act(self, stream):
        """Enqueue an operation in a stream, and compute which operations precede it."""
        known = self.streams[stream]
        known |= self.host
        if STREAMS[stream] == "legacy":
            known |= self.departed
            known.update(*(self.streams[i] for i, kind in enumerate(STREAMS) if kind[0] != "n"))
        elif STREAMS[stream] != "non-blocking":
            known |= self.streams[STREAMS.index("legacy")]
        return known

    def touch(self, stream, start, length, *, write):
        """Access bytes, and count the accesses that race."""
        known, span = self.act(stream), set(range(start, start + length))
        for number, (theirs, writes) in enumerate(self.accesses):
            self.races += bool(theirs & span) and (write or writes) and number not in known
        known.add(len(self.accesses))
        self.accesses.append((span, write))

    def step(self, name, which, *rest):
        """Execute one step of a program."""
        if name in {"read", "write"}:
            self.touch(which, *rest, write=name == "write")
        elif name == "record":
            self.events[rest[0]] = set(self.act(which))
        elif name == "wait":
            self.act(which).update(self.events[rest[0]])
        elif name == "synchronise":
            self.host |= self.streams[which]
        elif name == "synchronise event":
            self.host |= self.events[which]
        else:
            if STREAMS[which] == "blocking":
                self.departed |= self.streams[which]
            self.streams[which] = set()


class Program:
    """The same steps on the driver."""

    def __init__(self, cuda, memory):
        self.cuda, self.memory = cuda, memory
        self.streams = [self.make(kind) for kind in STREAMS]
        self.events = [cuda.event() for _ in range(EVENTS)]

    def make(self, kind):
        """Return a stream of the given kind."""
        default = {"legacy": LEGACY, "per-thread": PER_THREAD}
        return default[kind] if kind in default else self.cuda.stream(blocking=kind == "blocking")

    def step(self, name, which, *rest):
        """Execute one step of a program."""
        cuda, streams, events = self.cuda, self.streams, self.events
        if name in {"read", "write"}:
            start, length = rest
            write = name == "write"
            cuda.emulator.annotate(streams[which], self.memory + start, length, write=write)
        elif name == "record":
            cuda.cuEventRecord(events[rest[0]], streams[which])
        elif name == "wait":
            cuda.cuStreamWaitEvent(streams[which], events[rest[0]], 0)
        elif name == "synchronise":
            cuda.cuStreamSynchronize(streams[which])
        elif name == "synchronise event":
            cuda.cuEventSynchronize(events[which])
        else:
            cuda.cuStreamDestroy(streams[which])
            streams[which] = self.make(STREAMS[which])

    def end(self):
        """Free all resources."""
        for stream in self.streams[:4]:
            self.cuda.cuStreamDestroy(stream)
        for event in self.events:
            self.cuda.cuEventDestroy(event)
        self.cuda.cuCtxSynchronize()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=30))
def test_a_program_is_reported_if_and_only_if_it_races(cuda, emulator, memory, steps):
    """Programs of six streams and three events give the same reports as a model of the rules."""
    model, program = Model(), Program(cuda, memory)
    for step in steps:
        model.step(*step)
        program.step(*step)
    found = len(emulator.reports())
    program.end()
    emulator.reset()

    assert (found > 0) == (model.races > 0)


# ---------------------------------------------------------------- discarded state


def test_addresses_that_were_freed_are_used_again_without_reports(run_isolated):
    """The history of a block is discarded when the block leaves quarantine."""
    out = run_isolated(REUSE, env={"EMUCUDA_QUARANTINE": "8192"})

    assert out.split() == ["again", "True", "reports", "0"]


REUSE = f"""{ON_DRIVER}
streams = [d.cuStreamCreate(1)[1] for _ in range(2)]
seen = set()
for turn in range(100):
    address = int(d.cuMemAlloc(4096)[1])
    again = address in seen
    seen.add(address)
    stream = streams[turn % 2]
    assert d.cuMemsetD8Async(address, turn, 4096, stream)[0] == 0
    assert d.cuMemFree(address)[0] == 0
print("again", again, "reports", len(emulator.reports()))
"""


def test_many_streams_that_were_destroyed_leave_no_clocks_behind(cuda, emulator, memory):
    """Slots of destroyed streams are reused once the host has seen their work end."""
    for value in range(200):
        stream = cuda.stream()
        cuda.cuMemsetD8Async(memory, value, SIZE, stream)
        cuda.cuStreamSynchronize(stream)
        cuda.cuStreamDestroy(stream)

    assert emulator.reports() == []


def test_a_host_function_may_tell_the_host(cuda, emulator, streams, memory, semaphore):
    """The start of a host function is equivalent to synchronising with all work before it."""
    a, b = streams
    cuda.cuMemsetD8Async(memory, 7, SIZE, a)
    cuda.host_function(a, semaphore.libc.sem_post, semaphore.address)
    semaphore.libc.sem_wait(ctypes.c_void_p(semaphore.address))
    cuda.cuMemsetD8Async(memory, 8, SIZE, b)

    assert emulator.reports() == []
