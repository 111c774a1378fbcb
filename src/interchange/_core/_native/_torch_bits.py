"""Verification of torch's functions that read bits of a tensor, before C uses them.

Source: PyTorch, ``Tensor._cdata``, ``requires_grad``, ``is_neg`` and ``is_conj``.
"""

from __future__ import annotations

import sys
from functools import cache, partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import NO_ROOM
from interchange.abi._loaded import address_in, file_name, loaded_library

if TYPE_CHECKING:
    from collections.abc import Callable

_FUNCTIONS: Final = (
    ("c10", "_ZNK3c1010TensorImpl13requires_gradEv", "?requires_grad@TensorImpl@c10@@QEBA_NXZ"),
    (
        "torch_cpu",
        "_ZN2at6native6is_negERKNS_6TensorE",
        "?is_neg@native@at@@YA_NAEBVTensor@2@@Z",
    ),
    (
        "torch_cpu",
        "_ZN2at6native7is_conjERKNS_6TensorE",
        "?is_conj@native@at@@YA_NAEBVTensor@2@@Z",
    ),
)
"""Library, and names by the C++ ABIs of Itanium and of Microsoft."""


@cache
def address_in_torch(library: str, name: str, on_windows: str | None = None) -> int:
    """Return the address of a function of a library of torch, 0 where there is none.

    On macOS a library is found by its path only.
    """
    file = file_name(library)
    folder = Path(sys.modules["torch"].__file__ or "").parent / "lib"
    found = loaded_library(file) or loaded_library(str(folder / file))
    if on_windows is not None and sys.platform == "win32":
        name = on_windows
    return 0 if found is None else address_in(found, name)


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
    functions = [address_in_torch(*each) for each in _FUNCTIONS]
    if not extension.find_torch(tensor, tensor._cdata, *functions):
        return False
    bits = tensor.requires_grad or tensor.is_neg() or tensor.is_conj()
    return extension.torch_has_bits(tensor) is bool(bits)
