"""The guides for migrating: both versions of each function run, and differ as the tables state.

The functions on devices are in `tests/clients`.  The example that changes ``ctypes.pythonapi``, as
its guide warns, runs in a child process.
"""

from __future__ import annotations

import array
import importlib.util
import re
import signal
import subprocess
import sys
import weakref

import numpy as np
import pytest

import interchange as ix
from interchange.testing import claiming

from .conftest import ROOT

EXAMPLES = ROOT / "docs" / "examples" / "migrating"
GUIDES = ROOT / "docs" / "guides" / "migrating"
PAGES = sorted(path.stem for path in GUIDES.glob("*.md") if path.stem != "index")
SECTIONS = ["Before", "After", "What changes", "What to look out for", "Cost"]
HEADER = bytes(16)


def load(name):
    """Return a version of an example."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outcome(call, *args):
    """Return what a call returns, or the rule or the class of its error."""
    try:
        return call(*args)
    except Exception as error:  # noqa: BLE001 - the class is the claim
        return getattr(error, "rule", type(error).__name__)


def rows(**changes):
    """Return 2 x 3 float32."""
    x = np.arange(6, dtype=changes.pop("dtype", "f4")).reshape(2, 3)
    x.flags.writeable = not changes.pop("readonly", False)
    return x


# ---------------------------------------------------------------- the pages


@pytest.mark.parametrize("name", PAGES)
def test_a_guide_has_the_same_sections(name):
    """Each guide has the five sections, includes both versions, and its own figures."""
    text = (GUIDES / f"{name}.md").read_text(encoding="utf-8")
    program = name.replace("-", "_")

    assert re.match(r"# Migrating from \S", text)
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS
    assert re.findall(rf"examples/migrating/{program}_(\w+)\.\w+$", text, re.MULTILINE) == [
        "before",
        "after",
    ]
    assert re.findall(r"<!-- ([\w -]+) -->", text) == [name, f"end {name}"]


def test_the_index_lists_every_guide():
    """Each guide is in the table and in the table of contents, in the same order."""
    text = (GUIDES / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"\{doc\}`([\w-]+)`", text)

    assert sorted(listed) == PAGES
    assert text.partition(":hidden:")[2].strip("`\n").split() == listed


def test_figures_of_every_guide_were_measured():
    """The file has one table per guide, with the commit and the machine."""
    text = (ROOT / "docs" / "_generated" / "migrating.md").read_text(encoding="utf-8")

    for name in PAGES:
        _, _, rest = text.partition(f"<!-- {name} -->\n")
        table, _, _ = rest.partition(f"<!-- end {name} -->\n")
        row = r"^\| `\w+\(.*\)`, .* \| [\d,]+ \| [\d,]+ \| [\d.]+ \|$"
        assert re.search(row, table, re.MULTILINE)
        assert re.search(r"Measured on \S+ at commit `\w+`, on \d+ cores of ", table)


# ---------------------------------------------------------------- np.asarray


def scaled(function, x):
    """Return what a call of `scale` made of the elements of x, or its error."""
    return outcome(function, x, 3.0) or np.asarray(ix.asarray(x)).tolist()


@pytest.mark.parametrize("make", [lambda: np.ones(2, "f4"), lambda: array.array("f", [1, 1])])
def test_scale_changes_the_memory(make):
    """Arrays with the element type are changed by both versions."""
    found = [scaled(load(f"asarray_{one}").scale, make()) for one in ("before", "after")]

    assert found == [[3.0, 3.0], [3.0, 3.0]]


@pytest.mark.parametrize(
    ("make", "before", "after"),
    [
        (lambda: np.ones(2), None, "IX-REQUIRE-1"),
        (lambda: [1.0, 1.0], None, "IX-PROTOCOL-1"),
        (lambda: rows(readonly=True), "ValueError", "IX-REQUIRE-1"),
        (lambda: np.ma.masked_array(np.ones(2, "f4"), [False, True]), None, "AI-MASK-1"),
        (lambda: claiming((2, 0)), "TypeError", "IX-REQUIRE-1"),
    ],
    ids=["float64", "list", "read-only", "masked", "device"],
)
def test_scale_refuses_what_it_would_not_change(make, before, after):
    """np.asarray changes a copy, or drops a mask; the contract refuses, and nothing is changed."""
    x = make()

    assert outcome(load("asarray_before").scale, x, 3.0) == before
    if isinstance(x, list) or getattr(x, "dtype", None) == np.float64:
        assert list(x) == [1.0, 1.0]  # the result was lost
    assert outcome(load("asarray_after").scale, x, 3.0) == after


@pytest.mark.interop
def test_scale_and_tensors(need):
    """A plain tensor is changed by both; PyTorch or interchange refuses the others."""
    need("torch")
    import torch

    before, after = (load(f"asarray_{one}").scale for one in ("before", "after"))
    gradient = torch.ones(2, requires_grad=True)
    short = torch.ones(2, dtype=torch.bfloat16)

    assert [scaled(one, torch.ones(2)) for one in (before, after)] == [[3.0, 3.0]] * 2
    assert [outcome(one, gradient, 3.0) for one in (before, after)] == ["RuntimeError", "IX-GRAD-1"]
    assert outcome(before, short, 3.0) == "TypeError"
    assert ix.asarray(short).require(dtype="bfloat16").shape == (2,)


# ---------------------------------------------------------------- torch.utils.dlpack


@pytest.fixture
def torch_dlpack(need):
    """Return torch, its module of capsules, and both versions of `means`."""
    need("torch")
    import torch
    from torch.utils import dlpack

    names = "torch_dlpack_before", "torch_dlpack_after"
    return torch, dlpack, *(load(name).means for name in names)


@pytest.mark.interop
def test_means_are_equal(torch_dlpack):
    """The results are equal, for tensors and arrays; ours can be used by any library, and twice."""
    torch, dlpack, before, after = torch_dlpack
    tensor = torch.arange(6.0).reshape(2, 3)
    capsule = before(dlpack.to_dlpack(tensor))
    result = after(tensor)

    assert outcome(np.from_dlpack, capsule) == "AttributeError"
    assert dlpack.from_dlpack(capsule).tolist() == [1.0, 4.0]
    assert outcome(dlpack.from_dlpack, capsule) == "RuntimeError"
    assert [torch.from_dlpack(result).tolist(), np.from_dlpack(result).tolist()] == [[1.0, 4.0]] * 2
    assert (result + result).tolist() == [2.0, 8.0]
    assert after(rows()).tolist() == after(memoryview(rows())).tolist() == [1.0, 4.0]
    assert outcome(before, memoryview(rows())) == "RuntimeError"
    with pytest.raises(TypeError):
        dlpack.to_dlpack(tensor, stream=1)


@pytest.mark.interop
def test_to_dlpack_loses_what_is_refused(torch_dlpack):
    """Read-only memory, gradients and conjugations."""
    torch, dlpack, before, after = torch_dlpack
    x = rows(readonly=True)
    tensor = torch.ones(2, 3, requires_grad=True)
    conjugated = torch.full((1, 1), 1 + 1j).conj()

    dlpack.from_dlpack(x)[0, 0] = 9

    assert x[0, 0] == 9
    assert outcome(after, x) == "DLP-RO-3"
    assert not dlpack.from_dlpack(before(dlpack.to_dlpack(tensor))).requires_grad
    assert outcome(after, tensor) == "IX-GRAD-1"
    assert dlpack.from_dlpack(dlpack.to_dlpack(conjugated)).item() == 1 + 1j
    assert conjugated.item() == 1 - 1j
    assert outcome(after, conjugated) == "DLP-DTYPE-6"


@pytest.mark.interop
def test_legacy_capsules_of_callers(torch_dlpack):
    """They are refused until the caller states that their memory is writable."""
    torch, dlpack, _, after = torch_dlpack
    tensor = torch.ones(2)

    assert outcome(after, dlpack.to_dlpack(tensor)) == "DLP-RO-3"
    assert ix.asarray(dlpack.to_dlpack(tensor)).tolist() == [1.0, 1.0]
    found = ix.convert(dlpack.to_dlpack(tensor), "torch", assume_writable=True)
    assert found.data_ptr() == tensor.data_ptr()
    assert dlpack.from_dlpack(ix.to_capsule(tensor)).data_ptr() == tensor.data_ptr()
    assert '"dltensor_versioned"' in repr(ix.to_capsule(tensor, max_version=(1, 0)))


# ---------------------------------------------------------------- np.frombuffer


def test_points_are_equal():
    """Both versions describe the same memory."""
    before, after = load("frombuffer_before"), load("frombuffer_after")
    x = rows()
    message = HEADER + x.tobytes()

    for found in (
        before.points_of(message),
        after.points_of(message),
        before.points_at(x.ctypes.data, 2),
        after.points_at(x.ctypes.data, 2, x),
    ):
        assert np.asarray(found).tolist() == x.tolist()
    assert [before.points_of(message).flags.writeable, after.points_of(message).readonly] == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("message", "before", "after"),
    [
        (memoryview(b"a" + HEADER + bytes(24))[1:], (2, 3), "IX-VIEW-2"),
        (HEADER + bytes(25), "ValueError", "IX-BUFFER-1"),
        (HEADER + bytes(20), "ValueError", "IX-BUFFER-1"),
    ],
    ids=["unaligned", "no whole elements", "no whole rows"],
)
def test_points_of_other_messages(message, before, after):
    """NumPy accepts unaligned elements, and interchange does not."""
    found = outcome(load("frombuffer_before").points_of, message)

    assert getattr(found, "shape", found) == before
    assert outcome(load("frombuffer_after").points_of, message) == after
    if after == "IX-VIEW-2":
        assert not found.flags.aligned


def test_points_at_no_address():
    """NumPy returns other memory, and interchange refuses."""
    assert load("frombuffer_before").points_at(0, 2).ctypes.data != 0
    assert outcome(load("frombuffer_after").points_at, 0, 2, None) == "DLP-DATA-1"


def test_owners_of_addresses():
    """Only interchange keeps the memory alive."""
    for name, kept in (("before", False), ("after", True)):
        x = rows()
        gone = weakref.ref(x)
        more = (x,) if kept else ()
        found = load(f"frombuffer_{name}").points_at(x.ctypes.data, 2, *more)
        del x, more

        assert (gone() is not None, found.shape) == (kept, (2, 3))


# ---------------------------------------------------------------- ctypes

_CTYPES = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from interchange.testing import claiming, host
from ctypes_dlpack_before import describe, get_pointer
from ctypes_dlpack_after import describe as after

def outcome(call, x):
    try:
        return call(x)[1:]
    except Exception as error:
        return getattr(error, "rule", type(error).__name__)

x = np.zeros((2, 3), "f4")
constant = x.copy()
constant.flags.writeable = False
print(outcome(describe, x.T) == outcome(after, x.T) == (x.ctypes.data, (3, 2), (1, 3)))
print(outcome(describe, constant), outcome(after, constant)[1:] == ((2, 3), (3, 1)))
bare = host((2, 3)).but(strides=None, version=(1, 0))
print(outcome(after, bare)[1:])
print(outcome(describe, x.astype("f8"))[1], outcome(after, x.astype("f8")))
print(outcome(describe, bytes(4)), outcome(after, memoryview(x)) == outcome(after, x))
print(outcome(describe, claiming((2, 0)))[1:], outcome(after, claiming((2, 0))))
import ctypes
print(ctypes.pythonapi.PyCapsule_GetPointer is get_pointer, flush=True)
describe(bare)
"""


