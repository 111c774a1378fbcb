"""Mutants of negotiation: missing methods, and misread versions and keywords."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from ._honest_producer import Honest, asks_version, changed, honest_producer, producer_mutant
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


# ------------------------------------------------------------------ protocols of an array


@producer_mutant("arrays_speak_a_protocol")
class arrays_that_keep_to_themselves:
    """Arrays support no protocol."""

    def __init__(self, array: Any, element: Any) -> None:
        self.kept = array, element


@producer_mutant("arrays_have_both_methods")
class arrays_without_a_device(Honest):
    """Arrays have __dlpack__, but no __dlpack_device__."""

    @property
    def __dlpack_device__(self) -> Any:
        raise AttributeError("__dlpack_device__")


@producer_mutant("plain_arrays_can_leave", step="__dlpack__")
def arrays_that_never_leave(self: Honest, **keywords: Any) -> Any:
    """Every export is refused with BufferError."""
    Honest.__dlpack__(self, **keywords)
    raise BufferError("not today")


# ------------------------------------------------------------------ max_version


@producer_mutant("new_consumers_get_the_versioned_struct", step="capsule")
def legacy_for_everybody(self: Honest, *, copy: bool, **_: bool) -> Any:
    """max_version is checked and then ignored: all consumers get the legacy struct."""
    return Honest.capsule(self, versioned=False, copy=copy)


@producer_mutant("new_consumers_get_the_versioned_struct", step="__dlpack__")
def newer_consumers_refused(self: Honest, *, max_version: Any = None, **keywords: Any) -> Any:
    """A consumer of a newer major version is refused."""
    capsule = Honest.__dlpack__(self, max_version=max_version, **keywords)
    if max_version is not None and max_version[0] > 1:
        raise BufferError(f"max_version={max_version}: this is version 1")
    return capsule


@producer_mutant("old_consumers_get_the_old_struct_or_buffer_error", step="__dlpack__")
def versioned_for_everybody_who_names_a_version(
    self: Honest, *, max_version: Any = None, **keywords: Any
) -> Any:
    """All consumers that send max_version get the versioned struct, even for major version 0."""
    capsule = Honest.__dlpack__(self, max_version=max_version, **keywords)
    if max_version is None:
        return capsule
    return Honest.__dlpack__(self, max_version=(1, 0), **keywords)


@producer_mutant("old_consumers_get_the_old_struct_or_buffer_error", step="__dlpack__")
def old_consumers_refused_by_accident(
    self: Honest, *, max_version: Any = None, **keywords: Any
) -> Any:
    """A consumer of major version 0 gets an internal AttributeError."""
    capsule = Honest.__dlpack__(self, max_version=max_version, **keywords)
    if max_version is not None and max_version[0] < 1:
        raise AttributeError("to_dlpack")
    return capsule


@producer_mutant("malformed_versions_are_refused", step="__dlpack__")
def malformed_versions_taken(self: Honest, *, max_version: Any = None, **keywords: Any) -> Any:
    """max_version may be any sequence of numbers."""
    if isinstance(max_version, (tuple, list)) and max_version[0] in {0, 1}:
        max_version = int(max_version[0]), 0
    return Honest.__dlpack__(self, max_version=max_version, **keywords)


@producer_mutant("versions_may_be_any_ints", step="__dlpack__")
def versions_of_64_bits(self: Honest, *, max_version: Any = None, **keywords: Any) -> Any:
    """max_version is parsed into C integers, so that large ones raise OverflowError."""
    capsule = Honest.__dlpack__(self, max_version=max_version, **keywords)
    for number in max_version or ():
        number.to_bytes(8, "little", signed=True)
    return capsule


# ------------------------------------------------------------------ keywords


@producer_mutant("keywords_of_the_standard_are_taken")
class stream_and_nothing_else:
    """__dlpack__() only accepts stream, as in the first version of the standard."""

    def __init__(self, array: Any, element: Any = None) -> None:
        self.today = Honest(array, element)

    def __dlpack_device__(self) -> Any:
        return self.today.__dlpack_device__()

    def __dlpack__(self, *, stream: Any = None) -> Any:
        return self.today.__dlpack__(stream=stream)


@producer_mutant("unknown_keywords_raise_type_error", step="__dlpack__")
def any_keyword(self: Honest, **keywords: Any) -> Any:
    """__dlpack__() accepts all keywords, and ignores unknown ones."""
    known = {"stream", "max_version", "dl_device", "copy"}
    return Honest.__dlpack__(self, **{k: v for k, v in keywords.items() if k in known})


@producer_mutant("arguments_are_keywords", step="__dlpack__")
def arguments_by_position(self: Honest, stream: Any = None, **keywords: Any) -> Any:
    """__dlpack__() accepts the stream as a positional argument."""
    return Honest.__dlpack__(self, stream=stream, **keywords)


# ------------------------------------------------------------------ stream


def _taking_streams(takes: Any) -> Subject:
    """Return a producer that ignores the streams selected by a function."""

    def export(x: Honest, *, stream: Any = None, **keywords: Any) -> Any:
        return Honest.__dlpack__(x, stream=None if takes(stream) else stream, **keywords)

    return changed(__dlpack__=export)


@mutant("host_memory_takes_no_stream", counterpart=honest_producer)
def streams_ignored() -> Subject:
    """A stream is ignored."""
    return _taking_streams(lambda stream: isinstance(stream, int) and stream != -1)


@producer_mutant(
    "host_memory_takes_no_stream",
    "host_memory_takes_no_stream_minus_1",
    "streams_are_ints",
    step="__dlpack__",
)
def streams_ignored_without_legacy(self: Honest, *, stream: Any = None, **keywords: Any) -> Any:
    """There is no legacy struct, and if a version is sent, every stream is ignored."""
    if not asks_version(keywords):
        raise BufferError("ask with max_version")
    return Honest.__dlpack__(self, stream=stream and None, **keywords)


@mutant("host_memory_takes_no_stream_minus_1", counterpart=honest_producer)
def stream_minus_1_taken() -> Subject:
    """stream=-1 is accepted."""
    return _taking_streams(lambda stream: stream == -1)


@mutant("streams_are_ints", counterpart=honest_producer)
def streams_of_any_type() -> Subject:
    """A stream that is not an int is ignored."""
    return _taking_streams(lambda stream: not isinstance(stream, int))


# ------------------------------------------------------------------ ctypes


@producer_mutant("shared_prototypes_are_left_alone", step="__init__")
def prototypes_on_the_shared_handle(self: Honest, array: Any, element: Any = None) -> None:
    """Creating an array sets a prototype on the ctypes handle that all libraries share."""
    Honest.__init__(self, array, element)
    shared = getattr(ctypes, "python" + "api")
    shared.PyCapsule_New.restype = ctypes.py_object
