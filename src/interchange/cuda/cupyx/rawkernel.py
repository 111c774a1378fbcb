"""`rawkernel`: kernels that are launched in the form of CuPy.

Source: CuPy, "cupyx.jit.rawkernel".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange._types.errors import ArgumentError, show
from interchange.cuda.kernel import Kernel
from interchange.cuda.options import Options

if TYPE_CHECKING:
    from collections.abc import Callable


class RawKernel(Kernel):
    """A kernel that is launched by ``kernel(grid, block, arguments)``, made by `rawkernel`.

    ``kernel[grid, block](*arguments)`` launches it as well.
    """

    def __call__(
        self, grid: Any, block: Any, args: Any, shared_mem: int = 0, stream: Any = None
    ) -> None:
        """Launch the kernel.

        Parameters
        ----------
        grid : tuple[int, ...]
            Size of the grid [blocks].
        block : tuple[int, ...]
            Size of a block [threads].
        args : tuple
            The arguments of the kernel.
        shared_mem : int, default 0
            Size of dynamic shared memory per block [bytes].
        stream : None or stream object, optional
            The stream.
        """
        if not isinstance(args, (tuple, list)):
            call = f"{self.__name__}()"
            what = f"args={show(args)} is no tuple of arguments"
            raise ArgumentError(call, what, "CPY-LAUNCH-1", "write kernel((1,), (32,), (x, y))")
        self[grid, block, stream, shared_mem](*args)


def rawkernel(
    *, mode: str = "cuda", device: bool = False, debug: bool = False, races: bool = False
) -> Callable[[Callable[..., Any]], RawKernel]:
    """Make a kernel of a function, in the form of CuPy.

    Parameters
    ----------
    mode : {"cuda"}, default "cuda"
        The rules for types: those of the CUDA Python Specification, as for `interchange.cuda.jit`.
        CuPy's "numpy" is refused.
    device : bool, default False
        Whether kernels call the function, and it is not launched.
    debug, races : bool, default False
        As for `interchange.cuda.jit`.

    Returns
    -------
    callable
        A decorator, whose result is a `RawKernel`.

    Raises
    ------
    ArgumentError
        `mode` is another one (CPY-JIT-1).

    Notes
    -----
    Source: CuPy, "cupyx.jit.rawkernel".

    Examples
    --------
    >>> import numpy as np
    >>> from interchange.cuda.cupyx import jit
    >>> @jit.rawkernel()
    ... def copy(x, y, size):
    ...     start = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
    ...     for i in range(start, size, jit.gridDim.x * jit.blockDim.x):
    ...         y[i] = x[i]
    >>> x, y = np.arange(5), np.zeros(5, int)
    >>> copy((2,), (32,), (x, y, x.size))
    >>> copy[2, 32](x, y, x.size)
    >>> y
    array([0, 1, 2, 3, 4])
    """
    if mode != "cuda":
        what = f"mode={show(mode)}, whose rules for types kernels do not have"
        raise ArgumentError("jit.rawkernel()", what, "CPY-JIT-1", 'leave it out, or pass "cuda"')
    options = Options(device=device)
    return lambda function: RawKernel(function, None, debug=debug, races=races, options=options)
