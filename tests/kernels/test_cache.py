"""The cache of compiled kernels: hits, misses and errors."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import llvmlite.binding as llvm
import numpy as np
import pytest

from interchange import cuda
from interchange.abi import _owned
from interchange.cuda import float32, float64, int32, ir
from interchange.cuda.llvm import cache, compiled, ptx
from interchange.cuda.llvm.identity import text_of

from .drawn_kernels import drawn_program, kernel_of, types_for_any
from .programs import PROGRAMS
from .test_sources import defined

pytestmark = pytest.mark.interop  # that extra installs LLVM

FACTOR = 3
KEY = "0" * 64
DATA = bytes(range(256)) * 5


def grown(x):
    return x + FACTOR


def grown_twice(x):
    return x + 2 * FACTOR


def grow(x):
    i = cuda.grid(1)
    if i < x.shape[0]:
        x[i] = grown(x[i])


def exponentials(x):
    i = cuda.grid(1)
    if i < x.shape[0]:
        x[i] = math.exp(x[i])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Use a separate cache for a test."""
    path = tmp_path / "kernels"
    monkeypatch.setenv("INTERCHANGE_CACHE_DIR", str(path))
    return path


@pytest.fixture
def count(folder, monkeypatch):
    """Return a list that grows with each use of LLVM; the cache is empty."""
    assert not folder.exists()
    done = []

    def counted(*given):
        done.append(1)
        optimize(*given)

    optimize = compiled.optimize
    for module in (compiled, ptx):
        monkeypatch.setattr(module, "optimize", counted)
    return done


def run(dtype="i4", **options):
    """Return the result of a kernel that is not in the memory of any process."""
    x = np.arange(40, dtype=dtype)
    cuda.jit(**options)(grow)[2, 32](x)
    return x.tolist()


def names(folder):
    """Return the names of the files in a cache."""
    return sorted(each.name for each in folder.iterdir())


# ---------------------------------------------------------------- cache hits


def test_a_kernel_is_compiled_once(count):
    """The second kernel loads the code of the first, with the same results."""
    assert run() == run() == list(range(3, 43))
    assert len(count) == 1


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_found_computes_the_same(name, count):
    """The results are equal bit by bit."""
    case = PROGRAMS[name].make(33)
    left = []
    for _ in range(2):
        kernel = cuda.jit(PROGRAMS[name].kernel.__wrapped_kernel__)
        given = [np.copy(x) if isinstance(x, np.ndarray) else x for x in case.arguments]
        kernel[case.grid, case.block](*given)
        left.append([x.tobytes() for x in given])

    assert left[0] == left[1]
    assert len(count) == 1


@pytest.mark.usefixtures("folder")
def test_what_is_found_can_be_looked_at():
    """The LLVM IR and the assembly are the same as those of a newly compiled kernel."""
    first, second = (cuda.jit(grow) for _ in range(2))
    types = (int32[::1],)

    shown = [(each.inspect_llvm(*types), each.inspect_asm(*types)) for each in (first, second)]

    assert shown[0] == shown[1]
    assert "define" in shown[0][0]
    assert "run:" in shown[0][1]


SCRIPT = """
import sys, numpy as np
sys.path.insert(0, sys.argv[1])
import grow_module
from interchange.cuda.llvm import compiled
count, optimize = [], compiled.optimize
compiled.optimize = lambda *given: (count.append(1), optimize(*given))
x = np.arange(40)
grow_module.grow[2, 32](x)
print(len(count), x.tolist() == list(range(3, 43)))
"""
MODULE = """
from interchange import cuda

@cuda.jit
def grow(x):
    i = cuda.grid(1)
    if i < x.shape[0]:
        x[i] += 3
"""


@pytest.mark.isolated
@pytest.mark.usefixtures("folder")
def test_a_second_process_compiles_nothing(tmp_path, run_isolated):
    """The hash seed of the process does not matter."""
    (tmp_path / "grow_module.py").write_text(MODULE, encoding="utf-8")

    said = [
        run_isolated(SCRIPT, tmp_path, env={"PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"})
        for seed in ("1", "2")
    ]

    assert said == ["1 True\n", "0 True\n"]


