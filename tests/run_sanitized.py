"""Run tests with the native core under ASan and UBSan, and report its leaks: `tox -e asan`.

Source: clang's and gcc's sanitizers; LeakSanitizer.  The interpreter is not built with them, so
that their library is preloaded.  CPython leaks much memory at exit: only leaks with the native core
in their stack are reported.

Usage: ``python tests/run_sanitized.py [arguments of pytest]``, with interchange built with
``INTERCHANGE_BUILD=require INTERCHANGE_DEBUG_BUILD=1 CFLAGS="-fsanitize=address,undefined"``.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

TESTS = Path(__file__).parent
LAYERS = [
    TESTS / name
    for name in (
        "abi", "types", "streams", "core", "protocols", "array", "functions", "compat", "xp",
        "capi", "cuda", "isolated",
    )
]  # fmt: skip
BLURRED = TESTS / "capi" / "test_often.py"
"""Tests of growth below a byte per call, which memory retained by the sanitizer hides."""
LEAKING = [
    TESTS / "core" / f"test_{name}.py"
    for name in (
        "twins", "exchange_functions", "consuming", "export", "importing",
        "arrow_taking", "arrow_exports",
    )
]  # fmt: skip
"""Tests that run once more for leaks, in one process: deep stacks are slow."""
OURS = ("/_native/", "_native/_extension")  # in a line of a stack
ONCE = (" in execute ", " in copy_class ")
"""Functions that allocate objects for the life of the process: dictionaries of module and class."""
TROUBLE = ("ERROR: AddressSanitizer", "runtime error:")
MEMORY = {  # freed memory is retained for a while, but not so long that it counts as growth
    "allocator_may_return_null": 1,
    "handle_segv": 0,
    "quarantine_size_mb": 1,
    "thread_local_quarantine_size_kb": 64,
}
LEAK_CONTROL = """
import ctypes
import interchange as ix
block = ctypes.create_string_buffer(64)
x = ix.from_pointer(ctypes.addressof(block), (2,), "float32", owner=block)
capsule = x.__dlpack__()
ctypes.pythonapi.Py_IncRef(ctypes.py_object(capsule))
print(ix.core_name)
"""
"""Leaks a struct of ours, to test the detection."""


def libraries():
    """Return the libraries to preload."""
    compiler = shlex.split(os.environ.get("CC", "gcc"))
    names = ("libasan.so", "libubsan.so")
    found = [
        subprocess.run(
            [*compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in names
    ]
    return os.pathsep.join(found)


def joined(options):
    """Return options as the sanitizers read them."""
    return ":".join(f"{key}={value}" for key, value in options.items())


def run(folder, command, *, leaks):
    """Run a command under the sanitizers, which write to files in a folder."""
    memory = MEMORY | {"log_path": folder / "asan", "detect_leaks": int(leaks)}
    if leaks:
        memory |= {"fast_unwind_on_malloc": 0, "exitcode": 0, "malloc_context_size": 16}
    environment = {
        **os.environ,
        "LD_PRELOAD": libraries(),
        "ASAN_OPTIONS": joined(memory),
        "UBSAN_OPTIONS": joined({"print_stacktrace": 1, "log_path": folder / "ubsan"}),
        "PYTHONMALLOC": "malloc",
        "INTERCHANGE_CORE": "native",
    }
    return subprocess.run(command, env=environment, check=False).returncode


def troubles(folder):
    """Return the sanitizers' reports of errors, and of leaks of ours."""
    found = []
    for path in sorted(folder.iterdir()):
        text = path.read_text(encoding="utf-8", errors="replace")
        if any(word in text for word in TROUBLE):
            found.append(text)
        blocks = (block for block in text.split("\n\n") if "leak of" in block)
        found += [block for block in blocks if is_ours(block)]
    return found


def is_ours(leak):
    """Whether the native core is in the stack of a leak that is not caused by another one."""
    return any(word in leak for word in OURS) and not any(word in leak for word in ONCE)


def step(command, *, leaks):
    """Run a command, and return its exit code and its errors."""
    with tempfile.TemporaryDirectory() as folder:
        code = run(Path(folder), [sys.executable, *command], leaks=leaks)
        return code, troubles(Path(folder))


def is_sanitized():
    """Whether the native core that would be imported is built for the address sanitizer."""
    package = find_spec("interchange")  # it is not imported: without the library it would abort
    folders = [Path(folder) for folder in package.submodule_search_locations] if package else []
    built = [path for folder in folders for path in folder.glob("_core/_native/_extension*.so")]
    return any(b"__asan_" in path.read_bytes() for path in built)


def main(arguments):
    """Run the tests, then look for leaks; print the findings."""
    if not is_sanitized():
        print("the native core is not built with -fsanitize=address,undefined: see `tox -e asan`")
        return 1
    _, seen = step(["-c", LEAK_CONTROL], leaks=True)
    if not seen:
        print("a leak that was made is not seen")
        return 1
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
    what = arguments or [*map(str, LAYERS), f"--ignore={BLURRED}"]
    code, found = step([*pytest, *what], leaks=False)
    if not arguments:
        more, leaks = step([*pytest, "-n0", *map(str, LEAKING)], leaks=True)
        code, found = code or more, found + leaks
    print(*found, f"sanitizers: {len(found)} findings", sep="\n")
    return 1 if found else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
