"""`jit`: compiles a function to kernels, one for each combination of argument types.

Source: CUDA Python Specification 0.2; CUDA Array Interface, version 3 (the forms of ``cuda.jit`` in
its examples).
"""

from __future__ import annotations

import threading
import weakref
from math import prod
from typing import TYPE_CHECKING, Any, Final

from interchange._array import Array
from interchange._functions.importing import keep_arrays
from interchange._streams.rules import LEGACY_DEFAULT_STREAM
from interchange._types.errors import ArgumentError, ExchangeError, InterchangeError, show

from . import host_launch
from .arguments import Packing, check_writable, form_of, is_plain, leaves, pass_any, pass_number
from .arrays import UntypedArray
from .configuration import check_shared, read_configuration, read_line, read_line_of
from .consumer import Use, is_settled, may_be_another
from .debugging import reported_error
from .device_launch import DeviceKernel, find_ordinal
from .errors import refuse
from .options import Options, read_options, read_signatures
from .printed import Printed, write
from .races import RACE_WORD, Shadow, race_error
from .repeating import Repeater
from .source import Source
from .statements import typed_program
from .streams import Stream, synchronize_stream
from .types import ArrayType, ScalarType, Signature, TupleType, Void

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .arguments import Passed
    from .configuration import Configuration
    from .ir import Program
    from .llvm.compiled import HostKernel

_TYPES: Final = (Signature, Void, ScalarType)
DIVERGENT: Final = -1
"""What is reported of a barrier that not all threads reach; a number below is the place of a call
in which lanes of a warp wait forever."""
_DEFAULTS: Final = Options()
_ALIGNMENT: Final = 7  # of addresses: a multiple of 8 is aligned for every type
_MOST_LEARNED: Final = 64
Plan = tuple[DeviceKernel, int]
"""A kernel for types of arguments, and the GPU."""
Types = tuple["ScalarType | ArrayType", ...]


