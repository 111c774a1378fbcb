"""``interchange doctor``: what it reports about this machine, and what it finds wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import interchange as ix
from interchange._installation import installed_release
from interchange.cli import kit


@pytest.fixture
def told(run_cli):
    """Return a function that returns the document."""
    return lambda: json.loads(run_cli("doctor", "--json").out)


def test_facts_of_this_machine_are_told(told):
    """Core, NumPy, Python, libraries and variables are those of this process."""
    facts = told()

    assert facts["core"] == ix.core_name
    assert facts["numpy"] == facts["versions"]["numpy"] == np.__version__
    assert facts["executable"] == sys.executable
    assert facts["folder"] == str(Path(ix.__file__).parent)
    assert facts["kit"] == installed_release("array-interchange-conformance")


def test_variables_that_are_set_are_told(told, run_cli, monkeypatch):
    """Those that are not set are left out."""
    monkeypatch.setenv("INTERCHANGE_LOAD_DEVICE", "cpu")

    assert told()["variables"]["INTERCHANGE_LOAD_DEVICE"] == "cpu"
    assert "INTERCHANGE_HIP_LIBRARY" not in told()["variables"]
    assert "INTERCHANGE_LOAD_DEVICE=cpu" in run_cli("doctor").out


def test_a_missing_driver_has_its_reason(told, monkeypatch):
    """Of CUDA and ROCm; the report goes on."""
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    monkeypatch.setenv("INTERCHANGE_HIP_LIBRARY", "/nowhere/libamdhip64.so")

    drivers = told()["drivers"]

    assert drivers["CUDA"]["reason"] == "cuda-python is not installed"
    assert "/nowhere/libamdhip64.so" in drivers["ROCm"]["reason"]


@pytest.mark.parametrize(("mode", "is_safe"), [(0o700, True), (0o777, False)])
def test_a_cache_has_its_size_and_permissions(told, run_cli, monkeypatch, tmp_path, mode, is_safe):
    """A folder that others can write is wrong, and is not used."""
    folder = tmp_path / "interchange" / "kernels"
    folder.mkdir(parents=True)
    folder.chmod(mode)
    (folder / "one").write_bytes(bytes(10))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("INTERCHANGE_CACHE_DIR", raising=False)
    monkeypatch.setenv("COLUMNS", "1000")

    assert told()["caches"] == [
        {"folder": str(folder), "files": 1, "bytes": 10, "mode": f"{mode:04o}", "is_safe": is_safe}
    ]
    assert (run_cli("doctor").code == 0) == is_safe
    assert (f"chmod go-w {folder}" in run_cli("doctor").out) != is_safe


def test_a_cache_that_was_not_made_is_not_wrong(told, run_cli, monkeypatch, tmp_path):
    """Nor is one that is switched off."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("INTERCHANGE_CACHE_DIR", raising=False)
    (cache,) = told()["caches"]
    monkeypatch.setenv("INTERCHANGE_CACHE_DIR", "")

    assert (cache["mode"], cache["is_safe"]) == (None, True)
    assert told()["caches"] == []
    assert run_cli("doctor").code == 0


@pytest.mark.parametrize(
    ("name", "release", "what"),
    [
        ("numpy", None, "NumPy is not installed: what needs it raises an error"),
        ("numpy", "1.26.4", "NumPy 1.26.4 is too old"),
        (kit.KIT, "0.0.1", "the conformance kit has release 0.0.1, and interchange has"),
    ],
)
def test_a_release_that_does_not_fit_is_wrong(run_cli, told, monkeypatch, name, release, what):
    """NumPy and the kit; each with the command that repairs it."""

    def released(distribution):
        return release if distribution == name else installed_release(distribution)

    for module in ("doctor", "kit", "versions"):
        monkeypatch.setattr(f"interchange.cli.{module}.installed_release", released)

    (finding,) = told()["findings"]

    assert finding["what"].startswith(what)
    assert "-m pip install " in finding["fix"]
    assert run_cli("doctor").code == 1


@pytest.mark.isolated
def test_no_array_library_is_imported(run_isolated):
    """Releases are read from metadata."""
    script = """
import sys
from interchange.cli import main
main(["doctor"])
print(sorted({"numpy", "ml_dtypes", "array_api_strict", "pyarrow"} & set(sys.modules)))
"""
    assert run_isolated(script).splitlines()[-1] == "[]"
