"""Functions of warps and of bits in the reference interpreter, for a thread that is alone.

Source: CUDA C++ Programming Guide, "Warp Shuffle Functions", "Warp Vote Functions" and "Warp Match
Functions"; CUDA C++ Math API, "Integer Intrinsics".
"""

from __future__ import annotations

from interchange.cuda import bits, warps
from interchange.cuda.types import BY_NAME, bool_, int32, uint32

from .reference_numbers import Refused, cast, settled

DRAWN = {
    "integer": (
        "popc({})", "clz({})", "ffs({})", "brev({})", "laneid", "lanemask_lt()", "activemask()",
        "ballot_sync(1, {})", "all_sync(1, {})", "any_sync(1, {})", "eq_sync(1, {})",
        "match_any_sync(1, {})", "match_all_sync(1, {})[0]", "shfl_sync(1, {}, int32({}), 1)",
        "shfl_up_sync(1, {}, int32({}), 1)", "syncthreads_count({})", "syncthreads_or({})",
    ),
    "real": (
        "shfl_sync(1, {}, int32({}), 1)", "shfl_down_sync(1, {}, int32({}), 1)",
        "shfl_xor_sync(1, {}, int32({}), 1)",
    ),
}  # fmt: skip
"""Kind of expression -> calls that are drawn; a mask of 1 names the only thread."""
VOTES = {warps.ballot_sync: uint32, warps.all_sync: bool_, warps.any_sync: bool_}


def attribute(value):
    """Return the type and the value of a special register, None for other objects."""
    return (int32, lambda _: 0) if value is warps.laneid else None


def is_known(called):
    """Return whether calls of an object are read here."""
    return isinstance(called, (bits.BitFunction, warps.WarpFunction, warps.BarrierVote)) or (
        called is warps.lanemask_lt
    )


def called(function, given):
    """Return the type and the value of a call with numbers."""
    if isinstance(function, bits.BitFunction):
        return _of_bits(function, given)
    if isinstance(function, warps.BarrierVote):
        return int32, _truth(given, 1, 0, int)
    if function is warps.lanemask_lt or function is warps.activemask:
        _count(given, 0)
        number = int(function is warps.activemask)
        return uint32, lambda _: number
    if function in warps.SHUFFLES:
        return _shuffled(given)
    _count(given, 2)
    if not given[0].type.is_integer:
        raise Refused("CPY-WARP-1")
    if function in warps.MATCHES:
        if given[1].type.kind == "complex":
            raise Refused("CPY-WARP-1")
        if function is warps.match_any_sync:
            return uint32, lambda env: _run(given, env) and 1
        return (uint32, bool_), lambda env: _run(given, env) and (1, True)
    if function is warps.eq_sync:
        test = _truth(given, 2, 1, bool)
        return bool_, lambda env: test(env) in {False, True}
    type_ = VOTES[function]
    return type_, _truth(given, 2, 1, int if type_ is uint32 else bool)


def _count(given, count):
    """Refuse another number of arguments."""
    if len(given) != count:
        raise Refused("CPY-CALL-1")


def _run(given, env):
    """Compute all arguments, and return them."""
    return [each.run(env) for each in given]


def _truth(given, count, place, kind):
    """Return a function for whether an argument is not 0."""
    _count(given, count)
    return lambda env: kind(cast(_run(given, env)[place], given[place].type, bool_))


def _shuffled(given):
    """Return the value itself: a group of one lane has no other."""
    _count(given, 4)
    if given[3].constant != 1:
        raise NotImplementedError("only groups of one lane are drawn")
    if not (given[0].type.is_integer and given[2].type.is_integer):
        raise Refused("CPY-WARP-1")
    return settled(given[1].type), lambda env: _run(given, env)[1]


def _of_bits(function, given):
    """Return a function of the bits of an int."""
    _count(given, 1)
    type_ = int32 if given[0].type is bool_ else settled(given[0].type)
    if not type_.is_integer:
        raise Refused("CPY-TYPE-2")
    result = int32
    if function is bits.brev:
        if type_.bits < int32.bits:
            type_ = BY_NAME[f"{type_.kind}32"]
        result = BY_NAME[f"uint{type_.bits}"]
    mask = (1 << type_.bits) - 1

    def run(env):
        number = cast(given[0].run(env), given[0].type, type_)
        return function.of_bits(int(number) & mask, type_.bits)

    return result, run
