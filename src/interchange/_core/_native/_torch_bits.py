"""Whether torch's own functions tell the bits of a tensor: tried before they are used.

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
    """Whether a proof holds, here or in a new thread, in which no mode of torch's is entered.

    In a transform of ``torch.func`` or a mode of dispatch other tensors are made than outside.
    """
    found: list[bool] = []

    def try_out() -> None:
        try:
            found.append(proof(extension))
        except NO_ROOM:
            raise
        except Exception:  # noqa: BLE001 - of a mode of torch's, under which tensors are others
            found.append(False)

    try_out()
    if not found[0]:
        thread = Thread(target=try_out)
        try:
            thread.start()
        except RuntimeError:  # none is started any more, at exit
            return False
        thread.join()
    return found[-1]


def functions_are_right(extension: Any) -> bool:
    """Whether the bits of some tensors, with each and with none, are read as they are.

    An address is followed only where it is that of the tensor's implementation, which its
    attribute ``_cdata`` says.
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
    """Whether the bits of a tensor are read as its attributes say."""
    if not extension.find_torch(tensor, tensor._cdata):
        return False
    bits = tensor.requires_grad or tensor.is_neg() or tensor.is_conj()
    return extension.torch_has_bits(tensor) is bool(bits)
