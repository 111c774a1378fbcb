"""An exception in flight survives every deleter, destructor and release callback."""

from __future__ import annotations

import functools

import pytest

pytestmark = pytest.mark.isolated

KINDS = ("pointer", "view", "reversed", "bfloat16", "empty", "buffer", "imported")
GENERATIONS = ("legacy", "versioned")
OF_A_PRODUCER = ("import", "import to cpu", "import of a capsule", "view of an import", "re-export")
OF_A_CAPSULE = ("unconsumed", "unconsumed versioned")
CONSUMERS = ("numpy", "torch", "jax", "tvm_ffi", "array_api_strict", "cuda.core", "warp")
PRODUCERS = (*CONSUMERS, "pyarrow")
TRUSTED = ("array_api_strict", "cuda.core", "jax", "numpy", "pyarrow", "torch", "tvm_ffi")
"""Libraries whose capsules have native destructors, which keep a pending exception."""
COLUMNS_OF_OTHERS = ("its column", "takes ours", "takes ours and hands it back")
of_columns = pytest.mark.usefixtures("arrow_zoo", "cores")


@pytest.fixture(scope="module")
def verdicts(run_isolated, need):
    """Return the result of every case of a subject, by case; each call runs once."""

    @functools.cache
    def run(subject, script="in_flight.py", core=None):
        if subject != "interchange":
            need(subject)
        env = {} if core is None else {"INTERCHANGE_CORE": core}
        lines = run_isolated(script, subject, env=env).splitlines()
        return dict(line.rsplit(": ", 1) for line in lines if ": " in line)

    return run


@pytest.fixture
def verdicts_of_columns(verdicts, core_env):
    """Return the result of every case of columns of Arrow, on one core."""
    core = core_env["INTERCHANGE_CORE"]
    return lambda subject: verdicts(subject, "in_flight_columns.py", core)


def of_libraries(names, cases):
    """Return pairs of a library and a case, with the marks for the libraries that they need."""
    return [
        pytest.param(name, case, marks=() if name == "numpy" else pytest.mark.interop)
        for name in names
        for case in cases
    ]


def test_a_python_destructor_is_detected(run_child):
    """The harness detects the fault that it tests for."""
    done = run_child("in_flight.py", "control")

    assert (done.returncode == 0, "SystemError" in done.stderr + done.stdout) == (False, True)


def test_our_objects_leave_an_exception_in_place(verdicts):
    """An array or a capsule of ours is dropped while an exception unwinds, in 56 cases."""
    found = verdicts("interchange")

    assert {case: verdict for case, verdict in found.items() if verdict != "ok"} == {}
    assert len(found) == len(KINDS) * (1 + 2 * len(GENERATIONS) + 3)


RELEASES = [
    *of_libraries(PRODUCERS, OF_A_PRODUCER),
    *of_libraries(TRUSTED, OF_A_CAPSULE),
    *of_libraries(CONSUMERS, ("takes and hands back",)),
]


@pytest.mark.parametrize(("library", "case"), RELEASES)
def test_objects_of_libraries_leave_an_exception_in_place(verdicts, library, case):
    """Imports, capsules with native destructors, and what a consumer releases, are freed then."""
    assert verdicts(library)[case] == "ok"


@pytest.mark.parametrize(("library", "kind"), of_libraries(CONSUMERS, (*KINDS, "a strange device")))
def test_a_consumer_keeps_its_own_errors(verdicts, library, kind):
    """An object that a consumer imports, or refuses with its own error, is released."""
    if (library, kind) == ("torch", "reversed"):
        pytest.skip("torch ends the process over negative strides: pytorch#188023")
    found = verdicts(library)
    endings = {found[f"takes {kind} {generation}"].split(" by ")[0] for generation in GENERATIONS}

    assert endings <= {"taken", "refused"}


def test_numpy_refuses_a_strange_device(verdicts):
    """The case in which a consumer drops a capsule with its error set is really there."""
    assert verdicts("numpy")["takes a strange device versioned"].startswith("refused by ")


@pytest.mark.parametrize(("library", "kind"), of_libraries(CONSUMERS, ("pointer", "imported")))
def test_a_consumer_takes_plain_memory(verdicts, library, kind):
    """Plain memory of ours is imported in at least one generation, so the cases are real."""
    found = verdicts(library)

    assert "taken" in {found[f"takes {kind} {generation}"] for generation in GENERATIONS}


# ---------------------------------------------------------------- columns of Arrow


@of_columns
def test_our_columns_leave_an_exception_in_place(verdicts_of_columns):
    """An import or a capsule is dropped while an exception unwinds, in 25 cases."""
    found = verdicts_of_columns("interchange")

    assert {case: verdict for case, verdict in found.items() if verdict != "ok"} == {}
    assert len(found) == 25


@of_columns
@pytest.mark.interop
@pytest.mark.parametrize("case", COLUMNS_OF_OTHERS)
@pytest.mark.parametrize("library", ["pyarrow", "polars", "nanoarrow"])
def test_columns_of_others_leave_an_exception_in_place(verdicts_of_columns, library, case):
    """Imports from a library, and its imports of ours, are freed as well."""
    assert verdicts_of_columns(library)[case] == "ok"
