"""The values of a dictionary column: kept with the memory of a chunk, and exported again.

Source: The Arrow C data interface, Dictionary-encoded arrays; the Arrow PyCapsule interface.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._types.devices import CPU
from interchange._types.dtypes import DType
from interchange._types.errors import UnsupportedDeviceError, clip
from interchange._types.layout import MOST_AXES
from interchange.abi import BrokenRule
from interchange.abi.arrow import ArrowArray, ArrowColumn, ArrowSchema
from interchange.abi.arrow_formats import parse_format

from .buffers import check_node
from .exporting import check_keywords
from .types import read_type

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

    from interchange._types.devices import Device
    from interchange.abi.arrow import ArrowField

_MOST_BUFFERS: Final = 2**16
_WIDTHS: Final = {"z": 4, "u": 4, "Z": 8, "U": 8}
"""Format of text or bytes -> the size of an offset [bytes]."""


class Categories:
    """The values of a dictionary column, with the methods of Arrow; nothing is copied.

    ``pyarrow.array``, ``polars.Series`` and `interchange.from_arrow` accept it.  Two are equal if
    they have the same type and the same values: the same memory, or memory on the host with the
    same contents.
    """

    __slots__ = ("_column", "_device", "_event", "_field", "_keep")

    def __init__(
        self, field: ArrowField, column: ArrowColumn, device: Device, event: int, keep: Any
    ) -> None:
        self._field = field
        self._column = column
        self._device = device
        self._event = event
        self._keep = keep

    def __len__(self) -> int:
        """Return the number of values."""
        return self._column.length

    def __repr__(self) -> str:
        """Return the type and the number of values."""
        kind = clip(parse_format(self._field.format).name)
        return f"Categories({kind}, {len(self)} values)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Categories):
            return NotImplemented
        if self._field != other._field or self._device is not other._device:
            return False
        is_host = self._device is CPU
        return self._column == other._column or (
            is_host and _have_one_content(self._field, self._column, other._column)
        )

    def __hash__(self) -> int:
        return hash((self._field, len(self)))

    def __reduce__(self) -> str:
        raise TypeError("categories refer to memory of a column, and cannot be copied or pickled")

    def __arrow_c_schema__(self) -> CapsuleType:
        """Return a capsule of the type."""
        found: CapsuleType = _core.make_arrow_schema(self._field)
        return found

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[CapsuleType, CapsuleType]:
        """Return capsules of the type and of the values, which are on the host.

        Raises
        ------
        UnsupportedDeviceError
            They are on a device (DLP-DEV-6).
        """
        del requested_schema
        if self._device is not CPU or self._event:
            what = f"the categories are on {self._device}"
            hint = "use `__arrow_c_device_array__`"
            raise UnsupportedDeviceError("__arrow_c_array__()", what, "DLP-DEV-6", hint)
        return self._exported(None)

    def __arrow_c_device_array__(
        self, requested_schema: Any = None, **unknown: Any
    ) -> tuple[CapsuleType, CapsuleType]:
        """Return capsules of the type and of the values on their device.

        Raises
        ------
        NotImplementedError
            A keyword is unknown, and not None (ARROW-METHOD-3).
        """
        del requested_schema
        check_keywords(unknown)
        device = self._device
        place = (int(device.type), -1 if device is CPU else device.id, self._event)
        return self._exported(place)

    def _exported(self, device: tuple[int, int, int] | None) -> tuple[CapsuleType, CapsuleType]:
        """Return capsules of the type and of the values."""
        found: tuple[CapsuleType, CapsuleType] = _core.make_arrow(
            self._field, self._column, self._keep, device
        )
        return found


# ---------------------------------------------------------------- structs, read


def read_column(address: int, schema: int, depth: int = 0) -> ArrowColumn:
    """Return the buffers that an `ArrowArray` has, and those of all structs below it.

    `address`, `schema`: addresses of the struct, and of the `ArrowSchema` of its type.

    Raises BrokenRule: as `check_node`; or it has too many levels or buffers (ARROW-FORMAT-2).
    """
    _check_depth(depth)
    level, node = read_type(schema), ArrowArray.from_address(address)
    children = check_node(node, level)
    if not 0 <= node.n_buffers <= _MOST_BUFFERS:
        what = f"an array of {level.format.name} has {node.n_buffers} buffers"
        raise BrokenRule("ARROW-FORMAT-2", what)
    dictionary = None
    if level.has_dictionary:
        values, of_values = node.dictionary, ArrowSchema.from_address(schema).dictionary
        dictionary = read_column(
            ctypes.addressof(values.contents), ctypes.addressof(of_values.contents), depth + 1
        )
    if level.format.kind in {"fixed_size_list", "struct"}:
        stop = (node.offset + node.length) * level.format.each
        for child in children:
            length = ArrowArray.from_address(child).length
            if length < stop:
                what = f"a child has {length} elements, and its parent refers to {stop}"
                raise BrokenRule("ARROW-LENGTH-2", what)
    below = zip(children, level.children, strict=True)
    return ArrowColumn(
        node.length,
        node.null_count,
        node.offset,
        tuple(node.buffers[place] or 0 for place in range(node.n_buffers)),
        tuple(read_column(child, kind, depth + 1) for child, kind in below),
        dictionary,
    )


def _check_depth(depth: int) -> None:
    """Refuse a type whose levels may have no end."""
    if depth > MOST_AXES:
        raise BrokenRule("ARROW-FORMAT-2", f"a type has more than {MOST_AXES} levels")


def _have_one_content(field: ArrowField, one: ArrowColumn, other: ArrowColumn) -> bool:
    """Whether two columns on the host have the same values, as far as their buffers are known."""
    form, width = parse_format(field.format), _WIDTHS.get(field.format)
    if one[:3] != other[:3] or one.null_count or one.offset or field.dictionary is not None:
        return False
    if width is None:
        if form.stored is None or form.kind == "bool":  # bits
            return False
        size = DType.of(form.stored).itemsize
        return _are_equal(one, other, 1, one.length * size * form.each)
    offsets = (one.length + 1) * width
    if not one.length or not _are_equal(one, other, 1, offsets):
        return not one.length
    last = ctypes.string_at(one.buffers[1] + offsets - width, width)
    return _are_equal(one, other, 2, int.from_bytes(last, "little"))


def _are_equal(one: ArrowColumn, other: ArrowColumn, place: int, size: int) -> bool:
    """Whether the first bytes of a buffer of two columns are equal."""
    first, second = one.buffers[place], other.buffers[place]
    return size == 0 or ctypes.string_at(first, size) == ctypes.string_at(second, size)
