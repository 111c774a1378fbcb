"""Check that the requested CUDA driver can be used, before any subject is judged with it.

A run without its driver would find no failure, and report success.  The driver is started in a
separate process, because a process that has used a driver cannot be forked (IX-DRIVER-3).
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

from interchange_conformance.findings import BrokenSubjectError, NotApplicable

from . import cuda

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST: Final = 120.0  # for a driver to start [seconds]
_MISSING: Final = 3  # exit code of the process that checks


class NoDriverError(Exception):
    """The requested driver cannot be used; the message contains the reason."""


def need_driver(driver: cuda.Choice, environment: Mapping[str, str]) -> None:
    """Raise unless a driver starts and has a device.

    Raises `NoDriverError`: the driver cannot be used.
    """
    if driver == "none":
        return
    command = [sys.executable, "-m", __name__]
    try:
        done = subprocess.run(  # noqa: S603 - this module
            command, env=dict(environment), capture_output=True, text=True, errors="replace",
            timeout=_LONGEST, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        words = f"it did not start within {_LONGEST:.0f} seconds"
        raise NoDriverError(f"the {driver} CUDA driver cannot be used: {words}") from error
    if done.returncode:
        said = (done.stdout if done.returncode == _MISSING else done.stderr).strip()
        words = said.rpartition("\n")[2] or f"its process ended with code {done.returncode}"
        raise NoDriverError(f"the {driver} CUDA driver cannot be used: {words}")


def _try() -> int:
    """Start the driver that the environment selects, and print the error if that fails."""
    try:
        cuda.opened()
    except (NotApplicable, BrokenSubjectError, cuda.CudaError, OSError) as error:
        sys.stdout.write(f"{error}\n")
        return _MISSING
    return 0


if __name__ == "__main__":
    sys.exit(_try())
