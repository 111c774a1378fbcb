"""Intrinsics of kernels: thread indices, the barrier, shared memory.

Source: CUDA Python Specification 0.2, "CUDA Intrinsics"; CUDA Array Interface, version 3, whose
examples use ``grid`` and ``gridsize``.  Outside a kernel they have no value.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

from interchange._types.errors import ArgumentError

AXES: Final = "xyz"


def _refuse(name: str) -> NoReturn:
    """Raise the error for an intrinsic that is used outside a kernel."""
    raise ArgumentError(f"cuda.{name}", "it was used outside of a kernel", "CPY-NAME-2")


class Register:
    """A special register of one axis, such as ``threadIdx.x``."""

    __slots__ = ("axis", "name")

    axis: str
    name: str

    def __init__(self, name: str, axis: str) -> None:
        self.name, self.axis = name, axis

    def __repr__(self) -> str:
        return f"cuda.{self.name}.{self.axis}"

    def __index__(self) -> int:  # noqa: PLE0305 - it raises
        _refuse(f"{self.name}.{self.axis}")


class Registers:
    """A special register with three axes."""

    __slots__ = ("name", "x", "y", "z")

    x: Register
    y: Register
    z: Register

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.x, self.y, self.z = (Register(name, axis) for axis in AXES)

    def __repr__(self) -> str:
        return f"cuda.{self.name}"


class Intrinsic:
    """A function that can be called in kernels only."""

    name: str

    def __init__(self, name: str, doc: str) -> None:
        self.name, self.__doc__ = name, doc

    def __repr__(self) -> str:
        return f"cuda.{self.name}"

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """Raise: intrinsics can be called in kernels only."""
        _refuse(f"{self.name}()")


class Shared:
    """Shared memory of a thread block."""

    __slots__ = ()
    array: Final = Intrinsic(
        "shared.array",
        "Create an array of a constant shape in shared memory; allowed in the entry block only.",
    )


threadIdx: Final = Registers("threadIdx")  # noqa: N816 - CUDA's names
blockIdx: Final = Registers("blockIdx")  # noqa: N816
blockDim: Final = Registers("blockDim")  # noqa: N816
gridDim: Final = Registers("gridDim")  # noqa: N816
syncthreads: Final = Intrinsic(
    "syncthreads", "Wait until all threads of the block have reached the barrier."
)
grid: Final = Intrinsic(
    "grid", "Return the absolute index of the thread in the grid, along 1, 2 or 3 axes."
)
gridsize: Final = Intrinsic(
    "gridsize", "Return the number of threads in the grid, along 1, 2 or 3 axes."
)
shared: Final = Shared()
