"""How the backend is chosen, and errors if there is none."""

from __future__ import annotations

import importlib.metadata
import sys

import numpy as np
import pytest

import interchange as ix
from interchange import xp
from interchange._libraries import selection
from interchange._libraries.numpy import NumPyBackend

EXT = ix.Device.of("ext_dev:3")


class Point:
    """An entry point that a package might have."""

    def __init__(self, name, value):
        self.name, self.load = name, lambda: value


@pytest.fixture(autouse=True)
def _forget():
    """Reset the choice in every test."""
    yield
    for device in ("cpu", "cuda", EXT):
        ix.set_backend(device, None)


def unowned():
    """Return an Array on a device without a backend."""
    block = np.zeros(4)
    ptr = block.__array_interface__["data"][0]
    return ix.from_pointer(ptr, (4,), "float64", device=EXT, owner=block)


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x + 1,
        lambda x: -x,
        xp.sin,
        xp.sum,
        xp.ones_like,
        lambda x: x == x,  # noqa: PLR0124
        lambda x: x[x],
        lambda x: xp.zeros(3, device=x.device),
    ],
)
def test_without_a_library_computing_says_what_to_do(compute):
    """The error names the device, and how to name a library."""
    with pytest.raises(ix.BackendUnavailableError, match=r"ext_dev:3.*set_backend.*IX-XP-3"):
        compute(unowned())


def test_without_a_library_memory_is_described_all_the_same():
    """Metadata, views and exchange need none."""
    x = unowned()

    assert (x.shape, x.dtype, x[1:].shape) == ((4,), xp.float64, (3,))
    assert ix.from_dlpack(x).ptr == x.ptr


def test_a_function_brings_a_library():
    """Called with the device, once."""
    seen = []

    def make(device):
        seen.append(device)
        return NumPyBackend(device)

    ix.set_backend(EXT, make)
    for _ in range(2):
        xp.zeros(3, device=EXT)

    assert seen == [EXT]


def test_the_environment_names_a_library(monkeypatch):
    """The environment variable selects a backend if none was set."""
    monkeypatch.setattr(selection, "entry_points", lambda **_: [Point("theirs", NumPyBackend)])
    monkeypatch.setenv("INTERCHANGE_EXT_DEV_BACKEND", "theirs")

    assert type(selection.backend_of(EXT, "f()")) is NumPyBackend


def test_numpy_computes_on_the_host_alone():
    """NumPy is refused as backend of a device, since its results would be on the host."""
    ix.set_backend(EXT, "numpy")

    with pytest.raises(ix.BackendUnavailableError, match="does not compute on ext_dev:3"):
        xp.zeros(3, device=EXT)


def test_a_name_in_the_environment_that_is_unknown_is_an_error(monkeypatch):
    """A missing backend is named in the error, and no other one is used."""
    monkeypatch.setenv("INTERCHANGE_EXT_DEV_BACKEND", "nonesuch")

    with pytest.raises(ix.BackendUnavailableError, match="INTERCHANGE_EXT_DEV_BACKEND=nonesuch"):
        xp.zeros(3, device=EXT)


def test_what_was_said_goes_before_the_environment(monkeypatch):
    """`set_backend` precedes the environment, as the more explicit of the two."""
    monkeypatch.setenv("INTERCHANGE_EXT_DEV_BACKEND", "nonesuch")
    ix.set_backend(EXT, NumPyBackend)

    assert type(selection.backend_of(EXT, "f()")) is NumPyBackend


@pytest.mark.parametrize(
    ("backend", "error", "words"),
    [
        ("nonesuch", ix.BackendUnavailableError, "choose one of cupy, jax, numpy, torch"),
        (7, ix.ArgumentError, "IX-ARGUMENT-1"),
    ],
)
def test_a_backend_that_is_none_is_refused(backend, error, words):
    """An invalid backend is refused by `set_backend`, not at the first computation."""
    with pytest.raises(error, match=words):
        ix.set_backend("cpu", backend)


def test_a_function_that_returns_no_backend_is_refused():
    """A function that returns no backend is refused, and the error shows the return value."""
    ix.set_backend(EXT, lambda _: "numpy")

    with pytest.raises(ix.BackendUnavailableError, match="returned 'numpy'"):
        xp.zeros(3, device=EXT)


