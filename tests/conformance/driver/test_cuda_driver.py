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


def test_none_sets_one_variable():
    """No driver is built or searched for."""
    assert environment("none") == {VARIABLE: "none"}


def test_a_real_driver_is_found_by_the_loader():
    """No path is changed."""
    assert environment("real") == {VARIABLE: "real"}


@pytest.mark.emulated
def test_the_emulated_one_comes_first_on_the_loaders_path(monkeypatch):
    """Libraries that search for a driver find it; the previous path is kept."""
    monkeypatch.setenv("LD_LIBRARY_PATH", "elsewhere")

    found = environment("emulated")

    first, *rest = found["LD_LIBRARY_PATH"].split(os.pathsep)
    assert (rest, found[VARIABLE]) == (["elsewhere"], "emulated")
    assert [path.name for path in Path(first).iterdir()] == ["libcuda.so.1"]


@pytest.mark.emulated
def test_the_emulated_one_has_two_devices_and_guards_them():
    """Arrays can be created on a second device, and the host cannot read device memory."""
    found = environment("emulated")

    assert (found["EMUCUDA_DEVICES"], found["EMUCUDA_PROTECT"]) == ("2", "1")


@pytest.mark.parametrize(("builds", "expected"), [(True, "emulated"), (False, "none")])
def test_unless_told_it_is_the_emulated_one_if_that_can_be_built(monkeypatch, builds, expected):
    """Without a compiler, the other checks are still run."""

    def build():
        if not builds:
            raise CannotBuildError("there is no C compiler")
        return cuda.Path("somewhere", "libcuda.so.1")

    monkeypatch.setattr(cuda, "build", build)

    assert environment()[VARIABLE] == expected


def test_what_cannot_be_built_is_an_error_where_it_was_asked_for(monkeypatch):
    """The driver is not silently left out."""

    def build():
        raise CannotBuildError("there is no C compiler")

    monkeypatch.setattr(cuda, "build", build)
    with pytest.raises(CannotBuildError, match="no C compiler"):
        environment("emulated")


def test_another_word_is_refused():
    """The error lists the valid values."""
    with pytest.raises(ValueError, match="none, emulated or real"):
        environment("gpu")


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
def test_a_library_that_uses_the_driver_when_imported_is_told_so(run_isolated):
    """A driver that was initialised before a fork cannot be used in the child."""
    printed = run_isolated(FORKED.replace("os._exit", "import sys; sys.stdout.flush(); os._exit"),
                           env=environment("emulated"))  # fmt: skip

    assert "broken: importing the library initialised CUDA" in printed


# ---------------------------------------------------------------- queries


@pytest.mark.emulated
@pytest.mark.gpu
def test_each_kind_of_memory_is_told_from_the_others(on_driver):
    """Host memory is memory that the driver does not know."""
    printed = on_driver(
        """
        import ctypes
        block = ctypes.create_string_buffer(64)
        for address in (cuda.memory(64), cuda.managed(64), cuda.pinned(64)):
            print(cuda.kind(address)[0], set(cuda.read(address, 64)))
        print(cuda.kind(ctypes.addressof(block))[0])
        """
    )

    assert printed == ["cuda", "{0}", "managed", "{0}", "pinned", "{0}", "host"]


@pytest.mark.emulated
@pytest.mark.gpu
def test_bytes_are_written_and_read_back(on_driver):
    """All kinds of memory are accessed, as a whole or in part."""
    printed = on_driver(
        """
        for address in (cuda.memory(64), cuda.managed(64), cuda.pinned(64)):
            cuda.write(address + 8, b"abc")
            print(cuda.read(address + 7, 5) == b"\\0abc\\0", cuda.read(address, 0) == b"")
        """
    )

    assert printed == ["True"] * 6


@pytest.mark.emulated
@pytest.mark.gpu
def test_a_driver_error_has_its_name(on_driver):
    """The error has the name of the function as well."""
    printed = on_driver(
        """
        try:
            cuda("cuMemcpyAsync", 0, 0, 64, cuda.stream())
        except kit.CudaError as error:
            print(error)
        """
    )

    assert printed == ["cuMemcpyAsync:", "CUDA_ERROR_INVALID_VALUE", "(1)"]


@pytest.mark.emulated
@pytest.mark.gpu
def test_a_capture_says_whether_it_was_spoilt(on_driver):
    """No error is raised: the check decides what invalidated it."""
    printed = on_driver(
        """
        stream = cuda.stream()
        with cuda.capture(stream) as whole:
            pass
        with cuda.capture(stream) as broken:
            cuda.is_done(stream)
        print(repr(whole.spoilt), broken.spoilt, cuda.is_capturing(stream))
        """
    )

    assert printed == ["''", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "(901)", "False"]


@pytest.mark.emulated
@pytest.mark.gpu
def test_a_stream_waits_for_another(on_driver):
    """The streams are ordered by an event, which is destroyed."""
    printed = on_driver(
        """
        before, after = cuda.stream(), cuda.stream()
        with cuda.gate(before, 20):
            cuda.order(before, after)
            print(cuda.is_done(after), cuda.knows(after))
        cuda.synchronize(after)
        print(cuda.is_done(after))
        """
    )

    assert printed == ["False", "True", "True"]


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
