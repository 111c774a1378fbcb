"""A chunk of a column as a block of memory with device, address and strides.

Source: Arrow columnar format; The Arrow C device data interface, ``ArrowDeviceArray``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange._protocols import host
from interchange._types.devices import CPU, HOST_ACCESSIBLE, Device
from interchange._types.layout import Layout, c_strides, problem
from interchange.abi import BrokenRule, DLDeviceType
from interchange.abi._records import NamedTuple
from interchange.abi.arrow import ARROW_DEVICE_ARRAY, ArrowDeviceArray

from .buffers import Node, read_leaf

if TYPE_CHECKING:
    from typing import TypeVar

    from interchange._core import ArrowOwner, Tensor

    from .buffers import Leaf, Measure
    from .elements import Elements

    T = TypeVar("T", bound="Tensor")

_MOST_ID = 2**31 - 1  # DLPack's device ids are 32-bit integers


class Chunk(NamedTuple):
    """One chunk, read and validated."""

    owner: ArrowOwner  # address of its struct
    leaf: Leaf  # its values and bitmaps
    device: Device  # device of the memory
    event: int  # address of the handle of the event to wait for; 0 for none


def read_node(owner: ArrowOwner, name: bytes) -> Node:
    """Return the outermost struct of a chunk.

    `name`: the name of the capsules of such chunks.

    Raises BrokenRule: the chunk is on a device that does not exist (ARROW-DEVICE-1).
    """
    device, event = CPU, 0
    if name == ARROW_DEVICE_ARRAY:
        struct = ArrowDeviceArray.from_address(owner.address)
        device = _device_of(struct.device_type, struct.device_id)
        event = struct.sync_event or 0
    return Node(owner.address, None, (), owner, device, event)


def read_chunk(node: Node, elements: Elements, measure: Measure) -> Chunk:
    """Return the values of a column in a chunk, whose outermost struct is given.

    `measure`: returns the lists of a level, which have one length.

    Raises BrokenRule: as `read_leaf`; or the chunk has more bytes than memory can have
        (DLP-SHAPE-4).
    """
    leaf = read_leaf(node, elements.levels, measure)
    _check_size(leaf, elements.with_steps(leaf.steps))
    return Chunk(node.owner, leaf, node.device, node.event)


def _check_size(leaf: Leaf, elements: Elements) -> None:
    """Refuse more elements than memory can hold, before any is read."""
    for shape in ((leaf.first + leaf.length,), (leaf.rows, *elements.shape)):
        found = problem(shape, None, elements.dtype.itemsize)
        if found is not None:
            raise BrokenRule(found[1], found[0])


def _device_of(kind: int, ordinal: int) -> Device:
    """Return the device of two numbers; on the host the second one is ignored."""
    try:
        known = DLDeviceType(kind)
    except ValueError as error:
        raise BrokenRule("ARROW-DEVICE-1", f"device_type is {kind}") from error
    if known is DLDeviceType.kDLCPU:
        return CPU
    is_of_none = ordinal == -1 and known in HOST_ACCESSIBLE
    if not (is_of_none or 0 <= ordinal <= _MOST_ID):
        raise BrokenRule("ARROW-DEVICE-1", f"device_id is {ordinal} for device_type {kind}")
    return Device(known, max(ordinal, 0))


# ---------------------------------------------------------------- shapes


def layout_of(rows: int, elements: Elements) -> Layout:
    """Return shape and strides of a number of elements of a column [elements]."""
    extents = (rows, *elements.shape)
    return ordered(extents, c_strides(extents), elements)


def ordered(extents: tuple[int, ...], strides: tuple[int, ...], elements: Elements) -> Layout:
    """Return a layout whose axes are in memory order, with its axes in array order."""
    axes = (0, *(place + 1 for place in elements.order))
    return Layout(tuple(extents[axis] for axis in axes), tuple(strides[axis] for axis in axes))


# ---------------------------------------------------------------- memory


def share(chunk: Chunk, elements: Elements, x: Any, cls: type[T], call: str) -> T:
    """Return a tensor over the memory of a chunk, which it keeps alive; it is read-only.

    Raises ExchangeError: as `host.describe_memory`.
    """
    leaf, size = chunk.leaf, elements.dtype.itemsize
    ptr = leaf.ptr + leaf.first * size if leaf.length else 0
    return host.describe_memory(
        ptr,
        elements.dtype,
        layout_of(leaf.rows, elements),
        readonly=True,
        owner=x,
        keep=chunk.owner,
        cls=cls,
        call=call,
        device=chunk.device,
    )


def is_aligned(chunk: Chunk, elements: Elements) -> bool:
    """Whether the values of a chunk are aligned to their size."""
    return not chunk.leaf.length or chunk.leaf.ptr % elements.dtype.itemsize == 0
