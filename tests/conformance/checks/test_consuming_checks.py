"""Checks of consumers: what no mutant shows, which is above all what they must not find."""

from __future__ import annotations

import dataclasses

import pytest
from interchange_conformance.attempts import Pair
from interchange_conformance.findings import BAD
from interchange_conformance.mutants._honest_consumer import (
    Consumer,
    changed,
    honest,
    subject_of,
)
from interchange_conformance.mutants._honest_host_consumer import honest_host_consumer
from interchange_conformance.registry import load_checks
from interchange_conformance.running.execution import execute
from interchange_conformance.zoo import zoo

from interchange.abi import capsules

MODULES = ("consuming_", "host_interfaces_in")
CHECKS = [
    check
    for check in load_checks().values()
    if check.function.__module__.rpartition(".")[2].startswith(MODULES) and not check.fresh
]
ITEMS = [item for check in CHECKS for item in check.items()]


def found(subject, items=ITEMS):
    """Return what the checks find in a subject, by item."""
    verdicts = {item: execute(item, subject) for item in items}
    return {item: verdict for item, verdict in verdicts.items() if verdict[0] in BAD}


def refuse(*_):
    """Refuse something."""
    raise BufferError("no")


def one_axis(_, ndim):
    """Refuse what has not one axis."""
    if ndim != 1:
        refuse()


class OneGeneration(Consumer):
    """A consumer of one of the two structs."""

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
    """A consumer that looks at a struct when somebody looks at its array."""

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
    """An array that is understood late."""

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
"""Consumers that can do less than the honest one, and nothing wrong."""
OUGHT = {"legacy-only": {"max_version_is_sent_first": "SHOULD"}}
"""What is rightly found in some of them."""


@pytest.mark.parametrize("name", CAPABLE)
def test_who_can_do_less_breaks_no_rule(name):
    """What a library has not is not judged."""
    bad = found(CAPABLE[name]())

    assert {item.partition("[")[0] for item in bad} == set(OUGHT.get(name, ())), bad


def test_a_library_of_device_memory_is_not_judged_by_host_memory():
    """It looks at the device, and asks for no capsule of what is on the host."""
    subject = subject_of(Consumer(frozenset({2})), take_buffer=None)
    subject = dataclasses.replace(subject, take_capsule=None)

    assert found(subject) == {}
    assert execute("plain_arrays_are_taken", subject)[0] == "not-applicable"


def test_a_consumer_may_look_at_the_flags_of_a_newer_version():
    """They stay in place as the deleter does."""

    class Curious(Consumer):
        def own(self, address, name):
            managed = self.struct_at(address, name)
            self.flags = (managed.manager_ctx, getattr(managed, "flags", 0))
            return super().own(address, name)

    assert execute("nothing_of_a_newer_major_is_read", subject_of(Curious())) == ("pass", "")


def test_a_consumer_may_let_go_of_the_tensor_once_it_has_a_copy():
    """The array then lives on memory of its own."""
    from interchange_conformance.mutants.consuming_copies import copies_by_default

    items = [item for item in ITEMS if "lifetime" in _module(item)]

    assert found(copies_by_default(), items) == {}


def _module(item):
    """Return the module of an item's check."""
    return load_checks()[item.partition("[")[0]].function.__module__


def test_every_case_of_the_zoo_is_met():
    """By some check of a consumer; producers that raise are looked up by their names."""
    cases = [case for check in CHECKS for case in check.cases.values()]
    flat = [one for case in cases for one in (case if type(case) is tuple else (case,))]
    met = {pair.name for pair in flat if isinstance(pair, Pair)}
    names = {name.removesuffix("-legacy") if name != "used-legacy" else name for name in zoo()}
    raisers = {name for name in names if "raises-" in name}

    assert names - raisers - met == {"no-dlpack", "no-dlpack-device", "major-0"} & names
