"""What the numbers of a column stand for: units, time zones, categories, scales.

Source: The Arrow C data interface, Data type description; canonical extension types.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._protocols.protocol_attributes import attribute
from interchange._types.errors import ArgumentError, refuse_record, show
from interchange.abi import BrokenRule
from interchange.abi.arrow import (
    ARROW_FLAG_DICTIONARY_ORDERED,
    ARROW_FLAG_NULLABLE,
    ARROW_SCHEMA,
)
from interchange.abi.arrow_formats import (
    EXTENSION_METADATA,
    EXTENSION_NAME,
    parse_format,
)

from .dictionaries import Categories, read_column
from .elements import TENSOR, read_elements
from .representations import extension_of, metadata_of, read_field
from .types import read_type

if TYPE_CHECKING:
    from interchange._types.dtypes import DType
    from interchange.abi.arrow import ArrowField

    from .chunk_views import Chunk
    from .elements import Elements

_CALL: Final = "Meaning.of()"
_KEYS: Final = (EXTENSION_NAME, EXTENSION_METADATA)
_KINDS: Final = {"date32": "date", "date64": "date", "time32": "time", "time64": "time"}
_DAYS: Final = {"date32": "D", "date64": "ms"}


class Meaning:
    """What the elements of an Arrow column stand for, beside their stored values.

    `from_arrow` returns it with ``meaning=True``, and `to_arrow` exports an array with it: the
    column has the same type again.  `Meaning.of` makes one of a type.  It is immutable.  Two are
    equal if their types, names, metadata and categories are.  It can be pickled unless it has
    categories, which are memory.
    """

    __slots__ = ("_categories", "_elements", "_field", "_top", "_values")

    _categories: Categories | None
    _elements: Elements  # without its levels, which refer to a struct
    _field: ArrowField  # the whole type
    _top: ArrowField  # its outermost level that is no plain list
    _values: ArrowField  # the type of the values

    def __new__(cls, *_args: Any, **_keywords: Any) -> Meaning:
        """Refuse: a meaning is that of a column or of a type."""
        hint = "use `Meaning.of(x)`, or what `from_arrow` returns"
        raise ArgumentError("Meaning()", "it has no constructor", "IX-ARGUMENT-1", hint)

    @staticmethod
    def of(kind: Any, /) -> Meaning:
        """Return the meaning of a type.

        Parameters
        ----------
        kind : object
            A type or a field with ``__arrow_c_schema__``, such as ``pyarrow.timestamp("us")``.

        Returns
        -------
        Meaning
            Without categories; `to_arrow` refuses it for a dictionary type.

        Raises
        ------
        ArgumentError
            `kind` has no such method (IX-ARGUMENT-1).
        UnsupportedDTypeError
            Its elements have no fixed width (ARROW-TYPE-1).
        ExchangeError
            The schema breaks a rule (``ARROW-*``).
        """
        method = None if isinstance(kind, type) else attribute(kind, "__arrow_c_schema__")
        if method is None:
            hint = "pass a type or a field of Arrow, which has the method `__arrow_c_schema__`"
            raise ArgumentError(_CALL, show(kind), "IX-ARGUMENT-1", hint)
        capsule = method()
        try:
            owner = _core.take_arrow(capsule, ARROW_SCHEMA)
            try:
                column = read_type(owner.address)
                elements = read_elements(column, storage=True, tables=False, call=_CALL)
                return rebuild_meaning(read_field(owner.address), elements, None)
            finally:
                owner.release()
        except BrokenRule as broken:
            refuse_record(_CALL, broken)

    # ------------------------------------------------------------ parts

    @property
    def kind(self) -> str:
        """What an element is.

        "number", "bool", "timestamp", "date", "time", "duration", "interval", "decimal",
        "dictionary", "bytes" (of fixed width), "tensor" (of ``arrow.fixed_shape_tensor``), or
        "extension" for other extension types.
        """
        extension = self.extension
        if extension is not None:
            return "tensor" if extension == TENSOR else "extension"
        if self._values.dictionary is not None:
            return "dictionary"
        form = parse_format(self._values.format)
        word = form.name.partition("[")[0]
        return _KINDS.get(word, word) if form.kind == "time" else form.kind

    @property
    def type(self) -> str:
        """The name of the type of the values, such as ``"timestamp[us, UTC]"``."""
        return parse_format(self._values.format).name

    @property
    def dtype(self) -> DType:
        """The dtype of the stored values."""
        return self._elements.dtype

    @property
    def unit(self) -> str | None:
        """The unit of timestamps, times and durations, "s", "ms", "us" or "ns"; "D" of days."""
        word, _, rest = parse_format(self._values.format).name.partition("[")
        if word in {"timestamp", "time32", "time64", "duration"}:
            return rest.rstrip("]").partition(",")[0]
        return _DAYS.get(word)

    @property
    def timezone(self) -> str | None:
        """The time zone of timestamps; None for local time, and for other types."""
        form, _, zone = self._values.format.partition(":")
        return zone or None if form.startswith("ts") else None

    @property
    def precision(self) -> int | None:
        """The number of digits of a decimal."""
        numbers = self._decimal()
        return numbers[0] if numbers else None

    @property
    def scale(self) -> int | None:
        """The number of decimals; the stored integer is x * 10**scale."""
        numbers = self._decimal()
        return numbers[1] if numbers else None

    def _decimal(self) -> list[int]:
        """Return precision and scale of a decimal."""
        form, _, numbers = self._values.format.partition(":")
        return [int(number) for number in numbers.split(",")[:2]] if form == "d" else []

    @property
    def categories(self) -> Categories | None:
        """The values that the elements are indices of, of a dictionary column."""
        return self._categories

    @property
    def ordered(self) -> bool:
        """Whether the order of the categories is significant."""
        return bool(self._values.flags & ARROW_FLAG_DICTIONARY_ORDERED)

    @property
    def extension(self) -> str | None:
        """The name of the extension type."""
        name = extension_of(self._top)
        return None if name is None else name.decode("utf-8", "replace")

    @property
    def extension_metadata(self) -> bytes:
        """The parameters of the extension type, as it serialises them."""
        return metadata_of(self._top).get(EXTENSION_METADATA, b"")

    @property
    def dim_names(self) -> tuple[str, ...] | None:
        """The names of the axes of ``arrow.fixed_shape_tensor``, in the order of the array."""
        if self.extension != TENSOR:
            return None
        names = json.loads(self.extension_metadata).get("dim_names")
        if not isinstance(names, list):
            return None
        outer, field = 0, self._field
        while field is not self._top:
            outer, field = outer + 1, field.children[0]
        order = self._elements.order[outer : outer + len(names)]
        return tuple(str(names[place - outer]) for place in order)

    @property
    def name(self) -> str:
        """The name of the column; "" for none."""
        return self._field.name

    @property
    def nullable(self) -> bool:
        """Whether elements may be null, as the field states."""
        return bool(self._field.flags & ARROW_FLAG_NULLABLE)

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """The metadata of the field, without the keys of its extension type."""
        return {key: value for key, value in metadata_of(self._field).items() if key not in _KEYS}

    # ------------------------------------------------------------ as a value

    def __arrow_c_schema__(self) -> Any:
        """Return a capsule of the type."""
        return _core.make_arrow_schema(self._field)

    def __repr__(self) -> str:
        """Return the kind, and the parts that have a value."""
        parts = {word: getattr(self, word) for word in _SHOWN}
        known = (f"{word}={show(value)}" for word, value in parts.items() if value not in _NOTHING)
        return f"Meaning({', '.join((repr(self.kind), *known))})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Meaning):
            return NotImplemented
        return self._field == other._field and self._categories == other._categories

    def __hash__(self) -> int:
        return hash((self._field, self._categories))

    def __reduce__(self) -> Any:
        return rebuild_meaning, (self._field, self._elements, self._categories)


_NOTHING: Final[tuple[Any, ...]] = (None, "", False, {}, b"")
_SHOWN: Final = (
    *("unit", "timezone", "precision", "scale", "categories", "ordered", "extension"),
    *("dim_names", "name", "metadata"),
)
Meaning.__module__ = "interchange"


def rebuild_meaning(
    field: ArrowField, elements: Elements, categories: Categories | None
) -> Meaning:
    """Return the meaning of a type; pickles name this function."""
    found = object.__new__(Meaning)
    found._field, found._categories = field, categories
    found._top = _below(field, through=False)
    found._values = _below(field, through=True)
    found._elements = elements._replace(levels=(), shape=_shape_of(found, elements.shape))
    return found


def _shape_of(meaning: Meaning, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the extents of one element, with -1 for those of lists of any length."""
    extents, place, field = list(shape), 0, meaning._field
    while field.children:
        is_tensor = field is meaning._top and meaning.extension == TENSOR
        if not field.format.startswith("+w:"):
            extents[place] = -1
        place += len(json.loads(meaning.extension_metadata)["shape"]) if is_tensor else 1
        field = field.children[0]
    return tuple(extents)


def read_meaning(elements: Elements, chunks: list[Chunk]) -> Meaning:
    """Return the meaning of a column whose structs are not released yet.

    `chunks`: its chunks, which have one dictionary if they have any.
    """
    top = elements.levels[0] if elements.levels[0].format.kind != "struct" else elements.levels[1]
    categories = categories_of(elements, chunks[0]) if chunks else None
    return rebuild_meaning(read_field(top.address), elements, categories)


def categories_of(elements: Elements, chunk: Chunk) -> Categories | None:
    """Return the values of the dictionary of a chunk; None if it has none."""
    if not chunk.leaf.dictionary:
        return None
    schema = elements.levels[-1].dictionary
    column = read_column(chunk.leaf.dictionary, schema)
    return Categories(read_field(schema), column, chunk.device, chunk.event, chunk.owner)


def _below(field: ArrowField, *, through: bool) -> ArrowField:
    """Return the type below the lists of a column; `through`: also below those of extensions."""
    while field.children and (through or EXTENSION_NAME not in metadata_of(field)):
        field = field.children[0]
    return field
