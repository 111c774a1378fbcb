"""Open DLPack capsules: the fields of the struct, the memory, and consumption.

Source: dlpack.h 1.3; DLPack Python specification.  The struct is read as it is, without validation,
which the checks do.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from typing import Any, Final

from interchange.abi import capsules
from interchange.abi.dlpack import (
    DLPACK_FLAG_BITMASK_IS_COPIED,
    DLPACK_FLAG_BITMASK_READ_ONLY,
    DLManagedTensor,
    DLManagedTensorVersioned,
)
from interchange_conformance.findings import Found
from interchange_conformance.zoo.memory import c_strides

Ints = tuple[int, ...]

_MOST_AXES: Final = 1024  # limit for a corrupt ndim


class OpenedCapsule:
    """A capsule and the struct in it.

    Parameters
    ----------
    capsule : object
        The return value of ``__dlpack__``.

    Attributes
    ----------
    capsule : object
        The capsule; referenced until `consume`, or as long as this object exists.
    name : bytes
        Its name when it was opened.
    managed : DLManagedTensor or DLManagedTensorVersioned
        The struct.
    address : int
        Address of the struct.

    Raises
    ------
    Found
        The object is not a capsule, or its name is not that of a tensor.
    """

    def __init__(self, capsule: object) -> None:
        if type(capsule) is not capsules.PyCapsule:
            raise Found(f"__dlpack__() returned {capsule!r:.200}, which is no PyCapsule")
        name = capsules.capsule_name(capsule)
        if name not in capsules.USED_NAME:
            raise Found(f"the capsule is named {name!r}, which is neither of the two names")
        self.capsule: Any = capsule
        self.name: bytes = name
        self.address: int = int(capsules.capsule_pointer(capsule, name))
        struct = DLManagedTensorVersioned if self.versioned else DLManagedTensor
        self.managed: DLManagedTensor | DLManagedTensorVersioned = struct.from_address(self.address)

    # ------------------------------------------------------------ the fields of the struct

    @property
    def versioned(self) -> bool:
        """Whether it is the struct of DLPack 1.0 and newer."""
        return self.name == capsules.VERSIONED

    @property
    def version(self) -> tuple[int, int] | None:
        """Major and minor; None for the legacy struct."""
        said = getattr(self.managed, "version", None)
        return None if said is None else (said.major, said.minor)

    @property
    def flags(self) -> int:
        """The flag bits; 0 for the legacy struct."""
        return int(getattr(self.managed, "flags", 0))

    @property
    def readonly(self) -> bool:
        """Whether the struct marks the memory read-only."""
        return bool(self.flags & DLPACK_FLAG_BITMASK_READ_ONLY)

    @property
    def copied(self) -> bool:
        """Whether the struct marks the memory as a copy made for the consumer."""
        return bool(self.flags & DLPACK_FLAG_BITMASK_IS_COPIED)

    @property
    def tensor(self) -> Any:
        """The ``DLTensor``."""
        return self.managed.dl_tensor

    @property
    def device(self) -> tuple[int, int]:
        """Type and id."""
        return self.tensor.device.device_type, self.tensor.device.device_id

    @property
    def dtype(self) -> tuple[int, int, int]:
        """Code, bits and lanes."""
        dtype = self.tensor.dtype
        return dtype.code, dtype.bits, dtype.lanes

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return int(self.tensor.ndim)

    @property
    def shape(self) -> Ints | None:
        """Extents [elements], or None for NULL."""
        return self._vector(self.tensor.shape)

    @property
    def strides(self) -> Ints | None:
        """Strides [elements], or None for NULL."""
        return self._vector(self.tensor.strides)

    @property
    def data(self) -> int | None:
        """The data address, or None for NULL."""
        return None if self.tensor.data is None else int(self.tensor.data)

    @property
    def first(self) -> int:
        """Address of the first element; 0 where data is NULL."""
        return (self.data or 0) + int(self.tensor.byte_offset)

    @property
    def deleter(self) -> int | None:
        """Address of the deleter, or None for NULL."""
        address: int | None = self.managed.deleter
        return address

    def _vector(self, pointer: Any) -> Ints | None:
        """Return the values of an int64 vector; () if there are no axes."""
        if not 0 <= self.ndim <= _MOST_AXES:
            raise Found(f"ndim is {self.ndim}")
        if not self.ndim:
            return ()
        return tuple(pointer[axis] for axis in range(self.ndim)) if pointer else None

    # ------------------------------------------------------------ the contents of the memory

    @property
    def itemsize(self) -> int:
        """Size of one element [bytes]."""
        _, bits, lanes = self.dtype
        return max(1, -(-bits * lanes // 8))

    @property
    def nbytes(self) -> int:
        """Size of all elements [bytes]."""
        return math.prod(self.shape or ()) * self.itemsize

    def addresses(self) -> list[int]:
        """Return the address of every element, in C order."""
        shape = self.shape or ()
        strides = self.strides if self.strides is not None else c_strides(shape)
        steps = [step * self.itemsize for step in strides]
        return [
            self.first + sum(i * step for i, step in zip(index, steps, strict=True))
            for index in itertools.product(*map(range, shape))
        ]

    def read(self) -> list[bytes]:
        """Return the bytes of every element, in C order, from host-accessible memory."""
        return [ctypes.string_at(address, self.itemsize) for address in self.addresses()]

    def write(self, elements: list[bytes]) -> None:
        """Write the bytes of every element, in C order, regardless of the flags."""
        for address, element in zip(self.addresses(), elements, strict=True):
            ctypes.memmove(address, element, len(element))

    # ------------------------------------------------------------ consuming

    @property
    def name_now(self) -> bytes | None:
        """The present name of the capsule."""
        name: bytes | None = capsules.capsule_name(self.capsule)
        return name

    def consume(self) -> ConsumedTensor:
        """Consume the tensor according to DLP-CAP-5; the capsule is dropped."""
        capsules.rename_capsule(self.capsule, capsules.USED_NAME[self.name])
        capsules.set_capsule_destructor(self.capsule, None)
        self.capsule = None
        return ConsumedTensor(self.address, self.deleter)


class ConsumedTensor:
    """A consumed tensor, to be released once.

    Attributes
    ----------
    address : int
        Of the struct.
    deleter : int or None
        Address of its deleter.
    """

    address: int
    deleter: int | None

    def __init__(self, address: int, deleter: int | None) -> None:
        self.address, self.deleter = address, deleter

    def release(self) -> None:
        """Call the deleter, if there is one, with the GIL held."""
        if self.deleter:
            capsules.Deleter(self.deleter)(self.address)
