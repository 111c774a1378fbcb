"""The contract of a core: what both implementations, readable and native, offer.

Source: the Python specification of DLPack; dlpack.h 1.3.  A *core* turns addresses
into memory: it consumes capsules and managed tensors, keeps their owners, and makes new ones.
``_ctypes`` does it in readable Python; ``_native`` does the same work in C.  Callers import
`interchange._core` and never a twin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal, TypeVar

    from interchange._types.devices import Device
    from interchange._types.dtypes import DType
    from interchange._types.spec import Spec
    from interchange.abi.arrow import ArrowColumn, ArrowField
    from interchange.abi.exchange import ExchangeTable

    from .plans import Plan

    F = TypeVar("F", bound=Callable[..., Any])
    T = TypeVar("T", bound="Tensor")


class FastPath(Protocol):
    """What is known of the types of producers that need no negotiation, or little.

    Attributes
    ----------
    kind : type or None
        The type whose objects are on the host, take no stream and know ``max_version``, compared
        by identity; None until it is known.
    """

    kind: type | None

    def route_of(self, cls: type) -> tuple[int, int]:
        """Return how objects of a type may be imported, and the address of its exchange table.

        The first is a `interchange._protocols.capabilities.Route`; the second 0 without a table.
        """

    def sharing_of(self, cls: type) -> int:
        """Return how they may be shared: a `interchange._protocols.capabilities.Sharing`."""


class Tensor(Protocol):
    """One described block of memory, kept alive.

    Attributes
    ----------
    ptr : int
        Address of the first element, 0 for an empty array, or the handle on devices that have
        handles.
    shape, strides, dtype, device
        Those of `_spec`.
    _known : Spec or None
        `_spec`, if somebody asked for it; None while it is not put together.
    _flags : int or None
        DLPack's flags; None when the producer could not say (a legacy capsule).
    _owner : object
        Who gave the memory, for people to read.
    _keepalive : object
        What must live as long as the memory is used; views and exports share it.
    _library : tuple
        What computes with the array, as `interchange._array.backing` keeps it; unset until
        somebody does.
    _pending_work : PendingWork
        Where work on the memory may be pending; unset where nothing is, as on the host.
    """

    ptr: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType
    device: Device
    _known: Spec | None
    _flags: int | None
    _owner: Any
    _keepalive: Any
    _library: Any
    _pending_work: Any

    @property
    def _spec(self) -> Spec:
        """What the memory holds; of what was `computed`, ``_describe()`` finds it out."""

    def _describe(self) -> Spec:
        """Call `redescribe`, and return the spec: defined by the public class."""

    def _export(self, *, stream: Any, max_version: Any, dl_device: Any, copy: Any) -> Any:
        """Return what ``__dlpack__`` is asked for, all checked: defined by the public class."""

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a fresh capsule; what the core does not answer itself it asks `_export` for."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return device type and id."""


class Launcher(Protocol):
    """Launches of one kernel that are like an earlier one."""

    def learn(self, loaded: dict[int, Any], ordinal: int, arguments: tuple[Any, ...], /) -> bool:
        """Do launches like this one from now on; whether there is room for one more.

        Parameters
        ----------
        loaded : dict[int, tuple]
            By the ordinal of a GPU; the first items are the handles of the function and of its
            context.  It is looked up for each launch.
        ordinal : int
            Of the GPU.
        arguments : tuple
            Those of the launch: an array of the public class; or, of a number, its type and what
            it is passed as: the kind of a `interchange.cuda.types.ScalarType` and its size [bytes].
        """

    def launch(self, configuration: tuple[Any, ...], arguments: tuple[Any, ...], /) -> bool:
        """Launch the kernel if the arguments are like those of an earlier launch.

        Numbers have the same types and fit what they are passed as.  Arrays have the same dtype,
        device, number of axes, order, permission to write and alignment to 8 bytes, and all work on
        them is on the stream of the launch, which is of their GPU, and whose use ends no capture.
        If not, or if the driver refuses, nothing happened.
        """


