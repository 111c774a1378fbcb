"""Runs the mutants of streams and devices on a driver, and the correct versions, each in a child.

Prints as JSON, for each mutant, the outcomes of the items of its check, and for the correct
versions those of all items of their role.  The environment names the driver.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
from importlib import import_module

from interchange_conformance.registry import CHECKS
from interchange_conformance.running.execution import execute
from mutants.model import MUTANTS

MODULES = (
    "stream_values",
    "streams",
    "streams_consumed",
    "devices",
    "devices_consumed",
    "device_lifetime",
)


def ending(item, make):
    """Return how an item ended, in a child, and the evidence."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        faulthandler.disable()  # a crash is an outcome as any other, and prints nothing
        os.write(writing, json.dumps(execute(item, make())).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return ["crash", signal.Signals(os.WTERMSIG(status)).name]
    return json.loads(said)


def main():
    """Run everything, and print it."""
    for module in MODULES:
        import_module(f"interchange_conformance.checks.{module}")
    own = list(CHECKS.values())
    for module in MODULES:
        import_module(f"mutants.{module}")
    mutants = {
        mutant.name: {item: ending(item, mutant.make) for item in CHECKS[mutant.check].items()}
        for mutant in MUTANTS.values()
    }
    counterparts = {CHECKS[mutant.check].role: mutant.counterpart for mutant in MUTANTS.values()}
    passed = {
        item: ending(item, counterparts[check.role])
        for check in own
        if check.role in counterparts
        for item in check.items()
    }
    json.dump({"mutants": mutants, "counterparts": passed}, sys.stdout)


if __name__ == "__main__":
    main()
