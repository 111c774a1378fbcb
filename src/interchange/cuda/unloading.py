"""Code of kernels that are gone: it is unloaded when no work of its context is pending.

Source: CUDA driver API, Module Management.  A finaliser must not wait for a GPU, so that code is
unloaded by the next `cuda.synchronize`.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any, Final, NamedTuple


class Code(NamedTuple):
    """A module that is loaded in a context."""

    context: int
    number: int  # of the context, which is never reused
    module: int
    keep: Any  # memory that the code uses


_dead: Final[list[Code]] = []
"""Code of kernels that are gone."""
for_good: Final[list[Any]] = []
"""Code that may run until the process ends, as part of a graph for instance."""


def loaded_code(driver: Any, context: int, module: int, keep: Any) -> Code:
    """Return the code that was loaded just now."""
    return Code(context, _number_of(driver, context), module, keep)


def _number_of(driver: Any, context: int) -> int:
    """Return the number of a context; -1 if it is gone."""
    error, number = driver.api.cuCtxGetId(context)
    return -1 if error else int(number)


def note_dead(code: list[Code]) -> None:
    """Let code be unloaded later; a finaliser may call this."""
    _dead.extend(code)


def dead_code() -> list[Code]:
    """Return the code that may be unloaded when the work that is pending now is done."""
    return list(_dead)


def unload(driver: Any, dead: list[Code]) -> None:
    """Unload code of the current context, whose work is done.  Never raises."""
    with contextlib.suppress(Exception):
        error, current = driver.api.cuCtxGetCurrent()
        for one in dead:
            if error or int(current) != one.context:
                continue
            with contextlib.suppress(ValueError):  # another thread was faster
                _dead.remove(one)
                if _number_of(driver, one.context) == one.number:
                    with driver.unnoticed():
                        driver.api.cuModuleUnload(one.module)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_dead.clear)
