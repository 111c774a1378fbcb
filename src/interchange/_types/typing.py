"""Protocols of the objects that interchange accepts and returns, for annotations.

Source: array API standard 2025.12 (``array.__dlpack__``); CUDA Array Interface version 3; NumPy
array interface; PEP 688; the ``__cuda_stream__`` protocol of cuda.core.  Libraries annotate these
methods differently; the types here are loose enough to accept their arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from typing_extensions import Buffer, CapsuleType

    from .devices import Device
else:
    Buffer = CapsuleType = Any  # not in the oldest supported Python

__all__ = [
    "AnyArray",
    "AnyColumn",
    "AnyDevice",
    "PyCapsule",
    "SupportsArray",
    "SupportsArrayInterface",
    "SupportsArrow",
    "SupportsArrowDevice",
    "SupportsArrowStream",
    "SupportsCUDAArrayInterface",
    "SupportsCUDAStream",
    "SupportsDLPack",
    "SupportsInterchange",
]

PyCapsule: TypeAlias = CapsuleType
"""A capsule."""


@runtime_checkable
class SupportsDLPack(Protocol):
    """An object that exports DLPack capsules.

    It has ``__dlpack_device__``, too, which not all libraries declare to type checkers.
    """

    @property
    def __dlpack__(self) -> Callable[..., Any]:
        """The method that returns a new capsule of the memory."""


@runtime_checkable
class SupportsCUDAArrayInterface(Protocol):
    """An object on a CUDA device that describes its memory by a dict."""

    @property
    def __cuda_array_interface__(self) -> Mapping[str, Any]:
        """The record."""


@runtime_checkable
class SupportsArrayInterface(Protocol):
    """An object on the host that describes its memory by a dict."""

    @property
    def __array_interface__(self) -> Mapping[str, Any]:
        """The record."""


@runtime_checkable
class SupportsArray(Protocol):
    """An object that converts itself to an ndarray."""

    @property
    def __array__(self) -> Callable[..., Any]:
        """The method that returns the ndarray."""


@runtime_checkable
class SupportsArrow(Protocol):
    """A column or a table in one chunk that exports itself to Arrow."""

    @property
    def __arrow_c_array__(self) -> Callable[..., Any]:
        """The method that returns the capsules of the schema and of the array."""


@runtime_checkable
class SupportsArrowDevice(Protocol):
    """Likewise, with memory on any device."""

    @property
    def __arrow_c_device_array__(self) -> Callable[..., Any]:
        """The method that returns the capsules of the schema and of the device array."""


@runtime_checkable
class SupportsArrowStream(Protocol):
    """A column or a table that exports itself to Arrow, chunk by chunk."""

    @property
    def __arrow_c_stream__(self) -> Callable[..., Any]:
        """The method that returns the capsule of a stream."""


@runtime_checkable
class SupportsCUDAStream(Protocol):
    """An object that represents a CUDA stream."""

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the protocol's version, 0, and the handle."""


@runtime_checkable
class SupportsInterchange(Protocol):
    """An object that describes its memory as an `interchange.Array`."""

    @property
    def __interchange__(self) -> Callable[[], Any]:
        """The method that returns the memory as an Array."""


class TorchDevice(Protocol):
    """A ``torch.device``."""

    @property
    def type(self) -> str:
        """Its kind."""

    @property
    def index(self) -> Any:
        """Its ordinal, or None."""


class JaxDevice(Protocol):
    """A ``jax.Device``."""

    @property
    def platform(self) -> str:
        """Its kind."""

    @property
    def local_hardware_id(self) -> Any:
        """Its ordinal, or None."""


class CoreDevice(Protocol):
    """A ``cuda.core.Device``."""

    @property
    def device_id(self) -> int:
        """Its ordinal."""


class SupportsDLPackDevice(Protocol):
    """An object that reports the device of its memory."""

    @property
    def __dlpack_device__(self) -> Callable[..., Any]:
        """The method that returns type and ordinal."""


if TYPE_CHECKING:
    AnyDevice: TypeAlias = (
        Device | str | tuple[int, int] | TorchDevice | JaxDevice | CoreDevice | SupportsDLPackDevice
    )
    AnyColumn: TypeAlias = (
        SupportsArrow
        | SupportsArrowDevice
        | SupportsArrowStream
        | CapsuleType
        | tuple[CapsuleType, CapsuleType]
    )
    AnyArray: TypeAlias = (
        SupportsDLPack
        | SupportsInterchange
        | SupportsCUDAArrayInterface
        | SupportsArrayInterface
        | SupportsArray
        | SupportsArrow
        | SupportsArrowDevice
        | SupportsArrowStream
        | Buffer
        | CapsuleType
    )
    AnyColumns: TypeAlias = (
        AnyArray
        | Mapping[str, "AnyColumns"]
        | tuple["AnyColumns", AnyArray]
        | tuple["AnyColumns", AnyArray, AnyArray]
        | list[AnyArray]
    )
    Scalar: TypeAlias = complex | np.number[Any] | np.bool
else:
    AnyArray = AnyColumn = AnyColumns = AnyDevice = Scalar = Any
"""What `interchange.asarray` accepts (`AnyArray`): memory in any of these forms, not a list."""


for _protocol in [one for one in vars().copy().values() if isinstance(one, type(Protocol))]:
    if _protocol.__module__ == __name__ and _protocol.__name__ in __all__:
        _protocol.__module__ = "interchange.typing"  # users import it from here
