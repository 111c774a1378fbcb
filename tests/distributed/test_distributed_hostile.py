"""Frames and pickles that were modified, and import hooks of other packages."""

from __future__ import annotations

import pytest

import interchange as ix
from interchange._array.pickling import rebuild_writable
from interchange._functions.dask import from_device_frames, from_frames

FACTS = {
    "dtype": "float64",
    "shape": (2,),
    "sent": (2,),
    "order": "C",
    "readonly": False,
    "device": "cpu",
}


@pytest.mark.parametrize("load", [from_frames, from_device_frames])
@pytest.mark.parametrize(
    "changes",
    [
        {"shape": (10**9,), "sent": (10**9,)},
        {"shape": (-2,), "sent": (-2,)},
        {"shape": 3, "sent": 3},
        {"dtype": "nonsense"},
        {"dtype": None},
    ],
    ids=repr,
)
def test_facts_that_do_not_fit_are_refused(load, changes):
    """The memory behind the frame is not read."""
    with pytest.raises((ix.ExchangeError, ix.ArgumentError)):
        load({**FACTS, **changes}, [bytearray(16)])


@pytest.mark.parametrize("load", [from_frames, from_device_frames])
@pytest.mark.parametrize("name", ["shape", "dtype", "order", "readonly"])
def test_facts_that_are_missing_are_an_error_of_ours(load, name):
    """Missing header entries raise an error of ours, with the fix."""
    facts = {key: value for key, value in FACTS.items() if key != name}

    with pytest.raises(ix.ExchangeError, match="send the array again"):
        load(facts, [bytearray(16)])


def test_a_frame_that_must_not_be_written_is_not():
    """Read-only memory stays read-only, whatever the header says."""
    found = from_device_frames(FACTS, [bytes(16)])

    assert found.readonly is True


def test_a_pickle_allocates_nothing_for_a_number():
    """A pickle with a number instead of bytes is refused without an allocation."""
    with pytest.raises(ix.ExchangeError, match="IX-POINTER-1"):
        rebuild_writable(ix.Array, 10**12, "uint8", (10**12,), "C", False)  # noqa: FBT003


def test_two_copies_of_interchange_watch_for_dask(run_isolated):
    """Two copies, as after a reload, do not call each other forever."""
    pytest.importorskip("dask")
    script = """
import sys, interchange
for name in [n for n in sys.modules if n.split('.')[0] == 'interchange']:
    del sys.modules[name]
import interchange
import dask.sizeof
print(dask.sizeof.sizeof(interchange.asarray(bytearray(1000))))
"""

    assert run_isolated(script, warnings="default").strip() == "1000"


def test_loaders_of_others_are_left_as_they_are(run_isolated):
    """Dask is imported by a loader that accepts no attributes, and Arrays are registered."""
    pytest.importorskip("dask")
    script = """
import importlib.machinery, sys, interchange

class Loader(importlib.machinery.SourceFileLoader):
    __slots__ = ()

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec

sys.meta_path.insert(1, Finder)
import dask.sizeof
print(dask.sizeof.sizeof(interchange.asarray(bytearray(1000))))
print(type(dask.sizeof.__loader__).__name__)
"""
    size, loader = run_isolated(script, warnings="default").split()

    assert (size, loader) == ("1000", "Loader")
