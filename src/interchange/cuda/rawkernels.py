"""Names of CuPy's kernels that numba-cuda has not, or in another form; `cupyx.jit` exports them.

Source: CuPy, "Custom kernels" (JIT kernel definition).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

from . import ir, memory
from .atomics import atomic
from .intrinsics import Intrinsic
from .types import int32

if TYPE_CHECKING:
    from collections.abc import Callable

    from .atomics import Atomic
    from .context import Context

laneid: Final = Intrinsic(
    "cupyx.jit.laneid", "Return the index of the thread in its warp, 0 to 31."
)
range: Final = Intrinsic(  # noqa: A001 - CuPy's name
    "cupyx.jit.range",
    "Iterate as `range`, which it takes the same ints as; `unroll` is a constant, and LLVM decides"
    " whether the loop is unrolled.",
    ("start", "stop", "step", "unroll"),
)
shared_memory: Final = Intrinsic(
    "cupyx.jit.shared_memory",
    "Create an array of a constant length in shared memory; None stands for the dynamic shared"
    " memory of the launch.",
    ("dtype", "size"),
)

atomic_add: Atomic = atomic.add
atomic_sub: Atomic = atomic.sub
atomic_min: Atomic = atomic.min
atomic_max: Atomic = atomic.max
atomic_inc: Atomic = atomic.inc
atomic_dec: Atomic = atomic.dec
atomic_and: Atomic = atomic.and_
atomic_or: Atomic = atomic.or_
atomic_xor: Atomic = atomic.xor
atomic_exch: Atomic = atomic.exch
atomic_cas: Atomic = atomic.cas


def _laneid(reader: Any, node: ast.Call) -> ir.Expression:
    """Convert a call of laneid()."""
    if node.args:
        reader.refuse(node, "laneid() takes nothing", "CPY-CALL-1")
    return ir.Lane(int32)


def shared_array(reader: Context, node: ast.Call) -> ir.ArrayValue:
    """Convert a call of shared_memory(): `shared.array` with the arguments exchanged."""
    given = dict(zip(("dtype", "size"), node.args, strict=False))
    given.update({keyword.arg or "": keyword.value for keyword in node.keywords})
    if len(node.args) > 2 or set(given) != {"dtype", "size"}:
        reader.refuse(node, "shared_memory() takes dtype and size", "CPY-SHARED-1")
    size = given["size"]
    if isinstance(size, ast.Constant) and size.value is None:
        size = ast.copy_location(ast.Constant(0), size)
    elif memory.folded(reader, size) == 0:
        reader.refuse(size, "shared_memory() of 0 elements", "CPY-SHARED-1", "write None")
    call = ast.Call(node.func, [size, given["dtype"]], [])
    return memory.shared_array(reader, ast.copy_location(call, node))


def check_range(reader: Context, node: ast.Call) -> None:
    """Refuse keywords of a range that are not `unroll` with a constant."""
    for keyword in node.keywords:
        if keyword.arg != "unroll":
            reader.refuse(node, f"range({keyword.arg or '**'}=...)", "CPY-NPM-3")
        is_none = isinstance(keyword.value, ast.Constant) and keyword.value.value is None
        if not is_none and not isinstance(memory.folded(reader, keyword.value), int):
            what = "unroll is not a constant"
            reader.refuse(keyword.value, what, "CPY-NPM-3", "write unroll=True or unroll=4")


FUNCTIONS: Final[dict[Any, Callable[[Any, ast.Call], Any]]] = {laneid: _laneid}
"""Function -> what converts a call of it."""
