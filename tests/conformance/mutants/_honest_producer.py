"""The honest producer: arrays that keep every rule, based on NumPy and its native deleters.

Source: dlpack.h 1.3; array API standard 2025.12.  Fields that NumPy's capsules lack are written
into their structs before they are returned: strides (NumPy before 2.4 leaves them NULL), NULL data
for arrays without elements, and the codes of element types that NumPy does not have.
"""

from __future__ import annotations

import ctypes
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import CannotMakeError
from interchange_conformance.probes.opened_capsule import OpenedCapsule
from interchange_conformance.subject import Subject
from interchange_conformance.zoo.memory import c_strides

from .model import mutant, replacing

if TYPE_CHECKING:
    from collections.abc import Callable

    Shape = tuple[int, ...]
    Element = tuple[int, int, int]

HOST: Final = (1, 0)
_INT64_POINTER: Final = ctypes.POINTER(ctypes.c_int64)

_CARRIERS: Final[dict[str, tuple[str, Element]]] = {
    "bfloat16": ("uint16", (4, 16, 1)),
    "float8_e3m4": ("uint8", (7, 8, 1)),
    "float8_e4m3": ("uint8", (8, 8, 1)),
    "float8_e4m3b11fnuz": ("uint8", (9, 8, 1)),
    "float8_e4m3fn": ("uint8", (10, 8, 1)),
    "float8_e4m3fnuz": ("uint8", (11, 8, 1)),
    "float8_e5m2": ("uint8", (12, 8, 1)),
    "float8_e5m2fnuz": ("uint8", (13, 8, 1)),
    "float8_e8m0fnu": ("uint8", (14, 8, 1)),
}
"""Element types that NumPy does not have -> the type of their bytes, and the struct's fields."""
_NAMES: Final = {element: name for name, (_, element) in _CARRIERS.items()}


class Honest:
    """An array that keeps every rule, with its code, bits and lanes if they differ from NumPy's."""

    def __init__(self, array: Any, element: Element | None = None) -> None:
        self.array, self.element = array, element

    # ------------------------------------------------------------ the protocol

    def __dlpack_device__(self) -> Any:
        return HOST

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        _check_stream(stream)
        _check_pair("max_version", max_version)
        _check_pair("dl_device", dl_device)
        if copy is not None and not isinstance(copy, bool):
            raise TypeError(f"copy={copy!r} is neither None nor a bool")
        if dl_device is not None and tuple(dl_device) != HOST:
            raise BufferError(f"dl_device={dl_device!r}: this is host memory")
        versioned = max_version is not None and max_version[0] >= 1
        return self.capsule(versioned=versioned, copy=bool(copy))

    def capsule(self, *, versioned: bool, copy: bool) -> Any:
        """Return a capsule of NumPy, with the missing fields written into the struct."""
        asked = {"max_version": (1, 0)} if versioned else {}
        capsule = self.array.__dlpack__(copy=True if copy else None, **asked)
        tensor = OpenedCapsule(capsule).tensor
        if 0 in self.array.shape:
            tensor.data = None
        if self.array.ndim and not tensor.strides:
            tensor.strides = vector(c_strides(self.array.shape))
        if self.element is not None:
            tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = self.element
        return capsule

    # ------------------------------------------------------------ views

    @property
    def shape(self) -> Shape:
        """The extents [elements]."""
        return tuple(self.array.shape)

    @property
    def dtype(self) -> Any:
        """NumPy's element type, or the name of a type that NumPy does not have."""
        return self.array.dtype if self.element is None else _NAMES[self.element]

    @property
    def T(self) -> Any:  # noqa: N802 - the standard's name
        """The transpose of a matrix."""
        return self._like(self.array.T)

    @property
    def real(self) -> Any:
        """The real parts."""
        return self._like(self.array.real)

    @property
    def imag(self) -> Any:
        """The imaginary parts."""
        return self._like(self.array.imag)

    def conj(self) -> Any:
        """Return the complex conjugate, computed."""
        return self._like(self.array.conj())

    def __neg__(self) -> Any:
        return self._like(-self.array)

    def __getitem__(self, index: Any) -> Any:
        return self._like(self.array[index])

    def view(self, dtype: Any) -> Any:
        """Return the same bytes as another element type."""
        return self._like(self.array.view(dtype))

    def expand(self, shape: Shape) -> Any:
        """Return the elements repeated by steps of 0."""
        import numpy as np

        wide = np.broadcast_to(self.array, shape)
        if not self.array.flags.writeable:
            return self._like(wide)
        # NumPy marks broadcast arrays read-only as a precaution: the elements are the same
        strides = wide.strides
        spread = np.lib.stride_tricks.as_strided(self.array, shape, strides, writeable=True)
        return self._like(spread)

    def _like(self, array: Any) -> Any:
        """Return an array of the same kind."""
        return type(self)(array, self.element)


