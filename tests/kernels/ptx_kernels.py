"""PTX of kernels for the tests, with or without libdevice, and NVIDIA's assembler.

Source: PTX ISA 8.8; CUDA, "libdevice User's Guide"; CUDA Binary Utilities (ptxas).
"""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np

import interchange as ix
from interchange._types.errors import ArgumentError
from interchange.cuda.arguments import pass_any
from interchange.cuda.llvm.compiled import locked, optimize
from interchange.cuda.llvm.ptx import TRIPLE, ptx_module, to_ptx

from .ptx_machine import Machine

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")


def find_ptxas():
    """Return the path of ptxas from a toolkit or a wheel (nvidia-cuda-nvcc), or None."""
    wheels = (
        found
        for entry in sys.path
        for pattern in ("cu[0-9]*/bin/ptxas", "cuda_nvcc/bin/ptxas")
        for found in sorted(Path(entry, "nvidia").glob(pattern))
    )
    return shutil.which("ptxas") or next(map(str, wheels), None)


def assembled(ptxas, text, architecture, folder):
    """Return the output of ptxas for a text, and the size of the result [bytes]."""
    source, binary = (folder / f"kernel.{end}" for end in ("ptx", "cubin"))
    binary.unlink(missing_ok=True)
    source.write_text(text, encoding="utf-8")
    command = [ptxas, f"-arch={architecture}", "-o", str(binary), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr, binary.stat().st_size if binary.exists() else 0


def assert_assembled(programs, folder, architectures=ARCHITECTURES):
    """Assert that ptxas assembles typed programs for architectures without a warning."""
    ptxas = find_ptxas()
    if ptxas is None:
        raise FileNotFoundError("no ptxas, of a toolkit or of the wheel nvidia-cuda-nvcc")
    for architecture in architectures:
        for text in {to_ptx(program, architecture) for program in programs}:
            messages, size = assembled(ptxas, text, architecture, folder)
            assert messages == "", text
            assert size > 0


def unlinked_ptx(kernel, *types, architecture="sm_75", checks=False):
    """Return the PTX of a kernel with calls of external math functions."""
    program = kernel.typed(*types)
    with locked():
        module = llvm.parse_assembly(str(ptx_module(program, checks=checks)))
        machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=architecture, opt=3)
        optimize(module, machine)
        return machine.emit_assembly(module)


def any_ptx(kernel, *types, architecture="sm_75", checks=False):
    """Return the PTX of a kernel, linked with libdevice if it is installed."""
    program = kernel.typed(*types)
    try:
        return to_ptx(program, architecture, checks=checks)
    except ArgumentError:
        return unlinked_ptx(kernel, *types, architecture=architecture, checks=checks)


class InterpretedKernel:
    """Launches a kernel as PTX in the interpreter, in numba-cuda's form and in CuPy's.

    ``programs`` has the typed programs that were launched.
    """

    def __init__(self, kernel):
        self.kernel, self.programs = kernel, []
        self._machines = {}

    def __getitem__(self, configuration):
        grid, block, *rest = configuration
        dynamic = rest[1] if len(rest) > 1 else 0
        return lambda *arguments: self._run(grid, block, dynamic, arguments)

    def __call__(self, grid, block, arguments, shared_mem=0):
        """Launch it in the form of CuPy."""
        self._run(grid, block, shared_mem, arguments)

    def _run(self, grid, block, dynamic, arguments):
        bound = inspect.signature(self.kernel.py_func).bind(*arguments)
        bound.apply_defaults()
        arguments = bound.args
        types = tuple(self._type_of(each) for each in arguments)
        if types not in self._machines:
            program = self.kernel.typed(*types)
            self.programs.append(program)
            self._machines[types] = program, Machine(unlinked_ptx(self.kernel, *types))
        program, machine = self._machines[types]
        grid, block = ((n,) if isinstance(n, int) else n for n in (grid, block))
        given = [leaf for each in arguments for leaf in leaves(each)]
        together = program.has_grid_barrier
        machine.launch(self.kernel.__name__, grid, block, given, dynamic, together=together)

    def _type_of(self, value):
        return pass_any(value, None, self.kernel.__name__, lambda x, _: ix.asarray(x)).type


def leaves(value):
    """Return the numbers and NumPy arrays of an argument: a tuple and a record have several."""
    if isinstance(value, np.void):
        return [leaf for name in value.dtype.names for leaf in leaves(value[name])]
    if value is None or isinstance(value, tuple):
        return [leaf for each in value or () for leaf in leaves(each)]
    return [np.asarray(value.to_device("cpu")) if isinstance(value, ix.Array) else value]
