"""What all producers of the zoo have in common: a description, manners, a log.

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
"""What an honest producer would say there."""
_HOST: Final = (1, 0)


class Call(NamedTuple):
    """One request, as it came.

    Attributes
    ----------
    method : str
        Name of the method.
    keywords : dict
        What was passed, by name; what was left out is not there.
    """

    method: str
    keywords: dict[str, Any]


@dataclass(frozen=True)
class Manners:
    """How a producer answers.

    Attributes
    ----------
    generation : {"auto", "legacy", "versioned"}
        Which struct it hands out; auto looks at ``max_version``.
    name : bytes or None
        Name of its capsules; the right one when left out.
    destructor : {"held", "numpy"} or None
        What frees an unconsumed capsule, see `Loan.offer`.
    advertises : object
        Answer of ``__dlpack_device__``; the struct's device when left out.
    device_raises : BaseException or None
        Raised by ``__dlpack_device__``.
    returns : object
        Answer of ``__dlpack__``; a capsule when left out.
    raises : BaseException or None
        Raised by ``__dlpack__``.
    deep : bool
        Whether `raises` comes from two calls further down, not from ``__dlpack__`` itself.
    repeat : bool
        Whether every call is answered with the capsule of the first (breaks DLP-CAP-6).
    deaf : bool
        Whether ``dl_device`` and ``copy`` are taken and ignored.
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
    """Raise with a frame of its own."""
    raise error


class Source:
    """What all producers of the zoo are: a description, manners, a log.  Itself it speaks nothing.

    Parameters
    ----------
    said : Description
        What its structs say.
    memory : Memory, optional
        What is really there.
    manners : Manners, optional
        How it answers.

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
        """Return a producer of the same kind and memory that differs in what is named.

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
        """How often deleters have run, over all structs."""
        return sum(self.counts)

    @property
    def counts(self) -> tuple[int, ...]:
        """How often the deleter of each struct has run, in the order they were made."""
        return tuple(loan.deleter_calls for loan in self.loans)

    @property
    def alive(self) -> int:
        """How many structs have not been released."""
        return sum(loan.alive for loan in self.loans)

    def values(self) -> list[int | float | complex | bool]:
        """Return the elements in C order, as they were when the memory was made.

        Raises
        ------
        ValueError
            The description does not say what a consumer could read.
        """
        said = self.said
        if not isinstance(said.shape, tuple) or isinstance(said.strides, int):
            raise ValueError(f"{said} has no elements to list")  # noqa: TRY004 - no argument
        if 0 in said.shape:
            return []
        if self.memory is None or said.data is None:
            raise ValueError(f"{said} has no memory")
        strides = c_strides(said.shape) if said.strides is None else said.strides
        return self.memory.numbers(said.data + said.byte_offset, said.shape, strides)

    # ------------------------------------------------------------ what the kinds share

    def _device(self) -> Any:
        """Answer ``__dlpack_device__``."""
        self.log.append(Call("__dlpack_device__", {}))
        manners = self.manners
        if manners.device_raises is not None:
            raise manners.device_raises
        return self.said.device if manners.advertises is AS_IS else manners.advertises

    def _hear(self, keywords: dict[str, Any]) -> BaseException | None:
        """Log a call of ``__dlpack__``; return what is to be raised in that very frame."""
        self.log.append(Call("__dlpack__", keywords))
        return None if self.manners.deep else self.manners.raises

    def _answer(self, keywords: dict[str, Any]) -> Any:
        """Return what ``__dlpack__`` returns."""
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
        """Return what to export when ``dl_device`` and ``copy`` are honoured."""
        said, copy = self.said, keywords.get("copy")
        target = keywords.get("dl_device") or said.device
        if isinstance(target[0], enum.Enum):
            target = (target[0].value, *target[1:])  # the standard's type is Enum, be it no int
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
