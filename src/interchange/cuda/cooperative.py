"""The group of all threads of a grid: its barrier, and the launches that kernels with one need.

Source: CUDA C++ Programming Guide, "Cooperative Groups" (grid synchronization); the names are those
of ``numba.cuda.cg``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from . import ir
from .context import Object, Values
from .intrinsics import Intrinsic

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable


class GridGroup:
    """All threads of a grid, in a kernel."""

    __slots__ = ()
    sync: Final = Intrinsic(
        "cg.this_grid().sync", "Wait until all threads of the grid have reached the barrier."
    )


class CooperativeGroups:
    """Groups of threads, which kernels call: ``this_grid()``."""

    __slots__ = ()
    this_grid: Final = Intrinsic("cg.this_grid", "Return the group of all threads of the grid.")


RESUMES: Final = 10
"""Index in ``dims``, of code for the CPU, of whether the threads of a block wait for the grid."""
SUSPENDED: Final = -1
"""Result of such code where the threads of the block wait for those of other blocks."""
cg: Final = CooperativeGroups()
_GROUP: Final = Object(GridGroup())


def _this_grid(reader: Any, node: ast.Call) -> Object:
    """Convert a call of this_grid()."""
    if node.args:
        reader.refuse(node, "this_grid() takes nothing", "CPY-CALL-1")
    return _GROUP


def _sync(reader: Any, node: ast.Call) -> Values:
    """Convert the barrier of a grid."""
    if node.args:
        reader.refuse(node, "sync() takes nothing", "CPY-CALL-1")
    reader.program.has_barrier = reader.program.has_grid_barrier = True
    reader.out.append(ir.GridBarrier(node.lineno))
    return Values(())


FUNCTIONS: Final[dict[Any, Callable[[Any, ast.Call], Any]]] = {
    cg.this_grid: _this_grid,
    GridGroup.sync: _sync,
}
"""Function -> what converts a call of it."""
