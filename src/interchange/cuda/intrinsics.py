"""The table of intrinsics of kernels: thread indices, the barrier, shared memory.

Source: CUDA Python Specification 0.2, "CUDA Intrinsics"; CUDA Array Interface, version 3, whose
examples use ``grid`` and ``gridsize``.  Outside a kernel they have no value.  An intrinsic is one
row at the end of this module; the compiler, the reference interpreter and the guide read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

from interchange._types.errors import ArgumentError

from .types import uint32

if TYPE_CHECKING:
    from collections.abc import Callable

    from .types import ScalarType

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

    __slots__ = ("doc", "name", "x", "y", "z")

    doc: str
    name: str
    x: Register
    y: Register
    z: Register

    def __init__(self, name: str, doc: str) -> None:
        self.name, self.doc = name, doc
        self.x, self.y, self.z = (Register(name, axis) for axis in AXES)

    def __repr__(self) -> str:
        return f"cuda.{self.name}"


class LaneRegister:
    """The special register ``laneid``, which has no axes."""

    __slots__ = ("doc", "name")

    doc: str
    name: str

    def __init__(self, name: str, doc: str) -> None:
        self.name, self.doc = name, doc

    def __repr__(self) -> str:
        return f"cuda.{self.name}"

    def __index__(self) -> int:  # noqa: PLE0305 - it raises
        _refuse(self.name)


class Intrinsic:
    """A function that can be called in kernels only.

    Parameters
    ----------
    name : str
        Its name in `interchange.cuda`.
    doc : str
        Its docstring.
    parameters : tuple
        Types, to which arguments are cast; or names, if a method of `calls.Calls` converts calls.
    result : ScalarType, optional
        Type of the result, if the parameters have types.
    ptx, host : str or callable
        Its code on a GPU and on a CPU: an instruction of PTX that ends in ``;``, with the result
        ``$0`` and the arguments ``$1`` and so on; the name of a function of LLVM or of the target's
        library; or a function that takes LLVM's builder and the arguments.
    is_pure : bool
        Whether the arguments determine the result; if not, every call is executed, in its order.
    reference : callable, optional
        Its result in Python, which the tests compare with both targets.
    """

    name: str

    def __init__(
        self,
        name: str,
        doc: str,
        parameters: tuple[Any, ...] = (),
        result: ScalarType | None = None,
        *,
        ptx: str | Callable[..., Any] = "",
        host: str | Callable[..., Any] = "",
        is_pure: bool = True,
        reference: Callable[..., Any] | None = None,
    ) -> None:
        self.name, self.__doc__ = name, doc
        self.parameters = parameters
        self.result = result
        self.ptx = ptx
        self.host = host
        self.is_pure = is_pure
        self.reference = reference

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
        "Create an array of a constant shape in shared memory; the shape 0 stands for the dynamic"
        " shared memory of the launch.",
        ("shape", "dtype"),
    )


class Local:
    """Memory of one thread."""

    __slots__ = ()
    array: Final = Intrinsic(
        "local.array",
        "Create an array of a constant shape for each thread; its contents are undefined.",
        ("shape", "dtype"),
    )


class Const:
    """Constant memory."""

    __slots__ = ()
    array_like: Final = Intrinsic(
        "const.array_like",
        "Return a read-only copy of an array of the enclosing program, part of the kernel's code.",
        ("array",),
    )


threadIdx: Final = Registers("threadIdx", "Index of the thread in its block.")  # noqa: N816 - CUDA's
blockIdx: Final = Registers("blockIdx", "Index of the block in the grid.")  # noqa: N816 - as above
blockDim: Final = Registers("blockDim", "Size of a block [threads].")  # noqa: N816 - as above
gridDim: Final = Registers("gridDim", "Size of the grid [blocks].")  # noqa: N816 - as above
syncthreads: Final = Intrinsic(
    "syncthreads", "Wait until all threads of the block have reached the barrier."
)
grid: Final = Intrinsic(
    "grid", "Return the absolute index of the thread in the grid, along 1, 2 or 3 axes.", ("ndim",)
)
gridsize: Final = Intrinsic(
    "gridsize", "Return the number of threads in the grid, along 1, 2 or 3 axes.", ("ndim",)
)
fma: Final = Intrinsic("fma", "Return `x * y + z`, rounded once, as a float.", ("x", "y", "z"))
nanosleep: Final = Intrinsic(
    "nanosleep",
    "Suspend the thread for about a number of nanoseconds; on the CPU it goes on.",
    (uint32,),
    uint32,
    ptx="nanosleep.u32 $1; mov.u32 $0, $1;",
    host=lambda _, count: count,
    is_pure=False,
)
shared: Final = Shared()
local: Final = Local()
const: Final = Const()
