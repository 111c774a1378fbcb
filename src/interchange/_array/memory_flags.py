"""`MemoryFlags`: the value of `Array.flags`, with the names of ``numpy.ndarray.flags``.

Source: NumPy 2.4, ``numpy.ndarray.flags``; CuPy 13, ``cupy.ndarray.flags``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

from .dtype_views import alignment_of

_SHORT: Final = {
    "C": "c_contiguous",
    "CONTIGUOUS": "c_contiguous",
    "F": "f_contiguous",
    "FORTRAN": "f_contiguous",
    "W": "writeable",
    "A": "aligned",
    "O": "owndata",
}
"""NumPy's other names of flags, for item access."""


@dataclass(frozen=True, repr=False)
class MemoryFlags:
    """Flags of the memory of an Array, as they were when `Array.flags` was read.

    Attributes
    ----------
    c_contiguous : bool
        The last axis runs fastest, without gaps.
    f_contiguous : bool
        The first axis runs fastest, without gaps.
    writeable : bool
        The memory is known to be writable.
    aligned : bool
        The address is a multiple of the alignment of an element in C.
    owndata : bool
        False: the memory belongs to `Array.owner`.

    Examples
    --------
    >>> import interchange as ix
    >>> flags = ix.asarray(b"abc").flags
    >>> flags.c_contiguous, flags["C_CONTIGUOUS"], flags["W"]
    (True, True, False)
    """

    c_contiguous: bool
    f_contiguous: bool
    writeable: bool
    aligned: bool
    owndata: bool = False

    def __getitem__(self, name: str, /) -> bool:
        """Return the flag of a name of NumPy, such as ``"C_CONTIGUOUS"``, ``"C"`` or ``"W"``."""
        for field in fields(self):
            if name == field.name.upper() or _SHORT.get(name) == field.name:
                return bool(getattr(self, field.name))
        names = ", ".join(repr(field.name.upper()) for field in fields(self))
        raise KeyError(f"Array.flags has no flag {name!r}; it has {names}")

    def __repr__(self) -> str:
        return "\n".join(f"  {one.name.upper()} : {self[one.name.upper()]}" for one in fields(self))


def flags_of(array: Any) -> MemoryFlags:
    """Return the flags of the memory of an Array."""
    spec = array._spec
    address = spec.byte_offset if spec.device.has_handles else array.ptr
    return MemoryFlags(
        c_contiguous=spec.layout.is_c_contiguous,
        f_contiguous=spec.layout.is_f_contiguous,
        writeable=array.readonly is False,
        aligned=not address % alignment_of(spec.dtype),
    )
