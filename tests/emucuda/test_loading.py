"""The effects of loading the emulated driver on a process, and its requirements."""

from __future__ import annotations

import subprocess
import sys

import pytest

from interchange_conformance.emucuda import AnotherDriverError, building, control, load

# ---------------------------------------------------------------- loading

MAPS = """\
5588-5589 r--p 00000000 08:01 1 /usr/bin/python3
7f00-7f01 r-xp 00000000 08:01 2 /usr/lib/libcuda.so.570.26
7f01-7f02 rw-p 00001000 08:01 2 /usr/lib/libcuda.so.570.26
7f02-7f03 r-xp 00000000 08:01 3 /opt/with space/libcuda.so.1
7f03-7f04 r-xp 00000000 08:01 4 /usr/lib/libcudart.so.13
7f04-7f05 rw-p 00000000 00:00 0
7f05-7f06 r-xp 00000000 08:01 5 /usr/lib/libcuda.so.1.backup/other.so
"""


def test_drivers_are_told_from_other_libraries():
    """Each driver is listed once; the runtime library is not a driver."""
    assert control.mapped_drivers(MAPS) == [
        "/usr/lib/libcuda.so.570.26",
        "/opt/with space/libcuda.so.1",
    ]


@pytest.mark.emulated
def test_there_is_one_emulator_per_process(emulator):
    """Every call returns the same emulator."""
    assert load() is emulator


def run_python(text, *arguments):
    """Return the completed process of a program."""
    words = [sys.executable, "-c", text, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.emulated
def test_another_driver_that_came_first_is_named(tmp_path):
    """A process can have only one driver: two would share symbol names but not state."""
    (tmp_path / "driver.c").write_text("int cuInit(int flags) { return flags; }\n")
    library = tmp_path / "libcuda.so.1"
    (compiler, *_) = building.find_compiler()
    options = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(library)]
    subprocess.run([compiler, *options, str(tmp_path / "driver.c")], check=True)
    text = (
        "import ctypes, sys\n"
        "from interchange_conformance.emucuda import load\n"
        "ctypes.CDLL(sys.argv[1])\n"
        "load()\n"
    )

    done = run_python(text, library)

    assert done.returncode == 1
    assert (
        f"{AnotherDriverError.__name__}: load(): this process has loaded {library}" in done.stderr
    )


@pytest.mark.emulated
def test_the_emulated_driver_may_have_come_first():
    """The launcher puts the driver into the library path, and the program loads it again."""
    library = building.build()
    text = (
        "import ctypes, sys\n"
        "from interchange_conformance.emucuda import load\n"
        "ctypes.CDLL(sys.argv[1]).cuInit(0)\n"
        "print(load().live())\n"
    )

    done = run_python(text, library)

    assert done.stdout.startswith("Live(device=0,")


@pytest.mark.emulated
def test_importing_the_package_loads_no_driver():
    """It imports nothing outside the standard library and the two distributions."""
    text = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "import interchange_conformance.emucuda\n"
        "print('libcuda' in open('/proc/self/maps').read())\n"
        "tops = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(tops - sys.stdlib_module_names))\n"
    )

    done = run_python(text)

    assert done.stdout == "False\n['interchange', 'interchange_conformance']\n"
