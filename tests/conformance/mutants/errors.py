"""Mutants of errors: refusals with the wrong class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._honest_producer import Honest, asks_version, changed, honest_producer
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.subject import Subject


def _raising(error: type[Exception], when: Callable[[Honest, dict[str, Any]], bool]) -> Subject:
    """Return a producer that refuses with another class of error if ``when(x, keywords)``."""

    def export(x: Honest, **keywords: Any) -> Any:
        try:
            return Honest.__dlpack__(x, **keywords)
        except Exception as refusal:
            if when(x, keywords):
                raise error(*refusal.args) from refusal
            raise

    return changed(__dlpack__=export)


def _odd_steps(x: Honest) -> bool:
    """Return whether a stride is not a whole number of elements."""
    return any(step % (x.array.itemsize or 1) for step in x.array.strides)


@mutant("element_types_are_refused_with_buffer_error", counterpart=honest_producer)
def element_types_refused_with_type_error() -> Subject:
    """Element types that cannot be exported are refused with TypeError."""
    return _raising(TypeError, lambda x, _: x.array.dtype.kind not in "biufc")


@mutant("strides_are_refused_with_buffer_error", counterpart=honest_producer)
def strides_refused_with_runtime_error() -> Subject:
    """Strides that cannot be exported are refused with RuntimeError."""
    return _raising(RuntimeError, lambda x, _: _odd_steps(x))


@mutant("legacy_of_readonly_memory_raises_buffer_error", counterpart=honest_producer)
def readonly_refused_with_not_implemented() -> Subject:
    """A legacy export of read-only memory is refused with NotImplementedError."""
    return _raising(
        NotImplementedError,
        lambda x, asked: not (x.array.flags.writeable or asked.get("max_version")),
    )


@mutant("copies_are_refused_with_buffer_error", counterpart=honest_producer)
def copies_refused_with_value_error() -> Subject:
    """A device that requires a copy is refused with ValueError for copy=False."""
    return _raising(ValueError, lambda _, asked: asked.get("copy") is False)


@mutant("element_types_are_refused_with_buffer_error", counterpart=honest_producer)
def element_types_refused_with_type_error_for_a_version() -> Subject:
    """Element types that cannot be exported as the versioned struct are refused with TypeError."""
    return _raising(
        TypeError, lambda x, asked: asks_version(asked) and x.array.dtype.kind not in "biufc"
    )


@mutant("requested_copies_are_refused_with_buffer_error", counterpart=honest_producer)
def copies_not_implemented() -> Subject:
    """An unsupported copy on a device is refused with NotImplementedError."""
    return _raising(NotImplementedError, lambda _, asked: asked.get("copy") is True)


@mutant("streams_are_refused_with_value_error", counterpart=honest_producer)
def streams_refused_by_assertion() -> Subject:
    """Streams are refused with AssertionError."""
    return _raising(AssertionError, lambda _, asked: isinstance(asked.get("stream"), int))


@mutant("streams_of_no_kind_are_refused_with_type_error", counterpart=honest_producer)
def streams_of_no_kind_refused_with_runtime_error() -> Subject:
    """Streams that are not ints are refused with RuntimeError."""
    return _raising(RuntimeError, lambda _, asked: not isinstance(asked.get("stream", 0), int))
