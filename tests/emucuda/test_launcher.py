"""``python -m interchange_conformance.emucuda -- command``: a program on the emulated driver."""

from __future__ import annotations

import signal
import subprocess

import pytest

from .programs import BY_CTYPES, CLEAN, PYTHON, launch

pytestmark = pytest.mark.emulated


RACE = BY_CTYPES + "race()\n"
ORDERED = BY_CTYPES + "cu, ptr = race(streams=1)\n"
COUNTS = f"{ORDERED}n = ctypes.c_int()\ncu.cuDeviceGetCount(ctypes.byref(n))\nprint(n.value)"


# ---------------------------------------------------------------- programs


def test_a_program_without_reports_ends_as_it_ends():
    """The output and the exit code are those of the program, and nothing is added."""
    done = launch("--", PYTHON, "-c", ORDERED + "print('all is well'); sys.exit(5)")

    assert (done.returncode, done.stdout, done.stderr) == (5, "all is well\n", "")


def test_a_program_with_reports_ends_with_a_code_of_its_own():
    """The exit code is 86, and the reports are printed."""
    done = launch("--", PYTHON, "-c", RACE + "print('all is well')")

    assert (done.returncode, done.stdout) == (86, "all is well\n")
    assert "emucuda: 1 report:" in done.stderr
    assert "cuMemsetD8Async" in done.stderr


def test_a_failure_of_the_program_keeps_its_code():
    """The reports are printed as well."""
    done = launch("--", PYTHON, "-c", RACE + "sys.exit(3)")

    assert done.returncode == 3
    assert "emucuda: 1 report:" in done.stderr


def test_the_reports_of_all_processes_are_printed():
    """Two programs run one after the other, and only the first has a report."""
    text = f'{PYTHON} -c "$RACE"; {PYTHON} -c "$RACE"; {PYTHON} -c "$ORDERED"'

    done = launch("--", "sh", "-c", text, RACE=RACE, ORDERED=ORDERED)

    assert done.returncode == 86
    assert "emucuda: 2 reports:" in done.stderr


def test_a_program_that_uses_no_driver_is_told_from_one_without_faults():
    """No calls were checked, so there are no reports."""
    done = launch("--", PYTHON, "-c", "pass")

    assert done.returncode == 0
    assert "the detector wrote no reports: no process loaded the driver" in done.stderr


def test_a_program_that_skips_its_end_is_not_said_to_have_used_no_driver():
    """os._exit leaves no reports, and the launcher says so."""
    done = launch("--", PYTHON, "-c", RACE + "os._exit(0)")

    assert done.returncode == 0
    assert "os._exit, execve and signals prevent it" in done.stderr


def test_a_program_that_a_signal_ends_has_the_code_of_shells():
    """The exit code is 128 plus the number of the signal."""
    done = launch("--", PYTHON, "-c", "import os; os.kill(os.getpid(), 9)")

    assert done.returncode == 128 + signal.SIGKILL


def test_input_reaches_the_program():
    """The launcher does not read the input."""
    done = subprocess.run(
        [PYTHON, "-m", "interchange_conformance.emucuda", "--", "cat"],
        input="some words",
        env=CLEAN,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.stdout == "some words"


def test_the_launcher_passes_a_request_to_end_on():
    """A supervisor that terminates the launcher terminates the program, and no orphan is left."""
    words = [PYTHON, "-m", "interchange_conformance.emucuda", "--"]
    program = "import time; print('here', flush=True); time.sleep(60)"
    with subprocess.Popen(
        [*words, PYTHON, "-c", program], env=CLEAN, stdout=subprocess.PIPE, text=True
    ) as process:
        process.stdout.readline()
        process.terminate()
        code = process.wait(20)

    assert code == 128 + signal.SIGTERM


def test_options_of_the_program_are_its_own():
    """Everything after the first ``--`` belongs to the program, including another ``--``."""
    done = launch("--", PYTHON, "-c", "import sys; print(sys.argv[1:])", "--devices", "--", "-h")

    assert done.stdout == "['--devices', '--', '-h']\n"


# ---------------------------------------------------------------- options


def test_there_are_as_many_devices_as_asked_for():
    """There are two devices by default."""
    done = launch("--devices", 3, "--", PYTHON, "-c", COUNTS)

    assert done.stdout == "3\n"


def test_a_variable_that_is_set_is_not_changed():
    """Only options change the variables."""
    done = launch("--", PYTHON, "-c", COUNTS, EMUCUDA_DEVICES="4")

    assert done.stdout == "4\n"


def test_without_the_detector_there_are_no_reports():
    """The launcher prints nothing about reports either."""
    done = launch("--races", "off", "--", PYTHON, "-c", RACE)

    assert (done.returncode, done.stderr) == (0, "")


def test_reports_may_be_printed_as_they_come():
    """The reports precede the last output of the program."""
    text = RACE + "os.write(2, b'last words\\n')"

    done = launch("--races", "print", "--", PYTHON, "-c", text)

    assert done.returncode == 86
    assert "cuMemsetD8Async" in done.stderr.partition("last words")[0]


def test_the_first_report_may_end_the_program():
    """The program ends with the signal of abort(), for use with a debugger."""
    done = launch("--races", "abort", "--", PYTHON, "-c", RACE + "print('not reached')")

    assert done.returncode == 128 + signal.SIGABRT
    assert done.stdout == ""
    assert "cuMemsetD8Async" in done.stderr


@pytest.mark.parametrize(("option", "code"), [((), 0), (("--protect",), 128 + signal.SIGSEGV)])
def test_device_memory_may_be_out_of_the_hosts_reach(option, code):
    """As on a device, a program that reads device memory crashes."""
    done = launch(*option, "--", PYTHON, "-c", ORDERED + "ctypes.string_at(ptr.value, 1)")

    assert done.returncode == code


def test_operations_may_be_slow():
    """The only operation is delayed by a tenth of a second."""
    text = "import time; began = time.monotonic()\n" + ORDERED + "print(time.monotonic() - began)"

    done = launch("--delay-us", 100_000, "--", PYTHON, "-c", text)

    assert float(done.stdout) >= 0.1


def test_the_calls_go_into_a_file(tmp_path):
    """The file has the calls of this run only, in whichever folder the program runs."""
    file = tmp_path / "calls"
    file.write_text("cuOfAnEarlierRun\n")

    done = launch("--trace", file, "--", PYTHON, "-c", "import os; os.chdir('/')\n" + ORDERED)

    assert done.returncode == 0
    names = [line.split()[0] for line in file.read_text().splitlines()]
    assert names[0] == "cuInit"
    assert "cuMemsetD8Async" in names
    assert "cuOfAnEarlierRun" not in names


# ---------------------------------------------------------------- errors


def test_a_command_that_is_not_there_is_named():
    """The exit code is that of shells for a missing command."""
    done = launch("--", "no-such-command", "--option")

    assert (done.returncode, done.stderr) == (127, "emucuda: command not found: no-such-command\n")


def test_a_command_that_cannot_be_run_is_named(tmp_path):
    """The exit code is that of shells for a command that is not executable."""
    done = launch("--", tmp_path)

    assert (done.returncode, done.stderr) == (
        126,
        f"emucuda: {tmp_path} cannot be run: Permission denied\n",
    )
