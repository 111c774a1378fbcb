"""Other interpreters of the process: the native core is the main one's, and others do without.

Exports stay out of it: NumPy's deleters, which the readable core uses, ask for the main GIL.
"""

from __future__ import annotations

import sys

import pytest

from interchange._core import FIRST_ONLY, MAIN_ONLY

pytestmark = pytest.mark.isolated

HERE = """
import sys
try:
    import _interpreters as interpreters
    make = lambda: interpreters.create({kind!r}, reqrefs=True)
except ImportError:
    import _xxsubinterpreters as interpreters
    make = lambda: interpreters.create(isolated=False)
def run_in_another(program):
    number = make()
    failed = getattr(interpreters, "exec", None) or interpreters.run_string
    failed = failed(number, program)
    if failed is not None:
        print(failed)
    interpreters.destroy(number)
PROGRAM = '''
import interchange as ix
block = bytearray(range(8))
array = ix.from_buffer(block)
view = array[::2]
del array
print(ix.core_name, view.shape, ix._core.refused.get("native"), flush=True)
del view
'''
"""
"""Runs a program in another interpreter, which shares the GIL or has its own."""
LEGACY = HERE.format(kind="legacy")
KINDS = ["legacy", "isolated"] if sys.version_info >= (3, 13) else ["legacy"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", ["main", "other"])
def test_another_interpreter_uses_the_readable_core(run_isolated, kind, first):
    """Whether the main interpreter has imported interchange or not, and as often as one likes."""
    main = "import interchange\n" if first == "main" else ""
    script = f"{HERE.format(kind=kind)}\n{main}run_in_another(PROGRAM)\nrun_in_another(PROGRAM)\n"
    env = {"INTERCHANGE_CORE": ""}
    lines = run_isolated(script, env=env, warnings="ignore", timeout=20).splitlines()

    assert [line.split(" ")[:2] for line in lines] == [["ctypes", "(4,)"]] * 2


def test_the_main_interpreter_keeps_the_native_core(run_isolated, core):
    """What another interpreter imported before takes nothing away from the main one."""
    script = f"{LEGACY}\nrun_in_another(PROGRAM)\nimport interchange\nprint(interchange.core_name)"
    said = run_isolated(script, env={"INTERCHANGE_CORE": ""}, warnings="ignore", timeout=20).split()
    built = "native" if core.name == "native" else said[-1]

    assert said[-1] == built


def test_another_interpreter_is_told_why(run_isolated, core):
    """A core that is built, and is not for this interpreter, is not said to be missing."""
    script = f"{LEGACY}\nrun_in_another(PROGRAM)\n"
    said = run_isolated(script, env={"INTERCHANGE_CORE": ""}, warnings="ignore", timeout=20).strip()

    why = f"is not used here: {MAIN_ONLY}" * (core.name == "native")
    assert why in said


def test_a_core_that_is_not_for_this_interpreter_cannot_be_forced(run_isolated, core):
    """Where it is demanded, its import fails and says why."""
    program = "try:\n import interchange\nexcept ImportError as error:\n print(error, flush=True)\n"
    script = f"{LEGACY}\nrun_in_another({program!r})\n"
    said = run_isolated(
        script, env={"INTERCHANGE_CORE": core.name}, warnings="ignore", timeout=20
    ).strip()

    expected = f"INTERCHANGE_CORE='native' cannot be met: {MAIN_ONLY}; leave INTERCHANGE_CORE unset"
    assert said.startswith(expected if core.name == "native" else "")
    assert bool(said) is (core.name == "native")


AGAIN = """
import sys
import interchange as first
kept = first.from_buffer(bytearray(3))
for name in [name for name in sys.modules if name.partition(".")[0] == "interchange"]:
    del sys.modules[name]
try:
    import interchange as second
except ImportError as error:
    sys.exit(f"{error} {kept.shape}")
print(second.core_name, second.from_dlpack(kept).shape, kept.shape, second._core.refused)
"""


def test_a_second_import_in_one_process_uses_the_readable_core(run_isolated, core):
    """Thrown out of sys.modules it is imported anew, and what was made before works."""
    said = run_isolated(AGAIN, env={"INTERCHANGE_CORE": ""})

    assert said.startswith("ctypes (3,) (3,) {")
    assert FIRST_ONLY * (core.name == "native") in said


def test_a_second_import_that_demands_a_core_is_told_what_happened(run_child, core):
    """The readable one serves again, and the native one says why not, and what to do."""
    done = run_child(AGAIN, env={"INTERCHANGE_CORE": core.name})

    if core.name == "native":
        expected = f"INTERCHANGE_CORE='native' cannot be met: {FIRST_ONLY}; leave INTERCHANGE_CORE"
        assert done.stderr.startswith(expected)
        assert done.stderr.endswith("or start a new process (3,)\n")
    else:
        assert (done.stdout, done.stderr) == ("ctypes (3,) (3,) {}\n", "")
