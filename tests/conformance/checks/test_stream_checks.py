"""Checks of streams and devices: cases without mutants, and findings in a real library."""

from __future__ import annotations

import json

import pytest

from interchange_conformance.driver.cuda import VARIABLE, environment

RUN = """
import json, sys
from interchange_conformance.running.execution import execute
from interchange_conformance.running.loading import load_subject
from interchange_conformance.checks import cai_out, devices, stream_values, streams
item, spec, text = sys.argv[1:]
if text:
    exec(text)
    subject = globals()["subject"]
else:
    subject = load_subject(spec)
print(json.dumps(execute(item, subject)))
"""

BASE = """
from interchange_conformance.subject import Subject
from interchange_conformance.driver import cuda as kit
from interchange_conformance.zoo.on_device import OnDevice, place

class Array(OnDevice):
    pass

def new(kind, shape, dtype, stream=None):
    cuda = kit.opened()
    block, _ = place(cuda, "cuda", shape, dtype)
    return kind(block, shape, dtype, stream=stream, cuda=cuda)

def make(shape, dtype, device, readonly):
    return new(Array, shape, dtype)

def make_on(stream, shape, dtype):
    return new(Array, shape, dtype, stream)

"""
MADE = BASE + "subject = Subject('made', make=make)"
JUDGED = "subject = Subject('made on', make=make, make_on=make_on)"
MADE_ON = BASE + JUDGED
PLAIN = "pending_work_comes_before_the_consumers[to-another-stream]"
BLOCKS = "an_export_does_not_block_the_host[to-another-stream]"
HOST_GETS = "the_host_gets_memory_when_the_work_is_done"
NUMBER = "a_device_number_that_is_not_there_is_refused"


@pytest.fixture
def verdict(run_isolated):
    """Return a function that runs an item on a subject, and returns how it ended."""

    def run(item, text="", *, spec="", driver="emulated", **variables):
        env = {**environment(driver), **variables}
        printed = run_isolated(RUN, item, spec, text, env=env, warnings="default")
        return tuple(json.loads(printed.splitlines()[-1]))

    return run


PUBLISHING = """
class Array(OnDevice):
    @property
    def __cuda_array_interface__(self):
        return {"stream": self.stream}

    def wait(self, pending, consumer):
        if WAITS:
            super().wait(pending, consumer)

def make(shape, dtype, device, readonly):
    return new(Array, shape, dtype, kit.opened().stream())

subject = Subject("publishes", make=make)
"""


PINNED = """
class Array(OnDevice):
    def finish(self):
        if WAITS:
            super().finish()

def make_on(stream, shape, dtype, device="cuda"):
    cuda = kit.opened()
    block, _ = place(cuda, device, shape, dtype)
    return Array(block, shape, dtype, stream=stream, cuda=cuda)

subject = Subject("pinned", make=make, make_on=make_on)
"""


REFUSING = """
class Array(OnDevice):
    def normal_stream(self, stream):
        if stream not in (None, -1):
            raise BufferError("streams are not supported")
        return super().normal_stream(stream)

"""


BLOCKING = """
class Array(OnDevice):
    def wait(self, pending, consumer):
        self.finish()

"""
HOST_ONLY = """
from interchange_conformance.subject import Subject
from interchange_conformance.zoo import host
subject = Subject("host only", make=lambda shape, dtype, device, readonly: host(shape, dtype))
"""


@pytest.mark.emulated
@pytest.mark.interop
@pytest.mark.parametrize("spec", ["cuda-core", "cuda-core-buffer"])
def test_cuda_core_is_found_to_insert_no_wait(verdict, spec):
    """``Buffer.__dlpack__(stream=)`` and that of a view export memory with pending writes."""
    pytest.importorskip("cuda.core", reason="cuda.core is not installed")

    status, evidence = verdict(PLAIN, spec=spec)

    assert status == "fail"
    assert "read after write (RAW)" in evidence
    assert VARIABLE not in evidence


