"""The types of kernels: numbers, arrays of them, and signatures.

Source: CUDA Python Specification 0.2, "No-Python Mode" and "Type Inference".
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

from interchange._types.numpy_dtypes import load_numpy

Kind = Literal["bool", "int", "uint", "float", "complex", "record"]


class ScalarType:
    """The type of a number: a cast inside a kernel, a NumPy scalar outside, and arrays by index.

    Attributes
    ----------
    name : str
        Its name in NumPy.
    kind : str
        ``"bool"``, ``"int"``, ``"uint"``, ``"float"`` or ``"complex"``.
    bits : int
        Width in memory [bits]; a bool has 8.

    Examples
    --------
    >>> from interchange.cuda import float32, int16
    >>> float32[:, ::1]
    float32[:, ::1]
    >>> int16(123)
    np.int16(123)
    """

    __slots__ = ("bits", "kind", "name")

    bits: int
    name: str

    def __init__(self, name: str, kind: Kind, bits: int) -> None:
        self.name, self.kind, self.bits = name, kind, bits

    @property
    def itemsize(self) -> int:
        """Size of an element in memory [bytes]."""
        return self.bits // 8

    @property
    def alignment(self) -> int:
        """Alignment in memory [bytes]; a complex number is two parts."""
        return self.itemsize // 2 if self.kind == "complex" else self.itemsize

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer type; a bool is not."""
        return self.kind in {"int", "uint"}

    def __call__(self, value: Any, /) -> Any:
        """Return a scalar of NumPy; in a kernel, a cast."""
        if self is bfloat16:
            return _of_ml_dtypes()(value)
        np = load_numpy()
        return getattr(np, self.name)(value)

    def __getitem__(self, axes: Any) -> ArrayType:
        steps = axes if isinstance(axes, tuple) else (axes,)
        if not steps or not all(map(_is_whole, steps)):
            raise TypeError(f"{self}[...] takes one ':' per axis, the last perhaps '::1'")
        if any(step.step is not None for step in steps[:-1]) or steps[-1].step not in {None, 1}:
            raise TypeError(f"{self}[...]: only the last axis may be '::1', for arrays in C order")
        return ArrayType(self, len(steps), in_c_order=steps[-1].step == 1)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return "bool_" if self.kind == "bool" else self.name


def _of_ml_dtypes() -> Any:
    """Return the type bfloat16 of the package ml_dtypes: NumPy has none."""
    try:
        import ml_dtypes
    except ImportError as error:
        hint = "install ml_dtypes, or use float32"
        raise TypeError(f"bfloat16(...) outside of a kernel: {hint}") from error
    return ml_dtypes.bfloat16


def _is_whole(step: Any) -> bool:
    """Whether an index is ``:`` or ``::n``."""
    return isinstance(step, slice) and step.start is step.stop is None


class ArrayType(NamedTuple):
    """The type of an array argument: a pointer, a shape and strides.

    Attributes
    ----------
    element : ScalarType
        Element type.
    ndim : int
        Number of axes.
    in_c_order : bool
        Whether its strides follow from its shape; code for these arrays is faster.
    """

    element: ScalarType
    ndim: int
    in_c_order: bool = False

    def __repr__(self) -> str:
        axes = [":"] * self.ndim
        if self.in_c_order and axes:
            axes[-1] = "::1"
        return f"{self.element}[{', '.join(axes)}]"


class TupleType(NamedTuple):
    """The type of a tuple as an argument; of no tuple, that of None."""

    items: tuple[Any, ...]
    is_none: bool = False

    def __repr__(self) -> str:
        return "None" if self.is_none else f"({', '.join(map(str, self.items))})"


class Signature(NamedTuple):
    """The types of a kernel's arguments, given before it is called: ``void(int32[::1])``."""

    arguments: tuple[ScalarType | ArrayType, ...]

    def __repr__(self) -> str:
        return f"void({', '.join(map(str, self.arguments))})"


class Void:
    """What kernels return; called with types it is a signature."""

    __slots__ = ()

    def __call__(self, *arguments: ScalarType | ArrayType) -> Signature:
        """Return a signature."""
        return Signature(arguments)

    def __repr__(self) -> str:
        return "void"


bool_: Final = ScalarType("bool", "bool", 8)
int8: Final = ScalarType("int8", "int", 8)
int16: Final = ScalarType("int16", "int", 16)
int32: Final = ScalarType("int32", "int", 32)
int64: Final = ScalarType("int64", "int", 64)
uint8: Final = ScalarType("uint8", "uint", 8)
uint16: Final = ScalarType("uint16", "uint", 16)
uint32: Final = ScalarType("uint32", "uint", 32)
uint64: Final = ScalarType("uint64", "uint", 64)
float16: Final = ScalarType("float16", "float", 16)
bfloat16: Final = ScalarType("bfloat16", "float", 16)
float32: Final = ScalarType("float32", "float", 32)
float64: Final = ScalarType("float64", "float", 64)
complex64: Final = ScalarType("complex64", "complex", 64)
complex128: Final = ScalarType("complex128", "complex", 128)
intp: Final = int64
"""An integer as wide as an address."""
void: Final = Void()

SCALARS: Final = (
    bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
    float32, float64, complex64, complex128,
)  # fmt: skip
"""Every type of a number."""
BY_NAME: Final = {scalar.name: scalar for scalar in SCALARS}
"""Name in NumPy -> type."""
UNSIGNED: Final = {
    **{BY_NAME[f"int{bits}"]: BY_NAME[f"uint{bits}"] for bits in (8, 16, 32, 64)},
    **{BY_NAME[f"uint{bits}"]: BY_NAME[f"uint{bits}"] for bits in (8, 16, 32, 64)},
}
"""Integer type -> the unsigned one of its width."""
HALVES: Final = (float16, bfloat16)
"""Floats of 16 bits: computed as float32, and rounded after every operation."""
PART_OF: Final = {complex64: float32, complex128: float64}
"""Complex type -> the type of its parts."""