class Kernel:
    """A function that many threads run: ``kernel[grid, block](arguments)``.

    Made by `jit`.  It is compiled for the types of its arguments on the first call with them, and
    runs on the device of the arrays: the CPU, or a GPU.

    Attributes
    ----------
    signature : Signature or None
        The only accepted types, if they were given.
    debug : bool
        Whether every index is checked.
    strict : bool
        Whether extensions of the specification are refused.
    races : bool
        Whether races are found.
    py_func : function
        The function as it was written.
    """

    __name__: str
    py_func: Callable[..., Any]
    signature: Signature | None
    debug: bool
    strict: bool
    races: bool

    options: Options
    inline: str

    def __init__(
        self,
        function: Callable[..., Any],
        signature: Signature | None,
        *,
        debug: bool,
        strict: bool = False,
        races: bool = False,
        options: Options = _DEFAULTS,
    ) -> None:
        self._source = Source(function)
        self.__wrapped_kernel__ = self.py_func = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.signature, self.debug, self.strict = signature, debug or races, strict
        self.races, self.options, self.inline = races, options, options.inline
        self._compiled: dict[Types, HostKernel] = {}
        self._packings: dict[Types, Packing] = {}
        self._on_device: dict[Types, DeviceKernel] = {}
        self._plans: dict[tuple[Any, ...], Plan] = {}
        self._learned: set[tuple[Any, ...]] = set()  # kinds of launches that the core was told
        self._repeater = Repeater()
        self._lock = threading.Lock()
        if signature is not None and not options.device:
            self.compile(*signature.arguments)

    def __repr__(self) -> str:
        kind = "device function" if self.options.device else "kernel"
        return f"<{kind} {self.__name__}>"

    def __call__(self, *_: Any, **__: Any) -> None:
        """Refuse a call without a configuration."""
        call = f"{self.__name__}()"
        raise ArgumentError(call, "it was called without a grid and a block", "CPY-LAUNCH-1")

    def __getitem__(self, configuration: Any) -> Launch:
        found = read_line(configuration)
        found = found or read_configuration(configuration, f"{self.__name__}[...]")
        if self.options.device or self.options.launch_bounds:
            self._check_launch(found)
        return Launch(self, found)

    def _check_launch(self, configuration: Configuration) -> None:
        """Refuse the launch of a device function, or of a block that is larger than promised."""
        call = f"{self.__name__}[...]"
        if self.options.device:
            what = "a device function is launched"
            raise ArgumentError(call, what, "CPY-LAUNCH-1", "launch a kernel that calls it")
        most = self.options.launch_bounds[0]
        if prod(configuration.block) > most:
            what = f"a block of {configuration.block} threads, where launch_bounds is {most}"
            raise ArgumentError(call, what, "CPY-LAUNCH-2", f"take at most {most}")

    def forall(
        self,
        ntasks: int,
        tpb: int = 0,
        stream: Any = 0,
        sharedmem: int = 0,
    ) -> Callable[..., None]:
        """Return a launch with at least a number of threads, along one axis.

        Parameters
        ----------
        ntasks : int
            Number of threads; the kernel has to ignore those above it, in ``cuda.grid(1)``.
        tpb : int, default 0
            Number of threads of a block; 0 lets this function choose.
        stream : int or object, default 0
            The stream.
        sharedmem : int, default 0
            Size of dynamic shared memory per block [bytes].

        Returns
        -------
        callable
            It takes the arguments of the kernel; for 0 threads it does nothing.

        Examples
        --------
        >>> import numpy as np
        >>> from interchange import cuda
        >>> @cuda.jit
        ... def doubled(x):
        ...     i = cuda.grid(1)
        ...     if i < x.size:
        ...         x[i] *= 2
        >>> x = np.arange(5)
        >>> doubled.forall(len(x))(x)
        >>> x
        array([0, 2, 4, 6, 8])
        """
        call = f"{self.__name__}.forall()"
        if self.options.launch_bounds:
            tpb = tpb or self.options.launch_bounds[0]
        found = read_line_of(ntasks, tpb, stream, sharedmem, call)
        return _launch_nothing if found is None else Launch(self, found)

    def typed(self, *types: ScalarType | ArrayType) -> Program:
        """Return the typed program for types of arguments."""
        for each in types:
            if not isinstance(each, (ScalarType, ArrayType, TupleType)):
                call, what = (
                    f"{self.__name__}: the types",
                    f"{show(each)} is not a type of interchange.cuda",
                )
                raise ArgumentError(call, what, "CPY-ARG-1", "pass one as cuda.int32[::1]")
        return typed_program(
            self._source, types, strict=self.strict, inlined=self.races, options=self.options
        )

    def compile(self, *types: ScalarType | ArrayType) -> HostKernel:
        """Return the code for types of arguments, compiled once."""
        from .llvm.compiled import HostKernel

        found = self._compiled.get(types)
        if found is None:
            with self._lock:
                found = self._compiled.get(types)
                if found is None:
                    found = self._compiled[types] = HostKernel(
                        self.typed(*types), checks=self.debug, races=self.races
                    )
        return found

    def inspect_types(self, *types: ScalarType | ArrayType) -> dict[str, list[ScalarType]]:
        """Return every variable, and its types in order."""
        variables = self.typed(*types).variables
        return {
            name: [slot.type for slot in slots] for name, slots in variables.items() if name != "_"
        }

    def inspect_llvm(self, *types: ScalarType | ArrayType) -> str:
        """Return the optimized LLVM IR."""
        return self.compile(*types).optimized

    def inspect_asm(self, *types: ScalarType | ArrayType) -> str:
        """Return the machine code, as assembly text."""
        return self.compile(*types).assembly

    def inspect_ptx(self, *types: ScalarType | ArrayType, architecture: str = "sm_75") -> str:
        """Return the kernel in PTX, for a GPU and all newer ones."""
        from .llvm.ptx import to_ptx

        return to_ptx(self.typed(*types), architecture)

    def _run(self, configuration: Configuration, arguments: tuple[Any, ...]) -> None:
        """Run the kernel with its arguments, and the defaults of those that are left out."""
        if self._plans and self._run_as_before(configuration, arguments):
            return
        left_out = self._source.code.co_argcount - len(arguments)
        defaults = self.py_func.__defaults__ or ()
        if 0 < left_out <= len(defaults):
            Launch(self, configuration)(*arguments, *defaults[-left_out:])
            return
        call = f"{self.__name__}[...]()"
        wanted = self._wanted(len(arguments), call)
        use = Use(configuration, call)
        try:
            with use:
                self._run_with(use, configuration, arguments, wanted, call)
        except InterchangeError as error:
            keep_arrays(error, dict(enumerate(arguments)), use.taken)
            raise

    def _run_with(
        self,
        use: Use,
        configuration: Configuration,
        arguments: tuple[Any, ...],
        wanted: Sequence[ScalarType | ArrayType | None],
        call: str,
    ) -> None:
        """Run the kernel with arrays that are ready on its stream."""
        passed: list[Passed] = []
        try:
            for value, kind in zip(arguments, wanted, strict=True):
                passed.append(
                    pass_any(value, kind, call, lambda x, kind: use.take(_settled(x, kind)))
                )
        except InterchangeError as error:
            raise self._named(error, len(passed), call) from error.__cause__
        ordinal, others = find_ordinal(leaves(passed), configuration, call)
        if ordinal is None:
            compiled = self._run_on_host(configuration, passed, call)
            if not self.debug and is_plain(passed) and not compiled.program.has_grid_barrier:
                self._remember_on_host(compiled, configuration, arguments, passed)
        else:
            use.order(ordinal)
            use.order_across(ordinal, others)
            self._run_on_device(configuration, passed, ordinal, call)
            kernel = self._on_device[tuple([each.type for each in passed])]
            is_alone = not others and not kernel.program.has_grid_barrier
            if not self.debug and is_plain(passed) and is_alone:
                self._remember(arguments, passed, ordinal)

    def _named(self, error: InterchangeError, place: int, call: str) -> InterchangeError:
        """Return an error about an argument with the name of its parameter."""
        names = self._source.parameters
        if error.call != call or place >= len(names):
            return error
        from interchange._protocols.conversion_hints import hint_for_argument  # for an error only

        hint = hint_for_argument(error.hint, names[place])
        return error._but(f"{call}, argument {names[place]!r}", hint)

    def _wanted(self, count: int, call: str) -> Sequence[ScalarType | ArrayType | None]:
        """Return the types in the signature, for the given number of arguments."""
        if self.signature is None:
            return (None,) * count
        if len(self.signature.arguments) != count:
            what = f"{count} arguments for {self.signature}"
            raise ArgumentError(call, what, "CPY-ARG-1")
        return self.signature.arguments

    def _run_on_host(
        self, configuration: Configuration, passed: list[Passed], call: str
    ) -> HostKernel:
        """Run the kernel on the CPU; return its code when it is done."""
        if type(configuration.given) is not Stream and configuration.given:
            synchronize_stream(configuration.stream, call)
        compiled = self.compile(*(each.type for each in passed))
        check_writable(passed, compiled.program.writes, self._source.parameters, call)
        check_shared(compiled.program.shared_bytes + configuration.shared_bytes, call)
        packing = self._packing_of(compiled.program)
        packed = packing.pack(passed)
        outside, between = {}, None
        printed = Printed(compiled.program, compiled.take) if compiled.take else None
        if printed:
            outside["printed"] = printed.address
        if compiled.granules is not None:
            arrays = [each.array for each in leaves(passed)]
            shared = compiled.program.shared_bytes + configuration.shared_bytes
            shadow = Shadow(arrays, compiled.granules, shared, prod(configuration.grid))
            outside["races"], between = shadow.address, shadow.clear
        code, words = host_launch.run(compiled, configuration, packed, outside, between)
        packing.release(packed)
        if printed:
            write(printed.texts())
        self._refuse_report(compiled.program, words or [-code], configuration)
        return compiled

    def _packing_of(self, program: Program) -> Packing:
        """Return the memory layout of a program's arguments."""
        found = self._packings.get(program.arguments)
        return found or self._packings.setdefault(program.arguments, Packing(program.arguments))

    def _run_on_device(
        self, configuration: Configuration, passed: list[Passed], ordinal: int, call: str
    ) -> None:
        """Enqueue the kernel on a GPU; with checks, wait until it is done."""
        types = tuple([each.type for each in passed])
        kernel = self._on_device.get(types)
        if kernel is None:
            made = DeviceKernel(self.typed(*types), checks=self.debug, races=self.races)
            kernel = self._on_device.setdefault(types, made)
        if kernel.program.writes:
            check_writable(passed, kernel.program.writes, self._source.parameters, call)
        words = kernel.launch(configuration, passed, ordinal, call)
        self._refuse_report(kernel.program, words, configuration)

    def _remember(self, arguments: tuple[Any, ...], passed: list[Passed], ordinal: int) -> None:
        """Let later launches like this one on a GPU take fewer steps.

        Not if default streams may belong to several devices, which needs all steps.
        """
        arrays = [each.array for each in passed if each.array is not None]
        if any(may_be_another(LEGACY_DEFAULT_STREAM, array) for array in arrays):
            return
        kernel = self._on_device[tuple([each.type for each in passed])]
        key = _key_of(arguments, passed, self.__name__)
        self._plans.setdefault(key, (kernel, ordinal))
        if self._is_new(key, arguments):
            pairs = zip(arguments, passed, strict=True)
            is_typed = self.signature is not None
            self._repeater.learn(kernel.by_ordinal, ordinal, pairs, is_typed=is_typed)

    def _remember_on_host(
        self,
        compiled: HostKernel,
        configuration: Configuration,
        arguments: tuple[Any, ...],
        passed: list[Passed],
    ) -> None:
        """Let the core make later launches like this one on the CPU, if their grid is small."""
        if self._is_new(_key_of(arguments, passed, self.__name__), arguments):
            types, kernel = compiled.program.arguments, weakref.ref(self)
            pairs = zip(arguments, passed, strict=True)
            is_typed = self.signature is not None

            def fail(code: int) -> None:
                found = kernel()  # the core, which is in no cycle, must not keep it
                if found is not None:
                    found._refuse_report(found._compiled[types].program, [code], configuration)

            self._repeater.learn_host(compiled, fail, pairs, is_typed=is_typed)

    def _is_new(self, key: tuple[Any, ...], arguments: tuple[Any, ...]) -> bool:
        """Whether the core does not know launches of this kind, over objects of these classes."""
        kind = key, tuple(map(type, arguments))
        if kind in self._learned or len(self._learned) >= _MOST_LEARNED:
            return False
        self._learned.add(kind)
        return True

    def _run_as_before(self, configuration: Configuration, arguments: tuple[Any, ...]) -> bool:
        """Repeat an earlier launch with arguments of these types, if no stream has to wait."""
        stream, call = configuration.stream, f"{self.__name__}[...]()"
        key: list[Any] = []
        numbers: list[Any] = []
        for value in arguments:
            if type(value) is Array and is_settled(value, stream):
                ptr = value.ptr
                type_, extents = form_of(value, call)
                key.append((type_, value.device, value.readonly, ptr & _ALIGNMENT))
                numbers.append(ptr)
                numbers += extents
            elif self.signature is None and (number := pass_number(value, None, call)):
                key.append((number.type, type(value)))
                numbers += number.numbers
            else:
                return False
        plan = self._plans.get(tuple(key))
        if plan is None:
            return False
        plan[0].enqueue(configuration, numbers, plan[1], call)
        return True

    def _wait_for(self, configuration: Configuration) -> None:
        """Let the host wait for a launch, since streams of its arrays could not be made to wait."""
        synchronize_stream(configuration.stream, f"{self.__name__}[...]()")

    def _refuse_report(
        self, program: Program, words: Sequence[int], configuration: Configuration
    ) -> None:
        """Raise for what a thread reported, if the first number is not 0."""
        if words[0] > 0 and words[RACE_WORD]:
            raise race_error(program, words, configuration.block, configuration.grid)
        if words[0] > 0:
            raise reported_error(program, words)
        if words[0] < DIVERGENT:
            refuse(*program.places[DIVERGENT - words[0] - 1][:5])
        if words[0] == DIVERGENT:
            call = f"{self.__name__}[...]()"
            what = "some threads of a block left, or waited elsewhere, while others waited"
            raise ExchangeError(call, what, "CPY-BARRIER-1")


