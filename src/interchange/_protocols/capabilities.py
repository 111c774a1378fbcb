"""What a type of producer supports, cached: keywords, releases, exchange table.

Source: array API standard, ``array.__dlpack__`` (the keywords came with 2023.12).  Keywords are
read from the signature, so that a TypeError of the producer's own code is never taken for a missing
keyword; functions without a readable signature are called with fewer keywords after a TypeError.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from interchange._types.library import (
    class_at,
    inherited,
    libraries_of,
    library_of,
    package_of,
)
from interchange._types.numpy_dtypes import load_numpy
from interchange._types.signatures import signature_of
from interchange._types.type_table import TypeTable
from interchange.abi import exchange_table
from interchange.abi._patterns import compiled
from interchange.abi.exchange import ATTRIBUTES

from .export_guards import may_be_masked, record_with_mask
from .protocol_attributes import attribute, column_method_of, has_on_type

if TYPE_CHECKING:
    from interchange._types.library import Guard, Library
    from interchange.abi.exchange import ExchangeTable

_RECORD: Final = "__cuda_array_interface__"
KEYWORDS: Final = ("max_version", "stream", "dl_device", "copy")
_ABOUT_KEYWORDS: Final = (
    r"keyword|incompatible function arguments|positional argument|takes no arguments"
)

NEEDS_NO_NEGOTIATION: Final = ("numpy", "ndarray")
"""The type whose memory is always on the host, that takes no stream, but ``max_version``."""

BUFFERS: Final = (
    ("builtins", "bytes"),
    ("builtins", "bytearray"),
    ("builtins", "memoryview"),
    ("array", "array"),
    ("mmap", "mmap"),
)
"""Types of CPython, by module and name, that support the buffer protocol only."""


class Capabilities:
    """Capabilities of a type of producers.

    Attributes
    ----------
    keywords : frozenset[str] or None
        Keywords that ``__dlpack__`` takes; None while unknown.
    forwards : bool
        Whether it takes any keyword, and perhaps passes them on.
    table : ExchangeTable or None
        The C exchange functions of the type.
    guard : callable or None
        Returns what the export of an object would lose; found for subclasses, too.
    is_immutable : bool
        Whether its arrays are never writable, whatever their capsules say.
    library : Library
        The record of the library that defines the type.
    """

    __slots__ = (
        "forwards",
        "guard",
        "is_immutable",
        "keywords",
        "library",
        "table",
    )

    def __init__(self, cls: type, method: Any) -> None:
        self.library = library_of(cls)
        bases = [(library_of(base), base) for base in cls.__mro__]
        if any((package_of(base), base.__qualname__) == NEEDS_NO_NEGOTIATION for _, base in bases):
            load_numpy()  # refuses a release that does not know `max_version`
        self.is_immutable = any(
            base.__qualname__ in library.immutable_types for library, base in bases
        )
        guard = inherited(cls, lambda library: library.export_guard)
        self.guard = _find_guard(self.library, guard)
        self.keywords, self.forwards = _read_keywords(method)
        self.table = _find_table(cls, self.library)

    def may_take(self, keyword: str) -> bool:
        """Whether a keyword is worth sending; also True if it is unknown."""
        return self.forwards or self.keywords is None or keyword in self.keywords

    def ask(self, method: Any, wanted: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Call a bound ``__dlpack__`` with those of the `wanted` keywords that it takes.

        Returns its result, and the keywords that it was sent.
        """
        if self.keywords is not None and not self.forwards:
            known = self.keywords
            sent = {key: value for key, value in wanted.items() if key in known}
            return method(**sent), sent
        return self._ask_with_fewer(method, wanted)

    def _ask_with_fewer(self, method: Any, wanted: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Call, and call again with fewer keywords while they are refused."""
        first: TypeError | None = None
        try:
            for fewer in (KEYWORDS, ("stream",), ()):
                sent = {key: value for key, value in wanted.items() if key in fewer}
                try:
                    return method(**sent), sent
                except TypeError as error:
                    if not self._refuses_keywords(error):
                        raise  # the keywords are right: the error is the producer's own
                    first = first or error
                    if not sent:
                        break
            raise (
                first or TypeError
            )  # every call was refused for its keywords: raise the first error
        finally:
            first = None  # its traceback refers to this frame, which would outlive the call

    def _refuses_keywords(self, error: TypeError) -> bool:
        """Whether `error` is about the call and not raised by code of the producer."""
        return compiled(_ABOUT_KEYWORDS).search(str(error)) is not None


def _find_guard(library: Library, guard: Guard | None) -> Guard | None:
    """Return the function that finds losses: the library's guard, or that of masked records."""
    if not library.may_mask_records:
        return guard
    if guard is None:
        return record_with_mask
    return lambda x: guard(x) or record_with_mask(x)


def _read_keywords(method: Any) -> tuple[frozenset[str] | None, bool]:
    """Return the keywords of a method, if its signature is readable, and whether it takes any."""
    try:
        parameters = signature_of(method).parameters.values()
    except (TypeError, ValueError):
        return None, True
    named = {p.name for p in parameters if p.kind in {p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD}}
    forwards = any(p.kind is p.VAR_KEYWORD for p in parameters)
    return frozenset(named & set(KEYWORDS)), forwards


def _find_table(cls: type, library: Library) -> ExchangeTable | None:
    """Return the exchange table of the type itself, not of a base, if it may be used."""
    if library.exchange_guard is None:
        return None
    if not any(attribute in vars(cls) for attribute in ATTRIBUTES):
        return None
    return exchange_table(cls)


_MOST_TYPES: Final = 512
_known: Final[TypeTable[Capabilities]] = TypeTable(_MOST_TYPES)


class Route(IntEnum):
    """How a core may import the objects of a type if all arguments have their defaults."""

    NEGOTIATE = 0
    ASK = 1
    """Call ``__dlpack__(max_version=...)`` at once; memory not on the host is negotiated."""
    ASK_IMMUTABLE = 2
    """Likewise; the arrays are never writable, whatever their capsules say."""
    BY_TABLE = 3
    """Through the type's C exchange table; memory not on the host is negotiated."""
    BY_TABLE_OF_TORCH = 4
    """Likewise, if a tensor has none of the bits that the table drops."""
    READ_NDARRAY = 5
    """Read the fields of the ndarray itself."""


class Sharing(IntEnum):
    """How a core may share the objects of a type if `asarray` is called with the defaults."""

    CAREFULLY = 0
    BY_DLPACK = 1
    """By its `Route`: no other protocol is tried before DLPack."""
    UNLESS_RECORD = 2
    """Likewise, unless the object itself has the attribute of CUDA records."""
    BUFFER = 3
    """By its buffer, the only protocol that it supports."""
    COLUMN = 4
    """By Arrow: no other protocol is tried before it."""


class FastPath:
    """Objects that need no negotiation (`NEEDS_NO_NEGOTIATION`), or little.

    Attributes
    ----------
    kind : type or None
        The type itself, once it was met.
    """

    __slots__ = ("kind",)

    def __init__(self) -> None:
        self.kind: type | None = None

    def route_of(self, cls: type) -> tuple[Route, int]:
        """Return how objects of a type may be imported, and the address of a table."""
        known = _known.get(cls)
        if known is None and has_on_type(cls, "__dlpack__") and not issubclass(cls, type):
            known = _keep(cls, getattr(cls, "__dlpack__"))  # noqa: B009 - a type has it
        if known is None:
            return Route.NEGOTIATE, 0
        if cls is self.kind:
            return Route.READ_NDARRAY, 0
        if known.table is not None:
            has_bits = known.library.core_has_exchange_guard
            route = Route.BY_TABLE_OF_TORCH if has_bits else Route.BY_TABLE
            return route, known.table.address
        is_asked = cls.__qualname__ in known.library.types_asked_without_device
        if is_asked and known.guard is None:
            return Route.ASK_IMMUTABLE if known.is_immutable else Route.ASK, 0
        if _answers_as_host_only(cls):
            return Route.ASK, 0
        return Route.NEGOTIATE, 0

    def sharing_of(self, cls: type) -> Sharing:
        """Return how objects of a known type may be shared."""
        if any(cls is class_at(module, name) for module, name in BUFFERS):
            return Sharing.BUFFER
        if _is_column(cls):
            return Sharing.COLUMN
        route, _ = self.route_of(cls)
        if route in {Route.NEGOTIATE, Route.READ_NDARRAY} or hasattr(cls, "__interchange__"):
            return Sharing.CAREFULLY
        if not library_of(cls).has_record_on_host:
            return Sharing.BY_DLPACK
        may_answer = hasattr(cls, _RECORD) or hasattr(cls, "__getattr__")
        return Sharing.CAREFULLY if may_answer else Sharing.UNLESS_RECORD


_BEFORE_ARROW: Final = (
    "__interchange__",
    "__dlpack__",
    "__cuda_array_interface__",
    "__array_interface__",
)
_ARRAY_METHODS: Final = ("ndim", "column_names", "columns")
"""Attributes of types whose ``__array__`` is preferred to Arrow: arrays and tables."""


def _is_column(cls: type) -> bool:
    """Whether `asarray` imports all objects of a type by Arrow first."""
    if not column_method_of(cls) or any(has_on_type(cls, word) for word in _BEFORE_ARROW):
        return False
    if not has_on_type(cls, "__array__"):
        return True
    known = libraries_of(cls)
    chooses = any(one.unwrap is not None or one.prefers_array_method is not None for one in known)
    return not chooses and not any(has_on_type(cls, word) for word in _ARRAY_METHODS)


def _answers_as_host_only(cls: type) -> bool:
    """Whether a type inherits all its methods from a base whose memory is on the host."""
    base = class_at(*NEEDS_NO_NEGOTIATION)
    if base is None or base not in cls.__mro__ or may_be_masked(cls):
        return False
    if library_of(cls).may_mask_records and hasattr(cls, _RECORD):
        return False  # which may have a mask
    same = ("__dlpack__", "__dlpack_device__", "__getattribute__")
    return all(getattr(cls, method) is getattr(base, method) for method in same)


fast_path: Final = FastPath()


def capabilities_of(x: object) -> Capabilities | None:
    """Return the capabilities of the producer `x`, or None if it has no ``__dlpack__``."""
    cls = type(x)
    if issubclass(cls, type):
        return None  # a class has the method, but is not an array
    own = getattr(x, "__dict__", {}).get("__dlpack__")
    if own is not None:
        return Capabilities(cls, own)  # on the instance, not on the type: not cached
    capabilities = _known.get(cls)
    if capabilities is not None:
        return capabilities
    method = getattr(cls, "__dlpack__", None)
    if method is None:  # a proxy may have it on the instance: not cached
        method = attribute(x, "__dlpack__")
        return None if method is None else Capabilities(cls, method)
    return _keep(cls, method)


def _keep(cls: type, method: Any) -> Capabilities:
    """Return the capabilities of a type's objects, and keep them."""
    capabilities = _known[cls] = Capabilities(cls, method)
    if cls is class_at(*NEEDS_NO_NEGOTIATION):
        fast_path.kind = cls
    return capabilities
