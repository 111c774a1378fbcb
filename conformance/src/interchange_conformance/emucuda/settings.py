"""Environment variables of the emulated driver.

Source: ``driver.c``, which reads them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

RACES: Final = ("collect", "print", "abort", "off")
"""Action for a report: keep it, print it too, abort the process; or no detector."""


@dataclass(frozen=True)
class Settings:
    """Settings of an emulated driver in another process; None keeps the environment's value.

    Parameters
    ----------
    devices : int, optional
        Number of devices.
    delay_us : int, optional
        Delay before each operation of every stream [microseconds].
    protect : bool, optional
        Whether a host access to device memory is a segmentation fault.
    races : {"collect", "print", "abort", "off"}, optional
        Action for a report of the detector.
    trace : Path, optional
        File to which every process adds its driver calls at exit.
    report : Path, optional
        File to which every process that loaded the driver adds its reports at exit.

    Examples
    --------
    >>> Settings(devices=1).variables()
    {'EMUCUDA_DEVICES': '1'}
    """

    devices: int | None = None
    delay_us: int | None = None
    protect: bool | None = None
    races: Literal["collect", "print", "abort", "off"] | None = None
    trace: Path | None = None
    report: Path | None = None

    def variables(self) -> dict[str, str]:
        """Return the environment variables for the settings."""
        values = {
            "EMUCUDA_DEVICES": self.devices,
            "EMUCUDA_DELAY_US": self.delay_us,
            "EMUCUDA_PROTECT": None if self.protect is None else int(self.protect),
            "EMUCUDA_RACES": self.races,
            "EMUCUDA_TRACE": self.trace and self.trace.absolute(),
            "EMUCUDA_REPORT": self.report and self.report.absolute(),
        }
        return {name: str(value) for name, value in values.items() if value is not None}

    def environment(
        self,
        library: Path,
        base: Mapping[str, str] = os.environ,
        runtime: Path | None = None,
    ) -> dict[str, str]:
        """Return an environment in which a program loads the emulated driver.

        Parameters
        ----------
        library : Path
            Result of `build`.
        base : Mapping[str, str], optional
            The environment to extend; by default, that of this process.
        runtime : Path, optional
            Result of `build_runtime`: the program loads this runtime library, too.
        """
        libraries = [library] if runtime is None else [library, runtime]
        folders = [str(path.parent) for path in libraries]
        folders += filter(None, [base.get("LD_LIBRARY_PATH")])
        return {**base, **self.variables(), "LD_LIBRARY_PATH": os.pathsep.join(folders)}
