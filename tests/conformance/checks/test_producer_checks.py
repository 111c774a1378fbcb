"""Checks of producers that mutants do not cover, on unusual producers and on real libraries."""

from __future__ import annotations

import ctypes
import json
import sys

import numpy as np
import pytest

from interchange.abi import DLDataTypeCode
from interchange_conformance.checks import host_interfaces, releasing
from interchange_conformance.checks._views import LINE, TABLE, VIEWS
from interchange_conformance.checks.element_types import ELEMENT_TYPES

MODULES = (
    "capsule_form", "copies", "element_types", "errors", "host_devices", "layouts", "lifetime",
    "negotiation", "readonly", "releasing",
)  # fmt: skip

JUDGE = """
import json, math, sys
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.registry import load_checks
from interchange_conformance.running.execution import execute
from interchange_conformance.subject import Subject
from interchange_conformance.zoo import ELEMENTS, SIGNATURES, Deviceless, Speechless, host

kind, modules = {**SIGNATURES, "deviceless": Deviceless, "speechless": Speechless}[sys.argv[1]], (
    sys.argv[2].split(",")
)

def make(shape, dtype, device, readonly):
    many = math.prod(shape) > 2**16  # they are numbered one by one
    if device != "cpu" or dtype not in ELEMENTS or readonly or many:
        raise CannotMakeError("the zoo has none")
    return host(shape, dtype, kind=kind)

found = {}
for check in load_checks().values():
    if check.function.__module__.rpartition(".")[2] not in modules or check.role != "producer":
        continue
    for item in () if check.fresh else check.items():
        status, evidence = execute(item, Subject("zoo", make=make))
        if status not in {"pass", "not-applicable"}:
            found.setdefault(status, {})[check.name] = evidence
print(json.dumps(found))
"""

SHIPPED = """
import json, sys
from interchange_conformance.registry import load_checks
from interchange_conformance.running.execution import execute
from interchange_conformance.running.loading import load_subject
load_checks()
print(json.dumps(execute(sys.argv[2], load_subject(sys.argv[1]))))
"""

LENIENT = {
    "malformed_copy_arguments_are_refused",
    "devices_in_a_list_are_refused",
    "malformed_versions_are_refused",
}
ANY_STREAM = {
    "host_memory_takes_no_stream",
    "host_memory_takes_no_stream_minus_1",
    "streams_are_ints",
}
OLD = {"keywords_of_the_standard_are_taken"}
KEPT = {"structs_are_freed"}  # the zoo records each loan
RECORDED = KEPT | {"refused_exports_keep_nothing"}  # and each request
ODD = {
    "modern": LENIENT | ANY_STREAM | RECORDED,
    "keywords": LENIENT | ANY_STREAM | RECORDED | {"unknown_keywords_raise_type_error"},
    "stream": OLD | ANY_STREAM | KEPT,
    "opaque": OLD | ANY_STREAM | KEPT,
    "none": OLD | KEPT,
    "deviceless": LENIENT | ANY_STREAM | RECORDED | {"arrays_have_both_methods"},
    "speechless": {"arrays_have_both_methods", "arrays_speak_a_protocol"},
}
"""Kind of the zoo -> the checks that it fails; others pass or do not apply."""


# ------------------------------------------------------------------ unusual producers


@pytest.mark.exhaustive(but=["speechless"])
@pytest.mark.parametrize("kind", ODD)
def test_an_odd_producer_fails_for_what_it_does_and_for_nothing_else(run_isolated, kind):
    """Old and incomplete producers do not make other checks fail."""
    printed = run_isolated(JUDGE, kind, ",".join(MODULES), warnings="default")
    found = json.loads(printed)

    assert set(found) <= {"fail"}, found
    assert set(found.get("fail", {})) == ODD[kind], found


# ------------------------------------------------------------------ known deviations


@pytest.mark.interop
@pytest.mark.parametrize(
    ("library", "subject", "item", "words"),
    [
        ("tvm_ffi", "tvm-ffi", "copy_true_never_shares_memory[legacy]", "copy=True"),
        (
            "cuda.core",
            "cuda-core",
            "readonly_memory_is_not_handed_out_as_legacy[readonly]",
            "nothing in it says",
        ),
        ("torch", "torch", "copies_are_flagged", "0x0"),
        (
            "torch",
            "torch",
            "lazy_values_are_applied_or_refused[versioned-imaginary-part-of-conjugated]",
            "(-2.0,) is due",
        ),
        ("warp", "warp", "shared_prototypes_are_left_alone", "PyCapsule_New"),
    ],
)
def test_known_deviations_are_found(need, run_isolated, library, subject, item, words):
    """The checks have no knowledge of the library."""
    need(library)
    printed = run_isolated(SHIPPED, subject, item, warnings="default")
    status, evidence = json.loads(printed.splitlines()[-1])

    assert status == "fail", evidence
    assert words in evidence


