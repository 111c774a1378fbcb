"""All behaviour of a library at import only affects the results of this subject."""

from __future__ import annotations

import time

import pytest

ITEM = "make_returns_an_array"
ITEMS = [ITEM, "make_prints_nothing", "make_gives_the_shape_that_it_was_asked_for[none]"]


@pytest.mark.exhaustive(
    but=[
        "raise ValueError('no')-ValueError: no",
        "ctypes.string_at(0)-signal 11 ended it",
        "x = )-SyntaxError",
    ]
)
@pytest.mark.parametrize(
    ("at_import", "words"),
    [
        ("raise ValueError('no')", "ValueError: no"),
        ("sys.exit(3)", "SystemExit: 3"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("os._exit(5)", "it ended with exit code 5"),
        ("print('last words', flush=True); os._exit(5)", "last words"),
        ("ctypes.string_at(0)", "signal 11 ended it"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "signal 9 ended it"),
        ("os.closerange(3, 256)", "Bad file descriptor"),
        ("for n in range(3, 20):\n try: os.write(n, b'garbage\\n')\n except OSError: pass", "pipe"),
        ("import there_is_no_such_module", "No module named 'there_is_no_such_module'"),
        ("x = )", "SyntaxError"),
    ],
)
def test_an_import_that_fails_is_reported(pool_of, at_import, words):
    """No item can be judged, and all have the same reason."""
    pool = pool_of("", at_import)

    verdicts = pool.run(ITEMS)

    assert words in pool.about.broken
    assert [verdict.status for verdict in verdicts] == ["broken-subject"] * 3
    assert {verdict.evidence for verdict in verdicts} == {pool.about.broken}


@pytest.mark.parametrize("at_import", ["time.sleep(60)", "os.kill(os.getpid(), signal.SIGSTOP)"])
def test_an_import_that_hangs_is_cut(pool_of, at_import):
    """The import is killed after its time."""
    began = time.monotonic()

    pool = pool_of("", at_import, patience=0.01)

    assert "nothing came within 1 seconds" in pool.about.broken
    assert time.monotonic() - began < 10


@pytest.mark.exhaustive(but=["sys.stdout.close()", "os.chdir('/')", "import gc; gc.disable()"])
@pytest.mark.parametrize(
    "at_import",
    [
        "print('x' * 10_000_000)",
        "sys.stdout = None",
        "sys.stdout.close()",
        "os.chdir('/')",
        "os.environ.clear()",
        "[signal.signal(one, signal.SIG_IGN) for one in (2, 13, 15, 17)]",
        "signal.signal(signal.SIGCHLD, lambda *_: [os.waitpid(-1, os.WNOHANG) for _ in 'ab'])",
        "subprocess.Popen(['sleep', '60'], stdout=2)",
        "os.umask(0o777)",
        "sys.setrecursionlimit(200)",
        "import warnings; warnings.simplefilter('error')",
        "import atexit; atexit.register(time.sleep, 60)",
        "import gc; gc.disable()",
        "import random; random.seed(0)",
        "time.sleep = None",
        "open_files = [os.open(os.devnull, 0) for _ in range(500)]",
    ],
)
def test_an_import_that_changes_its_process_does_no_harm(pool_of, at_import):
    """The items are judged normally."""
    pool = pool_of("", at_import)

    verdicts = pool.run(ITEMS)

    assert [(verdict.status, verdict.evidence) for verdict in verdicts] == [("pass", "")] * 3


def test_descriptors_beyond_a_thousand_do_no_harm(pool_of):
    """Pipes are watched with poll(), which accepts all descriptors."""
    at_import = """
        import resource
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        open_files = [os.open(os.devnull, 0) for _ in range(min(hard - 50, 1100))]
        """

    verdicts = pool_of("", at_import).run(ITEMS)

    assert [verdict.status for verdict in verdicts] == ["pass"] * 3


@pytest.mark.parametrize("daemon", [True, False])
def test_threads_at_import_give_each_item_an_interpreter(pool_of, tmp_path, daemon):
    """A process with threads cannot be forked safely: each item imports the library again."""
    at_import = f"""
        threading.Thread(target=time.sleep, args=(60,), daemon={daemon}).start()
        with open(HERE / "imports", "a") as file: file.write("x")
        """
    pool = pool_of("", at_import)

    verdicts = pool.run(ITEMS)

    assert not pool.about.forks
    assert [verdict.status for verdict in verdicts] == ["pass"] * 3
    assert (tmp_path / "imports").read_text() == "xxxx"  # for the description, and each item


def test_the_time_of_an_import_is_not_that_of_a_check(pool_of):
    """If each item imports the library, the import neither uses its time nor hides a hang."""
    at_import = """
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        time.sleep(0.8)
        """
    pool = pool_of("if dtype == 'int64': time.sleep(60)", at_import, patience=0.05)
    cases = "make_gives_the_dtype_that_it_was_asked_for"
    began = time.monotonic()

    verdicts = [pool.run_one(f"{cases}[{case}]") for case in ("float32", "int64")]

    assert [verdict.status for verdict in verdicts] == ["pass", "hang"]
    assert time.monotonic() - began < 5


def test_a_library_that_can_be_imported_once_only(pool_of):
    """Its items are broken if another process is needed, and each reports the reason at once."""
    at_import = """
        if (HERE / "mark").exists(): raise RuntimeError("twice")
        (HERE / "mark").touch()
        """
    pool = pool_of("os.kill(os.getppid(), 9)", at_import)

    verdicts = pool.run(ITEMS)

    assert {verdict.status for verdict in verdicts} <= {"broken-subject", "crash"}
    assert "could be imported once and not again: " in verdicts[-1].evidence
    assert "twice" in verdicts[-1].evidence
