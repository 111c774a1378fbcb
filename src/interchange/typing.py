"""Types for the annotations of programs that take arrays of any library.

At run time a protocol recognises its objects by their attributes; `AnyArray`, `AnyColumn` and
`AnyDevice` are `typing.Any`.
"""

from ._types.typing import (
    AnyArray,
    AnyColumn,
    AnyDevice,
    SupportsArray,
    SupportsArrayInterface,
    SupportsArrow,
    SupportsArrowDevice,
    SupportsArrowStream,
    SupportsCUDAArrayInterface,
    SupportsCUDAStream,
    SupportsDLPack,
    SupportsInterchange,
)

__all__ = [
    "AnyArray",
    "AnyColumn",
    "AnyDevice",
    "SupportsArray",
    "SupportsArrayInterface",
    "SupportsArrow",
    "SupportsArrowDevice",
    "SupportsArrowStream",
    "SupportsCUDAArrayInterface",
    "SupportsCUDAStream",
    "SupportsDLPack",
    "SupportsInterchange",
]
