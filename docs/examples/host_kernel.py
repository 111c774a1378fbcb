"""The kernel of launcher.py for the emulated driver, which runs C where a GPU runs its own code."""

import ctypes
import subprocess
import tempfile

SOURCE = """
#include <stdint.h>

/* Some blocks of: y[i] += a * x[i], one thread for each i. */
int axpy(void **values, int *dims, int64_t first, int64_t last)
{
    const char *x = *(char **)values[1];
    char *y = *(char **)values[4];
    int64_t step_of_x = *(int64_t *)values[3], step_of_y = *(int64_t *)values[6];

    for (int64_t i = first * dims[0]; i < last * dims[0] && i < *(int64_t *)values[5]; i++)
        *(double *)(y + i * step_of_y) += *(double *)values[0] * *(double *)(x + i * step_of_x);
    return 0;
}
"""


def image():
    """Compile the kernel, and return the text by which the emulated driver finds it."""
    with tempfile.NamedTemporaryFile(suffix=".so") as library:
        command = ["cc", "-O1", "-shared", "-fPIC", "-xc", "-", "-o", library.name]
        subprocess.run(command, input=SOURCE, text=True, check=True)
        entry = ctypes.cast(ctypes.CDLL(library.name).axpy, ctypes.c_void_p).value
    return f"emucuda host code 2\naxpy {entry:#x} 0 0 0x0 v8 a8:1:r a8:1:rw\n".encode() + b"\0"
