"""The tables: each case is as its name says, and a correct consumer can detect it."""

from __future__ import annotations

import math

import pytest

from interchange.abi import RULES, capsules
from interchange.testing import legal, zoo

ZOO, LEGAL = zoo(), legal()
INT64_MAX, END = 2**63 - 1, 2**64

DEVICES = {1, 2, 3, 4, *range(7, 22)}
BITS = {
    0: {2, 4, 8, 16, 32, 64},
    1: {1, 2, 4, 8, 16, 32, 64},
    2: {16, 32, 64},
    3: {8, 16, 32, 64},
    4: {16},
    5: {32, 64, 128},
    **{code: {8} for code in range(6, 15)},
    15: {6},
    16: {6},
    17: {4},
    18: {32},
}


def reach(shape, strides, size):
    """Return the bytes before and after the first element."""
    steps = [(extent - 1) * step for extent, step in zip(shape, strides, strict=True)]
    return sum(min(0, s) for s in steps) * size, (sum(max(0, s) for s in steps) + 1) * size


def broken_by_kind(said):
    """Return the rule that version, device, element type or ndim of a struct break, or None."""
    code, bits, lanes = said["dtype"]
    if said.get("version", (1, 0))[0] != 1:
        return "DLP-VER-1"
    if said["device"][0] not in DEVICES or said["device"][1] < 0:
        return "DLP-DEV-1"
    if bits == 0 or lanes == 0:
        return "DLP-DTYPE-2"
    if bits not in BITS.get(code, ()):
        return "DLP-DTYPE-1"
    if not 0 <= said["ndim"] <= 64:
        return "DLP-SHAPE-1"
    return None


