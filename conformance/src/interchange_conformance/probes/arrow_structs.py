"""Read Arrow structs: types, arrays, and the elements that they hold.

Source: the Arrow C data interface; the Arrow columnar format, Physical memory layout.  The structs
are read as they are, without validation, which the checks do.  All data are copied, so that no
memory is accessed after a release.
"""

from __future__ import annotations

import ctypes
import datetime as dt
import itertools
import re
import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange.abi.arrow import ArrowArray, ArrowSchema
from interchange_conformance.findings import Found, NotApplicable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MOST: Final = 4096  # limit of children and buffers that are read, for corrupt counts
_LETTERS: Final = {
    "c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q",
    "e": "e", "f": "f", "g": "d",
}  # fmt: skip
"""Format string of a number -> format character of ``struct``."""
_LISTS: Final = {"+l": "i", "+L": "q"}
_LIST_VIEWS: Final = {"+vl": "i", "+vL": "q"}
_TIMES: Final = re.compile(r"(ts|tD)([smu])(?::(.*))?", re.DOTALL)
_SHORT_TIMES: Final = {"tdD"}
_UNITS: Final = {"s": "seconds", "m": "milliseconds", "u": "microseconds"}
_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - of timestamps without a zone
_TEXTS: Final = {"u": "i", "z": "i", "U": "q", "Z": "q"}
_VIEWS: Final = {"vu", "vz"}
_FIXED_LIST: Final = re.compile(r"\+w:([0-9]+)", re.ASCII)
_SHORT: Final = 12  # longest string that is stored inside its view [bytes]


class Type(NamedTuple):
    """The fields of an `ArrowSchema`.

    Attributes
    ----------
    format : bytes or None
        The format string, None for NULL.
    name : bytes or None
        Name of the field, None for NULL.
    metadata : int or None
        Address of the encoded key-value pairs, None for NULL.
    flags, n_children : int
        As in the struct.
    children : tuple[Type or None, ...]
        The child types; None for a NULL pointer, and empty if the vector is NULL.
    dictionary : Type or None
        The type of a dictionary's values.
    address : int
        Address of the struct.
    released : bool
        Whether its release callback is NULL.
    """

    format: bytes | None
    name: bytes | None
    metadata: int | None
    flags: int
    n_children: int
    children: tuple[Type | None, ...]
    dictionary: Type | None
    address: int
    released: bool

    @property
    def text(self) -> str:
        """The format string as text."""
        return (self.format or b"").decode("utf-8", "replace")


class Node(NamedTuple):
    """The fields of an `ArrowArray`.

    Attributes
    ----------
    length, null_count, offset, n_buffers, n_children : int
        As in the struct.
    buffers : tuple[int or None, ...]
        Addresses, None for NULL; empty if the vector is NULL.
    children, dictionary, address, released : object
        As in `Type`.
    """

    length: int
    null_count: int
    offset: int
    n_buffers: int
    n_children: int
    buffers: tuple[int | None, ...]
    children: tuple[Node | None, ...]
    dictionary: Node | None
    address: int
    released: bool


def _pointers(vector: Any, count: int) -> tuple[int | None, ...]:
    """Return the pointers of a vector; empty if it is NULL or the count is out of range."""
    address = ctypes.cast(vector, ctypes.c_void_p).value
    if not address or not 0 < count <= _MOST:
        return ()
    return tuple((ctypes.c_void_p * count).from_address(address))


def _address(pointer: Any) -> int | None:
    """Return the address that a pointer holds, None for NULL."""
    return ctypes.cast(pointer, ctypes.c_void_p).value


def _text(address: int | None) -> bytes | None:
    """Return the bytes up to the terminating NUL."""
    return None if address is None else ctypes.string_at(address)


def read_type(address: int) -> Type:
    """Return the fields of the `ArrowSchema` at an address, and of its children."""
    said = ArrowSchema.from_address(address)
    below = _pointers(said.children, said.n_children)
    dictionary = _address(said.dictionary)
    return Type(
        _text(said.format), _text(said.name), said.metadata, said.flags, said.n_children,
        tuple(None if one is None else read_type(one) for one in below),
        None if dictionary is None else read_type(dictionary), address, not said.release,
    )  # fmt: skip