def test_a_library_that_does_not_compute_there_is_an_error_when_it_was_named():
    """A backend that was set and does not support the device is an error; no other is used."""

    def make(device):
        raise LookupError(device)

    ix.set_backend(EXT, make)

    with pytest.raises(ix.BackendUnavailableError, match="does not compute on ext_dev:3"):
        xp.zeros(3, device=EXT)


def test_another_package_brings_a_library(monkeypatch):
    """A backend from an entry point is chosen by name like a built-in one."""
    monkeypatch.setattr(selection, "entry_points", lambda **_: [Point("theirs", NumPyBackend)])
    ix.set_backend(EXT, "theirs")

    assert type(selection.backend_of(EXT, "f()")) is NumPyBackend


def test_a_library_of_another_package_is_found_where_none_is_known(monkeypatch):
    """A backend that does not support the device says so, and the next one is tried."""

    def elsewhere(device):
        raise LookupError(device)

    points = [Point("elsewhere", elsewhere), Point("theirs", NumPyBackend)]
    monkeypatch.setattr(selection, "entry_points", lambda **_: points)

    assert type(selection.backend_of(EXT, "f()")) is NumPyBackend


def test_what_is_imported_goes_before_what_is_installed(monkeypatch):
    """Imported libraries precede installed ones, and none is imported without need."""
    asked = []

    def named(name, _):
        def make(device):
            asked.append(name)
            raise LookupError(device)

        return make

    monkeypatch.setattr(selection, "_named", named)
    monkeypatch.setattr(selection, "find_spec", lambda _: object())
    monkeypatch.setattr(selection, "entry_points", lambda **_: [])
    for name in ("cupy", "torch", "jax"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "jax", object())

    with pytest.raises(ix.BackendUnavailableError, match=r"install a build of .* for it"):
        selection.backend_of(ix.Device.of("cuda:7"), "f()")
    assert asked == ["jax", "cupy", "torch"]


def test_the_order_of_backends_is_known_without_creating_one(monkeypatch):
    """The order is: `set_backend`, environment, imported libraries, installed libraries."""
    cuda = ix.Device.of("cuda").type
    monkeypatch.setattr(selection, "find_spec", lambda name: None if name == "cupy" else object())
    for name in ("cupy", "torch", "jax"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "jax", object())
    installed = selection.who_computes(cuda)
    monkeypatch.setenv("INTERCHANGE_CUDA_BACKEND", "torch")
    named = selection.who_computes(cuda)
    ix.set_backend("cuda", NumPyBackend)

    assert installed == ("jax", "torch")
    assert named == ("torch",)
    assert selection.who_computes(cuda) == ("numpy",)


def test_the_namespace_is_announced():
    """The namespace has the entry point that the standard defines."""
    points = importlib.metadata.entry_points(group="array_api", name="array-interchange")

    assert next(iter(points)).load() is xp


def test_importing_the_namespace_imports_no_library(run_isolated):
    """Importing the namespace imports no library; the first computation does."""
    script = """
    import sys
    from interchange import xp
    print([name for name in ("numpy", "torch", "jax", "cupy") if name in sys.modules])
    """
    printed = run_isolated(__import__("textwrap").dedent(script))

    assert printed.strip() == "[]"


def test_two_that_choose_at_once_take_the_same():
    """Threads that choose at once get the same backend, so that arrays have one library."""
    taken = []

    def make(device):
        if not taken:  # while this one is created, another thread creates one, and uses it
            taken.append(None)
            taken[0] = selection.backend_of(EXT, "f()")
        return NumPyBackend(device)

    ix.set_backend(EXT, make)

    assert selection.backend_of(EXT, "f()") is taken[0]


def test_a_choice_under_way_does_not_undo_what_is_said_meanwhile():
    """A backend created for an earlier setting does not replace a newer one."""

    class Later(NumPyBackend):
        """Named while the other is made."""

    def make(device):
        ix.set_backend(EXT, Later)
        return NumPyBackend(device)

    ix.set_backend(EXT, make)
    selection.backend_of(EXT, "f()")

    assert type(selection.backend_of(EXT, "f()")) is Later
