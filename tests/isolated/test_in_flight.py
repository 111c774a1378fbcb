"""An exception in flight survives every deleter and every destructor: ours, and everybody's."""

from __future__ import annotations

import functools

import pytest

from interchange._types.libraries import all_libraries

pytestmark = pytest.mark.isolated

KINDS = ("pointer", "view", "reversed", "bfloat16", "empty", "buffer", "imported")
GENERATIONS = ("legacy", "versioned")
OF_OURS = [
    *(f"array {kind}" for kind in KINDS),
    *(f"capsule {kind} {generation}" for kind in KINDS for generation in GENERATIONS),
    *(f"import of a capsule {kind} {generation}" for kind in KINDS for generation in GENERATIONS),
    *(
        f"in {where} {kind}"
        for kind in KINDS
        for where in ("__del__", "a generator", "a traceback")
    ),
]
OF_A_PRODUCER = (
    "import",
    "import to cpu",
    "import of a capsule",
    "view of an import",
    "re-export",
)
OF_A_CAPSULE = ("unconsumed", "unconsumed versioned")
CONSUMERS = ("numpy", "torch", "jax", "tvm_ffi", "array_api_strict", "cuda.core", "warp")
PRODUCERS = (*CONSUMERS, "pyarrow")
NATIVE_RELEASE = [library.name for library in all_libraries() if library.native_release]
TRUSTED = sorted(
    {"cuda": "cuda.core"}.get(name, name)
    for name in NATIVE_RELEASE
    if name != "cupy"  # a GPU
)


@pytest.fixture(scope="module")
def verdicts(run_isolated, need):
    """Return what became of every case of a subject, by case; each subject runs once."""

    @functools.cache
    def run(subject):
        if subject != "interchange":
            need(subject)
        lines = run_isolated("in_flight.py", subject).splitlines()
        return dict(line.rsplit(": ", 1) for line in lines if ": " in line)

    return run


def of_libraries(names, cases):
    """Return pairs of a library and a case, marked as those that need other libraries."""
    return [
        pytest.param(name, case, marks=() if name == "numpy" else pytest.mark.interop)
        for name in names
        for case in cases
    ]


def test_a_python_destructor_is_told_apart(run_child):
    """The harness sees the fault that it is there to see, so that its silence means something."""
    done = run_child("in_flight.py", "control")

    assert (done.returncode == 0, "SystemError" in done.stderr + done.stdout) == (False, True)


@pytest.mark.parametrize("case", OF_OURS)
def test_ours_dies_quietly(verdicts, case):
    """An array or a capsule of ours, dropped while an exception unwinds, leaves it in place."""
    assert verdicts("interchange")[case] == "ok"


@pytest.mark.parametrize(("library", "case"), of_libraries(PRODUCERS, OF_A_PRODUCER))
def test_an_import_dies_quietly(verdicts, library, case):
    """An import of another library, dropped while an exception unwinds, is freed all the same."""
    assert verdicts(library)[case] == "ok"


@pytest.mark.parametrize(("library", "case"), of_libraries(TRUSTED, OF_A_CAPSULE))
def test_trusted_destructors_are_native(verdicts, library, case):
    """Destructors of capsules leave a pending exception alone, where `Library` says so."""
    assert verdicts(library)[case] == "ok"


@pytest.mark.parametrize(("library", "case"), of_libraries(CONSUMERS, ("takes and hands back",)))
def test_a_consumer_lets_go_quietly(verdicts, library, case):
    """What a consumer hands back dies while an exception unwinds, and leaves it in place."""
    assert verdicts(library)[case] == "ok"


@pytest.mark.parametrize(("library", "kind"), of_libraries(CONSUMERS, (*KINDS, "a strange device")))
def test_a_consumer_keeps_its_own_errors(verdicts, library, kind):
    """What a consumer takes, or drops after its refusal, ends in its own words and is let go."""
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
    """Plain memory of ours is taken in one generation at least, so that the cases are not empty."""
    found = verdicts(library)

    assert "taken" in {found[f"takes {kind} {generation}"] for generation in GENERATIONS}
