"""Invalid producers: the right error, the deleter called once, and no crash."""

from __future__ import annotations

import json

import pytest

from interchange.testing import legal, zoo

pytestmark = pytest.mark.isolated

CLASSES = {
    "DLP-CAP-1": "ExchangeError",
    "DLP-CAP-2": "ConsumedCapsuleError",
    "DLP-CAP-3": "NoProtocolError",
    "DLP-VER-1": "VersionError",
    "DLP-DEV-1": "UnsupportedDeviceError",
    "DLP-DEV-2": "ExchangeError",
    "DLP-DEV-3": "UnsupportedDeviceError",
    "DLP-DTYPE-1": "UnsupportedDTypeError",
    "DLP-DTYPE-2": "UnsupportedDTypeError",
    "DLP-SHAPE-1": "ExchangeError",
    "DLP-SHAPE-2": "ExchangeError",
    "DLP-SHAPE-3": "ExchangeError",
    "DLP-SHAPE-4": "ExchangeError",
    "DLP-STRIDES-2": "ExchangeError",
    "DLP-DATA-1": "ExchangeError",
    "DLP-DATA-2": "ExchangeError",
    "DLP-NEG-1": "NoProtocolError",
}
"""Rule -> class of the error, as in design.md."""

ZOO, LEGAL = zoo(), legal()
BROKEN = [case for case in ZOO.values() if case.rule]
RAISING = [case for case in ZOO.values() if not case.rule]
ABOUT_STRUCTS = ("DLP-VER", "DLP-DTYPE", "DLP-SHAPE", "DLP-STRIDES", "DLP-DATA")
STRUCTS = [case for case in BROKEN if case.rule.startswith(ABOUT_STRUCTS)]


def named(cases):
    """Return the cases as parameters, by their names."""
    return [pytest.param(case, id=case.name) for case in cases]


@pytest.fixture(scope="module")
def outcomes(run_isolated):
    """Return class, rule, message and releases of every case and way in."""
    rows = map(json.loads, run_isolated("malformed.py", "table").splitlines())
    return {(name, way): row for name, way, *row in rows}


@pytest.mark.parametrize("case", named(BROKEN))
def test_a_producer_that_breaks_a_rule(outcomes, case):
    """The import raises the error of the rule, and the exported memory is released once."""
    error, rule, _, releases = outcomes[case.name, "object"]

    assert (error, rule, releases) == (CLASSES[case.rule], case.rule, case.releases)


@pytest.mark.parametrize("way", ["capsule", "fresh"])
@pytest.mark.parametrize("case", named(STRUCTS))
def test_a_capsule_that_breaks_a_rule(outcomes, case, way):
    """A capsule, and one that stays the owner, have the same outcome as the object."""
    error, rule, _, releases = outcomes[case.name, way]

    assert (error, rule, releases) == (CLASSES[case.rule], case.rule, 1)


@pytest.mark.parametrize("case", named(RAISING))
def test_a_producer_that_raises(outcomes, case):
    """An exception of a producer is raised as the same object."""
    assert outcomes[case.name, "object"][2] == "its own"


@pytest.mark.parametrize("case", named(BROKEN))
def test_the_message_names_call_and_rule(outcomes, case):
    """An error says which call failed, and ends with the id of the rule."""
    message = outcomes[case.name, "object"][2]

    assert (message.startswith("from_dlpack(): "), message.endswith(f"[{case.rule}]")) == (
        True,
        True,
    )


@pytest.mark.parametrize("case", named(LEGAL.values()))
def test_what_is_odd_is_taken(outcomes, case):
    """A producer that is odd but legal is accepted, and released once."""
    verdict, _, _, releases = outcomes[case.name, "object"]

    assert (verdict, releases) == ("taken", case.releases)


@pytest.mark.exhaustive(but=["1"])
@pytest.mark.parametrize("seed", [1, 2])
def test_history_changes_nothing(run_isolated, seed):
    """The outcome of a case does not depend on earlier imports and refusals."""
    assert not run_isolated("malformed.py", "shuffled", seed)


def test_null_shape_is_refused_whatever_the_strides(run_isolated):
    """A NULL shape is never dereferenced, even if strides seem to follow it directly."""
    script = """
import interchange as ix
from interchange.testing import producers
good = producers.host().but(generation="versioned")
bad = good.but(shape=None, ndim=2, strides=16)
for _ in range(20):
    ix.from_dlpack(good).shape
    try:
        ix.from_dlpack(bad)
    except ix.ExchangeError as error:
        print(error.rule)
"""
    assert run_isolated(script).split() == ["DLP-SHAPE-2"] * 20


def test_a_foreign_major_is_not_read_past_its_head(run_isolated):
    """Of a struct of another major version only the header is read."""
    script = """
import ctypes, mmap, struct
import interchange as ix
from interchange.abi import capsules
from interchange_conformance.zoo.counting import COUNTING_DELETER, calls_between, number_at
PAGE = mmap.PAGESIZE
pages = mmap.mmap(-1, 2 * PAGE)
start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
libc = ctypes.CDLL(None)
assert libc.mprotect(ctypes.c_void_p(start + PAGE), PAGE, 0) == 0  # PROT_NONE
head = struct.pack("=IIQQQ", 2, 0, 0, COUNTING_DELETER, 0)  # up to and including flags
place = start + PAGE - len(head)
ctypes.memmove(place, head, len(head))
before = number_at(place)
capsule = capsules.new_capsule(place, capsules.VERSIONED, None)
try:
    ix.from_dlpack(capsule)
except ix.VersionError as error:
    print(error.rule, calls_between(before, number_at(place)))
"""
    assert run_isolated(script).split() == ["DLP-VER-1", "1"]


@pytest.mark.parametrize("field", ["shape", "strides"])
def test_a_pointer_beyond_the_address_range(run_isolated, field):
    """A pointer above 2**63, outside the address range of a process, is refused."""
    script = f"""
import interchange as ix
from interchange.testing import producers
source = producers.host().but(generation="versioned", {field}=2**63 + 64, ndim=2)
try:
    ix.from_dlpack(source)
except ix.ExchangeError as error:
    print(error.rule.startswith("DLP-S"), source.deleter_calls)
"""
    assert run_isolated(script).split() == ["True", "1"]
