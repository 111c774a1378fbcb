"""The figures of the guide on columns: their memory layout, and the references that keep it alive.

Source: Arrow columnar format; C data interface; canonical extension types.  A figure is computed
from the buffer, shape and strides of an array; tests compare these with real columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from drawing import CELL, ROW, WIDTH, arrow, box, brace, cells, drawing, words

if TYPE_CHECKING:
    from collections.abc import Callable

_LEFT: Final = 126  # left edge of the elements, to the right of the labels


class Layout(NamedTuple):
    """A column in memory, and the array that it is.

    Attributes
    ----------
    buffer : tuple[int, ...]
        All elements of the buffer.
    validity : tuple[bool, ...]
        Whether each row of the buffer is there; empty where all are.
    offset : int
        Of the first row [rows].
    shape : tuple[int, ...]
        Of the array; the first extent is the number of rows.
    strides : tuple[int, ...]
        Of the array [elements].
    """

    buffer: tuple[int, ...]
    validity: tuple[bool, ...]
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def row(self) -> int:
        """Elements of a row."""
        size = 1
        for extent in self.shape[1:]:
            size *= extent
        return size

    def place(self, *index: int) -> int:
        """Return where in the buffer an element of the array is."""
        steps = sum(one * step for one, step in zip(index, self.strides, strict=True))
        return self.offset * self.row + steps


PRIMITIVE: Final = Layout((7, 1, 0, 4, 5, 9), (True, True, False, True, True, True), 1, (4,), (1,))
"""``pa.array([7, 1, None, 4, 5, 9]).slice(1, 4)``."""
LISTS: Final = Layout(tuple(range(12)), (), 0, (3, 4), (4, 1))
"""A column of 3 lists of 4 numbers."""
NESTED: Final = Layout(tuple(range(12)), (), 0, (2, 2, 3), (6, 3, 1))
"""A column of 2 lists, each of 2 lists of 3 numbers."""
TENSORS: Final = Layout(tuple(range(12)), (), 0, (2, 3, 2), (6, 1, 3))
"""A column of 2 tensors of shape (2, 3), whose permutation is (1, 0)."""
BITS: Final = (True, False, True, True, False)
"""A column of bools."""
CHUNKS: Final = ((0, 1, 2), (3, 4), (5, 6, 7))
"""A column in chunks."""


def primitive_figure() -> str:
    """Return the figure of a column of numbers, with an offset and nulls."""
    one = PRIMITIVE
    rows = range(one.offset, one.offset + one.shape[0])
    texts = [str(value) if there else "?" for value, there in _pairs(one)]
    kinds = [
        "chip" if place not in rows else "core" if there else "null"
        for place, (_, there) in enumerate(_pairs(one))
    ]
    inner = _LEFT + CELL * one.offset
    parts = [
        *brace(inner, 26, CELL * len(rows), f"offset {one.offset}, length {len(rows)}"),
        words(4, 50, "validity"),
        *cells(_LEFT, 32, [str(int(there)) for there in one.validity], "bit"),
        words(4, 88, "data"),
        *cells(_LEFT, 70, texts, kinds),
        arrow(inner + 2 * CELL, 104, 24),
        words(4, 154, "data, shared", "head"),
        *cells(inner, 136, [texts[place] for place in rows], [kinds[place] for place in rows]),
        words(4, 192, "mask, a copy", "head"),
        *cells(inner, 174, [str(int(one.validity[place])) for place in rows], "bit"),
    ]
    described = (
        f"The validity has a bit for each of {len(one.buffer)} elements of the data. The column "
        f"has an offset of {one.offset} and a length of {len(rows)}. The array of the data begins "
        f"at element {one.offset} of the same memory; the mask has a bool for each element."
    )
    return drawing("A column of numbers with an offset and nulls", described, 206, parts)


def _pairs(one: Layout) -> list[tuple[int, bool]]:
    """Return each element of a buffer, and whether it is there."""
    return list(zip(one.buffer, one.validity, strict=True))


def lists_figure() -> str:
    """Return the figure of a column of lists of one length."""
    parts = _buffer(LISTS, 32, "row")
    parts += [arrow(_LEFT + 2 * CELL, 68, 24), *_named("Array", LISTS, 118)]
    parts += _grid(LISTS, (), _LEFT, 100)
    return drawing("A column of lists of one length", _described(LISTS), 100 + 3 * ROW + 4, parts)


def nested_figure() -> str:
    """Return the figure of a column of nested lists."""
    parts = [*_buffer(NESTED, 32, "row"), arrow(_LEFT + 2 * CELL, 68, 24)]
    parts += _named("Array", NESTED, 118)
    for place in range(NESTED.shape[0]):
        parts += _grid(NESTED, (place,), _LEFT + 5 * CELL * place, 100)
    return drawing("A column of nested lists", _described(NESTED), 164, parts)


def tensors_figure() -> str:
    """Return the figure of a column of tensors whose axes are permuted."""
    parts = [*_buffer(TENSORS, 32, "tensor"), arrow(_LEFT + 2 * CELL, 68, 24)]
    parts += _named("Array", TENSORS, 118)
    for place in range(TENSORS.shape[0]):
        parts += _grid(TENSORS, (place,), _LEFT + 5 * CELL * place, 100)
    return drawing("A column of tensors", _described(TENSORS), 100 + 3 * ROW + 4, parts)


def _buffer(one: Layout, y: float, row: str) -> list[str]:
    """Return the buffer of a column, whose rows have brackets."""
    parts = [words(4, y + 18, "data")]
    for place in range(one.shape[0]):
        left = _LEFT + CELL * one.row * place
        parts += brace(left, y - 6, CELL * one.row, f"{row} {place}")
    return [*parts, *cells(_LEFT, y, [str(value) for value in one.buffer], "core")]


def _named(name: str, one: Layout, y: float) -> list[str]:
    """Return the label, the shape and the strides of an array."""
    return [
        words(4, y, name, "head"),
        words(4, y + 20, f"shape {one.shape}", "small"),
        words(4, y + 40, f"strides {one.strides}", "small"),
    ]


def _grid(one: Layout, outer: tuple[int, ...], x: float, y: float) -> list[str]:
    """Return the two inner axes of an array as rows of elements."""
    height, width = one.shape[len(outer) :]
    parts = []
    for down in range(height):
        texts = [str(one.buffer[one.place(*outer, down, across)]) for across in range(width)]
        parts += cells(x, y + ROW * down, texts, "core")
    return parts


def _described(one: Layout) -> str:
    """Return the figure of an array of lists or tensors."""
    return (
        f"The data are {len(one.buffer)} elements side by side, {one.row} to a row. The array has "
        f"the same memory, the shape {one.shape} and the strides {one.strides}, in elements."
    )


def bits_figure() -> str:
    """Return the figure of a column of bools, which are bits, and of one whose bools are bytes."""
    count = len(BITS)
    bits = [str(int(bit)) for bit in BITS] + ["0"] * (8 - count)
    numbers = [str(int(bit)) for bit in BITS]
    parts = [
        *brace(_LEFT, 26, 8 * CELL, "one byte, its lowest bit first"),
        words(4, 50, "bool"),
        *cells(_LEFT, 32, bits, ["bit"] * count + ["chip"] * (8 - count)),
        arrow(_LEFT + 2 * CELL, 66, 24),
        words(_LEFT + 2 * CELL + 16, 83, "a copy", "small"),
        words(4, 116, "Array", "head"),
        *cells(_LEFT, 98, numbers, "bit"),
        *brace(_LEFT, 164, CELL, "one byte"),
        words(4, 188, "arrow.bool8"),
        *cells(_LEFT, 170, numbers, "core"),
        arrow(_LEFT + 2 * CELL, 204, 24),
        words(_LEFT + 2 * CELL + 16, 221, "shared", "small"),
        words(4, 254, "Array", "head"),
        *cells(_LEFT, 236, numbers, "core"),
    ]
    described = (
        "A column of bools packs eight of them into a byte, the first into its lowest bit; an "
        "array of bytes is a copy. A column of the extension arrow.bool8 has a byte for each bool, "
        "which an array shares."
    )
    return drawing("Bools as bits and as bytes", described, 268, parts)


def chunks_figure() -> str:
    """Return the figure of columns in one chunk, and in several."""
    first, *_ = CHUNKS
    parts = [
        words(4, 20, "one chunk"),
        *cells(_LEFT, 2, [str(value) for value in first], "core"),
        arrow(_LEFT + 1.5 * CELL, 36, 24),
        words(_LEFT + 1.5 * CELL + 16, 53, "shared", "small"),
        words(4, 86, "Array", "head"),
        *cells(_LEFT, 68, [str(value) for value in first], "core"),
        words(4, 150, "chunks"),
    ]
    x = float(_LEFT)
    for chunk in CHUNKS:
        parts += cells(x, 132, [str(value) for value in chunk], "core")
        parts.append(arrow(x + CELL * len(chunk) / 2, 166, 24))
        x += CELL * len(chunk) + 20
    every = [str(value) for chunk in CHUNKS for value in chunk]
    parts += [
        words(x - 14, 183, "copy=True", "small"),
        words(4, 216, "Array", "head"),
        *cells(_LEFT, 198, every, "bit"),
    ]
    described = (
        "The only chunk of a column is shared by an array. Several chunks lie apart, and become "
        "one array by a copy, which copy=True asks for."
    )
    return drawing("A column in one chunk, and in several", described, 230, parts)


# ---------------------------------------------------------------- who keeps whom

IN: Final = (
    ("Array, and what shares its memory", "core", "keeps"),
    ("an owner of the ArrowArray, taken out of its capsule", "chip", "calls release, once"),
    ("the column of pyarrow, Polars, DuckDB, nanoarrow", "protocol", "keeps"),
    ("buffers", "protocol", ""),
)
"""The owners of an imported column's memory: text, class, and the relation to the next one."""
OUT: Final = (
    ("the column of pyarrow, Polars, DuckDB, nanoarrow", "protocol", "calls release, once"),
    ("an ArrowArray, whose release is C of the native core", "chip", "keeps"),
    ("Array", "core", "keeps"),
    ("its owner: an ndarray, a tensor, a mapped file", "core", ""),
)
"""The owners of an exported column's memory."""


def ownership_figure(direction: str) -> str:
    """Return the figure of the references between owners, for one direction:

    ``"in"`` or ``"out"``.
    """
    chain, title = {
        "in": (IN, "Who keeps what came in"),
        "out": (OUT, "Who keeps what went out"),
    }[direction]
    parts, y = [], 2.0
    for text, kind, does in chain:
        parts += [
            box(40, y, WIDTH - 80, 32, kind),
            words(WIDTH / 2, y + 21, text, anchor="middle"),
        ]
        if does:
            parts += [
                arrow(WIDTH / 2, y + 36, 24),
                words(WIDTH / 2 + 16, y + 53, does, "small"),
            ]
        y += 66
    described = ". ".join(f"{text} {does}".strip() for text, _, does in chain)
    return drawing(title, described, y - 30, parts)


FIGURES: Final[dict[str, Callable[..., str]]] = {
    "primitive": primitive_figure,
    "lists": lists_figure,
    "nested": nested_figure,
    "tensors": tensors_figure,
    "bits": bits_figure,
    "chunks": chunks_figure,
    "in": lambda: ownership_figure("in"),
    "out": lambda: ownership_figure("out"),
}
"""Name of a figure on a page -> the function that draws it."""
