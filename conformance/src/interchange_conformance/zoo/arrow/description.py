"""The fields of the zoo's Arrow structs, valid or not.

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
"""The step of a path to the values of a dictionary."""


class _Node:
    """The base class of both trees: children, and a dictionary."""

    children: tuple[Any, ...]
    dictionary: Any

    def at(self, path: Path, **changes: Any) -> Self:
        """Return a tree with changes in the node at the end of a path.

        Parameters
        ----------
        path : tuple of int and "dictionary"
            Steps from this node: child numbers or "dictionary"; () for this node.
        **changes
            Attributes of the node.
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
    """The fields of an `ArrowSchema`.

    Attributes
    ----------
    format : str, bytes or None
        The format string; None for NULL.
    name : str or None
        Name of the field; None for NULL.
    metadata : bytes or None
        Encoded key-value pairs; None for NULL.
    flags : int
        Flag bits.
    children : tuple[Field or None, ...]
        The child types; None for a NULL pointer.
    dictionary : Field or None
        The type of a dictionary's values; None for NULL.
    n_children : int or None
        The value of the field; None for the correct one.
    has_children : bool
        Whether the pointer to the children is set; False for NULL.
    release : bool
        Whether there is a release callback; False for NULL, which marks the struct released.
    sets_release : bool
        Whether the callback sets the field to NULL (ARROW-RELEASE-1).
    releases_below : bool
        Whether the callback releases the children (ARROW-RELEASE-2).
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
    """The fields of an `ArrowArray`.

    Attributes
    ----------
    length, null_count, offset : int
        As in the struct [elements].
    buffers : tuple[int or None, ...]
        Addresses; None for NULL.
    children : tuple[Chunk or None, ...]
        The arrays of the child types; None for a NULL pointer.
    dictionary : Chunk or None
        A dictionary's values; None for NULL.
    n_buffers, n_children : int or None
        The value of the field; None for the correct one.
    has_buffers, has_children : bool
        Whether the pointers to them are set; False for NULL.
    release, sets_release, releases_below : bool
        As in `Field`.
    spoils : tuple[int, int] or None
        Address and size of memory that the first call of the callback overwrites [bytes].
    memory : tuple
        Objects that keep the buffers alive.
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
    """The fields of an `ArrowDeviceArray` other than its array.

    Attributes
    ----------
    type, id : int
        Type and id of the device.
    event : int or None
        Address of an event handle; None for NULL.
    reserved : int
        Value of the reserved bytes.
    """

    type: int = 1
    id: int = 0
    event: int | None = None
    reserved: int = 0


@dataclass(frozen=True)
class Flow:
    """Behaviour of a stream.

    Attributes
    ----------
    schema_error : int
        Return value of ``get_schema``; 0 for success.
    next_error : int
        Return value of ``get_next`` from call `fails_at` on; 0 for no failure.
    fails_at : int
        Number of the first call that fails, from 0.
    message : bytes or None
        Return value of ``get_last_error``; None for NULL.
    has_get_schema, has_get_next, has_get_last_error : bool
        Whether the callbacks are set; False for NULL.
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
