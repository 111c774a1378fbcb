"""The typed intermediate representation: every value has a type, every name a slot.

Expressions have no effects; effects and conditional parts are statements.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .options import Options
from .types import intp

if TYPE_CHECKING:
    import ast

    from .intrinsics import Intrinsic
    from .source import Source
    from .types import ArrayType, ScalarType


TOO_DEEP: Final = "expressions or branches are nested deeper than Python's limit of recursion"


@dataclass(eq=False, slots=True, repr=False)
class Slot:
    """A variable of one type; a name that is redefined with another type gets another slot."""

    name: str
    type: ScalarType

    def __repr__(self) -> str:
        return f"{self.name}: {self.type}"


@dataclass(eq=False, slots=True)
class ArrayValue:
    """An array that a kernel may index: an argument, or one of the kernel's own."""

    name: str  # its name in the kernel
    type: ArrayType  # element type and number of axes
    argument: int | None  # index of the argument; None for an array of the kernel
    shape: tuple[int, ...] = ()  # shape of an array of the kernel [elements]
    offset: int = 0  # its offset in shared memory [bytes]
    space: str = "shared"  # "argument", "shared", "dynamic" (shared), "local" or "const"
    data: bytes = b""  # the contents of a constant array

    @property
    def nbytes(self) -> int:
        """Size of an array of the kernel [bytes]."""
        return prod(self.shape) * self.type.element.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Strides of an array of the kernel [bytes], which is in C order."""
        itemsize = self.type.element.itemsize
        return tuple(prod(self.shape[k + 1 :]) * itemsize for k in range(len(self.shape)))

    @property
    def alignment(self) -> int:
        """Alignment of its elements [bytes]."""
        return self.type.element.alignment


@dataclass(eq=False, slots=True)
class View(ArrayValue):
    """A part of an array: a row, a slice, or a field of records.

    Its lengths and strides are constants, extents, or slots that are stored once.
    """

    base: ArrayValue = field(kw_only=True)  # the array whose memory it is, not a view
    first: Expression = field(kw_only=True)  # offset of its first element in that memory [bytes]
    lengths: tuple[Expression, ...] = field(kw_only=True)  # [elements]
    steps: tuple[Expression, ...] = field(kw_only=True)  # strides [bytes]
    # alignment of its elements [bytes], where records are packed less than that of their type
    known_alignment: int = field(default=0, kw_only=True)

    @property
    def alignment(self) -> int:
        """Alignment of its elements [bytes]."""
        return self.known_alignment or self.type.element.alignment


@dataclass(frozen=True, eq=False)
class Constant:
    """A constant: a literal of the kernel, or a constant of the enclosing program."""

    type: ScalarType
    value: Any
    is_literal: bool = False  # an int of Python, which takes the type of what it is used with


@dataclass(frozen=True, eq=False)
class Read:
    """The current value of a slot."""

    slot: Slot

    @property
    def type(self) -> ScalarType:
        """Type of the slot."""
        return self.slot.type


@dataclass(frozen=True, eq=False)
class Argument:
    """A scalar argument of the kernel."""

    type: ScalarType
    index: int


@dataclass(frozen=True, eq=False)
class Cast:
    """A cast."""

    type: ScalarType
    value: Expression


@dataclass(frozen=True, eq=False)
class Binary:
    """A binary operation of two operands of one type."""

    type: ScalarType
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, eq=False)
class Unary:
    """A unary operation: ``-``, ``~`` or ``not``."""

    type: ScalarType
    operator: str
    value: Expression


@dataclass(frozen=True, eq=False)
class Element:
    """An element of an array."""

    array: ArrayValue
    index: tuple[Expression, ...]
    place: int

    @property
    def type(self) -> ScalarType:
        """Element type of the array."""
        return self.array.type.element


@dataclass(frozen=True, eq=False)
class Extent:
    """Length [elements] or stride [bytes] of an array along an axis."""

    array: ArrayValue
    axis: int
    is_stride: bool = False
    type: ScalarType = intp


@dataclass(frozen=True, eq=False)
class Special:
    """A special register, such as ``threadIdx.x``."""

    type: ScalarType
    name: str
    axis: int


@dataclass(frozen=True, eq=False)
class Lane:
    """The index of the thread in its warp."""

    type: ScalarType


@dataclass(frozen=True, eq=False)
class Math:
    """A function of the standard library's `math`."""

    type: ScalarType
    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, eq=False)
class Call:
    """A call of an intrinsic that is a row of `intrinsics`; an impure one is stored in a slot."""

    type: ScalarType
    intrinsic: Intrinsic
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, eq=False)
class Atomic:
    """The old value of an element that an atomic operation replaces; it is stored in a slot."""

    type: ScalarType
    operation: str  # of `atomics.AtomicOperations`
    target: Element
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, eq=False)
class Choice:
    """One of two numbers of one type; both are computed."""

    type: ScalarType
    test: Expression
    yes: Expression
    no: Expression


@dataclass(frozen=True, eq=False)
class Complex:
    """A complex number of two parts."""

    type: ScalarType
    real: Expression
    imag: Expression


@dataclass(frozen=True, eq=False)
class Part:
    """The real (0) or the imaginary (1) part of a complex number."""

    type: ScalarType
    value: Expression
    which: int


@dataclass(frozen=True, eq=False)
class Rounds:
    """The number of iterations of a range, of an unsigned type; 0 for a step of 0."""

    type: ScalarType
    start: Expression
    stop: Expression
    step: Expression


Expression = (
    Constant
    | Read
    | Argument
    | Cast
    | Binary
    | Unary
    | Element
    | Extent
    | Special
    | Lane
    | Math
    | Call
    | Atomic
    | Choice
    | Complex
    | Part
    | Rounds
)