class ArrowOwner(Protocol):
    """Owns one struct of Arrow, and releases it once: when it is asked to, or when it dies.

    The collector of cyclic garbage does not see it.  Nobody moves the struct out of it.

    Attributes
    ----------
    address : int
        Of the struct, which is there as long as the owner is.
    """

    @property
    def address(self) -> int:
        """Address of the struct."""

    def release(self) -> None:
        """Release now, whoever else refers to the owner; what the struct says is gone."""


class Core(Protocol):
    """What every twin offers, besides ``Tensor``: a base class with the attributes above."""

    name: str
    """``"ctypes"`` or ``"native"``."""

    # ------------------------------------------------------------ memory of others

    def consume_capsule(self, capsule: Any, source: object, cls: type[T], call: str) -> T:
        """Consume any capsule by the letter: claim, rename, clear the destructor, own.

        The deleter is called once: when the last user is gone, or where the struct is refused.
        """

    def consume_fresh_capsule(self, capsule: Any, source: object, cls: type[T], call: str) -> T:
        """Consume a capsule nobody else refers to, whose destructor is native code.

        A core may let such a capsule own the memory, and need not rename it.
        """

    def check_interpreter(self, call: str) -> None:
        """Refuse where native code that asks for the GIL, as deleters do, never gets it."""

    ALONE: int
    """Reference count of a capsule that only the asking function refers to; -1: never looked at."""

    def consume_managed_tensor(
        self, table: ExchangeTable, source: object, cls: type[T], call: str
    ) -> T | None:
        """Own the ``DLManagedTensorVersioned`` that an exchange table makes, in no capsule.

        None where it makes none.
        """

    def device_in_capsule(self, capsule: Any) -> int | None:
        """Return the device type that a capsule says, without consuming it."""

    def release(self, tensor: Any) -> None:
        """Release the memory of a fresh import that nobody has seen, whoever refers to it."""

    def fast_import(self, cls: type[T], fast_path: FastPath, call: str) -> Callable[[F], F]:
        """Decorate an import function: what needs no negotiation may skip its body.

        What is unusual, in the object or in the call, is left to the body, and so are the words of
        refusals: the result is the same, and so are errors and rule ids.
        """

    def fast_asarray(self, careful: F) -> F:
        """Decorate ``asarray``, likewise: a type is shared as `FastPath.sharing_of` says."""

    def fast_checks(
        self, careful: Callable[..., T], plans: Sequence[Plan | None]
    ) -> Callable[..., T]:
        """Return a function of several arrays, of which some may skip the body of `careful`.

        Parameters
        ----------
        careful : callable
            ``f(x, ...)``: of one array its import, of several a sequence of them; None stays None.
            It raises where one does not meet its contract.
        plans : sequence
            For each the `interchange._core.plans.Plan`, or None.
        """

    def fast_records(
        self,
        from_record: Callable[..., T],
        publish: Callable[..., Any],
        is_plain: Callable[[type], bool],
    ) -> Callable[[F], F]:
        """Decorate the import of CUDA records: those whose like was imported may skip its body.

        Parameters
        ----------
        from_record : callable
            ``f(x, record, stream, answers)``, the rest of the body once the attribute of `x` was
            read, and perhaps the driver asked.
        publish : callable
            ``f(tensor, x, said)``, the pending work that the entries of a record tell of.
        is_plain : callable
            Whether the records of a type's objects need no mending.
        """

    # ------------------------------------------------------------ memory that is described

    def describe(
        self,
        ptr: int,
        spec: Spec,
        flags: int | None,
        owner: object,
        keep: object,
        cls: type[T],
    ) -> T:
        """Return a tensor over memory that `keep` keeps alive; everything is checked before."""

    def computed(self, native: object, library: object, flags: int | None, cls: type[T]) -> T:
        """Return a tensor of what a library computed, which describes itself when asked."""

    def fast_operator(
        self, name: str, direct: Callable[[Any, Any], Any], careful: F, is_reflected: bool
    ) -> F:
        """Return an operator's method: `careful`, or what does the same and is faster.

        Parameters
        ----------
        name : str
            The function of the standard that it does.
        direct : callable
            The function of the module ``operator`` with that meaning: what a backend has in its
            ``operators`` under `name` if it computes so.
        careful : callable
            The method in Python, which does whatever is not ordinary.
        is_reflected : bool
            Whether the array is the operand on the right.
        """

    def redescribe(self, target: Any, source: Any, flags: int | None) -> None:
        """Let a tensor that describes nothing yet describe what another does.

        It keeps the memory alive already.  Several threads may do so at once.
        """

    def array_type(self, cls: type[T]) -> type[T]:
        """Return the public class with the methods of `cls`, which is a subclass of ``Tensor``."""

    # ------------------------------------------------------------ capsules of ours

    def make_capsule(self, tensor: Any, flags: int, *, versioned: bool) -> Any:
        """Return a fresh capsule of either generation, which says these flags.

        It owns what keeps the memory alive, and not `tensor` itself.
        """

    def answer_again(self, tensor: Any, max_version: tuple[int, int] | None) -> None:
        """Take note: what was asked with this `max_version` alone may be answered without a look.

        So it is for memory of the host, which nobody is at work on, until its flags change.
        """

    def serve_c_callers(self) -> None:
        """Publish on the public class what C callers use, if there is something."""

    # ------------------------------------------------------------ structs of Arrow

    def take_arrow(self, capsule: Any, name: bytes) -> ArrowOwner:
        """Move the struct out of a capsule of that name; the capsule is left with a released one.

        Of two threads that take from one capsule, one wins.

        Raises
        ------
        BrokenRule
            It is no such capsule (ARROW-CAP-1), or the struct was released or taken
            (ARROW-RELEASE-3).
        """

    def new_arrow(self, name: bytes) -> ArrowOwner:
        """Return the owner of a struct that is all zero, of the kind in capsules of that name."""

    def call_stream(self, stream: Any, what: Literal["schema", "next"], out: Any) -> int:
        """Call ``get_schema`` or ``get_next`` of a stream without the GIL, and return its errno.

        Where it is 0, `out` owns what came: a schema, or a chunk of the stream's kind, which is all
        zero, or released, at the end.  What it owned before is released.  One thread at a time uses
        a stream.

        Raises
        ------
        BrokenRule
            The stream was released (ARROW-RELEASE-3), or lacks the function (ARROW-STREAM-1).
        TypeError
            `stream` owns no stream, or `out` owns what such a stream does not give.
        """

    def stream_error(self, stream: Any) -> str | None:
        """Return what a stream says of its last error, None where it says nothing."""

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
            What keeps it alive: let go when all nodes were released, each of which may have been
            moved out.
        device : tuple[int, int, int], optional
            Device type, device id, and the address of the handle of the event that consumers wait
            for, or 0.

        Raises
        ------
        BackendUnavailableError
            This core has no native code for release callbacks (ARROW-CORE-1).
        """

    def make_arrow_schema(self, field: ArrowField) -> Any:
        """Return a capsule of the schema alone."""

    def make_arrow_stream(
        self,
        field: ArrowField,
        column: ArrowColumn,
        keep: object,
        device: tuple[int, int, int] | None = None,
    ) -> Any:
        """Return a capsule of a stream that gives one chunk, as `make_arrow` has it."""

    # ------------------------------------------------------------ kernels

    def import_unordered(self, x: Any) -> Tensor | None:
        """Return an array by the exchange table of its type, ordered after nothing.

        None where there is no table that can be trusted for it, or where this core leaves it to the
        ordinary import.  The caller orders: ``current_work_stream`` of the table says after what.

        Parameters
        ----------
        x : object
            Of any library.
        """

    def make_launcher(
        self,
        calls: tuple[int, int, int],
        streams: dict[int, int],
        pending: type,
        on_consumer: type,
        ordered: type,
    ) -> Launcher | None:
        """Return what repeats launches of a kernel; None where Python does it.

        Parameters
        ----------
        calls : tuple[int, int, int]
            Addresses of ``cuLaunchKernel``, of ``cuStreamIsCapturing``, which is asked of the
            legacy default stream, and of ``cuCtxGetCurrent``; that is 0 where there is one GPU.
        streams : dict[int, int]
            Handle -> ordinal of its GPU.  A stream that is not in it is left to Python where there
            are several GPUs.
        pending, on_consumer : type
            Work of exactly these types is on its ``stream``, and nobody asks to be told of more; of
            `on_consumer` where its ``origin`` is None.
        ordered : type
            Work of exactly this type need not be waited for.
        """
