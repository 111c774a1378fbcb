"""What the checks of columns that go out share: arrays to hand out, and what is in the structs.

Source: the Arrow C data interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from interchange.abi.arrow_formats import decode_metadata
from interchange_conformance.findings import NotApplicable, expect
from interchange_conformance.probes.arrow_structs import elements
from interchange_conformance.probes.opened_arrow import METHODS, Opened
from interchange_conformance.zoo import host

from ._refusals import granted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interchange_conformance.probes.arrow_structs import Node, Type
    from interchange_conformance.probes.under_test import FunctionsUnderTest


class Sent(NamedTuple):
    """What went out.

    Attributes
    ----------
    type, node : Type, Node
        What the structs of the column, or of the table, say.
    opened : Opened
        What keeps them.
    """

    type: Type
    node: Node
    opened: Opened

    @property
    def values(self) -> list[Any]:
        """The elements."""
        return elements(self.type, self.node)

    @property
    def extension(self) -> Mapping[bytes, bytes]:
        """What the metadata say."""
        return decode_metadata(self.type.metadata or 0)


def need_native(namespace: Any) -> None:
    """Raise `NotApplicable` where the core in use exports nothing."""
    if namespace.core_name != "native":
        raise NotApplicable("this core exports nothing as Arrow")


def sent(functions: FunctionsUnderTest, x: Any, by: str = "array", **keywords: Any) -> Sent:
    """Return what an array goes out as, by a method that is a key of `METHODS`.

    Raises
    ------
    NotApplicable
        The core in use exports nothing as Arrow.
    Found
        It raised, or gave no capsules, or several chunks.
    """
    need_native(functions.namespace)
    method, _ = METHODS[by]
    export = granted(lambda: functions.namespace.to_arrow(x, **keywords), "to_arrow()")
    opened = Opened(granted(getattr(export, method), f"{method}()"), by)
    nodes = opened.nodes
    expect(len(nodes) == 1, f"{method}() gave {len(nodes)} chunks, due: 1")
    return Sent(opened.type, nodes[0], opened)


def array_of(ix: Any, shape: tuple[int, ...], dtype: str = "float32") -> Any:
    """Return an Array whose element number n holds n."""
    return ix.from_dlpack(host(shape, dtype))


def _leaf(node: Any) -> Any:
    """Return what has the numbers of lists."""
    while node.children:
        node = node.children[0]
    return node


def expect_shared(array: Any, node: Node) -> None:
    """Raise `Found` unless the numbers of a column are those of an array."""
    address = _leaf(node).buffers[1]
    expect(
        address == array.ptr, f"the numbers are at {address or 0:#x}, the array's {array.ptr:#x}"
    )
