"""The environment variables that interchange and its conformance kit read, and what each does.

The command lists them with their values, and the docs print them; a test compares them with the
sources.
"""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from interchange._libraries.selection import libraries_by_device
from interchange._types.devices import NAMES


class Variable(NamedTuple):
    """An environment variable."""

    name: str
    reader: str  # the part that reads it
    does: str  # its effect; plain text


_US: Final = "interchange"
_BUILD: Final = "the build of interchange"
_KIT: Final = "the conformance kit"
_DRIVER: Final = "the emulated CUDA driver"

VARIABLES: Final = (
    Variable("INTERCHANGE_CORE", _US, "native or ctypes: the core to use, an error where it is"
             " missing; read at import"),
    Variable("INTERCHANGE_CAI_SYNC", _US, "0: imports of the CUDA Array Interface ignore the"
             " producer's stream; read at import"),
    *(
        Variable(f"INTERCHANGE_{NAMES[kind].upper()}_BACKEND", _US,
                 f"the library that computes on {NAMES[kind]} devices, unless set_backend() is"
                 " called")
        for kind in libraries_by_device()
    ),
    Variable("INTERCHANGE_LOAD_DEVICE", _US, "the device that pickled arrays are loaded on, such as"
             " cpu or cuda:1; by default the device that they were on"),
    Variable("INTERCHANGE_CACHE_DIR", _US, "the folder of compiled kernels; empty: none are kept;"
             " by default ~/.cache/interchange/kernels"),
    Variable("INTERCHANGE_HIP_LIBRARY", _US, "the file that is loaded as the HIP runtime instead of"
             " libamdhip64.so"),
    Variable("INTERCHANGE_BUILD", _BUILD, "require: an error where the native core cannot be built;"
             " skip: it is not built"),
    Variable("INTERCHANGE_DEBUG_BUILD", _BUILD, "1: the native core is built for a debugger"),
    Variable("INTERCHANGE_CONFORMANCE_CUDA", _KIT, "none, emulated or real: the driver that checks"
             " run on, unless an option names one"),
    Variable("INTERCHANGE_TEST_REQUIRE", _KIT, "emulated, gpu or both with a comma: tests on such a"
             " driver fail where it is missing, and are not skipped"),
    Variable("EMUCUDA_DEVICES", _DRIVER, "the number of devices; by default 2"),
    Variable("EMUCUDA_RACES", _DRIVER, "collect, print, abort or off: what the race detector does"
             " with a report"),
    Variable("EMUCUDA_PROTECT", _DRIVER, "1: a host access to device memory is a segmentation"
             " fault"),
    Variable("EMUCUDA_DELAY_US", _DRIVER, "the delay of each operation on a stream"
             " [microseconds]"),
    Variable("EMUCUDA_QUARANTINE", _DRIVER, "how much freed device memory is not reused, so that"
             " accesses after the free are found [bytes]"),
    Variable("EMUCUDA_TRACE", _DRIVER, "the file to which the driver calls of each process are"
             " written"),
    Variable("EMUCUDA_REPORT", _DRIVER, "the file to which the reports of each process are"
             " written"),
)  # fmt: skip
"""All of them."""


def value(variable: Variable) -> str | None:
    """Return the value of a variable, or None."""
    return os.environ.get(variable.name)
