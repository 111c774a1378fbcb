"""Columns to be exported, built from arrays, pairs of values and offsets, lists, records, dicts.

Source: Arrow columnar format; The Arrow C data interface; canonical extension types.
"""

from __future__ import annotations

from array import array as numbers
from functools import reduce
from itertools import accumulate
from operator import and_
from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._array import Array, transfers
from interchange._array.empty_arrays import empty_array
from interchange._array.host_copies import copy_elements
from interchange._protocols.arrow.elements import VARIABLE_TENSOR
from interchange._protocols.arrow.exporting import column_of, field_of, order_in_memory
from interchange._protocols.arrow.representations import bits_of, convert, metadata_of
from interchange._protocols.host import check_host
from interchange._protocols.protocol_attributes import is_mapping, is_read_once
from interchange._streams.ordering import wait_on_host
from interchange._types.devices import CPU
from interchange._types.dtypes import DType
from interchange._types.errors import (
    SEVERAL_USED_UP,
    ArgumentError,
    CopyNeededError,
    ExchangeError,
    InterchangeError,
    UnsupportedDTypeError,
    ViewError,
    show,
)
from interchange._types.layout import Layout
from interchange._types.spec import Spec
from interchange.abi import PyCapsule, buffer_address
from interchange.abi._records import NamedTuple
from interchange.abi.arrow import ARROW_FLAG_NULLABLE, ArrowColumn, ArrowField
from interchange.abi.arrow_formats import EXTENSION_METADATA, EXTENSION_NAME, encode_metadata

from .arrow_numpy import elements_of
from .importing import import_any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interchange._protocols.arrow.meaning import Meaning
    from interchange._types.devices import Device

CALL: Final = "to_arrow()"
_BOOL: Final = DType.of("bool")
_UINT8: Final = DType.of("uint8")
_MOST: Final = 2**31 - 1  # an offset of 32 bits
_PAIR: Final = 2  # values and offsets; a third item has the sizes of list views
_NO_ARRAYS: Final = (int, float, complex, str, list, type(None))  # items of lists of numbers
_FORMATS: Final = {"int32": ("+l", "+vl"), "int64": ("+L", "+vL")}
"""Dtype of offsets -> formats of lists, and of list views."""


class Part(NamedTuple):
    """A column, or a field of one."""

    field: ArrowField
    memory: ArrowColumn
    arrays: tuple[Array, ...]  # whose memory it is, with that of bitmaps


class Options(NamedTuple):
    """What the user says about one column."""

    name: str = ""
    mask: Any = None
    nullable: Any = None
    metadata: Any = None
    meaning: Any = None


