"""`inspect`: contents of objects and all violations, without consuming anything."""

from __future__ import annotations

import array

import numpy as np
import pytest

import interchange as ix
from interchange import Finding
from interchange.abi import LEGACY, RULES, VERSIONED, capsule_destructor, capsule_name, new_capsule
from interchange.testing import producers

ZOO, LEGAL = producers.zoo(), producers.legal()


def rules(report):
    """Return the rules that a report and its parts cite."""
    found = [finding.rule for finding in report.findings]
    return found + [rule for part in report.parts for rule in rules(part)]


def part(report, kind):
    """Return the part of a report about one protocol."""
    (found,) = (one for one in report.parts if one.kind == kind)
    return found


# ---------------------------------------------------------------- capsules


@pytest.mark.parametrize(("max_version", "version"), [(None, "before 1.0"), ((1, 3), "1.")])
def test_every_field_of_a_capsule_is_reported(max_version, version):
    """Every field of the struct is reported."""
    memory = np.zeros((2, 3), "f4")

    report = ix.inspect(ix.to_capsule(memory, max_version=max_version))

    assert report.fields.pop("version").startswith(version)
    report.fields.pop("flags", None)
    assert report.fields == {
        "data": hex(memory.ctypes.data),
        "byte_offset": "0",
        "device": "cpu",
        "ndim": "2",
        "dtype": "float32 (2, 32, 1)",
        "shape": "(2, 3)",
        "strides": "(3, 1) [elements]",
    }
    assert report.ok


# ---------------------------------------------------------------- capsules


@pytest.mark.parametrize(
    ("flags", "words"),
    [(0, "none"), (1, "read-only"), (2, "copied"), (3, "read-only, copied"), (4, "padded")],
)
def test_flags_are_reported_by_name(flags, words):
    """The flags of a versioned struct are reported by name."""
    source = producers.host().but(flags=flags, generation="versioned")

    assert ix.inspect(source.__dlpack__()).fields["flags"] == words


@pytest.mark.parametrize("max_version", [None, (1, 3)])
def test_a_capsule_is_left_as_it_was(max_version):
    """Name and destructor stay, and it can be consumed afterwards."""
    capsule = ix.to_capsule(bytearray(b"abc"), max_version=max_version)
    before = capsule_name(capsule), capsule_destructor(capsule)

    ix.inspect(capsule)

    assert (capsule_name(capsule), capsule_destructor(capsule)) == before
    assert before[0] == (LEGACY if max_version is None else VERSIONED)
    assert ix.from_dlpack(capsule).tolist() == [97, 98, 99]


def test_a_consumed_capsule_is_reported():
    """A consumed capsule is reported, and its contents are not read."""
    capsule = ix.to_capsule(bytearray(3))
    array = ix.from_dlpack(capsule)

    report = ix.inspect(capsule)

    assert (rules(report), report.fields) == (["DLP-CAP-2"], {})
    assert array.size == 3


@pytest.mark.parametrize("name", [None, b"", b"tensor", b"numpy_dltensor", b"dltensor_versione"])
def test_a_capsule_of_another_kind_is_reported(name):
    """A capsule of another kind is reported, and its pointer is not read."""
    report = ix.inspect(new_capsule(8, name, None))

    assert (rules(report), report.fields) == (["DLP-CAP-1"], {})


STRUCT_LIES = [
    name
    for name, case in ZOO.items()
    if case.rule is not None
    and not name.startswith(("device-a", "device-none", "device-without", "device-of"))
    and name not in {"no-dlpack", "device-unknown"}
]


@pytest.mark.parametrize("name", STRUCT_LIES)
def test_each_violation_of_a_producer_is_reported_with_its_rule(name):
    """All violations that an import refuses are reported, and the deleter runs once."""
    case = ZOO[name]
    source = case.make()

    found = rules(ix.inspect(source))

    assert case.rule in found
    # An import does not ask a producer that is nowhere for its capsule; a report does.
    assert source.deleter_calls == (1 if name == "no-dlpack-device" else case.releases)


