"""Verification of torch's functions that read bits of a tensor, before C uses them.

Source: PyTorch, ``Tensor._cdata``, ``requires_grad``, ``is_neg`` and ``is_conj``.
"""

from __future__ import annotations

import sys
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any

from interchange._types.errors import NO_ROOM

if TYPE_CHECKING:
    from collections.abc import Callable


def is_proven(proof: Callable[[Any], bool], extension: Any) -> bool:
    """Whether a check succeeds, here or in a new thread, in which no mode of torch is active.

    In a transform of ``torch.func`` or a dispatch mode, new tensors are of other types.
    """
    found: list[bool] = []

    def try_out() -> None:
        try:
            found.append(proof(extension))
        except NO_ROOM:
            raise
        except Exception:  # noqa: BLE001 - modes of torch raise anything
            found.append(False)

    try_out()
    if not found[0]:
        thread = Thread(target=try_out)
        try:
            thread.start()
        except RuntimeError:  # no thread can be started at exit
            return False
        thread.join()
    return found[-1]


def functions_are_right(extension: Any) -> bool:
    """Whether the bits of sample tensors, with each bit and with none, are read correctly.

    Only the address of a tensor's implementation, its attribute ``_cdata``, is followed.
    """
    torch: Any = sys.modules["torch"]
    make = partial(torch.zeros, 2, device="cpu")
    turned, learning = make(dtype=torch.complex64).conj(), make(requires_grad=True)
    samples = (
        make(),
        make(dtype=torch.int64),
        make(dtype=torch.complex64),
        learning,
        learning.detach(),
        learning * 2,
        turned,
        turned.imag,
    )
    return all(type(x) is torch.Tensor and _is_right(x, extension) for x in samples)


def _is_right(tensor: Any, extension: Any) -> bool:
    """Whether the bits of a tensor equal its attributes."""
    if not extension.find_torch(tensor, tensor._cdata):
        return False
    bits = tensor.requires_grad or tensor.is_neg() or tensor.is_conj()
    return extension.torch_has_bits(tensor) is bool(bits)
