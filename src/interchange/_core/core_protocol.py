"""The interface of a core, which `_ctypes` implements in Python and `_native` in C.

Source: the Python specification of DLPack; dlpack.h 1.3.  A core consumes capsules and managed
tensors, owns their memory, and makes new ones.  Other packages import `interchange._core`, and not
an implementation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal, TypeVar

    from interchange._types.spec import Spec
    from interchange.abi.arrow import ArrowColumn, ArrowField
    from interchange.abi.exchange import ExchangeTable

    from ._tensor import Tensor
    from .plans import Plan

    F = TypeVar("F", bound=Callable[..., Any])
    T = TypeVar("T", bound="Tensor")


class FastPath(Protocol):
    """How objects of known types may be imported.

    Attributes
    ----------
    kind : type or None
        The type whose objects are on the host, take no stream and support ``max_version``,
        compared by identity; None until it is known.
    """

    kind: type | None

    def route_of(self, cls: type) -> tuple[int, int]:
        """Return how `from_dlpack` may import objects of a type, and the address of its table.

        The first is a `interchange._protocols.capabilities.Route`; the second is 0 without a table.
        """

    def sharing_of(self, cls: type) -> int:
        """Return how `asarray` may import them: a `interchange._protocols.capabilities.Sharing`."""


class Launcher(Protocol):
    """Repeated launches of one kernel."""

    def connect(
        self,
        addresses: tuple[int, int, int, int, int, int],
        several: bool,
        events: dict[int, list[Any]],
        ready: dict[int, tuple[Any, ...]],
        /,
    ) -> None:
        """Launch on GPUs from now on, too.

        Parameters
        ----------
        addresses : tuple[int, int, int, int, int, int]
            Addresses of ``cuLaunchKernel``, ``cuCtxGetCurrent``, ``cuStreamIsCapturing``,
            ``cuEventRecord``, ``cuStreamWaitEvent`` and ``cuStreamSynchronize``.
        several : bool
            Whether there are several GPUs.
        events : dict[int, list]
            Context -> its unused events.
        ready : dict[int, tuple]
            Stream that was ordered before -> the list of its context, ...
        """

    def learn(self, target: tuple[Any, Any, Any], arguments: tuple[Any, ...], /) -> bool:
        """Repeat launches like this one from now on, if the table has room; False if it is empty.

        Parameters
        ----------
        target : tuple
            On a GPU: a dict, ordinal of a GPU -> handles of the function and of its context, ...,
            looked up at each launch; the ordinal; and None.  On the CPU: ``f(place)``, which raises
            the error of a launch; what keeps the code alive; and its address, with the sizes of
            ``work`` per block and per thread [bytes].
        arguments : tuple
            Pairs: an argument as the caller passed it, and an Array; or, for a number, its type,
            and kind and size [bytes] of the `interchange.cuda.types.ScalarType` that it is passed
            as.
        """

    def launch(self, configuration: tuple[Any, ...], arguments: tuple[Any, ...], /) -> int:
        """Launch the kernel if the arguments are like those of an earlier launch.

        Numbers have the same types and fit their parameters.  Arrays have the same dtype, device,
        number of axes, order, read-only flag and alignment to 8 bytes.  All work on an Array is on
        the stream of the launch, which belongs to its GPU, and whose use ends no capture; arrays of
        other libraries may name another stream of its context, which was ordered before.  On the
        CPU the grid is small.

        Returns 1 if it was launched; 2 if so, and the streams of its arrays could not be made to
        wait; 0 if nothing was done, also if the driver returned an error.
        """


class ArrowOwner(Protocol):
    """Owns one Arrow struct, and releases it once: on request, or when it is destroyed.

    It is hidden from the garbage collector.  The struct is never moved out of it.

    Attributes
    ----------
    address : int
        Address of the struct, which lives as long as the owner.
    """

    @property
    def address(self) -> int:
        """Address of the struct."""

    def release(self) -> None:
        """Release now, even if there are other references to the owner."""


class Core(Protocol):
    """The functions of a core, besides ``Tensor``, a base class with the attributes above."""

    name: str
    """``"ctypes"`` or ``"native"``."""

    # ------------------------------------------------------------ foreign memory

    def consume_capsule(self, capsule: Any, source: object, cls: type[T], call: str) -> T:
        """Consume a capsule strictly: claim it, rename it, clear its destructor, own its struct.

        The deleter is called once: when the last user is gone, or if the struct is refused.
        """

    def check_interpreter(self, call: str) -> None:
        """Refuse an interpreter in which deleters, which take the GIL, deadlock."""

    def consume_managed_tensor(
        self, table: ExchangeTable, source: object, cls: type[T], call: str
    ) -> T | None:
        """Own the ``DLManagedTensorVersioned`` that an exchange table makes, without a capsule.

        None if it makes none.
        """

    def device_in_capsule(self, capsule: Any) -> int | None:
        """Return the device type in a capsule, without consuming it."""

    def release(self, tensor: Any) -> None:
        """Release the memory of a new import, even if there are other references to it."""

    def fast_import(self, cls: type[T], fast_path: FastPath, call: str) -> Callable[[F], F]:
        """Decorate an import function: objects that need no negotiation may skip its body.

        The body handles all other objects and calls, and raises all errors, so that results, errors
        and rule ids are the same.
        """

    def fast_asarray(self, careful: F) -> F:
        """Decorate ``asarray`` likewise: objects are imported as `FastPath.sharing_of` says."""

    def fast_description(self, careful: F) -> F:
        """Decorate ``from_buffer`` or ``from_pointer``: usual calls may skip its body."""

    def fast_copies(self, careful: F) -> F:
        """Decorate ``copyto``: Arrays and ndarrays of one type on the host may skip its body."""

    def fast_columns(self, careful: F) -> F:
        """Decorate ``from_arrow`` likewise: columns of plain numbers may skip its body."""

    def use_columns(
        self,
        resume: Callable[..., Any],
        tensor_axes: Callable[[bytes, int], tuple[Any, Any]],
        methods: tuple[str, ...],
        method_of: Callable[[type], int],
    ) -> None:
        """Provide what reading columns takes.

        Parameters
        ----------
        resume : callable
            ``f(x, is_shared, *given)``: the rest of ``asarray(x)`` if it is shared, or else of
            ``from_arrow(x)``, after the producer was asked.  `given` are the fields of a
            `interchange._protocols.arrow.producers.Answer` or `Moved`.
        tensor_axes : callable
            ``f(parameters, size)``: the axes of a tensor of so many elements.
        methods : tuple[str, ...]
            The methods of Arrow that export memory.
        method_of : callable
            ``f(type)``: how objects of a type are exported.
        """

    def fast_checks(
        self, careful: Callable[..., T], plans: Sequence[Plan | None]
    ) -> Callable[..., T]:
        """Return a function of several arrays that may skip the body of `careful`.

        Parameters
        ----------
        careful : callable
            ``f(x, ...)``: imports one array, or several as a sequence; None stays None.  It raises
            if an array does not meet its contract.
        plans : sequence
            The `interchange._core.plans.Plan` of each argument, or None.
        """

    def learn_type(self, cls: type) -> None:
        """Learn how objects of a type are imported before the first of them is."""

    def log_exchanges(self, is_on: bool, /) -> None:
        """Leave all imports and exports to Python, which logs them, or stop that."""

    def fast_records(
        self,
        from_record: Callable[..., T],
        publish: Callable[..., Any],
        is_plain: Callable[[type], bool],
    ) -> Callable[[F], F]:
        """Decorate the import of CUDA records: those of known types may skip its body.

        Parameters
        ----------
        from_record : callable
            ``f(x, record, stream, answers)``: the rest of the body, after the attribute of `x` was
            read, and perhaps the driver called.
        publish : callable
            ``f(tensor, x, entries)``: the pending work of a record, made from its entries.
        is_plain : callable
            Whether the records of a type's objects need no correction.
        """

    # ------------------------------------------------------------ tensors

    def describe(
        self,
        ptr: int,
        spec: Spec,
        flags: int | None,
        owner: object,
        keep: object,
        cls: type[T],
    ) -> T:
        """Return a tensor of memory that `keep` keeps alive; the arguments were checked before."""

    def computed(self, native: object, library: object, flags: int | None, cls: type[T]) -> T:
        """Return a tensor of a computed result; its Spec is found on first use."""

    def fast_operator(
        self, name: str, direct: Callable[[Any, Any], Any], careful: F, is_reflected: bool
    ) -> F:
        """Return the method of an operator: `careful`, or a faster equivalent.

        Parameters
        ----------
        name : str
            Name of the standard's function.
        direct : callable
            The equivalent function of the module ``operator``: the entry `name` of a backend's
            ``operators`` if the backend computes by it.
        careful : callable
            The method in Python, which handles all other cases.
        is_reflected : bool
            Whether the array is the right operand.
        """

    def fast_function(
        self, name: str, careful: F, operands: int, host: Callable[[str], Any] | None = None
    ) -> F:
        """Return a function of Arrays and Python numbers: `careful`, or a faster equivalent.

        Parameters
        ----------
        name : str
            Name of the standard's function, whose result is a new array; or ``"__getitem__"``.
        careful : callable
            The function in Python, which handles all other cases.
        operands : int
            How many positional arguments the fast case has: 1 or 2, and no keywords.
        host : callable, optional
            Returns the backend of new arrays, for a function whose arguments are shapes.
        """

    def redescribe(self, target: Any, source: Any, flags: int | None) -> None:
        """Give a tensor without a Spec the description of another, whose memory it keeps alive.

        Several threads may do so at once.
        """

    def array_type(self, cls: type[T]) -> type[T]:
        """Return the public class with the methods of `cls`, which is a subclass of ``Tensor``."""

    # ------------------------------------------------------------ exports

    def make_capsule(self, tensor: Any, flags: int, *, versioned: bool) -> Any:
        """Return a new capsule of either generation, with these flags.

        It owns the object that keeps the memory alive, and not `tensor`.
        """

    def serve_c_callers(self) -> None:
        """Publish the C exchange table on the public class, if the core has one."""

    # ------------------------------------------------------------ Arrow

    def take_arrow(self, capsule: Any, name: bytes) -> ArrowOwner:
        """Move the struct out of a capsule of that name, which is left with a released struct.

        Of two threads that do so with one capsule, one succeeds.

        Raises
        ------
        BrokenRule
            It is not such a capsule (ARROW-CAP-1), or the struct was released or moved
            (ARROW-RELEASE-3).
        """

    def new_arrow(self, name: bytes) -> ArrowOwner:
        """Return the owner of a zeroed struct, of the kind in capsules of that name."""

    def call_stream(self, stream: Any, what: Literal["schema", "next"], out: Any) -> int:
        """Call ``get_schema`` or ``get_next`` of a stream without the GIL, and return its errno.

        If it is 0, `out` owns the result: a schema, or a chunk of the stream's kind, which is
        zeroed or released at the end of the stream.  Its previous struct is released.  A stream is
        used by one thread at a time.

        Raises
        ------
        BrokenRule
            The stream was released (ARROW-RELEASE-3), or lacks the function (ARROW-STREAM-1).
        TypeError
            `stream` does not own a stream, or `out` owns another kind of struct.
        """

    def take_chunks(self, stream: Any, chunks: list[Any]) -> int:
        """Add the owners of all further chunks of a stream to a list.

        A chunk without elements is released, unless the list is empty; the next chunk replaces it.
        After an exception, the list has the chunks that came before.

        Returns
        -------
        int
            0 at the end of the stream, or the errno of a call that failed.

        Raises
        ------
        BrokenRule
            As `call_stream`.
        """

    def plain_blocks(
        self, chunks: list[Any], each: tuple[int, ...], itemsize: int
    ) -> tuple[int, bytes] | None:
        """Return the rows of chunks, and the blocks of their values as `join_blocks` takes them.

        None if one of them is invalid, has nulls or a dictionary, or is not on the host, or if this
        core leaves it to Python.

        Parameters
        ----------
        chunks : list[ArrowOwner]
            The chunks of one column.
        each : tuple[int, ...]
            For each level of its type the number of elements of the next level, or values, per
            element.
        itemsize : int
            Size of a value [bytes].
        """

    def stream_error(self, stream: Any) -> str | None:
        """Return the last error of a stream, or None."""

    def make_arrow(
        self,
        field: ArrowField,
        column: ArrowColumn,
        keep: object,
        device: tuple[int, int, int] | None,
    ) -> tuple[Any, Any]:
        """Return a capsule of the schema and one of the array, or of the device array.

        Parameters
        ----------
        field : ArrowField
            The type.
        column : ArrowColumn
            The memory.
        keep : object
            Keeps the memory alive: dropped when all nodes were released, each of which may have
            been moved out.
        device : tuple[int, int, int], optional
            Device type, device id, and the address of the handle of the event that consumers wait
            for, or 0.

        Raises
        ------
        BackendUnavailableError
            This core has no native code for release callbacks (ARROW-CORE-1).
        """

    def make_arrow_schema(self, field: ArrowField) -> Any:
        """Return a capsule of the schema only."""

    def make_arrow_stream(
        self,
        field: ArrowField,
        column: ArrowColumn,
        keep: object,
        device: tuple[int, int, int] | None = None,
    ) -> Any:
        """Return a capsule of a stream of one chunk: see `make_arrow`."""

    def make_arrow_batches(self, field: ArrowField, step: Any, /) -> Any:
        """Return a capsule of a stream of chunks on the host, which are made one by one.

        Parameters
        ----------
        field : ArrowField
            The type.
        step : object
            Called for each chunk, on any thread: returns field, column and keep, as for
            `make_arrow`, or None at the end.  Its ``close()`` is called once: at the end, after an
            exception, or when the stream is released.
        """

    def scan_offsets(self, offsets: int, count: int, width: int) -> tuple[int, int, int, int]:
        """Check the lists between consecutive offsets on the host, in one pass.

        Parameters
        ----------
        offsets : int
            Address of one more offset than there are lists; it may be unaligned.
        count : int
            Number of lists, 1 or more.
        width : {4, 8}
            Size of an offset [bytes].

        Returns
        -------
        tuple[int, int, int, int]
            The first and the last offset; the length of each list, -1 if lengths differ; and -1.
            If a list starts below 0 or ends before its start: the offsets of the first such list,
            any number, and its index.
        """

    def scan_views(
        self, offsets: int, sizes: int, count: int, width: int
    ) -> tuple[int, int, int, int]:
        """Check lists that have an offset and a size each, likewise.

        Returns
        -------
        tuple[int, int, int, int]
            The lowest offset and the highest end; the length of each list if each starts at the
            end of the one before, otherwise -1; and -1.  If a number is negative or the end of a
            list overflows: offset and size of the first such list, any number, and its index.
        """

    def measure_views(
        self, views: int, count: int, bitmap: int, first: int, sizes: bytes, offsets: int
    ) -> int:
        """Write the offsets of texts that are in views, as int64 from 0 on.

        Parameters
        ----------
        views : int
            Address of the views, 16 bytes each, on the host.
        count : int
            Number of views.
        bitmap, first : int
            Address of the validity, 0 for none, and the bit of the first view.  Null texts are
            empty.
        sizes : bytes
            Sizes of the buffers, as int64.
        offsets : int
            Address for one more offset than there are views.

        Returns
        -------
        int
            The index of the first view that is not within the buffer it names; -1 for none.
        """

    def join_views(self, views: int, count: int, buffers: bytes, offsets: int, target: int) -> None:
        """Write texts one after the other, after `measure_views` wrote their offsets.

        `buffers`: addresses of the buffers, as uint64; `target`: address for the texts.
        """

    def shift_offsets(self, source: int, target: int, count: int, width: int, by: int) -> bool:
        """Write offsets plus a number to other memory; return whether all fit and none is negative.

        `source`, `target`: addresses; `count`: number of offsets; `width`: as in `scan_offsets`.
        """

    def pack_bits(self, source: int, count: int, out: int, /) -> int:
        """Write a bit for each byte, 0 for a byte of 0, and return how many are 1.

        Parameters
        ----------
        source, out : int
            Addresses on the host, of the bytes and of the bitmap.
        count : int
            Number of bytes.
        """

    def write_offsets(self, out: int, width: int, count: int, source: int, step: int, /) -> None:
        """Write offsets of a width: those of the other width at `source`, or multiples of `step`.

        Parameters
        ----------
        out : int
            Address on the host.
        width : int
            Size of an offset to be written [bytes].
        count : int
            Number of offsets.
        source : int
            Address of offsets of the other width (4 for 8, 8 for 4); 0 for none.
        step : int
            Difference of two offsets, if there is no source.
        """

    def plain_column(self, x: Any) -> tuple[Any, bytes] | None:
        """Return an Array of `x`, and a key for the type of the column that it is.

        None if that takes more than reading it: `x` is no Array or ndarray, exports are logged, or
        its elements are no numbers on the host, contiguous and aligned.
        """

    def arrow_type(self, field: ArrowField) -> ArrowOwner:
        """Return the owner of a schema that `export_plain` copies."""

    def export_plain(
        self, array: Any, schema: ArrowOwner, name: bytes, /
    ) -> tuple[Any, Any] | None:
        """Return what `make_arrow` does for an Array with a key, and the type of that key.

        `name`: of the capsule of the memory, which is on the host.

        None if work is pending, or exports are logged.
        """

    # ------------------------------------------------------------ elements on the host

    def copy_strided(
        self,
        shape: tuple[int, ...],
        itemsize: int,
        target: int,
        steps: tuple[int, ...],
        source: int,
        source_steps: tuple[int, ...],
        /,
    ) -> None:
        """Copy strided elements within host memory, as if the source were copied first.

        Parameters
        ----------
        shape : tuple[int, ...]
            Extents, 0 or more, of 64 axes at most [elements].
        itemsize : int
            Size of an element, 1 or more [bytes].
        target, source : int
            Addresses of the first elements; they may be unaligned.
        steps, source_steps : tuple[int, ...]
            Strides [elements].  No two elements of the target overlap.

        Raises
        ------
        MemoryError
            The memory may overlap, and there is no room for a copy of the source.
        """

    # ------------------------------------------------------------ bitmaps on the host

    def spread_bits(self, address: int, first: int, count: int, into: int) -> None:
        """Write a byte of 0 or 1 for each bit of a range of a bitmap.

        Parameters
        ----------
        address : int
            Address of the bitmap.
        first, count : int
            The range [bits].
        into : int
            Address of the bytes.
        """

    def count_bits(self, address: int, first: int, count: int) -> int:
        """Return how many bits of a range of a bitmap are 1."""

    def fill_zeros(
        self, address: int, first: int, count: int, into: int, each: int, item: bytes
    ) -> None:
        """Write `each` copies of an item for each bit that is 0; skip as many items for others.

        Parameters
        ----------
        address, first, count : int
            As for `spread_bits`.
        into : int
            Address of the items of the first bit.
        each : int
            Number of items per bit.
        item : bytes
            The bytes of one item.
        """

    def join_blocks(self, blocks: bytes, into: int) -> None:
        """Copy blocks of memory one after the other.

        Parameters
        ----------
        blocks : bytes
            Pairs of the address of a block and its size [bytes], as uint64.
        into : int
            Address of the first byte of the result, which overlaps no block.
        """

    # ------------------------------------------------------------ kernels

    def import_unordered(self, x: Any) -> Tensor | None:
        """Return an array by the exchange table of its type, without ordering.

        None if no table describes it correctly, or if this core leaves it to the ordinary import.
        The caller orders after the table's ``current_work_stream``.

        Parameters
        ----------
        x : object
            An array of any library.
        """

    def make_launcher(
        self,
        streams: dict[int, int],
        pending: type,
        on_consumer: type,
        ordered: type,
        host_stream: type,
    ) -> Launcher | None:
        """Return a launcher of one kernel; None if launches are made in Python.

        Parameters
        ----------
        streams : dict[int, int]
            Handle -> ordinal of its GPU.  If there are several GPUs, other streams are left to
            Python.
        pending, on_consumer : type
            Work of exactly these types is on its ``stream`` only; of `on_consumer` only if its
            ``origin`` is None.
        ordered : type
            Work of exactly this type is already ordered.
        host_stream : type
            Streams of exactly this type do nothing.
        """
