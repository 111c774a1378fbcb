"""The choice of the core by the environment, with an error if it cannot be used."""

from __future__ import annotations

import pytest

from interchange._core import CORES

pytestmark = pytest.mark.isolated

TRY = """
try:
    import interchange
except BaseException as error:
    print(type(error).__name__, error)
else:
    print(interchange.core_name, interchange._core.refused)
"""

HIDE = """
import sys
sys.modules["interchange._core._native"] = None
"""
"""A core that does not exist."""

BREAK = """
import importlib.abc, importlib.util, sys
class Broken(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name == "interchange._core._native":
            return importlib.util.spec_from_loader(name, self)
    def exec_module(self, module):
        raise {error}
sys.meta_path.insert(0, Broken())
"""
"""A core that exists and cannot be imported."""

UNBUILT = BREAK.format(
    error="ModuleNotFoundError('no extension', name='interchange._core._native')"
)
"""A core with its Python code only: setup.py could not build the extension."""


@pytest.fixture
def choose(run_isolated):
    """Return the output of importing interchange with a value of ``INTERCHANGE_CORE``."""

    def choose_core(wanted, before=""):
        return run_isolated(before + TRY, env={"INTERCHANGE_CORE": wanted}).strip()

    return choose_core


def test_the_ctypes_core_can_be_forced(choose):
    """``INTERCHANGE_CORE=ctypes`` selects the ctypes core."""
    assert choose("ctypes") == "ctypes {}"


@pytest.mark.parametrize("wanted", ["Ctypes", "numpy", "native,ctypes", " "])
def test_an_unknown_core_is_refused(choose, wanted):
    """An unknown core is an error that names the choices."""
    said = choose(wanted)

    expected = f"ImportError INTERCHANGE_CORE={wanted!r} is not a core; choose one of {CORES}"
    assert said == expected


def test_an_absent_core_cannot_be_forced(choose):
    """A core that is not built is an error if it is required; the error says what to do."""
    said = choose("native", HIDE)

    assert said == (
        "ImportError INTERCHANGE_CORE='native' is not built here; build it with a C compiler, in a"
        " clone or an unpacked source distribution: INTERCHANGE_BUILD=require pip install"
        " --no-cache-dir --force-reinstall --no-deps ."
    )


@pytest.mark.parametrize("absent", [HIDE, UNBUILT], ids=["hidden", "unbuilt"])
def test_an_absent_core_is_done_without(choose, absent):
    """A core that is not built is skipped if none is required, without an alarming message."""
    reason = (
        "the native core is not built here; without it all works, slower, but exports to Arrow"
        " and what C code calls"
    )

    assert choose("", absent) == f"ctypes { ({'native': reason}) }"


@pytest.mark.parametrize("wanted", ["", "native"])
@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("ImportError('undefined symbol: nothing')", "ImportError undefined symbol: nothing"),
        ("ModuleNotFoundError('no other', name='other')", "ModuleNotFoundError no other"),
        ("OSError('no such library')", "OSError no such library"),
    ],
)
def test_a_broken_core_is_not_done_without(choose, wanted, error, said):
    """A core that is there and cannot be imported raises, forced or not."""
    assert choose(wanted, BREAK.format(error=error)) == said


def test_the_ctypes_core_does_not_ask_for_the_other(choose):
    """A broken native core does not prevent the ctypes core from being used."""
    assert choose("ctypes", BREAK.format(error="OSError()")) == "ctypes {}"
