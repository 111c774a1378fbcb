"""Gates built from host functions hold a stream on the emulated driver and on a real one."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time

import pytest

from interchange_conformance.emucuda import Gate, GateError, gates

from .programs import BY_CTYPES

SIZE = 4096  # [bytes]
NON_BLOCKING = 1
BUSY = 600  # CUDA_ERROR_NOT_READY

on_any_driver = [pytest.mark.emulated, pytest.mark.gpu]


def check(answer):
    """Return the result of a call of cuda.bindings, which must have succeeded."""
    code, *values = answer
    assert int(code) == 0, code
    return values[0] if values else None


@pytest.fixture
def cu(cuda_driver, need):
    """Return cuda.bindings.driver, on the chosen driver, with a current context."""
    assert cuda_driver in {"emulated", "real"}
    need("cuda.bindings.driver")
    from cuda.bindings import driver

    check(driver.cuInit(0))
    check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(0))))
    yield driver
    check(driver.cuCtxSynchronize())
    check(driver.cuDevicePrimaryCtxRelease(0))


@pytest.fixture(params=["legacy", "another"])
def stream(cu, request):
    """Return the legacy default stream, or a stream that does not wait for other streams."""
    if request.param == "legacy":
        yield 1
        return
    made = check(cu.cuStreamCreate(NON_BLOCKING))
    yield made
    check(cu.cuStreamDestroy(made))


@pytest.fixture
def pinned(cu):
    """Return zeroed pinned memory, and a view of its bytes."""
    ptr = int(check(cu.cuMemHostAlloc(SIZE, 0)))
    ctypes.memset(ptr, 0, SIZE)
    yield ptr
    check(cu.cuMemFreeHost(ptr))


@pytest.fixture
def device(cu):
    """Return the address of device memory filled with sevens."""
    ptr = check(cu.cuMemAlloc(SIZE))
    check(cu.cuMemsetD8(ptr, 7, SIZE))
    check(cu.cuCtxSynchronize())
    yield int(ptr)
    check(cu.cuMemFree(ptr))


def state(cu, stream):
    """Return the state of a stream: 0 if all its work is done."""
    return int(cu.cuStreamQuery(stream)[0])


class TestOnAnyDriver:
    """Gates with the public calls of the driver only."""

    pytestmark = on_any_driver

    def test_nothing_runs_behind_a_shut_gate(self, cu, stream, device, pinned):
        """Work behind a gate runs when the gate is opened."""
        gate = Gate(stream)
        check(cu.cuMemcpyDtoHAsync(pinned, device, SIZE, stream))
        time.sleep(0.02)  # sufficient for a thousand copies of this size
        before = state(cu, stream), ctypes.string_at(pinned, 2), gate.is_open
        gate.open()
        check(cu.cuStreamSynchronize(stream))

        assert before == (BUSY, b"\0\0", False)
        assert (state(cu, stream), ctypes.string_at(pinned, 2)) == (0, b"\7\7")
        assert gate.is_open

    def test_a_block_opens_its_gate(self, cu, stream):
        """The gate is opened, also if the block raises."""
        with pytest.raises(KeyError), Gate(stream):
            raise KeyError
        check(cu.cuStreamSynchronize(stream))

        assert state(cu, stream) == 0

    def test_gates_of_one_stream_come_one_after_the_other(self, cu, stream):
        """The second gate holds the work that the first one releases."""
        first, second = Gate(stream), Gate(stream)
        first.open()
        time.sleep(0.02)
        between = state(cu, stream)
        second.open()
        check(cu.cuStreamSynchronize(stream))

        assert between == BUSY
        assert state(cu, stream) == 0

    def test_a_gate_may_be_opened_twice(self, cu, stream):
        """The second time has no effect."""
        with Gate(stream) as gate:
            gate.open()
        with Gate(stream) as other:
            still_held = state(cu, stream)
        check(cu.cuStreamSynchronize(stream))

        assert (still_held, other.is_open) == (BUSY, True)

    def test_a_gate_that_is_forgotten_opens_and_says_so(self, cu, stream):
        """The program does not hang, and an error states that its results cannot be used."""
        gate = Gate(stream, timeout=0.05)
        check(cu.cuStreamSynchronize(stream))

        assert gate.timed_out
        with pytest.raises(GateError, match=r"not opened within 0\.05 seconds"):
            gate.open()

    def test_the_blocks_own_error_is_kept(self, cu, stream):
        """The error of the block is more informative than that of a gate which timed out."""

        def work():
            with Gate(stream, timeout=0.02):
                check(cu.cuStreamSynchronize(stream))
                raise KeyError

        with pytest.raises(KeyError):
            work()

    def test_gates_leave_nothing_behind(self, cu, stream):
        """A hundred gates in sequence leave no resources."""
        for _ in range(100):
            with Gate(stream):
                pass
            check(cu.cuStreamSynchronize(stream))

        assert len(gates._kept) <= 1
        assert len(gates._shut) == 0


@pytest.mark.emulated  # a real driver dereferences any handle
@pytest.mark.usefixtures("emulator", "cu")
def test_a_handle_that_is_no_stream_is_refused():
    """The error has the driver's name, and no gate is left."""
    with pytest.raises(GateError, match="CUDA_ERROR_"):
        Gate(0xDEAD0)

    assert len(gates._shut) == 0


@pytest.mark.emulated
def test_a_program_that_ends_with_a_shut_gate_ends():
    """The gate is opened at exit, whatever the driver waits for."""
    load = "from interchange_conformance.emucuda import Gate, load\nload()\n"
    text = f"{load}{BY_CTYPES}start()\ngate = Gate(1)\nprint('end')\n"
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=20, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_without_a_driver_a_gate_says_so(tmp_path):
    """The error contains the message of the loader."""
    (tmp_path / "libcuda.so.1").write_text("no library")
    text = "from interchange_conformance.emucuda import Gate\nGate(1)\n"

    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "GateError: Gate(): there is no CUDA driver" in done.stderr
