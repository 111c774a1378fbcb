"""Code generation by LLVM: the modules that need llvmlite (the extra ``kernels``)."""

import importlib.util
import re

NEEDED = 0, 50
"""Version of llvmlite: earlier ones have another LLVM, which does not know some intrinsics."""
_COMMAND = f'pip install --upgrade "llvmlite>={NEEDED[0]}.{NEEDED[1]}"'


def check_version(installed: str) -> None:
    """Raise `ImportError` for a version of llvmlite that is too old."""
    numbers = re.match(r"(\d+)\.(\d+)", installed)
    if numbers is not None and tuple(map(int, numbers.groups())) < NEEDED:
        needed = ".".join(map(str, NEEDED))
        message = (
            f"kernels are compiled by llvmlite {needed} or later, and {installed} is installed;"
            f" {_COMMAND}"
        )
        raise ImportError(message, name="llvmlite")


if importlib.util.find_spec("llvmlite") is None:
    raise ModuleNotFoundError(
        f"kernels are compiled by llvmlite, which is not installed; {_COMMAND}", name="llvmlite"
    )

import llvmlite  # noqa: E402 - it is there

check_version(llvmlite.__version__)
