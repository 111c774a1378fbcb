"""How checks call producers: which errors are refusals, and which mean an unknown keyword."""

from __future__ import annotations

import struct
import sys
from dataclasses import replace

import pytest

from interchange_conformance.checks import _exports
from interchange_conformance.checks._memory import (
    BLOCK,
    allocated,
    blocks,
    kept,
    least_kept,
    meter_for,
    resident,
)
from interchange_conformance.findings import CannotMakeError, NotApplicable
from interchange_conformance.probes.forms import Form
from interchange_conformance.probes.under_test import ProducerUnderTest
from interchange_conformance.subject import Subject
from mutants._honest_producer import honest_constants, honest_producer


class Answering:
    """An object whose ``__dlpack__`` calls a given function."""

    def __init__(self, answer):
        self.answer = answer

    def __dlpack__(self, **keywords):
        return self.answer(**keywords)


@pytest.fixture
def library():
    """Return the honest producer under test."""
    return ProducerUnderTest(honest_producer())


def raising(error):
    """Return an array that raises for all arguments."""

    def raise_it(**_):
        raise error

    return Answering(raise_it)


def without_copy(*, stream=None):
    """Export as an old library, whose only keyword is ``stream``."""
    return stream


def refusing_all(*, stream=None):
    """Refuse as a library whose only keyword is ``stream``."""
    raise BufferError(stream)


# ------------------------------------------------------------------ keywords


@pytest.mark.parametrize(
    ("x", "known"),
    [
        (None, True),
        (Answering(without_copy), False),
        (raising(TypeError("no such elements")), True),
        (Answering(refusing_all), False),
    ],
    ids=["honest", "TypeError for copy", "TypeError always", "BufferError without copy"],
)
def test_a_keyword_is_unknown_if_it_alone_raises_type_error(library, x, known):
    """Python raises TypeError for unknown keywords, before anything else is refused."""
    assert _exports.knows(library, library.make() if x is None else x, "copy") == known


# ------------------------------------------------------------------ results


@pytest.mark.parametrize(
    ("ask", "x", "keywords", "reason"),
    [
        (_exports.answer, Answering(without_copy), {"copy": True}, "takes no copy"),
        (_exports.answer, Answering(lambda **_: 4096), {}, "4096"),
        (_exports.granted, raising(BufferError("too odd")), {}, "too odd"),
        (_exports.granted, raising(ValueError("no copies")), {"copy": True}, "no copies"),
    ],
    ids=["unknown keyword", "no capsule", "refusal", "refused copy"],
)
def test_what_another_check_judges_makes_a_check_not_applicable(library, ask, x, keywords, reason):
    """Keywords, capsules and classes of errors have checks, and a library may refuse."""
    with pytest.raises(NotApplicable, match=reason):
        ask(library, x, **keywords)


def test_an_error_is_an_answer_and_holds_no_frames(library):
    """Frames would keep the counted objects alive."""
    found = _exports.answer(library, raising(OverflowError("too far")))

    assert type(found) is OverflowError
    assert found.__traceback__ is None


def test_another_error_is_not_taken_for_a_refusal(library):
    """The error is not caught, and the check ends with an error."""
    with pytest.raises(OverflowError):
        _exports.granted(library, raising(OverflowError("too far")))


def test_the_legacy_struct_is_not_the_versioned_one(library):
    """A check of one generation does not apply to a library that only has the other."""
    x = library.make()
    old = Answering(lambda *, max_version=None: x.__dlpack__(max_version=max_version and None))

    with pytest.raises(NotApplicable, match="dltensor"):
        _exports.opened(library, old, "versioned")


# ------------------------------------------------------------------ meaning of refusals


def modern(x):
    """Return an array that only exports `x` to callers that send a version."""

    def answer(*, max_version=None, **keywords):
        if max_version is None:
            raise BufferError("ask with max_version")
        return x.__dlpack__(max_version=max_version, **keywords)

    return Answering(answer)


def test_a_way_is_a_struct_that_the_array_is_exported_as(library):
    """A refused or unknown struct is none: later refusals of other requests have no meaning."""
    x = library.make()
    old = Answering(lambda *, stream=None: x.__dlpack__(stream=stream))

    assert _exports.export_keywords(library, x) == [{}, {"max_version": (1, 3)}]
    assert _exports.export_keywords(library, modern(x)) == [{"max_version": (1, 3)}]
    assert _exports.export_keywords(library, old) == [{}]
    assert _exports.newest(library, old).name == b"dltensor"
    with pytest.raises(NotApplicable, match="whatever is asked"):
        _exports.export_keywords(library, raising(BufferError("no")))