RECORDED = """
class Array(OnDevice):
    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": "<f4", "data": (self.block.address, False),
                "strides": STRIDES, "version": 2}

    def normal_stream(self, stream):
        if stream == 1:
            raise BufferError("streams are not supported")
        return super().normal_stream(stream)

    def capsule(self, block, copied, max_version):
        from interchange_conformance.probes.opened_capsule import OpenedCapsule
        capsule = super().capsule(block, copied, None)
        OpenedCapsule(capsule).tensor.strides = None
        return capsule

subject = Subject("recorded", make=make)
"""


REFUSING_NUMBERS = """
class Array(OnDevice):
    def refusal(self, target):
        return ERROR(f"no device {target}")

subject = Subject("refuses", make=make)
"""
CASES = {
    "no-driver": (PLAIN, MADE, {"driver": "none"}, "needs a CUDA driver"),
    "no-stream-is-published": (PLAIN, MADE, {}, "publish no stream"),
    "managed-memory-without-a-device": (
        f"{HOST_GETS}[managed]", MADE_ON, {}, "the subject's make_on() takes no device",
    ),
    "pinned-memory-without-a-device": (
        f"{HOST_GETS}[pinned]", MADE_ON, {}, "the subject's make_on() takes no device",
    ),
    "streams-are-refused": (PLAIN, BASE + REFUSING + JUDGED, {}, "are not supported"),
    "host-memory-instead-of-cuda": ("stream_0_is_refused_on_cuda", HOST_ONLY, {}, ""),
    "host-memory-instead-of-managed": ("managed_memory_is_said_to_be_managed", HOST_ONLY, {}, ""),
    "host-memory-instead-of-rocm": ("default_streams_of_rocm_are_taken[none]", HOST_ONLY, {}, ""),
    "one-device": (
        "work_is_ordered_while_another_device_is_current",
        MADE_ON, {"EMUCUDA_DEVICES": "1"}, "two CUDA devices",
    ),
}  # fmt: skip
"""Name -> item, subject, options, and the reason why it is not judged."""


@pytest.mark.emulated
@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_decided_is_not_judged(verdict, name):
    """A check without driver, stream, device or order neither passes nor fails, and says why."""
    item, text, options, reason = CASES[name]

    status, evidence = verdict(item, text, **options)

    assert (status, reason in evidence) == ("not-applicable", True)


@pytest.mark.emulated
@pytest.mark.parametrize(
    ("item", "text", "expected"),
    [
        (PLAIN, "WAITS = True\n" + PUBLISHING, "pass"),
        (PLAIN, "WAITS = False\n" + PUBLISHING, "fail"),
        (f"{HOST_GETS}[pinned]", "WAITS = True\n" + PINNED, "pass"),
        (f"{HOST_GETS}[pinned]", "WAITS = False\n" + PINNED, "fail"),
        (PLAIN, BLOCKING + JUDGED, "pass"),
        (BLOCKS, BLOCKING + JUDGED, "fail"),
        ("records_agree_with_capsules[writable]", "STRIDES = None\n" + RECORDED, "pass"),
        ("records_agree_with_capsules[writable]", "STRIDES = (24, 4)\n" + RECORDED, "pass"),
        ("records_agree_with_capsules[writable]", "STRIDES = (4, 16)\n" + RECORDED, "fail"),
        (NUMBER, "ERROR = ValueError\n" + REFUSING_NUMBERS, "pass"),
        (NUMBER, "ERROR = BufferError\n" + REFUSING_NUMBERS, "pass"),
        (NUMBER, "ERROR = KeyError\n" + REFUSING_NUMBERS, "pass"),
    ],
    ids=[
        *("published-and-waits", "published-and-no-wait", "pinned-and-waits", "pinned-and-no-wait"),
        *("a-blocked-host-is-ordered", "a-blocked-host-is-told"),
        *("null-strides", "c-order", "f-order", "ValueError", "BufferError", "KeyError"),
    ],
)
def test_a_subject_of_device_memory_is_judged_by_what_it_does(verdict, item, text, expected):
    """Published streams need no make_on(), NULL strides are C order, and any error may refuse."""
    status, evidence = verdict(item, BASE + text)

    assert status == expected
    assert item != BLOCKS or "did not return while work on stream" in evidence
