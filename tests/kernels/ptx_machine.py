"""Interprets kernels in PTX, thread by thread, so that GPU code is tested without a GPU.

Source: PTX ISA 8.8.  Threads of a block run in turn from barrier to barrier.  Behaviour that is
undefined on a GPU is an error: access outside of an array or to a misaligned address; a barrier
that only some threads reach; a read of an uninitialised register.  An unknown opcode is refused
by its name when a function is read, whether it is reached or not.
"""

from __future__ import annotations

import ctypes
import itertools
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .ptx_arithmetic import rule_of
from .ptx_atomics import MAKERS as _ATOMICS
from .ptx_grid import Turns
from .ptx_library import library_function
from .ptx_printing import vprintf
from .ptx_text import literal, read_module
from .ptx_types import WIDE, Opcode, UnknownOpcodeError, decoder, encoder
from .ptx_warps import MAKERS as _WARPS, release_block, run_warp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .ptx_text import Function, Instruction, Variable
    from .ptx_types import Type

    Operand = Callable[["Frame"], int]
    Action = Callable[["Frame"], None]


_WINDOW = 32  # bits of an address below the region number, which starts in the middle of them
_UNWRITTEN = 0xA5  # initial contents of shared and local memory
_SPECIALS = ("tid", "ntid", "ctaid", "nctaid")
_DYNAMIC = "%dynamic_smem_size"
_OF_A_LANE = ("%laneid", "%lanemask_lt")
_WARP = 32


class MachineError(RuntimeError):
    """A program does something that is undefined on a GPU."""


class Region(NamedTuple):
    """A memory region: its space, its first address, and its bytes."""

    space: str
    start: int
    memory: memoryview


class Frame:
    """A call: its position, its registers, and the memory of its parameters."""

    def __init__(self, code: Code, thread: Thread, parameters: dict[str, bytearray]) -> None:
        self.code, self.thread, self.parameters = code, thread, parameters
        self.place, self.carry = 0, 0
        self.registers: dict[str, int] = {}
        self.addresses: dict[str, int] = {}

    def address(self, name: str) -> int:
        """Return the address of a variable or a parameter, which is allocated on demand."""
        if name not in self.addresses and name in self.parameters:
            self.addresses[name] = self.thread.machine.map("param", self.parameters[name])
        found = self.addresses.get(name)
        return self.thread.machine.addresses[name] if found is None else found


class Thread:
    """A thread: its frames, the innermost last, and its special registers."""

    def __init__(self, machine: Machine, specials: dict[str, int]) -> None:
        self.machine, self.specials = machine, specials
        self.frames: list[Frame] = []
        self.waiting: Any = None  # of an instruction that threads of a warp or a block share

    def enter(self, code: Code, parameters: dict[str, bytearray]) -> Frame:
        """Enter a function, with new local memory."""
        frame = Frame(code, self, parameters)
        for each in code.function.variables:
            if each.space == "local":
                frame.addresses[each.name] = self.machine.reserve("local", each.size)
        for each in code.function.results:
            parameters[each.name] = bytearray(each.size)
        self.frames.append(frame)
        return frame

    def leave(self) -> None:
        """Return from a function."""
        for address in self.frames.pop().addresses.values():
            self.machine.release(address)

    def go_on(self) -> tuple[str, int] | None:
        """Run up to a barrier, and return its position; None at the end."""
        while self.frames:
            frame = self.frames[-1]
            guard, wanted, is_barrier, act = frame.code.steps[frame.place]
            frame.place += 1
            self.machine.steps += 1
            if guard is None or frame.registers[guard] == wanted:
                act(frame)
                if is_barrier:
                    return frame.code.function.name, frame.place
        return None


class Step(NamedTuple):
    """A decoded instruction, executed if its guard equals `wanted`."""

    guard: str | None
    wanted: int
    is_barrier: bool
    act: Action


