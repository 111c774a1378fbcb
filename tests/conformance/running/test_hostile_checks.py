"""All behaviour of a library during a check only affects the result of this check."""

from __future__ import annotations

import time

import pytest

ITEM = "make_returns_an_array"
QUICK = 0.05  # of a check's time limit, so that it is half a second


@pytest.mark.exhaustive(
    but=[
        "os.abort()-crash-SIGABRT ended the process",
        "os._exit(3)-exit-the process was ended with exit code 3",
        "raise KeyboardInterrupt-raised-KeyboardInterrupt",
    ]
)
@pytest.mark.parametrize(
    ("in_make", "status", "evidence"),
    [
        ("ctypes.string_at(0)", "crash", "SIGSEGV ended the process"),
        ("os.abort()", "crash", "SIGABRT ended the process"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "crash", "SIGKILL ended the process"),
        ("os.kill(os.getpid(), 40)", "crash", "signal 40 ended the process"),
        ("os._exit(0)", "exit", "the process was ended with exit code 0"),
        ("os._exit(3)", "exit", "the process was ended with exit code 3"),
        ("sys.exit('bye')", "exit", "SystemExit('bye') was raised"),
        ("raise KeyboardInterrupt", "raised", "KeyboardInterrupt"),
        ("raise GeneratorExit", "raised", "GeneratorExit"),
        ("os.closerange(3, 256)", "exit", "the process closed pipes that are not its own"),
        ("raise ValueError('no')", "broken-subject", "raised ValueError: no"),
    ],
)
def test_how_a_process_ends_is_its_verdict(pool_of, in_make, status, evidence):
    """A crash, an exit and an exception are different results."""
    verdict = pool_of(in_make).run_one(ITEM)

    assert verdict.status == status
    assert evidence in verdict.evidence


@pytest.mark.exhaustive(but=["while True: pass", "time.sleep(60)"])
@pytest.mark.parametrize(
    "in_make",
    [
        "while True: pass",
        "time.sleep(60)",
        "os.kill(os.getpid(), signal.SIGSTOP)",
        "signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals)); time.sleep(60)",
        "signal.signal(signal.SIGABRT, signal.SIG_IGN); time.sleep(60)",
        "threading.Event().wait()",
        "while True: os.write(1, b'flood' * 10000)",
    ],
)
def test_a_hang_is_cut_after_its_time(pool_of, in_make):
    """A process that loops, sleeps, stops or floods the output is killed after its time, twice."""
    pool = pool_of(in_make, patience=QUICK)
    began = time.monotonic()

    verdict = pool.run_one(ITEM)

    assert verdict.status == "hang"
    assert time.monotonic() - began < 3


def test_a_hang_that_does_not_recur_is_no_finding(pool_of, tmp_path):
    """The item is run again, and the second result counts."""
    in_make = """
        if not (HERE / "was-slow").exists():
            (HERE / "was-slow").touch()
            time.sleep(60)
        """
    pool = pool_of(in_make, patience=0.05)

    verdict = pool.run_one(ITEM)

    assert (verdict.status, (tmp_path / "was-slow").exists()) == ("pass", True)


@pytest.mark.parametrize("end", ["time.sleep(60)", "ctypes.string_at(0)"])
def test_a_hang_or_a_crash_shows_where(pool_of, end):
    """The output ends with the stack of the process."""
    verdict = pool_of(end, patience=QUICK).run_one(ITEM)

    assert "Segmentation fault" in verdict.output or verdict.status == "hang"
    assert " in make" in verdict.output


def test_the_others_are_unharmed(pool_of):
    """The crash for one element type is its result, and the others pass."""
    pool = pool_of("if dtype == 'int64': os.abort()", jobs=2)
    cases = ["float32", "float64", "int64", "uint8", "bool"]
    items = [f"make_gives_the_dtype_that_it_was_asked_for[{case}]" for case in cases]

    verdicts = pool.run(items)

    assert [verdict.item for verdict in verdicts] == items
    assert [verdict.status for verdict in verdicts] == ["pass", "pass", "crash", "pass", "pass"]


# ---------------------------------------------------------------- output


