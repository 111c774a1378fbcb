"""Verification of torch's stable C functions against attributes, before C uses them.

Source: torch 2.13, ``aoti_torch/c/shim.h``, ``torch.Tensor``; torch_fields.c, which calls them.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any, Final

from ._torch_bits import address_in_torch, is_proven

_RELEASE: Final = (
    "torch_python",
    "_ZN10THPPointerIN3c1011StorageImplEE4freeEv",
    "?free@?$THPPointer@UStorageImpl@c10@@@@AEAAXXZ",
)
_NUMPY_KINDS: Final = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}


def fields_are_right(extension: Any) -> bool:
    """Whether the functions are correct, outside of modes of torch."""
    return is_proven(functions_are_right, extension)


def functions_are_right(extension: Any) -> bool:
    """Whether fields of sample tensors are read, and their storages counted, correctly.

    Only the addresses of a tensor's implementation and storage, their ``_cdata``, are followed.
    """
    torch = sys.modules["torch"]
    functions = partial(address_in_torch, "torch_cpu"), address_in_torch(*_RELEASE)
    with torch.inference_mode(mode=False):
        samples = _samples(torch)
        return all(
            type(x) is torch.Tensor
            and extension.find_fields(x, x._cdata, x.untyped_storage()._cdata, *functions)
            and extension.fields_of_tensor(x) == _fields(x)
            for x in samples
        ) and all(_is_counted(x, torch, extension) for x in (samples[0], *_untouched(torch)))


def _samples(torch: Any) -> list[Any]:
    """Return tensors that differ in all fields."""
    block = torch.arange(24, dtype=torch.float64, device="cpu").reshape(2, 3, 4)
    numbers = [block.to(getattr(torch, name)) for name in ("bool", "uint8", "int16", "float32")]
    waves = torch.zeros(3, dtype=torch.complex64, device="cpu")
    return [block, block[1, :, ::2].T, block[0, 0, 0], *numbers, numbers[1][:, 1:], waves]


def _untouched(torch: Any) -> tuple[Any, ...]:
    """Return tensors whose storages have no Python object."""
    whole = torch.zeros(6, device="cpu")
    return torch.zeros(4, device="cpu"), whole, whole[2:]


def _is_counted(x: Any, torch: Any, extension: Any) -> bool:
    """Whether torch counts references that are taken and dropped here."""
    count = torch._C._storage_Use_Count
    for by_torch in (False, True):
        held = extension.hold_storage(x)
        after = count(held) if held else 0
        again = extension.hold_storage(x)
        if not held or again != held or count(held) != after + 1:
            return False
        extension.release_storage(held, by_torch)
        if count(held) != after:
            return False
        extension.release_storage(held, by_torch)
        if count(held) != after - 1 or after < 2:
            return False
    return True


def _fields(x: Any) -> tuple[Any, ...]:
    """Return the fields of a host tensor by its attributes."""
    plain = x.numpy().dtype
    kind = (_NUMPY_KINDS[plain.kind], 8 * plain.itemsize, 1)
    return x.data_ptr(), tuple(x.shape), x.stride(), kind, (1, 0)