@pytest.mark.parametrize("name", LEGAL)
def test_whatever_is_legal_breaks_no_rule(name):
    """Odd and legal values are reported, and nothing is reported as a violation."""
    source = LEGAL[name].make()
    tolerated = {
        "DLP-DATA-3": 0 in source.said.shape if isinstance(source.said.shape, tuple) else False,
        "DLP-STRIDES-1": source.said.strides is None and source.said.axes > 0,
        "DLP-DEV-3": source.manners.advertises == (3, 0),
    }

    found = rules(ix.inspect(source))

    assert [rule for rule in found if not tolerated.get(rule)] == []


def test_all_that_is_wrong_is_reported_at_once():
    """An import stops at the first broken rule, a report does not."""
    source = producers.host().but(
        generation="versioned",
        advertises=(1, 0),
        device=(99, 0),
        dtype=(99, 8, 1),
        shape=(2, -3),
        data=None,
        byte_offset=2**63,
    )

    found = rules(ix.inspect(source.__dlpack__()))

    assert {"DLP-DEV-1", "DLP-DTYPE-1", "DLP-SHAPE-3", "DLP-DATA-1", "DLP-DATA-2"} <= set(found)


@pytest.mark.parametrize("generation", ["versioned", "legacy"])
def test_a_capsule_that_would_leak_is_reported(generation):
    """A capsule without a destructor is reported, since it leaks if it is not consumed."""
    source = producers.host().but(generation=generation, destructor=None)

    assert rules(ix.inspect(source.__dlpack__())) == ["DLP-LIFE-2"]


def test_of_a_foreign_major_nothing_else_is_read():
    """Of another major version only version and flags are read."""
    report = ix.inspect(producers.zoo()["major-2-and-nonsense"].make().__dlpack__())

    assert (rules(report), set(report.fields)) == (["DLP-VER-1"], {"version"})


# ---------------------------------------------------------------- producers


def test_a_producer_is_asked_once_for_each_thing():
    """A producer is asked for its device and one capsule, without a wait; nothing is consumed."""
    source, with_streams = producers.host(), producers.claiming((2, 0))

    report = ix.inspect(source)
    ix.inspect(with_streams)

    assert sorted(call.method for call in source.log) == ["__dlpack__", "__dlpack_device__"]
    assert part(report, "__dlpack__").fields["__dlpack_device__"] == "cpu"
    assert source.deleter_calls == 1
    assert with_streams.log[-1].keywords["stream"] == -1


@pytest.mark.parametrize("error", [TypeError, ValueError, BufferError, RuntimeError, MemoryError])
@pytest.mark.parametrize("where", ["raises", "device_raises"])
def test_an_error_of_a_producer_is_reported(error, where):
    """The error of a producer is shown, and the report continues; an interrupt stops it."""
    source = producers.host().but(**{where: error("the producer's own")})

    report = part(ix.inspect(source), "__dlpack__")

    shown = report.fields["capsule" if where == "raises" else "__dlpack_device__"]
    assert "the producer's own" in shown
    assert error.__name__ in shown
    with pytest.raises(KeyboardInterrupt):
        ix.inspect(producers.host().but(**{where: KeyboardInterrupt()}))


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in ZOO
        if name.startswith(("device-a", "device-none", "device-without", "device-of"))
    ],
)
def test_nonsense_about_the_device_is_reported(name):
    """An invalid device is reported, and the capsule is inspected nevertheless."""
    report = ix.inspect(ZOO[name].make())

    assert ZOO[name].rule in rules(report)
    assert part(report, "__dlpack__").parts


# ---------------------------------------------------------------- records


class Interface:
    """An object with any record of both kinds."""

    def __init__(self, record):
        self.__cuda_array_interface__ = record

    def __repr__(self):
        return "Interface"


GOOD = {"shape": (2, 3), "typestr": "<f4", "data": (4096, False), "version": 3}


