"""What can be set from outside: the environment variables that the emulated driver reads.

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
"""What the detector can do about a report: keep it, print it too, end the process, or not look."""


@dataclass(frozen=True)
class Settings:
    """How an emulated driver in another process is to behave; None leaves what is set there.

    Parameters
    ----------
    devices : int, optional
        How many there are.
    delay_us : int, optional
        Before each operation of every stream [microseconds].
    protect : bool, optional
        Whether a host access to device memory is a segmentation fault.
    races : {"collect", "print", "abort", "off"}, optional
        What the detector does about a report.
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
        """Return the variables that say so."""
        values = {
            "EMUCUDA_DEVICES": self.devices,
            "EMUCUDA_DELAY_US": self.delay_us,
            "EMUCUDA_PROTECT": None if self.protect is None else int(self.protect),
            "EMUCUDA_RACES": self.races,
            "EMUCUDA_TRACE": self.trace and self.trace.absolute(),
            "EMUCUDA_REPORT": self.report and self.report.absolute(),
        }
        return {name: str(value) for name, value in values.items() if value is not None}

    def environment(self, library: Path, base: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Return the environment in which a program finds the emulated driver.

        Parameters
        ----------
        library : Path
            What `build` returned.
        base : Mapping[str, str], optional
            What is kept of the environment; all of this process's, unless told.
        """
        folders = [str(library.parent), *filter(None, [base.get("LD_LIBRARY_PATH")])]
        return {**base, **self.variables(), "LD_LIBRARY_PATH": os.pathsep.join(folders)}