@pytest.mark.isolated
def test_many_processes_keep_one_file(folder, tmp_path):
    """All processes compute the same result, and no temporary file is left."""
    (tmp_path / "grow_module.py").write_text(MODULE, encoding="utf-8")
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]

    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(5)]
    said = [child.communicate()[0] for child in children]

    assert {each.split()[1] for each in said} == {"True"}
    assert [len(name) for name in names(folder)] == [64]


# ---------------------------------------------------------------- cache misses


def test_another_constant_is_another_kernel(count, monkeypatch):
    """A global constant of the module is part of the key."""
    run()
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 4)

    assert run() == list(range(4, 44))
    assert len(count) == 2


def test_another_function_is_another_kernel(count, monkeypatch):
    """A called function is part of the key."""
    run()
    monkeypatch.setattr(sys.modules[__name__], "grown", grown_twice)

    assert run() == list(range(6, 46))
    assert len(count) == 2


def test_other_types_are_another_kernel(count):
    """Each signature has separate code."""
    assert run("i4") == run("i8") == run("f4")
    assert len(count) == 3


def test_checks_are_another_kernel(count):
    """The code with and without ``debug`` differs."""
    assert run() == run(debug=True)
    assert len(count) == 2


@pytest.mark.parametrize("place", range(4))
def test_other_versions_compile_again(place, count, monkeypatch):
    """The versions are those of the format, interchange, llvmlite and LLVM."""
    now = cache.versions()
    changed = (*now[:place], now[place] + ".1", *now[place + 1 :])
    run()
    monkeypatch.setattr(cache, "versions", lambda: changed)

    assert run() == list(range(3, 43))
    assert len(count) == 2


def test_another_cpu_compiles_again(count, monkeypatch):
    """Several machines may share a cache on one disk."""
    run()
    lesser = compiled.this_host()._replace(features="")
    monkeypatch.setattr(compiled, "this_host", lambda: lesser)

    assert run() == list(range(3, 43))
    assert len(count) == 2


def test_parts_do_not_run_together():
    """The boundaries between parts of the key are included in its hash."""
    assert cache.key_of(("ab", "c")) != cache.key_of(("a", "bc"))


# ---------------------------------------------------------------- PTX


def test_ptx_is_compiled_once_for_an_architecture(count):
    """Another architecture is compiled separately."""
    kernel = cuda.jit(grow)

    first, second = (kernel.inspect_ptx(float32[::1]) for _ in range(2))
    kernel.inspect_ptx(float32[::1], architecture="sm_90")

    assert first == second
    assert len(count) == 2


def test_other_functions_of_math_are_other_ptx(count, tmp_path, monkeypatch):
    """The file of libdevice is part of the key of a kernel that calls it."""
    found = []
    for number in ("1.0", "2.0", "2.0"):
        text = f"define double @__nv_exp(double %x) {{\n  ret double {number}\n}}\n"
        with compiled.locked():
            (tmp_path / "library.bc").write_bytes(llvm.parse_assembly(text).as_bitcode())
        monkeypatch.setattr(ptx, "find_libdevice", lambda: tmp_path / "library.bc")
        found.append(cuda.jit(exponentials).inspect_ptx(float64[::1]))

    assert found[0] != found[1] == found[2]
    assert len(count) == 2


# ---------------------------------------------------------------- damage

