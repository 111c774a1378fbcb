"""Description of a block of memory without its address: element type, device and layout.

Source: dlpack.h, ``DLTensor`` less its pointer.  Arrays of the same form share one Spec.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .devices import Device
    from .dtypes import DType
    from .layout import Layout


class Spec:
    """Element type, device and layout of an array.  A value: never changed.

    `device`: where the memory is.
    `layout`: shape and strides [elements]; strides that lead to no element are changed to fit 64
        bits.
    `byte_offset`: where elements start after the address [bytes]; not 0 only on devices with
        handles.
    """

    __slots__ = ("byte_offset", "device", "dtype", "layout", "shape", "strides")

    def __init__(self, dtype: DType, device: Device, layout: Layout, byte_offset: int = 0) -> None:
        layout = layout.fitting(dtype.itemsize)
        self.dtype = dtype
        self.device = device
        self.layout = layout
        self.shape = layout.shape
        self.strides = layout.strides
        self.byte_offset = byte_offset

    @property
    def nbytes(self) -> int:
        """Size of the elements, without gaps between them [bytes]."""
        return self.dtype.nbytes(self.layout.size)

    def byte_bounds(self) -> tuple[int, int]:
        """Return where the bytes begin and end, from the first element, also if packed [bytes].

        Examples
        --------
        >>> from interchange import from_buffer
        >>> from_buffer(memoryview(bytes(12)).cast("B", (3, 4)))[::-1]._spec.byte_bounds()
        (-8, 4)
        """
        if self.dtype.is_packed:
            return 0, self.nbytes
        return self.layout.byte_bounds(self.dtype.itemsize)

    def has_element_at(self, offset: int) -> bool:
        """Whether the byte at this distance from the first one is part of an element [bytes].

        Conservative: it may be False for a byte of interlocking elements.

        Examples
        --------
        >>> from interchange import from_buffer
        >>> rows = from_buffer(memoryview(bytes(12)).cast("B", (3, 4)))[::-2, 1:3]._spec
        >>> [byte for byte in range(-12, 12) if rows.has_element_at(byte)]
        [-8, -7, 0, 1]
        """
        size = self.dtype.itemsize
        offset -= self.layout.byte_bounds(size)[0]
        steps = (abs(step) * size for step in self.strides)
        for step, extent in sorted(zip(steps, self.shape, strict=True), reverse=True):
            if step:
                offset -= step * max(0, min(offset // step, extent - 1))
        return 0 <= offset < size and self.layout.size > 0

    def with_layout(self, layout: Layout) -> Spec:
        """Return the same description with another layout."""
        return Spec(self.dtype, self.device, layout, self.byte_offset)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Spec):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.dtype, self.device, self.layout, self.byte_offset

    def __repr__(self) -> str:
        return (
            f"Spec({self.dtype}, {self.device}, shape={self.shape}, strides={self.strides},"
            f" byte_offset={self.byte_offset})"
        )