class Builder:
    """Builds one export; remembers what was imported, for errors.

    `kind`, `bools`: as for `interchange.to_arrow`.
    """

    def __init__(self, kind: str, bools: str | None) -> None:
        self.kind = kind
        self.bools = bools
        self.taken: list[tuple[Any, Array]] = []  # what was given, and its Array
        self.current: Any = None  # what is being imported

    def build(self, x: Any, options: Options) -> Part:
        """Return the column of what the user passed; errors keep what can be read once."""
        if is_mapping(x) and isinstance(options.nullable, bool):  # of all columns of a table
            options = options._replace(nullable=dict.fromkeys(x, options.nullable))
        try:
            return self.part(x, options)
        except InterchangeError as error:
            self.keep_for(error, x)
            raise

    def keep_for(self, error: InterchangeError, x: Any) -> None:
        """Raise an error that keeps the Arrays of all sources that can be read once."""
        known: dict[int, Any] = {
            id(given): array for given, array in self.taken if is_read_once(given)
        }
        if error.taken is not None:
            known[id(self.current)] = error.taken
        if known:
            advice = () if id(x) in known else (SEVERAL_USED_UP,)
            raise error._with(_replaced(x, known), *advice) from error.__cause__

    def take(self, x: Any) -> Array:
        """Return the Array of one array."""
        self.current = x
        array: Array = import_any(x, call=CALL)
        self.taken.append((x, array))
        return array

    # ------------------------------------------------------------ columns

    def part(self, x: Any, options: Options, *, nested: bool = False) -> Part:
        """Return the column of an array or of several; `nested` for a field, or for elements."""
        options = _with_meaning(x, options)
        if is_mapping(x):
            part = self.struct(x, options)
        elif isinstance(x, tuple) and not all(type(item) is PyCapsule for item in x):
            part = self.ragged(x, options.mask, options.meaning)
        elif isinstance(x, list) and not (x and isinstance(x[0], _NO_ARRAYS)):
            part = self.listed(x, options.mask)
        elif options.meaning is not None:
            part = self.meant(x, options.mask, options.meaning)
        else:
            part = self.array(x, options.mask, nested=nested)
        return _described(part, options)

    def array(self, x: Any, mask: Any, *, nested: bool) -> Part:
        """Return the column of one array."""
        element, valid = None, None
        try:
            array = self.take(x)
        except UnsupportedDTypeError:
            found = elements_of(x, CALL)
            if found is None:
                raise
            if isinstance(found, dict):
                return self.struct(found, Options(mask=mask))
            array, element, valid = self.take(found.values), found.element, found.valid
        kind = "column" if nested and array.ndim == 1 else self.kind
        field = field_of(array, kind, "", CALL, element)
        part = Part(field, column_of(array, field), (array,))
        if array._spec.dtype is _BOOL and self.bools == "bits" and array.device is not CPU:
            part = self.bits(part, array)
        if mask is None and valid is None:
            return part
        shape = array.shape[:-1] if element and element.format.startswith("w:") else array.shape
        return self.masked(part, mask, valid, shape, _order_of(array, kind))

    def meant(self, x: Any, mask: Any, meaning: Meaning) -> Part:
        """Return the column of one array, of the type of a meaning."""
        from interchange._protocols.arrow.meant_columns import meant_column  # rarely needed

        array = self.take(x)
        found = meant_column(array, meaning, CALL)
        arrays = (array,) if meaning.categories is None else (array, _keeping(array, meaning))
        part = Part(found.field, found.memory, arrays)
        if mask is not None:
            valid = self.take(mask)
            if valid.shape == array.shape and valid.ndim > len(found.shape):
                valid = valid[..., 0]  # of words or bytes, which are null together
            part = self.masked(part, valid, None, found.shape, found.order)
            if part.memory.null_count and not meaning.nullable:
                what = f"{part.memory.null_count} elements are null, and the type is not nullable"
                hint = "fill the nulls first, or pass a meaning whose type is nullable"
                raise ExchangeError(CALL, what, "ARROW-OUT-5", hint)
        if array.device is not CPU:  # where lists keep one length
            is_bits = array._spec.dtype is _BOOL and not meaning.extension
            return self.bits(part, array) if is_bits else part
        made: list[Any] = []
        wait_on_host(array, CALL)
        field, memory = convert(found.field, part.memory, found.target, made)
        return Part(field, memory, (*part.arrays, *map(host_array, made)))

    def bits(self, part: Part, array: Array) -> Part:
        """Return a column of bools as bits, made on the host for memory of a device."""
        bits, _ = _packed([array], array.device)
        memory = _at_leaf(part.memory, (0, bits.ptr), 0)
        return Part(bits_of(part.field), memory, (bits,))

    def struct(self, x: Mapping[Any, Any], options: Options) -> Part:
        """Return the column of several arrays by name: a table, or a field with fields."""
        for name in x:
            check_name(name, "a column is called")
        masks = _by_column(options.mask, "mask", x)
        nullable = _by_column(options.nullable, "nullable", x)
        metadata = _by_column(_of_columns(options.metadata), "metadata", x)
        meanings = _by_column(options.meaning, "meaning", x)
        parts = [
            self.part(
                value,
                Options(
                    name,
                    masks.get(name),
                    nullable.get(name),
                    metadata.get(name),
                    meanings.get(name),
                ),
                nested=True,
            )
            for name, value in x.items()
        ]
        _check_alike(parts)
        memory = tuple(part.memory for part in parts)
        length = memory[0].length if memory else 0
        part = Part(
            ArrowField("+s", children=tuple(part.field for part in parts)),
            ArrowColumn(length, buffers=(0,), children=memory),
            tuple(array for part in parts for array in part.arrays),
        )
        mask = None if is_mapping(options.mask) else options.mask
        return part if mask is None else self.masked(part, mask, None, (length,))

    # ------------------------------------------------------------ lists

    def ragged(self, x: tuple[Any, ...], mask: Any, meaning: Any = None) -> Part:
        """Return the column of lists of any length: of values and offsets, or views with sizes."""
        if len(x) not in {_PAIR, _PAIR + 1}:
            what, hint = f"a tuple of {len(x)} items", "pass a tuple (values, offsets)"
            raise ArgumentError(CALL, what, "IX-ARGUMENT-1", hint)
        has_two = isinstance(mask, tuple) and len(mask) == _PAIR
        of_values, of_rows = mask if has_two else (None, mask)
        child = self.part(x[0], Options("item", of_values, meaning=meaning), nested=True)
        bounds = [self.offsets(one) for one in x[1:]]
        if len({one.dtype for one in bounds}) > 1:
            what = f"offsets are {bounds[0].dtype}, and sizes are {bounds[1].dtype}"
            raise UnsupportedDTypeError(CALL, what, "ARROW-OUT-6")
        _check_devices([array.device for array in (*child.arrays[:1], *bounds)])
        rows = bounds[0].size - (len(bounds) == 1)
        _check_offsets(bounds, rows, child.memory.length)
        memory = ArrowColumn(
            rows, buffers=(0, *(one.ptr for one in bounds)), children=(child.memory,)
        )
        form = _FORMATS[str(bounds[0].dtype)][len(bounds) - 1]
        part = Part(ArrowField(form, children=(child.field,)), memory, (*child.arrays, *bounds))
        return part if of_rows is None else self.masked(part, of_rows, None, (rows,))

    def offsets(self, x: Any) -> Array:
        """Return the Array of offsets or sizes."""
        array = self.take(x)
        if str(array.dtype) not in _FORMATS or array.ndim != 1:
            what = f"offsets are {array.dtype} of shape {array.shape}"
            raise UnsupportedDTypeError(CALL, what, "ARROW-OUT-6")
        if not array._spec.layout.is_c_contiguous:
            what = f"offsets have a stride of {array.strides[0]}"
            raise CopyNeededError(CALL, what, "ARROW-OUT-2", "pass contiguous offsets")
        return array

    def listed(self, x: list[Any], mask: Any) -> Part:
        """Return the column of arrays of different lengths or shapes, which are copied into one."""
        arrays = [self.take(item) for item in x]
        _check_items(arrays, self.kind)
        values, bounds = _concatenated(arrays)
        child = field_of(values, "column", "item", CALL)
        field = ArrowField(_FORMATS[str(bounds.dtype)][0], "data", children=(child,))
        memory = ArrowColumn(len(x), buffers=(0, bounds.ptr), children=(column_of(values, child),))
        part = Part(field, memory, (values, bounds))
        if self.kind == "tensor":
            part = _variable_tensors(part, arrays)
        return part if mask is None else self.masked(part, mask, None, (len(x),))

    # ------------------------------------------------------------ nulls

    def masked(
        self,
        part: Part,
        mask: Any,
        valid: Any,
        shape: tuple[int, ...],
        order: tuple[int, ...] = (),
    ) -> Part:
        """Return a column with nulls: of rows, or of the values in lists.

        `mask`: bools of the user, or None.
        `valid`: bools that were computed, or None.
        `shape`: the shape of the array.
        `order`: the axes of each element in the order of memory; empty if it is theirs.
        """
        levels: dict[bool, list[Array]] = {True: [], False: []}  # whether it has a bool for a row
        if mask is not None:
            found = self.mask(mask, shape)
            levels[found.ndim == 1].append(found)
        if valid is not None:
            levels[len(shape) == 1].append(self.take(valid))
        for is_of_rows, masks in levels.items():
            if not masks:
                continue
            moved = order and not is_of_rows
            in_memory = [found.permute_dims((0, *order)) if moved else found for found in masks]
            bits, nulls = _packed(in_memory, part.arrays[0].device if part.arrays else CPU)
            if nulls and is_of_rows:
                buffers = (bits.ptr, *part.memory.buffers[1:])
                memory = part.memory._replace(null_count=nulls, buffers=buffers)
                part = part._replace(memory=memory, arrays=(*part.arrays, bits))
            elif nulls:
                memory = _at_leaf(part.memory, (bits.ptr,), nulls)
                part = part._replace(memory=memory, arrays=(*part.arrays, bits))
        return part

    def mask(self, x: Any, shape: tuple[int, ...]) -> Array:
        """Return the Array of a mask, with one axis if it has a bool for each row."""
        array = self.take(x)
        if array._spec.dtype is not _BOOL:
            what = f"the mask has elements of {array.dtype}"
            raise UnsupportedDTypeError(CALL, what, "ARROW-OUT-4")
        if array.shape not in {shape, shape[:1]}:
            what = f"the mask has shape {array.shape}, for shape {shape}"
            raise ViewError(CALL, what, "ARROW-OUT-4", f"pass bools of shape {shape[:1]}")
        if array.ndim > 1 and array.size and not any(array.strides[1:]):
            key: Any = (slice(None), *[0] * (array.ndim - 1))
            return array[key]
        return array


