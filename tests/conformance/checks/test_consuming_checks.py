"""Checks of consumers that mutants do not cover: mainly behaviour that must not be reported."""

from __future__ import annotations

import dataclasses
import gc
import subprocess
import sys

import pytest

from interchange.abi import capsules
from interchange_conformance.findings import BAD
from interchange_conformance.probes.importing import Pair
from interchange_conformance.registry import load_checks
from interchange_conformance.running.execution import execute
from interchange_conformance.zoo import zoo
from mutants._honest_consumer import (
    Consumer,
    changed,
    honest,
    subject_of,
)
from mutants._honest_host_consumer import honest_host_consumer

MODULES = ("consuming_", "host_interfaces_in")
CHECKS = [
    check
    for check in load_checks().values()
    if check.function.__module__.rpartition(".")[2].startswith(MODULES) and not check.fresh
]
RACE = "of_two_threads_one_takes_a_capsule"  # takes seconds for each consumer
RACES = [item for check in CHECKS for item in check.items() if check.name == RACE]
ITEMS = [item for check in CHECKS for item in check.items() if check.name != RACE]


@pytest.fixture(autouse=True, scope="module")
def thaw():
    """Unfreeze the garbage collector."""
    yield
    gc.unfreeze()


def run(item, subject):
    """Run an item with existing objects frozen, as in a separate process."""
    gc.freeze()
    return execute(item, subject)


def found(subject, items=ITEMS):
    """Return the findings in a subject, by item."""
    verdicts = {item: run(item, subject) for item in items}
    return {item: verdict for item, verdict in verdicts.items() if verdict[0] in BAD}


def refuse(*_):
    """Raise an error."""
    raise BufferError("no")


def one_axis(_, ndim):
    """Refuse arrays that do not have one axis."""
    if ndim != 1:
        refuse()


class OneGeneration(Consumer):
    """A consumer that only accepts one of the two structs."""

    def __init__(self, name):
        super().__init__()
        self.name = name

    def name_of(self, capsule):
        name = super().name_of(capsule)
        return name if name == self.name else refuse()

    def keywords(self, device, wanted):
        keywords = super().keywords(device, wanted)
        if self.name == capsules.LEGACY:
            del keywords["max_version"]
        return keywords


class Lazy(Consumer):
    """A consumer that reads the struct when its array is used."""

    def understand(self, owner, name):
        managed = self.struct_at(owner.address, name)
        if name == capsules.VERSIONED:
            self.check_version((managed.version.major, managed.version.minor))
        return LazyArray(self, owner, name)

    def read(self, y):
        return super().read(y.seen)

    def write(self, y):
        return super().write(y.seen)


class LazyArray:
    """An array that is parsed when it is used."""

    def __init__(self, consumer, owner, name):
        self.made = (consumer, owner, name)

    @property
    def seen(self):
        consumer, owner, name = self.made
        return Consumer.understand(consumer, owner, name)

    @property
    def shape(self):
        return self.seen.shape

    def __dlpack_device__(self):
        return self.seen.__dlpack_device__()


CAPABLE = {
    "of-one-axis": lambda: changed(check_axes=one_axis),
    "versioned-only": lambda: subject_of(OneGeneration(capsules.VERSIONED)),
    "legacy-only": lambda: subject_of(OneGeneration(capsules.LEGACY)),
    "of-capsules-only": lambda: dataclasses.replace(honest(), take=None, take_with=None),
    "of-objects-only": lambda: dataclasses.replace(honest(), take_capsule=None),
    "that-cannot-be-read": lambda: dataclasses.replace(honest(), read=None),
    "that-cannot-be-written": lambda: dataclasses.replace(honest(), write=None),
    "of-buffers-only": lambda: dataclasses.replace(
        honest_host_consumer(), take=None, take_capsule=None, take_array_interface=None
    ),
    "that-looks-late": lambda: subject_of(Lazy()),
}
"""Consumers with fewer features than the honest one, but without errors."""