def test_memory_elsewhere_is_not_judged_as_host_memory(library):
    """Other memory may have streams, for example."""
    with pytest.raises(NotApplicable, match=r"device \(1, 0\)"):
        _exports.export_keywords(library, library.make(), kind=13)


def test_a_struct_that_plain_arrays_never_leave_as_is_not_judged(library):
    """Refusals have no meaning if plain arrays are not exported as this struct."""
    modern_library = ProducerUnderTest(Subject("modern", make=lambda *_: modern(library.make())))

    _exports.require_generation(modern_library, "versioned")
    with pytest.raises(NotApplicable, match="plain arrays, too"):
        _exports.require_generation(modern_library, "legacy")


# ------------------------------------------------------------------ arrays


def test_an_array_of_one_axis_does_where_there_are_no_others():
    """Some libraries only have columns; the reason is that of the common shape, the first."""

    def make(shape, *_):
        if len(shape) != 1:
            raise CannotMakeError("columns only")
        return shape

    def refuse(shape, *_):
        raise CannotMakeError(f"{shape}?")

    assert _exports.some_array(ProducerUnderTest(Subject("columns", make=make))) == (6,)
    with pytest.raises(NotApplicable, match=r"\(2, 3\)\?"):
        _exports.some_array(ProducerUnderTest(Subject("nothing", make=refuse)))


@pytest.mark.parametrize("make", [honest_producer, honest_constants])
def test_elements_are_numbered(make):
    """They are 0, 1, ... in C order, as int32: through a capsule, or from the beginning."""
    x, elements, form = _exports.numbered(ProducerUnderTest(make()), [(2, 2)])

    assert form == ((2, 2), "int32")
    assert x.array.tolist() == [[0, 1], [2, 3]]
    assert b"".join(elements) == x.array.tobytes()


@pytest.mark.parametrize(
    ("number", "dtype", "element"),
    [
        (7, "uint8", b"\7"),
        (-2, "int32", (-2).to_bytes(4, sys.byteorder, signed=True)),
        (3, "float64", struct.pack("=d", 3)),
        (3, "float16", struct.pack("=e", 3)),
        (1 + 2j, "complex64", struct.pack("=ff", 1, 2)),
        (3, "complex128", struct.pack("=dd", 3, 0)),
    ],
)
def test_numbers_are_held_in_the_bytes_of_their_type(library, number, dtype, element):
    """The byte order is that of the machine."""
    x, elements, _ = _exports.holding(library, [number], [Form((2,), dtype)])

    assert elements == [element] * 2
    assert x.array.tolist() == [number] * 2


def test_memory_that_must_not_be_written_is_not(library):
    """The contents would be unknown afterwards."""
    readonly = replace(
        library.subject, make=lambda *asked: library.subject.make(*asked[:3], readonly=True)
    )

    with pytest.raises(NotApplicable, match="no writable one of int32"):
        _exports.numbered(ProducerUnderTest(readonly), [(2, 2)])


# ------------------------------------------------------------------ memory


def test_a_meter_sees_the_arrays_of_a_library(library):
    """On Linux at least one meter sees them."""
    assert meter_for(library) in {allocated, resident}


def test_a_library_whose_memory_no_meter_sees_is_not_measured(library):
    """Its arrays may be views of one block, for example."""
    block = library.make((BLOCK,), "uint8")
    subject = Subject("views", make=lambda *_: block[:])

    with pytest.raises(NotApplicable, match="neither"):
        meter_for(ProducerUnderTest(subject))


def test_memory_that_is_given_back_late_is_measured_all_the_same(library):
    """A thread of the library may free the memory later."""
    late = [[bytearray(2**23)] for _ in range(2)]

    def release():
        if late:
            late.pop()

    def make(*asked):
        x = library.subject.make(*asked)
        if late:
            late[-1].clear()  # at least as much as is allocated is freed
        return x

    assert meter_for(ProducerUnderTest(Subject("late", make=make, release=release))) in {
        allocated,
        resident,
    }


def test_small_blocks_of_python_are_counted(library):
    """malloc is not called for small blocks."""
    keeping = []

    def act():
        keeping.extend(bytes(bytearray(64)) for _ in range(100))

    _, count = least_kept(library, (allocated, blocks), act)

    assert 95 < count < 110


def test_what_comes_once_is_not_kept(library):
    """The smaller of two measurements counts, since other code in the process allocates as well."""
    keeping = []

    def act():
        if len(keeping) < 15:
            keeping.append(bytearray(2**18))

    assert least_kept(library, (allocated,), act)[0] < 2**12


@pytest.mark.parametrize("size", [0, 2**18])
def test_what_is_kept_is_measured(library, size):
    """The growth is measured per call, to a few per cent."""
    keeping = []

    found = kept(library, allocated, lambda: keeping.append(bytearray(size)))

    assert size <= found < size + 2**12