@dataclass(eq=False)
class Store:
    """An assignment to a slot."""

    slot: Slot
    value: Expression


@dataclass(eq=False)
class StoreElement:
    """An assignment to an element of an array."""

    target: Element
    value: Expression


@dataclass(eq=False)
class If:
    """A branch."""

    test: Expression
    body: list[Statement]
    orelse: list[Statement]


@dataclass(eq=False)
class Loop:
    """A loop: while a test holds, the body, and then the step, also after ``continue``."""

    before_test: list[Statement]
    test: Expression
    body: list[Statement]
    step: list[Statement]


@dataclass(eq=False)
class Unrolled:
    """A loop over a tuple: the statements of every round; ``continue`` jumps to the next."""

    rounds: list[list[Statement]]


@dataclass(eq=False)
class Jump:
    """A jump: ``break``, ``continue`` or ``return``."""

    kind: str


@dataclass(eq=False)
class Inlined:
    """The body of an inlined function; ``return`` jumps to its end."""

    name: str
    body: list[Statement]


@dataclass(eq=False)
class Raise:
    """An exception, which ends the thread; in debug mode it is reported as the place says."""

    place: int


@dataclass(eq=False)
class Assert:
    """In debug mode, a test that ends the thread where it is false; its body computes the test."""

    body: list[Statement]
    test: Expression
    place: int


@dataclass(eq=False)
class Check:
    """An index of a view, which is checked where all indices are: it is below a length."""

    index: Expression
    length: Expression
    place: int


@dataclass(eq=False)
class Print:
    """A line: texts, and numbers that are bools or 64 bits wide."""

    parts: tuple[str | Expression, ...]
    line: int  # its number in the program's


@dataclass(eq=False)
class Function:
    """A function that is called, for given types of arguments."""

    name: str
    arguments: tuple[ScalarType | ArrayType, ...]  # its numbers and arrays, also those of tuples
    spaces: tuple[str, ...]  # the memory space of each array, "" for a number
    body: list[Statement]
    results: tuple[Slot, ...]  # where ``return`` stores the numbers that it returns
    is_ending: bool  # whether it may end the thread: by ``raise``
    has_index: bool  # whether it reads the index of the thread or of the block
    inline: str = "auto"  # "auto", "always" or "never"


@dataclass(eq=False)
class Invoke:
    """A call of a function; its results are stored."""

    function: Function
    arguments: tuple[Expression | ArrayValue, ...]
    results: tuple[Slot, ...]


@dataclass(eq=False)
class Barrier:
    """A barrier for all threads of the block."""

    line: int


@dataclass(eq=False)
class Fence:
    """A memory fence."""

    name: str  # of the function: ``threadfence`` and so on


@dataclass(eq=False)
class GridBarrier:
    """A barrier for all threads of the grid."""

    line: int


@dataclass(eq=False)
class BarrierVote:
    """A barrier that stores a result: how many predicates are true (count), all (and), one (or)."""

    line: int
    operation: str
    predicate: Expression
    result: Slot


@dataclass(eq=False)
class WarpCall:
    """A call of a function of a warp by the lanes in a mask."""

    operation: str
    mask: Expression
    arguments: tuple[Expression, ...]  # the value, and the lane of a shuffle
    width: int  # number of lanes in a group of a shuffle
    results: tuple[Slot, ...]
    # the errors in debug mode: the mask leaves out the caller, or names lanes that are absent
    places: tuple[int, ...]
    stuck: int  # the error where the lanes in the mask never meet


Statement = (
    Store
    | StoreElement
    | If
    | Loop
    | Unrolled
    | Jump
    | Inlined
    | Invoke
    | Check
    | Raise
    | Assert
    | Print
    | Barrier
    | GridBarrier
    | Fence
    | BarrierVote
    | WarpCall
)


class Place(NamedTuple):
    """A position in the source, and the error that a thread may report there."""

    source: Source
    node: ast.AST
    what: str = "an index is out of bounds"
    rule: str = "CPY-INDEX-3"
    hint: str | None = None
    exception: str = ""  # the name of its class, of a statement that raises one


@dataclass(eq=False)
class Program:
    """A kernel for given types of arguments."""

    name: str  # name of the function
    arguments: tuple[ScalarType | ArrayType, ...]  # types of the arguments
    body: list[Statement] = field(default_factory=list)  # the statements of a thread
    # reads, writes: which array arguments are read, and which are written
    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)
    shared_bytes: int = 0  # size of all arrays of constant shape in shared memory [bytes]
    # arrays of the kernel: where they are created, and their type and shape -> array
    memory: dict[Any, ArrayValue] = field(default_factory=dict)
    options: Options = field(default_factory=Options)
    is_strict: bool = False  # whether shared arrays may be created in the entry block only
    is_inlined: bool = False  # whether the statements of functions are inserted at each call
    # functions that are called, by types of arguments; None for one that is inlined
    functions: dict[Any, Any] = field(default_factory=dict)
    calls: dict[Any, int] = field(default_factory=dict)  # function -> number of calls
    kept: list[Any] = field(default_factory=list)  # objects that are identified in these keys
    has_barrier: bool = False  # whether threads wait for each other
    has_grid_barrier: bool = False  # whether blocks wait for each other
    has_warps: bool = False  # whether lanes of a warp do
    has_votes: bool = False  # whether barriers count predicates
    # what threads may report, by their numbers from 1 on: element accesses, exceptions
    places: list[Place] = field(default_factory=list)
    # what print() writes: texts, and types of numbers
    lines: list[tuple[str | ScalarType, ...]] = field(default_factory=list)
    variables: dict[str, list[Slot]] = field(default_factory=dict)  # name -> its slots