@pytest.mark.exhaustive(but=["of-one-axis", "legacy-only"])
@pytest.mark.parametrize("name", CAPABLE)
def test_who_can_do_less_breaks_no_rule(name):
    """Missing features are not judged."""
    assert found(CAPABLE[name]()) == {}


class ByTheHeader(Consumer):
    """A consumer that refuses what the header forbids."""

    version = (0, 0)

    def check_version(self, version):
        self.version = version
        super().check_version(version)

    def strides_of(self, tensor, shape):
        if tensor.ndim and not tensor.strides and self.version >= (1, 2):
            refuse()
        return super().strides_of(tensor, shape)


class AskingTwice(Consumer):
    """A consumer that requests two capsules, and drops the first one."""

    def ask(self, method, keywords):
        super().ask(method, keywords)
        return super().ask(method, keywords)


class Retrying(Consumer):
    """A consumer that requests the legacy struct if it does not know the version."""

    def take(self, x, **wanted):
        try:
            return super().take(x, **wanted)
        except BufferError as error:
            if "is not known here" not in str(error) or "DLPack" not in str(error):
                raise
        return self.take_capsule(x.__dlpack__())


def refuse_late(_, owner):
    """Leave a refused tensor to the next garbage collection."""
    owner.me = owner


def copy_to_host(consumer, x, **wanted):
    """Import an array, and request a copy in host memory if it is on a device."""
    if not wanted and consumer.device_of(x)[0] in {2, 4}:
        keywords = {"max_version": (1, 3), "dl_device": (1, 0), "copy": True}
        return consumer.take_capsule(x.__dlpack__(**keywords))
    return Consumer.take(consumer, x, **wanted)


def asks_where_it_is():
    """Return a consumer whose arrays call the producer's device method when they are read."""
    honest_one, producers = Consumer(), {}

    def take(x, **wanted):
        y = honest_one.take(x, **wanted)
        producers[id(y)] = x, y
        return y

    def read(y):
        if id(y) in producers:
            producers[id(y)][0].__dlpack_device__()
        return honest_one.read(y)

    def release():
        producers.clear()
        honest_one.sweep()

    return dataclasses.replace(
        subject_of(honest_one), take=take, take_with=take, read=read, release=release
    )


OTHERWISE = {
    "null-strides": (lambda: subject_of(ByTheHeader()), "strides_that"),
    "two-capsules": (lambda: subject_of(AskingTwice()), ""),
    "legacy-next": (lambda: subject_of(Retrying()), "newer_majors"),
    "late-refusals": (lambda: changed(give_up=refuse_late), "a_"),
    "copies-to-the-host": (lambda: changed(take=copy_to_host), "memory_of_a_device"),
    "asks-where-it-is": (asks_where_it_is, "elements_are_read_without"),
}
"""Consumers that differ from the honest one without errors, and the checks that apply."""


@pytest.mark.parametrize("name", OTHERWISE)
def test_who_does_it_otherwise_breaks_no_rule(name):
    """There are several correct implementations."""
    make, prefix = OTHERWISE[name]

    assert found(make(), [item for item in ITEMS if item.startswith(prefix)]) == {}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [*CAPABLE, "two-capsules"])
def test_two_threads_find_nothing_in_a_consumer_without_errors(name):
    """A capsule is taken once, whatever the consumer lacks or does otherwise."""
    make = CAPABLE[name] if name in CAPABLE else OTHERWISE[name][0]

    assert found(make(), RACES) == {}


def refuse_keywords(_, **__):
    """Raise TypeError as a function without the parameter ``copy``."""
    raise TypeError("unexpected keyword argument 'copy'")


NO_BUFFERS = {"take_buffer": refuse}
NO_RECORDS = {"take_array_interface": refuse}
NO_COPY = {"take_with": refuse_keywords}


