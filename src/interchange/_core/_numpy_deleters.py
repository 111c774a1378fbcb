"""NumPy's deleters for capsules of this core, which cannot use Python functions as deleters.

Source: numpy/_core/src/multiarray/dlpack.c.  NumPy's deleter frees the struct with ``PyMem_Free``
and drops one reference to the object ``manager_ctx``; its capsule destructor calls the deleter when
the capsule was not consumed.  Both check whether the interpreter is finalizing, take the GIL and
keep a pending exception, as DLP-LIFE-1 to DLP-LIFE-5 require.  This is no public API of NumPy, so
`numpy_functions` verifies it first.
"""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any

from interchange._types.errors import ExchangeError
from interchange._types.numpy_dtypes import load_numpy
from interchange.abi import capsules
from interchange.abi._records import NamedTuple
from interchange.abi.dlpack import DLManagedTensor, DLManagedTensorVersioned
from interchange.abi.memory import memory, writer

if TYPE_CHECKING:
    from collections.abc import Iterator


class NumPyFunctions(NamedTuple):
    """The native functions for one kind of capsule, and constant arguments of calls."""

    deleter: int
    destructors: Iterator[Any]
    names: Iterator[Any]
    blocks: Iterator[capsules.Address]  # newly allocated, each for a struct
    write: Any  # ``f(memory, address, template)``


def _refuse(why: str) -> ExchangeError:
    """Return the error that this NumPy's functions cannot be used."""
    import numpy as np

    return ExchangeError("Array.__dlpack__()", f"NumPy {np.__version__}: {why}", "DLP-LIFE-6")


def _read_functions(
    struct: Any, name: bytes, max_version: tuple[int, int] | None
) -> NumPyFunctions:
    """Read NumPy's functions from a capsule of a dummy array, and check its layout."""
    np = load_numpy()
    dummy = np.zeros((2, 3), np.float32)
    before = sys.getrefcount(dummy)
    capsule = dummy.__dlpack__(max_version=max_version)
    if capsules.capsule_name(capsule) != name:
        raise _refuse(f"the capsule is named {capsules.capsule_name(capsule)!r}")
    address = capsules.capsule_pointer(capsule, name)
    managed = struct.from_address(address)
    shape = ctypes.cast(managed.dl_tensor.shape, ctypes.c_void_p).value
    if managed.manager_ctx != id(dummy) or sys.getrefcount(dummy) != before + 1:
        raise _refuse("manager_ctx is not a reference to the owner")
    end = address + ctypes.sizeof(struct)
    if not end <= shape < end + ctypes.sizeof(ctypes.c_int64):  # it may be aligned
        raise _refuse("the struct and its shape are not one block")
    destructor = capsules.capsule_destructor(capsule)
    if not managed.deleter or not destructor:
        raise _refuse("there is no deleter or no destructor")
    size = ctypes.sizeof(struct)
    return NumPyFunctions(
        managed.deleter,
        repeat(_as_pointer(destructor)),
        repeat(_as_pointer(_name_address(capsule))),
        map(capsules.fast_allocate, repeat(ctypes.c_size_t.from_param(size))),
        writer(f"{size}s"),
    )


_name_address = capsules.python_function("PyCapsule_GetName", ctypes.c_void_p, ctypes.py_object)
_as_pointer = ctypes.c_void_p.from_param  # as ctypes passes it, made once


class _Owner:
    """An owner for the self-test."""


def _self_test(functions: NumPyFunctions, struct: Any, name: bytes) -> None:
    """Check that a dropped and a consumed capsule each drop their reference to the owner."""
    for consumed in (False, True):
        owner = _Owner()
        before = sys.getrefcount(owner)
        managed = struct(manager_ctx=id(owner), deleter=functions.deleter)
        capsule = capsule_of(functions, bytes(managed), *reference_to(owner))
        if consumed:
            address = capsules.capsule_pointer(capsule, name)
            capsules.rename_capsule(capsule, capsules.USED_NAME[name])
            capsules.deleter_at(functions.deleter)(address)
        del capsule
        if sys.getrefcount(owner) != before:
            raise _refuse("its deleter did not release the owner")


def reference_to(owner: object) -> tuple[Any, Iterator[None]]:
    """Return `owner` as a C argument, and an iterator that adds a reference at each step.

    Neither keeps the owner alive.
    """
    argument = _as_pointer(id(owner))
    return argument, map(capsules.fast_increase_reference, repeat(argument))


def capsule_of(
    functions: tuple[Any, ...],
    template: bytes,
    owner: Any,
    references: Iterator[None],
    _new: Any = capsules.fast_new,
    _memory: memoryview = memory,
) -> Any:
    """Return a capsule with a copy of `template` that owns a reference to `owner`.

    `template` has the owner as its manager_ctx; `owner` and `references` are the result of
    `reference_to`.  A failure leaves no block and no reference behind.

    A signal handler may run after a call has returned and before its result is stored.  So calls
    whose result must not be lost are made by iterators (see `_owners.claim`).
    """
    _, destructors, names, blocks, write = functions
    block: Any = None
    referred: object = False  # None, once the owner is referred to
    try:
        for block in blocks:  # noqa: B007 - used below, as the others
            break
        address = block.value
        if not address:
            raise MemoryError  # noqa: TRY301 - nothing to free
        write(_memory, address, template)
        for referred in references:  # noqa: B007
            break
        for capsule in map(  # noqa: B007
            _new, (block,), names, destructors
        ):
            break
    except BaseException:
        if referred is None:
            capsules.fast_decrease_reference(owner)
        if block is not None:
            capsules.free(block)
        raise
    return capsule


@lru_cache(maxsize=1)
def numpy_functions() -> tuple[NumPyFunctions, NumPyFunctions]:
    """Return NumPy's functions for legacy and for versioned capsules, verified once.

    Raises ExchangeError: this NumPy does not behave as expected (DLP-LIFE-6).
    """
    legacy = _read_functions(DLManagedTensor, capsules.LEGACY, None)
    versioned = _read_functions(DLManagedTensorVersioned, capsules.VERSIONED, (1, 0))
    _self_test(legacy, DLManagedTensor, capsules.LEGACY)
    _self_test(versioned, DLManagedTensorVersioned, capsules.VERSIONED)
    return legacy, versioned
