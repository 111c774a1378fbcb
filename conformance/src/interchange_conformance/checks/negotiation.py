"""Negotiation: answers to ``max_version``, and keywords that ``__dlpack__`` accepts.

Source: array API standard 2025.12, ``array.__dlpack__``; DLPack Python specification.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import Found, NotApplicable, expect
from interchange_conformance.registry import area

from ._exports import (
    HOST,
    NEWEST,
    REFUSALS,
    SOMETHING,
    answer,
    answer_at_rest,
    call,
    export_keywords,
    granted,
    newest,
    some_array,
    told,
    words,
)

if TYPE_CHECKING:
    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("negotiation")

_LOGIC: Final = "array API standard 2025.12, array.__dlpack__, Notes"
_PAIR: Final = "array API standard 2025.12, array.__dlpack__, max_version: a 2-tuple (major, minor)"

# ------------------------------------------------------------------ protocols of an array


_PROTOCOLS: Final = (
    "__dlpack__", "__cuda_array_interface__", "__array_interface__", "__array__", "__buffer__"
)  # fmt: skip


@check("IX-PROTOCOL-1", source="interchange: what asarray() can take", severity="SHOULD")
def arrays_speak_a_protocol(producer: ProducerUnderTest) -> None:
    """An array supports at least one exchange protocol.

    Implement __dlpack__ and __dlpack_device__. Without them, and without a buffer, an array
    interface or __array__, other libraries cannot access its memory.
    """
    x = some_array(producer)

    try:
        memoryview(x)
    except (TypeError, BufferError, ValueError) as error:
        supported = [name for name in _PROTOCOLS if hasattr(type(x), name) or hasattr(x, name)]
        expect(supported, f"{type(x).__name__} has none of {', '.join(_PROTOCOLS)}: {words(error)}")


@check("DLP-NEG-1", source="array API standard 2025.12, from_dlpack, x")
def arrays_have_both_methods(producer: ProducerUnderTest) -> None:
    """An array with __dlpack__ has __dlpack_device__ as well, and vice versa.

    Add the missing method: consumers call __dlpack_device__ first.
    """
    x = some_array(producer)

    there = [name for name in ("__dlpack__", "__dlpack_device__") if hasattr(x, name)]
    if not there:
        raise NotApplicable(f"{type(x).__name__} does not support DLPack")
    expect(len(there) == 2, f"of the two methods, {type(x).__name__} has only {there[0]}")


@check("DLP-LIFE-6", source="interchange: memory of a library's own can leave", severity="SHOULD")
def plain_arrays_can_leave(producer: ProducerUnderTest) -> None:
    """A float32 array is exported to consumers that request the newest or the oldest version.

    An installation whose deleters do not work refuses every export, and would pass all other
    checks.
    """
    x = some_array(producer)

    ways: tuple[dict[str, Any], ...] = ({"max_version": NEWEST}, {})
    found = [_error(producer, x, keywords) for keywords in ways]

    expect(None in found, "; ".join(map(str, found)))


def _error(producer: ProducerUnderTest, x: Any, keywords: dict[str, Any]) -> str | None:
    """Return the error of a refused export, or None."""
    try:
        producer.export(x, **keywords)
    except NotApplicable:
        raise
    except Exception as error:  # noqa: BLE001 - the evidence
        return f"{call(keywords)} raised {words(error)}"
    return None


# ------------------------------------------------------------------ max_version


_NEW_ENOUGH: Final = {
    "1-0": (1, 0),
    "1-1": (1, 1),
    "1-3": (1, 3),
    "1-99": (1, 99),
    "2-0": (2, 0),
    "99-0": (99, 0),
}
_TOO_OLD: Final[dict[str, Any]] = {
    "left-out": {},
    "none": {"max_version": None},
    "0-0": {"max_version": (0, 0)},
    "0-8": {"max_version": (0, 8)},
    "0-99": {"max_version": (0, 99)},
}
_MALFORMED: Final[dict[str, Any]] = {
    "list": [1, 0],
    "one": (1,),
    "three": (1, 0, 0),
    "number": 1,
    "text": "1.0",
    "texts": ("1", "0"),
    "fractions": (1.0, 0.0),
    "nothings": (None, None),
}


@check("DLP-VER-4", source=_LOGIC, cases=_NEW_ENOUGH)
def new_consumers_get_the_versioned_struct(
    producer: ProducerUnderTest, case: tuple[int, int]
) -> None:
    """A consumer that supports version 1.0 or newer gets a versioned capsule.

    Compare max_version with your own: if it is not lower, or of the same major version, export
    DLManagedTensorVersioned with your own version. Only that struct has flags.
    """
    keywords = {"max_version": case}
    x = some_array(producer)

    found = answer(producer, x, **keywords)

    if isinstance(found, BufferError):
        granted(producer, x)  # another check tests arrays that are never exported
    expect(not isinstance(found, Exception) and found.versioned, told(keywords, found))


@check("DLP-VER-1", source=f"{_LOGIC}: raise a BufferError", severity="SHOULD", cases=_TOO_OLD)
def old_consumers_get_the_old_struct_or_buffer_error(
    producer: ProducerUnderTest, case: dict[str, Any]
) -> None:
    """A consumer without support for the versioned struct gets the legacy one, or BufferError.

    Export DLManagedTensor for max_version=None and for major version 0, or raise BufferError.
    """
    x = some_array(producer)

    found = answer(producer, x, **case)

    legacy = not isinstance(found, Exception) and not found.versioned
    expect(legacy or isinstance(found, BufferError), told(case, found))


@check(
    "DLP-VER-2",
    source=f"{_PAIR}; it names no class",
    severity="QUIRK",
    cases=_MALFORMED,
)
def malformed_versions_are_refused(producer: ProducerUnderTest, case: Any) -> None:
    """A max_version that is not a tuple of two ints is refused with TypeError.

    Check the argument before you use it, and raise TypeError; ValueError and BufferError are
    accepted as well.
    """
    keywords = {"max_version": case}
    x = some_array(producer)
    export_keywords(producer, x)

    found = answer(producer, x, **keywords)

    expect(isinstance(found, REFUSALS), told(keywords, found))


@check(
    "DLP-VER-2",
    source=_PAIR,
    severity="QUIRK",
    cases={"minor": (1, 2**70), "major": (2**70, 0), "minor-below-0": (1, -1)},
)
def versions_may_be_any_ints(producer: ProducerUnderTest, case: tuple[int, int]) -> None:
    """A max_version with ints beyond the range of C types is compared like any other.

    Compare the tuples in Python, or clip the numbers, and do not raise OverflowError: users write
    (1, sys.maxsize + 1) for "anything".
    """
    keywords = {"max_version": case}
    x = some_array(producer)
    granted(producer, x, max_version=NEWEST)

    found = answer(producer, x, **keywords)

    expect(not isinstance(found, Exception) or isinstance(found, REFUSALS), told(keywords, found))


# ------------------------------------------------------------------ keywords


@check(
    "DLP-NEG-2",
    source="array API standard 2025.12, array.__dlpack__, signature since 2023.12",
    cases={name.replace("_", "-"): name for name in ("stream", "max_version", "dl_device", "copy")},
)
def keywords_of_the_standard_are_taken(producer: ProducerUnderTest, case: str) -> None:
    """__dlpack__() accepts stream, max_version, dl_device and copy, each of them None.

    Declare all four keywords of the standard, with None as default. On a TypeError consumers call
    again with fewer keywords, or fail.
    """
    x = some_array(producer)
    newest(producer, x)

    try:
        producer.export(x, **{case: None})
    except BufferError:
        return
    except TypeError as error:
        raise Found(f"{call({case: None})} raised {words(error)}") from error


@check(
    "DLP-NEG-2",
    source=f"{_LOGIC}: except TypeError",
    severity="SHOULD",
    cases={"alone": {}, "with-a-version": {"max_version": NEWEST}},
)
def unknown_keywords_raise_type_error(producer: ProducerUnderTest, case: dict[str, Any]) -> None:
    """An unknown keyword of __dlpack__() raises TypeError.

    Name the keywords in the signature, and take no **keywords. An ignored keyword would promise
    something that is not done.
    """
    keywords = {**case, "fresh_paint": True}
    x = some_array(producer)
    newest(producer, x)

    try:
        producer.export(x, **keywords)
    except TypeError:
        return
    except Exception as error:
        raise Found(f"{call(keywords)} raised {words(error)}") from error
    raise Found(f"{call(keywords)} was answered as if the keyword meant something")


@check(
    "DLP-NEG-2",
    source="array API standard 2025.12, array.__dlpack__, signature: (self, /, *, ...)",
    severity="QUIRK",
)
def arguments_are_keywords(producer: ProducerUnderTest) -> None:
    """__dlpack__() accepts no positional arguments.

    Write * before the first parameter: positional arguments mean different things in different
    libraries.
    """
    x = some_array(producer)
    newest(producer, x)

    try:
        x.__dlpack__(None)
    except TypeError:
        return
    raise Found("__dlpack__(None) was answered: it takes a positional argument")


# ------------------------------------------------------------------ stream


_STREAMS: Final = {"0": 0, "1": 1, "2": 2, "a-handle": 4096, "below-minus-1": -2}
_NO_STREAMS: Final[dict[str, Any]] = {
    "text": "1",
    "a-fraction": 1.5,
    "an-object": SOMETHING,
    "a-tuple": (1, 0),
}


@check(
    "DLP-STREAM-1",
    source="array API standard 2025.12, array.__dlpack__, stream: on CPU only None is accepted",
    severity="SHOULD",
    cases=_STREAMS,
)
def host_memory_takes_no_stream(producer: ProducerUnderTest, case: int) -> None:
    """A stream for host memory is refused.

    Raise ValueError for every stream but None. A consumer that names a stream expects its work to
    wait for the memory; no data is lost by it.
    """
    _refuses_stream(producer, case)


@check(
    "DLP-STREAM-1",
    source="array API standard 2025.12, array.__dlpack__, stream: on CPU only None is accepted",
    severity="QUIRK",
)
def host_memory_takes_no_stream_minus_1(producer: ProducerUnderTest) -> None:
    """stream=-1, for no synchronization, is refused for host memory too.

    Raise ValueError. It requests nothing, and several libraries accept it; the standard accepts
    only None if there are no streams.
    """
    _refuses_stream(producer, -1)


@check(
    "DLP-STREAM-4",
    source="array API standard 2025.12, array.__dlpack__, stream: a Python integer",
    severity="SHOULD",
    cases=_NO_STREAMS,
)
def streams_are_ints(producer: ProducerUnderTest, case: Any) -> None:
    """A stream that is neither None nor an int is refused.

    Check the type first, and raise TypeError.
    """
    _refuses_stream(producer, case)


def _refuses_stream(producer: ProducerUnderTest, stream: Any) -> None:
    """Raise an error unless a stream is refused for host memory, with any error."""
    x = some_array(producer)

    for way in export_keywords(producer, x, kind=HOST[0]):
        keywords = {**way, "stream": stream}
        found = answer_at_rest(producer, x, **keywords)
        expect(isinstance(found, Exception), told(keywords, found))


# ------------------------------------------------------------------ ctypes


_SHARED: Final = "python" + "api"  # only detected, never used as an attribute


@check(
    "HOST-CTYPES-1",
    source="interchange; Python documentation, ctypes: functions are cached on their library",
    severity="QUIRK",
)
def shared_prototypes_are_left_alone(producer: ProducerUnderTest) -> None:
    """The library sets no prototypes on the ctypes handle that all libraries share.

    Open a handle of your own, ctypes.PyDLL(None), and set restype and argtypes of its functions. On
    the shared handle they change the calls of all libraries in the process. A library that yours
    imports may be the cause.
    """
    x = some_array(producer)
    newest(producer, x)

    functions = {
        name: function
        for name, function in vars(vars(ctypes)[_SHARED]).items()
        if not name.startswith("_") and hasattr(function, "argtypes")
    }
    changed = sorted(
        name
        for name, function in functions.items()
        if function.argtypes is not None or function.restype is not ctypes.c_int
    )
    expect(not changed, f"prototypes were set of {', '.join(changed)}")