def test_a_record_is_reported():
    """A dict, or the attribute of an object."""
    for report in (ix.inspect(GOOD), part(ix.inspect(Interface(GOOD)), "__cuda_array_interface__")):
        assert report.fields == {
            "data": "0x1000",
            "readonly": "False",
            "shape": "(2, 3)",
            "strides": "C order",
            "typestr": "'<f4'",
            "version": "3",
        }
        assert report.ok


@pytest.mark.parametrize(
    ("data", "readonly"),
    [(bytes(24), True), (bytearray(24), False), (array.array("f", [0] * 6), False)],
)
def test_a_buffer_in_a_record_is_reported_by_its_address(data, readonly):
    """NumPy's record may hold an object in place of an address."""
    report = ix.inspect({"shape": (2, 3), "typestr": "<f4", "data": data, "version": 3})

    assert report.fields["data"] == hex(ix.from_buffer(data).ptr)
    assert (report.fields["readonly"], report.ok) == (str(readonly), True)


@pytest.mark.parametrize("stream", [1, 2, 77])
def test_a_stream_in_a_record_is_reported(stream):
    """The stream of the record is reported."""
    assert ix.inspect({**GOOD, "stream": stream}).fields["stream"] == str(stream)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"shape": 6}, "CAI-SHAPE-1"),
        ({"shape": (-1,)}, "CAI-SHAPE-1"),
        ({"strides": (4,)}, "CAI-STRIDES-2"),
        ({"strides": "C"}, "CAI-STRIDES-1"),
        ({"typestr": "f4"}, "CAI-TYPESTR-1"),
        ({"data": 4096}, "CAI-DATA-1"),
        ({"data": (0, False)}, "CAI-DATA-2"),
        *(({"data": data}, "CAI-DATA-1") for data in (None, [1, 2, 3], "text", object)),
        ({"stream": 0}, "CAI-STREAM-1"),
        ({"version": -1}, "CAI-VER-1"),
        ({"mask": Interface(GOOD)}, "CAI-MASK-1"),
        ({"shape": (2**62, 4)}, "DLP-SHAPE-4"),
        ({"strides": (12, 3)}, "DLP-STRIDES-3"),
        ({"typestr": ">f4"}, "DLP-DTYPE-3"),
        ({"typestr": "|O8"}, "DLP-DTYPE-3"),
    ],
    ids=repr,
)
def test_a_violation_in_a_record_is_reported(change, rule):
    """Form and contents."""
    assert rule in rules(ix.inspect({**GOOD, **change}))
    assert rule in rules(ix.inspect(Interface({**GOOD, **change})))


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (
            {"typestr": "f4", "data": 4096, "strides": "C", "version": -1, "stream": 0},
            {"SHAPE", "TYPESTR", "DATA", "STRIDES", "VER", "STREAM"},
        ),
        ({"typestr": "|u1", "data": (1, 0), "version": 2, "stream": 0}, {"SHAPE"}),
    ],
    ids=["all", "a version without streams"],
)
def test_all_violations_of_a_record_are_reported_at_once(record, expected):
    """All violations; not the stream of a version of the record that has no streams."""
    found = rules(ix.inspect({"shape": 6, **record}))

    assert sorted(found) == sorted(f"CAI-{name}-1" for name in expected)


@pytest.mark.parametrize(
    "value",
    [*({}, {"shape": (1,)}, {1: 2}), *map(Interface, (5, "record", [1], object))],
    ids=["empty", "shape", "1", *("of int", "of str", "of list", "of class")],
)
def test_what_is_no_record_is_reported(value):
    """A dict with missing keys, and an attribute of another type under a record's name."""
    assert rules(ix.inspect(value)) == ["CAI-DICT-1"]


