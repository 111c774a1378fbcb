"""The zoo's producer of device memory: valid streams, waits and copies."""

from __future__ import annotations

import textwrap

import pytest

from interchange_conformance.driver.cuda import environment
from interchange_conformance.probes.opened_capsule import OpenedCapsule
from interchange_conformance.zoo import ELEMENTS, Memory
from interchange_conformance.zoo.on_device import Block, OnDevice

CUDA, PINNED, ROCM, MANAGED = 2, 3, 10, 13


@pytest.fixture
def somewhere():
    """Return a function that makes a producer of host memory with another device, without order."""

    def make(kind):
        memory = Memory(6, ELEMENTS["float32"])
        return OnDevice(Block((kind, 0), memory.address, memory), (2, 3), "float32")

    return make


@pytest.mark.parametrize(
    ("kind", "streams"),
    [
        (CUDA, (None, -1, 1, 2, 3, 2**64 - 1)),
        (MANAGED, (None, -1, 1, 2, 3)),
        (ROCM, (None, -1, 0, 3)),
        (PINNED, (None,)),
    ],
)
def test_legal_streams_are_taken(somewhere, kind, streams):
    """The valid streams depend on the device type."""
    x = somewhere(kind)

    opened = [OpenedCapsule(x.__dlpack__(stream=stream, max_version=(1, 3))) for stream in streams]

    assert {one.device for one in opened} == {(kind, 0)}
    assert {one.first for one in opened} == {x.block.address}


REFUSED = {
    ValueError: [
        *((kind, {"stream": stream}) for kind in (CUDA, MANAGED) for stream in (0, -2, 2**64)),
        *((ROCM, {"stream": stream}) for stream in (1, 2, -2, 2**64)),
        *((PINNED, {"stream": stream}) for stream in (-1, 0, 1)),
    ],
    TypeError: [(CUDA, {"stream": stream}) for stream in ("1", 1.0, True, (1,))],
    BufferError: [(CUDA, {"dl_device": (8, 0)})],
}
"""Error -> types of devices, and what they refuse by it."""
WORDS = {ValueError: "stream=", TypeError: "is no int", BufferError: r"\(8, 0\).*\(2, 0\)"}


@pytest.mark.parametrize(
    ("error", "kind", "asked"), [(error, *one) for error, rows in REFUSED.items() for one in rows]
)
def test_what_is_no_stream_or_device_is_refused(somewhere, error, kind, asked):
    """The error names the number, the type (a bool is no int), or both devices."""
    with pytest.raises(error, match=WORDS[error]) as caught:
        somewhere(kind).__dlpack__(**asked)

    assert error is not ValueError or f"stream={asked['stream']}" in str(caught.value)


def test_requests_are_logged(somewhere):
    """The log has the order and the keywords."""
    x = somewhere(CUDA)
    x.__dlpack_device__()
    x.__dlpack__(stream=1)

    assert [(call.method, call.keywords) for call in x.log] == [
        ("__dlpack_device__", {}),
        ("__dlpack__", {"stream": 1}),
    ]


@pytest.mark.parametrize("asked", [None, (0, 8), (1, 0), (1, 3)])
def test_the_struct_is_as_new_as_was_asked(somewhere, asked):
    """It is versioned from 1.0 on."""
    opened = OpenedCapsule(somewhere(CUDA).__dlpack__(max_version=asked))

    assert opened.versioned == (asked is not None and asked >= (1, 0))


BEGIN = """
from interchange_conformance.driver import cuda as kit
from interchange_conformance.probes.opened_capsule import OpenedCapsule
from interchange_conformance.probes.pending_work import PendingWork
from interchange_conformance.zoo.on_device import OnDevice, place
cuda = kit.driver()

def make(kind="cuda", stream=None):
    block, numbers = place(cuda, kind, (2, 3), "float32")
    return OnDevice(block, (2, 3), "float32", stream=stream, cuda=cuda)
"""


@pytest.fixture
def on_device(run_isolated, cuda_driver):
    """Return a function that runs a program on the chosen driver."""

    def run(program):
        return run_isolated(BEGIN + textwrap.dedent(program), env=environment(cuda_driver)).split()

    return run


@pytest.mark.emulated
@pytest.mark.gpu
def test_the_host_gets_a_copy_of_device_memory_and_the_rest_as_it_is(on_device):
    """A copy has the flag, and the values are the expected ones."""
    printed = on_device(
        """
        import struct
        for kind in ("cuda", "managed", "pinned"):
            x = make(kind)
            opened = OpenedCapsule(x.__dlpack__(dl_device=(1, 0), max_version=(1, 3)))
            numbers = [int(struct.unpack("f", one)[0]) for one in opened.read()]
            print(opened.device[0], opened.copied, opened.first == x.block.address, *numbers)
        """
    )

    numbers = ["0", "1", "2", "3", "4", "5"]
    assert printed == [
        *("1", "True", "False", *numbers),
        *("1", "False", "True", *numbers),
        *("1", "False", "True", *numbers),
    ]


@pytest.mark.emulated
@pytest.mark.gpu
@pytest.mark.parametrize("copy", [None, True])
def test_a_consumer_waits_for_the_work(on_device, copy):
    """This also holds for a copy, which is made on the consumer's stream."""
    printed = on_device(
        f"""
        own, consumer = cuda.stream(), cuda.stream()
        x = make(stream=own)
        pending = PendingWork(cuda, x.block.address, x.nbytes, own)
        opened = OpenedCapsule(x.__dlpack__(stream=consumer, copy={copy}, max_version=(1, 3)))
        print(pending.seen_on(consumer, opened.first).is_ordered(), opened.copied)
        """
    )

    assert printed == ["True", str(copy is True)]


@pytest.mark.emulated
@pytest.mark.gpu
def test_a_stream_that_captures_is_refused(on_device):
    """The refusal precedes the wait, so the capture stays valid."""
    printed = on_device(
        """
        own, consumer = cuda.stream(), cuda.stream()
        x = make(stream=own)
        with cuda.capture(consumer) as capture:
            for stream in (consumer, -1):
                try:
                    x.__dlpack__(stream=stream)
                except BufferError:
                    print("refused")
        print(repr(capture.spoilt))
        """
    )

    assert printed == ["refused", "''"]