def _check_stream(stream: Any) -> None:
    """Refuse every stream: host memory has no streams."""
    if stream is None:
        return
    if not isinstance(stream, int) or isinstance(stream, bool):
        raise TypeError(f"stream={stream!r} is no int")
    raise ValueError(f"stream={stream!r}: host memory has no streams")


def _check_pair(name: str, pair: Any) -> None:
    """Refuse values other than None and a tuple of two ints."""
    if pair is None:
        return
    whole = isinstance(pair, tuple) and len(pair) == 2
    if not whole or not all(isinstance(n, int) and not isinstance(n, bool) for n in pair):
        raise TypeError(f"{name}={pair!r} is neither None nor a tuple of two ints")


@cache
def vector(values: Shape) -> Any:
    """Return a pointer to int64 values that are never freed."""
    return ctypes.cast((ctypes.c_int64 * len(values))(*values), _INT64_POINTER)


# ------------------------------------------------------------------ subjects


def producer_of(kind: Callable[..., Any], **described: Any) -> Subject:
    """Return the subject whose arrays are ``kind(array, element)``, with other attributes."""
    import numpy as np

    def make(shape: Shape, dtype: Any, device: str, readonly: bool) -> Any:
        if device != "cpu":
            raise CannotMakeError("this is host memory")
        carrier, element = _CARRIERS.get(dtype, (dtype, None)) if _is_name(dtype) else (dtype, None)
        try:
            array = np.zeros(shape, carrier)
        except TypeError as error:
            raise CannotMakeError(str(error)) from error
        array.flags.writeable = not readonly
        return kind(array, element)

    def make_from(numbers: list[Any], shape: Shape, dtype: str) -> Any:
        return kind(np.array(numbers, dtype).reshape(shape), None)

    if described.get("immutable"):
        described["make_from"] = make_from
    return Subject(kind.__name__, make=make, preload=("numpy",), **described)


def _is_name(dtype: Any) -> bool:
    """Return whether an element type is requested by name."""
    return isinstance(dtype, str)


def honest_producer() -> Subject:
    """Return the producer that keeps every rule."""
    return producer_of(Honest)


class HonestConstant(Honest):
    """An array that keeps every rule and is always read-only."""

    def __init__(self, array: Any, element: Element | None = None) -> None:
        array.flags.writeable = False
        super().__init__(array, element)


def honest_constants() -> Subject:
    """Return a producer that keeps every rule, of arrays that are always read-only."""
    return producer_of(HonestConstant, immutable=True)


# ------------------------------------------------------------------ making mutants


def changed(**methods: Any) -> Subject:
    """Return a producer with some methods replaced, each by ``f(array, ...)``."""
    return producer_of(type("Changed", (Honest,), methods))


def patched(
    patch: Callable[[OpenedCapsule, Honest], object],
    *,
    when: Callable[[dict[str, Any]], bool] = lambda _: True,
    kind: type[Honest] = Honest,
    **described: Any,
) -> Subject:
    """Return a producer of a kind with modified capsules, for calls with ``when(keywords)``.

    ``patch(opened, x)`` changes an honest capsule of an array; its result, unless None, is returned
    instead.
    """

    class Patched(kind):  # type: ignore[misc, valid-type]
        """An array with modified capsules."""

        def __dlpack__(self, **keywords: Any) -> Any:
            capsule = super().__dlpack__(**keywords)
            if not when(keywords):
                return capsule
            instead = patch(OpenedCapsule(capsule), self)
            return capsule if instead is None else instead

    return producer_of(Patched, **described)


def asks_version(keywords: dict[str, Any]) -> bool:
    """Return whether a call requests the versioned struct."""
    version = keywords.get("max_version")
    return version is not None and version[0] >= 1


producer_mutant = partial(
    mutant, counterpart=honest_producer, build=replacing(changed, producer_of)
)
capsule_mutant = partial(mutant, counterpart=honest_producer, build=patched)
