"""A kernel of a module of CUDA, launched on arrays of any library and on the caller's stream."""

import ctypes

import numpy as np
from cuda.bindings import driver

import interchange as ix


def checked(result):
    """Return the result of a driver call, or raise its error."""
    error, *values = result
    if error:
        raise RuntimeError(error.name)
    return values[0] if values else None


VECTOR = {"dtype": "float64", "shape": ("n",), "device": "cuda"}


class Axpy:
    """``y += a * x``, by the kernel ``axpy`` of a module."""

    def __init__(self, image):
        self.module = checked(driver.cuModuleLoadData(image))
        self.function = checked(driver.cuModuleGetFunction(self.module, b"axpy"))

    @ix.accepts_arrays(
        x=ix.Contract(**VECTOR),
        y=ix.Contract(**VECTOR, writable=True),
        stream="stream",
        borrow=True,
    )
    def __call__(self, a, x, y, *, stream):
        """Launch: `stream` waits for the producers of x and y, and they wait for the kernel."""
        values = (a, *described(x), *described(y))
        types = (ctypes.c_double, *[ctypes.c_int64] * 6)
        grid, block = (-(-x.size // 256), 1, 1), (256, 1, 1)
        checked(driver.cuLaunchKernel(self.function, *grid, *block, 0, stream, (values, types), 0))


def described(x):
    """Return the kernel arguments of a one-dimensional array: address, length, step in bytes."""
    return x.ptr, x.shape[0], x.strides_in_bytes[0]


def start():
    """Make the first device current, as libraries do."""
    checked(driver.cuInit(0))
    checked(driver.cuCtxSetCurrent(checked(driver.cuDevicePrimaryCtxRetain(0))))


def main():
    """Launch on arrays that another stream is still writing."""
    from host_kernel import image  # on a GPU: pathlib.Path("axpy.cubin").read_bytes()

    theirs, mine = (checked(driver.cuStreamCreate(1)) for _ in range(2))
    x, y = (ix.asarray(np.ones(8)).to_device("cuda:0", stream=theirs) for _ in range(2))

    axpy = Axpy(image())
    axpy(2.0, x[::2], y[::2], stream=mine)

    print(y.to_device("cpu").tolist())


if __name__ == "__main__":
    start()
    main()