def test_megabytes_of_output_are_cut(pool_of):
    """The end of the output is kept."""
    verdict = pool_of("print('x' * 50_000_000); print('the end')").run_one(ITEM)

    assert verdict.status == "pass"
    assert verdict.output.endswith("the end\n")
    assert len(verdict.output) <= 4000


def test_output_that_is_no_text_is_made_text(pool_of):
    """Invalid UTF-8 and control characters are escaped."""
    verdict = pool_of(r"os.write(1, b'\xff\x00\x1b[31mred\n')").run_one(ITEM)

    assert verdict.output.endswith("\\x00\\x1b[31mred\n")
    assert verdict.output.encode().isascii() is False  # U+FFFD
    assert all(one.isprintable() or one == "\n" for one in verdict.output)


MUTE = "type('Mute', (Exception,), {'__str__': lambda _: 1 / 0})"


@pytest.mark.parametrize(
    "error",
    [
        r"ValueError('a\nb\r\x00\x1b')",
        r"ValueError('{\"status\": \"pass\", \"evidence\": \"\"}\n')",
        r"ValueError('\udc80 alone')",
        "ValueError('x' * 10_000_000)",
        r"ValueError(b'\xff')",
        MUTE,
    ],
    ids=["control", "json", "surrogate", "long", "bytes", "__str__ raises"],
)
def test_evidence_is_text_that_any_report_can_hold(pool_of, error):
    """The text of an exception has no line breaks, can be encoded, and is limited in length."""
    verdict = pool_of(f"raise {error}").run_one(ITEM)

    assert verdict.status == "broken-subject" or (error is MUTE and verdict.status == "raised")
    assert ("Mute" if error is MUTE else "ValueError") in verdict.evidence
    assert len(verdict.evidence.encode()) < 10000
    assert all(one.isprintable() or one in "\n\t" for one in verdict.evidence)


# ---------------------------------------------------------------- processes and threads


@pytest.mark.parametrize(
    "leave",
    [
        "if os.fork() == 0: left(); time.sleep(60)",
        """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                left(); time.sleep(60)
            os._exit(0)
        """,
        "subprocess.Popen(['sleep', '60'], preexec_fn=left)",
        "subprocess.Popen(['sleep', '60'], preexec_fn=left, start_new_session=True)",
    ],
    ids=["child", "daemon", "program", "session"],
)
def test_what_is_left_running_is_ended(pool_of, tmp_path, is_gone, leave):
    """A process that a check leaves behind is not waited for, and is killed."""
    pool = pool_of(leave, "def left(): (HERE / 'left').write_text(str(os.getpid()))")
    began = time.monotonic()

    verdict = pool.run_one(ITEM)

    took = time.monotonic() - began
    assert verdict.status == "pass"
    assert took < 3
    assert is_gone(int((tmp_path / "left").read_text()))


@pytest.mark.parametrize(
    "in_make",
    [
        "os.fork()",
        "threading.Thread(target=time.sleep, args=(60,)).start()",
        "os.chdir('/'); os.environ.clear(); sys.path.clear()",
        "[signal.signal(one, signal.SIG_IGN) for one in (2, 6, 15, 17)]",
        "sys.stdout = sys.stderr = None",
        "sys.stdout.close(); os.close(1); os.close(2)",
    ],
)
def test_damage_to_the_process_ends_with_it(pool_of, in_make):
    """Threads, directories, handlers and streams belong to the child, and a fork is ignored."""
    pool = pool_of(in_make)

    verdicts = pool.run([ITEM, ITEM, "make_gives_the_shape_that_it_was_asked_for[none]"])

    assert [verdict.status for verdict in verdicts] == ["pass"] * 3


def test_nothing_is_written_into_a_file_of_the_library(pool_of, tmp_path):
    """If a library closes our pipe and opens a file with that descriptor, it is not written to."""
    in_make = """
        os.closerange(3, 256)
        for number in range(20): os.open(HERE / 'theirs', os.O_CREAT | os.O_WRONLY)
        """

    verdict = pool_of(in_make).run_one(ITEM)

    assert verdict.status == "exit"
    assert (tmp_path / "theirs").read_bytes() == b""
