"""A correct producer of device memory: it orders by events, and follows the table of stream values.

Source: array API standard 2025.12, ``array.__dlpack__``; dlpack.h 1.3; CUDA driver API, Stream and
Event Management.  Consumers are tested with it on a driver; every step is a method of its own, so
that a variant can omit one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange.abi.dlpack import DLPACK_FLAG_BITMASK_IS_COPIED

from .memory import ELEMENTS, Memory, c_strides, itemsize
from .source import Call
from .structs import Description, Loan

if TYPE_CHECKING:
    from interchange_conformance.driver.cuda import Cuda

    from .memory import Ints

HOST: Final = (1, 0)
NO_SYNC: Final = -1
_CUDA, _PINNED, _ROCM, _MANAGED = 2, 3, 10, 13
_HANDLES_END: Final = 2**64
_DEFAULT_OF: Final = {_CUDA: 1, _MANAGED: 1, _ROCM: 0}
"""Device type -> the stream of ``stream=None``; a type that is missing here has no streams."""
_FORBIDDEN: Final = {_CUDA: {0}, _MANAGED: {0}, _ROCM: {1, 2}}


@dataclass(frozen=True)
class Block:
    """Memory of numbered elements.

    Attributes
    ----------
    device : tuple[int, int]
        Type and id.
    address : int
        Address of the first byte.
    owner : object
        The object that keeps the memory alive.
    """

    device: tuple[int, int]
    address: int
    owner: Any = None


class OnDevice:
    """A producer of device memory or of device-accessible memory.

    Parameters
    ----------
    block : Block
        The memory of the elements, in C order.
    shape : tuple[int, ...]
        Extent of each axis [elements].
    dtype : str
        A name in `ELEMENTS`.
    stream : int, optional
        Handle of the stream on which work on the memory may be pending.
    cuda : Cuda, optional
        The driver; without it no work is ordered and no memory copied.

    Attributes
    ----------
    log : list[Call]
        Every request, in order.
    loans : list[Loan]
        Every struct that was made, in order.
    """

    block: Block
    shape: Ints
    dtype: str
    stream: int | None
    cuda: Cuda | None

    def __init__(
        self,
        block: Block,
        shape: Ints,
        dtype: str,
        *,
        stream: int | None = None,
        cuda: Cuda | None = None,
    ) -> None:
        self.block, self.shape, self.dtype = block, shape, dtype
        self.stream, self.cuda = stream, cuda
        self.log: list[Call] = []
        self.loans: list[Loan] = []

    def __repr__(self) -> str:
        return f"<{self.dtype} {self.shape} on {self.block.device}, pending on {self.stream}>"

    @property
    def nbytes(self) -> int:
        """Size of all elements [bytes]."""
        return math.prod(self.shape) * itemsize(ELEMENTS[self.dtype])

    def __dlpack_device__(self) -> tuple[int, int]:
        self.log.append(Call("__dlpack_device__", {}))
        return self.device()

    def __dlpack__(self, **keywords: Any) -> Any:
        self.log.append(Call("__dlpack__", keywords))
        return self.answer(**keywords)

    def answer(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a capsule."""
        target = self.device() if dl_device is None else dl_device
        if target == HOST:
            self.check_host_stream(stream)
            block, copied = self.to_host(copy)
            return self.capsule(block, copied, max_version)
        consumer = self.normal_stream(stream)
        if target != self.device():
            raise self.refusal(target)
        if consumer is not None:
            self.order(consumer)
        block = self.copied_block(consumer) if copy else self.block
        return self.capsule(replace(block, device=target), bool(copy), max_version)

    # ------------------------------------------------------------ the steps

    def device(self) -> tuple[int, int]:
        """Return type and id."""
        return self.block.device

    def refusal(self, target: tuple[int, int]) -> Exception:
        """Return the exception for a device to which the memory cannot be exported."""
        return BufferError(f"dl_device={target}: the memory is on {self.device()}")

    def normal_stream(self, stream: Any) -> int | None:
        """Return the handle of a stream value, None if the device has no streams."""
        kind = self.block.device[0]
        if stream is None:
            return _DEFAULT_OF.get(kind)
        if not isinstance(stream, int) or isinstance(stream, bool):
            raise TypeError(f"stream={stream!r} is no int")
        if kind not in _DEFAULT_OF:
            raise ValueError(f"stream={stream}: this memory has no streams")
        if not NO_SYNC <= stream < _HANDLES_END or stream in _FORBIDDEN[kind]:
            raise ValueError(f"stream={stream} is no stream of device type {kind}")
        return stream

    def check_host_stream(self, stream: Any) -> None:
        """Refuse a stream if the memory is exported to the host."""
        if stream is not None:
            raise ValueError(f"stream={stream!r}: the host has no streams")

    def order(self, consumer: int) -> None:
        """Make the consumer's stream wait for pending work."""
        if consumer == NO_SYNC or self.stream in {None, consumer} or self.cuda is None:
            return
        with self.cuda.on_device(self.ordinal):
            if self.cuda.is_capturing(consumer) or self.cuda.is_capturing(self.stream):
                raise BufferError("a stream captures, and would wait for work outside its capture")
            self.wait(self.stream, consumer)

    def wait(self, pending: int, consumer: int) -> None:
        """Make one stream wait for another."""
        if self.cuda is not None:
            self.cuda.order(pending, consumer)

    def finish(self) -> None:
        """Make the host wait for pending work."""
        if self.cuda is not None and self.stream is not None:
            with self.cuda.on_device(self.ordinal):
                self.cuda.synchronize(self.stream)

    def to_host(self, copy: bool | None) -> tuple[Block, bool]:
        """Return host-accessible memory after the work on it, and whether it is a copy."""
        if self.cuda is None:
            raise BufferError("dl_device=(1, 0): there is no driver to copy with")
        reached = self.block.device[0] in {_PINNED, _MANAGED}
        if not reached and copy is False:
            raise BufferError("dl_device=(1, 0), copy=False: the host does not reach the memory")
        self.finish()
        if reached and not copy:
            return Block(HOST, self.block.address, self.block), False
        memory = Memory(math.prod(self.shape), ELEMENTS[self.dtype])
        if self.nbytes:
            with self.cuda.on_device(self.ordinal):
                self.cuda("cuMemcpyDtoH_v2", memory.address, self.block.address, self.nbytes)
        return Block(HOST, memory.address, memory), True

    def copied_block(self, consumer: int | None) -> Block:
        """Return a copy on the same device, made on the consumer's stream."""
        if self.cuda is None or consumer in {None, NO_SYNC}:
            raise BufferError("copy=True: there is no stream to copy on")
        with self.cuda.on_device(self.ordinal):
            address = self.cuda.memory(self.nbytes)
            self.cuda.copy(address, self.block.address, self.nbytes, consumer)
        return Block(self.block.device, address)

    @property
    def ordinal(self) -> int:
        """Return the number of the device whose streams access the memory."""
        return self.block.device[1]

    def capsule(self, block: Block, copied: bool, max_version: tuple[int, int] | None) -> Any:
        """Return a new capsule of a new struct."""
        versioned = max_version is not None and max_version >= (1, 0)
        said = Description(
            self.shape,
            c_strides(self.shape),
            dtype=ELEMENTS[self.dtype],
            device=block.device,
            data=None if 0 in self.shape else block.address,
            flags=DLPACK_FLAG_BITMASK_IS_COPIED if copied else 0,
        )
        loan = Loan(said, None, versioned=versioned)
        self.loans.append(loan)
        _kept.append(block)
        return loan.offer(capsules.VERSIONED if versioned else capsules.LEGACY, "held")


_kept: Final[list[Block]] = []  # kept like the structs, until the process exits


def place(
    cuda: Cuda, kind: str, shape: Ints, dtype: str, *, device: int = 0
) -> tuple[Block, list[int | float | complex | bool]]:
    """Return new memory of a kind with numbered elements, and the numbers.

    Parameters
    ----------
    cuda : Cuda
        The driver.
    kind : {"cuda", "pinned", "managed"}
        Kind of memory.
    shape : tuple[int, ...]
        Extent of each axis [elements].
    dtype : str
        A name in `ELEMENTS`.
    device : int, default 0
        Number of the device.
    """
    count = math.prod(shape)
    numbers = Memory(count, ELEMENTS[dtype])
    with cuda.on_device(device):
        make = {"cuda": cuda.memory, "pinned": cuda.pinned, "managed": cuda.managed}[kind]
        address = make(numbers.size)
        cuda.write(address, bytes(numbers.view()))
    where = {"cuda": (_CUDA, device), "pinned": (_PINNED, 0), "managed": (_MANAGED, 0)}[kind]
    return Block(where, address), numbers.numbers(numbers.address, shape, c_strides(shape))
