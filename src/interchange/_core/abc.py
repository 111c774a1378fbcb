"""The contract of a core: what both implementations, readable and native, offer.

Source: interchange.  A *core* turns addresses into memory: it consumes capsules and makes them.
``_ctypes`` does it in readable Python; a native twin does the same work in C.  Callers import
`interchange._core` and never a twin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from interchange._types.spec import Spec

    T = TypeVar("T", bound="Tensor")


class FastPath(Protocol):
    """The one type of producers that is asked without negotiation.

    Attributes
    ----------
    kind : type or None
        The type, compared by identity; None until it is known.
    """

    kind: type | None


class Tensor(Protocol):
    """One described block of memory, kept alive.

    Attributes
    ----------
    ptr : int
        Address of the first element, 0 for an empty array, or the handle on devices that have
        handles.
    _flags : int or None
        DLPack's flags; None when the producer could not say (a legacy capsule).
    _owner : object
        Who gave the memory, for people to read.
    _keepalive : object
        What must live as long as the memory is used.
    _make_capsule : callable
        ``_make_capsule(max_version=...)`` makes capsules of this memory; unset before the first
        export.
    _asked : tuple[int, int] or None
        The ``max_version`` of the last export, which was checked then; unset until the first.
    _pending_work : PendingWork
        Where work on the memory may be pending; unset where nothing is, as on the host.
    """

    _flags: int | None
    _owner: Any
    _keepalive: Any
    _make_capsule: Any
    _asked: tuple[int, int] | None
    _pending_work: Any

    @property
    def ptr(self) -> int:
        """Address of the first element."""

    @property
    def _spec(self) -> Spec:
        """What the memory holds."""


class Core(Protocol):
    """What every twin offers, besides ``Tensor``: a base class with the attributes above."""

    name: str
    """``"ctypes"`` or ``"native"``."""

    def consume_fresh_capsule(self, capsule: Any, source: object, cls: type[T], call: str) -> T:
        """Consume a capsule nobody else refers to, whose destructor is native code."""

    def consume_capsule(self, capsule: Any, source: object, cls: type[T], call: str) -> T:
        """Consume any capsule by the letter: claim, rename, clear the destructor, own."""

    def device_in_capsule(self, capsule: Any) -> int | None:
        """Return the device type that a capsule says, without consuming it."""

    def consume_managed_tensor(
        self, make: Callable[..., int], source: object, cls: type[T], call: str
    ) -> T | None:
        """Own the ``DLManagedTensorVersioned`` that ``make(source, out)`` makes, in no capsule.

        `make` is ``managed_tensor_from_py_object_no_sync`` of an exchange table.  None where it
        fails.
        """

    def release(self, tensor: Any) -> None:
        """Release the memory of a fresh import that nobody has seen, whoever refers to it."""

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

    def redescribe(self, target: Any, source: Any, flags: int | None) -> None:
        """Let a tensor that describes nothing yet describe what another does.

        It keeps the memory alive already.  Several threads may do so at once.
        """

    def exporter(self, tensor: Any, flags: int) -> Callable[..., Any]:
        """Return what makes capsules of the memory of `tensor`: ``f(max_version=...)``.

        It refers to what keeps the memory alive, and not to `tensor` itself.
        """

    def fast_import(
        self, cls: type[T], fast_path: FastPath, call: str
    ) -> Callable[[Callable[..., T]], Callable[..., T]]:
        """Decorate an import function: objects of the type in `fast_path` skip its body.

        Their memory is on the host, they know ``max_version`` and take no stream, and their
        capsules have native destructors and are never kept.
        """

    ALONE: int
    """Reference count of a capsule that only the asking function refers to."""
