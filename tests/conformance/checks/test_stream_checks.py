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
PLAIN = "pending_work_comes_before_the_consumers[to-another-stream]"


@pytest.fixture
def verdict(run_isolated):
    """Return a function that runs an item on a subject, and returns how it ended."""

    def run(item, text="", *, spec="", driver="emulated", **variables):
        env = {**environment(driver), **variables}
        printed = run_isolated(RUN, item, spec, text, env=env, warnings="default")
        return tuple(json.loads(printed.splitlines()[-1]))

    return run


def test_without_a_driver_a_check_says_what_it_needs(verdict):
    """The check neither passes nor fails."""
    status, evidence = verdict(PLAIN, BASE + "subject = Subject('s', make=make)", driver="none")

    assert (status, "needs a CUDA driver" in evidence) == ("not-applicable", True)


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


@pytest.mark.emulated
@pytest.mark.parametrize(("waits", "expected"), [(True, "pass"), (False, "fail")])
def test_arrays_that_publish_their_stream_need_no_make_on(verdict, waits, expected):
    """A plain function that creates such arrays can be judged."""
    status, _ = verdict(PLAIN, BASE + f"WAITS = {waits}\n" + PUBLISHING)

    assert status == expected


@pytest.mark.emulated
def test_arrays_that_publish_none_are_not_judged(verdict):
    """The stream of pending work would be unknown."""
    status, evidence = verdict(PLAIN, BASE + "subject = Subject('s', make=make)")

    assert (status, "publish no stream" in evidence) == ("not-applicable", True)


@pytest.mark.emulated
@pytest.mark.parametrize("kind", ["managed", "pinned"])
def test_a_make_on_without_a_device_makes_device_memory(verdict, kind):
    """Only device memory is requested, and a library without it is not judged."""
    text = BASE + "subject = Subject('s', make=make, make_on=make_on)"
    status, evidence = verdict(f"the_host_gets_memory_when_the_work_is_done[{kind}]", text)

    assert (status, evidence) == ("not-applicable", "the subject's make_on() takes no device")


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


@pytest.mark.emulated
@pytest.mark.parametrize(("waits", "expected"), [(True, "pass"), (False, "fail")])
def test_work_on_page_locked_memory_can_be_held(verdict, waits, expected):
    """A fill would synchronise the host, and hide a missing wait."""
    item = "the_host_gets_memory_when_the_work_is_done[pinned]"
    status, _ = verdict(item, BASE + f"WAITS = {waits}\n" + PINNED)

    assert status == expected


@pytest.mark.emulated
def test_a_producer_that_refuses_streams_is_not_blamed_for_a_race(verdict):
    """A refused export is not an unordered one."""
    refusing = """
class Array(OnDevice):
    def normal_stream(self, stream):
        if stream not in (None, -1):
            raise BufferError("streams are not supported")
        return super().normal_stream(stream)

subject = Subject("refuses", make=make, make_on=make_on)
"""
    status, evidence = verdict(PLAIN, BASE + refusing)

    assert (status, "streams are not supported" in evidence) == ("not-applicable", True)


BLOCKING = """
class Array(OnDevice):
    def wait(self, pending, consumer):
        self.finish()

subject = Subject("blocks", make=make, make_on=make_on)
"""


@pytest.mark.emulated
def test_a_producer_that_blocks_the_host_keeps_the_order(verdict):
    """Synchronising is allowed; only the check of the host reports it."""
    ordered, _ = verdict(PLAIN, BASE + BLOCKING)
    blocking, evidence = verdict(
        "an_export_does_not_block_the_host[to-another-stream]", BASE + BLOCKING
    )

    assert (ordered, blocking) == ("pass", "fail")
    assert "did not return while work on stream" in evidence


@pytest.mark.emulated
def test_memory_elsewhere_than_asked_for_is_not_judged(verdict):
    """A function without device support always creates host memory."""
    text = """
from interchange_conformance.subject import Subject
from interchange_conformance.zoo import host
subject = Subject("host only", make=lambda shape, dtype, device, readonly: host(shape, dtype))
"""
    for item in (
        "stream_0_is_refused_on_cuda",
        "managed_memory_is_said_to_be_managed",
        "default_streams_of_rocm_are_taken[none]",
    ):
        status, _ = verdict(item, text)

        assert status == "not-applicable"


@pytest.mark.emulated
def test_one_device_is_too_few_for_some_checks(verdict):
    """Such checks are not applicable, and say so."""
    item = "work_is_ordered_while_another_device_is_current"
    text = BASE + "subject = Subject('s', make=make, make_on=make_on)"

    status, evidence = verdict(item, text, EMUCUDA_DEVICES="1")

    assert (status, "two CUDA devices" in evidence) == ("not-applicable", True)


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


@pytest.mark.emulated
@pytest.mark.parametrize(
    ("strides", "expected"), [("None", "pass"), ("(24, 4)", "pass"), ("(4, 16)", "fail")]
)
def test_strides_that_are_null_are_those_of_c_order(verdict, strides, expected):
    """NULL strides mean C order in a record and a legacy capsule of a producer without streams."""
    text = BASE + f"STRIDES = {strides}\n" + RECORDED

    status, _ = verdict("records_agree_with_capsules[writable]", text)

    assert status == expected


REFUSING_NUMBERS = """
class Array(OnDevice):
    def refusal(self, target):
        return ERROR(f"no device {target}")

subject = Subject("refuses", make=make)
"""


@pytest.mark.emulated
@pytest.mark.parametrize(
    ("error", "expected"), [("ValueError", "pass"), ("BufferError", "pass"), ("KeyError", "pass")]
)
def test_a_number_that_no_device_has_may_be_a_wrong_value(verdict, error, expected):
    """The standard names an error class for device types, and none for device ids."""
    text = BASE + f"ERROR = {error}\n" + REFUSING_NUMBERS

    status, _ = verdict("a_device_number_that_is_not_there_is_refused", text)

    assert status == expected
