"""Each mutant is caught by its check, and no check fails for an honest counterpart."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

from interchange.abi import RULES
from interchange_conformance.driver import cuda
from interchange_conformance.registry import load_checks
from mutants import load_mutants
from mutants.trying import (
    Trials,
    counterparts,
    failures,
    failures_of_counterpart,
    items_of,
)

TESTS = Path(__file__).parents[2]
CHECKS = load_checks()
MUTANTS = load_mutants()
COUNTERPARTS = counterparts(MUTANTS.values())
ONE_OF_EACH_ROLE = set(
    {role: f"{counterpart}-{role}" for counterpart, role in reversed(COUNTERPARTS)}.values()
)
ONE_OF_EACH_MODULE = set({name.partition(".")[0]: name for name in reversed(MUTANTS)}.values())


@pytest.fixture(scope="module")
def trials():
    """Return a process that runs checks, with the emulated driver if it can be built."""
    with Trials({**os.environ, **cuda.environment()}) as tried:
        yield tried


@pytest.fixture(scope="module")
def is_emulated():
    """Return whether the emulated driver is available."""
    return cuda.environment()[cuda.VARIABLE] == "emulated"


@pytest.mark.exhaustive(but=ONE_OF_EACH_MODULE)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(trials, is_emulated, name):
    """The check of the mutant catches it, and the honest counterpart passes."""
    mutant = MUTANTS[name]
    if CHECKS[mutant.check].on == "cuda" and not is_emulated:
        pytest.skip("needs a CUDA driver, and the emulated one cannot be built here")

    assert failures(mutant, trials) == []


@pytest.mark.exhaustive(but=ONE_OF_EACH_ROLE)
@pytest.mark.parametrize(("counterpart", "role"), COUNTERPARTS)
def test_nothing_is_found_in_an_honest_subject(trials, counterpart, role):
    """No check of its role fails, at any severity."""
    assert failures_of_counterpart(COUNTERPARTS[counterpart, role], role, trials) == []


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_can_fail(name):
    """A mutant breaks the rule on purpose: a check that never fails is useless."""
    assert [mutant for mutant in MUTANTS.values() if mutant.check == name]


TESTED = {
    "array/test_allocators.py": {
        "IX-ALLOCATOR-1": "test_errors_of_the_allocator_come_through_and_nothing_leaks",
    },
    "array/test_array_copies.py": {
        "IX-DRIVER-1": "test_without_a_driver_nothing_is_moved",
    },
    "array/test_array_views.py": {
        "IX-AXES-1": "test_axes_name_each_dimension_once",
        "IX-INDEX-1": "test_an_index_out_of_bounds_or_of_another_kind_is_refused",
        "IX-VIEW-1": "test_a_shape_with_another_product_is_refused",
    },
    "array/test_standard_names.py": {
        "IX-API-1": "test_functions_have_the_parameters_of_the_standard",
    },
    "array/test_transfers_room.py": {
        "IX-DRIVER-2": "test_an_error_of_the_driver_is_named",
        "IX-DRIVER-4": "test_without_room_nothing_is_enqueued",
    },
    "cli/test_cli_targets.py": {
        "IX-CONVERT-3": "test_a_silent_copy_or_cast_is_refused",
    },
    "cuda/test_cuda_arrow_in.py": {
        "ARROW-DEVICE-2": "test_a_consumer_sees_what_was_written_before_the_event",
    },
    "functions/test_arrow_bools.py": {
        "ARROW-BOOL-1": "test_packed_bools_are_not_shared",
    },
    "functions/test_asarray.py": {
        "IX-CAST-1": "test_nothing_is_cast",
    },
    "functions/test_borrow.py": {
        "IX-BORROW-1": "test_device_memory_is_borrowed_for_a_stream",
    },
    "functions/test_convert.py": {
        "IX-ARGUMENT-1": "test_a_library_is_named_by_text",
        "IX-CONVERT-1": "test_a_library_that_is_not_known_is_refused",
        "IX-CONVERT-2": "test_a_library_that_refuses_is_quoted",
    },
    "functions/test_copyto.py": {
        "IX-COPY-1": "test_casting_allows_what_its_name_means",
        "IX-COPY-2": "test_a_source_that_is_read_once_is_kept_by_the_error",
        "IX-COPY-3": "test_what_is_not_copied_is_refused_by_its_rule",
    },
    "functions/test_from_arrow_asked.py": {
        "ARROW-CHUNK-1": "test_several_chunks_are_refused",
        "ARROW-TYPE-1": "test_elements_of_several_widths_are_refused",
        "ARROW-TYPE-2": "test_storage_is_given_out_on_request",
    },
    "functions/test_from_arrow_copies.py": {
        "ARROW-NULL-3": "test_a_number_that_the_dtype_does_not_represent_is_refused",
        "IX-OUT-1": "test_out_that_does_not_fit_is_refused",
    },
    "functions/test_to_arrow_meaning.py": {
        "ARROW-OUT-10": "test_what_is_not_the_storage_is_refused",
    },
    "protocols/test_arrow_meaning.py": {
        "ARROW-TYPE-3": "test_chunks_of_one_dictionary_are_joined",
    },
    "functions/test_from_arrow_nulls.py": {
        "ARROW-NULL-2": "test_nulls_are_refused_with_their_number",
    },
    "functions/test_from_buffer_bytes.py": {
        "IX-BUFFER-1": "test_each_argument_is_refused_by_its_rule",
        "IX-BUFFER-2": "test_bytes_that_are_not_contiguous_are_not_reinterpreted",
    },
    "functions/test_from_pointer.py": {
        "IX-POINTER-1": "test_each_argument_is_refused_by_its_rule",
    },
    "functions/test_producer_mixin.py": {
        "IX-PRODUCER-1": "test_an_answer_that_is_no_array_is_refused",
    },
    "functions/test_sharing.py": {
        "IX-SHARE-1": "test_another_platform_is_refused",
        "IX-SHARE-2": "test_other_memory_is_refused_or_copied_once",
        "IX-SHARE-3": "test_damaged_bytes_are_refused",
        "IX-SHARE-4": "test_memory_that_was_let_go_is_refused",
        "IX-SHARE-5": "test_another_user_is_refused",
        "IX-SHARE-6": "test_a_file_that_was_cut_is_refused",
    },
    "emucuda/test_emucuda_sharing.py": {
        "IX-SHARE-7": "test_other_kinds_of_memory_are_refused_or_copied",
    },
    "functions/test_to_arrow_options.py": {
        "ARROW-OUT-4": "test_masks_are_refused_by_their_rule",
        "ARROW-OUT-5": "test_nulls_need_a_nullable_field",
        "ARROW-OUT-6": "test_offsets_are_refused_by_their_rule",
        "ARROW-OUT-7": "test_lists_of_arrays_are_refused_by_their_rule",
    },
    "functions/test_to_arrow_stream.py": {
        "ARROW-OUT-8": "test_an_iterator_is_exported_once_and_a_list_again",
        "ARROW-OUT-9": "test_no_batches_have_no_type",
    },
    "functions/test_to_arrow_refused.py": {
        "ARROW-OUT-1": "test_elements_that_have_no_view_as_numbers",
        "ARROW-OUT-2": "test_a_fix_leads_out",
        "ARROW-OUT-3": "test_a_table_or_a_handle_is_refused",
    },
    "functions/test_accepts_arrays_contracts.py": {
        "IX-REQUIRE-1": "test_all_that_differs_is_in_one_error",
    },
    "functions/test_without_native.py": {
        "ARROW-CORE-1": "test_nothing_goes_out_as_arrow",
    },
    "functions/test_from_arrow_variable_tensors.py": {
        "ARROW-TENSOR-2": "test_tensors_that_contradict_their_type_are_refused",
    },
    "functions/test_from_arrow_ragged.py": {
        "ARROW-CHUNK-2": "test_joined_offsets_must_fit",
        "ARROW-VIEW-1": "test_text_in_views_is_not_joined_without_a_copy",
    },
    "functions/test_from_arrow_tables.py": {
        "ARROW-FIELD-1": "test_a_column_has_no_fields",
        "ARROW-FIELD-2": "test_what_a_table_does_not_have_is_refused",
    },
    "functions/test_batches.py": {
        "ARROW-BATCH-1": "test_tables_with_another_schema_are_refused",
        "ARROW-BATCH-2": "test_a_second_loop_is_refused",
    },
    "isolated/test_malformed_arrow.py": {
        "ARROW-OFFSET-3": "test_a_lie_is_refused_by_its_rule",
        "ARROW-OFFSET-4": "test_a_lie_is_refused_by_its_rule",
        "ARROW-TENSOR-1": "test_a_lie_is_refused_by_its_rule",
    },
    "streams/test_driver.py": {
        "IX-DRIVER-3": "test_after_a_fork_the_child_is_told",
    },
}
"""File -> rule of interchange itself, not for libraries -> the test that checks it."""
CHECKED_BY_TESTS = {
    rule: (file, test) for file, rules in TESTED.items() for rule, test in rules.items()
}
MUST = [
    rule
    for rule in RULES
    if RULES[rule].severity == "MUST" and not rule.startswith("CPY-")  # about kernels
]


@pytest.mark.parametrize("rule", [rule for rule in MUST if rule not in CHECKED_BY_TESTS])
def test_every_rule_that_must_be_kept_is_checked(rule):
    """Rules about kernels and rules in the table are exempt."""
    assert [check for check in CHECKS.values() if check.rule == rule]


@pytest.mark.parametrize("rule", CHECKED_BY_TESTS)
def test_a_rule_without_a_check_has_a_test_that_cites_it(rule):
    """The test exists, and its text contains the id."""
    file, name = CHECKED_BY_TESTS[rule]
    text = (TESTS / file).read_text(encoding="utf-8")
    (test,) = (
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.name == name
    )
    first = min(node.lineno for node in (test, *test.decorator_list))
    lines = text.splitlines()[first - 1 : test.end_lineno]

    assert rule in MUST
    assert not [check for check in CHECKS.values() if check.rule == rule]
    assert re.search(rf"\b{rule}\b", "\n".join(lines))


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_says_what_it_breaks(name):
    """The page of mutants shows the sentence; the check of the mutant exists."""
    mutant = MUTANTS[name]

    assert mutant.breaks.endswith(".")
    assert mutant.check in CHECKS
    assert items_of(mutant)