def _with_meaning(x: Any, options: Options) -> Options:
    """Return the options with a `Meaning`, whose name is that of the column by default."""
    from interchange._protocols.arrow.meaning import Meaning  # rarely needed

    meaning = options.meaning
    if meaning is None or is_mapping(x):
        return options
    if isinstance(x, list):
        hint = "pass values and offsets, or omit `meaning=`"
        raise ArgumentError(CALL, "meaning= for a list of arrays", "IX-ARGUMENT-1", hint)
    meaning = meaning if type(meaning) is Meaning else Meaning.of(meaning)
    name = options.name or meaning.name
    return options._replace(meaning=meaning, name=name)


def _keeping(array: Array, meaning: Meaning) -> Array:
    """Return an array without elements that keeps the categories, on the device of the indices."""
    spec = Spec(_UINT8, array.device, Layout((0,), (1,)))
    return _core.describe(0, spec, 0, meaning.categories, meaning.categories, Array)


def _order_of(array: Array, kind: str) -> tuple[int, ...]:
    """Return the axes of tensors in the order of memory; none for lists, and for C order."""
    if kind != "tensor" or array._spec.layout.is_c_contiguous:
        return ()
    return tuple(axis + 1 for axis in order_in_memory(array._spec.layout))


def _at_leaf(memory: ArrowColumn, buffers: tuple[int, ...], nulls: int) -> ArrowColumn:
    """Return a column whose values have the given first buffers."""
    if memory.children:
        return memory._replace(children=(_at_leaf(memory.children[0], buffers, nulls),))
    buffers = (*buffers, *memory.buffers[len(buffers) :])
    return memory._replace(null_count=nulls, buffers=buffers)


