"""Every public function that takes an array, and how tests call it: derived from its signature.

A function whose first parameter is ``x``, without other required arguments, is called with the
array alone.  `CALLS` has the others, `WITHOUT_ARRAYS` those that take no array, `MEMORY` those that
take memory of one kind.  `unknown()` lists the functions in none of them, and a test requires it to
be empty.  ``tests/conftest.py`` makes fixtures of the rest: `taking` is each function in turn,
``taking_stream`` each with the keyword ``stream``, and so on for every keyword.
"""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import interchange as ix
from interchange import compat, cuda, xp

if TYPE_CHECKING:
    from collections.abc import Callable


class Subclass(np.ndarray):
    """A class of arrays for `like`."""


def _borrow(x, *, stream=1, **keywords):
    return ix.borrow(x, stream=stream, **keywords).__enter__()


def _accepts_arrays(x, **keywords):
    names = {"stream": "stream"} if keywords else {}
    return ix.accepts_arrays("x", **names)(lambda x, stream=None: (x, stream)[0])(x, **keywords)


CALLS = {
    "array_namespace": lambda x: ix.array_namespace(x).asarray(x),
    "borrow": _borrow,
    "convert": lambda x, **keywords: ix.convert(x, "interchange", **keywords),
    "cuda.from_cuda_array_interface": lambda x: cuda.from_cuda_array_interface(
        x.__cuda_array_interface__, owner=x
    ),
    "from_arrow": lambda x, **keywords: ix.from_arrow(ix.to_arrow(x), **keywords),
    "like": lambda x, **keywords: ix.like(x, np.ones(1)[:0].view(Subclass), **keywords),
    "to_capsule": lambda x, **keywords: ix.to_capsule(x, **{"max_version": (1, 1), **keywords}),
    "accepts_arrays": _accepts_arrays,
}
"""Functions that one array alone does not call, or that return something to be called."""
ELSEWHERE = {
    "convert to NumPy": (
        lambda x, **keywords: ix.convert(x, "numpy", **keywords),
        {"copy", "stream"},
    ),
    "xp.asarray": (xp.asarray, {"copy"}),
    "xp.asarray, cast": (lambda x: xp.asarray(x, dtype="float32"), set()),
    "xp.from_dlpack": (xp.from_dlpack, {"copy", "stream"}),
    "upgraded asarray": (lambda x, **keywords: compat.upgrade(np).asarray(x, **keywords), {"copy"}),
    "upgraded asarray, cast": (lambda x: compat.upgrade(np).asarray(x, dtype=np.float32), set()),
    "upgraded from_dlpack": (
        lambda x, **keywords: compat.upgrade(np).from_dlpack(x, **keywords),
        {"copy"},
    ),
}
"""Further functions that import: the callable, and its keywords."""
WITHOUT_ARRAYS = {
    *("batches", "cuda.device_array", "cuda.jit", "from_pointer", "inspect", "set_backend"),
    *("open_shared", "share", "shared_by_default", "to_arrow_stream"),
    *("cuda.current_context", "cuda.device_array_like", "cuda.event_elapsed_time"),
    *("cuda.external_stream", "cuda.managed_array_like", "cuda.mapped", "cuda.mem_info"),
    *("cuda.managed_array", "cuda.mapped_array", "cuda.mapped_array_like", "cuda.pinned"),
    *("cuda.pinned_array", "cuda.pinned_array_like", "cuda.select_device", "copyto"),
    *("empty", "set_allocator"),
}
"""Functions that take no array, as `batches`, or return none of its memory, as `inspect`."""
MEMORY = {
    "cuda.as_cuda_array": "cuda",
    "cuda.from_cuda_array_interface": "cuda",
    "cuda.to_device": "cuda",
    "from_array_interface": "cpu",
    "from_buffer": "cpu",
    "from_cai": "cuda",
    "like": "cpu",
    "to_cai": "cuda",
    **{name: "cpu" for name in ELSEWHERE if not name.startswith("xp.") or "cast" in name},
}
"""Functions for memory of one kind of device; the others take all."""


@dataclass(frozen=True)
class Taking:
    """A function that takes an array."""

    name: str
    call: Callable[..., Any]
    keywords: frozenset[str]

    def __call__(self, x: Any, **keywords: Any) -> Any:
        """Call it with an array."""
        return self.call(x, **keywords)

    def memory(self, x: Any, **keywords: Any) -> ix.Array:
        """Call it with an array, and return what came out as an Array."""
        found = self.call(x, **keywords)
        return ix.from_arrow(found) if isinstance(found, ix.ArrowExport) else ix.asarray(found)


def _functions() -> dict[str, tuple[Any, inspect.Signature]]:
    """Return the public functions by name, and `borrow`, which is one by its case."""
    found = {name: getattr(ix, name) for name in ix.__all__ if name != "viewable"}  # an alias
    found |= {f"cuda.{name}": getattr(cuda, name) for name in cuda.__all__}
    functions = {
        name: value
        for name, value in found.items()
        if inspect.isroutine(value) or (inspect.isclass(value) and value.__name__.islower())
    }
    return {name: (value, inspect.signature(value)) for name, value in functions.items()}


def _takes_array(signature: inspect.Signature) -> bool:
    """Whether ``function(x)`` is a call."""
    first, *others = [*signature.parameters.values()] or [None]
    return (
        first is not None
        and first.name == "x"
        and all(one.default is not one.empty or one.kind == one.VAR_POSITIONAL for one in others)
    )


def _takes_none(signature: inspect.Signature) -> bool:
    """Whether a function has no parameter but keywords, or is for the inside of kernels."""
    kinds = {one.kind for one in signature.parameters.values()}
    return kinds <= {inspect.Parameter.KEYWORD_ONLY} or signature.return_annotation == "NoReturn"


def unknown() -> list[str]:
    """Return the public functions for which neither signature nor table defines a call."""
    return [
        name
        for name, (_, signature) in _functions().items()
        if name not in CALLS and name not in WITHOUT_ARRAYS
        if not _takes_array(signature) and not _takes_none(signature)
    ]


@functools.cache
def all_of(memory: str, keyword: str | None = None) -> tuple[Taking, ...]:
    """Return the functions that take memory of a kind, once more with ``copy=True`` each."""
    calls = {
        name: (CALLS.get(name, value), {*signature.parameters})
        for name, (value, signature) in _functions().items()
        if name in CALLS or (name not in WITHOUT_ARRAYS and _takes_array(signature))
    }
    calls |= ELSEWHERE
    if ix.core_name != "native":  # which exports to Arrow
        calls = {name: call for name, call in calls.items() if not name.endswith("_arrow")}
    found = []
    for name, (call, keywords) in calls.items():
        if MEMORY.get(name, memory) == memory:
            found.append(Taking(name, call, frozenset(keywords)))
            if "copy" in keywords:
                copying = functools.partial(call, copy=True)
                found.append(Taking(f"{name}, copy", copying, frozenset(keywords - {"copy"})))
    return tuple(one for one in found if keyword is None or keyword in one.keywords)
