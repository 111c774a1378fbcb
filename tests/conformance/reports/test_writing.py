"""A report is written completely or not at all, and errors name the file and the reason."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from interchange_conformance.reports import files
from interchange_conformance.reports.files import ReportError, check_writable, write

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="a system without /dev/full")
needs_rights = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")


def test_a_file_is_written(tmp_path):
    """The encoding is UTF-8, and the permissions are the default."""
    path = tmp_path / "report.txt"

    write(str(path), "✓ größer\n")

    mask = os.umask(0)
    os.umask(mask)
    assert path.read_bytes() == "✓ größer\n".encode()
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_what_was_there_is_replaced(tmp_path):
    """The permissions are kept, and no other file is left."""
    path = tmp_path / "report.txt"
    path.write_text("a long text of an earlier run")
    path.chmod(0o640)

    write(str(path), "new")

    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path):
    """The target of the link is written."""
    (tmp_path / "real").mkdir()
    link, real = tmp_path / "link.txt", tmp_path / "real" / "report.txt"
    link.symlink_to(real)

    write(str(link), "text")

    assert link.is_symlink()
    assert real.read_text() == "text"


def test_text_without_an_encoding_is_written_out(tmp_path):
    """A lone surrogate is escaped."""
    path = tmp_path / "report.txt"

    write(str(path), "a\ud800b")

    assert path.read_text() == "a\\ud800b"


@pytest.mark.parametrize("act", [check_writable, lambda name: write(name, "x")])
@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("nowhere/report.txt", "cannot write .*: there is no directory .*nowhere"),
        ("", "it is a directory"),
        ("file/report.txt", "there is no directory"),
    ],
)
def test_what_is_no_file_is_named(tmp_path, act, place, words):
    """The directory is checked before the run, and again when the report is written."""
    (tmp_path / "file").touch()

    with pytest.raises(ReportError, match=words):
        act(str(tmp_path / place))


def test_a_name_that_is_too_long_is_refused(tmp_path):
    """The error contains the message of the system."""
    with pytest.raises(ReportError, match=os.strerror(errno.ENAMETOOLONG)):
        check_writable(str(tmp_path / ("x" * 300)))


@needs_rights
def test_a_directory_of_another_user_is_refused(tmp_path):
    """The error precedes the run."""
    tmp_path.chmod(0o500)

    with pytest.raises(ReportError, match="is not writable"):
        check_writable(str(tmp_path / "report.txt"))


def test_an_error_is_an_os_error():
    """Callers can catch it without importing the kit."""
    assert issubclass(ReportError, OSError)


# ---------------------------------------------------------------- full disks

FILL = """
import resource, sys
from interchange_conformance.reports.files import ReportError, write
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # a write beyond fails, as on a full disk
try:
    write(sys.argv[1], "x" * 100_000)
except ReportError as error:
    print(error)
"""


def test_a_full_disk_leaves_no_half_file(tmp_path, run_isolated):
    """The existing file is unchanged, and no other file is left."""
    path = tmp_path / "report.txt"
    path.write_text("of an earlier run")

    said = run_isolated(FILL, path)

    assert said.startswith(f"cannot write {path}: ")
    assert path.read_text() == "of an earlier run"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_whatever_fails_nothing_is_left(tmp_path, monkeypatch, step):
    """A full disk can be reported by different calls."""

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os if step == "fsync" else Path, step, fail)

    with pytest.raises(ReportError, match="No space left on device"):
        write(str(tmp_path / "report.txt"), "x")
    assert list(tmp_path.iterdir()) == []


@needs_full
def test_a_full_device_is_an_error_and_stays_a_device():
    """The device is written, and never replaced by a file."""
    with pytest.raises(ReportError, match="No space left on device"):
        write("/dev/full", "x")
    assert Path("/dev/full").is_char_device()


def test_a_pipe_is_written_to(tmp_path):
    """The pipe is not replaced by a file either."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    write(str(pipe), "text")

    received = os.read(reading, 100)
    os.close(reading)
    assert received == b"text"
    assert pipe.is_fifo()


# ---------------------------------------------------------------- standard output


def test_a_hyphen_is_standard_output(capsys):
    """``-`` is accepted for every report."""
    check_writable("-")
    write("-", "text\n")

    assert capsys.readouterr().out == "text\n"


def test_standard_output_writes_what_its_encoding_has(run_isolated):
    """Other characters are escaped."""
    script = "from interchange_conformance.reports.files import write\nwrite('-', '✓ ok')"

    assert run_isolated(script, env={"PYTHONIOENCODING": "ascii"}) == "\\u2713 ok"


PRINT = """
import sys
from interchange_conformance.reports.files import ReportError, write
try:
    write("-", "x" * 100_000)
except ReportError as error:
    print(error, file=sys.stderr)
    sys.exit(2)
except BrokenPipeError:
    sys.exit(3)
"""


@needs_full
def test_standard_output_that_is_full_is_one_error(run_child):
    """The error is reported once, and the exit of the process does not fail again."""
    program = (
        "import subprocess, sys\n"
        "with open('/dev/full', 'w') as full:\n"
        "    done = subprocess.run([sys.executable, '-c', sys.argv[1]], stdout=full,"
        " stderr=subprocess.PIPE, text=True)\n"
        "print(done.returncode, done.stderr, end='')"
    )

    done = run_child(program, PRINT)

    expected = "2 cannot write to standard output: No space left on device\n"
    assert (done.stdout, done.stderr) == (expected, "")


def test_a_closed_pipe_is_no_error_of_the_report(run_child):
    """With a closed pipe, as with head, the caller and Python may end without a message."""
    program = (
        "import subprocess, sys\n"
        "done = subprocess.Popen([sys.executable, '-c', sys.argv[1]], stdout=subprocess.PIPE,"
        " stderr=subprocess.PIPE, text=True)\n"
        "done.stdout.close()\n"
        "said = done.stderr.read(); done.stderr.close()\n"
        "print(done.wait(), said, end='')"
    )

    done = run_child(program, PRINT)

    assert (done.stdout, done.stderr) == ("3 ", "")
