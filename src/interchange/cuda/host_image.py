"""The image that the emulated driver loads instead of PTX: the address of host code.

Source: the guide "Test without a GPU" (images of host code).
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Final

from .types import ArrayType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .ir import Program
    from .llvm.compiled import HostKernel
    from .types import ScalarType

_FORMAT: Final = "emucuda host code 2"


def host_image(kernel: HostKernel, outside: Mapping[str, int], *, has_status: bool) -> bytes:
    """Return the image of a kernel, which must be kept as long as the image is loaded.

    `outside` has the addresses that its code takes by name; with a status, the driver stores a
    divergent barrier in the report.
    """
    program = kernel.program
    entry = ctypes.cast(kernel.run, ctypes.c_void_p).value
    where = outside["report"] if has_status else 0
    words = [
        f"{program.name} {entry:#x} {program.shared_bytes} {kernel.frame_size} {where:#x}",
        *(
            f"p{outside[piece.name]:#x}" if piece.name else f"w{piece.per_block}:{piece.per_thread}"
            for piece in kernel.pieces
        ),
        *(_parameter(program, place, type_) for place, type_ in enumerate(program.arguments)),
    ]
    return f"{_FORMAT}\n{' '.join(words)}\n".encode() + b"\0"


def _parameter(program: Program, place: int, type_: ScalarType | ArrayType) -> str:
    """Return a parameter: ``v8`` is a number of 8 bytes, ``a4:2:rw`` an array of two axes."""
    if not isinstance(type_, ArrayType):
        return f"v{type_.itemsize}"
    access = "r" * (place in program.reads) + "w" * (place in program.writes)
    return f"a{type_.element.itemsize}:{type_.ndim}:{access or '-'}"
