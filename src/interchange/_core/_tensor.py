"""The Tensor of the ctypes core: a description of memory in slots.

Source: `interchange._core.core_protocol`; array API standard 2025.12, ``array.__dlpack__``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from typing import TypeVar

    from interchange._types.devices import Device
    from interchange._types.dtypes import DType
    from interchange._types.spec import Spec

    T = TypeVar("T", bound="Tensor")

_new_object: Final = object.__new__


class Tensor:
    """A block of memory with its Spec, kept alive.

    Attributes
    ----------
    ptr : int
        Address of the first element, 0 for an empty array, or the handle on devices that have
        handles.
    shape, strides, dtype, device
        Those of `_spec`.
    _known : Spec or None
        `_spec`, or None while it is not known.
    _flags : int or None
        DLPack's flags; None if the producer has none (a legacy capsule).
    _owner : object
        The producer of the memory, for users.
    _keepalive : object
        Keeps the memory alive; views and exports share it.
    _library : tuple
        The backend and its array: see `interchange._array.native_arrays`; unset until the first
        computation.
    _pending_work : PendingWork
        The stream on which work may be pending; unset without pending work, as on the host.
    """

    __slots__ = (
        "__weakref__",
        "_flags",
        "_keepalive",
        "_known",
        "_library",
        "_make_capsule",
        "_owner",
        "_pending_work",
        "_ptr",
    )

    _ptr: int
    _known: Spec | None
    _flags: int | None
    _owner: Any
    _keepalive: Any
    _library: Any
    _make_capsule: Any  # unset until the first export
    _pending_work: Any

    @property
    def _spec(self) -> Spec:
        return self._known or self._describe()

    def _describe(self) -> Spec:
        """Call `redescribe`, and return the spec: defined by the public class."""
        raise NotImplementedError("a Tensor is made with its description")

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each axis [elements]."""
        return self._spec.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Step along each axis [elements]; may be negative or zero."""
        return self._spec.strides

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self._spec.dtype

    @property
    def device(self) -> Device:
        """Device of the memory."""
        return self._spec.device

    @property
    def ptr(self) -> int:
        """Address of the first element, 0 for an empty array; a handle on devices with handles."""
        if self._known is None:
            self._describe()
        return self._ptr

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a new capsule of the memory, as the standard describes."""
        return self._export(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def _export(self, *, stream: Any, max_version: Any, dl_device: Any, copy: Any) -> Any:
        """Return a capsule after checking all arguments: defined by the public class."""
        raise NotImplementedError("an Array checks what is asked for")

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return device type and id."""
        return self.device.__dlpack_device__()


def describe(
    ptr: int, spec: Spec, flags: int | None, owner: object, keep: object, cls: type[T]
) -> T:
    """Return a tensor of memory that `keep` keeps alive; all arguments were checked before."""
    self = _new_object(cls)
    self._ptr = ptr
    self._known = spec
    self._flags = flags
    self._owner = owner
    self._keepalive = keep
    return self


def redescribe(target: Tensor, source: Tensor, flags: int | None) -> None:
    """Give a tensor without a Spec the description of another, whose memory it keeps alive.

    Several threads may do so at once: each sets equal values, and `_known` last.
    """
    target._ptr = source.ptr
    target._flags = flags
    work = getattr(source, "_pending_work", None)
    if work is not None:
        target._pending_work = work
    target._known = source._known


def computed(native: object, library: object, flags: int | None, cls: type[T]) -> T:
    """Return a tensor of a computed result; `_describe` is called on first use."""
    self = _new_object(cls)
    self._owner = self._keepalive = native
    self._library = library
    self._known = None
    self._flags = flags
    return self


def array_type(cls: type[T]) -> type[T]:
    """Return the public class itself."""
    return cls