def read_array(address: int) -> Node:
    """Return the fields of the `ArrowArray` at an address, and of its children."""
    said = ArrowArray.from_address(address)
    below = _pointers(said.children, said.n_children)
    dictionary = _address(said.dictionary)
    return Node(
        said.length, said.null_count, said.offset, said.n_buffers, said.n_children,
        _pointers(said.buffers, said.n_buffers),
        tuple(None if one is None else read_array(one) for one in below),
        None if dictionary is None else read_array(dictionary), address, not said.release,
    )  # fmt: skip


def below_type(one: Type) -> Iterator[Type]:
    """Yield a type and all its descendants that are not NULL."""
    yield one
    for child in (*one.children, one.dictionary):
        if child is not None:
            yield from below_type(child)


def below_array(one: Node) -> Iterator[Node]:
    """Yield an array and all its descendants that are not NULL."""
    yield one
    for child in (*one.children, one.dictionary):
        if child is not None:
            yield from below_array(child)


def pairs(kind: Type, node: Node) -> Iterator[tuple[Type, Node]]:
    """Yield the type and array of every level that both trees have."""
    yield kind, node
    types, nodes = (*kind.children, kind.dictionary), (*node.children, node.dictionary)
    for child, below in zip(types, nodes, strict=False):
        if child is not None and below is not None:
            yield from pairs(child, below)


# ---------------------------------------------------------------- elements


