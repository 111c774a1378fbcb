"""An honest consumer of buffers and of objects with the array interface.

Source: PEP 3118; NumPy array interface, version 3.  Imported memory is handled as in
`_honest_consumer`.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import parse_record
from interchange.abi.buffers import buffer_address
from interchange.abi.dlpack import DLPACK_FLAG_BITMASK_READ_ONLY
from interchange_conformance.zoo.memory import c_strides
from interchange_conformance.zoo.structs import Description

from ._honest_consumer import FORMATS, Consumer, itemsize, subject_of
from .model import mutant, replacing

if TYPE_CHECKING:
    from interchange.abi import InterfaceRecord, TypeStr
    from interchange_conformance.subject import Subject

    from ._honest_consumer import Array, Element, Ints

NATIVE: Final = "<" if sys.byteorder == "little" else ">"
_CODES: Final = {
    "?": 6,
    **dict.fromkeys("bhilqn", 0),
    **dict.fromkeys("BHILQN", 1),
    **dict.fromkeys("efd", 2),
}
"""Letter of a format -> code of the element type."""
_KINDS: Final = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}
"""Kind of a typestr -> code of the element type."""


class HostConsumer(Consumer):
    """The steps of an import of host memory by buffer or record."""

    # ------------------------------------------------------------ buffers

    def take_buffer(self, x: Any) -> Array:
        """Return an array over the memory of an object with a buffer."""
        view = memoryview(x)
        self.check_suboffsets(view)
        element = self.element_in(view.format, view.itemsize)
        shape = tuple(view.shape or ())
        strides = self.steps(view.strides or (), shape, itemsize(element))
        first = buffer_address(view)
        flags = self.flags_for(readonly=view.readonly)
        return self.described(shape, strides, element, first, flags, self.owner_of_buffer(view))

    def check_suboffsets(self, view: memoryview) -> None:
        """Refuse separate rows (BUF-SUBOFFSETS-1)."""
        if view.suboffsets:
            raise BufferError("the rows of the buffer lie apart")

    def element_in(self, letters: str, size: int) -> Element:
        """Return the element type of a format (BUF-FORMAT-1)."""
        order, letter = (letters[0], letters[1:]) if letters[:1] in set("@=<>!") else ("@", letters)
        native = order in ("@", "=", NATIVE) or size == 1
        element = (_CODES.get(letter, -1), 8 * size, 1)
        if not native or element not in FORMATS:
            raise BufferError(f"buffers of format {letters!r} are not known here")
        return element

    def owner_of_buffer(self, view: memoryview) -> Any:
        """Return the owner of the memory: a memoryview, which holds the buffer."""
        return view

    # ------------------------------------------------------------ records

    def take_array_interface(self, x: Any) -> Array:
        """Return an array over the memory of an object with a record."""
        record = self.record_of(x)
        self.check_mask(record)
        self.check_fields(record)
        element = self.element_named(record.typestr)
        shape, size = record.shape, itemsize(element)
        strides = c_strides(shape)
        if record.strides is not None:
            strides = self.steps(record.strides, shape, size)
        if not record.ptr and 0 not in shape:
            raise BufferError("the address is 0")
        flags = self.flags_for(readonly=record.readonly)
        owner = self.owner_of_record(x)
        return self.described(shape, strides, element, record.ptr, flags, owner)

    def record_of(self, x: Any) -> InterfaceRecord:
        """Return the record of an object, after checking its form (AI-1)."""
        return parse_record(x.__array_interface__)

    def check_mask(self, record: InterfaceRecord) -> None:
        """Refuse masked elements (AI-MASK-1)."""
        if record.mask is not None:
            raise BufferError("there is a mask")

    def check_fields(self, record: InterfaceRecord) -> None:
        """Refuse structured elements (AI-DESCR-1)."""
        if record.descr and len(record.descr) != 1:
            raise BufferError("the elements are structured")

    def element_named(self, typestr: TypeStr) -> Element:
        """Return the element type of a typestr."""
        native = typestr.byteorder in (NATIVE, "|") or typestr.size == 1
        element = (_KINDS.get(typestr.kind, -1), 8 * typestr.size, 1)
        if not native or element not in FORMATS:
            raise BufferError(f"elements of typestr {typestr} are not known here")
        return element

    def owner_of_record(self, x: Any) -> Any:
        """Return the owner of the memory: the object."""
        return x

    # ------------------------------------------------------------ both

    def steps(self, strides: Ints, shape: Ints, size: int) -> Ints:
        """Return strides in elements (DLP-STRIDES-3)."""
        for extent, step in zip(shape, strides, strict=True):
            if extent > 1 and step % size:
                raise BufferError(f"{step} bytes are no multiple of {size}")
        return tuple(step // size for step in strides)

    def flags_for(self, *, readonly: bool) -> int:
        """Return the flags of memory (DLP-RO-3)."""
        return DLPACK_FLAG_BITMASK_READ_ONLY if readonly else 0

    def described(
        self, shape: Ints, strides: Ints, element: Element, first: int, flags: int, owner: Any
    ) -> Array:
        """Return an array of host memory."""
        data = None if 0 in shape else first
        return self.array(Description(shape, strides, dtype=element, data=data, flags=flags), owner)


def host_consumer(**steps: Any) -> Subject:
    """Return the subject of a consumer with some steps replaced, each by ``f(consumer, ...)``."""
    consumer: Any = type("Changed", (HostConsumer,), steps)()
    return subject_of(
        consumer,
        take_buffer=consumer.take_buffer,
        take_array_interface=consumer.take_array_interface,
    )


def honest_host_consumer() -> Subject:
    """Return the honest counterpart: it keeps every rule."""
    return host_consumer()


host_consumer_mutant = partial(
    mutant, counterpart=honest_host_consumer, build=replacing(host_consumer)
)
