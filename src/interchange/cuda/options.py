"""Options of `jit`, and signatures written as text.

Source: Numba for CUDA, "numba.cuda.jit"; PTX ISA, "Performance-Tuning Directives".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from interchange._types.errors import ArgumentError, show

from .types import BY_NAME, ArrayType, ScalarType, Signature, Void

if TYPE_CHECKING:
    from collections.abc import Sequence

_CALL: Final = "cuda.jit()"
_RULE: Final = "CPY-JIT-1"
INLINE: Final = ("auto", "always", "never")
_CLUSTERS: Final = 90  # the first architecture that has clusters of blocks
_MOST_REGISTERS: Final = 255  # of a thread, on every GPU
_SHORT: Final = {
    "boolean": "bool", "bool_": "bool", "b1": "bool", "intp": "int64", "uintp": "uint64",
    "intc": "int32", "uintc": "uint32", "void": "void", "float": "float32", "double": "float64",
    **{f"{kind}{size}": f"{name}{8 * size}" for kind, name, sizes in (
        ("i", "int", (1, 2, 4, 8)), ("u", "uint", (1, 2, 4, 8)), ("f", "float", (2, 4, 8)),
        ("c", "complex", (8, 16))) for size in sizes},
}  # fmt: skip
"""Other names of types, as in Numba."""
_TEXT: Final = re.compile(r"\s*(?:(\w+)\s*)?\((.*)\)\s*", re.DOTALL)
_TYPE: Final = re.compile(r"\s*(\w+)\s*(?:\[([:\s,1]*)\])?\s*(?:,|$)")


class Options(NamedTuple):
    """How a function is compiled."""

    device: bool = False  # whether it is called by kernels only
    inline: str = "auto"  # one of `INLINE`
    fastmath: bool = False
    cache: bool = True  # whether code is kept on disk
    opt: bool = True  # whether code is optimised for speed
    max_registers: int | None = None
    launch_bounds: tuple[int, ...] = ()

    def directives(self, architecture: int) -> str:
        """Return the directives of the kernel in PTX, for an architecture, as 75.

        GPUs without clusters of blocks have no directive for them.
        """
        names = [".maxntid", ".minnctapersm"]
        if architecture >= _CLUSTERS:
            names.append(".maxclusterrank")
        found = [f"{name} {value}" for name, value in zip(names, self.launch_bounds, strict=False)]
        if self.max_registers:
            found.append(f".maxnreg {self.max_registers}")
        return "\n".join(found)


def read_options(
    *,
    device: bool,
    inline: str | bool,
    fastmath: bool,
    cache: bool,
    opt: bool,
    max_registers: int | None,
    launch_bounds: Any,
    lineinfo: bool,
    link: Sequence[Any],
) -> Options:
    """Return the options, checked; those that have no meaning here are refused."""
    if lineinfo:
        what = "lineinfo=True: PTX is written without lines"
        raise ArgumentError(_CALL, what, _RULE, "leave it out")
    if link:
        what = f"link={show(link)}: code of other compilers is not linked"
        raise ArgumentError(_CALL, what, _RULE, "write it in Python")
    if isinstance(inline, bool):
        inline = "always" if inline else "auto"
    if inline not in INLINE:
        hint = f"pass one of {', '.join(map(repr, INLINE))}"
        raise ArgumentError(_CALL, f"inline={show(inline)}", _RULE, hint)
    is_count = type(max_registers) is int and 0 < max_registers <= _MOST_REGISTERS
    if max_registers is not None and not is_count:
        what, hint = f"max_registers={show(max_registers)}", f"pass 1 to {_MOST_REGISTERS}"
        raise ArgumentError(_CALL, what, _RULE, hint)
    bounds = launch_bounds if isinstance(launch_bounds, (tuple, list)) else (launch_bounds,)
    bounds = tuple(bounds) if launch_bounds is not None else ()
    if len(bounds) > 3 or not all(type(each) is int and each > 0 for each in bounds):
        hint = "pass the largest number of threads, and of blocks on a multiprocessor"
        raise ArgumentError(_CALL, f"launch_bounds={show(launch_bounds)}", _RULE, hint)
    if max_registers and len(bounds) > 1:
        what = "max_registers and the blocks on a multiprocessor, which determine each other"
        raise ArgumentError(_CALL, what, _RULE, "pass one of the two")
    return Options(device, inline, fastmath, cache, opt, max_registers, bounds)


# ---------------------------------------------------------------- signatures


def read_signatures(given: tuple[Any, ...], *, device: bool) -> list[Signature]:
    """Return the signatures, in any of their forms: one, several in a list, types, or text."""
    if not given or given[0] is None:
        return []
    kinds = (ScalarType, ArrayType)
    if type(given[0]) is tuple and len(given) == 1 and all(isinstance(t, kinds) for t in given[0]):
        return [Signature(given[0])]
    if len(given) == 1 and type(given[0]) in {list, tuple}:
        return [each for one in given[0] for each in read_signatures((one,), device=device)]
    if len(given) == 1 and isinstance(given[0], Signature):
        return [given[0]]
    if len(given) == 1 and isinstance(given[0], str):
        return [_parsed(given[0], device=device)]
    if isinstance(given[0], Void):
        return [Signature(tuple(given[1:]))]
    raise ArgumentError(_CALL, show(given), "CPY-ARG-1", "pass void(int32[::1])")


def _parsed(text: str, *, device: bool) -> Signature:
    """Return a signature written as ``"void(float32[:], int32)"``."""
    found = _TEXT.fullmatch(text)
    result = found and found[1]
    if found is None or (result not in {None, "void"} and not device):
        _refuse_text(text)
    types: list[ScalarType | ArrayType] = []
    rest = found[2].strip()
    while rest:
        each = _TYPE.match(rest)
        element = each and BY_NAME.get(_SHORT.get(each[1], each[1]))
        if each is None or element is None:
            _refuse_text(text)
        types.append(element if each[2] is None else _array_of(element, each[2], text))
        rest = rest[each.end() :]
    return Signature(tuple(types))


def _array_of(element: ScalarType, axes: str, text: str) -> ArrayType:
    """Return an array type of axes written as ``:, ::1``."""
    words = [each.strip() for each in axes.split(",")]
    if any(each != ":" for each in words[:-1]) or words[-1] not in {":", "::1"}:
        _refuse_text(text)
    return ArrayType(element, len(words), in_c_order=words[-1] == "::1")


def _refuse_text(text: str) -> NoReturn:
    """Raise the error for a signature written as text."""
    hint = 'write "void(float32[:], int32)"'
    raise ArgumentError(_CALL, f"the signature {show(text)}", "CPY-ARG-1", hint)
