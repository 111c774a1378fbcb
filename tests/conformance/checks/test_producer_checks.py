"""Checks of producers: what no mutant shows, on odd producers and on real libraries."""

from __future__ import annotations

import json

import numpy as np
import pytest
from interchange_conformance.checks._views import LINE, TABLE, VIEWS
from interchange_conformance.checks.element_types import ELEMENT_TYPES

from interchange.abi import DLDataTypeCode

MODULES = (
    "capsule_form", "copies", "element_types", "errors", "host_devices", "layouts", "lifetime",
    "negotiation", "readonly", "releasing",
)  # fmt: skip

JUDGE = """
import json, sys
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.registry import load_checks
from interchange_conformance.running.execution import execute
from interchange_conformance.subject import Subject
from interchange_conformance.zoo import ELEMENTS, SIGNATURES, Deviceless, Speechless, host

kind, modules = {**SIGNATURES, "deviceless": Deviceless, "speechless": Speechless}[sys.argv[1]], (
    sys.argv[2].split(",")
)

def make(shape, dtype, device, readonly):
    many = len(shape) == 1 and shape[0] > 2**16  # they are numbered one by one
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
ODD = {
    "modern": LENIENT | ANY_STREAM,
    "keywords": LENIENT | ANY_STREAM | {"unknown_keywords_raise_type_error"},
    "stream": OLD | ANY_STREAM,
    "opaque": OLD | ANY_STREAM,
    "none": OLD,
    "deviceless": LENIENT | ANY_STREAM | {"arrays_have_both_methods"},
    "speechless": {"arrays_have_both_methods", "arrays_speak_a_protocol"},
}
"""Kind of the zoo -> the checks that it fails, and nothing that it is thrown out for."""


# ------------------------------------------------------------------ odd producers


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_producer_fails_for_what_it_does_and_for_nothing_else(run_isolated, kind):
    """Old ones and sloppy ones: no check stumbles over what they lack."""
    printed = run_isolated(JUDGE, kind, ",".join(MODULES), warnings="default")
    found = json.loads(printed)

    assert set(found) <= {"fail"}, found
    assert set(found.get("fail", {})) == ODD[kind], found


# ------------------------------------------------------------------ what is known of libraries


@pytest.mark.parametrize(
    ("library", "subject", "item", "words"),
    [
        ("numpy", "numpy", "streams_are_refused_with_value_error[1]", "RuntimeError"),
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
            "lazy_values_are_applied_or_refused[imaginary-part-of-conjugated]",
            "(-2.0,) is due",
        ),
        ("warp", "warp", "shared_prototypes_are_left_alone", "PyCapsule_New"),
    ],
)
def test_known_deviations_are_found(need, run_isolated, library, subject, item, words):
    """By checks that know nothing of the library."""
    need(library)
    printed = run_isolated(SHIPPED, subject, item, warnings="default")
    status, evidence = json.loads(printed.splitlines()[-1])

    assert status == "fail", evidence
    assert words in evidence


# ------------------------------------------------------------------ tables


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_the_codes_are_those_of_the_header(name):
    """The table of element types is written out, and agrees with the ABI's constants."""
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
    """The elements and the shape that a check expects are right."""
    view = VIEWS[name]
    base = np.arange(24 if view.axes == 2 else LINE, dtype=np.int32)
    elements = [number.tobytes() for number in base]

    if name == "spread":
        theirs = np.broadcast_to(base.reshape(TABLE)[2:3, :], (5, 6))
    else:
        theirs = view.make(base.reshape(TABLE if view.axes == 2 else (LINE,)))
    due = view.due(elements)

    assert due.shape == theirs.shape
    assert due.elements == [number.tobytes() for number in theirs.ravel()]
