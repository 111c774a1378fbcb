"""Types for the annotations of programs that take arrays of any library.

Source: interchange.  At run time a protocol knows its objects by their attributes, `AnyArray` and
`AnyDevice` are `typing.Any`.
"""

from ._types.typing import (
    AnyArray,
    AnyDevice,
    SupportsArray,
    SupportsArrayInterface,
    SupportsCUDAArrayInterface,
    SupportsCUDAStream,
    SupportsDLPack,
    SupportsInterchange,
)

__all__ = [
    "AnyArray",
    "AnyDevice",
    "SupportsArray",
    "SupportsArrayInterface",
    "SupportsCUDAArrayInterface",
    "SupportsCUDAStream",
    "SupportsDLPack",
    "SupportsInterchange",
]
