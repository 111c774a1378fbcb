"""Suggested calls that make an argument meet its contract, as a user would write them.

Rule: IX-REQUIRE-1.  A call is suggested only if its result meets the contract.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interchange._types.devices import CPU
from interchange._types.dtypes import DType
from interchange._types.numpy_dtypes import numpy_dtype
from interchange.abi._patterns import compiled
from interchange.abi.dlpack import DLDeviceType

from .copy_into import LOCKED_OF
from .device_copies import find_move

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interchange._types.devices import Device

    from .contract import CheckedArgument, Contract

_COPY_ALIGNMENT: Final = 64  # [bytes], of copies made here
_NAME: Final = r"[A-Za-z_]\w*(\[\d+\])?"
_COPIED: Final = frozenset({DLDeviceType.kDLCPU, *LOCKED_OF})
"""Device types from which a move copies, rather than naming the same memory differently."""
_OF_KIND: Final = {
    "bool": "bool",
    "signed integer": "int64",
    "unsigned integer": "uint64",
    "integral": "int64",
    "real floating": "float64",
    "complex floating": "complex128",
    "numeric": "float64",
}
"""Kind -> the type that arrays are cast to."""
_OF_BYTES: Final = frozenset({bytes, bytearray, memoryview})


def hint_for(
    found: Sequence[tuple[CheckedArgument, dict[str, str]]], extents: dict[str, int]
) -> str:
    """Return the fix, for every argument that does not meet its contract.

    `found`: the arguments, and the differences of each.
    `extents`: extents of names in the arguments that meet their contracts [elements].
    """
    calls, others, written = [], [], []
    for held, violations in found:
        chain = _CallChain(held, set(violations), extents)
        if chain.missing:
            others.append(f"pass {held.name} {' and '.join(chain.missing)}")
            continue
        name = held.name if compiled(_NAME).fullmatch(held.name) else "x"
        root = name if held.is_ours else chain.root.format(name)
        calls.append(f"{name} = {root}{''.join(chain.calls)}")
        if held.contract._writable and chain.is_copied:
            written.append(name)
    text = ", ".join(others)
    if calls:
        text += f"{', and ' if others else ''}first `{'; '.join(calls)}`"
    if written:
        text += f" (what is written is then in this copy, {' and '.join(written)})"
    return text


def are_bytes(held: CheckedArgument) -> bool:
    """Whether an argument is a buffer of bytes, which may be those of other elements."""
    array = held.array
    is_plain = array.dtype.name == "uint8" and array.ndim == 1
    return is_plain and not held.is_ours and type(array.owner) in _OF_BYTES


class _CallChain:
    """The calls that make an array meet its contract, in order.

    Attributes
    ----------
    root : str
        The call that imports the argument, with ``{}`` in place of its name.
    calls : list[str]
        Method calls, each with its dot.
    missing : list[str]
        Differences that no call can fix, as text.
    is_copied : bool
        Whether elements are copied.
    """

    def __init__(self, held: CheckedArgument, wrong: set[str], extents: dict[str, int]) -> None:
        self.array = held.array
        self.contract: Contract = held.contract
        self.root = "ix.asarray({})"
        self.calls: list[str] = []
        self.missing: list[str] = []
        self.is_copied = False
        self.is_fresh = False  # memory of a copy is writable
        self.is_aligned = "align" not in wrong
        self.device = self.array.device
        self.shape = self.array.shape
        if "dtype" in wrong and are_bytes(held) and self._reinterpret():
            wrong = wrong - {"dtype", "ndim", "shape"}
            wrong |= set() if self._has_shape(extents) else {"shape"}
        is_leaving = "device" in wrong and self.device.is_host_accessible
        if "device" in wrong and not is_leaving:
            self._move()
        if wrong & {"ndim", "shape"}:
            self._reshape(extents)
        if "dtype" in wrong:
            self._cast()
        if is_leaving:  # elements are cast on the host
            self._move()
        self._lay_out(wrong)

    def _reinterpret(self) -> bool:
        """Read the bytes of a buffer as elements, which a cast would take for a number each."""
        array, said = self.array, self.contract._dtype_words
        targets = [DType.of(one) for one in said if one == "bool" or one not in _OF_KIND]
        fits = (
            not one.is_packed and not array.size % one.itemsize and not array.ptr % one.itemsize
            for one in targets
        )
        target = next((one for one, fit in zip(targets, fits, strict=True) if fit), None)
        if target is None:
            return False
        self.root = f"ix.from_buffer({{}}, {target.name!r})"
        self.shape = (array.size // target.itemsize,)
        return True

    def _has_shape(self, extents: dict[str, int]) -> bool:
        """Whether the shape of one axis meets the contract."""
        pattern, ndims = self.contract._pattern, self.contract._ndims
        if pattern is None:
            return not ndims or 1 in ndims
        wanted = pattern.resolved(1, extents)
        is_like = wanted is not None and _is_like(self.shape, wanted)
        return is_like and pattern.agrees(self.shape, extents)

    def _move(self) -> None:
        """Add the calls that move the array to the required device."""
        wanted = self.contract._device
        if wanted is None or not _can_move(self.device, wanted):
            self.missing.append(f"on {wanted}")
            return
        self.calls.append(f".to_device({str(wanted)!r})")
        if self.device.type in _COPIED:
            self.is_copied = self.is_fresh = self.is_aligned = True
        self.device = wanted

    def _reshape(self, extents: dict[str, int]) -> None:
        """Add and drop axes of length 1; other changes of a shape would change what it means."""
        pattern, shape = self.contract._pattern, self.shape
        ndims = self.contract._ndims or (len(shape) if pattern is None else pattern.least,)
        found = None
        for ndim in () if self.array.dtype.is_packed else ndims:
            wanted = (None,) * ndim if pattern is None else pattern.resolved(ndim, extents)
            found = None if wanted is None else _reshaped(shape, wanted)
            if found is not None and (pattern is None or pattern.agrees(found[1], extents)):
                break
            found = None
        if found is None:
            self.missing.append(
                f"whose ndim is {' or '.join(map(str, ndims))}"
                if pattern is None
                else f"of shape {pattern.described(extents)}"
            )
            return
        call, self.shape = found
        self.calls.append(call)
        self.is_copied |= not self.array.is_contiguous()

    def _cast(self) -> None:
        """Cast the elements to a required type, preferably of the same kind."""
        source, said = self.array.dtype, self.contract._dtype_words
        targets = [DType.of(_OF_KIND.get(one, one)) for one in said]
        targets = [one for one in targets if _can_cast(source, one)]
        if not targets or not _can_copy(self.device):
            self.missing.append(f"of dtype {' or '.join(said)}")
            return
        target = next((one for one in targets if one.category == source.category), targets[0])
        cast = f".astype({str(target)!r})"
        is_on_host = self.device.is_host_accessible
        if is_on_host:
            self.calls.append(cast)
        else:
            self.calls += [".to_device('cpu')", cast, f".to_device({str(self.device)!r})"]
        self.is_copied = self.is_fresh = True
        self.is_aligned = not is_on_host  # NumPy's memory is not aligned so

    def _lay_out(self, wrong: set[str]) -> None:
        """Copy, if order, alignment or writability requires it."""
        order, align = self.contract._order, self.contract._align
        argument = "'F'" if order == "F" else ""
        if (align > 1 and not self.is_aligned) or ("writable" in wrong and not self.is_fresh):
            self.calls.append(f".copy(order={argument})" if argument else ".copy()")
            self.is_copied = True
        elif "order" in wrong or (order and self.calls):
            self.calls.append(f".contiguous({argument})")
            self.is_copied = True
        if not self.is_copied:
            return
        if align > _COPY_ALIGNMENT:
            self.missing.append(f"aligned to {align} bytes")
        elif not _can_copy(self.device) or (self.array.dtype.is_packed and "order" in wrong):
            self.missing += [text for word, text in _NEEDS.items() if word in wrong]


_NEEDS: Final = {
    "order": "with its elements side by side",
    "writable": "that may be written",
    "align": "at an address that is aligned",
}
"""Word -> what to ask the caller for if nothing can be copied."""


def _can_copy(device: Device) -> bool:
    """Whether copies from there pass through the host, and back."""
    return device.is_host_accessible or device.type in LOCKED_OF


def _can_move(there: Device, target: Device) -> bool:
    """Whether `to_device` supports this move."""
    is_shared = target is CPU and there.is_host_accessible
    return is_shared or find_move(there, target) is not None


def _reshaped(
    shape: tuple[int, ...], wanted: tuple[int | None, ...]
) -> tuple[str, tuple[int, ...]] | None:
    """Return a call that gives a shape the required extents, and the resulting shape."""
    extents = _with_ones(shape, wanted)
    return None if extents is None else (f".reshape({extents}, copy=None)", extents)


def _is_like(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    """Whether a shape has the known extents [elements]."""
    return len(shape) == len(wanted) and all(
        one is None or extent == one for extent, one in zip(shape, wanted, strict=True)
    )


def _with_ones(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> tuple[int, ...] | None:
    """Return the shape with axes of length 1 added or dropped so that it matches, or None."""
    if len(shape) == len(wanted):
        return shape if _is_like(shape, wanted) else None
    if len(shape) < len(wanted):
        extra = len(wanted) - len(shape)
        candidates = [(1,) * extra + shape, shape + (1,) * extra]
    else:
        longer = [extent for extent in shape if extent != 1]
        candidates = [(1,) * (len(wanted) - len(longer)) + tuple(longer)]
    return next((one for one in candidates if _is_like(one, wanted)), None)


def _can_cast(source: DType, target: DType) -> bool:
    """Whether NumPy supports this cast, with ml_dtypes if needed."""
    loses_half = source.category == "complex floating" and target.category not in {
        "complex floating",
        "bool",
    }
    return not loses_half and all(numpy_dtype(one) is not None for one in (source, target))
