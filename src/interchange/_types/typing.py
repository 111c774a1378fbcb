"""Protocols of the objects that come and go, for annotations.

Source: array API standard 2025.12 (``array.__dlpack__``); CUDA Array Interface version 3; NumPy
array interface; the ``__cuda_stream__`` protocol of cuda.core.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = [
    "PyCapsule",
    "SupportsArrayInterface",
    "SupportsCUDAArrayInterface",
    "SupportsCUDAStream",
    "SupportsDLPack",
    "SupportsInterchange",
]

PyCapsule = Any
"""A capsule: the type has no name in ``typing``."""


@runtime_checkable
class SupportsDLPack(Protocol):
    """An object that gives DLPack capsules."""

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> PyCapsule:
        """Return a fresh capsule of the memory."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return device type and id."""


@runtime_checkable
class SupportsCUDAArrayInterface(Protocol):
    """An object on a CUDA device that describes its memory by a dict."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The record."""


@runtime_checkable
class SupportsArrayInterface(Protocol):
    """An object on the host that describes its memory by a dict."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The record."""


@runtime_checkable
class SupportsCUDAStream(Protocol):
    """An object that stands for a CUDA stream."""

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the protocol's version, 0, and the handle."""


@runtime_checkable
class SupportsInterchange(Protocol):
    """An object that describes its memory as an `interchange.Array`."""

    def __interchange__(self) -> Any:
        """Return the memory as an Array."""