def broken_by_place(said, shape, strides):
    """Return the rule that the address of a struct breaks, or None."""
    _, bits, lanes = said["dtype"]
    low, high = reach(shape, strides, -(-bits * lanes // 8))
    if said["byte_offset"] > INT64_MAX:
        return "DLP-DATA-2"
    if 0 in shape:
        return None
    if said["data"] is None:
        return "DLP-DATA-1"
    first = said["data"] + said["byte_offset"]
    if first >= END:
        return "DLP-DATA-2"
    inside = first + low > 0 and first + high <= END and low >= -INT64_MAX and high <= INT64_MAX
    return None if inside else "DLP-STRIDES-2"


def broken_by(said, read_numbers):
    """Return the rule that a struct breaks, or None, with code independent of the library."""
    rule = broken_by_kind(said)
    if rule is not None:
        return rule
    ndim = said["ndim"]
    if ndim and not said["shape"]:
        return "DLP-SHAPE-2"
    shape = read_numbers(said["shape"], ndim) if ndim else ()
    if min(shape, default=0) < 0:
        return "DLP-SHAPE-3"
    _, bits, lanes = said["dtype"]
    if math.prod(shape) * -(-bits * lanes // 8) > INT64_MAX:
        return "DLP-SHAPE-4"
    strides = read_numbers(said["strides"], ndim) if ndim and said["strides"] else None
    if strides is None:
        strides = [math.prod(shape[axis + 1 :]) for axis in range(ndim)]
    return broken_by_place(said, shape, strides)


def each(cases):
    """Return a parametrisation over cases."""
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


STRUCTS = [
    case
    for case in ZOO.values()
    if case.releases == 1 and case.rule not in {"DLP-CAP-1", "DLP-DEV-3"}
]


def test_the_tables_cover_the_bad_input_that_capsules_can_hold():
    """Every rule about results of __dlpack__ has a case that breaks it."""
    assert {case.rule for case in ZOO.values() if case.rule} >= {
        "DLP-CAP-1",
        "DLP-CAP-2",
        "DLP-CAP-3",
        "DLP-VER-1",
        "DLP-DEV-1",
        "DLP-DEV-2",
        "DLP-DEV-3",
        "DLP-DTYPE-1",
        "DLP-DTYPE-2",
        "DLP-SHAPE-1",
        "DLP-SHAPE-2",
        "DLP-SHAPE-3",
        "DLP-SHAPE-4",
        "DLP-STRIDES-2",
        "DLP-DATA-1",
        "DLP-DATA-2",
        "DLP-NEG-1",
    }


@each(ZOO.values())
def test_a_case_cites_a_rule_or_raises(case):
    """A rule is in the rule book; without a rule the producer raises an error."""
    manners = case.make().manners
    raises = manners.raises is not None or manners.device_raises is not None

    assert (case.rule in RULES) != raises


@each([*ZOO.values(), *LEGAL.values()])
def test_a_case_is_made_afresh(case):
    """Two producers of a case share neither log nor memory."""
    first, second = case.make(), case.make()

    assert first is not second
    assert first.memory is not second.memory


@each(STRUCTS)
def test_a_struct_breaks_the_rule_of_its_case(case, read_capsule, read_numbers):
    """The struct, read from its address, breaks this rule before any other."""
    said = read_capsule(case.make().__dlpack__(max_version=(1, 3)))

    assert broken_by(said, read_numbers) == case.rule


@each(STRUCTS)
def test_a_broken_struct_comes_in_an_ordinary_way(case):
    """Name and advertised device are correct, so that only the struct can be refused."""
    source = case.make()
    capsule = source.__dlpack__(max_version=(1, 3))
    ending = case.name.endswith("-legacy")

    assert source.__dlpack_device__() == (1, 0)
    assert capsules.capsule_name(capsule) == (capsules.LEGACY if ending else capsules.VERSIONED)


def is_pair(answer):
    """Return whether a device is of the type that the standard requires."""
    return type(answer) is tuple and len(answer) == 2 and {*map(type, answer)} == {int}


USED = set(capsules.USED_NAME.values())
IS_BROKEN = {
    "DLP-CAP-1": lambda x: (
        capsules.capsule_name(x.__dlpack__()) not in {*capsules.USED_NAME, *USED}
    ),
    "DLP-CAP-2": lambda x: capsules.capsule_name(x.__dlpack__()) in USED and x.deleter_calls == 0,
    "DLP-CAP-3": lambda x: type(x.__dlpack__()) is not capsules.PyCapsule,
    "DLP-DEV-2": lambda x: not is_pair(x.__dlpack_device__()),
    "DLP-NEG-1": lambda x: not (hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__")),
}
"""Rule -> whether a producer breaks it: name, owner and type of the capsule, device, methods."""


@each([case for case in ZOO.values() if case.rule in IS_BROKEN])
def test_a_case_breaks_its_rule_where_no_struct_is_read(case):
    """The result has the wrong name, owner or type, or there is no method."""
    assert IS_BROKEN[case.rule](case.make())


@each([case for case in ZOO.values() if case.rule == "DLP-DEV-3"])
def test_a_lie_about_the_device_is_one(case, read_capsule):
    """Both devices are known, and they differ."""
    source = case.make()
    said = read_capsule(source.__dlpack__(max_version=(1, 3)))

    assert source.__dlpack_device__() != said["device"]
    assert {source.__dlpack_device__()[0], said["device"][0]} <= DEVICES


READABLE = [case for case in LEGAL.values() if not case.name.startswith("signature-")]
"""Legal cases whose struct the checker above supports."""


@each(READABLE)
def test_a_legal_struct_breaks_no_rule(case, read_capsule, read_numbers):
    """The struct, read from its address, breaks no rule."""
    said = read_capsule(case.make().__dlpack__(max_version=(1, 3)))

    assert broken_by(said, read_numbers) is None


@each([*(case for case in ZOO.values() if case.releases == 1), *READABLE])
def test_a_dropped_case_is_released_as_often_as_it_says(case):
    """If it is freed unconsumed, the deleter runs once, or never if it is NULL."""
    source = case.make()

    source.__dlpack__(max_version=(1, 3))

    assert source.deleter_calls == case.releases


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("c-order", [0, 1, 2, 3, 4, 5]),
        ("f-order-legacy", [0, 2, 4, 1, 3, 5]),
        ("mixed-strides", [7, 9, 11, 0, 2, 4]),
        ("strides-null", [0, 1, 2, 3, 4, 5]),
        ("offset-and-negative-strides", [5, 4, 3, 2, 1, 0]),
        ("empty-with-data", []),
        ("padded-uint4", [0, 1, 2, 3, 4, 5]),
        ("fake-cuda", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_a_legal_case_knows_its_elements(name, expected):
    """values() returns the elements that a consumer should read."""
    assert LEGAL[name].make().values() == expected
