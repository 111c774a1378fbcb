"""The descriptions of libraries in the kit are correct."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from interchange_conformance import subjects
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.running.loading import load_subject, roles_of, shipped
from interchange_conformance.zoo import ELEMENTS, host

DESCRIBED = subjects.described()
HERE = ("array-api-strict", "interchange", "numpy")  # installed in every test environment
OF_ARRAYS = [name for name, subject in DESCRIBED.items() if subject.make is not None]
OF_COLUMNS = [name for name, subject in DESCRIBED.items() if subject.make_arrow is not None]
DEVICES = ("cuda", "cuda:1", "managed", "pinned", "rocm")

every_name = pytest.mark.parametrize("name", DESCRIBED)


def _libraries(names):
    """Return a parametrize mark with names, some of which need libraries."""
    return pytest.mark.parametrize(
        "name",
        [
            name if name in HERE else pytest.param(name, marks=pytest.mark.interop)
            for name in sorted(names)
        ],
    )


LOADING = """
import sys
from interchange_conformance import subjects

heavy = {name for one in subjects.described().values() for name in one.preload}
print(sorted((heavy - {"interchange", "numpy", "numpy.ma"}) & set(sys.modules)))
"""

PROMISES = '''
import math, sys
from interchange_conformance.findings import CannotMakeError, NotApplicable
from interchange_conformance.running.loading import load_subject
from interchange_conformance.probes.array_metadata import metadata_of
from interchange_conformance.zoo import ELEMENTS, host

subject = load_subject(sys.argv[1])


def made(*asked):
    """Return an array, or None where the library has none."""
    try:
        return subject.make(*asked)
    except CannotMakeError:
        return None


for shape in ((2, 3), (5,), (), (0,), (2, 0, 3), (1,) * 64, (1,) * 65):
    x = made(shape, "float32", "cpu", False)
    said = [] if x is None else metadata_of(x)
    if said and all(one.shape != shape for one in said):
        print(shape, said)
for dtype in ELEMENTS:
    for readonly in (False, True):
        made((2, 3), dtype, "cpu", readonly)
for dtype in ("float32", "int64", "uint8"):
    for shape in ((2, 3), (6,)):
        source = host(shape, dtype)
        try:
            y = subject.take(source) if subject.take else None
            found = source.values() if y is None else subject.read(y)
        except (NotApplicable, ValueError) as error:  # such as a library of one axis
            continue
        if found != source.values():
            print(dtype, shape, found)
        try:
            subject.write and y is not None and subject.write(y)
        except Exception as error:
            print(dtype, "is not written:", type(error).__name__)
print("done")
'''
COLUMNS = '''
import sys
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.running.loading import load_subject

subject = load_subject(sys.argv[1])


class Plain:
    """What has a method of another object, and nothing else of it."""

    def __init__(self, x):
        names = ("__arrow_c_stream__", "__arrow_c_array__")
        name = next(one for one in names if hasattr(x, one))
        kind = type("Plain", (), {name: lambda _, requested_schema=None: getattr(x, name)()})
        self.plain = kind()


rows = [[0, 1, 2], [3, 4, 5]]
for values, dtype, start, chunks in (
    ([0, 1, 2, 3], "int32", 0, 1),
    ([0, 1, 2, 3], "float64", 1, 1),
    ([0, None, 2, 3], "int16", 1, 1),
    ([True, False, True], "bool", 0, 1),
    (["a", "bc"], "string", 0, 1),
    (rows, "float32[3]", 1, 1),
    ([rows, rows], "int64[2][3]", 0, 1),
    ([0, 1, 2, 3], "uint8", 0, 2),
):
    try:
        x = subject.make_arrow(values, dtype, start, chunks)
    except CannotMakeError:
        continue
    found = subject.read_arrow(subject.take_arrow(Plain(x).plain))
    if found != values[start:]:
        print(dtype, start, chunks, found)
print("done")
'''
UNWRITTEN = {"jax": "TypeError", "pyarrow-array": "TypeError"}  # whose arrays are immutable


# ---------------------------------------------------------------- every description


def test_the_descriptions_are_those_that_a_command_line_finds():
    """Each module has one description, and all are listed."""
    assert set(DESCRIBED) == set(shipped())


def test_reading_them_imports_no_library(run_isolated):
    """The library is imported when an array is requested."""
    assert run_isolated(LOADING) == "[]\n"


@every_name
def test_a_description_can_be_judged(name):
    """It has a role, a unique name, and the distribution of its release."""
    subject = DESCRIBED[name]

    assert roles_of(subject)
    assert subject.distribution
    assert [one.name for one in DESCRIBED.values()].count(subject.name) == 1


@every_name
def test_a_description_says_where_it_is_from(name):
    """Its module cites the library's documentation: a page, or a folder in a repository."""
    module = importlib.import_module(shipped()[name])
    source = "its API reference (``docs/api``)" if name == "interchange" else "https://"

    assert f"\nSource: {source}" in module.__doc__
    assert name != "interchange" or (Path(__file__).parents[3] / "docs" / "api").is_dir()


@pytest.mark.parametrize("name", OF_ARRAYS)
def test_devices_are_refused_first(name):
    """Without a driver, the device is refused before the library is used."""
    subject = DESCRIBED[name]

    for device in ("nowhere", *(one for one in DEVICES if one != "rocm")):
        with pytest.raises(CannotMakeError):
            subject.make((2, 3), "no element", device, readonly=False)


@every_name
def test_hooks_are_listed_in_order(name):
    """The order is that of the documentation."""
    hooks = subjects.hooks_of(DESCRIBED[name])

    assert sorted(hooks, key=subjects.HOOKS.index) == list(hooks)
    assert hooks[0] == ("make" if name in OF_ARRAYS else "make_arrow")


# ---------------------------------------------------------------- guarantees


@_libraries(OF_ARRAYS)
def test_arrays_are_what_was_asked_for(name, need, run_isolated):
    """Shapes and elements are as requested, and imported arrays can be read and written."""
    for module in DESCRIBED[name].preload:
        need(module)
    if name == "mlx":  # whose wheel for Linux imports only beside another that has its library
        pytest.importorskip("mlx.core", exc_type=ImportError)

    lines = run_isolated(PROMISES, name, warnings="ignore").splitlines()

    refused = UNWRITTEN.get(name)
    assert lines[-1] == "done"
    assert [line for line in lines[:-1] if not line.endswith(f": {refused}")] == []


@_libraries(OF_COLUMNS)
def test_columns_are_what_was_asked_for(name, need, run_isolated):
    """A column can be imported by the same library, and has the same values."""
    for module in DESCRIBED[name].preload:
        need(module)

    assert run_isolated(COLUMNS, name, warnings="ignore") == "done\n"


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("dtype", ["float32", "bool", "complex64"])
def test_read_only_memory_refuses_writes(name, dtype):
    """This applies to libraries with read-only memory."""
    subject = load_subject(name)
    x = subject.make((2, 3), dtype, "cpu", readonly=True)

    with pytest.raises((ValueError, BufferError)):
        subject.write(x)


@pytest.mark.parametrize("name", HERE)
def test_writing_sets_the_first_element_to_1(name):
    """The memory of the producer changes."""
    subject = load_subject(name)
    source = host((2, 3), "int32")
    y = subject.take(source)

    subject.write(y)

    assert source.memory.view()[:4].tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_interchange_makes_every_element_type(dtype):
    """These are the element types of the zoo."""
    x = load_subject("interchange").make((2, 3), dtype, "cpu", readonly=False)

    assert (x.shape, x.dtype.name) == ((2, 3), dtype)
