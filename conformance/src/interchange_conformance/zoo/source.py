"""The base class of all producers of the zoo: a description, options of behaviour, a log.

Source: array API standard 2025.12, ``array.__dlpack__`` and ``array.__dlpack_device__``.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from interchange.abi import capsules
from interchange.abi.dlpack import (
    DLPACK_FLAG_BITMASK_IS_COPIED,
    DLPACK_FLAG_BITMASK_READ_ONLY,
)

from .memory import c_strides
from .structs import Description, Loan

if TYPE_CHECKING:
    from typing_extensions import Self

    from .memory import Memory
    from .structs import Destructor

AS_IS: Final[Any] = type("AsIs", (), {"__repr__": lambda _: "AS_IS"})()
"""The fields of a correct producer."""
_HOST: Final = (1, 0)


class Call(NamedTuple):
    """One logged request."""

    method: str
    keywords: dict[str, Any]


@dataclass(frozen=True)
class Manners:
    """Behaviour of a producer.

    Attributes
    ----------
    generation : {"auto", "legacy", "versioned"}
        The struct that it exports; "auto" depends on ``max_version``.
    name : bytes or None
        Name of its capsules; the correct one by default.
    destructor : {"held", "numpy"} or None
        Destructor of an unconsumed capsule, see `Loan.offer`.
    advertises : object
        Return value of ``__dlpack_device__``; the struct's device by default.
    device_raises : BaseException or None
        Raised by ``__dlpack_device__``.
    returns : object
        Return value of ``__dlpack__``; a capsule by default.
    raises : BaseException or None
        Raised by ``__dlpack__``.
    deep : bool
        Whether `raises` is raised two calls below ``__dlpack__`` instead of in it.
    repeat : bool
        Whether every call returns the capsule of the first (breaks DLP-CAP-6).
    deaf : bool
        Whether ``dl_device`` and ``copy`` are accepted and ignored.
    """

    generation: Literal["auto", "legacy", "versioned"] = "auto"
    name: bytes | None = AS_IS
    destructor: Destructor = "held"
    advertises: Any = AS_IS
    device_raises: BaseException | None = None
    returns: Any = AS_IS
    raises: BaseException | None = None
    deep: bool = False
    repeat: bool = False
    deaf: bool = False


_SAID: Final = frozenset(field.name for field in fields(Description))


def _raise_from_below(error: BaseException) -> None:
    """Raise an error in another frame."""
    raise error


class Source:
    """The base class of all producers of the zoo; it supports no protocol itself.

    Parameters
    ----------
    said : Description
        The fields of its structs.
    memory : Memory, optional
        The actual memory.
    manners : Manners, optional
        Its behaviour.

    Attributes
    ----------
    log : list[Call]
        Every request, in order.
    loans : list[Loan]
        Every struct that was made, in order.
    """

    said: Description
    memory: Memory | None
    manners: Manners

    def __init__(
        self,
        said: Description,
        memory: Memory | None = None,
        manners: Manners = Manners(),
    ) -> None:
        self.said, self.memory, self.manners = said, memory, manners
        self.log: list[Call] = []
        self.loans: list[Loan] = []
        self._first_capsule: Any = None

    def but(self, **changes: Any) -> Self:
        """Return a producer of the same kind and memory with changed fields.

        Parameters
        ----------
        **changes
            Fields of `Description` and `Manners`.
        """
        said = {name: value for name, value in changes.items() if name in _SAID}
        manners = {name: value for name, value in changes.items() if name not in _SAID}
        return type(self)(replace(self.said, **said), self.memory, replace(self.manners, **manners))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.said}>"

    @property
    def deleter_calls(self) -> int:
        """Total number of deleter calls, for all structs."""
        return sum(self.counts)

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of deleter calls of each struct, in the order of their creation."""
        return tuple(loan.deleter_calls for loan in self.loans)

    @property
    def alive(self) -> int:
        """Number of structs that have not been released."""
        return sum(loan.alive for loan in self.loans)

    def values(self) -> list[int | float | complex | bool]:
        """Return the elements in C order, as they were when the memory was created.

        Raises
        ------
        ValueError
            A consumer cannot read elements according to the description.
        """
        said = self.said
        if not isinstance(said.shape, tuple) or isinstance(said.strides, int):
            raise ValueError(f"{said} has no elements to list")  # noqa: TRY004 - not the type of an argument
        if 0 in said.shape:
            return []
        if self.memory is None or said.data is None:
            raise ValueError(f"{said} has no memory")
        strides = c_strides(said.shape) if said.strides is None else said.strides
        return self.memory.numbers(said.data + said.byte_offset, said.shape, strides)

    # ------------------------------------------------------------ shared by the kinds

    def _device(self) -> Any:
        """Return the result of ``__dlpack_device__``."""
        self.log.append(Call("__dlpack_device__", {}))
        manners = self.manners
        if manners.device_raises is not None:
            raise manners.device_raises
        return self.said.device if manners.advertises is AS_IS else manners.advertises

    def _hear(self, keywords: dict[str, Any]) -> BaseException | None:
        """Log a call of ``__dlpack__``; return the error that its frame must raise."""
        self.log.append(Call("__dlpack__", keywords))
        return None if self.manners.deep else self.manners.raises

    def _answer(self, keywords: dict[str, Any]) -> Any:
        """Return the result of ``__dlpack__``."""
        manners = self.manners
        if manners.raises is not None:
            _raise_from_below(manners.raises)
        if manners.returns is not AS_IS:
            return manners.returns
        if manners.repeat and self._first_capsule is not None:
            return self._first_capsule
        said, memory = (self.said, self.memory) if manners.deaf else self._obey(keywords)
        capsule = self._capsule(said, memory, keywords.get("max_version"))
        if manners.repeat:
            self._first_capsule = capsule
        return capsule

    def _obey(self, keywords: dict[str, Any]) -> tuple[Description, Memory | None]:
        """Return the description and memory to export, with ``dl_device`` and ``copy`` applied."""
        said, copy = self.said, keywords.get("copy")
        target = keywords.get("dl_device") or said.device
        if isinstance(target[0], enum.Enum):
            target = (target[0].value, *target[1:])  # an Enum, perhaps not an IntEnum
        moves = tuple(target) != said.device
        if moves and (tuple(target) != _HOST or copy is False):
            raise BufferError(f"dl_device={target}, copy={copy}: the memory is on {said.device}")
        if not (moves or copy):
            return said, self.memory
        flags = said.flags & ~DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED
        said = replace(said, device=tuple(target), flags=flags)
        if self.memory is None or said.data is None:
            return said, None
        memory = self.memory.copy()
        return replace(said, data=said.data - self.memory.address + memory.address), memory

    def _capsule(self, said: Description, memory: Memory | None, max_version: Any) -> Any:
        """Make a struct and its capsule."""
        versioned = self.manners.generation == "versioned" or (
            self.manners.generation == "auto" and max_version is not None and max_version >= (1, 0)
        )
        loan = Loan(said, memory, versioned=versioned)
        self.loans.append(loan)
        name = self.manners.name
        if name is AS_IS:
            name = capsules.VERSIONED if versioned else capsules.LEGACY
        return loan.offer(name, self.manners.destructor)
