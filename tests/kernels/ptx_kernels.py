"""PTX of kernels for the tests, with or without libdevice, and NVIDIA's assembler.

Source: PTX ISA 8.8; CUDA, "libdevice User's Guide"; CUDA Binary Utilities (ptxas).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm

from interchange._types.errors import ArgumentError
from interchange.cuda.llvm.compiled import locked, optimize
from interchange.cuda.llvm.ptx import TRIPLE, ptx_module, to_ptx

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


def assert_assembled(programs, folder):
    """Assert that ptxas assembles typed programs for every architecture without a warning."""
    ptxas = find_ptxas()
    if ptxas is None:
        raise FileNotFoundError("no ptxas, of a toolkit or of the wheel nvidia-cuda-nvcc")
    for architecture in ARCHITECTURES:
        for text in {to_ptx(program, architecture) for program in programs}:
            messages, size = assembled(ptxas, text, architecture, folder)
            assert messages == "", text
            assert size > 0


def unlinked_ptx(kernel, *types, architecture="sm_75"):
    """Return the PTX of a kernel with calls of external math functions."""
    program = kernel.typed(*types)
    with locked():
        module = llvm.parse_assembly(str(ptx_module(program)))
        machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=architecture, opt=3)
        optimize(module, machine)
        return machine.emit_assembly(module)


def any_ptx(kernel, *types, architecture="sm_75"):
    """Return the PTX of a kernel, linked with libdevice if it is installed."""
    program = kernel.typed(*types)
    try:
        return to_ptx(program, architecture)
    except ArgumentError:
        return unlinked_ptx(kernel, *types, architecture=architecture)
