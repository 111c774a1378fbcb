"""Kernels whose code runs on the host: compiled, described in an image, and launched."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

from interchange_conformance.emucuda import building

TITLE = "emucuda host code 2\n"
AXPY = "axpy", 0, 0, "v8 a8:1:r a8:1:rw"
PAINT = "paint", 0, 0, "v4 a4:2:w"
OBSERVE = "observe", 1024, 48, "w100:20 p0x1230 v1 v2 v4 v8 v16 a8:1:w"
STRAY = "stray", 0, 0, "v4"
DIVERGE = "diverge", 0, 0, ""


def compiled(folder):
    """Return the library of `host_kernels.c`, built in a folder."""
    source, library = Path(__file__).with_suffix(".c"), folder / "host_kernels.so"
    options = [
        "-O1",
        "-g",
        "-shared",
        "-fPIC",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-sign-conversion",
    ]
    command = [*building.find_compiler(), *options, "-o", str(library), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


class HostKernels:
    """Kernels of a `compiled` library on the emulated driver: modules of them, and launches."""

    def __init__(self, cuda, library):
        self.cuda = cuda
        self.library = library

    def address(self, name):
        """Return the address of a symbol of the library."""
        return ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value

    def status(self, name="status_a"):
        """Return a status word of the library, set to zero."""
        word = ctypes.c_int32.in_dll(self.library, name)
        word.value = 0
        return word

    def line(self, kernel, status=0, name=None):
        """Return the line of an image that describes a kernel."""
        entry, shared, frame, parameters = kernel
        at = self.address(entry)
        return f"{name or entry} {at:#x} {shared} {frame} {status:#x} {parameters}".rstrip()

    def load(self, *lines):
        """Return a module of the kernels that the lines describe."""
        return self.cuda.cuModuleLoadData((TITLE + "\n".join(lines)).encode() + b"\0")

    def function(self, kernel, status=0, name=None):
        """Return one kernel, from a separate module."""
        module = self.load(self.line(kernel, status, name))
        return self.cuda.cuModuleGetFunction(module, (name or kernel[0]).encode())

    def launch(self, function, stream, *values, grid=(1, 1, 1), block=(1, 1, 1), shared=0):
        """Launch a kernel with ctypes values, and with arrays as lists of ctypes values."""
        arguments = self.arguments(function, stream, *values, grid=grid, block=block, shared=shared)
        self.cuda.cuLaunchKernel(*arguments)

    def launch_code(self, function, stream, *values, grid=(1, 1, 1), block=(1, 1, 1), shared=0):
        """Return the name of the error of a launch."""
        arguments = self.arguments(function, stream, *values, grid=grid, block=block, shared=shared)
        return self.cuda.code("cuLaunchKernel", *arguments)

    def arguments(self, function, stream, *values, grid=(1, 1, 1), block=(1, 1, 1), shared=0):
        """Return the arguments of ``cuLaunchKernel``; the values live as long as this object."""
        flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
        addresses = (ctypes.c_void_p * len(flat))(*(ctypes.addressof(one) for one in flat))
        self.kept = flat, addresses
        return (
            function,
            *grid,
            *block,
            shared,
            stream,
            ctypes.addressof(addresses) if flat else 0,
            0,
        )


def array(start, lengths, strides):
    """Return the parameters that describe an array."""
    return [ctypes.c_int64(number) for number in (start, *lengths, *strides)]


def doubles(start, count, stride=8):
    """Return a one-dimensional array of doubles."""
    return array(start, (count,), (stride,))
