"""Whether the requested CUDA driver can be used, checked before any subject is judged on it.

A run without its driver would find nothing, and say that all is well.  It is
tried in a process of its own, since one that used a driver cannot be forked any more (IX-DRIVER-3).
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
    """The requested driver cannot be used; the text says why."""


def need_driver(driver: cuda.Choice, environment: Mapping[str, str]) -> None:
    """Raise unless a driver starts and has a device.

    Parameters
    ----------
    driver : {"none", "emulated", "real"}
        What was asked for.
    environment : mapping
        Of the processes that run checks.

    Raises
    ------
    NoDriverError
        It does not.
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
    """Start the driver that the environment names, and print why it does not."""
    try:
        cuda.opened()
    except (NotApplicable, BrokenSubjectError, cuda.CudaError, OSError) as error:
        sys.stdout.write(f"{error}\n")
        return _MISSING
    return 0


if __name__ == "__main__":
    sys.exit(_try())
