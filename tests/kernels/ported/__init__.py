"""Programs in the form in which users of numba-cuda write them.

Source: the manual of numba-cuda, for the form and the names.  A
program is a function of its launches, ``run(on, *arguments)``: ``on(kernel)`` is the kernel for a
target, which is configured and called as usual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Ported(NamedTuple):
    """A program: its launches, arguments, and NumPy's results for them, by their places."""

    run: Callable[..., None]
    make: Callable[[], tuple[Any, ...]]
    expect: Callable[..., dict[int, Any]]
    rtol: float = 0.0
    atol: float = 0.0
