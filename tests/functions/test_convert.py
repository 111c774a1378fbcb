"""`convert`: native arrays of named libraries.  `tests/interop` runs it with the libraries."""

from __future__ import annotations

import _thread
import sys

import ml_dtypes
import numpy as np
import pytest

import interchange as ix
from interchange._functions import targets
from interchange._libraries.target import Target
from interchange.testing import producers

MINE = "library_of_this_test"


def refusal(error, *arguments, **keywords):
    """Return the error that a call is refused with, exactly of that class."""
    with pytest.raises(error) as caught:
        ix.convert(*arguments, **keywords)
    assert type(caught.value) is error
    assert str(caught.value).startswith("convert(): ")
    return caught.value


# ---------------------------------------------------------------- targets that are always here


def test_numpy_shares_the_memory():
    """An ndarray over the same bytes."""
    block = bytearray(b"abc")

    found = ix.convert(block, "numpy")
    block[0] = 120

    assert (type(found), found.tolist()) == (np.ndarray, [120, 98, 99])


def test_a_memoryview_shares_the_memory():
    """The standard library's own view."""
    found = ix.convert(np.arange(3, dtype="i2"), "memoryview")

    assert (type(found), found.format, found.tolist()) == (memoryview, "h", [0, 1, 2])


@pytest.mark.parametrize("library_name", ["numpy", "memoryview"])
@pytest.mark.parametrize(
    "make", [lambda: b"abc", lambda: producers.host().but(generation="legacy")]
)
def test_what_may_not_be_known_to_be_written_arrives_read_only(library_name, make):
    """Libraries that can represent read-only receive the flag."""
    found = ix.convert(make(), library_name)

    assert (found.readonly if library_name == "memoryview" else not found.flags.writeable) is True


@pytest.mark.parametrize("library_name", ["numpy", "memoryview"])
def test_copy_true_hands_over_a_copy(library_name):
    """copy=True passes a writable copy, and the original is unchanged."""
    found = ix.convert(b"abc", library_name, copy=True)
    found[0] = 120

    assert found.tolist() == [120, 98, 99]


def test_types_of_ml_dtypes_arrive_as_such():
    """NumPy gets the dtype of ml_dtypes."""
    value = np.arange(3).astype(ml_dtypes.bfloat16)

    assert ix.convert(ix.asarray(value), "numpy").dtype == value.dtype


# ---------------------------------------------------------------- unknown and missing


@pytest.mark.parametrize("name", ["", "Torch", "tensorflow", "numpy ", "pycuda"])
def test_a_library_that_is_not_known_is_refused(name):
    """The error lists the known libraries, and a way to use all others."""
    error = refusal(ix.BackendUnavailableError, b"abc", name)

    assert error.rule == "IX-CONVERT-1"
    assert all(target in error.hint for target in ix.TARGETS)
    assert "from_dlpack" in error.hint


@pytest.mark.parametrize(
    "name", [None, 5, np, b"numpy", ["numpy"]], ids=["None", "int", "module", "bytes", "list"]
)
def test_a_library_is_named_by_text(name):
    """Other types are wrong arguments."""
    assert refusal(ix.ArgumentError, b"abc", name).rule == "IX-ARGUMENT-1"


@pytest.mark.parametrize(
    "name", [name for name in ix.TARGETS if name not in {"memoryview", "numpy"}]
)
def test_a_library_that_is_not_installed_is_refused(monkeypatch, name):
    """The error says what to install."""
    assert "IX-CONVERT-1" in ix.abi.RULES  # read before interchange itself is hidden
    for module in [m for m in sys.modules if m.partition(".")[0] == name.partition(".")[0]]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, ix.TARGETS[name].module.partition(".")[0], None)
    x = bytearray(3)
    if ix.TARGETS[name].memory == "device":
        x = ix.from_pointer(4096, (3,), "uint8", device="cuda:0")

    error = refusal(ix.BackendUnavailableError, x, name)

    assert (error.rule, error.hint) == ("IX-CONVERT-1", f"install {name}")
    assert isinstance(error.__cause__, ImportError)


