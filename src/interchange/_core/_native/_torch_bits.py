"""Whether torch's own functions tell the bits of a tensor: tried before they are used.

Source: PyTorch, ``Tensor._cdata``, ``requires_grad``, ``is_neg`` and ``is_conj``.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from interchange._types.errors import NO_ROOM


def functions_are_right(extension: Any) -> bool:
    """Whether the bits of some tensors, with each and with none, are read as they are.

    An address is followed only where it is that of the tensor's implementation, which its
    attribute ``_cdata`` says.
    """
    torch: Any = sys.modules["torch"]
    make = partial(torch.zeros, 2, device="cpu")
    try:
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
    except NO_ROOM:
        raise
    except Exception:  # noqa: BLE001 - of a mode of torch's, under which tensors are others
        return False


def _is_right(tensor: Any, extension: Any) -> bool:
    """Whether the bits of a tensor are read as its attributes say."""
    if not extension.find_torch(tensor, tensor._cdata):
        return False
    bits = tensor.requires_grad or tensor.is_neg() or tensor.is_conj()
    return extension.torch_has_bits(tensor) is bool(bits)