class Machine:
    """An executable module of PTX.

    Attributes
    ----------
    opcodes : set[str]
        All opcodes in its functions.
    steps : int
        The number of executed instructions.
    printed : str
        What ``vprintf`` has written.
    """

    def __init__(self, text: str) -> None:
        self.module = read_module(text)
        self.regions: dict[int, Region] = {}
        self._numbers = itertools.count(1)
        self.addresses: dict[str, int] = {}
        self.steps, self.opcodes = 0, set[str]()
        self.poll: Callable[[], None] = lambda: None
        self.grid_word = bytearray(4)
        self.printed = ""
        for each in self.module.variables:
            if each.space in {"global", "const"}:
                self.addresses[each.name] = self.map(each.space, bytearray(each.data))
        self.codes = {
            name: Code(self, function) for name, function in self.module.functions.items()
        }

    # ------------------------------------------------------------ memory

    def map(self, space: str, memory: Any, offset: int = 0) -> int:
        """Map memory at an address `offset` bytes after an aligned one."""
        number = next(self._numbers)
        start = (number << _WINDOW) + (1 << (_WINDOW - 1)) + offset
        self.regions[number] = Region(space, start, memoryview(memory).cast("B"))
        return start

    def reserve(self, space: str, size: int) -> int:
        """Return the address of new memory, which is not zeroed."""
        return self.map(space, bytearray([_UNWRITTEN]) * size)

    def release(self, address: int) -> None:
        """Free memory."""
        del self.regions[address >> _WINDOW]

    def look(self, space: str, address: int, size: int) -> memoryview:
        """Return bytes of memory; an empty space is the generic one."""
        region = self.regions.get(address >> _WINDOW)
        if region is None or (space and space != region.space):
            raise MachineError(f"{size} bytes at {address:#x}: nothing is there in {space} memory")
        first = address - region.start
        if not 0 <= first <= len(region.memory) - size:
            what = f"{size} bytes at {first} of {len(region.memory)} in {region.space} memory"
            raise MachineError(f"{what}: out of bounds")
        if address % size:
            raise MachineError(f"{size} bytes at {address:#x}: not aligned")
        return region.memory[first : first + size]

    # ------------------------------------------------------------ running

    def launch(
        self,
        name: str,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Iterable[Any],
        dynamic: int = 0,
        *,
        together: bool = False,
    ) -> None:
        """Run a kernel over NumPy arrays, passed with shape and strides, and numbers.

        `dynamic`: the size of dynamic shared memory [bytes].  With `together`, blocks take turns at
        relaxed loads, and the last parameter is the address of a word.
        """
        code = self.codes[name]
        mapped: list[int] = []
        flat = [data for each in arguments for data in self._flat(each, mapped)]
        if together:
            mapped.append(self.map("global", self.grid_word))
            flat.append(mapped[-1].to_bytes(8, "little"))
        expected = [each.size for each in code.function.parameters]
        if [len(data) for data in flat] != expected:
            raise MachineError(f"{name} takes parameters of {expected} bytes")
        parameters = {
            each.name: bytearray(data)
            for each, data in zip(code.function.parameters, flat, strict=True)
        }
        grid, block = ((*sizes, 1, 1)[:3] for sizes in (grid, block))
        sizes = {
            f"%{name}.{axis}": size
            for name, lengths in (("ntid", block), ("nctaid", grid))
            for axis, size in zip("xyz", lengths, strict=True)
        }
        sizes[_DYNAMIC] = dynamic
        with np.errstate(all="ignore"):
            acts = [
                partial(
                    self._run_block, code, parameters, {**sizes, **_axes("ctaid", place)}, block
                )
                for place in itertools.product(*map(range, reversed(grid)))
            ]
            if together:
                Turns(self, acts).run()
            else:
                for act in acts:
                    act()
        for address in mapped:
            self.release(address)

    def _flat(self, value: Any, mapped: list[int]) -> list[bytes]:
        """Return the parameters of an argument: for an array its address, lengths and strides."""
        if not isinstance(value, np.ndarray):
            return [np.asarray(value).tobytes()]
        low, high = np.lib.array_utils.byte_bounds(value)
        if value.itemsize == 2:  # atomic operations exchange the words around them
            low, high = low - low % 4, high + -high % 4
        memory = (ctypes.c_char * (high - low)).from_address(low)
        start = self.map("global", memory, low % 256)
        mapped.append(start)
        address = start + value.__array_interface__["data"][0] - low
        return [
            n.to_bytes(8, "little", signed=True) for n in (address, *value.shape, *value.strides)
        ]

    def _run_block(
        self,
        code: Code,
        parameters: dict[str, bytearray],
        specials: dict[str, int],
        block: Sequence[int],
    ) -> None:
        functions = self.module.functions.values()
        variables = [*self.module.variables, *(v for each in functions for v in each.variables)]
        shared = self._enter_shared(variables, specials[_DYNAMIC])
        threads = []
        for place in itertools.product(*map(range, reversed(block))):
            lane = len(threads) % _WARP
            of_lane = dict(zip(_OF_A_LANE, (lane, (1 << lane) - 1), strict=True))
            thread = Thread(self, {**specials, **_axes("tid", place), **of_lane})
            thread.enter(code, dict(parameters))
            threads.append(thread)
        while any(thread.frames for thread in threads):
            warps = [threads[first : first + _WARP] for first in range(0, len(threads), _WARP)]
            places = {place for warp in warps for place in run_warp(warp)}
            if len(places) > 1:
                raise MachineError(f"some threads wait where others do not: {places}")
            release_block(threads)
        for address in shared:
            self.release(address)

    def _enter_shared(self, variables: Iterable[Variable], dynamic: int) -> list[int]:
        """Allocate the arrays in shared memory; one without a length is dynamic."""
        found = {
            each.name: self.reserve("shared", each.size or dynamic)
            for each in variables
            if each.space == "shared"
        }
        self.addresses.update(found)
        return list(found.values())