def bit_at(address: int, place: int) -> bool:
    """Return one bit of a bit buffer."""
    return bool(ctypes.string_at(address + place // 8, 1)[0] >> place % 8 & 1)


def elements(kind: Type, node: Node, start: int = 0, count: int | None = None) -> list[Any]:
    """Return elements of an array: None for nulls, lists for lists, dicts for structs.

    Parameters
    ----------
    kind, node : Type, Node
        The type and the array.
    start, count : int, optional
        Index of the first element, relative to the array's first, and number of elements.

    Raises
    ------
    NotApplicable
        Elements of this type cannot be read.
    Found
        A buffer or a child is missing.
    """
    count = node.length - start if count is None else count
    first = node.offset + start
    validity = node.buffers[0] if node.buffers and kind.text != "n" else None
    if count <= 0:
        return []
    found = _stored(kind, node, first, count)
    if validity is None:
        return found
    return [one if bit_at(validity, first + place) else None for place, one in enumerate(found)]


def _stored(kind: Type, node: Node, first: int, count: int) -> list[Any]:
    """Return stored elements, whether null or not; `first` counts from the start of the buffer."""
    text = kind.text
    if text == "n":
        return [None] * count
    if kind.dictionary is not None:
        return _looked_up(kind, node, first, count)
    if text == "b":
        bits = _buffer(kind, node, 1)
        return [bit_at(bits, first + place) for place in range(count)]
    if text in _LETTERS:
        return _numbers(_buffer(kind, node, 1), _LETTERS[text], first, count)
    if stands_for := time_of(text):
        letter = "i" if text in _SHORT_TIMES else "q"
        return list(map(stands_for, _numbers(_buffer(kind, node, 1), letter, first, count)))
    if text in _TEXTS:
        return _texts(kind, node, first, count)
    if text in _VIEWS:
        return _viewed(kind, node, first, count)
    return _nested(kind, node, first, count)


def time_of(text: str) -> Callable[[int], Any] | None:
    """Return what a stored integer of a format stands for: a date, a timestamp or a duration.

    Examples
    --------
    >>> time_of("tsm:UTC")(1500)
    datetime.datetime(1970, 1, 1, 0, 0, 1, 500000, tzinfo=datetime.timezone.utc)
    """
    found = _TIMES.fullmatch(text)
    if text == "tdD":
        return lambda number: (_EPOCH + dt.timedelta(days=number)).date()
    if found is None:
        return None
    unit = _UNITS[found[2]]
    if found[1] == "tD":
        return lambda number: dt.timedelta(**{unit: number})
    zone = dt.timezone.utc if found[3] else None
    start = _EPOCH.replace(tzinfo=zone)
    return lambda number: start + dt.timedelta(**{unit: number})


def _nested(kind: Type, node: Node, first: int, count: int) -> list[Any]:
    """Return the elements of lists as lists and those of structs as dicts."""
    text = kind.text
    if sized := _FIXED_LIST.fullmatch(text):
        size = int(sized[1])
        flat = elements(*_child(kind, node), first * size, count * size)
        return [flat[place * size : (place + 1) * size] for place in range(count)]
    if text in _LISTS:
        ends = _numbers(_buffer(kind, node, 1), _LISTS[text], first, count + 1)
        below = _child(kind, node)
        return [
            elements(*below, ends[place], ends[place + 1] - ends[place]) for place in range(count)
        ]
    if text in _LIST_VIEWS:
        starts, sizes = (
            _numbers(_buffer(kind, node, number), _LIST_VIEWS[text], first, count)
            for number in (1, 2)
        )
        below = _child(kind, node)
        return [elements(*below, *view) for view in zip(starts, sizes, strict=True)]
    if text == "+s":
        columns = {
            (child.name or b"").decode("utf-8", "replace"): elements(child, below, first, count)
            for child, below in zip(kind.children, node.children, strict=True)
            if child is not None and below is not None
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    raise NotApplicable(f"elements of format {text!r} cannot be read here")


def _buffer(kind: Type, node: Node, number: int) -> int:
    """Return the address of a required buffer."""
    address = node.buffers[number] if number < len(node.buffers) else None
    if address is None:
        raise Found(f"an array of format {kind.text!r} has no buffer number {number}")
    return address


def _child(kind: Type, node: Node) -> tuple[Type, Node]:
    """Return the child of a list."""
    child = kind.children[0] if kind.children else None
    below = node.children[0] if node.children else None
    if child is None or below is None:
        raise Found(f"an array of format {kind.text!r} has no child")
    return child, below


def _numbers(address: int, letter: str, first: int, count: int) -> list[Any]:
    """Return contiguous numbers."""
    size = struct.calcsize(f"={letter}")
    data = ctypes.string_at(address + first * size, count * size)
    return list(struct.unpack(f"={count}{letter}", data))


def _texts(kind: Type, node: Node, first: int, count: int) -> list[Any]:
    """Return strings or bytes with offsets."""
    ends = _numbers(_buffer(kind, node, 1), _TEXTS[kind.text], first, count + 1)
    if len(node.buffers) < 3:
        raise Found(f"an array of format {kind.text!r} has {len(node.buffers)} buffers")
    data = node.buffers[2] or 0
    found = [
        ctypes.string_at(data + start, end - start) if end > start else b""
        for start, end in itertools.pairwise(ends)
    ]
    return [_decoded(kind, one) for one in found]


def _viewed(kind: Type, node: Node, first: int, count: int) -> list[Any]:
    """Return strings or bytes with views."""
    views, found = _buffer(kind, node, 1), []
    for place in range(first, first + count):
        view = ctypes.string_at(views + 16 * place, 16)
        (length,) = struct.unpack_from("=i", view)
        if length <= _SHORT:
            found.append(view[4 : 4 + length])
            continue
        number, offset = struct.unpack_from("=ii", view, 8)
        found.append(ctypes.string_at(_buffer(kind, node, 2 + number) + offset, length))
    return [_decoded(kind, one) for one in found]


def _decoded(kind: Type, data: bytes) -> str | bytes:
    """Return bytes decoded according to the type."""
    return data.decode("utf-8", "replace") if kind.text.lower().endswith("u") else data


def _looked_up(kind: Type, node: Node, first: int, count: int) -> list[Any]:
    """Return the values to which indices refer; the indices of nulls may have any value."""
    if kind.dictionary is None or node.dictionary is None:
        raise Found("an array of indices has no dictionary")
    indices = _numbers(_buffer(kind, node, 1), _LETTERS[kind.text], first, count)
    values = elements(kind.dictionary, node.dictionary)
    return [values[index] if 0 <= index < len(values) else None for index in indices]