def _key_of(arguments: tuple[Any, ...], passed: list[Passed], call: str) -> tuple[Any, ...]:
    """Return a key that is equal for launches that can be repeated alike."""
    found: list[Any] = []
    for value, each in zip(arguments, passed, strict=True):
        array = each.array
        if array is None:
            found.append((each.type, type(value)))
        else:
            type_, _ = form_of(array, call)
            found.append((type_, array.device, array.readonly, array.ptr & _ALIGNMENT))
    return tuple(found)


def _settled(value: Any, wanted: ScalarType | ArrayType | None) -> Any:
    """Return a value, or the array of one that had no element type so far."""
    if type(value) is not UntypedArray:
        return value
    return value.settled(wanted.element if isinstance(wanted, ArrayType) else None)


def _launch_nothing(*_: Any) -> None:
    """Launch a grid without blocks."""


class Launch:
    """A kernel with its configuration, which can be called."""

    __slots__ = ("_configuration", "_kernel")

    def __init__(self, kernel: Kernel, configuration: Configuration) -> None:
        self._kernel, self._configuration = kernel, configuration

    def __call__(self, *arguments: Any) -> None:
        """Run the kernel: on the CPU until it is done; on a GPU it is enqueued on the stream."""
        repeat = self._kernel._repeater.launch
        done = 0 if repeat is None else repeat(self._configuration, arguments)
        if done == 1:
            return
        if done:
            self._kernel._wait_for(self._configuration)
        else:
            self._kernel._run(self._configuration, arguments)


