"""The log of exchanges: what was negotiated is logged while the logger is enabled for DEBUG."""

from __future__ import annotations

import array
import logging

import numpy as np
import pytest

import interchange as ix
from interchange import _core

LOGGER = logging.getLogger("interchange")


class Record:
    """An object with one attribute."""

    def __init__(self, name, value):
        setattr(self, name, value)


class Refusing:
    """An array whose export by DLPack is refused."""

    def __init__(self, x):
        self.__array_interface__ = x.__array_interface__
        self.x = x

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **keywords):
        raise BufferError("not today")


@pytest.fixture
def logged(caplog):
    """Enable the log; return a function that returns the texts logged since its last call."""
    before = LOGGER.level
    LOGGER.setLevel(logging.DEBUG)

    def texts():
        found = [record.getMessage() for record in caplog.records if record.name == "interchange"]
        caplog.clear()
        return found

    yield texts
    LOGGER.setLevel(before)


X = np.zeros((2, 3))
WHAT = "float64 (2, 3) on cpu, readonly=False, owner numpy.ndarray"


def test_the_log_is_off_by_default(caplog):
    """The level of the root logger does not enable it."""
    with caplog.at_level(logging.DEBUG):
        np.from_dlpack(ix.asarray(X))

    assert _core.log is None
    assert (caplog.records, LOGGER.level) == ([], logging.WARNING)


@pytest.mark.parametrize("level", [logging.INFO, logging.NOTSET, "WARNING"])
def test_another_level_switches_it_off(logged, level):
    """Only DEBUG and lower levels of the logger itself enable it."""
    assert _core.log is not None

    LOGGER.setLevel(level)
    ix.asarray(X)

    assert _core.log is None
    assert logged() == []


@pytest.mark.parametrize("name", ["asarray", "from_dlpack"])
def test_an_import_says_protocol_version_device_and_copy(logged, name):
    """Also the second import of a type, which the native core would make without Python."""
    for _ in range(2):
        getattr(ix, name)(X)

        (text,) = logged()
        assert text.startswith(f"{name}(): imported by __dlpack__(max_version=(1, ")
        assert text.endswith(f")): versioned capsule, not copied; {WHAT}")


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: array.array("i", [1]), "imported by the buffer protocol: format 'i', not copied"),
        (
            lambda: Record("__array_interface__", X.__array_interface__),
            "imported by __array_interface__: version 3, not copied",
        ),
        (
            lambda: ix.to_capsule(X, max_version=(1, 0)),
            "imported by a bare capsule: versioned capsule, not copied",
        ),
        (lambda: ix.to_capsule(X, max_version=None), "imported by a bare capsule: legacy capsule"),
    ],
    ids=["buffer", "array interface", "capsule", "legacy capsule"],
)
def test_each_protocol_is_named(logged, make, what):
    """The protocol that was chosen, and what it said."""
    x = make()
    logged()
    ix.asarray(x)

    (text,) = logged()
    assert text.startswith(f"asarray(): {what}; ")


def test_a_refused_protocol_is_logged_with_its_error(logged):
    """The log says why the next protocol was used."""
    ix.asarray(Refusing(X))

    refused, imported = logged()
    assert refused == "asarray(): DLPack refused, BufferError: not today"
    assert imported.startswith("asarray(): imported by __array_interface__")


def test_copies_have_a_reason(logged):
    """A copy is logged where it is made: by the producer, or here."""
    ix.asarray(X, copy=True)
    ix.asarray(b"abc", copy=True)

    by_producer, imported, copied = logged()
    assert "copy=True): versioned capsule, copied by the producer" in by_producer
    assert imported.endswith("not copied; uint8 (3,) on cpu, readonly=True, owner bytes")
    assert copied.startswith("asarray(): copied, since copy=True; uint8 (3,)")


@pytest.mark.parametrize(
    ("version", "kind"), [(None, "legacy"), ((1, 1), "versioned")], ids=["legacy", "versioned"]
)
@pytest.mark.parametrize("copy", [None, True])
def test_an_export_says_what_was_requested(logged, version, kind, copy):
    """The arguments of the consumer, and the capsule that it gets."""
    x = ix.asarray(X)
    logged()
    x.__dlpack__(max_version=version, copy=copy)

    (text,) = logged()
    made = "copied" if copy else "not copied"
    words = f"stream=None, max_version={version}, dl_device=None, copy={copy}"
    assert text.startswith(f"Array.__dlpack__(): exported for {words}: {kind} capsule, {made}; ")


def test_arguments_of_a_decorated_function_are_logged(logged):
    """They are imported by `asarray`."""
    ix.accepts_arrays(x=ix.Contract(ndim=2))(lambda x: x)(X)

    (text,) = logged()
    assert text.endswith(WHAT)


def test_columns_are_logged(logged):
    """By Arrow's interface, in both directions."""
    if ix.core_name == "ctypes":
        pytest.skip("it exports no Arrow data")
    ix.from_arrow(ix.to_arrow(X))

    *_, exported, imported = logged()
    assert exported == f"__arrow_c_device_array__(): exported: not copied; {WHAT}"
    assert "from_arrow(): imported by Arrow's interface: 1 chunks, not copied; " in imported


@pytest.mark.isolated
def test_logging_is_not_imported_and_may_be_imported_first_or_later(run_isolated):
    """The logger is found whenever the program imports `logging`."""
    script = """
import sys
{first}
import interchange as ix
print("logging" in sys.modules)
import logging
logging.basicConfig(format="%(name)s %(message)s", stream=sys.stdout)
logging.getLogger("interchange").setLevel("DEBUG")
ix.asarray(b"abc")
"""
    for first in ("", "import logging", "import logging; logging.getLogger('interchange')"):
        was_there, text = run_isolated(script.format(first=first)).splitlines()

        assert was_there == str(bool(first))
        assert text.startswith("interchange asarray(): imported by the buffer protocol")


@pytest.mark.isolated
def test_a_level_that_was_set_before_is_kept(run_isolated):
    """The program configures its loggers before it imports interchange."""
    script = """
import logging, sys
logging.basicConfig(format="%(message)s", stream=sys.stdout)
logging.getLogger("interchange").setLevel(5)
import interchange as ix
ix.asarray(b"abc")
print(logging.getLogger("interchange").level)
"""
    text, level = run_isolated(script).splitlines()

    assert (text[:20], level) == ("asarray(): imported ", "5")


def test_what_was_learned_is_learned_again(logged):
    """The native core imports without Python again, once the log is off."""
    ix.asarray(X)
    LOGGER.setLevel(logging.WARNING)
    logged()

    results = [ix.asarray(X) for _ in range(3)]

    assert [result.tolist() for result in results] == [X.tolist()] * 3
    assert logged() == []
