"""Functions of a warp: 32 consecutive threads of a block that exchange numbers, vote and wait.

Source: CUDA C++ Programming Guide, "Warp Shuffle Functions", "Warp Vote Functions", "Warp Match
Functions" and "Synchronization Functions"; PTX ISA, "shfl.sync", "vote.sync", "match.sync" and
"activemask".  The names are those of ``numba.cuda``, ``width`` is that of CUDA C++ and CuPy.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from . import ir
from .context import Values
from .intrinsics import Intrinsic, LaneRegister
from .types import PART_OF, bool_, int32, uint32

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from .types import ScalarType

warpsize: Final = 32
"""Number of threads in a warp."""
FULL_MASK: Final = 0xFFFF_FFFF
WIDTHS: Final = (1, 2, 4, 8, 16, 32)
"""Numbers of lanes in the groups of a shuffle."""
_NAMED: Final = "a mask names lanes of the warp that have ended, or that the block does not have"
_LEFT_OUT: Final = "a mask does not name the lane that passes it"
_STUCK: Final = "lanes of a warp wait for others, which wait elsewhere"


class WarpFunction(Intrinsic):
    """A function that lanes of a warp call together; the last parameters may have defaults."""

    def __init__(self, name: str, doc: str, *parameters: str, **defaults: int) -> None:
        super().__init__(
            name,
            doc,
            (
                *parameters,
                *(f"{k}={v:#x}" if v > warpsize else f"{k}={v}" for k, v in defaults.items()),
            ),
        )
        self.names: tuple[str, ...] = (*parameters, *defaults)
        self.needed: int = len(parameters)
        self.operation: str = name.removesuffix("_sync")


class BarrierVote(Intrinsic):
    """A barrier that counts the threads whose predicate is true."""

    def __init__(self, name: str, doc: str) -> None:
        super().__init__(name, doc, ("predicate",))
        self.operation: str = name.removeprefix("syncthreads_")


laneid: Final = LaneRegister("laneid", "Index of the thread in its warp, 0 to 31.")
lanemask_lt: Final = Intrinsic(
    "lanemask_lt", "Return the mask of all lanes below that of the thread."
)
activemask: Final = WarpFunction(
    "activemask", "Return the mask of the lanes that are at this call."
)
syncwarp: Final = WarpFunction(
    "syncwarp", "Wait until all lanes in the mask have called it.", mask=FULL_MASK
)
shfl_sync: Final = WarpFunction(
    "shfl_sync", "Return the value of a lane, modulo the width.",
    "mask", "value", "src_lane", width=warpsize,
)  # fmt: skip
shfl_up_sync: Final = WarpFunction(
    "shfl_up_sync", "Return the value of the lane `delta` below; the own value if there is none.",
    "mask", "value", "delta", width=warpsize,
)  # fmt: skip
shfl_down_sync: Final = WarpFunction(
    "shfl_down_sync", "Return the value of the lane `delta` above; the own value if there is none.",
    "mask", "value", "delta", width=warpsize,
)  # fmt: skip
shfl_xor_sync: Final = WarpFunction(
    "shfl_xor_sync", "Return the value of the lane `laneid ^ lane_mask`.",
    "mask", "value", "lane_mask", width=warpsize,
)  # fmt: skip
ballot_sync: Final = WarpFunction(
    "ballot_sync", "Return the mask of the lanes whose predicate is true.", "mask", "predicate"
)
all_sync: Final = WarpFunction(
    "all_sync", "Return whether the predicate is true in all lanes.", "mask", "predicate"
)
any_sync: Final = WarpFunction(
    "any_sync", "Return whether the predicate is true in some lane.", "mask", "predicate"
)
eq_sync: Final = WarpFunction(
    "eq_sync", "Return whether the predicate is the same in all lanes.", "mask", "predicate"
)
match_any_sync: Final = WarpFunction(
    "match_any_sync", "Return the mask of the lanes that have the same value, by its bits.",
    "mask", "value",
)  # fmt: skip
match_all_sync: Final = WarpFunction(
    "match_all_sync",
    "Return the mask of all lanes, and True, if they have the same value; else 0 and False.",
    "mask", "value",
)  # fmt: skip
syncthreads_count: Final = BarrierVote(
    "syncthreads_count", "As `syncthreads`; returns the number of threads with a true predicate."
)
syncthreads_and: Final = BarrierVote(
    "syncthreads_and", "As `syncthreads`; returns 1 if the predicate is true in all threads, or 0."
)
syncthreads_or: Final = BarrierVote(
    "syncthreads_or", "As `syncthreads`; returns 1 if the predicate is true in some thread, or 0."
)
SHUFFLES: Final = (shfl_sync, shfl_up_sync, shfl_down_sync, shfl_xor_sync)
VOTES: Final = (ballot_sync, all_sync, any_sync, eq_sync)
MATCHES: Final = (match_any_sync, match_all_sync)
BLOCK_VOTES: Final = (syncthreads_count, syncthreads_and, syncthreads_or)


def _given(reader: Any, node: ast.Call, function: WarpFunction) -> dict[str, ast.expr]:
    """Return the arguments of a call by the names of the parameters."""
    names = function.names
    found = dict(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        name = keyword.arg or "**"
        if name in found or name not in names:
            reader.refuse(keyword.value, f"{function.name}({name}=...)", "CPY-CALL-1")
        found[name] = keyword.value
    if len(node.args) > len(names) or not set(names[: function.needed]) <= set(found):
        what = f"{function.name}() takes {', '.join(map(str, function.parameters)) or 'nothing'}"
        reader.refuse(node, what, "CPY-CALL-1")
    return found


def _width(reader: Any, node: ast.expr | None) -> int:
    """Return the number of lanes in a group of a shuffle, which is a constant."""
    if node is None:
        return warpsize
    number = reader.number(node)
    width = number.value if isinstance(number, ir.Constant) else 0
    if width not in WIDTHS:
        what = "the width of a shuffle is not a constant power of two up to 32"
        reader.refuse(node, what, "CPY-WARP-1", "write width=16")
    return int(width)


def _call(
    reader: Any,
    node: ast.Call,
    function: WarpFunction,
    results: tuple[ScalarType, ...],
    mask: ir.Expression,
    *arguments: ir.Expression,
    width: int = warpsize,
) -> list[ir.Read]:
    """Add a call of lanes, and return its results."""
    slots = tuple(reader.new_slot("_", type_) for type_ in results)
    reader.program.has_barrier = reader.program.has_warps = True
    hint = "pass the mask of the lanes that reach the call, such as activemask() before it"
    places = tuple(reader.place(node, what, "CPY-WARP-2", hint) for what in (_LEFT_OUT, _NAMED))
    stuck = reader.place(node, _STUCK, "CPY-WARP-3")
    reader.out.append(ir.WarpCall(function.operation, mask, arguments, width, slots, places, stuck))
    return [ir.Read(slot) for slot in slots]


def _mask(reader: Any, node: ast.expr, number: ir.Expression) -> ir.Expression:
    """Return a mask as an uint32."""
    if not number.type.is_integer:
        reader.refuse(node, f"a mask of {number.type}", "CPY-WARP-1", "pass an int")
    mask: ir.Expression = reader.cast(number, uint32)
    return mask


def _shuffle(reader: Any, node: ast.Call, function: WarpFunction) -> ir.Expression:
    """Convert a shuffle; the parts of a complex number are exchanged one after the other."""
    given = _given(reader, node, function)
    width = _width(reader, given.pop("width", None))
    nodes = [given[name] for name in function.names[:3]]
    number, value, lane = reader.numbers(nodes)
    mask = _mask(reader, nodes[0], number)
    if not lane.type.is_integer:
        reader.refuse(nodes[2], f"a lane of {lane.type}", "CPY-WARP-1", "pass an int")
    lane, value = reader.cast(lane, int32), reader.settled(value)
    type_ = value.type

    def exchanged(part: ir.Expression) -> ir.Expression:
        (found,) = _call(reader, node, function, (part.type,), mask, part, lane, width=width)
        return found

    if type_ not in PART_OF:
        return exchanged(value)
    mask, value, lane = (
        each if isinstance(each, ir.Constant) else reader.put(each) for each in (mask, value, lane)
    )
    parts = [exchanged(ir.Part(PART_OF[type_], value, which)) for which in (0, 1)]
    return ir.Complex(type_, *parts)


def _vote(reader: Any, node: ast.Call, function: WarpFunction) -> ir.Expression:
    """Convert a vote."""
    given = _given(reader, node, function)
    nodes = [given[name] for name in function.names]
    number, predicate = reader.numbers(nodes)
    test = reader.as_truth(nodes[1], predicate)
    result = uint32 if function is ballot_sync else bool_
    (found,) = _call(reader, node, function, (result,), _mask(reader, nodes[0], number), test)
    return found


def _match(reader: Any, node: ast.Call, function: WarpFunction) -> Any:
    """Convert a comparison of values."""
    given = _given(reader, node, function)
    nodes = [given[name] for name in function.names]
    number, value = reader.numbers(nodes)
    if value.type.kind == "complex":
        reader.refuse(nodes[1], f"{function.name}() of {value.type}", "CPY-WARP-1")
    results = (uint32,) if function is match_any_sync else (uint32, bool_)
    found = _call(reader, node, function, results, _mask(reader, nodes[0], number), value)
    return found[0] if len(found) == 1 else Values(tuple(found))


def _wait(reader: Any, node: ast.Call, function: WarpFunction) -> Any:
    """Convert a barrier of a warp."""
    given = _given(reader, node, function).get("mask")
    if given is None:
        mask: ir.Expression = ir.Constant(uint32, FULL_MASK)
    else:
        mask = _mask(reader, given, reader.number(given))
    _call(reader, node, function, (), mask)
    return Values(())


def _active(reader: Any, node: ast.Call, function: WarpFunction) -> ir.Expression:
    """Convert a call for the lanes that are here."""
    _given(reader, node, function)
    (found,) = _call(reader, node, function, (uint32,), ir.Constant(uint32, 0))
    return found


def _below(reader: Any, node: ast.Call) -> ir.Expression:
    """Convert a call for the lanes below."""
    if node.args or node.keywords:
        reader.refuse(node, "lanemask_lt() takes nothing", "CPY-CALL-1")
    bit = ir.Binary(uint32, "<<", ir.Constant(uint32, 1), ir.Cast(uint32, _lane()))
    return ir.Binary(uint32, "-", bit, ir.Constant(uint32, 1))


def _lane() -> ir.Expression:
    """Return the lane of the thread."""
    return ir.Lane(int32)


def _block_vote(reader: Any, node: ast.Call, function: BarrierVote) -> ir.Expression:
    """Convert a barrier that counts."""
    numbers = reader.numbers(node.args)
    if len(numbers) != 1:
        reader.refuse(node, f"{function.name}() takes a predicate", "CPY-CALL-1")
    test = reader.as_truth(node.args[0], numbers[0])
    slot = reader.new_slot("_", int32)
    reader.program.has_barrier = reader.program.has_votes = True
    reader.out.append(ir.BarrierVote(node.lineno, function.operation, test, slot))
    return ir.Read(slot)


FUNCTIONS: Final[dict[Any, Callable[[Any, ast.Call], Any]]] = {
    lanemask_lt: _below,
    activemask: partial(_active, function=activemask),
    syncwarp: partial(_wait, function=syncwarp),
    **{each: partial(_shuffle, function=each) for each in SHUFFLES},
    **{each: partial(_vote, function=each) for each in VOTES},
    **{each: partial(_match, function=each) for each in MATCHES},
    **{each: partial(_block_vote, function=each) for each in BLOCK_VOTES},
}
"""Function -> what converts a call of it."""