@pytest.mark.parametrize("error", [RuntimeError, ValueError, TypeError, KeyError])
@pytest.mark.parametrize("name", ["__cuda_array_interface__", "__array_interface__"])
def test_a_record_that_raises_is_reported(name, error):
    """An error for a record, as torch raises for gradients, is reported next to other protocols."""

    def get(_):
        raise error("the producer's own")

    value = type("Raising", (bytearray,), {name: property(get)})(b"abc")

    report = ix.inspect(value)

    assert "the producer's own" in str(report)
    assert part(report, "buffer protocol").fields["shape"] == "(3,)"


# ---------------------------------------------------------------- buffers and all together


def test_a_buffer_is_reported():
    """A buffer is reported by the fields of the buffer protocol, and the rules of from_buffer()."""
    report = part(ix.inspect(array.array("i", [1, 2, 3])), "buffer protocol")

    assert report.fields == {
        "shape": "(3,)",
        "strides": "(4,) [bytes]",
        "format": "'i' of 4 bytes",
        "readonly": "False",
    }
    assert "BUF-FORMAT-1" in rules(ix.inspect(np.zeros(3, ">i4")))


def test_every_protocol_of_an_object_is_reported():
    """Every protocol of an object is reported; NumPy supports three."""
    report = ix.inspect(np.zeros(3))

    assert [one.kind for one in report.parts] == [
        "__dlpack__",
        "__array_interface__",
        "buffer protocol",
    ]
    assert report.ok


@pytest.mark.parametrize(
    "value", [None, 5, "text", [1], object], ids=lambda x: repr(x).partition(" at 0x")[0]
)
def test_objects_without_a_protocol_are_refused(value):
    """An object without protocols is refused."""
    with pytest.raises(ix.NoProtocolError) as caught:
        ix.inspect(value)

    assert (caught.value.call, caught.value.rule) == ("inspect()", "IX-PROTOCOL-1")


def test_a_class_is_reported_without_a_crash():
    """A class is reported as such, since its methods need an instance."""
    assert "needs an argument" in str(ix.inspect(np.ndarray))


# ---------------------------------------------------------------- the report


def test_a_finding_prints_severity_rule_and_what_was_found():
    """A finding prints severity, rule and text on one line."""
    finding = Finding("DLP-DATA-3", "data is not NULL for shape (0,)")

    assert str(finding) == (
        f"QUIRK  DLP-DATA-3: data is not NULL for shape (0,); {RULES['DLP-DATA-3'].text}"
    )


def test_a_report_is_ok_when_no_part_breaks_a_rule():
    """Parts count."""
    broken = ix.Report("x", findings=[Finding("DLP-CAP-1", "y")])

    assert ix.Report("a").ok
    assert not broken.ok
    assert not ix.Report("a", parts=[ix.Report("b", parts=[broken])]).ok


def test_a_report_prints_its_parts_indented():
    """Fields in the order of the struct, findings below."""
    broken = ix.Report("inner", {"data": "0x0"}, [Finding("DLP-CAP-1", "y")])

    lines = str(ix.Report("outer", parts=[broken])).splitlines()

    assert lines[:2] == ["outer", "  inner"]
    assert lines[2].split() == ["data", "0x0"]
    assert lines[3].lstrip().startswith("MUST   DLP-CAP-1: y; ")


@pytest.mark.parametrize("shape", [(4.0,), (True,)])
@pytest.mark.parametrize("attribute", ["__cuda_array_interface__", "__array_interface__"])
def test_numbers_that_only_equal_ints_are_reported(attribute, shape):
    """Numbers that only equal ints are reported, also after an equal record of ints."""
    good = {"shape": (4,), "strides": None, "typestr": "|u1", "data": (4096, False)}
    good |= {"version": 3, "stream": None}
    for record in (good, {**good, "shape": (1,)}):
        assert ix.inspect(type("Theirs", (), {attribute: record})()).ok

    report = ix.inspect(type("Theirs", (), {attribute: {**good, "shape": shape}})())

    assert [finding.rule for finding in report.parts[0].findings] == ["CAI-SHAPE-1"]
