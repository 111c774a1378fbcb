"""Types for the annotations of programs that take arrays of any library.

Source: interchange.  At run time a protocol knows its objects by their attributes, and `AnyArray`
is `typing.Any`.
"""

from ._types.typing import (
    AnyArray,
    SupportsArray,
    SupportsArrayInterface,
    SupportsCUDAArrayInterface,
    SupportsCUDAStream,
    SupportsDLPack,
    SupportsInterchange,
)

__all__ = [
    "AnyArray",
    "SupportsArray",
    "SupportsArrayInterface",
    "SupportsCUDAArrayInterface",
    "SupportsCUDAStream",
    "SupportsDLPack",
    "SupportsInterchange",
]
