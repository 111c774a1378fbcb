"""An emulated CUDA driver: host memory, real threads, gates, and a happens-before race detector.

It is a ``libcuda.so.1`` in C, built on first use from the sources in this folder.  `load` loads it
into this process, ``python -m interchange_conformance.emucuda -- command`` runs any program on it,
and the pytest plugin ``interchange_conformance.emucuda.plugin`` provides the fixture `emulator`.
It does not import interchange, so that it can test interchange as well.
"""

from .building import BrokenSourcesError, CannotBuildError, build, build_runtime
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
    "build_runtime",
    "handle_of",
    "load",
]
