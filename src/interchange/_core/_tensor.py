"""The Tensor of the ctypes core: a description of memory in slots.

Source: `interchange._core.core_protocol`; array API standard 2025.12, ``array.__dlpack__``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ._parsing import read_versioned

if TYPE_CHECKING:
    from typing import TypeVar

    from interchange._types.devices import Device
    from interchange._types.dtypes import DType
    from interchange._types.spec import Spec

    T = TypeVar("T", bound="Tensor")

_new_object: Final = object.__new__


class Tensor:
    """One described block of memory, kept alive.  See `interchange._core.core_protocol.Tensor`.

    What the memory holds is looked up at the first use, where the producer can be trusted to have
    described it well; `_fields` is what is known until then.
    """

    __slots__ = (
        "__weakref__",
        "_asked",
        "_fields",
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
    _fields: tuple[Any, ...] | None  # set where `_known` is None; None: `_describe` knows more
    _flags: int | None
    _owner: Any
    _keepalive: Any
    _library: Any  # unset until somebody computes with it
    _make_capsule: Any  # unset until the first export
    _asked: tuple[int, int] | None  # likewise
    _pending_work: Any  # unset on the host

    @property
    def _spec(self) -> Spec:
        return self._known or _look_up(self)

    def _describe(self) -> Spec:
        raise NotImplementedError("a Tensor is made with its description")

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each axis [elements]."""
        return (self._known or _look_up(self)).shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Step along each axis [elements]; may be negative or zero."""
        return (self._known or _look_up(self)).strides

    @property
    def dtype(self) -> DType:
        """Element type."""
        return (self._known or _look_up(self)).dtype

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return (self._known or _look_up(self)).device

    @property
    def ptr(self) -> int:
        """Address of the first element, 0 for an empty array; a handle on devices with handles."""
        if self._known is None:
            _look_up(self)
        return self._ptr

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a fresh capsule of the memory, as the standard describes."""
        if self._flags == 0 and stream is None and dl_device is None and copy is None:
            try:
                if max_version is self._asked:  # the same object as before, and checked then
                    return self._make_capsule(max_version=max_version)
            except AttributeError:
                pass  # the first export
        return self._export(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def _export(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        raise NotImplementedError("an Array checks what is asked for")

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return device type and id."""
        return self.device.__dlpack_device__()


def _look_up(tensor: Tensor) -> Spec:
    """Fill in what the memory holds, from the fields of its struct, or from who computed it."""
    fields = tensor._fields
    if fields is None:
        return tensor._describe()
    tensor._ptr, spec, _ = read_versioned(fields, "from_dlpack()")
    tensor._known = spec
    return spec


def describe(
    ptr: int, spec: Spec, flags: int | None, owner: object, keep: object, cls: type[T]
) -> T:
    """Return a tensor over memory that `keep` keeps alive; everything is checked before."""
    self = _new_object(cls)
    self._ptr = ptr
    self._known = spec
    self._flags = flags
    self._owner = owner
    self._keepalive = keep
    return self


def redescribe(target: Tensor, source: Tensor, flags: int | None) -> None:
    """Let a tensor that describes nothing yet describe what another does, which it keeps alive.

    Several threads may do so at once.  Each sets the same, and what says that all is there last.
    """
    target._ptr = source.ptr  # looked up, if it was not
    target._flags = flags
    work = getattr(source, "_pending_work", None)
    if work is not None:
        target._pending_work = work
    target._known = source._known


def computed(native: object, library: object, flags: int | None, cls: type[T]) -> T:
    """Return a tensor of what a library computed, which describes itself when somebody asks."""
    self = _new_object(cls)
    self._owner = self._keepalive = native
    self._library = library
    self._known = self._fields = None
    self._flags = flags
    return self


def array_type(cls: type[T]) -> type[T]:
    """Return the public class itself."""
    return cls