def test_a_library_whose_import_fails_is_refused(monkeypatch):
    """A library whose import fails is treated as missing, with the error of its import."""
    monkeypatch.setitem(
        targets.TARGETS,
        MINE,
        Target("interchange_no_such_module", None, keeps_readonly=True),
    )

    class Broken:
        def find_spec(self, name, *_):
            if name == "interchange_no_such_module":
                raise ImportError("libbroken.so: cannot open shared object file")

    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])

    error = refusal(ix.BackendUnavailableError, bytearray(3), MINE)

    assert "libbroken.so" in error.what


# ---------------------------------------------------------------- rights


def test_writable_memory_is_handed_over(library):
    """The library gets an Array over the memory."""
    block = bytearray(b"abc")

    ix.convert(block, MINE)

    (array,) = library.given
    assert (type(array), array.ptr) == (ix.Array, ix.from_buffer(block).ptr)


@pytest.mark.parametrize(
    ("make", "kind", "hint"),
    [
        (lambda: b"abc", "read-only memory", "pass `copy=True`"),
        (
            lambda: producers.host().but(generation="legacy"),
            "memory not known to be writable",
            "pass `copy=True` or `assume_writable=True`",
        ),
    ],
    ids=["read-only", "unknown"],
)
def test_memory_that_the_library_would_write_is_refused(library, make, kind, hint):
    """Memory is refused for a library that would drop the read-only flag; a copy is not."""
    error = refusal(ix.ReadOnlyError, make(), MINE)

    assert (error.rule, error.hint) == ("DLP-RO-3", hint)
    assert error.what.startswith(
        f"{MINE} arrays cannot be marked read-only, and this is {kind} (a write "
    )
    assert library.given == []
    ix.convert(make(), MINE, copy=True)
    assert library.given[0].readonly is False


def test_unknown_memory_is_handed_over_where_the_caller_vouches_for_it(library):
    """assume_writable=True is the other."""
    source = producers.host().but(generation="legacy")

    ix.convert(source, MINE, assume_writable=True)

    assert (library.given[0].readonly, library.given[0].ptr) == (False, source.said.data)


def test_read_only_memory_is_not_vouched_for(library):
    """A caller cannot declare read-only memory to be writable."""
    assert refusal(ix.ReadOnlyError, b"abc", MINE, assume_writable=True).rule == "DLP-RO-3"
    assert library.given == []


# ---------------------------------------------------------------- errors of libraries


@pytest.mark.parametrize(
    "error", [ValueError, TypeError, RuntimeError, BufferError, NotImplementedError]
)
def test_a_library_that_refuses_is_quoted(library, error):
    """Any error of the library is the cause of one error, which cites a rule."""

    def answer(_):
        raise error("strides, no thank you")

    library.answer = answer

    caught = refusal(ix.ExchangeError, bytearray(3), MINE)

    assert caught.rule == "IX-CONVERT-2"
    assert caught.what == f"{MINE} refused uint8 of shape (3,) (strides, no thank you)"
    assert type(caught.__cause__) is error


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda array: array.__dlpack__(stream=7), ix.StreamError),
        (lambda _: _thread.interrupt_main(), KeyboardInterrupt),
    ],
    ids=["ours", "interrupt"],
)
def test_other_errors_are_not_wrapped(library, answer, error):
    """An error of ours, which cites its rule, and an interrupt are not wrapped."""
    library.answer = answer

    with pytest.raises(error) as caught:
        ix.convert(bytearray(3), MINE)

    assert getattr(caught.value, "rule", "DLP-STREAM-1") == "DLP-STREAM-1"


# ---------------------------------------------------------------- the table


@pytest.mark.parametrize("name", ix.TARGETS)
def test_every_target_can_be_imported_and_asked(name):
    """Each row of the table names an existing module and function."""
    row = ix.TARGETS[name]

    assert callable(row.take)
    assert all(part.isidentifier() for part in row.module.split("."))
    assert isinstance(row.keeps_readonly, bool)
