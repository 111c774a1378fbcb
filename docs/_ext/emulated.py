"""What the examples in the group ``emulated`` stand on: the emulated driver, in this process.

Source: the guide "Testing without a GPU".  A page says ``from emulated import *`` in its
``testsetup``, and calls `finish` in its ``testcleanup``: its examples must leave no report of the
race detector that they have not shown.
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
    """Refuse what the examples did wrong, and start again for the next page."""
    driver.cuCtxSynchronize()
    left = emulator.unexpected_reports()
    emulator.reset()
    if left:
        raise AssertionError("\n".join(left))
