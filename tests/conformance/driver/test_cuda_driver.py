"""The kit's use of the CUDA driver API: the choice of the driver, and its functions."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest

from interchange_conformance.driver import cuda
from interchange_conformance.driver.cuda import VARIABLE, environment
from interchange_conformance.emucuda import CannotBuildError
from interchange_conformance.findings import NotApplicable

on_any_driver = [pytest.mark.emulated, pytest.mark.gpu]


@pytest.fixture
def on_driver(run_isolated, cuda_driver):
    """Return a function that runs a program with the chosen driver."""
    begin = "from interchange_conformance.driver import cuda as kit\ncuda = kit.driver()\n"
    variables = environment(cuda_driver)

    def run(program):
        return run_isolated(begin + textwrap.dedent(program), env=variables).split()

    return run


# ---------------------------------------------------------------- selection


@pytest.mark.parametrize("driver", ["none", "real"])
def test_none_and_a_real_driver_set_one_variable(driver):
    """No driver is built, and no path is changed: a real one is found by the loader."""
    assert environment(driver) == {VARIABLE: driver}


@pytest.mark.emulated
def test_the_emulated_one_comes_first_on_the_loaders_path(monkeypatch):
    """Libraries that search for a driver find it, with two devices that the host cannot read."""
    monkeypatch.setenv("LD_LIBRARY_PATH", "elsewhere")

    found = environment("emulated")

    first, *rest = found["LD_LIBRARY_PATH"].split(os.pathsep)
    assert (rest, found[VARIABLE]) == (["elsewhere"], "emulated")
    assert [path.name for path in Path(first).iterdir()] == ["libcuda.so.1"]
    assert (found["EMUCUDA_DEVICES"], found["EMUCUDA_PROTECT"]) == ("2", "1")


@pytest.mark.parametrize(("builds", "expected"), [(True, "emulated"), (False, "none")])
def test_unless_told_it_is_the_emulated_one_if_that_can_be_built(monkeypatch, builds, expected):
    """Without a compiler, the other checks are run, unless the emulated driver was requested."""

    def build():
        if not builds:
            raise CannotBuildError("there is no C compiler")
        return cuda.Path("somewhere", "libcuda.so.1")

    monkeypatch.setattr(cuda, "build", build)

    assert environment()[VARIABLE] == expected
    with pytest.raises(ValueError, match="none, emulated or real"):
        environment("gpu")
    if not builds:
        with pytest.raises(CannotBuildError, match="no C compiler"):
            environment("emulated")


def test_without_a_choice_checks_do_not_apply(monkeypatch):
    """The reason says which option to use."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(cuda, "_found", [])
    with pytest.raises(NotApplicable, match="--cuda=emulated or --cuda=real"):
        cuda.driver()


@pytest.mark.emulated
def test_the_emulated_driver_is_never_taken_for_a_real_one(run_child):
    """The results would claim more than they show."""
    variables = {**environment("emulated"), VARIABLE: "real"}

    done = run_child(
        "from interchange_conformance.driver import cuda\ncuda.driver()\n", env=variables
    )

    assert done.returncode == 1
    assert "is the emulated driver" in done.stderr


FORKED = """
import ctypes, os
from interchange_conformance.driver import cuda
from interchange_conformance.findings import BrokenSubjectError

ctypes.CDLL("libcuda.so.1").cuInit(0)
if not os.fork():
    try:
        cuda.driver()
    except BrokenSubjectError as error:
        print("broken:", error)
    os._exit(0)
os.wait()
"""


@pytest.mark.emulated
def test_a_library_that_initialises_the_driver_when_imported_is_reported(run_isolated):
    """A driver that was initialised before a fork cannot be used in the child."""
    printed = run_isolated(FORKED.replace("os._exit", "import sys; sys.stdout.flush(); os._exit"),
                           env=environment("emulated"))  # fmt: skip

    assert "broken: importing the library initialised CUDA" in printed


# ---------------------------------------------------------------- queries


KINDS = """
import ctypes
block = ctypes.create_string_buffer(64)
for address in (cuda.memory(64), cuda.managed(64), cuda.pinned(64)):
    print(cuda.kind(address)[0], set(cuda.read(address, 64)))
    cuda.write(address + 8, b"abc")
    print(cuda.read(address + 7, 5) == b"\\0abc\\0", cuda.read(address, 0) == b"")
print(cuda.kind(ctypes.addressof(block))[0])
"""
NAMED_ERROR = """
try:
    cuda("cuMemcpyAsync", 0, 0, 64, cuda.stream())
except kit.CudaError as error:
    print(error)
"""
CAPTURES = """
stream = cuda.stream()
with cuda.capture(stream) as whole:
    pass
with cuda.capture(stream) as broken:
    cuda.is_done(stream)
print(repr(whole.spoilt), broken.spoilt, cuda.is_capturing(stream))
"""
ORDERED = """
before, after = cuda.stream(), cuda.stream()
with cuda.gate(before, 20):
    cuda.order(before, after)
    print(cuda.is_done(after), cuda.knows(after))
cuda.synchronize(after)
print(cuda.is_done(after))
"""


@pytest.mark.emulated
@pytest.mark.gpu
@pytest.mark.parametrize(
    ("program", "printed"),
    [
        (KINDS, "cuda {0} True True managed {0} True True pinned {0} True True host"),
        (NAMED_ERROR, "cuMemcpyAsync: CUDA_ERROR_INVALID_VALUE (1)"),
        (CAPTURES, "'' CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901) False"),
        (ORDERED, "False True True"),
    ],
    ids=["kinds of memory", "an error", "captures", "an order of streams"],
)
def test_any_driver_gives_its_answers(on_driver, program, printed):
    """Memory of each kind is read and written, an error is named, and a broken capture is told."""
    assert on_driver(program) == printed.split()


@pytest.mark.emulated
def test_another_device_is_current_for_a_block(on_driver):
    """The first device is restored, and no context of the second was created before."""
    printed = on_driver(
        """
        with cuda.on_device(1):
            print(cuda.current_device, cuda.kind(cuda.memory(8))[1])
        print(cuda.current_device, cuda.current_context == cuda.context(0))
        """
    )

    assert printed == ["1", "1", "0", "True"]


@pytest.mark.emulated
def test_the_emulated_driver_keeps_a_log_and_an_account(on_driver):
    """They have the calls, the live resources, and the reports since the last reset."""
    printed = on_driver(
        """
        one, two, address = cuda.stream(), cuda.stream(), cuda.memory(8)
        cuda.forget()
        with cuda.trace() as trace:
            cuda.fill(address, 1, 8, one)
        cuda.fill(address, 2, 8, two)
        cuda.synchronize()
        print(trace.names, len(cuda.reports()), cuda.live().streams)
        cuda.forget()
        print(cuda.reports())
        """
    )

    assert printed == ["['cuMemsetD8Async']", "1", "2", "[]"]


@pytest.mark.gpu
def test_a_real_driver_keeps_neither(on_driver):
    """Checks that need them are not applicable, and there are no reports."""
    printed = on_driver(
        """
        from interchange_conformance.findings import NotApplicable
        for ask in (cuda.live, cuda.trace().__enter__):
            try:
                ask()
            except NotApplicable as reason:
                print(str(reason).split()[1])
        print(cuda.reports())
        """
    )

    assert printed == ["the", "the", "[]"]
