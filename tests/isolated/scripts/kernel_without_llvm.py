"""Launches a kernel while llvmlite cannot be imported, and prints the error.

Source: Python's import system (``sys.meta_path``).
"""

import importlib.util
import sys

import numpy as np

find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: (
    None if name.partition(".")[0] == "llvmlite" else find_spec(name, *more)
)

from interchange import cuda  # noqa: E402 - after the import hook above


@cuda.jit
def fill(x):
    x[0] = 1


try:
    fill[1, 1](np.zeros(1))
except ModuleNotFoundError as error:
    print(error.name, error, file=sys.stdout)
