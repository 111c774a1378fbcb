"""Memory of C: each deleter is called once, on any thread, at exit, and not after an error.

Source: interchange/interchange.h, ``interchange_array_from_memory``.  Each runs in a child process.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.isolated

START = """
import gc, os, sys, threading
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import numpy as np
import interchange as ix
import producer
"""


@pytest.fixture(scope="module")
def producer(native_core, tmp_path_factory, build_extension):  # noqa: ARG001 - it is needed
    """Return the path of the producer in C."""
    source = Path(__file__).parent / "producer.c"
    options = ("-std=c11", "-D_GNU_SOURCE", "-pthread")
    return build_extension(tmp_path_factory.mktemp("producer"), "producer", source, options=options)


@pytest.fixture
def run(run_isolated, producer):
    """Return a function that runs a script with the module `producer`."""

    def run_script(script, *arguments):
        return run_isolated(f"{START}\n{script}", producer.parent, *arguments)

    return run_script


def test_each_kind_of_owner_calls_the_deleter_once(run):
    """Arrays, slices, capsules of both generations, consumers, and views of C, in any order."""
    told = run("""
counts = []
def drop(make):
    before = producer.deletions()
    kept = make(producer.make())
    gc.collect()
    held = producer.deletions() - before
    del kept
    gc.collect()
    counts.append((held, producer.deletions() - before))

drop(lambda a: a)
drop(lambda a: a[2:4][::-1])
drop(lambda a: a.__dlpack__())
drop(lambda a: a.__dlpack__(max_version=(1, 3)))
drop(lambda a: (a[1:], a.__dlpack__(), a.__dlpack__(max_version=(1, 3))))
drop(lambda a: np.from_dlpack(a))
drop(lambda a: np.from_dlpack(a[1:]))
drop(lambda a: ix.from_dlpack(a.__dlpack__(max_version=(1, 3)))[3:])
drop(lambda a: np.asarray(a)[1:])
drop(lambda a: (a, a.__copy__()))
print(set(counts))
""")
    assert told == "{(0, 1)}\n"


@pytest.mark.parametrize(("part", "held"), [("array", True), ("array", False), ("slice", False)])
def test_the_deleter_is_called_on_another_thread(run, part, held):
    """A thread that Python does not know releases an export, while the GIL is held or is not.

    A slice is owned by an object of Python, whose release waits for the GIL.
    """
    told = run(
        """
a = producer.make()
x = a if sys.argv[3] == "array" else a[1:]
del a
for _ in range(3):
    producer.delete_on_thread(x, sys.argv[2] == "True")
print(producer.deletions())
del x
print(producer.deletions())
""",
        held,
        part,
    )
    assert told == "0\n1\n"


def test_the_deleter_is_called_after_python_has_ended(run):
    """A consumer in C releases an export in an exit handler of the process."""
    assert run("producer.keep_until_exit(producer.make())") == "1 deleted, Python is gone\n"


@pytest.mark.parametrize("make", ["make", "make_raising"])
def test_an_exception_survives_the_deleter(run, make):
    """A deleter does not see the exception that is being raised, and its own one is reported."""
    told = run(
        f"""
reported = []
sys.unraisablehook = lambda one: reported.append(str(one.exc_value))
def fail():
    a = producer.{make}()
    capsule = a.__dlpack__(max_version=(1, 3))
    raise KeyError("mine")
try:
    fail()
except KeyError as error:
    print(error, producer.deletions())
    del error
gc.collect()
print(producer.deletions(), reported)
"""
    )
    assert told.splitlines()[0].startswith("'mine'")
    reported = [] if make == "make" else ["of a deleter"]
    assert told.splitlines()[1] == f"1 {reported}"


def test_threads_share_memory_of_c(run):
    """Eight threads export and release the same Array."""
    told = run("""
sys.setswitchinterval(1e-5)
a = producer.make()
def work():
    for _ in range(300):
        capsule = a.__dlpack__(max_version=(1, 3))
        part = a[1:]
        np.from_dlpack(a)
        producer.capsules(3)
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(producer.deletions() - 8 * 900)
del a
print(producer.deletions() - 8 * 900)
""")
    assert told == "0\n1\n"


@pytest.mark.parametrize("what", ["arrays", "capsules", "tensors", "refusals"])
def test_producing_often_leaves_nothing(run, what):
    """Less than two bytes each, or 20 for an error, which is an object."""
    told = run(
        """
work = getattr(producer, sys.argv[2])
def resident():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
count = 5_000 if sys.argv[2] == "refusals" else 100_000
work(count)
before, deleted = resident(), producer.deletions()
work(count)
print((resident() - before) / count, (producer.deletions() - deleted) / count)
""",
        what,
    )
    grown, deleted = map(float, told.split())
    is_refused = what == "refusals"

    assert (grown < (20 if is_refused else 2), deleted) == (True, 0.0 if is_refused else 1.0)


MISTAKES = {
    "IX-CAPI-1": (
        *("memory is NULL", "memory into NULL", "export of NULL", "export into NULL", "copy is 2"),
        *("stream is 9", "tensor of NULL", "tensor into NULL", "tensor of a stream 9"),
        *("array of NULL", "array into NULL", "stream"),
    ),
    "IX-CAPI-4": (
        *("size", "version", "zeros", "garbage", "flags", "no deleter", "static with a deleter"),
    ),
    "DLP-": (
        *("shape is NULL", "data is NULL", "65 axes", "axes below 0", "extent below 0"),
        *("too large", "type", "handles", "device"),
    ),
}


@pytest.mark.parametrize("rule", MISTAKES)
def test_mistakes_are_refused(run, rule):
    """An error with a rule each, and no deleter was called."""
    told = run(
        """
import json
for name in json.loads(sys.argv[2]):
    print(producer.mistake(name, ix.asarray(b"abc")))
print(producer.deletions())
""",
        str(list(MISTAKES[rule])).replace("'", '"'),
    )
    *words, deletions = told.splitlines()

    assert [word for word in words if f"[{rule}" not in word] == []
    assert [word for word in words if not word.startswith("interchange_")] == []
    assert (len(words), deletions) == (len(MISTAKES[rule]), "0")
