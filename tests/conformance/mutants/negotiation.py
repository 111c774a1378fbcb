"""Mutants of negotiation: missing methods, and misread versions and keywords.

Source: the checks of the same name.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from ._honest_producer import Honest, asks_version, honest_producer, producer_of
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


# ------------------------------------------------------------------ protocols of an array


@mutant("arrays_speak_a_protocol", twin=honest_producer)
def arrays_that_keep_to_themselves() -> Subject:
    """Arrays support no protocol."""

    class Mute:
        """An array without protocols."""

        def __init__(self, array: Any, element: Any) -> None:
            self.kept = array, element

    return producer_of(Mute)


@mutant("arrays_have_both_methods", twin=honest_producer)
def arrays_without_a_device() -> Subject:
    """Arrays have __dlpack__, but no __dlpack_device__."""

    class Placeless(Honest):
        """An array that does not report its device."""

        @property
        def __dlpack_device__(self) -> Any:
            raise AttributeError("__dlpack_device__")

    return producer_of(Placeless)


@mutant("plain_arrays_can_leave", twin=honest_producer)
def arrays_that_never_leave() -> Subject:
    """Every export is refused with BufferError."""

    class Jailed(Honest):
        """An array that is never exported."""

        def __dlpack__(self, **keywords: Any) -> Any:
            super().__dlpack__(**keywords)
            raise BufferError("not today")

    return producer_of(Jailed)


# ------------------------------------------------------------------ max_version


@mutant("new_consumers_get_the_versioned_struct", twin=honest_producer)
def legacy_for_everybody() -> Subject:
    """max_version is checked and then ignored: all consumers get the legacy struct."""

    class Old(Honest):
        """An array that is older than DLPack 1.0."""

        def capsule(self, *, versioned: bool, copy: bool) -> Any:  # noqa: ARG002 - that is it
            """Return a capsule."""
            return super().capsule(versioned=False, copy=copy)

    return producer_of(Old)


@mutant("new_consumers_get_the_versioned_struct", twin=honest_producer)
def newer_consumers_refused() -> Subject:
    """A consumer of a newer major version is refused."""

    class Strict(Honest):
        """An array that requires its own major version."""

        def __dlpack__(self, *, max_version: Any = None, **keywords: Any) -> Any:
            capsule = super().__dlpack__(max_version=max_version, **keywords)
            if max_version is not None and max_version[0] > 1:
                raise BufferError(f"max_version={max_version}: this is version 1")
            return capsule

    return producer_of(Strict)


@mutant("old_consumers_get_the_old_struct_or_buffer_error", twin=honest_producer)
def versioned_for_everybody_who_names_a_version() -> Subject:
    """All consumers that send max_version get the versioned struct, even for major version 0."""

    class New(Honest):
        """An array that checks whether max_version is None."""

        def __dlpack__(self, *, max_version: Any = None, **keywords: Any) -> Any:
            capsule = super().__dlpack__(max_version=max_version, **keywords)
            if max_version is None:
                return capsule
            return super().__dlpack__(max_version=(1, 0), **keywords)

    return producer_of(New)


@mutant("old_consumers_get_the_old_struct_or_buffer_error", twin=honest_producer)
def old_consumers_refused_by_accident() -> Subject:
    """A consumer of major version 0 gets an internal AttributeError."""

    class Broken(Honest):
        """An array whose code for old consumers is broken."""

        def __dlpack__(self, *, max_version: Any = None, **keywords: Any) -> Any:
            capsule = super().__dlpack__(max_version=max_version, **keywords)
            if max_version is not None and max_version[0] < 1:
                raise AttributeError("to_dlpack")
            return capsule

    return producer_of(Broken)


@mutant("malformed_versions_are_refused", twin=honest_producer)
def malformed_versions_taken() -> Subject:
    """max_version may be any sequence of numbers."""

    class Lenient(Honest):
        """An array that reads only the first number."""

        def __dlpack__(self, *, max_version: Any = None, **keywords: Any) -> Any:
            if isinstance(max_version, (tuple, list)) and max_version[0] in {0, 1}:
                max_version = int(max_version[0]), 0
            return super().__dlpack__(max_version=max_version, **keywords)

    return producer_of(Lenient)


@mutant("versions_may_be_any_ints", twin=honest_producer)
def versions_of_64_bits() -> Subject:
    """max_version is parsed into C integers, so that large ones raise OverflowError."""

    class Parsing(Honest):
        """An array that keeps the version in 64 bits."""

        def __dlpack__(self, *, max_version: Any = None, **keywords: Any) -> Any:
            capsule = super().__dlpack__(max_version=max_version, **keywords)
            for number in max_version or ():
                number.to_bytes(8, "little", signed=True)
            return capsule

    return producer_of(Parsing)


# ------------------------------------------------------------------ keywords


@mutant("keywords_of_the_standard_are_taken", twin=honest_producer)
def stream_and_nothing_else() -> Subject:
    """__dlpack__() only accepts stream, as in the first version of the standard."""

    class First:
        """An array of 2021."""

        def __init__(self, array: Any, element: Any = None) -> None:
            self.today = Honest(array, element)

        def __dlpack_device__(self) -> Any:
            return self.today.__dlpack_device__()

        def __dlpack__(self, *, stream: Any = None) -> Any:
            return self.today.__dlpack__(stream=stream)

    return producer_of(First)


@mutant("unknown_keywords_raise_type_error", twin=honest_producer)
def any_keyword() -> Subject:
    """__dlpack__() accepts all keywords, and ignores unknown ones."""

    class Agreeable(Honest):
        """An array that accepts all keywords."""

        def __dlpack__(self, **keywords: Any) -> Any:
            known = {"stream", "max_version", "dl_device", "copy"}
            return super().__dlpack__(**{k: v for k, v in keywords.items() if k in known})

    return producer_of(Agreeable)


@mutant("arguments_are_keywords", twin=honest_producer)
def arguments_by_position() -> Subject:
    """__dlpack__() accepts the stream as a positional argument."""

    class Positional(Honest):
        """An array with positional parameters."""

        def __dlpack__(self, stream: Any = None, **keywords: Any) -> Any:
            return super().__dlpack__(stream=stream, **keywords)

    return producer_of(Positional)


# ------------------------------------------------------------------ stream


def _taking_streams(takes: Any) -> Subject:
    """Return a producer that ignores the streams selected by a function."""

    class Streaming(Honest):
        """An array that accepts streams."""

        def __dlpack__(self, *, stream: Any = None, **keywords: Any) -> Any:
            return super().__dlpack__(stream=None if takes(stream) else stream, **keywords)

    return producer_of(Streaming)


@mutant("host_memory_takes_no_stream", twin=honest_producer)
def streams_ignored() -> Subject:
    """A stream is ignored."""
    return _taking_streams(lambda stream: isinstance(stream, int) and stream != -1)


@mutant("host_memory_takes_no_stream", "host_memory_takes_no_stream_minus_1", "streams_are_ints",
        twin=honest_producer)  # fmt: skip
def streams_ignored_without_legacy() -> Subject:
    """There is no legacy struct, and if a version is sent, every stream is ignored."""

    class Modern(Honest):
        """An array that requires a version."""

        def __dlpack__(self, *, stream: Any = None, **keywords: Any) -> Any:
            if not asks_version(keywords):
                raise BufferError("ask with max_version")
            return super().__dlpack__(stream=stream and None, **keywords)

    return producer_of(Modern)


@mutant("host_memory_takes_no_stream_minus_1", twin=honest_producer)
def stream_minus_1_taken() -> Subject:
    """stream=-1 is accepted."""
    return _taking_streams(lambda stream: stream == -1)


@mutant("streams_are_ints", twin=honest_producer)
def streams_of_any_type() -> Subject:
    """A stream that is not an int is ignored."""
    return _taking_streams(lambda stream: not isinstance(stream, int))


# ------------------------------------------------------------------ ctypes


@mutant("shared_prototypes_are_left_alone", twin=honest_producer)
def prototypes_on_the_shared_handle() -> Subject:
    """Creating an array sets a prototype on the ctypes handle that all libraries share."""

    class Setting(Honest):
        """An array that sets the result type of PyCapsule_New."""

        def __init__(self, array: Any, element: Any = None) -> None:
            super().__init__(array, element)
            shared = getattr(ctypes, "python" + "api")
            shared.PyCapsule_New.restype = ctypes.py_object

    return producer_of(Setting)
