"""Programs in the form of numba-cuda and CuPy give NumPy's results, on the CPU and on the device.

The same programs are interpreted as PTX, and assembled by NVIDIA's assembler.

Source: the manuals of numba-cuda and CuPy, for the form of the programs.
"""

from __future__ import annotations

import functools
import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import interchange as ix
from interchange import cuda
from interchange.cuda.cupyx import jit

from .ported import manual, numerics, rawkernels, scans, tables
from .ptx_kernels import ARCHITECTURES, InterpretedKernel, assert_assembled, find_ptxas

pytestmark = pytest.mark.interop  # that extra installs LLVM

PROGRAMS = {
    name: program
    for module in (manual, scans, numerics, tables, rawkernels)
    for name, program in module.PROGRAMS.items()
}

RACING = {"breadth-first search": "CPY-RACE-1"}  # several threads store the same flag


TURNS = list(zip(PROGRAMS, itertools.cycle(ARCHITECTURES), strict=False))
GUIDE = Path(__file__).parents[2] / "docs/guides/kernels-ported.md"


@functools.cache
def checked(kernel):
    """Return a kernel that finds races and indices out of bounds."""
    make = jit.rawkernel if isinstance(kernel, jit.RawKernel) else cuda.jit
    return make(debug=True, races=True)(kernel.py_func)


def assert_right(program, given, run):
    """Assert that a program leaves NumPy's results in copies of its arguments."""
    expected = program.expect(*given)
    copies = tuple(each.copy() if isinstance(each, np.ndarray) else each for each in given)
    left = run(copies)
    for place, array in expected.items():
        found = left[place]
        assert found.dtype == np.asarray(array).dtype
        if program.rtol or program.atol:
            np.testing.assert_allclose(found, array, rtol=program.rtol, atol=program.atol)
        else:
            np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_right_on_the_cpu(name):
    """The results are NumPy's, up to the tolerance of a program with other roundings."""
    program = PROGRAMS[name]

    def run(arguments):
        program.run(lambda kernel: kernel, *arguments)
        return arguments

    assert_right(program, program.make(), run)


@pytest.mark.emulated
@pytest.mark.gpu
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_right_on_the_device(name, cuda_driver, request):
    """The launches are ordered with the copies: the emulated driver reports no race."""
    program = PROGRAMS[name]

    def run(arguments):
        held = [cuda.to_device(x) if isinstance(x, np.ndarray) else x for x in arguments]
        program.run(lambda kernel: kernel, *held)
        return [x.copy_to_host() if hasattr(x, "copy_to_host") else x for x in held]

    assert_right(program, program.make(), run)
    if cuda_driver == "emulated":
        assert request.getfixturevalue("emulator").reports() == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_no_race(name):
    """The checks of indices report nothing either; a program that is known to race is reported."""
    program = PROGRAMS[name]
    if name in RACING:
        with pytest.raises(ix.InterchangeError, match=RACING[name]):
            program.run(checked, *program.make())
        return

    def run(arguments):
        program.run(checked, *arguments)
        return arguments

    assert_right(program, program.make(), run)


@functools.cache
def interpreted(name):
    """Return the arguments of a program after its run as PTX, and the typed programs of it."""
    kernels = {}
    program, arguments = PROGRAMS[name], PROGRAMS[name].make()
    program.run(lambda kernel: kernels.setdefault(kernel, InterpretedKernel(kernel)), *arguments)
    return arguments, [typed for kernel in kernels.values() for typed in kernel.programs]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_right_in_ptx(name):
    """The interpreter follows every instruction; what is undefined on a GPU is an error."""
    program = PROGRAMS[name]

    assert_right(program, program.make(), lambda _: interpreted(name)[0])


@pytest.mark.parametrize(("name", "architecture"), TURNS)
def test_the_assembler_takes_a_program(name, architecture, tmp_path):
    """There is no warning, for the types of its launches; the architectures take turns."""
    find_ptxas() or pytest.skip("no ptxas, of a toolkit or of the wheel nvidia-cuda-nvcc")

    assert_assembled(interpreted(name)[1], tmp_path, [architecture])


def test_the_guide_counts_the_programs_and_names_what_they_use():
    """Each name in the column of interchange is in a program; the programs are as many."""
    guide = GUIDE.read_text(encoding="utf-8")
    rows = [line.split("|") for line in guide.splitlines() if line.startswith("|")]
    names = [name for row in rows for name in re.findall(r"`([^`]+)`", row[2])]
    folder = Path(__file__).parent
    texts = [folder / "test_ported.py", *folder.glob("ported/*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in texts)

    assert f"`tests/kernels/ported` has {len(PROGRAMS)} programs" in guide
    assert len(names) > 40
    assert [name for name in names if not re.search(rf"(?<!\w){re.escape(name)}", text)] == []
