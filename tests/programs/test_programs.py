"""Ten programs, as users write them: each runs without a warning and prints the expected output."""

from __future__ import annotations

import ast

import pytest

from .places import EXAMPLES, PATHS

LONGEST = 40
"""Maximum length of a program [lines], without comments, empty lines and its command line code."""
POINTS = "[[0.0, 10.0], [20.0, 30.0], [40.0, 50.0]]"
SPEED = """\
Array(shape=(3, 2), dtype=float32, device=cpu, strides=(2, 1), readonly=True, owner=pyarrow.lib.\
ChunkedArray,
      [[1., 2.],
       [3., 4.],
       [5., 6.]])
shared: True
{} has [3.0, 0.0, 5.0] and Arrow [3.0, None, 5.0]
"""
CLASSES = {"numpy": "ndarray", "array_api_strict": "Array", "torch": "Tensor"}
EMULATED = """
import runpy
import sys

from interchange_conformance import emucuda

emulator = emucuda.load()
sys.path.insert(0, sys.argv[2])
runpy.run_path(sys.argv[1], run_name="__main__")
print(emulator.reports())
"""

libraries = pytest.mark.parametrize(
    "library", ["numpy", "array_api_strict", pytest.param("torch", marks=pytest.mark.interop)]
)


@pytest.fixture
def run(run_isolated, core_env):
    """Return a function that runs a program by name with each core, and returns its output."""
    return lambda name, *words: run_isolated(str(PATHS[name]), *words, env=core_env)


@pytest.fixture
def known(library, need):
    """Return the name of a library that is here."""
    need(library)
    return library


@pytest.mark.isolated
def test_any_array_is_accepted_in_a_call_by_ctypes(run):
    """A function of C fills arrays of NumPy, of Python and of ctypes, where they are."""
    assert run("fill_any") == "[[7, 7, 7], [7, 7, 7]] [8, 8] [9, 9]\n"


@pytest.mark.isolated
@libraries
def test_a_mapped_file_is_shared(run, known, tmp_path):
    """A write into one Array of the file is visible in a library, and is in the file."""
    path = tmp_path / "points"

    assert run("mapped_file", known, path) == f"{known} sees {POINTS}\nthe file has {POINTS}\n"
    assert memoryview(path.read_bytes())[8:].cast("f").tolist() == [0, 10, 20, 30, 40, 50]


@pytest.mark.isolated
@pytest.mark.interop
@pytest.mark.parametrize("library", ["numpy", "array_api_strict", "torch"])
def test_a_column_of_arrow_is_shared_and_copied_for_who_forgets_that_it_is_read_only(
    run, known, need
):
    """The Array is the table's memory; a library that writes gets its own memory."""
    need("pyarrow")

    assert run("arrow_column", known) == SPEED.format(known)


@pytest.mark.isolated
def test_bfloat16_arrives_in_numpy(run, tmp_path):
    """bfloat16 arrives in NumPy as the type of ml_dtypes, read-only as the mapped file."""
    path = tmp_path / "weights"

    assert run("bfloat16_weights", path) == "bfloat16 False\n[1.0, 2.0, 3.0, -1.0]\n"


@pytest.mark.isolated
@pytest.mark.emulated
def test_a_launcher_takes_arrays_of_any_stream(run_isolated, core_env, need, emulator):
    """It launches on the caller's, with strides; and no access races with another."""
    need("cuda.bindings.driver")
    del emulator  # the child loads its own: this one shows that it can be built

    printed = run_isolated(EMULATED, PATHS["launcher"], EXAMPLES, env=core_env)

    assert printed == "[3.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0, 1.0]\n[]\n"


@pytest.mark.isolated
def test_a_validated_function_takes_any_array(run):
    """Bytes of a network come in, an ndarray and an array of Python go out."""
    assert run("validated") == "[258   7]\nb'\\x01\\x02\\x00\\x07'\n"


@pytest.mark.isolated
def test_shared_memory_is_filled_by_two_processes(run):
    """Each writes its rows, and no block is left behind."""
    rows = [[float(row)] * 3 for row in range(4)]

    assert run("shared_memory") == f"{rows}\n"


@pytest.mark.isolated
def test_a_frame_of_a_network_becomes_arrays(run):
    """The time and the image are views of the one buffer that was received."""
    assert run("network_frame") == "12.5 float32 [[0.0, 2.0], [3.0, 5.0]]\n"


@pytest.mark.isolated
@libraries
def test_an_array_agnostic_function_answers_in_the_library_of_its_argument(run, known):
    """A column that does not vary is 0, and not divided by 0."""
    assert run("standardize", known) == "True [[-1.0, 0.0], [1.0, 0.0]]\n"


@pytest.mark.isolated
@libraries
def test_a_producer_written_in_python_is_an_array_to_every_library(run, known):
    """A view of the ring's memory shows frames that are pushed later."""
    assert run("frame_ring", known) == f"b'ghidef' {CLASSES[known]}\n"


# ---------------------------------------------------------------- properties of the programs


def lines_of(path):
    """Return how many lines a program has, as `LONGEST` counts them."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    words = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)
        for line in range(node.lineno, node.end_lineno + 1)
    }
    last = tree.body[-1].lineno if isinstance(tree.body[-1], ast.If) else len(text)
    numbered = enumerate(text.splitlines(), start=1)
    return sum(bool(line.strip()) and n not in words and n < last for n, line in numbered)


def test_there_are_ten():
    """Each is a file."""
    assert [path.is_file() for path in PATHS.values()] == [True] * 10


@pytest.mark.parametrize("name", PATHS)
def test_each_is_of_ten_to_forty_lines(name):
    """A longer program is no example of how easy it is."""
    assert 10 <= lines_of(PATHS[name]) <= LONGEST
