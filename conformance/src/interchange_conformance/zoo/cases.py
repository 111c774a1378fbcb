"""Tables of the zoo: producers that break a rule, and unusual producers that break none.

Source: dlpack.h 1.3; array API standard 2025.12; the rule book (`interchange.abi.RULES`).  A row
has a name, the rule and the differences from a correct producer of a 2 by 3 float32 array.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange.abi import capsules
from interchange.abi.dlpack import (
    DLPACK_FLAG_BITMASK_IS_COPIED,
    DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED,
    DLPACK_FLAG_BITMASK_READ_ONLY,
)

from .kinds import SIGNATURES, Deviceless, Speechless, claiming, host
from .structs import Claim

if TYPE_CHECKING:
    from collections.abc import Callable

    from .source import Source


class Case(NamedTuple):
    """One kind of producer.

    Attributes
    ----------
    name : str
        Unique within its table.
    rule : str or None
        Id of the rule that it breaks; None if it breaks none, and if its exception is to propagate
        unchanged (`Manners.raises`, `Manners.device_raises`).
    make : callable
        Returns a fresh producer.
    releases : int
        `Source.deleter_calls` after one import was refused, or its array deleted, and all
        references to the capsule (a traceback may hold one) are gone.
    """

    name: str
    rule: str | None
    make: Callable[[], Source]
    releases: int = 1


Row = tuple[str, str, dict[str, Any]]

_HUGE: Final = 2**62
_LEAST: Final = -(2**63)
_END: Final = 2**64
_LAST: Final = min(_END, 2 * (sys.maxsize + 1))  # the end of addresses
_BEFORE_STRIDES: Final = (1, 1)
"""The last version that permits NULL strides; the legacy struct has no version field."""

_STRUCT_LIES: Final[tuple[Row, ...]] = (
    ("device-0", "DLP-DEV-1", {"device": (0, 0)}),
    ("device-5", "DLP-DEV-1", {"device": (5, 0)}),
    ("device-99", "DLP-DEV-1", {"device": (99, 0)}),
    ("device-negative", "DLP-DEV-1", {"device": (-1, 0)}),
    ("device-id-negative", "DLP-DEV-1", {"device": (1, -1)}),
    ("code-99", "DLP-DTYPE-1", {"dtype": (99, 32, 1)}),
    ("code-255", "DLP-DTYPE-1", {"dtype": (255, 8, 1)}),
    ("float17", "DLP-DTYPE-1", {"dtype": (2, 17, 1)}),
    ("float128", "DLP-DTYPE-1", {"dtype": (2, 128, 1)}),
    ("bool-of-1-bit", "DLP-DTYPE-1", {"dtype": (6, 1, 1)}),
    ("float8-of-16-bits", "DLP-DTYPE-1", {"dtype": (10, 16, 1)}),
    ("float6-of-8-bits", "DLP-DTYPE-1", {"dtype": (15, 8, 1)}),
    ("float6-e3m2-of-8-bits", "DLP-DTYPE-1", {"dtype": (16, 8, 1)}),
    ("float4-of-8-bits", "DLP-DTYPE-1", {"dtype": (17, 8, 1)}),
    ("float4-of-6-bits", "DLP-DTYPE-1", {"dtype": (17, 6, 1)}),
    ("bits-0", "DLP-DTYPE-2", {"dtype": (2, 0, 1)}),
    ("lanes-0", "DLP-DTYPE-2", {"dtype": (2, 32, 0)}),
    ("ndim-negative", "DLP-SHAPE-1", {"ndim": -1}),
    ("ndim-least", "DLP-SHAPE-1", {"ndim": -(2**31)}),
    ("ndim-65", "DLP-SHAPE-1", {"shape": (1,) * 65, "strides": (1,) * 65}),
    ("ndim-most", "DLP-SHAPE-1", {"ndim": 2**31 - 1}),
    ("shape-null", "DLP-SHAPE-2", {"shape": None, "ndim": 2}),
    ("shape-and-strides-null", "DLP-SHAPE-2", {"shape": None, "strides": None, "ndim": 2}),
    ("extent-negative", "DLP-SHAPE-3", {"shape": (2, -3)}),
    ("extent-least", "DLP-SHAPE-3", {"shape": (2, _LEAST)}),
    ("extents-negative-product-6", "DLP-SHAPE-3", {"shape": (-2, -3)}),
    ("elements-overflow", "DLP-SHAPE-4", {"shape": (2**32, 2**32), "strides": (0, 0)}),
    ("elements-overflow-to-6", "DLP-SHAPE-4", {"shape": (2**63 - 1, 6), "strides": (0, 0)}),
    ("bytes-overflow", "DLP-SHAPE-4", {"shape": (2**31, 2**30), "strides": (0, 0)}),
    (
        "bytes-overflow-null-strides",
        "DLP-SHAPE-4",
        {"shape": (_HUGE, 1), "strides": None, "version": _BEFORE_STRIDES},
    ),
    ("stride-huge", "DLP-STRIDES-2", {"strides": (_HUGE, 1)}),
    ("stride-hugely-negative", "DLP-STRIDES-2", {"strides": (-_HUGE, 1)}),
    ("stride-least", "DLP-STRIDES-2", {"strides": (_LEAST, 1)}),
    ("strides-below-address-0", "DLP-STRIDES-2", {"strides": (-(2**59), 1)}),
    (
        "strides-past-the-last-address",
        "DLP-STRIDES-2",
        {"data": _LAST - 2**20, "strides": (2**18, 1)},
    ),
    ("data-null", "DLP-DATA-1", {"data": None}),
    ("data-null-with-offset", "DLP-DATA-1", {"data": None, "byte_offset": 64}),
    ("scalar-data-null", "DLP-DATA-1", {"shape": (), "strides": (), "data": None}),
    ("offset-2**63", "DLP-DATA-2", {"byte_offset": 2**63}),
    ("offset-of-minus-4", "DLP-DATA-2", {"byte_offset": _END - 4}),
    ("offset-wraps", "DLP-DATA-2", {"data": _LAST - 2**20, "byte_offset": 2**20}),
)
"""Errors that are possible in either struct."""

_NONSENSE: Final[dict[str, Any]] = {
    "device": (99, -1),
    "dtype": (255, 0, 0),
    "ndim": -1,
    "shape": None,
    "strides": None,
    "data": None,
    "byte_offset": _END - 1,
    "flags": _END - 1,
}

_VERSION_LIES: Final[tuple[Row, ...]] = (
    ("major-0", "DLP-VER-1", {"version": (0, 8)}),
    ("major-2", "DLP-VER-1", {"version": (2, 0)}),
    ("major-2-and-nonsense", "DLP-VER-1", {"version": (2, 0), **_NONSENSE}),
    ("major-2**31", "DLP-VER-1", {"version": (2**31, 0)}),
)
"""Errors that are possible in the versioned struct only."""

_NAME_LIES: Final[tuple[Row, ...]] = (
    ("name-unknown", "DLP-CAP-1", {"name": b"tensor"}),
    ("name-longer", "DLP-CAP-1", {"name": b"dltensor_"}),
    ("name-empty", "DLP-CAP-1", {"name": b""}),
    ("name-null", "DLP-CAP-1", {"name": None}),
    ("name-of-numpy", "DLP-CAP-1", {"name": b"numpy_dltensor_versioned"}),
    ("name-of-the-exchange-table", "DLP-CAP-1", {"name": capsules.EXCHANGE_API}),
)
"""Capsules with another name: they are not consumed, and free their struct."""

_SILENT: Final[tuple[Row, ...]] = (
    ("used-legacy", "DLP-CAP-2", {"generation": "legacy", "name": capsules.USED_LEGACY}),
    ("used-versioned", "DLP-CAP-2", {"generation": "versioned", "name": capsules.USED_VERSIONED}),
    ("returns-none", "DLP-CAP-3", {"returns": None}),
    ("returns-an-int", "DLP-CAP-3", {"returns": 4096}),
    ("returns-a-tuple", "DLP-CAP-3", {"returns": ()}),
    ("device-a-bare-int", "DLP-DEV-2", {"advertises": 1}),
    ("device-none", "DLP-DEV-2", {"advertises": None}),
    ("device-without-id", "DLP-DEV-2", {"advertises": (1, None)}),
    ("device-of-one", "DLP-DEV-2", {"advertises": (1,)}),
    ("device-of-three", "DLP-DEV-2", {"advertises": (1, 0, 0)}),
    ("device-a-list", "DLP-DEV-2", {"advertises": [1, 0]}),
    ("device-of-bools", "DLP-DEV-2", {"advertises": (True, False)}),
    ("device-of-text", "DLP-DEV-2", {"advertises": ("cpu", 0)}),
    ("device-unknown", "DLP-DEV-1", {"advertises": (99, 0)}),
)
"""Cases that export nothing that a refusal could release."""

_LYING_ABOUT_THE_DEVICE: Final[tuple[Row, ...]] = (
    ("says-host-ships-cuda", "DLP-DEV-3", {"advertises": (1, 0), "device": (2, 0)}),
    ("says-cuda-ships-host", "DLP-DEV-3", {"advertises": (2, 0), "device": (1, 0)}),
    ("says-cuda-0-ships-cuda-1", "DLP-DEV-3", {"advertises": (2, 0), "device": (2, 1)}),
)

_ERRORS: Final[tuple[type[BaseException], ...]] = (
    TypeError,
    ValueError,
    BufferError,
    AttributeError,
    RuntimeError,
    MemoryError,
    KeyboardInterrupt,
)


def _changed(changes: dict[str, Any]) -> Callable[[], Source]:
    """Return a function that makes a correct producer with these changes."""
    return lambda: host().but(**changes)


def _rows(
    rows: tuple[Row, ...], more: dict[str, Any], *, ending: str = "", releases: int = 1
) -> list[Case]:
    """Return the cases of a table, each with `more` changes."""
    return [
        Case(name + ending, rule, _changed({**more, **changes}), releases)
        for name, rule, changes in rows
    ]


def _consumed() -> Source:
    """Return a producer whose only capsule is already consumed."""
    source = host().but(repeat=True, generation="versioned")
    Claim(source.__dlpack__())
    return source


def _raising(
    error: type[BaseException],
    where: str = "raises",
    *,
    deep: bool = False,
    words: str = "the producer's own",
) -> Callable[[], Source]:
    """Return a function that makes a producer that raises a new error in `where`."""
    return lambda: host().but(**{where: error(words)}, deep=deep)


def _raisers() -> list[Case]:
    """Return producers that raise errors, which are to propagate unchanged."""
    cases = [Case(f"raises-{e.__name__}", None, _raising(e), 0) for e in _ERRORS]
    deep = [Case(f"raises-deep-{e.__name__}", None, _raising(e, deep=True), 0) for e in _ERRORS]
    device = [
        Case(f"device-raises-{e.__name__}", None, _raising(e, "device_raises"), 0) for e in _ERRORS
    ]
    words = "inner() got an unexpected keyword argument 'max_version'"
    misleading = [
        Case("raises-deep-misleading", None, _raising(TypeError, deep=True, words=words), 0)
    ]
    return cases + deep + device + misleading


def zoo() -> dict[str, Case]:
    """Return every malformed case, by name.

    Each row has the rule that a consumer should cite.  Rows whose rule is None raise an error of
    their own, which a consumer propagates unchanged.

    Examples
    --------
    >>> case = zoo()["data-null-legacy"]
    >>> case.rule, case.releases
    ('DLP-DATA-1', 1)
    """
    versioned = {"generation": "versioned", "advertises": (1, 0)}
    legacy = {"generation": "legacy", "advertises": (1, 0)}
    cases = _rows(_STRUCT_LIES, versioned) + _rows(_VERSION_LIES, versioned)
    cases += _rows(_STRUCT_LIES, legacy, ending="-legacy")
    cases += _rows(_NAME_LIES, {"generation": "versioned"})
    cases += _rows(_SILENT, {}, releases=0)
    cases += _rows(_LYING_ABOUT_THE_DEVICE, {})
    cases.append(Case("consumed-by-another", "DLP-CAP-2", _consumed, 0))
    cases.append(Case("no-dlpack", "DLP-NEG-1", functools.partial(host, kind=Speechless), 0))
    cases.append(Case("no-dlpack-device", "DLP-NEG-1", functools.partial(host, kind=Deviceless), 0))
    cases += _raisers()
    return {case.name: case for case in cases}


_SCALAR: Final[dict[str, Any]] = {"shape": (), "strides": ()}
_PADDED: Final = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED

_HOST_LAYOUTS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("c-order", {}),
    ("f-order", {"strides": (1, 2)}),
    ("scalar", {"shape": ()}),
    ("64-axes", {"shape": (1,) * 63 + (2,)}),
    ("empty", {"shape": (2, 0, 3)}),
    ("negative-strides", {"strides": (-3, -1)}),
    ("mixed-strides", {"strides": (-7, 2)}),
    ("zero-strides", {"strides": (0, 0)}),
    ("broadcast", {"strides": (0, 1)}),
    ("overlapping", {"strides": (1, 1)}),
    ("gaps", {"strides": (32, 5)}),
    ("offset", {"byte_offset": 64}),
    ("offset-and-negative-strides", {"byte_offset": 12, "strides": (-3, -1)}),
    ("shape-1-stride-3", {"shape": (1,), "strides": (3,)}),
    ("lanes-2", {"dtype": (2, 32, 2)}),
    ("bfloat16", {"dtype": "bfloat16"}),
    ("bool", {"dtype": "bool"}),
    ("complex128", {"dtype": "complex128"}),
)
"""Arguments of `host`."""

_LEGAL_LIES: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("strides-null", {"strides": None, "version": _BEFORE_STRIDES}),
    ("scalar-null-pointers", {"shape": None, "strides": None, "ndim": 0}),
    ("scalar-dangling-pointers", {"shape": 8, "strides": 16, "ndim": 0}),
    ("scalar-strides-null", {**_SCALAR, "strides": None}),
    ("empty-with-data", {"shape": (0, 3)}),
    ("empty-with-strides-0", {"shape": (0, 3), "strides": (0, 0)}),
    ("empty-with-huge-strides", {"shape": (0, 3), "strides": (_HUGE, _HUGE)}),
    ("extent-1-huge-stride", {"shape": (1, 3), "strides": (_HUGE, 1)}),
    ("extent-1-negative-stride", {"shape": (1, 3), "strides": (-1, 1)}),
)
"""Changes of a correct producer that are legal in either struct."""

_LEGAL_VERSIONED: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("minor-0", {"version": (1, 0)}),
    ("minor-99", {"version": (1, 99)}),
    ("flags-unknown", {"flags": 1 << 40}),
    ("flags-unknown-highest", {"flags": 1 << 63}),
    ("read-only", {"flags": DLPACK_FLAG_BITMASK_READ_ONLY}),
    ("copied", {"flags": DLPACK_FLAG_BITMASK_IS_COPIED}),
    ("padded-float32", {"flags": _PADDED}),
)


def _built(changes: dict[str, Any], generation: str) -> Callable[[], Source]:
    """Return a function that makes a producer from arguments of `host`."""
    return lambda: host(**{"shape": (2, 3), **changes}).but(generation=generation)


def legal() -> dict[str, Case]:
    """Return unusual producers that break no rule, by name.

    Examples
    --------
    >>> legal()["negative-strides"].make().values()
    [5, 4, 3, 2, 1, 0]
    """
    cases = []
    for generation, ending in (("versioned", ""), ("legacy", "-legacy")):
        for name, changes in _HOST_LAYOUTS:
            cases.append(Case(name + ending, None, _built(changes, generation)))
        for name, changes in _LEGAL_LIES:
            cases.append(Case(name + ending, None, _changed({"generation": generation, **changes})))
        no_deleter = {"generation": generation, "deleter": False}
        cases.append(Case(f"deleter-null{ending}", None, _changed(no_deleter), 0))
        no_context = {"generation": generation, "manager_ctx": None}
        cases.append(Case(f"manager-ctx-null{ending}", None, _changed(no_context)))
    for name, changes in _LEGAL_VERSIONED:
        cases.append(Case(name, None, _changed({"generation": "versioned", **changes})))
    for name, kind in SIGNATURES.items():
        cases.append(Case(f"signature-{name}", None, functools.partial(host, kind=kind)))
    flags = {"generation": "versioned", "flags": _PADDED}  # one byte for each element
    cases.append(Case("padded-uint4", None, lambda: host(dtype="uint4").but(**flags)))
    cases.append(Case("pinned-that-ships-host", None, _changed({"advertises": (3, 0)})))
    cases.append(Case("fake-cuda", None, claiming))
    return {case.name: case for case in cases}
