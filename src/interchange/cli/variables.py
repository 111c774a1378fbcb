"""The environment variables that interchange and its conformance kit read, and what each does.

The command lists them with their values, the docs print them, and a test
looks through the sources, so that none is missing here.
"""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from interchange._libraries.selection import libraries_by_device
from interchange._types.devices import NAMES


class Variable(NamedTuple):
    """An environment variable.

    Attributes
    ----------
    name : str
        What it is called.
    reader : str
        Who reads it.
    does : str
        What it does, in words; plain text.
    """

    name: str
    reader: str
    does: str


_US: Final = "interchange"
_BUILD: Final = "the build of interchange"
_KIT: Final = "the conformance kit"
_DRIVER: Final = "the emulated CUDA driver"

VARIABLES: Final = (
    Variable("INTERCHANGE_CORE", _US, "native or ctypes: the core to use, an error where it is not"
             " there; read at import"),
    Variable("INTERCHANGE_CAI_SYNC", _US, "0: imports of the CUDA Array Interface ignore the"
             " producer's stream; read at import"),
    *(
        Variable(f"INTERCHANGE_{NAMES[kind].upper()}_BACKEND", _US,
                 f"the library that computes on {NAMES[kind]} devices, where set_backend() says"
                 " nothing")
        for kind in libraries_by_device()
    ),
    Variable("INTERCHANGE_LOAD_DEVICE", _US, "where arrays come back that were pickled on a device,"
             " such as cpu or cuda:1; where they were, if it is not set"),
    Variable("INTERCHANGE_CACHE_DIR", _US, "the folder of compiled kernels; empty: none are kept;"
             " ~/.cache/interchange/kernels, if it is not set"),
    Variable("INTERCHANGE_HIP_LIBRARY", _US, "the one file that is loaded as the HIP runtime, in"
             " place of libamdhip64.so"),
    Variable("INTERCHANGE_BUILD", _BUILD, "require: an error where the native core cannot be built;"
             " skip: it is not built"),
    Variable("INTERCHANGE_DEBUG_BUILD", _BUILD, "1: the native core is built for a debugger"),
    Variable("INTERCHANGE_CONFORMANCE_CUDA", _KIT, "none, emulated or real: the driver that checks"
             " run on, where a command does not say it"),
    Variable("INTERCHANGE_TEST_REQUIRE", _KIT, "emulated, gpu or both with a comma: tests on such a"
             " driver fail where it is missing, and are not skipped"),
    Variable("EMUCUDA_DEVICES", _DRIVER, "how many devices there are; 2, if it is not set"),
    Variable("EMUCUDA_RACES", _DRIVER, "collect, print, abort or off: what is done about a report"
             " of the race detector"),
    Variable("EMUCUDA_PROTECT", _DRIVER, "1: a host access to device memory is a segmentation"
             " fault"),
    Variable("EMUCUDA_DELAY_US", _DRIVER, "how long each operation on a stream is put off"
             " [microseconds]"),
    Variable("EMUCUDA_QUARANTINE", _DRIVER, "how much freed device memory is kept from being used"
             " again, so that late accesses are found [bytes]"),
    Variable("EMUCUDA_TRACE", _DRIVER, "the file that gets the driver calls of each process"),
    Variable("EMUCUDA_REPORT", _DRIVER, "the file that gets the reports of each process"),
)  # fmt: skip
"""Every one that there is."""


def value(variable: Variable) -> str | None:
    """Return what a variable is set to here, or None."""
    return os.environ.get(variable.name)
