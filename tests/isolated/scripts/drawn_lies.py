"""Invalid Arrow producers with several faults at once, drawn by a seed: prints what is wrong.

Each is accepted, or refused by a rule; all its structs are released once, while the error is
handled.  Values that cannot be checked are left out: those of bits, bytes of bools and offsets of
lists, which are read.  The arguments are a seed and a number of draws; the last line has the
numbers of accepted and refused producers.  Correct producers are imported first, so that the native
core reads those that follow.
"""

from __future__ import annotations

import random
import struct
import sys
from collections import Counter

import interchange as ix
from interchange_conformance.zoo import arrow
from interchange_conformance.zoo.arrow.columns import extension

NUMBERS = (
    *(0, 1, -1, 2, 3, 5, 6, 7, 12, 64, 65),
    *(2**31 - 1, 2**31, 2**32, 2**60, 2**61, 2**62, 2**63 - 1, -(2**63)),
)
FORMATS = (
    *("c", "f", "g", "e", "n", "u", "+w:3", "+w:0", "+w:1", "+w:2147483647", "w:0", "w:1", "w:16"),
    *("w:2147483647", "+s", "+r", "+us:0,1", "tdD", "tsu:", "d:1,2", "x", "", None, b"\xff"),
)
METADATA = (
    None,
    struct.pack("=i", 0),
    struct.pack("=i", -1),
    extension("arrow.fixed_shape_tensor", '{"shape": [3]}'),
    extension("arrow.fixed_shape_tensor", '{"shape": [2, 3], "permutation": [1, 0]}'),
    extension("arrow.fixed_shape_tensor", '{"shape": [0, 3]}'),
    extension("mylib.metres"),
)
IN_FIELDS = {
    "format": FORMATS,
    "metadata": METADATA,
    "flags": NUMBERS,
    "n_children": [number for number in NUMBERS if number < 64],  # a struct's fields are all read
    "has_children": (False,),
    "release": (False,),
    "dictionary": (None, arrow.Field("u")),
}
IN_CHUNKS = {
    **dict.fromkeys(("length", "offset", "null_count", "n_buffers", "n_children"), NUMBERS),
    **dict.fromkeys(("has_buffers", "has_children", "release"), (False,)),
    "dictionary": (None, arrow.Chunk()),
    "buffers": tuple((None, address) for address in (None, 4096, 4097, 2**63, 2**64 - 8)),
}
HONEST = (
    arrow.numbers,
    lambda: arrow.numbers("float64", offset=2),
    arrow.lists,
    lambda: arrow.lists("int8", (3, 2, 2)),
    arrow.tensors,
    arrow.dictionary,
    lambda: arrow.table(x=arrow.numbers()),
)
PLACES = [arrow.Place(kind, number) for kind in (1, 0, 99) for number in (0, -1, 2**40)]


def paths(node):
    """Return the paths to a node and to all below it that are there."""
    found, path = [()], ()
    while node.children:
        node, path = node.children[0], (*path, 0)
        found.append(path)
    return found


def lying(chance):
    """Draw a producer with up to four faults."""
    source = chance.choice(HONEST)()
    ends = {"field": paths(source.field), "chunk": paths(source.chunks[0])}
    for _ in range(chance.randint(1, 4)):
        part, table = chance.choice([("field", IN_FIELDS), ("chunk", IN_CHUNKS)])
        name = chance.choice(list(table))
        change = {name: chance.choice(table[name])}
        source = source.at(chance.choice(ends[part]), **{part: change})
    how = chance.random()
    if how < 0.3:
        return source.as_stream()
    return source.as_device_array(chance.choice(PLACES)) if how < 0.4 else source


def keywords(chance):
    """Draw the arguments of the import; accepted memory is not copied, since it cannot be read."""
    asked = {"nulls": ("refuse", "separate"), "storage": (False, True), "copy": (None, False)}
    drawn = {name: chance.choice(values) for name, values in asked.items()}
    return {name: value for name, value in drawn.items() if value != asked[name][0]}


def outcome(source, asked):
    """Return the rule by which it was refused, and whether all was released by then."""
    try:
        ix.from_arrow(source, **asked)
    except ix.InterchangeError as error:
        error.taken = None  # of a stream
        return error.rule, source.counts == source.due
    return "taken", True


def draw(seed, times):
    chance, found = random.Random(seed), Counter()  # noqa: S311 - no secret
    plain = arrow.numbers()
    for source in (plain, plain.as_stream(), plain.as_device_array(PLACES[0])):
        ix.from_arrow(source)
    for _ in range(times):
        source, asked = lying(chance), keywords(chance)
        rule, released = outcome(source, asked)
        if not released or source.counts != source.due:
            print(rule, asked, source.counts, source.due, source.field, source.chunks)
        found["taken" if rule == "taken" else "refused"] += 1
        source.forget()
    print(found["taken"] > 0, found["refused"] > found["taken"])


if __name__ == "__main__":
    draw(*map(int, sys.argv[1:]))
