"""Code generation by LLVM: the modules that need llvmlite (the extra ``kernels``)."""

import importlib.util

if importlib.util.find_spec("llvmlite") is None:
    raise ModuleNotFoundError(
        'kernels are compiled by llvmlite, which is not installed; pip install "llvmlite>=0.50"',
        name="llvmlite",
    )
