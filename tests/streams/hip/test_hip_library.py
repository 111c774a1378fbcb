"""ROCm, the runtime library: which file is loaded, and the error if there is none."""

from __future__ import annotations

import os

import pytest

import interchange as ix
from interchange._streams import _hip_library as library, driver as drivers
from interchange._streams.hip import HipDriver, open_driver

CALL = "f()"


def refusal():
    """Return the reason why there is no driver."""
    with pytest.raises(ix.BackendUnavailableError) as caught:
        open_driver(CALL)
    assert str(caught.value).startswith(f"{CALL}: ")
    assert caught.value.rule == "IX-DRIVER-1"
    return caught.value


@pytest.fixture
def nothing_named(monkeypatch):
    """Name no file, and hide the files with the usual names."""
    monkeypatch.delenv(library.VARIABLE, raising=False)
    monkeypatch.setattr(library, "NAMES", tuple(f"no-{name}" for name in library.NAMES))


@pytest.mark.usefixtures("nothing_named")
def test_where_nothing_is_found_the_names_are_told():
    """The error has the names, and what to install or to set."""
    error = refusal()

    assert all(name in error.what for name in library.NAMES)
    assert library.VARIABLE in error.hint


def test_what_is_named_is_loaded_or_nothing(monkeypatch, tmp_path):
    """A named file that cannot be loaded is an error; no other file is tried."""
    monkeypatch.setenv(library.VARIABLE, str(tmp_path / "libamdhip64.so"))

    assert f"{library.VARIABLE}={tmp_path}" in refusal().what


@pytest.mark.usefixtures("nothing_named")
def test_a_broken_runtime_is_not_passed_over(monkeypatch, tmp_path):
    """The first file that is found is used; the error has the reason why it cannot be loaded."""
    broken = tmp_path / "libamdhip64.so"
    broken.write_text("no library")
    monkeypatch.setattr(library, "NAMES", (*library.NAMES, str(broken)))

    assert refusal().what.startswith(f"the HIP runtime {broken} cannot be loaded (")


def test_a_library_of_something_else_is_refused(monkeypatch):
    """The error has the first function that is missing."""
    monkeypatch.setenv(library.VARIABLE, "libc.so.6")

    assert "has no function hip" in refusal().what


@pytest.mark.usefixtures("nothing_named")
def test_a_driver_that_is_missing_is_asked_for_again(monkeypatch):
    """The result is not cached: a runtime may be installed or named later."""
    monkeypatch.delitem(drivers.drivers, "hip", raising=False)
    with pytest.raises(ix.BackendUnavailableError):
        drivers.driver_of(ix.Device.of("rocm"), CALL)

    assert "hip" not in drivers.drivers


# ---------------------------------------------------------------- with a runtime

LOADED_BEFORE = """
import ctypes, sys
from interchange_conformance.emucuda import load
load()
ctypes.CDLL(sys.argv[1])
from interchange._streams.hip import open_driver
print(open_driver("f()").count_devices("f()"))
"""

NO_DEVICE = """
from interchange_conformance.emucuda import load
load()
import interchange as ix
from interchange._streams.hip import open_driver
try:
    open_driver("f()")
except ix.BackendUnavailableError as error:
    print(error.rule, error.what)
"""


@pytest.mark.emulated
@pytest.mark.usefixtures("rocm")
def test_the_driver_of_rocm_devices_is_this_one(monkeypatch):
    """Device memory and page-locked host memory use this driver, which is loaded once."""
    monkeypatch.delitem(drivers.drivers, "hip", raising=False)
    found = [drivers.driver_of(ix.Device.of(name), CALL) for name in ("rocm:1", "rocm_host")]
    monkeypatch.delitem(drivers.drivers, "hip")

    assert isinstance(found[0], HipDriver)
    assert found[0] is found[1]


@pytest.mark.emulated
@pytest.mark.usefixtures("rocm")
@pytest.mark.isolated
def test_the_runtime_that_is_loaded_is_taken(run_isolated, build_runtime, tmp_path):
    """It is found by its SONAME before other files: a second runtime would not know its streams."""
    (tmp_path / library.NAMES[0]).write_text("no library")
    folders = [str(tmp_path), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    env = {library.VARIABLE: "", "LD_LIBRARY_PATH": os.pathsep.join(folders)}

    assert run_isolated(LOADED_BEFORE, build_runtime(library.NAMES[1]), env=env) == "2\n"


@pytest.mark.emulated
@pytest.mark.usefixtures("rocm")
@pytest.mark.isolated
def test_without_a_device_there_is_no_driver(run_isolated):
    """The error has the message of the runtime."""
    said = run_isolated(NO_DEVICE, env={"EMUCUDA_DEVICES": "0"})

    assert said.startswith("IX-DRIVER-1 ROCm has no device here (hipGetDeviceCount ")
