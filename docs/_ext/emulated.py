"""Setup of the examples in the group ``emulated``: the emulated driver, in this process.

Source: the guide "Testing without a GPU".  A page has ``from emulated import *`` in its
``testsetup``, and calls `finish` in its ``testcleanup``: its examples must show every report of the
race detector.
"""

from __future__ import annotations

from cuda.bindings import driver

from interchange_conformance import emucuda

__all__ = ["driver", "emulator", "finish"]

emulator = emucuda.load()
emulator.reset()
driver.cuInit(0)
_, _context = driver.cuDevicePrimaryCtxRetain(0)
driver.cuCtxSetCurrent(_context)


def finish() -> None:
    """Raise an error for unreported races of the examples, and reset the driver for the next."""
    driver.cuCtxSynchronize()
    left = emulator.unexpected_reports()
    emulator.reset()
    if left:
        raise AssertionError("\n".join(left))