def _axes(name: str, place: Sequence[int]) -> dict[str, int]:
    """Return the three special registers of a name; x varies fastest."""
    return {f"%{name}.{axis}": number for axis, number in zip("zyx", place, strict=True)}


# ---------------------------------------------------------------- decoding


class Code:
    """A function with decoded instructions."""

    def __init__(self, machine: Machine, function: Function) -> None:
        self.machine, self.function = machine, function
        self.steps = [self._step(each) for each in function.code]

    def _step(self, given: Instruction) -> Step:
        self.machine.opcodes.add(given.opcode)
        op = Opcode(given.opcode)
        is_carried = op.has("cc") or op.name in _TAKE_A_CARRY
        make = Code._carried if is_carried else _MAKERS.get(op.name, Code._computed)
        act = make(self, op, given.operands)
        return Step(given.guard, given.wanted, op.name in _WAIT, act)

    def _computed(self, op: Opcode, operands: Sequence[str]) -> Action:
        rule = rule_of(op)
        to, *sources = operands
        if len(sources) != len(rule.operands):
            op.refuse()
        reads = [
            (self.operand(text), decoder(type_))
            for text, type_ in zip(sources, rule.operands, strict=True)
        ]
        act, encode = rule.act, encoder(rule.result)

        def step(frame: Frame) -> None:
            frame.registers[to] = encode(act(*[decode(get(frame)) for get, decode in reads]))

        return step

    def operand(self, text: str) -> Operand:
        """Return a function that reads a register, a number or an address."""
        name, _, axis = text.removeprefix("%").partition(".")
        if text in _OF_A_LANE:
            return lambda frame: frame.thread.specials[text]
        if text.startswith("%") and axis:
            if name not in _SPECIALS:
                raise UnknownOpcodeError(text)
            return lambda frame: frame.thread.specials[text]
        if text == _DYNAMIC:
            return lambda frame: frame.thread.specials[text]
        if text.startswith("%") or text in self.function.named:
            return lambda frame: frame.registers[text]
        if text[0].isdigit() or text[0] == "-":
            bits = literal(text) & WIDE
            return lambda _: bits
        return lambda frame: frame.address(text)

    # ------------------------------------------------------------ moves

    def _mov(self, op: Opcode, operands: Sequence[str]) -> Action:
        op.allow("")
        to, source = operands
        if to.startswith("{"):
            return self._split(op.type, _inside(to), self.operand(source))
        if source.startswith("{"):
            return self._joined(op.type, to, [self.operand(text) for text in _inside(source)])
        get, mask = self.operand(source), (1 << op.type.bits) - 1

        def step(frame: Frame) -> None:
            frame.registers[to] = get(frame) & mask

        return step

    def _split(self, type_: Type, names: Sequence[str], get: Operand) -> Action:
        width = type_.bits // len(names)

        def step(frame: Frame) -> None:
            bits = get(frame)
            for name in names:
                frame.registers[name] = bits & ((1 << width) - 1)
                bits >>= width

        return step

    def _joined(self, type_: Type, to: str, parts: Sequence[Operand]) -> Action:
        width = type_.bits // len(parts)

        def step(frame: Frame) -> None:
            numbers = [get(frame) & ((1 << width) - 1) for get in parts]
            frame.registers[to] = sum(bits << width * k for k, bits in enumerate(numbers))

        return step

    def _cvta(self, op: Opcode, operands: Sequence[str]) -> Action:
        """Return a move: addresses of all spaces are generic."""
        op.allow("to global shared local const param")
        return self._mov(Opcode("mov.u64"), operands)

    # ------------------------------------------------------------ memory

    def _address(self, text: str) -> Operand:
        base, _, offset = text.strip("[]").partition("+")
        get, more = self.operand(base), int(offset or 0)
        return lambda frame: get(frame) + more

    def _accessed(self, op: Opcode, text: str, count: int) -> Callable[[Frame], memoryview]:
        """Return a function that finds the bytes of a load or store."""
        op.allow("param global shared local const nc v2 v4 weak relaxed cta gpu sys")
        size = op.type.bits // 8 * count
        if count != int(op.one_of(("v2", "v4"), "v1")[1:]):
            op.refuse()
        space = op.one_of(("param", "global", "shared", "local", "const"))
        if space == "param" and not text.startswith("[%"):
            name, _, offset = text.strip("[]").partition("+")
            first = int(offset or 0)
            return lambda frame: _part(frame.parameters[name], first, size)
        get, look = self._address(text), self.machine.look
        return lambda frame: look(space, get(frame), size)

    def _ld(self, op: Opcode, operands: Sequence[str]) -> Action:
        to, source = operands
        names = _inside(to)
        find, size = self._accessed(op, source, len(names)), op.type.bits // 8
        is_signed = op.type.kind == "s"  # fills the register, which may be wider

        is_relaxed, machine = op.has("relaxed"), self.machine

        def step(frame: Frame) -> None:
            if is_relaxed:
                machine.poll()
            data = find(frame)
            for k, name in enumerate(names):
                part = data[k * size : (k + 1) * size]
                frame.registers[name] = int.from_bytes(part, "little", signed=is_signed) & WIDE

        return step

    def _st(self, op: Opcode, operands: Sequence[str]) -> Action:
        target, source = operands
        reads = [self.operand(text) for text in _inside(source)]
        find, size = self._accessed(op, target, len(reads)), op.type.bits // 8
        mask = (1 << op.type.bits) - 1
        space = op.one_of(("param",))
        if space and target.startswith("[%"):
            op.refuse()
        name, _, offset = target.strip("[]").partition("+")
        needed = int(offset or 0) + size * len(reads)

        def step(frame: Frame) -> None:
            if space:  # a parameter of a call has as many bytes as are stored
                held = frame.parameters.setdefault(name, bytearray())
                held.extend(bytes(max(0, needed - len(held))))
            data = find(frame)
            for k, get in enumerate(reads):
                data[k * size : (k + 1) * size] = (get(frame) & mask).to_bytes(size, "little")

        return step

    # ------------------------------------------------------------ control

    def _bra(self, op: Opcode, operands: Sequence[str]) -> Action:
        op.allow("uni")
        place = self.function.labels[operands[0]]

        def step(frame: Frame) -> None:
            frame.place = place

        return step

    def _brx(self, op: Opcode, operands: Sequence[str]) -> Action:
        op.allow("idx uni")
        get = self.operand(operands[0])
        labels = self.function.tables[operands[1]]
        places = [self.function.labels[label] for label in labels]

        def step(frame: Frame) -> None:
            frame.place = places[get(frame)]

        return step

    def _bar(self, op: Opcode, operands: Sequence[str]) -> Action:
        if op.has("warp") or op.has("red"):
            return _WARPS[op.name](self, op, operands)
        op.allow("sync cta aligned")
        if tuple(operands) != ("0",):
            op.refuse()
        return lambda _: None

    def _ret(self, op: Opcode, _: Sequence[str]) -> Action:
        op.allow("uni")

        def step(frame: Frame) -> None:
            frame.thread.leave()
            back = frame.parameters.get("")  # location of the result for the caller
            for each in self.function.results:
                back[:] = frame.parameters[each.name]

        return step

    def _call(self, op: Opcode, operands: Sequence[str]) -> Action:
        op.allow("uni")
        results = _inside(operands[0]) if operands[0].startswith("(") else []
        name, *rest = operands[1:] if results else operands
        given = _inside(rest[0]) if rest else []

        def step(frame: Frame) -> None:
            passed = [frame.parameters.pop(each) for each in given]
            back = bytearray()
            for each in results:
                frame.parameters[each] = back
            code = self.machine.codes.get(name)
            if name == "vprintf":
                back[:] = vprintf(self.machine, passed)
                return
            if code is None:
                back[:] = library_function(name)(passed)
                return
            names = [each.name for each in code.function.parameters]
            frame.thread.enter(code, {**dict(zip(names, passed, strict=True)), "": back})

        if name not in self.machine.module.functions and name != "vprintf":
            library_function(name)
        return step

    # ------------------------------------------------------------ sums of several words

    def _carried(self, op: Opcode, operands: Sequence[str]) -> Action:
        """Return a sum, difference or product with carry in or out."""
        op.allow("cc lo hi")
        to, *sources = operands
        reads = [(self.operand(text), decoder(op.type)) for text in sources]
        bits, takes, leaves = op.type.bits, op.name in _TAKE_A_CARRY, op.has("cc")
        is_difference = op.name in {"sub", "subc"}
        down = bits if op.has("hi") else 0

        def step(frame: Frame) -> None:
            numbers = [decode(get(frame)) for get, decode in reads]
            if len(numbers) == 3:
                product = numbers[0] * numbers[1] >> down & ((1 << bits) - 1)
                numbers = [product, numbers[2]]
            carry = frame.carry if takes else 0
            total = numbers[0] - numbers[1] - carry if is_difference else sum(numbers) + carry
            frame.registers[to] = total & ((1 << bits) - 1)
            if leaves:
                frame.carry = total >> bits & 1

        return step


_MAKERS = {
    "mov": Code._mov, "cvta": Code._cvta, "ld": Code._ld, "st": Code._st, "bra": Code._bra,
    "brx": Code._brx, "bar": Code._bar, "barrier": Code._bar, "ret": Code._ret, "call": Code._call,
    **_ATOMICS,
    **{name: make for name, make in _WARPS.items() if name not in {"bar", "barrier"}},
}  # fmt: skip
"""Name of an instruction that does more than compute -> its decoder."""
_WAIT = {"bar", "barrier", *_WARPS}
"""Instructions in which a thread may wait for others."""
_TAKE_A_CARRY = ("addc", "subc", "madc")


def _inside(text: str) -> list[str]:
    """Return the names between braces or parentheses."""
    return [part.strip() for part in text.strip("{}()").split(",") if part.strip()]


def _part(data: bytearray, first: int, size: int) -> memoryview:
    """Return a range of bytes of a parameter."""
    if first + size > len(data):
        raise MachineError(f"{size} bytes at {first} of a parameter of {len(data)}")
    return memoryview(data)[first : first + size]