def test_the_class_of_numpys_refusal_is_found(run_isolated):
    """It is RuntimeError before NumPy 2.5; the standard suggests ValueError."""
    is_fixed = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 5)
    check = "streams_are_refused_with_value_error[1]"
    printed = run_isolated(SHIPPED, "numpy", check, warnings="default")
    status, evidence = json.loads(printed.splitlines()[-1])

    assert (status, "RuntimeError" in evidence) == (("pass", False) if is_fixed else ("fail", True))


@pytest.mark.parametrize(
    "check",
    [
        "elements_in_foreign_byte_order_stay[versioned-int32]",
        "elements_that_are_no_numbers_stay[versioned-objects]",
        "elements_that_are_no_numbers_stay[legacy-records]",
        "element_types_are_refused_with_buffer_error[versioned-times]",
    ],
)
def test_a_shipped_subject_makes_what_dlpack_has_no_words_for(run_isolated, check):
    """NumPy has such elements and refuses them; otherwise the checks would not be used."""
    printed = run_isolated(SHIPPED, "numpy", check, warnings="default")

    assert json.loads(printed.splitlines()[-1])[0] == "pass"


# ---------------------------------------------------------------- producers that refuse everything

VERSIONED_ONLY = """
import json
from mutants._honest_producer import Honest, asks_version, producer_of
from interchange_conformance.registry import load_checks
from interchange_conformance.running.execution import execute

class Modern(Honest):
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if not asks_version({"max_version": max_version}):
            raise BufferError("ask with max_version")
        return super().__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

found = {}
for check in load_checks().values():
    if check.role == "producer" and check.on == "host" and not check.fresh:
        for item in check.items():
            found[item] = execute(item, producer_of(Modern))
print(json.dumps(found))
"""


def test_who_has_dropped_the_legacy_struct_breaks_nothing(run_isolated):
    """This is allowed; if all exports are refused, refusals prove nothing."""
    found = json.loads(run_isolated(VERSIONED_ONLY, warnings="default"))
    bad = {item: end for item, end in found.items() if end[0] not in {"pass", "not-applicable"}}

    assert bad == {}
    assert found["elements_that_are_no_numbers_stay[legacy-objects]"][0] == "not-applicable"
    assert found["elements_that_are_no_numbers_stay[versioned-objects]"][0] == "pass"
    assert found["devices_out_of_reach_raise_buffer_error[legacy-cuda]"][0] == "not-applicable"
    assert found["host_memory_takes_no_stream[1]"][0] == "pass"


CONSTANTS = """
import json, sys
from dataclasses import replace
from mutants._honest_producer import honest_constants
from interchange_conformance.registry import load_checks
from interchange_conformance.running.execution import execute

subject = honest_constants()
make_from = subject.make_from
subject = replace(subject, make_from={
    "as-given": make_from,
    "reversed": lambda numbers, *how: make_from(numbers[::-1], *how),
    "left-out": None,
}[sys.argv[1]])
load_checks()
print(json.dumps(execute("copies_hold_the_elements[every-third]", subject)))
"""


@pytest.mark.parametrize(
    ("make", "status", "words"),
    [
        ("as-given", "pass", ""),
        ("reversed", "fail", "an array of [0, 1, 2"),
        ("left-out", "not-applicable", "the subject describes no make_from()"),
    ],
)
def test_arrays_that_are_never_written_are_made_of_numbers(run_isolated, make, status, words):
    """The exported values are compared with those from which the array was created."""
    found = json.loads(run_isolated(CONSTANTS, make, warnings="default"))

    assert found[0] == status
    assert words in found[1]


