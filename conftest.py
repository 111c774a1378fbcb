"""How the tests of this repository are chosen and distributed, whichever of them are run.

Source: pytest-xdist, ``pytest_xdist_auto_num_workers``; pytest, ``addopts`` in pyproject.toml.
"""

from __future__ import annotations

import gc
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

# their examples need LLVM, and so does their import
NEED_LLVM = ["src/interchange/cuda/llvm", "tests/bench/kernels_differential.py"]
collect_ignore = [] if importlib.util.find_spec("llvmlite") else NEED_LLVM
LAUNCHING = (
    "host_arrays.mapped",
    "kernel.Kernel.forall",
    "rawkernel.rawkernel",
    "xoroshiro.create_xoroshiro128p_states",
)
"""Examples that launch kernels, which LLVM compiles: they run beside other libraries."""
COLLECTED = pytest.StashKey["list[pytest.Item]"]()


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Take the option of pytest-xdist that addopts names where it is off or not installed."""
    if not pluginmanager.hasplugin("xdist"):
        parser.addoption("--numprocesses", help="of pytest-xdist, which is off")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Run in this process what is one file, what is looked at, and what needs the only GPU."""
    option = config.option
    looked_at = option.capture == "no" or option.trace or option.usepdb
    real_driver = config.getoption("--cuda", "emulated") == "real"
    return 0 if looked_at or real_driver or _is_one_file(config.args) else None


def _is_one_file(words: Sequence[str]) -> bool:
    """Whether a command line names one file, or tests of one."""
    files = {word.partition("::")[0] for word in words}
    return len(files) == 1 and Path(files.pop()).is_file()


def pytest_configure(config: pytest.Config) -> None:
    """Run a test that is named by its own id, whatever marks it carries."""
    if config.args and all("::" in word for word in config.args) and not _is_chosen(config):
        config.option.markexpr = ""


def _is_chosen(config: pytest.Config) -> bool:
    """Whether the user chose marks: else the choice is that of addopts."""
    return any(word.startswith("-m") for word in config.invocation_params.args)


@pytest.hookimpl(tryfirst=True)  # before the tests are chosen from by -k and -m
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take the mark of a grid from the cells it names; remember what there is, chosen or not."""
    for item in items:
        if item.name.endswith(LAUNCHING):
            item.add_marker(pytest.mark.interop)
        for mark in [mark for mark in item.own_markers if mark.name == "exhaustive"]:
            if mark.kwargs and item.callspec.id in mark.kwargs["but"]:
                item.own_markers.remove(mark)
    config.stash[COLLECTED] = list(items)


@pytest.hookimpl(trylast=True)  # when the fixtures of a module are gone
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Freeze what a module of tests has imported, too, and what it thawed."""
    if nextitem is not None and nextitem.path != item.path:
        pytest_collection_finish()


def pytest_collection_finish() -> None:
    """Keep what was collected out of the sight of ``gc.collect()``, which tests call often."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def collected(pytestconfig: pytest.Config) -> list[pytest.Item]:
    """Return every test of the files of this run, those that were not chosen as well."""
    return pytestconfig.stash[COLLECTED]
