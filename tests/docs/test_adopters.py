"""The examples of adopters: both versions of each exchange agree, and differ as the table states.

The examples that need libraries of arrays are in `test_adopters_libraries`.
"""

from __future__ import annotations

import gc
import importlib
import re
import sys

import numpy as np
import pytest

import interchange as ix
from interchange.testing import host

from .conftest import ROOT

EXAMPLES = ROOT / "docs" / "examples" / "adopters"
VERSIONS = ["before", "after"]


@pytest.fixture
def load(monkeypatch):
    """Return the function that imports both versions of an example, or one module."""
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def modules(name):
        return [importlib.import_module(f"{name}_{one}") for one in VERSIONS]

    return modules


@pytest.fixture(params=VERSIONS)
def version(request, load):
    """Return the function that imports one version of an example."""
    return lambda name: load(name)[VERSIONS.index(request.param)]


def outcome(call, *args, **keywords):
    """Return what a call returns, or the rule or the class of its error."""
    try:
        return call(*args, **keywords)
    except Exception as error:  # noqa: BLE001 - the class is the claim
        return getattr(error, "rule", type(error).__name__)


def read_only(count=3):
    """Return an array of NumPy that must not be written."""
    x = np.ones(count)
    x.flags.writeable = False
    return x


# ---------------------------------------------------------------- inference client


@pytest.fixture
def regions(load):
    """Both versions of the client, each with a region of 4 KiB."""
    clients = load("inference_client")
    found = [(client, client.Region(None, 4096)) for client in clients]
    yield found
    gc.collect()  # views of a region keep it open
    for _, region in found:
        region.close()


def test_tensors_reach_a_region_and_come_back(regions):
    """The offsets are equal, and so are the elements that consumers read from the memory."""
    for client, region in regions:
        assert client.set_region(region, [np.arange(6.0).reshape(2, 3), np.arange(4)]) == [0, 48]
        assert np.from_dlpack(region.tensor("FP64", (2, 3))).tolist() == [[0, 1, 2], [3, 4, 5]]
        assert np.from_dlpack(region.tensor("INT64", (4,), 48)).tolist() == [0, 1, 2, 3]


def test_a_region_is_written_through_a_view(regions):
    """NumPy cannot write to the struct without a version; ours is the memory of the region."""
    views = [np.from_dlpack(region.tensor("INT16", (2,), 2)) for _, region in regions]

    assert [view.flags.writeable for view in views] == [False, True]
    views[1][:] = 7
    assert regions[1][1].tensor("INT16", (4,)).tolist() == [0, 7, 7, 0]


@pytest.mark.parametrize(
    ("make", "before"),
    [
        (lambda: np.arange(6.0)[::2], "ValueError"),
        (lambda: np.ones((3, 2)).T, "ValueError"),
        (lambda: host((1, 2, 3), "float32", strides=(9, 3, 1)), "ValueError"),
        (read_only, "BufferError"),
        (lambda: b"abc", "ValueError"),
        (lambda: host((3,), "float32", byte_offset=8), [0]),
    ],
    ids=["strided", "transposed", "axis of one", "read-only", "bytes", "byte_offset"],
)
def test_what_a_client_copies(regions, make, before):
    """Ours copies every layout; by hand, C order with exact strides and writable memory only."""
    (client, region), (ours, target) = regions

    assert outcome(client.set_region, region, [make()]) == before
    assert ours.set_region(target, [make()]) == [0]
    expected = ix.asarray(make())
    written = ix.from_buffer(target.block.buf, expected.dtype, shape=expected.shape)
    assert written.tolist() == expected.tolist()
    del written


def test_what_does_not_fit_is_refused(regions):
    """Both versions refuse tensors and views beyond the end of a region."""
    for client, region in regions:
        assert outcome(client.set_region, region, [np.ones(600)]) in {"ValueError", "IX-BUFFER-1"}
        assert outcome(region.tensor, "FP64", (600,)) in {"ValueError", "IX-BUFFER-1"}


# ---------------------------------------------------------------- message passing


class Legacy:
    """Exports the struct without a version, and knows no keyword but the stream."""

    def __init__(self, x):
        self.x = x

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, stream=None):
        return self.x.__dlpack__()