ALLOWED = """
import json, sys
from mutants._honest_producer import Honest, patched, producer_of
from interchange_conformance.registry import load_checks
from interchange_conformance.running.execution import execute

class Unshared(Honest):
    def __dlpack__(self, *, copy=None, **keywords):
        if copy is False:
            raise ValueError("the memory is compressed")
        return super().__dlpack__(copy=True, **keywords)

class Metal(Honest):
    def __dlpack__(self, *, stream=None, **keywords):
        return super().__dlpack__(**keywords)

class Wrapping(Honest):
    def __getitem__(self, index):
        if isinstance(index, slice) and index.start is not None and index.start >= 12:
            index = slice(index.start - 12, None)
        return super().__getitem__(index)

def to_metal(opened, x):
    opened.tensor.device.device_type = 8

subjects = {
    "unshared": producer_of(Unshared),
    "metal": patched(to_metal, kind=Metal),
    "wrapping": producer_of(Wrapping),
}
load_checks()
print(json.dumps(execute(sys.argv[2], subjects[sys.argv[1]])))
"""


@pytest.mark.parametrize(
    ("subject", "item"),
    [
        ("unshared", "memory_is_shared_if_it_can_be[versioned]"),
        ("metal", "host_memory_takes_no_stream[1]"),
        ("metal", "streams_are_ints[text]"),
        ("wrapping", "empty_slices_have_extent_0[beyond-the-end]"),
    ],
)
def test_a_rule_is_not_stretched(run_isolated, subject, item):
    """Other error classes, other devices and slices out of bounds are not covered by it."""
    status, evidence = json.loads(run_isolated(ALLOWED, subject, item, warnings="default"))

    assert status == "not-applicable", evidence


# ------------------------------------------------------------------ threads


def test_what_a_thread_ends_with_is_a_complaint():
    """Unraisable exceptions of finalizers are reported as well."""

    class Complaining:
        def __del__(self):
            raise RuntimeError("from a finaliser")

    def work():
        Complaining()
        raise ValueError("from the thread")

    with releasing._hook_reports() as found:
        releasing._run([releasing.threading.Thread(target=work)])

    assert len(found) == 2
    assert "from a finaliser" in found[0]
    assert "from the thread" in found[1]


def test_the_hooks_are_put_back():
    """The hooks belong to the process, and a check replaces them temporarily."""
    before = sys.unraisablehook

    with pytest.raises(KeyError), releasing._hook_reports():
        raise KeyError

    assert sys.unraisablehook is before


def test_shared_constants_are_no_part_of_an_array():
    """The reference counts of None and of small integers change for many reasons."""
    x = type("Array", (), {})()
    x.memory, x.nothing, x.count, x.kind = bytearray(4), None, 3, int

    parts = releasing._parts(x)

    assert parts == [x, x.memory]


# ------------------------------------------------------------------ tables


@pytest.mark.parametrize(
    ("order", "letters", "size"),
    [("@", "l", ctypes.sizeof(ctypes.c_long)), ("<", "l", 4), ("=", "q", 8), ("@", "Zd", 16),
     ("<", "n", None), ("@", "", 0)],
)  # fmt: skip
def test_the_size_of_a_format_is_what_pep_3118_says(order, letters, size):
    """Sizes are native or standard, and None for unknown formats."""
    assert host_interfaces._size(order, letters) == size


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_the_codes_are_those_of_the_header(name):
    """The table of element types agrees with the constants of the ABI."""
    code, bits, _ = ELEMENT_TYPES[name]
    words = {
        "bool": "kDLBool", "int": "kDLInt", "uint": "kDLUInt", "float": "kDLFloat",
        "complex": "kDLComplex", "bfloat": "kDLBfloat",
    }  # fmt: skip
    plain = name.rstrip("0123456789")

    assert DLDataTypeCode(code).name == words.get(plain, f"kDL{name.capitalize()}")
    assert bits == 8 or name.endswith(str(bits))


@pytest.mark.parametrize("name", VIEWS)
def test_what_is_due_of_a_view_is_what_numpy_makes_of_it(name):
    """The elements and the shape that a check expects are those of NumPy."""
    view = VIEWS[name]
    shape = (TABLE, (LINE,))[view.axes == 1]
    base = np.arange(np.prod(shape), dtype=np.int32)
    elements = [number.tobytes() for number in base]

    if name == "spread":
        theirs = np.broadcast_to(base.reshape(TABLE)[2:3, :], (5, 6))
    else:
        theirs = view.make(base.reshape(shape))
    due = view.due(elements, shape)

    assert due.shape == theirs.shape
    assert due.elements == [number.tobytes() for number in theirs.ravel()]