@pytest.mark.parametrize(
    ("refused", "item"),
    [
        (NO_BUFFERS, "buffers_are_read_as_they_say[doubles]"),
        (NO_BUFFERS, "steps_between_elements_are_not_rounded[buffer]"),
        (NO_RECORDS, "masks_are_not_dropped"),
        (NO_RECORDS, "malformed_records_of_host_memory_are_refused[no-shape]"),
        (NO_COPY, "copy_false_shares_or_refuses[plain]"),
        (NO_COPY, "copy_true_copies_or_refuses[by-the-producer]"),
        ("legacy-only", "elements_below_8_bits_are_read_as_the_flag_says[padded-uint4]"),
        ("legacy-only", "max_version_is_sent_first"),
        ("of-capsules-only", "page_locked_memory_may_come_as_host_memory"),
    ],
)
def test_who_refuses_what_is_plain_is_not_praised(refused, item):
    """A check that cannot be evaluated is not applicable, and does not pass."""
    named = refused in CAPABLE if isinstance(refused, str) else False
    subject = (
        CAPABLE[refused]() if named else dataclasses.replace(honest_host_consumer(), **refused)
    )

    assert execute(item, subject)[0] == "not-applicable"


def test_a_library_of_device_memory_is_not_judged_by_host_memory():
    """The consumer checks the device, and requests no capsule of host memory."""
    subject = subject_of(Consumer(frozenset({2})), take_buffer=None)
    subject = dataclasses.replace(subject, take_capsule=None)

    assert found(subject) == {}
    assert execute("plain_arrays_are_taken", subject)[0] == "not-applicable"


def test_a_consumer_may_look_at_the_flags_of_a_newer_version():
    """The flags have the same position in all versions, as has the deleter."""

    class Curious(Consumer):
        def own(self, address, name):
            managed = self.struct_at(address, name)
            self.flags = (managed.manager_ctx, getattr(managed, "flags", 0))
            return super().own(address, name)

    assert execute("nothing_of_a_newer_major_is_read", subject_of(Curious())) == ("pass", "")


def test_a_consumer_may_release_the_tensor_once_it_has_a_copy():
    """The array then has separate memory."""
    from mutants.consuming_copies import copies_by_default

    checks = [check for check in CHECKS if "lifetime" in check.function.__module__]
    items = [item for check in checks for item in check.items()]

    assert found(subject_of(copies_by_default()), items) == {}


def test_every_case_of_the_zoo_is_met():
    """Each case is used by a check of a consumer; producers that raise are found by name."""
    cases = [case for check in CHECKS for case in check.cases.values()]
    flat = [one for case in cases for one in (case if type(case) is tuple else (case,))]
    met = {pair.name for pair in flat if isinstance(pair, Pair)}
    names = {name.removesuffix("-legacy") if name != "used-legacy" else name for name in zoo()}
    raisers = {name for name in names if "raises-" in name}

    assert names - raisers - met == {"no-dlpack", "no-dlpack-device", "major-0"} & names


LIMITED = """
import resource
from interchange_conformance.checks.consuming_malformed import _little_room
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (LIMITS))
before = resource.getrlimit(resource.RLIMIT_AS)
with _little_room():
    within = resource.getrlimit(resource.RLIMIT_AS)
print(within[0] <= before[0] or before[0] == resource.RLIM_INFINITY, within[1] == before[1])
print(resource.getrlimit(resource.RLIMIT_AS) == before)
"""


@pytest.mark.parametrize("limits", ["2**31, 2**31", "2**31, hard", "soft, hard"])
def test_little_room_is_within_the_limits_there_are(limits):
    """The space is within the limits of the process, which are restored."""
    child = [sys.executable, "-c", LIMITED.replace("LIMITS", limits)]
    done = subprocess.run(child, check=True, capture_output=True, text=True)

    assert done.stdout.split() == ["True"] * 3
