"""LLVM at work: from modules to machine code of this CPU, and to PTX.

Source: llvmlite, "Execution engine" and "Pass builder".
"""

from __future__ import annotations

import ctypes
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import llvmlite.binding as llvm

from .host import host_module

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interchange.cuda.tree import Program

_PROCESS: Final = ctypes.CDLL(None)
_lock = threading.Lock()
"""LLVM's contexts are used by one thread at a time."""


@contextmanager
def locked() -> Iterator[None]:
    """Let one thread use LLVM, which knows its targets then."""
    with _lock:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        yield


def optimize(module: Any, machine: Any) -> None:
    """Run what ``-O3`` runs."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


class HostKernel:
    """A kernel compiled for this CPU.

    Attributes
    ----------
    frame_size : int
        Of the coroutine of a thread [bytes], 0 where threads do not wait.
    """

    def __init__(self, program: Program, *, checks: bool = False) -> None:
        self.program = program
        with locked():
            self.llvm = str(host_module(program, checks=checks))
            module = llvm.parse_assembly(self.llvm)
            module.verify()
            target = llvm.Target.from_default_triple()
            machine = target.create_target_machine(
                cpu=llvm.get_host_cpu_name(),
                features=llvm.get_host_cpu_features().flatten(),
                opt=3,
                jit=True,
            )
            optimize(module, machine)
            self._engine = llvm.create_mcjit_compiler(module, machine)
            self._engine.finalize_object()
            self._module, self._machine = module, machine
        pointer, size = ctypes.c_void_p, ctypes.c_int64
        kinds = (pointer, pointer, size, size, pointer, pointer, pointer)
        self.run = self._function("run", ctypes.c_int32, *kinds)
        self.frame_size = int(self._function("frame_size", size)())

    @property
    def optimized(self) -> str:
        """What LLVM made of the kernel, in its own language."""
        with locked():
            return str(self._module)

    @property
    def assembly(self) -> str:
        """The machine code, as the assembler writes it."""
        with locked():
            found: str = self._machine.emit_assembly(self._module)
            return found

    def _function(self, name: str, result: Any, *arguments: Any) -> Any:
        """Return a function of the machine code, which runs without the GIL."""
        found = _PROCESS._FuncPtr(self._engine.get_function_address(name))
        found.restype, found.argtypes = result, arguments
        return found
