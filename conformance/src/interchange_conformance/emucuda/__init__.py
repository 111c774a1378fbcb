"""An emulated CUDA driver: host memory, real threads, gates, and a happens-before race detector.

It is a ``libcuda.so.1`` in C, built on first use from the sources in this folder.  `load` brings it
into this process, ``python -m interchange_conformance.emucuda -- command`` runs any program on it,
and the pytest plugin ``interchange_conformance.emucuda.plugin`` gives tests the fixture `emulator`.
It imports nothing of interchange, so that it can judge interchange too.
"""

from .building import BrokenSourcesError, CannotBuildError, build
from .calls import Call, Trace
from .control import EVERY_STREAM, AnotherDriverError, Emulator, Live, load
from .gates import Gate, GateError
from .settings import Settings
from .streams import handle_of

__all__ = [
    "EVERY_STREAM",
    "AnotherDriverError",
    "BrokenSourcesError",
    "Call",
    "CannotBuildError",
    "Emulator",
    "Gate",
    "GateError",
    "Live",
    "Settings",
    "Trace",
    "build",
    "handle_of",
    "load",
]
