"""The functions of interchange that hand arrays to other libraries.

Source: the rules IX-CONVERT-*.  What a library does wrong is done by a stand-in for
it: a module of its name, put where Python finds it, for as long as that takes.
"""

from __future__ import annotations

import contextlib
import sys
import types
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from interchange_conformance.findings import NotApplicable, expect
from interchange_conformance.registry import area

from ._refusals import expect_refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interchange_conformance.probes.under_test import FunctionsUnderTest
    from interchange_conformance.registry import Decorator

    from ._refusals import Wrong

check: Decorator = area("functions")

_SOURCE: Final = "interchange, its rule book"


def _hidden(ix: Any) -> Any:
    """Convert to a library that is not installed, or is made to look so."""
    with mock.patch.dict(sys.modules, {"pyarrow": None}):  # importing it fails
        return ix.convert(bytearray(2), "pyarrow")


TARGETS: Final[dict[str, Wrong]] = {
    "unknown": (lambda ix: ix.convert(bytearray(2), "nowhere"), (NotImplementedError,)),
    "missing": (_hidden, (NotImplementedError,)),
}


@check("IX-CONVERT-1", source=_SOURCE, cases=TARGETS)
def unknown_libraries_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """convert() to a library that is not known, or not installed, is a NotImplementedError.

    Raise BackendUnavailableError with IX-CONVERT-1.
    """
    expect_refusal(functions, "IX-CONVERT-1", case)


@contextlib.contextmanager
def _stand_in(name: str, **functions: Any) -> Iterator[None]:
    """Put a module of some functions in the place of a library, and of the packages it is in."""
    module: Any = types.ModuleType(name)
    vars(module).update(functions)
    modules = {name: module}
    while "." in name:
        name, _, inner = name.rpartition(".")
        outer = types.ModuleType(name)
        setattr(outer, inner, module)
        modules[name] = module = outer
    with mock.patch.dict(sys.modules, modules):
        yield


def _raise(error: Exception) -> Any:
    """Raise."""
    raise error


def _to_unable(ix: Any) -> Any:
    """Convert to a library that refuses."""
    with _stand_in("tvm_ffi", from_dlpack=lambda _: _raise(RuntimeError("no such elements"))):
        return ix.convert(bytearray(4), "tvm_ffi")


UNABLE: Final[dict[str, Wrong]] = {
    "device-only": (lambda ix: ix.convert(bytearray(4), "numba"), (BufferError,)),
    "refused": (_to_unable, (BufferError,)),
}


@check("IX-CONVERT-2", source=_SOURCE, cases=UNABLE)
def arrays_that_a_library_cannot_have_are_refused(
    functions: FunctionsUnderTest, case: Wrong
) -> None:
    """convert() of what a library cannot describe is a BufferError.

    Raise ExchangeError with IX-CONVERT-2, and the library's own words.
    """
    expect_refusal(functions, "IX-CONVERT-2", case)


def _to_copier(ix: Any) -> Any:
    """Convert to a library that copies and does not say so."""
    with _stand_in("mlx.core", from_dlpack=lambda x, **_: x.copy()):
        return ix.convert(bytearray(4), "mlx")


def _to_unwilling(ix: Any) -> Any:
    """Convert to a library that says that it would copy."""
    with _stand_in("jax.dlpack", from_dlpack=lambda *_, **__: _raise(ValueError("would copy"))):
        return ix.convert(bytearray(4), "jax")


COPIES: Final[dict[str, Wrong]] = {
    "silent": (_to_copier, (BufferError, ValueError)),
    "said": (_to_unwilling, (BufferError, ValueError)),
}


@check("IX-CONVERT-3", source=_SOURCE, cases=COPIES)
def copies_that_nobody_asked_for_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """convert() to a library that copies is refused, unless copy=True.

    Compare addresses where a library may copy; raise CopyNeededError with IX-CONVERT-3.
    """
    expect_refusal(functions, "IX-CONVERT-3", case)


@check("IX-CONVERT-3", source=_SOURCE, cases={"shared": None, "copied": True})
def conversions_share_the_memory(functions: FunctionsUnderTest, case: bool | None) -> None:
    """convert() shares the memory, and with copy=True does not.

    Hand the Array over as it is; copy it first where that was asked for.
    """
    ix = functions.namespace
    block = bytearray(b"abcd")
    view = ix.convert(block, "memoryview", copy=case)
    if not isinstance(view, memoryview):
        raise NotApplicable(f"convert() gave {type(view).__name__}")
    view[0] = 120

    shares = block[0] == 120
    expect(shares != bool(case), f"copy={case}: the memory is {'' if shares else 'not '}shared")
