"""Mutants whose capsules have a wrong address, and arrays without indexing; and refused exports."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from interchange.abi.dlpack import DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.probes.opened_capsule import OpenedCapsule

from ._honest_consumer import Consumer
from ._honest_producer import (
    Honest,
    asks_version,
    producer_mutant,
    producer_of,
)
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


class _Opaque(Honest):
    """An array without indexing, transposes and views."""

    __getitem__: Any = None
    T: Any = None
    expand: Any = None
    view: Any = None
    real: Any = None
    imag: Any = None
    conj: Any = None
    __neg__: Any = None


class _Spacious(_Opaque):
    """An array with unused memory before and after its elements."""

    def __init__(self, array: Any, element: Any = None) -> None:
        import numpy as np

        if array.base is None and array.size and array.dtype.kind in "iuf":
            wide = np.zeros(array.size + 2, array.dtype)
            inner = wide[1:-1].reshape(array.shape)
            inner[...] = array
            inner.flags.writeable = array.flags.writeable
            array = inner
        super().__init__(array, element)


def _spacious(kind: type[Honest] = _Spacious) -> Subject:
    """Return an honest producer with unused memory around its elements."""

    def make_from(numbers: list[Any], shape: tuple[int, ...], dtype: str) -> Any:
        import numpy as np

        return kind(np.array(numbers, dtype).reshape(shape))

    return producer_of(kind, make_from=make_from)


@mutant("exported_elements_are_those_it_was_made_of", counterpart=_spacious, build=_spacious)
class capsules_one_element_off(_Spacious):
    """The data of every struct of arrays without indexing are one element off."""

    def is_wrong(self, _: dict[str, Any]) -> bool:
        """Return whether the capsule of a call is wrong."""
        return self.array.size and self.array.base is not None

    def __dlpack__(self, **keywords: Any) -> Any:
        capsule = super().__dlpack__(**keywords)
        if self.is_wrong(keywords):
            OpenedCapsule(capsule).tensor.data += self.array.itemsize
        return capsule


@producer_mutant("both_generations_lead_to_the_same_elements", counterpart=_spacious)
class versioned_capsules_one_element_off(capsules_one_element_off):
    """The data of versioned structs of arrays without indexing are one element off."""

    def is_wrong(self, keywords: dict[str, Any]) -> bool:
        """Return whether the capsule of a call is versioned, and wrong."""
        return asks_version(keywords) and super().is_wrong(keywords)


def _reading(kind: type[Honest]) -> Subject:
    """Return a producer that also imports arrays as its own kind, and reads them."""
    consumer = Consumer()

    def take(x: Any) -> Any:
        import numpy as np

        y = consumer.take(x)
        return kind(np.array(consumer.read(y), "float32").reshape(y.shape))

    return producer_of(kind, take=take, read=lambda y: y.array.ravel().tolist())


def _spacious_reader() -> Subject:
    """Return an honest producer that reads its arrays."""
    return _reading(_Spacious)


@mutant("exported_elements_are_those_that_the_library_reads", counterpart=_spacious_reader)
def capsules_off_what_is_read() -> Subject:
    """The data of every struct are one element off what the library reads."""
    return _reading(capsules_one_element_off)


# ------------------------------------------------------------------ refused exports


@producer_mutant("element_types_with_a_code_are_exported", step="__dlpack__")
def refuses_all_but_few_element_types(self: Honest, **keywords: Any) -> Any:
    """Refuses to export bools, complex numbers and float64, which it supports."""
    if self.array.dtype in ("bool", "float64", "complex64", "complex128"):
        raise BufferError(f"{self.array.dtype} is not supported")
    return Honest.__dlpack__(self, **keywords)


_SMALL: Final = {
    "float6_e2m3fn": (15, 6, 1),
    "float6_e3m2fn": (16, 6, 1),
    "float4_e2m1fn": (17, 4, 1),
}


class _Padded(Honest):
    """An array of floats with less than 8 bits, each in a byte."""

    def __dlpack__(self, **keywords: Any) -> Any:
        capsule = super().__dlpack__(**keywords)
        if self.element in _SMALL.values():
            if not asks_version(keywords):
                raise BufferError("only the versioned struct says that each has a byte")
            OpenedCapsule(capsule).managed.flags |= DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
        return capsule

    @property
    def dtype(self) -> Any:
        """The element type, or its name."""
        names = {element: name for name, element in _SMALL.items()}
        return names.get(self.element or (0, 0, 0)) or super().dtype


def _small(kind: type[_Padded], bits: int | None = None) -> Subject:
    """Return a producer that also has floats of less than 8 bits, exported with the given bits."""
    plain = producer_of(kind)

    def make(shape: Any, dtype: Any, device: str, readonly: bool) -> Any:
        if isinstance(dtype, str) and dtype in _SMALL:
            if device != "cpu" or plain.make is None:
                raise CannotMakeError("this is host memory")
            code, own, lanes = _SMALL[dtype]
            x = plain.make(shape, "uint8", device, readonly)
            return kind(x.array, (code, bits or own, lanes))
        return plain.make(shape, dtype, device, readonly) if plain.make else None

    return replace(plain, make=make)


def _padded() -> Subject:
    """Return an honest producer of floats with less than 8 bits."""
    return _small(_Padded)


@mutant("floats_below_8_bits_have_their_bits", counterpart=_padded)
def counts_the_bits_of_the_byte() -> Subject:
    """Exports floats of 4 and 6 bits as floats of 8, the size of their bytes."""
    return _small(_Padded, bits=8)