@pytest.mark.isolated
def test_addresses_are_equal():
    """The versions agree on plain arrays, and ours checks others; NULL strides end the process."""
    command = [sys.executable, "-c", _CTYPES, str(EXAMPLES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == -signal.SIGSEGV, done.stderr
    assert done.stdout.splitlines() == [
        "True",
        "BufferError True",
        "((2, 3), (3, 1))",
        "(2, 3) IX-REQUIRE-1",
        "AttributeError True",
        "((2, 3), (3, 1)) IX-REQUIRE-1",
        "True",
    ]


# ---------------------------------------------------------------- nanobind and pybind11


@pytest.fixture(scope="module", params=["nanobind", "pybind11"])
def bindings(request, need):
    """Return the name of a library of bindings, and both versions of `total`."""
    need(request.param)
    sys.path.insert(0, str(ROOT / "tests" / "bench"))
    import c_build

    build = {"nanobind": c_build.nanobind_module, "pybind11": c_build.pybind11_module}
    names = (EXAMPLES / f"{request.param}_{one}.cpp" for one in ("before", "after"))
    return request.param, *(build[request.param](name).total for name in names)


def refusing(call, x):
    """Return the outcome of a call; "refused" if the class of its error is of Python."""
    found = outcome(call, x)
    return "refused" if found in {"TypeError", "ValueError"} else found


class Record:
    """Supports the array interface only."""

    def __init__(self):
        self.x = np.arange(3.0)
        self.__array_interface__ = self.x.__array_interface__


def unaligned():
    """Return three elements at an odd address."""
    return np.zeros(25, "u1")[1:].view("f8")


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.parametrize(
    ("make", "nanobind", "pybind11", "ours"),
    [
        (lambda: np.arange(6.0)[::2], 6.0, 6.0, 6.0),
        (lambda: array.array("d", [1, 2]), 3.0, 3.0, 3.0),
        (lambda: np.arange(3), 3.0, 3.0, "refused"),
        (lambda: np.arange(3, dtype="f4"), 3.0, 3.0, "refused"),
        (lambda: [1.0, 2.0], "refused", 3.0, "IX-PROTOCOL-1"),
        (lambda: np.arange(3.0).__dlpack__(), 3.0, "refused", 3.0),
        (Record, "refused", 3.0, 3.0),
        (unaligned, 0.0, 0.0, "refused"),
        (lambda: np.ma.masked_array([1.0, 2.0], [False, True]), 3.0, 3.0, "AI-MASK-1"),
        (lambda: np.ones((2, 2)), "refused", "refused", "refused"),
        (lambda: claiming((2, 0)), "refused", "refused", "refused"),
    ],
    ids=[
        "strided", "buffer", "int64", "float32", "list", "capsule", "record", "unaligned",
        "masked", "two axes", "device",
    ],
)  # fmt: skip
def test_totals_are_equal_or_refused(bindings, make, nanobind, pybind11, ours):
    """Each row of the table."""
    name, before, after = bindings

    assert refusing(before, make()) == {"nanobind": nanobind, "pybind11": pybind11}[name]
    assert refusing(after, make()) == ours


@pytest.mark.slow
@pytest.mark.interop
def test_totals_of_tensors(bindings, need):
    """A tensor is accepted; nanobind ignores that it requires a gradient."""
    need("torch")
    import torch

    name, before, after = bindings
    gradient = torch.ones(3, dtype=torch.float64, requires_grad=True)

    assert before(gradient.detach()) == after(gradient.detach()) == 3.0
    assert refusing(before, gradient) == {"nanobind": 3.0, "pybind11": "refused"}[name]
    assert outcome(after, gradient) == "IX-GRAD-1"
