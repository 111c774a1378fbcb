"""Both cores check and shift offsets of Arrow lists alike, on aligned and other memory."""

from __future__ import annotations

import ctypes
import struct
from array import array

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

WIDTHS = {4: "i", 8: "q"}
MOST = {width: 2 ** (8 * width - 1) - 1 for width in WIDTHS}
UNLOCKED = 40_000  # offsets that are read without the GIL


def number(width):
    """Return a strategy for offsets, often small or at the limits."""
    limits = st.sampled_from([-1, -MOST[width] - 1, MOST[width], MOST[width] - 1])
    return st.one_of(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5), limits)


class Block:
    """Numbers in memory, perhaps at an odd address."""

    def __init__(self, width, numbers, lead=0):
        data = array(WIDTHS[width], numbers).tobytes()
        self.kept = ctypes.create_string_buffer(bytes(lead) + data, lead + len(data))
        self.address = ctypes.addressof(self.kept) + lead
        self.size, self.width = len(data), width

    def read(self):
        return array(WIDTHS[self.width], ctypes.string_at(self.address, self.size)).tolist()


def expected(starts, ends, most):
    """Return the common length and the first invalid list."""
    sizes = [end - start for start, end in zip(starts, ends, strict=True)]
    rows = enumerate(zip(starts, sizes, ends, strict=True))
    bad = next((i for i, (start, size, end) in rows if min(start, size) < 0 or end > most), -1)
    return (sizes[0] if len(set(sizes)) == 1 else -1), bad


@given(width=st.sampled_from([4, 8]), lead=st.integers(0, 3), data=st.data())
def test_offsets_are_scanned(core, width, lead, data):
    """Bounds, common length and the first invalid list are found, also at an odd address."""
    steps = data.draw(st.one_of(st.lists(st.integers(0, 3), min_size=1), st.just([2, 2, 2])))
    offsets = [sum(steps[:place]) for place in range(len(steps) + 1)]
    for place, value in data.draw(
        st.dictionaries(st.integers(0, len(steps)), number(width), max_size=2)
    ).items():
        offsets[place] = value
    block = Block(width, offsets, lead)
    first, last, step, bad = core.scan_offsets(block.address, len(steps), width)
    length, invalid = expected(offsets[:-1], offsets[1:], MOST[width])

    assert bad == invalid
    assert (first, last) == (
        tuple(offsets[bad : bad + 2]) if bad >= 0 else (offsets[0], offsets[-1])
    )
    assert bad >= 0 or step == length


@given(width=st.sampled_from([4, 8]), lead=st.integers(0, 3), data=st.data())
def test_views_are_scanned(core, width, lead, data):
    """Likewise for lists with an offset and a size each, which are in any order."""
    rows = data.draw(st.lists(st.tuples(number(width), number(width)), min_size=1, max_size=6))
    if data.draw(st.booleans()):
        rows = [(2 * place, 2) for place in range(len(rows))]
    starts, sizes = [start for start, _ in rows], [size for _, size in rows]
    ends = [start + size for start, size in rows]
    blocks = Block(width, starts, lead), Block(width, sizes)
    low, high, step, bad = core.scan_views(*(one.address for one in blocks), len(rows), width)
    length, invalid = expected(starts, ends, MOST[width])
    length = length if length < 1 or starts[1:] == ends[:-1] else -1

    assert bad == invalid
    assert bad < 0 or (low, high) == rows[bad]
    assert bad >= 0 or (low, high, step) == (min(starts), max(ends), length)


@given(width=st.sampled_from([4, 8]), data=st.data())
@example(width=4, data=None)
def test_offsets_are_shifted_if_they_fit(core, width, data):
    """Offsets plus a number are written, unless one is negative or too large."""
    numbers = [0, MOST[width]] if data is None else data.draw(st.lists(number(width)))
    by = 1 if data is None else data.draw(number(8))
    source, target = Block(width, numbers), Block(width, [0] * len(numbers))
    wanted = [value + by for value in numbers]
    fits = all(0 <= value <= MOST[width] for value in numbers + wanted)

    assert core.shift_offsets(source.address, target.address, len(numbers), width, by) is fits
    assert not fits or target.read() == wanted


@pytest.mark.parametrize("width", [4, 8])
def test_many_offsets(core, width):
    """Buffers that are read without the GIL have the same results."""
    numbers = list(range(0, 3 * UNLOCKED, 3))
    block, copy = Block(width, numbers), Block(width, [0] * UNLOCKED)
    address, count = block.address, UNLOCKED - 1

    assert core.scan_offsets(address, count, width) == (0, numbers[-1], 3, -1)
    assert core.scan_views(address, address, count, width) == (0, 2 * numbers[-2], -1, -1)
    assert core.shift_offsets(address, copy.address, UNLOCKED, width, 5)
    assert copy.read() == [value + 5 for value in numbers]


# ---------------------------------------------------------------- text in views


def view_of(text, buffer, start):
    """Return the view of a text: inlined, or with its place in a buffer."""
    if len(text) <= 12:
        return struct.pack("=i12s", len(text), text)
    return struct.pack("=i4sii", len(text), text[:4], buffer, start)


@given(
    texts=st.lists(st.one_of(st.none(), st.binary(max_size=30)), max_size=20),
    first=st.integers(0, 9),
)
def test_text_in_views_is_joined(core, texts, first):
    """Texts of two buffers are joined, and null ones are empty, whatever their views are."""
    blocks, views = [b"", b""], []
    for place, text in enumerate(texts):
        if text is None:
            views.append(struct.pack("=4i", -1, -1, -1, -1))
            continue
        views.append(view_of(text, place % 2, len(blocks[place % 2])))
        blocks[place % 2] += text
    bits = sum(1 << first + place for place, text in enumerate(texts) if text is not None)
    kept = [ctypes.create_string_buffer(one) for one in (b"".join(views), *blocks)]
    bitmap = ctypes.create_string_buffer(bits.to_bytes(8, "little"))
    views_at, *places = (ctypes.addressof(one) for one in kept)
    offsets, wanted = Block(8, [9] * (len(texts) + 1)), b"".join(text or b"" for text in texts)
    target = ctypes.create_string_buffer(len(wanted) + 1)
    given_sizes = struct.pack("=2q", *map(len, blocks))
    bad = core.measure_views(
        views_at, len(texts), ctypes.addressof(bitmap), first, given_sizes, offsets.address
    )
    addresses = struct.pack("=2Q", *places)
    core.join_views(views_at, len(texts), addresses, offsets.address, ctypes.addressof(target))
    ends = [len(b"".join(text or b"" for text in texts[:n])) for n in range(len(texts) + 1)]

    assert (bad, offsets.read(), target.raw[:-1]) == (-1, ends, wanted)


@pytest.mark.parametrize(
    "view", [(-1, 0, 0, 0), (13, 0, 2, 0), (13, 0, -1, 0), (13, 0, 0, -1), (13, 0, 0, 8)]
)
def test_a_view_outside_of_its_buffer_is_found(core, view):
    """Its index is returned, and no text is read."""
    block, offsets = (
        ctypes.create_string_buffer(struct.pack("=8i", *[0] * 4, *view)),
        Block(8, [0] * 3),
    )
    sizes = struct.pack("=2q", 20, 20)

    assert core.measure_views(ctypes.addressof(block), 2, 0, 0, sizes, offsets.address) == 1
