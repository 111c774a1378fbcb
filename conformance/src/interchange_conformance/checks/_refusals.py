"""What checks of the functions share: wrong calls, and what the error of one has to say.

Every refusal is an error of the namespace, and of the built-in class that the
standard or Python's custom asks for; it names the call, what was found, the rule and a fix.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import Found, expect, note
from interchange_conformance.zoo import host

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.probes.under_test import FunctionsUnderTest

    Wrong = tuple[Callable[[Any], object], tuple[type[BaseException], ...]]

PARTS: Final = ("call", "what", "rule", "hint")
"""What an error has as attributes, each of them in its text."""


def expect_refusal(functions: FunctionsUnderTest, rule: str, case: Wrong) -> None:
    """Raise `Found` unless a wrong call raises the error that belongs to it.

    Parameters
    ----------
    functions : FunctionsUnderTest
        What offers the functions.
    rule : str
        Id of the rule that the error is to cite.
    case : tuple
        The call, given the namespace, and the built-in classes that its error is to be of.
    """
    namespace = functions.namespace
    call, kinds = case
    note(f"making a call that breaks {rule}")
    try:
        result = call(namespace)
    except Exception as error:  # noqa: BLE001 - which it is is looked at
        expect_error(namespace, error, rule, kinds)
        return
    raise Found(f"a call that breaks {rule} returned {result!r:.200}")


def expect_error(
    namespace: Any, error: BaseException, rule: str, kinds: tuple[type[BaseException], ...]
) -> None:
    """Raise `Found` unless an error is of its classes, and says what it has to."""
    what = f"{type(error).__name__}: {str(error)[:300]}"
    missing = [kind.__name__ for kind in kinds if not isinstance(error, kind)]
    expect(isinstance(error, namespace.InterchangeError), f"{what} is no InterchangeError")
    expect(not missing, f"{what} is no {', no '.join(missing)}")
    parts = [getattr(error, name, None) for name in PARTS]
    silent = [
        name
        for name, part in zip(PARTS, parts, strict=True)
        if not isinstance(part, str) or not part or part not in str(error)
    ]
    expect(not silent, f"{what} does not say its {', '.join(silent)}")

    expect(error.rule == rule, f"{what} cites {error.rule}, due: {rule}")  # type: ignore[attr-defined]


def granted(call: Callable[[], Any], what: str) -> Any:
    """Return what a right call returns.

    Parameters
    ----------
    call : callable
        Makes it.
    what : str
        What it is, for the evidence.

    Raises
    ------
    Found
        It raised.
    """
    try:
        return call()
    except Exception as error:
        raise Found(f"{what} raised {type(error).__name__}: {str(error)[:300]}") from error


# ---------------------------------------------------------------- arrays to call with


def floats(namespace: Any) -> Any:
    """Return an Array of 2 by 3 float32 on the host, element number n holding n."""
    return namespace.from_dlpack(host((2, 3), "float32"))


_block: Final = (ctypes.c_float * 6)(*range(6))


def described(namespace: Any, **keywords: Any) -> Any:
    """Return an Array that `from_pointer` describes, of six float32."""
    address = ctypes.addressof(_block)
    return namespace.from_pointer(address, (6,), "float32", owner=_block, **keywords)


def on_device(namespace: Any) -> Any:
    """Return an Array that says it is on a device; nothing of it is ever read."""
    return described(namespace, device="cuda:0")
