"""PTX instructions that the threads of a warp execute together, and barriers that count.

Source: PTX ISA 8.8, "shfl.sync", "vote.sync", "match.sync", "activemask", "bar.warp.sync" and
"bar.red".  A thread waits until all threads in its mask that have not exited wait in the same
instruction, with the same modifiers and the same mask.
"""

from __future__ import annotations

from typing import Any, NamedTuple

WARP = 32
UNDEFINED = 0xA5A5_A5A5
"""What a shuffle returns of a lane that does not take part."""


class WarpError(RuntimeError):
    """A program does something that is undefined on a GPU."""


class Waiting(NamedTuple):
    """What a thread waits for: an opcode, a mask, a value, and a function that takes the result."""

    opcode: str
    mask: int
    value: Any
    take: Any


# ---------------------------------------------------------------- the warp


def run_warp(threads):
    """Run the threads of a warp to a barrier of the block, and return where they are."""
    for thread in threads:
        thread.waiting = None
    places = [thread.go_on() for thread in threads]
    while lanes := _next_group(threads):
        waiting = {lane: threads[lane].waiting for lane in lanes}
        for lane in lanes:
            threads[lane].waiting = None
            waiting[lane].take({lane: each.value for lane, each in waiting.items()}, lane)
        for lane in lanes:
            places[lane] = threads[lane].go_on()
    return places


def _next_group(threads):
    """Return the lanes that go on: all of a mask, else those of an activemask."""
    alive = sum(1 << lane for lane, thread in enumerate(threads) if thread.frames)
    groups = {}
    for lane, thread in enumerate(threads):
        if thread.frames and isinstance(thread.waiting, Waiting):
            groups.setdefault(thread.waiting[:2], []).append(lane)
    for (opcode, mask), lanes in groups.items():
        if any(not mask >> lane & 1 for lane in lanes) and not opcode.startswith("activemask"):
            raise WarpError(f"{opcode}: the mask {mask:#x} leaves out lane {lanes[0]}")
        if mask and mask & alive == sum(1 << lane for lane in lanes):
            return lanes
    active = [lanes for (opcode, _), lanes in groups.items() if opcode.startswith("activemask")]
    if groups and not active:
        raise WarpError(f"lanes wait for others: {list(groups)}")
    return active[0] if active else []


def release_block(threads):
    """Give the threads at a barrier that counts their result."""
    counted = [thread.waiting for thread in threads if isinstance(thread.waiting, tuple)]
    for value, take in counted:
        take([other for other, _ in counted], value)


# ---------------------------------------------------------------- instructions


def _shuffled(op, values, lane):
    """Return the value of another lane, and whether there is one."""
    mode = op.one_of(("idx", "up", "down", "bfly"))
    _, b, c = values[lane]
    b, clamp, segment = b & 31, c & 31, c >> 8 & 31
    low, high = lane & segment, (lane & segment) | (clamp & ~segment)
    source = {
        "idx": low | (b & ~segment), "up": lane - b, "down": lane + b, "bfly": lane ^ b,
    }[mode]  # fmt: skip
    is_inside = source >= high if mode == "up" else source <= high
    source = source if is_inside else lane
    return (values[source][0] if source in values else UNDEFINED), is_inside


def _voted(op, values):
    """Return the result of a vote."""
    mode = op.one_of(("ballot", "all", "any", "uni"))
    true = [lane for lane, value in values.items() if value]
    if mode == "ballot":
        return sum(1 << lane for lane in true)
    return {"all": len(true) == len(values), "any": bool(true)}.get(
        mode, len(true) in {0, len(values)}
    )


def _matched(op, values, lane):
    """Return the mask of lanes with the same value, and whether that is all of them."""
    same = sum(1 << other for other, value in values.items() if value == values[lane])
    is_all = same == sum(1 << other for other in values)
    return (same if op.has("any") or is_all else 0), is_all


def _two(text):
    """Return the registers of a result and of a predicate, if there is one."""
    name, _, predicate = text.partition("|")
    return name, predicate


def _wait(code, op, to, sources, mask, result):
    """Return an instruction that waits for the lanes of a mask."""
    reads = [code.operand(text) for text in sources]
    get_mask = code.operand(mask) if mask is not None else lambda _: 0
    names = _two(to) if to else ()
    width = op.type.bits if op.types and op.name == "match" else 32

    def step(frame):
        numbers = [get(frame) & ((1 << width) - 1) for get in reads]
        value = numbers[0] if len(numbers) == 1 else tuple(numbers)

        def take(values, lane):
            found = result(values, lane)
            found = found if isinstance(found, tuple) else (found,)
            for name, number in zip(names, found, strict=False):
                if name:
                    frame.registers[name] = int(number)

        opcode = op.text if mask is not None else f"{op.text} at {frame.place}"
        frame.thread.waiting = Waiting(opcode, get_mask(frame) & 0xFFFF_FFFF, value, take)

    return step


def shfl(code, op, operands):
    op.allow("sync idx up down bfly")
    to, *sources, mask = operands
    return _wait(code, op, to, sources, mask, lambda values, lane: _shuffled(op, values, lane))


def vote(code, op, operands):
    op.allow("sync ballot all any uni")
    to, *sources, mask = operands
    return _wait(code, op, to, sources, mask, lambda values, _: _voted(op, values))


def match(code, op, operands):
    op.allow("sync any all")
    to, *sources, mask = operands
    return _wait(code, op, to, sources, mask, lambda values, lane: _matched(op, values, lane))


def activemask(code, op, operands):
    op.allow("")
    return _wait(
        code, op, operands[0], (), None, lambda values, _: sum(1 << lane for lane in values)
    )


def barrier(code, op, operands):
    """Return a barrier of a warp, or one of the block that counts."""
    if op.has("warp"):
        op.allow("warp sync")
        return _wait(code, op, None, (), operands[0], lambda _values, _lane: ())
    op.allow("red cta aligned popc and or")
    to, number, source = operands
    if number != "0":
        op.refuse()
    get = code.operand(source)
    mode = op.one_of(("popc", "and", "or"))
    act = {"popc": sum, "and": all, "or": any}[mode]

    def step(frame):
        def take(values, _):
            frame.registers[to] = int(act(values))

        frame.thread.waiting = get(frame) & 1, take

    return step


MAKERS = {
    "shfl": shfl, "vote": vote, "match": match, "activemask": activemask, "bar": barrier,
    "barrier": barrier,
}  # fmt: skip
"""Name of an instruction -> its decoder."""