MESSAGES = {
    "C order": (lambda: np.ones((2, 3)), (6, "MPI_DOUBLE"), (6, "MPI_DOUBLE")),
    "Fortran order": (lambda: np.ones((2, 3)).T, (6, "MPI_DOUBLE"), (6, "MPI_DOUBLE")),
    "complex": (lambda: np.ones(2, "c8"), *[(2, "MPI_C_FLOAT_COMPLEX")] * 2),
    "bool": (lambda: np.ones(2, "?"), (2, "MPI_C_BOOL"), (2, "MPI_C_BOOL")),
    "scalar": (lambda: np.array(3, "i4"), (1, "MPI_INT"), (1, "MPI_INT")),
    "axis of one": (lambda: host((1,), "int16", strides=(7,)), *[(1, "MPI_SHORT")] * 2),
    "byte_offset": (lambda: host((3,), "float32", byte_offset=8), *[(3, "MPI_FLOAT")] * 2),
    "bytes": (lambda: b"abc", (3, "MPI_UNSIGNED_CHAR"), (3, "MPI_UNSIGNED_CHAR")),
    "legacy": (lambda: Legacy(np.ones(2)), (2, "MPI_DOUBLE"), (2, "MPI_DOUBLE")),
    "strided": (lambda: np.ones(6)[::2], "BufferError", "IX-REQUIRE-1"),
    "reversed": (lambda: np.ones(6)[::-1], "BufferError", "IX-REQUIRE-1"),
    "float16": (lambda: np.ones(3, "f2"), "BufferError", "IX-REQUIRE-1"),
    "masked": (lambda: np.ma.masked_array([1.0], [True]), (1, "MPI_DOUBLE"), "AI-MASK-1"),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_are_equal(load, name):
    """Address, count and datatype are equal; ours refuses a mask, which is lost by hand."""
    make, before, after = MESSAGES[name]
    x = make()
    found = [outcome(one.message, x) for one in load("message_buffer")]

    assert [one if isinstance(one, str) else one[1:3] for one in found] == [before, after]
    if {type(one) for one in found} != {str} and before == after:
        assert found[0].address == found[1].address


@pytest.mark.parametrize(
    ("make", "before", "after"),
    [
        (lambda: np.ones(3), True, True),
        (lambda: bytearray(8), True, True),
        (read_only, "BufferError", "IX-REQUIRE-1"),
        (lambda: b"abc", "BufferError", "IX-REQUIRE-1"),
        (lambda: Legacy(np.ones(2)), True, "IX-REQUIRE-1"),
    ],
    ids=["array", "bytearray", "read-only", "bytes", "legacy"],
)
def test_memory_to_receive_into_is_writable(load, make, before, after):
    """Both refuse read-only memory; ours also a struct that cannot tell whether it is."""
    found = [outcome(one.message, make(), receive=True) for one in load("message_buffer")]

    assert [one if isinstance(one, str) else one.count > 0 for one in found] == [before, after]


def test_a_message_owns_its_memory(version):
    """The struct is released when the message is dropped, and not before."""
    x = host((2, 3), "float32")
    sent = version("message_buffer").message(x)

    assert x.deleter_calls == 0
    del sent
    gc.collect()
    assert x.deleter_calls == 1


# ---------------------------------------------------------------- transport

NAMES = "ptr nbytes itemsize shape ndim strides readonly cuda c_contiguous f_contiguous contiguous"


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.ones((2, 3)),
        lambda: np.ones((2, 3)).T,
        lambda: np.ones((2, 3))[:, ::2],
        lambda: np.ones(6)[::-1],
        lambda: np.array(3.0),
        lambda: bytearray(5),
        lambda: memoryview(b"abcd").cast("i"),
        read_only,
    ],
    ids=["C", "Fortran", "strided", "reversed", "scalar", "bytearray", "cast", "read-only"],
)
def test_descriptions_of_memory_are_equal(load, make):
    """All attributes of both versions are equal."""
    x = make()
    before, after = (one.asarray(x) for one in load("transport"))

    for name in NAMES.split():
        assert getattr(before, name) == getattr(after, name), name


@pytest.mark.parametrize(
    ("make", "before"),
    [
        (lambda: host((3,), "float32"), "TypeError"),
        (lambda: np.ma.masked_array([1.0], [True]), 8),
        (lambda: np.zeros(2, "M8[s]"), "ValueError"),
    ],
    ids=["DLPack only", "masked", "times"],
)
def test_what_a_transport_takes(load, make, before):
    """By hand, DLPack is unknown and masks are ignored."""
    ours = {"TypeError": 12, 8: "AI-MASK-1", "ValueError": "DLP-DTYPE-3"}[before]
    found = [outcome(one.asarray, make()) for one in load("transport")]

    assert [one if isinstance(one, str) else one.nbytes for one in found] == [before, ours]


def test_a_record_with_a_mask_is_refused(version):
    """Both refuse the masks of the CUDA Array Interface."""

    class Masked:
        __cuda_array_interface__ = {  # noqa: RUF012 - as producers have it
            "shape": (3,), "typestr": "<f4", "data": (4096, False), "version": 3,
            "mask": np.ones(3),
        }  # fmt: skip

    assert outcome(version("transport").asarray, Masked()) in {"NotImplementedError", "CAI-MASK-1"}


# ---------------------------------------------------------------- the page


@pytest.fixture(scope="module")
def bench():
    """The program that writes the tables of the page."""
    sys.path.insert(0, str(ROOT / "tests" / "bench"))
    return importlib.import_module("adopters")


def test_the_table_has_the_lines_and_bugs_of_every_example(bench):
    """The page shows what the program counts in the files now, and the threads of its list."""
    text = (ROOT / "docs" / "_generated" / "adopters.md").read_text(encoding="utf-8")
    names = {path.stem.rpartition("_")[0] for path in EXAMPLES.glob("*_before.py")}

    assert {one.name for one in bench.SITUATIONS} == names
    for one in bench.SITUATIONS:
        row = rf"^\| .*\(`{one.name}`\) \| (\d+) \| (\d+) \| (.*) \| "
        (found,) = re.findall(row, text, re.MULTILINE)
        lines = [bench.lines_of(EXAMPLES / f"{one.name}_{side}.py") for side in VERSIONS]
        assert [int(count) for count in found[:2]] == lines
        assert re.findall(rf"\({bench.GITHUB}(.+?)\)", found[2]) == list(one.bugs)
        assert re.search(rf"^\| `{one.name}`: .* \| [\d.]+ \|$", text, re.MULTILINE)
    said = r"^Measured on \S+ at commit `\w+`(?: with changes)?, on \d+ cores of "
    assert len(re.findall(said, text, re.MULTILINE)) == 2


def test_lines_of_code_are_counted(bench, tmp_path):
    """Docstrings, comments and blank lines are not counted; each line of a statement is."""
    path = tmp_path / "module.py"
    text = ['"""Text.', "", 'More."""', "# comment", "x = (", "    1,  # one", ")", "def f():"]
    text += ['    """F."""', '    return """a', 'b"""']
    path.write_text("\n".join(text), encoding="utf-8")

    assert bench.lines_of(path) == 6
