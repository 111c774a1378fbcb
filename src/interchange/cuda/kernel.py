"""`jit`: from a function to kernels, one for each combination of types of arguments.

Source: CUDA Python Specification 0.2; CUDA Array Interface, version 3 (the forms of ``cuda.jit`` in
its examples).
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from interchange._types.errors import ArgumentError, ExchangeError, show

from . import launch
from .errors import refuse
from .source import Source
from .statements import typed_program
from .types import Signature, Void

if TYPE_CHECKING:
    from collections.abc import Callable

    from .llvm.compiled import HostKernel
    from .tree import Program
    from .types import ArrayType, ScalarType

Types = tuple["ScalarType | ArrayType", ...]


class Kernel:
    """A function that many threads run: ``kernel[grid, block](arguments)``.

    Made by `jit`.  It is compiled for the types of its arguments when it is first called with them,
    and runs on the CPU.

    Attributes
    ----------
    signature : Signature or None
        The only types that it takes, where they were given.
    debug : bool
        Whether every index is checked.
    """

    def __init__(
        self, function: Callable[..., Any], signature: Signature | None, *, debug: bool
    ) -> None:
        self.__wrapped_kernel__ = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.signature, self.debug = signature, debug
        self._source = Source(function)
        self._compiled: dict[Types, HostKernel] = {}
        self._lock = threading.Lock()
        if signature is not None:
            self.compile(*signature.arguments)

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"

    def __call__(self, *_: Any, **__: Any) -> None:
        """Refuse: a call needs sizes."""
        call = f"{self.__name__}()"
        raise ArgumentError(call, "it was called without a grid and a block", "CPY-LAUNCH-1")

    def __getitem__(self, sizes: Any) -> Launch:
        return Launch(self, launch.read_sizes(sizes, f"{self.__name__}[...]"))

    def typed(self, *types: ScalarType | ArrayType) -> Program:
        """Return the typed program for types of arguments."""
        return typed_program(self._source, types)

    def compile(self, *types: ScalarType | ArrayType) -> HostKernel:
        """Return the code for types of arguments, compiled once."""
        from .llvm.compiled import HostKernel

        found = self._compiled.get(types)
        if found is None:
            with self._lock:
                found = self._compiled.get(types)
                if found is None:
                    found = self._compiled[types] = HostKernel(
                        self.typed(*types), checks=self.debug
                    )
        return found

    def inspect_types(self, *types: ScalarType | ArrayType) -> dict[str, list[ScalarType]]:
        """Return every variable, and the types that it has, one after the other."""
        variables = self.typed(*types).variables
        return {
            name: [slot.type for slot in slots] for name, slots in variables.items() if name != "_"
        }

    def inspect_llvm(self, *types: ScalarType | ArrayType) -> str:
        """Return what LLVM was given, optimised."""
        return self.compile(*types).optimized

    def inspect_asm(self, *types: ScalarType | ArrayType) -> str:
        """Return the machine code, as the assembler writes it."""
        return self.compile(*types).assembly

    def inspect_ptx(self, *types: ScalarType | ArrayType, architecture: str = "sm_75") -> str:
        """Return the kernel in PTX, for a GPU and all newer ones."""
        from .llvm.ptx import to_ptx

        return to_ptx(self.typed(*types), architecture)

    def _run(self, sizes: launch.Sizes, arguments: tuple[Any, ...]) -> None:
        """Run the kernel with its arguments."""
        call = f"{self.__name__}[...]()"
        wanted = self.signature.arguments if self.signature is not None else None
        if wanted is not None and len(wanted) != len(arguments):
            what = f"{len(arguments)} arguments for {self.signature}"
            raise ArgumentError(call, what, "CPY-ARG-1")
        passed = [
            launch.pass_argument(value, None if wanted is None else wanted[place], call)
            for place, value in enumerate(arguments)
        ]
        compiled = self.compile(*(each.type for each in passed))
        launch.check_writable(passed, compiled.program.writes, call)
        code, place = launch.run(compiled, sizes, passed)
        if place:
            where = compiled.program.places[place - 1]
            refuse(*where, "an index is out of bounds", "CPY-INDEX-3")
        if code:
            what = "some threads of a block left, or waited elsewhere, while others waited"
            raise ExchangeError(call, what, "CPY-BARRIER-1")


class Launch:
    """A kernel with its sizes, to be called."""

    __slots__ = ("_kernel", "_sizes")

    def __init__(self, kernel: Kernel, sizes: launch.Sizes) -> None:
        self._kernel, self._sizes = kernel, sizes

    def __call__(self, *arguments: Any) -> None:
        """Run the kernel, until it is done."""
        self._kernel._run(self._sizes, arguments)


def jit(*given: Any, debug: bool = False) -> Any:
    """Make a kernel of a function.

    Parameters
    ----------
    function : callable, optional
        Written with ``def``, in the dialect.  It stays as it is where it is called by kernels.
    signature : Signature, or ``void`` and the types of the arguments, optional
        ``void(float32[::1])``: it is compiled at once, and takes no other types.
    debug : bool, default False
        Whether every index is checked against the length of its axis.

    Returns
    -------
    Kernel
        Or a decorator, where no function was given.

    Raises
    ------
    KernelError
        The function is not in the dialect; its line is shown.

    Notes
    -----
    Source: CUDA Python Specification 0.2.

    Examples
    --------
    >>> from interchange.cuda import float32, grid, jit
    >>> @jit
    ... def doubled(x):
    ...     i = grid(1)
    ...     if i < x.shape[0]:
    ...         x[i] = x[i] * 2
    >>> doubled, doubled.inspect_types(float32[::1])
    (<kernel doubled>, {'i': [int64]})
    """
    if len(given) == 1 and callable(given[0]) and not isinstance(given[0], (Signature, Void)):
        return Kernel(given[0], None, debug=debug)
    signature = _read_signature(given)
    return lambda function: Kernel(function, signature, debug=debug)


def _read_signature(given: tuple[Any, ...]) -> Signature | None:
    """Return the signature that was given in one of its two forms."""
    if not given:
        return None
    if len(given) == 1 and isinstance(given[0], Signature):
        return given[0]
    if isinstance(given[0], Void):
        return Signature(tuple(given[1:]))
    raise ArgumentError("cuda.jit()", show(given), "CPY-ARG-1", "pass void(int32[::1])")