SIZE = len(cache._packed(KEY, DATA))
HEAD = len(cache._HEAD)
CUTS = (0, 1, HEAD - 1, HEAD, HEAD + 1, HEAD + 31, HEAD + 32, HEAD + 33, SIZE // 2, SIZE - 1)


OTHER = "1" * 64


def changed(file, place):
    """Change a bit of a file."""
    contents = bytearray(file.read_bytes())
    contents[place] ^= 1
    file.write_bytes(contents)


def renamed(file):
    """Put the file of another key, which its checksum includes, in the place of a file."""
    cache.store(OTHER, DATA)
    (file.parent / OTHER).replace(file)


IGNORED = {
    **{f"cut off at {size}": lambda file, size=size: os.truncate(file, size) for size in CUTS},
    **{
        f"a changed bit at {place}": lambda file, place=place: changed(file, place)
        for place in (0, HEAD - 1, HEAD, HEAD + 31, HEAD + 32, SIZE - 1)
    },
    "longer": lambda file: file.write_bytes(file.read_bytes() + b"\0"),
    "the file of another key": renamed,
    "a link": lambda file: file.symlink_to(file.rename(file.parents[1] / "elsewhere")),
    "writable by the group": lambda file: file.chmod(0o660),
    "writable by others": lambda file: file.chmod(0o606),
}


@pytest.mark.parametrize("what", IGNORED)
def test_a_file_that_is_not_as_it_was_stored_is_ignored(what, folder):
    """Only a regular, complete file of the key that its owner alone can write is read."""
    cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA
    IGNORED[what](folder / KEY)

    assert cache.load(KEY) is None


@pytest.mark.parametrize("size", [0, HEAD + 32, 400])
def test_a_damaged_kernel_is_replaced(size, count, folder):
    """The kernel is compiled, and found at the next use."""
    run()
    (name,) = names(folder)
    os.truncate(folder / name, size)

    assert run() == run() == list(range(3, 43))
    assert len(count) == 2


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_is_nothing(make, count, folder):
    """Such an entry is ignored without blocking."""
    run()
    (name,) = names(folder)
    (folder / name).unlink()
    make(folder / name)

    assert run() == list(range(3, 43))
    assert len(count) == 2


# ---------------------------------------------------------------- permissions of the folder


def test_the_folder_is_for_its_owner_alone(folder):
    """The files are private as well."""
    cache.store(KEY, DATA)

    assert (folder.stat().st_mode & 0o777, (folder / KEY).stat().st_mode & 0o777) == (0o700, 0o600)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o720, 0o702])
def test_a_folder_that_others_can_write_to_is_not_used(mode, folder):
    """The folder is neither read nor written."""
    cache.store(KEY, DATA)
    folder.chmod(mode)
    cache.store(OTHER, DATA)

    assert cache.load(KEY) is None
    assert names(folder) == [KEY]


def test_the_folder_of_another_user_is_not_used(folder, monkeypatch):
    """The folder is neither read nor written."""
    cache.store(KEY, DATA)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    cache.store(OTHER, DATA)

    assert cache.load(KEY) is None
    assert names(folder) == [KEY]


# ---------------------------------------------------------------- location of the folder


def test_an_empty_name_turns_the_cache_off(count, tmp_path, monkeypatch):
    """All kernels are compiled, and nothing is written."""
    monkeypatch.setenv("INTERCHANGE_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert run() == run()
    assert len(count) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("above", "expected"),
    [("/x", "/x/interchange/kernels"), ("", "/h/.cache/interchange/kernels"),
     ("not/absolute", "/h/.cache/interchange/kernels")],
)  # fmt: skip
def test_the_folder_is_where_caches_are(above, expected, monkeypatch):
    """The XDG standard is followed, which ignores relative paths."""
    monkeypatch.delenv("INTERCHANGE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", above)
    monkeypatch.setenv("HOME", "/h")

    assert str(_owned.kernels_folder()) == expected


@pytest.mark.parametrize("below", ["", "kernels"])
def test_where_nothing_can_be_written_kernels_run(below, count, tmp_path, monkeypatch):
    """The path of the folder is a regular file."""
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("INTERCHANGE_CACHE_DIR", f"{tmp_path}/file/{below}")

    assert run() == run() == list(range(3, 43))
    assert len(count) == 2


FULL = (
    """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
"""
    + SCRIPT
)


@pytest.mark.isolated
def test_where_a_disk_is_full_kernels_run(folder, tmp_path, run_isolated):
    """No temporary file is left."""
    (tmp_path / "grow_module.py").write_text(MODULE, encoding="utf-8")

    said = run_isolated(FULL, tmp_path, env={"PYTHONDONTWRITEBYTECODE": "1"})

    assert said == "1 True\n"
    assert names(folder) == []


# ---------------------------------------------------------------- size limits


def filled(folder, many):
    """Return the keys of files, in the order of their last use."""
    keys = [f"{number:064x}" for number in range(many)]
    for number, key in enumerate(keys):
        cache.store(key, DATA)
        os.utime(folder / key, (number, number))
    return keys


def test_a_full_cache_loses_what_was_not_used_for_longest(folder, monkeypatch):
    """Recently used files are kept, however old they are."""
    keys = filled(folder, 4)
    monkeypatch.setattr(cache, "MOST_FILES", 3)
    cache.load(keys[0])
    cache.store(KEY[:-1] + "f", DATA)

    assert names(folder) == sorted([keys[0], keys[3], KEY[:-1] + "f"])


def test_a_cache_has_a_size(folder, monkeypatch):
    """The size is that of all files together."""
    keys = filled(folder, 4)
    monkeypatch.setattr(cache, "MOST_BYTES", 3 * SIZE)
    cache.store(KEY[:-1] + "f", DATA)

    assert names(folder) == sorted([keys[2], keys[3], KEY[:-1] + "f"])


def test_other_files_are_left_alone(folder, monkeypatch):
    """The folder may contain other files."""
    folder.mkdir(0o700)
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    os.utime(folder / "notes.txt", (0, 0))
    monkeypatch.setattr(cache, "MOST_FILES", 0)
    cache.store(KEY, DATA)

    assert names(folder) == ["notes.txt"]


def test_what_a_dead_process_left_is_removed(folder, monkeypatch):
    """A temporary file that was never renamed is removed as one of the oldest."""
    cache.store(KEY, DATA)
    left = folder / f"{KEY}.{'0' * 16}"
    left.write_bytes(b"half")
    os.utime(left, (0, 0))
    monkeypatch.setattr(cache, "MOST_FILES", 1)
    cache.store(KEY, DATA)

    assert names(folder) == [KEY]


def test_what_is_found_is_not_generated(count, monkeypatch):
    """The types are inferred; no LLVM IR is written."""
    cuda.jit(grow).compile(float32[::1])
    monkeypatch.setattr(compiled, "host_module", None)
    x = np.zeros(3, np.float32)
    cuda.jit(grow)[1, 3](x)

    assert x.tolist() == [FACTOR] * 3
    assert len(count) == 1


@pytest.mark.filterwarnings("ignore::interchange.cuda.errors.KernelWarning")
def test_programs_with_one_text_have_one_code():
    """Of random programs, and of constants that are equal and not the same."""
    known = {}
    pairs = [(0.0, -0.0), (1, True), (1, 1.0), (2**40, 2.0**40)]
    drawn = [drawn_program("statements", seed) for seed in range(30)]
    kernels = [(kernel_of(each.text), types_for_any(each)) for each in drawn]
    text = "def k(x):\n    x[0] = c\n"
    kernels += [
        (cuda.jit(defined(text, "k", c=number)), [float64[:]]) for pair in pairs for number in pair
    ]
    for kernel, types in kernels:
        try:
            program = kernel.typed(*types)
        except cuda.KernelError:
            continue
        text, code = text_of(program), str(compiled.host_module(program, checks=False)[0])
        assert text is not None
        assert known.setdefault(text, code) == code
    assert len(known) >= 30


@pytest.mark.parametrize("call", [
    "cuda.popc(x[0])", "cuda.clz(x[0])", "cuda.ffs(x[0])", "cuda.brev(x[0])",
    "cuda.atomic.add(x, 0, 1)", "cuda.atomic.max(x, 0, 1)", "cuda.laneid",
    "cuda.shfl_sync(0xFFFFFFFF, x[0], 0)", "cuda.ballot_sync(0xFFFFFFFF, x[0])",
    "cuda.syncthreads_count(x[0])",
])  # fmt: skip
def test_functions_of_threads_have_a_text(call):
    """Functions of bits, warps, barriers and atomic operations: each has a text of its own."""
    program = cuda.jit(defined(f"def k(x):\n    x[0] = {call}\n", "k", cuda=cuda)).typed(int32[:])
    other = cuda.jit(defined("def k(x):\n    x[0] = 0\n", "k", cuda=cuda)).typed(int32[:])

    assert text_of(program) not in {None, text_of(other)}


def test_an_unknown_object_has_no_text(count):
    """It is compiled as before, and found by its LLVM IR."""
    program = cuda.jit(grow).typed(float32[::1])
    program.body.append(ir.Store(object(), ir.Constant(int32, np.int32(1))))
    assert text_of(program) is None
    program.body.pop()
    assert text_of(program) == text_of(cuda.jit(grow).typed(float32[::1]))
    assert count == []
