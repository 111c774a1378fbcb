"""Backends whose library speaks DLPack: views and descriptions by exchange.

Source: array API standard 2025.12, ``from_dlpack`` and ``array.__dlpack__`` (stream).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from interchange._protocols import dlpack
from interchange._streams.ordering import note_ready
from interchange._types.errors import CopyNeededError

from .backend import Backend

if TYPE_CHECKING:
    from interchange._core import Tensor

_CALL = "Array"


class DLPackBackend(Backend):
    """A library that takes DLPack and gives DLPack.

    Attributes
    ----------
    takes_negative_strides : bool
        Whether the library can describe axes that run backwards.
    """

    takes_negative_strides: ClassVar[bool] = True

    def import_tensor(self, tensor: Tensor) -> Any:
        """Return what the library makes of described memory."""
        raise NotImplementedError

    def stream(self) -> tuple[int | None, Any]:
        """Return the library's current stream, and what keeps it alive; None if it names none."""
        return None, None

    def view(self, tensor: Tensor) -> Any:
        """Return an array of the library over described memory.

        Raises
        ------
        CopyNeededError
            The library has no word for the layout (DLP-COPY-1).
        """
        if not self.takes_negative_strides and any(step < 0 for step in tensor._spec.strides):
            what = f"{self.name} has no negative strides"
            raise CopyNeededError(_CALL, what, "DLP-COPY-1", "take a copy, `x.contiguous()`")
        return self.import_tensor(_writable(tensor))

    def describe(self, native: Any, cls: type[Any]) -> Any:
        """Return an Array over an array of the library, ready on the library's stream."""
        handle, keep = self.stream()
        return dlpack.import_(
            native, cls, device=None, copy=None, stream=handle, keep=keep, call=_CALL
        )

    def note_written(self, array: Tensor) -> None:
        """Remember that work is pending on the library's stream."""
        handle, keep = self.stream()
        if handle is not None:
            note_ready(array, handle, keep, _CALL)


def _writable(tensor: Any) -> Any:
    """Return an alias that says it may be written, since legacy capsules have no other word.

    Arrays are written through their own checks alone, and libraries are asked for no other writes.
    """
    if tensor._flags == 0:
        return tensor
    alias = tensor.__copy__()
    alias._flags = 0
    return alias