def _packed(masks: list[Array], device: Device) -> tuple[Array, int]:
    """Return the bits that are True in all masks, on a device, and how many are not."""
    size, ones = masks[0].size, 0
    blocks = []
    for mask in masks:
        found = transfers.move(mask, CPU, None, CALL)
        found = found if found._spec.layout.is_c_contiguous else found.copy()
        wait_on_host(found, CALL)
        blocks.append(bytearray((size + 7) >> 3))
        if size:
            ones = _core.pack_bits(found.ptr, size, buffer_address(memoryview(blocks[-1])))
    if len(blocks) > 1:
        bits = reduce(and_, (int.from_bytes(block, "little") for block in blocks))
        ones = bits.bit_count()
        blocks[0] = bytearray(bits.to_bytes(len(blocks[0]), "little"))
    target = host_array(blocks[0])
    if device is not CPU:
        target = transfers.move_back(target, device, None, CALL)
    return target, size - ones


def host_array(block: bytearray, dtype: DType = _UINT8) -> Array:
    """Return an array of one axis over a block of bytes."""
    spec = Spec(dtype, CPU, Layout((len(block) // dtype.itemsize,), (1,)))
    ptr = buffer_address(memoryview(block)) if block else 0
    return _core.describe(ptr, spec, 0, block, memoryview(block), Array)


# ---------------------------------------------------------------- names and metadata


def check_name(name: object, what: str) -> None:
    """Refuse a name that cannot be a C string: with NUL, or not valid UTF-8."""
    try:
        if isinstance(name, str) and b"\0" not in name.encode():
            return
    except UnicodeEncodeError:  # half a surrogate pair
        pass
    hint = "name columns by text without NUL"
    raise ArgumentError(CALL, f"{what} {show(name)}", "IX-ARGUMENT-1", hint)


def _by_column(given: Any, what: str, columns: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return an argument by column, which is none if it is not given by column."""
    if not is_mapping(given):
        return {}
    for name in given:
        if name not in columns:
            known = ", ".join(map(show, columns))
            hint = f"name columns of the table: {known}"
            raise ArgumentError(CALL, f"{what}= has {show(name)}", "IX-ARGUMENT-1", hint)
    return given


def _of_columns(metadata: Any) -> Any:
    """Return the metadata that are given by column; the others are those of the table."""
    if not is_mapping(metadata):
        return None
    return {name: pairs for name, pairs in metadata.items() if is_mapping(pairs)}


def _described(part: Part, options: Options) -> Part:
    """Return a column with the name, the flag and the metadata that the user passed."""
    field = part.field._replace(name=options.name)
    if isinstance(options.nullable, bool):
        field = _nullable(field, part.memory, nullable=options.nullable)
    elif options.nullable is not None and not is_mapping(options.nullable):
        what = f"nullable={show(options.nullable)}"
        raise ArgumentError(CALL, what, "IX-ARGUMENT-1", "pass a bool")
    if options.metadata is not None:
        field = _with_metadata(field, options.metadata)
    return part._replace(field=field)


def _nullable(field: ArrowField, memory: ArrowColumn, *, nullable: bool) -> ArrowField:
    """Return a type with the flag at each level of lists; refuse nulls without it."""
    if memory.null_count and not nullable:
        what = f"{memory.null_count} of {memory.length} elements are null, and nullable=False"
        raise ExchangeError(CALL, what, "ARROW-OUT-5")
    children = field.children
    if field.format != "+s":
        nodes = zip(children, memory.children, strict=True)
        children = tuple(_nullable(*node, nullable=nullable) for node in nodes)
    return field._replace(flags=ARROW_FLAG_NULLABLE if nullable else 0, children=children)


def _with_metadata(field: ArrowField, metadata: Any) -> ArrowField:
    """Return a type with further metadata."""
    if not is_mapping(metadata):
        hint = "pass a dict of str or bytes"
        raise ArgumentError(CALL, f"metadata={show(metadata)}", "IX-ARGUMENT-1", hint)
    pairs = metadata_of(field)
    for key, value in metadata.items():
        if field.format == "+s" and is_mapping(value):
            continue  # of a column
        name, said = _as_bytes(key), _as_bytes(value)
        if name in pairs:
            what = f"metadata= has {show(key)}, which is that of the type"
            raise ArgumentError(CALL, what, "IX-ARGUMENT-1", "pass other keys")
        pairs[name] = said
    return field._replace(metadata=encode_metadata(pairs.items()) if pairs else None)


def _as_bytes(text: Any) -> bytes:
    """Return a key or a value of metadata."""
    if isinstance(text, bytes):
        return text
    try:
        if isinstance(text, str):
            return text.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        pass
    hint = "pass a dict of str or bytes"
    raise ArgumentError(CALL, f"metadata= has {show(text)}", "IX-ARGUMENT-1", hint)


def _replaced(x: Any, known: dict[int, Any]) -> Any:
    """Return what the user passed, with Arrays for what was used up."""
    if id(x) in known:
        return known[id(x)]
    if is_mapping(x):
        return {name: _replaced(value, known) for name, value in x.items()}
    if isinstance(x, (tuple, list)):
        return type(x)(_replaced(value, known) for value in x)
    return x


# ---------------------------------------------------------------- checks


def _check_alike(parts: list[Part]) -> None:
    """Refuse columns of several lengths, or on several devices."""
    lengths = [part.memory.length for part in parts]
    if len(set(lengths)) > 1:
        differ = f"the columns have the lengths {', '.join(map(str, lengths))}"
        raise ViewError(CALL, differ, "ARROW-OUT-3")
    _check_devices([part.arrays[0].device for part in parts if part.arrays])


def _check_devices(devices: list[Device]) -> None:
    """Refuse memory on several devices."""
    if len(set(devices)) > 1:
        differ = f"the columns have the devices {', '.join(map(str, devices))}"
        raise ViewError(CALL, differ, "ARROW-OUT-3")


def _check_offsets(bounds: list[Array], rows: int, length: int) -> None:
    """Refuse offsets that are invalid; those of a device are not read."""
    if rows < 0 or any(one.size != bounds[0].size for one in bounds):
        what = f"there are {' and '.join(str(one.size) for one in bounds)} offsets"
        raise ViewError(CALL, what, "ARROW-OUT-6")
    if not bounds[0].device.is_host_accessible or not rows:
        return
    for one in bounds:
        wait_on_host(one, CALL)
    if len(bounds) == 1:
        found = _core.scan_offsets(bounds[0].ptr, rows, bounds[0].itemsize)
    else:
        found = _core.scan_views(bounds[0].ptr, bounds[1].ptr, rows, bounds[0].itemsize)
    low, high, _, bad = found
    if bad >= 0:
        rule = "ARROW-OFFSET-1" if low < 0 or len(bounds) > 1 else "ARROW-OFFSET-2"
        hint = "pass offsets that begin at 0 and do not decrease"
        raise ExchangeError(CALL, f"list {bad} has invalid offsets", rule, hint)
    if high > length:
        what = f"there are {length} values, and the offsets refer to {high}"
        raise ExchangeError(CALL, what, "ARROW-LENGTH-2", "pass all values")


def _check_items(arrays: list[Array], kind: str) -> None:
    """Refuse arrays that are not elements of one column."""
    if not arrays:
        what = "a list of no arrays has no type"
        raise ArgumentError(CALL, what, "ARROW-OUT-7", "pass an array without rows")
    for name in ("dtype", "ndim"):
        found = list(dict.fromkeys(str(getattr(array, name)) for array in arrays))
        if len(found) > 1:
            what = f"the arrays of a list have the {name} {', '.join(found[:3])}"
            raise ViewError(CALL, what, "ARROW-OUT-7")
    for array in arrays:
        check_host(array, CALL)
    ndim = arrays[0].ndim
    if not ndim or (kind == "column" and ndim > 1):
        what = f"the arrays of a list have {ndim} axes"
        hint = "pass `kind='tensor'`" if ndim else "pass arrays with axes"
        raise ViewError(CALL, what, "ARROW-OUT-7", hint)


# ---------------------------------------------------------------- lists of arrays


def _concatenated(arrays: list[Array]) -> tuple[Array, Array]:
    """Return the elements of all arrays in one, each in C order, and offsets."""
    ends = list(accumulate(array.size for array in arrays))
    values = empty_array((ends[-1],), arrays[0].dtype, CPU, Array, CALL)
    for array, end in zip(arrays, ends, strict=True):
        copy_elements(values[end - array.size : end].reshape(array.shape), array, CALL)
    kind, name = ("i", "int32") if ends[-1] <= _MOST else ("q", "int64")
    offsets = bytearray(numbers(kind, [0, *ends]).tobytes())
    return values, host_array(offsets, DType.of(name))


def _variable_tensors(part: Part, arrays: list[Array]) -> Part:
    """Return the column of ``arrow.variable_shape_tensor`` for lists of elements."""
    axes = arrays[0].ndim
    shapes = host_array(
        bytearray(numbers("i", [extent for array in arrays for extent in array.shape]).tobytes()),
        DType.of("int32"),
    )
    of_shape = ArrowField(f"+w:{axes}", "shape", children=(ArrowField("i", "item"),))
    sizes = ArrowColumn(len(arrays) * axes, buffers=(0, shapes.ptr))
    pairs = [(EXTENSION_NAME, VARIABLE_TENSOR.encode()), (EXTENSION_METADATA, b"{}")]
    return Part(
        ArrowField("+s", metadata=encode_metadata(pairs), children=(part.field, of_shape)),
        ArrowColumn(
            len(arrays),
            buffers=(0,),
            children=(part.memory, ArrowColumn(len(arrays), buffers=(0,), children=(sizes,))),
        ),
        (*part.arrays, shapes),
    )
