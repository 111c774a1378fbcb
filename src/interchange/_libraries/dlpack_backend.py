"""Backends whose library supports DLPack: views and descriptions by exchange.

Source: array API standard 2025.12, ``from_dlpack`` and ``array.__dlpack__`` (stream).
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, ClassVar, Final
from weakref import ref

from interchange._protocols import dlpack
from interchange._streams.ordering import note_consumer
from interchange._streams.pending import pending_work_of, without_stream
from interchange._streams.rules import STREAM_RULES
from interchange._streams.write_back import order_users
from interchange._types.errors import CopyNeededError

from .backend import Backend

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from interchange._core import Tensor

_CALL = "Array"
_given: Final = threading.local()
"""``arrays``: the arrays passed to a library since the last `_note_used` of the thread."""


class DLPackBackend(Backend):
    """A library that imports and exports DLPack."""

    takes_negative_strides: ClassVar[bool] = True  # whether the library supports negative strides
    _uses_streams: ClassVar[bool] = True

    def import_tensor(self, tensor: Tensor) -> Any:
        """Return an array of the library over described memory."""
        raise NotImplementedError

    def stream(self) -> tuple[int | None, Any]:
        """Return the library's current stream, and what keeps it alive; None if it names none."""
        return None, None

    def view(self, tensor: Tensor) -> Any:
        """Return an array of the library over described memory.

        Raises CopyNeededError: the library does not support the layout (DLP-COPY-1).
        """
        if not self.takes_negative_strides and any(step < 0 for step in tensor._spec.strides):
            what = f"{self.name} has no negative strides"
            raise CopyNeededError(_CALL, what, "DLP-COPY-1", "take a copy, `x.contiguous()`")
        native = self.import_tensor(_writable(tensor))
        if pending_work_of(tensor) is not None:
            _given.arrays = [*_without(tensor, getattr(_given, "arrays", ())), ref(tensor)]
        return native

    def describe(self, native: Any, cls: type[Any]) -> Any:
        """Return an Array over an array of the library, ready on the library's stream."""
        handle, keep = self.stream()
        return dlpack.import_(
            native, cls, device=None, copy=None, stream=handle, keep=keep, call=_CALL
        )

    def _note_used(self) -> None:
        """Make streams that used the memory wait for the library's stream, if it has one."""
        given = _given.__dict__.pop("arrays", None)
        handle = None if given is None else self.stream()[0]
        if given is None or handle is None:
            return
        for find in given:
            array = find()
            if array is not None:
                order_users(array, handle, _CALL)

    def note_written(self, array: Tensor) -> None:
        """Record that work is pending on the library's stream."""
        self._note_used()
        handle, keep = self.stream()
        if handle is not None and array._spec.device.type in STREAM_RULES:
            earlier = without_stream(pending_work_of(array), handle)
            note_consumer(array, handle, keep, _CALL, earlier)


def _without(tensor: Tensor, given: Iterable[ref[Any]]) -> Iterator[ref[Any]]:
    """Return the arrays that still exist, except one."""
    for find in given:
        array = find()
        if array is not None and array is not tensor:
            yield find


def _writable(tensor: Any) -> Any:
    """Return an alias that is not marked read-only, since legacy capsules cannot be.

    Arrays are written only through their own checks, and libraries are not used for other writes.
    """
    if tensor._flags == 0:
        return tensor
    alias = tensor.__copy__()
    alias._flags = 0
    return alias
