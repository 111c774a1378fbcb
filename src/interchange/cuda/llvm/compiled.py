"""Compilation by LLVM: from modules to machine code of this CPU, and to PTX.

Source: llvmlite, "Execution engine" and "Pass builder".  Machine code is an object file, compiled
or read from disk (`cache`), and loaded the same way in both cases.
"""

from __future__ import annotations

import ctypes
import functools
import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import llvmlite.binding as llvm

from interchange.abi._loaded import c_library

from . import cache
from .fission import host_module
from .host import Piece
from .identity import text_of
from .printing import write_take

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interchange.cuda.ir import Program

_PROCESS: Final = c_library()
_lock = threading.Lock()
"""LLVM's contexts are used by one thread at a time."""
_LEVEL: Final = 2
"""``-O3`` takes longer, for code that is as fast (``tests/bench/kernels_compile.py``)."""
_LEVEL_OF_COROUTINES: Final = 1
"""Higher levels make the code between two barriers larger, and no faster (as above)."""
_LEVEL_OF_REGIONS: Final = 1.5
"""Of loops between barriers: the passes of ``-O1``, but short loops in them are unrolled.  Vectors
are not interleaved, which is as fast and compiles in less time."""
_LEVEL_OF_CODE: Final = 1
"""Of machine code: it is as fast as that of level 3 (``tests/bench/kernels_compile.py``)."""


@contextmanager
def locked() -> Iterator[None]:
    """Lock LLVM for one thread, with its targets initialised."""
    with _lock:
        _initialize()
        yield


@functools.cache
def _initialize() -> None:
    """Initialise LLVM's targets."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def optimize(module: Any, machine: Any, level: float = 3) -> None:
    """Run the passes of ``-O3``, or of another level."""
    options = llvm.create_pipeline_tuning_options(speed_level=int(level))
    options.loop_vectorization = True
    options.slp_vectorization = level >= _LEVEL
    options.loop_unrolling = level > 1
    options.loop_interleaving = level != _LEVEL_OF_REGIONS
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


class Host(NamedTuple):
    """A CPU, by LLVM's names."""

    triple: str
    cpu: str
    features: str
    layout: str  # of data in memory

    def machine(self) -> Any:
        """Return the generator of machine code for the CPU."""
        target = llvm.Target.from_triple(self.triple)
        return target.create_target_machine(
            cpu=self.cpu, features=self.features, opt=_LEVEL_OF_CODE, jit=True
        )


@functools.cache
def this_host() -> Host:
    """Return the CPU that this process runs on."""
    triple, cpu = llvm.get_default_triple(), llvm.get_host_cpu_name()
    machine = llvm.Target.from_triple(triple).create_target_machine(jit=True)
    features = llvm.get_host_cpu_features().flatten()
    return Host(triple, cpu, features, str(machine.target_data))


class HostKernel:
    """A kernel compiled for this CPU.

    Parameters
    ----------
    program : Program
        The typed program.
    checks : bool
        Whether every index is checked.
    races : bool
        Whether races are found.
    level : int, optional
        Optimisation level, 1 to 3; chosen by default.

    Attributes
    ----------
    frame_size : int
        Size of a thread's coroutine frame [bytes], 0 if threads do not wait.
    pieces : list of Piece
        Other memory that a block uses.
    take : callable or None
        See `interchange.cuda.printing.Printed`; None if it prints nothing.
    granules : dict or None
        See `races.Watch`; None if races are not found.
    """

    _text = ""
    _level: float = _LEVEL

    program: Program

    def __init__(
        self,
        program: Program,
        *,
        checks: bool = False,
        races: bool = False,
        level: int | None = None,
    ) -> None:
        self.program, self._races, self._checks = program, races, checks
        self._given_level = level
        with locked():
            self._host = this_host()
            self._engine = _load(self._host, self._machine_code())
        pointer, size = ctypes.c_void_p, ctypes.c_int64
        kinds = (pointer, pointer, size, size, pointer)
        self.run: Any = self._function("run", ctypes.c_int32, *kinds)
        self.take: Any = self._function("take_printed", pointer, pointer) if program.lines else None
        self.frame_size: int = int(self._function("frame_size", size)())

    def _machine_code(self) -> bytes:
        """Return the object file, from the cache if possible; set what is known of the code."""
        self.granules: dict[int, int] | None = None
        self.pieces: list[Piece] = []
        options, on_disk = f"checks={self._checks}", self.program.options.cache
        text = None if self._races or not on_disk else text_of(self.program)
        if text is None:
            parts = ("host", self._generated(), *self._host, options, f"-O{self._level}")
            return cache.get_or_compile(parts, self._compile, on_disk=on_disk)

        def compile_it() -> bytes:
            self._generated()
            about = json.dumps([self._level, self.pieces]).encode()
            return about + b"\n" + self._compile()

        parts = ("program", text, *self._host, options, f"-O{self._given_level}")
        about, _, code = cache.get_or_compile(parts, compile_it).partition(b"\n")
        self._level, pieces = json.loads(about)
        self.pieces = [Piece(*each) for each in pieces]
        return code

    def _generated(self) -> str:
        """Return the LLVM IR, and set what is known of the code."""
        module, code = host_module(self.program, checks=self._checks, races=self._races)
        if self.program.lines:
            write_take(module)
        self.pieces, self.granules = code.pieces, code.watch and code.watch.granules
        usual: float = _LEVEL_OF_COROUTINES if code.is_coroutine else _LEVEL
        if self.program.has_barrier and not code.is_coroutine:
            usual = _LEVEL_OF_REGIONS
        usual = usual if self.program.options.opt else _LEVEL_OF_COROUTINES
        self._level = usual if self._given_level is None else self._given_level
        module.data_layout = self._host.layout
        self._text = str(module)
        return self._text

    @property
    def llvm(self) -> str:
        """The LLVM IR of the kernel, before optimisation; one from the cache has to make it."""
        return self._text or self._generated()

    @property
    def optimized(self) -> str:
        """The optimised LLVM IR."""
        with locked():
            return str(self._optimized(self._host.machine()))

    @property
    def assembly(self) -> str:
        """The machine code, as assembly text."""
        with locked():
            machine = self._host.machine()
            found: str = machine.emit_assembly(self._optimized(machine))
            return found

    def _compile(self) -> bytes:
        """Return the object file."""
        machine = self._host.machine()
        found: bytes = machine.emit_object(self._optimized(machine))
        return found

    def _optimized(self, machine: Any) -> Any:
        """Return the module, optimised again: a kernel from the cache has none."""
        module = llvm.parse_assembly(self.llvm)
        module.verify()
        optimize(module, machine, self._level)
        return module

    def _function(self, name: str, result: Any, *arguments: Any) -> Any:
        """Return a function of the machine code, which runs without the GIL."""
        found = _PROCESS._FuncPtr(self._engine.get_function_address(name))
        found.restype, found.argtypes = result, arguments
        return found


def _load(host: Host, code: bytes) -> Any:
    """Return an engine with the functions of an object file."""
    empty = llvm.parse_assembly("")  # an engine needs a module
    engine = llvm.create_mcjit_compiler(empty, host.machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine
