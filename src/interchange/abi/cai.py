"""The array-interface records: the CUDA Array Interface, and NumPy's, from which it has its keys.

Source: CUDA Array Interface, versions 0 to 3; NumPy array interface, version 3 (typestr grammar). A
record is read once, its form is checked, and it becomes an `InterfaceRecord`.  Whether a dtype, a
pointer or a stream is usable is decided in higher layers.
"""

from __future__ import annotations

import ctypes
from operator import index as as_index
from typing import Any, Final

from ._patterns import compiled
from ._records import NamedTuple
from ._show import NO_ROOM, show
from .memory import ADDRESS_END
from .rules import BrokenRule

LATEST_VERSION: Final = 3
_USUAL_KEYS: Final = 6  # shape, typestr, data, strides, version, stream
_POINTER: Final = ctypes.sizeof(ctypes.c_void_p)  # [bytes]
_INT64_MAX: Final = 2**63 - 1
_INTS: Final = {int}
_UINT64_MAX: Final = 2**64 - 1

_TYPESTR: Final = r"([<>|])([tbiufcmMOSUV])([0-9]{0,9})(\[[0-9a-zA-Z/]+\])?"


class TypeStr(NamedTuple):
    """A parsed type string.

    Attributes
    ----------
    byteorder : str
        ``"<"`` little, ``">"`` big, ``"|"`` not relevant.
    kind : str
        One letter of ``tbiufcmMOSUV``.
    size : int
        Size of one element: [bits] for kind ``t``, [code points] for ``U``, else [bytes].
    unit : str
        The text in square brackets after a time, else empty.
    """

    byteorder: str
    kind: str
    size: int
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.byteorder}{self.kind}{self.size}{self.unit}"

    @property
    def itemsize(self) -> int:
        """Size of one element [bytes]."""
        if self.kind == "t":
            return (self.size + 7) // 8
        return self.size * (4 if self.kind == "U" else 1)


def parse_typestr(text: object) -> TypeStr:
    """Parse a type string of the array interface.

    Parameters
    ----------
    text : str
        Byte order, kind and size, such as ``"<f4"``.

    Returns
    -------
    TypeStr
        The three parts, and the unit of a time.

    Raises
    ------
    BrokenRule
        `text` is not in that grammar (CAI-TYPESTR-1).

    Examples
    --------
    >>> parse_typestr("<f4")
    TypeStr(byteorder='<', kind='f', size=4, unit='')
    >>> str(parse_typestr("<M8[ns]"))
    '<M8[ns]'
    """
    is_text = issubclass(type(text), str)  # a dead proxy has a type, but its attributes raise
    match = compiled(_TYPESTR).fullmatch(text) if is_text else None  # type: ignore[call-overload]
    unsized = match is not None and not match[3] and match[2] != "O"  # NumPy writes "|O"
    if match is None or unsized or (match[4] and match[2] not in "mM"):
        raise BrokenRule("CAI-TYPESTR-1", f"typestr is {show(text)}")
    return TypeStr(match[1], match[2], int(match[3] or _POINTER), match[4] or "")


class InterfaceRecord(NamedTuple):
    """One array-interface record, read, with its form checked.

    Attributes
    ----------
    ptr : int
        Address of the first element; 0 when there are no elements.
    readonly : bool
        Whether the memory is read-only.
    shape : tuple[int, ...]
        Extent of each axis [elements].
    strides : tuple[int, ...] or None
        Step along each axis [bytes]; None for C order.
    typestr : TypeStr
        Byte order, kind and size of one element.
    version : int
        Version of the interface; 0 if the record has none.
    stream : int or None
        The producer's stream (version 3); None if no work is pending.
    mask : object
        None, or another object with the interface.
    descr : list or None
        Fields of a structured element, as the producer wrote them.
    """

    ptr: int
    readonly: bool
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    typestr: TypeStr
    version: int
    stream: int | None = None
    mask: Any = None
    descr: Any = None


def _as_int(value: object) -> int | None:
    """Return an exact int for an int-like (a NumPy integer is one), None for anything else."""
    if type(value) is int:
        return value
    try:
        if type(value) is bool or getattr(getattr(value, "dtype", None), "kind", "i") == "b":
            return None
        return int.__index__(as_index(value))  # type: ignore[arg-type]
    except NO_ROOM:
        raise
    except Exception:  # noqa: BLE001 - foreign code may raise anything; it is not an int
        return None


def _numbers(value: object, low: int) -> tuple[int, ...] | None:
    """Return a tuple of exact ints, or None; 2.0 and True are not ints, though they equal some."""
    try:
        entries = tuple(value) if isinstance(value, (tuple, list)) else (None,)
    except NO_ROOM:
        raise
    except Exception:  # noqa: BLE001 - foreign code may raise anything; not numbers
        return None
    numbers = tuple(number for number in map(_as_int, entries) if number is not None)
    fits = len(numbers) == len(entries) and all(low <= n <= _INT64_MAX for n in numbers)
    return numbers if fits else None


def _address(value: object) -> tuple[int, bool]:
    """Check and return the ``data`` entry: address and read-only flag."""
    ptr, readonly = None, True
    try:
        if isinstance(value, (tuple, list)) and len(value) == 2:
            readonly = bool(value[1])
            ptr = 0 if value[0] is None else _as_int(value[0])
    except NO_ROOM:
        raise
    except Exception:  # noqa: BLE001 - foreign code may raise anything; not a flag
        ptr = None
    if ptr is None or not 0 <= ptr < ADDRESS_END:
        raise BrokenRule("CAI-DATA-1", f"data is {show(value)}")
    return ptr, readonly


# Shape, strides, typestr and version repeat from call to call; a cache by value avoids checking
# them again.  Its values are exact ints, whatever numbers the key was made of.
_Form = tuple[tuple[int, ...], tuple[int, ...] | None, TypeStr, int]
_forms: Final[dict[Any, _Form]] = {}
_MOST_FORMS: Final = 1024


def _form(shape: Any, strides: Any, typestr: Any, version: Any) -> _Form:
    """Check the entries that describe the memory."""
    extents = _numbers(shape, 0)
    if extents is None:
        raise BrokenRule("CAI-SHAPE-1", f"shape is {show(shape)}")
    steps = None if strides is None else _numbers(strides, -_INT64_MAX - 1)
    if strides is not None and steps is None:
        raise BrokenRule("CAI-STRIDES-1", f"strides is {show(strides)}")
    if steps is not None and len(steps) != len(extents):
        what = f"strides {show(steps)} has {len(steps)} entries for {len(extents)} axes"
        raise BrokenRule("CAI-STRIDES-2", what)
    element = parse_typestr(typestr)
    numbers = (0,) if version is None else _numbers((version,), 0)
    if numbers is None:
        raise BrokenRule("CAI-VER-1", f"version is {show(version)}")
    number = numbers[0]
    form = (extents, steps, element, number)
    if type(typestr) is str:  # a value of a subclass has its own hash
        if len(_forms) >= _MOST_FORMS:
            _forms.clear()
        _forms[extents, steps, typestr, number] = form
    return form


def parse_record(
    record: Any,
    _new: Any = tuple.__new__,
    _cls: Any = InterfaceRecord,
    _known: dict[Any, _Form] = _forms,
) -> InterfaceRecord:
    """Read an array-interface record, once, and check its form.

    Parameters
    ----------
    record : dict or Mapping
        The value of ``__cuda_array_interface__`` or ``__array_interface__``.  Optional keys may be
        absent or None; unknown keys are ignored, and ``stream`` below version 3.

    Returns
    -------
    InterfaceRecord
        The entries, with exact Python ints.

    Raises
    ------
    BrokenRule
        An entry that the interface requires is missing or malformed (CAI-DICT-1, CAI-SHAPE-1,
        CAI-STRIDES-1, CAI-STRIDES-2, CAI-DATA-1, CAI-TYPESTR-1, CAI-VER-1, CAI-STREAM-1).

    Examples
    --------
    >>> parse_record({"shape": (2, 3), "typestr": "<f4", "data": (4096, False), "version": 3}).shape
    (2, 3)
    """
    try:  # the usual case: cached, without a mask
        data = record["data"]
        ptr, readonly = data
        shape, strides, number = record["shape"], record["strides"], record["version"]
        extents, steps, element, version = _known[shape, strides, record["typestr"], number]
        stream = record["stream"]
        usual = stream is None or (type(stream) is int and 0 < stream <= _UINT64_MAX)
        if type(number) is not int or {*map(type, shape), *map(type, strides or ()), int} != _INTS:
            usual = False  # a key that equals a known one, such as 2.0
        usual = usual and (version >= LATEST_VERSION or stream is None)
        descr = None if len(record) == _USUAL_KEYS else record["descr"]
        usual = usual and len(record) == _USUAL_KEYS + (descr is not None)
        if usual and type(data) is tuple and type(ptr) is int and 0 <= ptr < ADDRESS_END:
            flag = True if readonly else False  # noqa: SIM210 - a call of bool() costs more
            fields = (ptr, flag, extents, steps, element, version, stream, None, descr)
            return _new(_cls, fields)  # type: ignore[no-any-return]
    except Exception:  # noqa: BLE001, S110 - the record is parsed again below
        pass
    return _parse_carefully(record)


def _parse_carefully(record: Any) -> InterfaceRecord:
    """Read a record that is not cached, lacks optional keys, or is invalid."""
    try:
        get = record.get
        entries = (record["shape"], get("strides"), record["typestr"], get("version"))
        data = record["data"]
    except (AttributeError, KeyError, TypeError) as error:
        raise BrokenRule("CAI-DICT-1", _what_is_missing(record)) from error
    form = _form(*entries)
    ptr, readonly = _address(data)
    stream = get("stream") if form[-1] >= LATEST_VERSION else None  # lower versions have none
    if stream is not None:
        stream = _checked_stream(stream)
    return InterfaceRecord(ptr, readonly, *form, stream, get("mask"), get("descr"))


def _what_is_missing(record: Any) -> str:
    """Return why `record` is not a record."""
    try:
        missing = [key for key in ("shape", "typestr", "data") if key not in record]
    except NO_ROOM:
        raise
    except Exception:  # noqa: BLE001 - foreign code may raise anything
        missing = []
    if missing and hasattr(record, "keys"):
        return f"the record lacks {', '.join(map(repr, missing))}"
    return f"the record is {type(record).__name__}"


def _checked_stream(stream: object) -> int:
    """Return the stream as an exact int; 0 and values that are not handles are refused."""
    number = _as_int(stream)
    if number is None or not 0 < number <= _UINT64_MAX:
        raise BrokenRule("CAI-STREAM-1", f"stream is {show(stream)}")
    return number


def format_record(record: InterfaceRecord) -> dict[str, Any]:
    """Return the dict that a producer returns for `record`.

    Parameters
    ----------
    record : InterfaceRecord
        The entries.  `stream` is written from version 3 on, `mask` and `descr` never.

    Returns
    -------
    dict
        A new dict; ``strides`` is None for C order.

    Examples
    --------
    >>> format_record(InterfaceRecord(4096, False, (2,), None, parse_typestr("<f4"), 3))
    {'shape': (2,), 'typestr': '<f4', 'data': (4096, False), 'strides': None, 'version': 3, \
'stream': None}
    """
    result: dict[str, Any] = {
        "shape": record.shape,
        "typestr": str(record.typestr),
        "data": (record.ptr, record.readonly),
        "strides": record.strides,
        "version": record.version,
    }
    if record.version >= LATEST_VERSION:
        result["stream"] = record.stream
    return result