def jit(  # noqa: PLR0913 - options of numba-cuda
    *given: Any,
    debug: bool = False,
    races: bool = False,
    strict: bool = False,
    device: bool = False,
    inline: str | bool = "auto",
    fastmath: bool = False,
    cache: bool = True,
    opt: bool = True,
    max_registers: int | None = None,
    launch_bounds: int | tuple[int, ...] | None = None,
    boundscheck: bool = False,
    lineinfo: bool = False,
    link: Sequence[Any] = (),
) -> Any:
    """Make a kernel of a function.

    Parameters
    ----------
    function : callable, optional
        Written with ``def``, in the dialect.  It can still be called by other kernels.
    signature : Signature, or ``void`` and the types of the arguments, optional
        ``void(float32[::1])``: it is compiled at once, and accepts no other types.  It may be text,
        ``"void(float32[::1])"``.  For a list of several, each is compiled at once, and others when
        they are needed.
    debug : bool, default False
        Whether every index is checked against the length of its axis, and ``assert`` and ``raise``
        are reported.
    races : bool, default False
        Whether races of threads are found, on the CPU and on the emulated driver; it includes
        `debug`.
    strict : bool, default False
        Whether shared arrays may be created in the entry block of the kernel only, as the
        specification has it.
    device : bool, default False
        Whether kernels call the function, and it is not launched; its signature is not used.
    inline : {"auto", "always", "never"}, default "auto"
        Where kernels call the function: "always" inserts its statements at each call, "never" calls
        it.  By default the first calls are inserted, and later ones call it; LLVM may inline it.
    fastmath : bool, default False
        Whether results of floats may differ in the last bits.  At present they do not.
    cache : bool, default True
        Whether the code is kept on disk, for later processes.
    opt : bool, default True
        Whether the code is optimised for speed; if not, it is compiled faster.
    max_registers : int, optional
        Registers of a thread on a GPU, at most (``.maxnreg`` of PTX).
    launch_bounds : int or tuple of int, optional
        Threads of a block, at most; blocks on a multiprocessor, at least; blocks of a cluster, at
        most (``.maxntid``, ``.minnctapersm`` and, from sm_90 on, ``.maxclusterrank`` of PTX).
    boundscheck : bool, default False
        The same as `debug`.
    lineinfo, link
        Refused: PTX is written without lines, and code of other compilers is not linked.

    Returns
    -------
    Kernel
        Or a decorator, if no function was given.

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
    options = read_options(
        device=device, inline=inline, fastmath=fastmath, cache=cache, opt=opt,
        max_registers=max_registers, launch_bounds=launch_bounds, lineinfo=lineinfo, link=link,
    )  # fmt: skip
    debug = debug or boundscheck

    def made(function: Callable[..., Any], signatures: Sequence[Signature] = ()) -> Kernel:
        only = signatures[0] if len(signatures) == 1 else None
        kernel = Kernel(function, only, debug=debug, races=races, strict=strict, options=options)
        for each in signatures[1:] and signatures:
            kernel.compile(*each.arguments)
        return kernel

    if len(given) == 1 and callable(given[0]) and not isinstance(given[0], _TYPES):
        return made(given[0])
    signatures = read_signatures(given, device=device)
    return lambda function: made(function, signatures)
