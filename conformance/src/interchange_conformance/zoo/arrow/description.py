"""What Arrow structs of the zoo say, field by field, true or not.

Source: the Arrow C data interface, Structure definitions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from interchange.abi.arrow import ARROW_FLAG_NULLABLE

if TYPE_CHECKING:
    from typing_extensions import Self

Path = tuple["int | str", ...]

DICTIONARY: Final = "dictionary"
"""The step of a path that leads to the values of a dictionary."""


class _Node:
    """What both trees have: children, and a dictionary below them."""

    children: tuple[Any, ...]
    dictionary: Any

    def at(self, path: Path, **changes: Any) -> Self:
        """Return a tree that differs in what is named, in the node at the end of a path.

        Parameters
        ----------
        path : tuple of int and "dictionary"
            Steps from this node, the number of a child each; () for this node.
        **changes
            Attributes.
        """
        tree: Any = self
        if not path:
            return replace(tree, **changes)  # type: ignore[no-any-return]
        step, *rest = path
        if step == DICTIONARY:
            return replace(tree, dictionary=self.dictionary.at(tuple(rest), **changes))  # type: ignore[no-any-return]
        changed = list(self.children)
        changed[int(step)] = changed[int(step)].at(tuple(rest), **changes)
        return replace(tree, children=tuple(changed))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Field(_Node):
    """What an `ArrowSchema` says.

    Attributes
    ----------
    format : str, bytes or None
        The format string; None for NULL.
    name : str or None
        Of the field; None for NULL.
    metadata : bytes or None
        As they lie in memory; None for NULL.
    flags : int
        Flag bits.
    children : tuple[Field or None, ...]
        The types below; None for a NULL pointer among them.
    dictionary : Field or None
        The type of a dictionary's values; None for NULL.
    n_children : int or None
        What the struct says; None for the truth.
    has_children : bool
        Whether the pointer to the children is there; False for NULL.
    release : bool
        Whether there is a callback; False for NULL, which makes the struct a released one.
    sets_release : bool
        Whether the callback sets it to NULL (ARROW-RELEASE-1).
    releases_below : bool
        Whether the callback releases what is below (ARROW-RELEASE-2).
    """

    format: str | bytes | None = "f"
    name: str | None = ""
    metadata: bytes | None = None
    flags: int = ARROW_FLAG_NULLABLE
    children: tuple[Field | None, ...] = ()
    dictionary: Field | None = None
    n_children: int | None = None
    has_children: bool = True
    release: bool = True
    sets_release: bool = True
    releases_below: bool = True


@dataclass(frozen=True)
class Chunk(_Node):
    """What an `ArrowArray` says.

    Attributes
    ----------
    length, null_count, offset : int
        As in the struct [elements].
    buffers : tuple[int or None, ...]
        Addresses; None for NULL.
    children : tuple[Chunk or None, ...]
        The memory of the types below; None for a NULL pointer among them.
    dictionary : Chunk or None
        A dictionary's values; None for NULL.
    n_buffers, n_children : int or None
        What the struct says; None for the truth.
    has_buffers, has_children : bool
        Whether the pointers to them are there; False for NULL.
    release, sets_release, releases_below : bool
        As in `Field`.
    spoils : tuple[int, int] or None
        Address and size of what the callback overwrites when it runs first [bytes].
    memory : tuple
        What keeps the buffers.
    """

    length: int = 0
    null_count: int = 0
    offset: int = 0
    buffers: tuple[int | None, ...] = ()
    children: tuple[Chunk | None, ...] = ()
    dictionary: Chunk | None = None
    n_buffers: int | None = None
    n_children: int | None = None
    has_buffers: bool = True
    has_children: bool = True
    release: bool = True
    sets_release: bool = True
    releases_below: bool = True
    spoils: tuple[int, int] | None = None
    memory: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Place:
    """What an `ArrowDeviceArray` says beside its chunk.

    Attributes
    ----------
    type, id : int
        Those of the device.
    event : int or None
        Address of the handle of an event; None for NULL.
    reserved : int
        What the bytes that are reserved hold.
    """

    type: int = 1
    id: int = 0
    event: int | None = None
    reserved: int = 0


@dataclass(frozen=True)
class Flow:
    """How a stream behaves.

    Attributes
    ----------
    schema_error : int
        What ``get_schema`` returns; 0 for a schema.
    next_error : int
        What ``get_next`` returns from call `fails_at` on; 0 for no failure.
    fails_at : int
        Number of the first call that fails; 0 is the first.
    message : bytes or None
        What ``get_last_error`` returns; None for NULL.
    has_get_schema, has_get_next, has_get_last_error : bool
        Whether the callbacks are there; False for NULL.
    release, sets_release : bool
        As in `Field`.
    """

    schema_error: int = 0
    next_error: int = 0
    fails_at: int = 0
    message: bytes | None = b"the producer says why"
    has_get_schema: bool = True
    has_get_next: bool = True
    has_get_last_error: bool = True
    release: bool = True
    sets_release: bool = True
