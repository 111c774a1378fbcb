"""Other interpreters of the process: the native core is for the main one, others use none.

Before CPython 3.12 NumPy's deleters, as those of most libraries, request the main GIL there, and
deadlock.
"""

from __future__ import annotations

import sys
import sysconfig

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


@pytest.fixture
def said_by(run_isolated):
    """Return a function that runs a program beside other interpreters, and returns its output."""

    def run(script, core=""):
        env = {"INTERCHANGE_CORE": core}
        return run_isolated(script, env=env, warnings="ignore", timeout=20)

    return run


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", ["main", "other"])
def test_another_interpreter_uses_the_ctypes_core(said_by, kind, first):
    """Whether the main interpreter has imported interchange or not, and as often as one likes."""
    main = "import interchange\n" if first == "main" else ""
    script = f"{HERE.format(kind=kind)}\n{main}run_in_another(PROGRAM)\nrun_in_another(PROGRAM)\n"
    lines = said_by(script).splitlines()

    assert [line.split(" ")[:2] for line in lines] == [["ctypes", "(4,)"]] * 2


def test_the_main_interpreter_keeps_the_native_core(said_by, core):
    """An import in another interpreter does not affect the native core of the main one."""
    script = f"{LEGACY}\nrun_in_another(PROGRAM)\nimport interchange\nprint(interchange.core_name)"
    said = said_by(script).split()
    built = "native" if core.name == "native" else said[-1]

    assert said[-1] == built


def test_another_interpreter_names_the_reason(said_by, core):
    """A core that is built, but not for this interpreter, is not reported as missing."""
    script = f"{LEGACY}\nrun_in_another(PROGRAM)\n"
    said = said_by(script).strip()

    why = f"is not used here: {MAIN_ONLY}" * (core.name == "native")
    assert why in said


def test_a_core_that_is_not_for_this_interpreter_cannot_be_forced(said_by, core):
    """If it is required, its import fails with the reason."""
    program = "try:\n import interchange\nexcept ImportError as error:\n print(error, flush=True)\n"
    script = f"{LEGACY}\nrun_in_another({program!r})\n"
    said = said_by(script, core.name).strip()

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


BY_DLPACK = {
    "a.__dlpack__()": "Array.__dlpack__()",
    "a.__dlpack__(max_version=(1, 0))": "Array.__dlpack__()",
    "ix.from_pointer(a.ptr, (2,), 'bfloat16', owner=a).__dlpack__()": "Array.__dlpack__()",
    "ix.from_dlpack(x).shape": "from_dlpack()",
    "ix.from_dlpack(x, copy=True).shape": "from_dlpack()",
    "ix.from_dlpack(new_capsule(ctypes.addressof(anchor), VERSIONED, None))": "from_dlpack()",
    "ix.xp.from_dlpack(x).shape": "from_dlpack()",
}
OTHERWISE = {
    "ix.asarray(x).tolist()": "[0.0, 1.0, 2.0]",
    "ix.asarray(x, copy=True).tolist()": "[0.0, 1.0, 2.0]",
    "ix.from_array_interface(x).tolist()": "[0.0, 1.0, 2.0]",
    "(a + a)[::3].tolist()": "[0, 6]",
    "a[np.array([0, 1])].shape": "(2,)",
    "ix.xp.sum(a)": "6",
    "ix.xp.asarray([1, 2]).dtype": "int64",
    "np.asarray(a).tolist()": "[0, 1, 2, 3]",
    "ix.convert(a, 'numpy').tolist()": "[0, 1, 2, 3]",
    "ix.from_dlpack(a).shape": "(4,)",
    "pickle.loads(pickle.dumps(a)).shape": "(4,)",
}
ACT = """
import ctypes, pickle
import interchange as ix
import numpy as np
from interchange.abi import VERSIONED
from interchange.abi.capsules import anchor, new_capsule
a, x = ix.from_buffer(bytearray(range(4))), np.arange(3.0)
def act(text):
    try:
        return str(eval(text)).split(" object ")[0]
    except ix.InterchangeError as error:
        return f"{error.call} {error.rule}"
for text in %r:
    print(act(text), flush=True)
"""


@pytest.fixture
def values_of(said_by):
    """Return a function that evaluates expressions in another interpreter, which then ends."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("NumPy cannot be imported in another interpreter of a free-threaded Python")
    return lambda texts: said_by(f"{LEGACY}\nrun_in_another({ACT % [*texts]!r})\n").splitlines()


def test_another_interpreter_exchanges_by_dlpack_or_refuses(values_of):
    """If deleters of other libraries would deadlock, no capsule is created or imported."""
    texts = [text for text in BY_DLPACK if "anchor" not in text or sys.version_info < (3, 12)]
    said = values_of(texts)

    if sys.version_info < (3, 12):
        assert said == [f"{BY_DLPACK[text]} DLP-LIFE-6" for text in texts]
    else:
        assert [text for text, line in zip(texts, said, strict=True) if "DLP-" in line] == []


def test_another_interpreter_does_all_else(values_of):
    """Everything that needs no capsule works there."""
    assert values_of(OTHERWISE) == [*OTHERWISE.values()]


def test_another_interpreter_has_the_header_and_no_library(values_of, core):
    """The C API is set up in the main one, and `get_library` refuses by its own error."""
    header, library = values_of(["ix.get_include()[-7:]", "ix.get_library()"])

    assert library == "get_library() IX-CAPI-2"
    assert header == "include" or core.name == "ctypes"  # if no native core is built


def test_inspection_in_another_interpreter_ends(values_of):
    """The inspection requests no capsule that could not be dropped."""
    (said,) = values_of(["'DLP-LIFE-6' in str(ix.inspect(x))"])

    assert said == str(sys.version_info < (3, 12))


def test_a_second_import_in_one_process_uses_the_readable_core(run_isolated, core):
    """After removal from sys.modules it can be imported again, and old objects work."""
    said = run_isolated(AGAIN, env={"INTERCHANGE_CORE": ""})

    assert said.startswith("ctypes (3,) (3,) {")
    assert FIRST_ONLY * (core.name == "native") in said


def test_a_second_import_that_demands_a_core_is_told_what_happened(run_child, core):
    """The ctypes core is used, and the error for the native one gives the reason and the fix."""
    done = run_child(AGAIN, env={"INTERCHANGE_CORE": core.name})

    if core.name == "native":
        expected = f"INTERCHANGE_CORE='native' cannot be met: {FIRST_ONLY}; leave INTERCHANGE_CORE"
        assert done.stderr.startswith(expected)
        assert done.stderr.endswith("or start a new process (3,)\n")
    else:
        assert (done.stdout, done.stderr) == ("ctypes (3,) (3,) {}\n", "")
